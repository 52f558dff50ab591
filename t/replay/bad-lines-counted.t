# Lines that are no requests are counted, the first one is shown, and the rest is
# replayed. Only if there is nothing else does the program fail. A compressed file
# that breaks off or is damaged is told.

use strict;
use warnings;

use IO::Compress::Gzip ();
use SlidewinReplay;
use Test::More;

my $seed = SlidewinReplay::seed();
my $dir = SlidewinReplay::directory();
my $begin = 1763300000000;
my @options = qw(--rate 5r/m --algorithm log --key $remote_addr);

sub good {
    my ($format, $n) = @_;

    return map {
        SlidewinReplay::line($format, {
            time => $begin + $_ * 1000, client => '192.0.2.' . $_ % 7,
            uri => "/page/$_",
        })
    } 1 .. $n;
}

# with NAME, FORMAT, LINE...: among twenty good ones, from the third line on
sub with {
    my ($name, $format, @bad) = @_;
    my @lines = good($format, 20);

    splice @lines, 2, 0, map { "$_\n" } @bad;

    my $path = SlidewinReplay::write("$dir/a.log", join '', @lines);
    my $json = SlidewinReplay::json(@options, '--format',
                                    SlidewinReplay::format($format), $path);

    is_deeply([@$json{qw(lines bad_lines requests)}],
              [20 + @bad, scalar @bad, 20], "$format: $name");
    is_deeply([@{$json->{first_bad} // {}}{qw(file line)}], [$path, 3],
              '... the first one is named');
    like($json->{first_bad}{why} // '', qr/\w/, '... with the reason');

    return $json;
}

my %bad = (
    combined => {
        'words' => ['this is no request', 'nor is this'],
        'no time' => ['192.0.2.1 - - "GET / HTTP/1.1" 200 1 "-" "-"'],
        'a month that is none' =>
            ['192.0.2.1 - - [17/Mai/2015:10:05:03 +0000] "GET / HTTP/1.1" 200'
             . ' 1 "-" "-"'],
        'a day that is none' =>
            ['192.0.2.1 - - [31/Feb/2015:10:05:03 +0000] "GET / HTTP/1.1" 200'
             . ' 1 "-" "-"'],
        'an hour that is none' =>
            ['192.0.2.1 - - [17/May/2015:25:05:03 +0000] "GET / HTTP/1.1" 200'
             . ' 1 "-" "-"'],
        'cut off in the time' => ['192.0.2.1 - - [17/May/2015:10:0'],
        'cut off in the request' =>
            ['192.0.2.1 - - [17/May/2015:10:05:03 +0000] "GET /a'],
        'zero bytes' => ["\0" x 300],
        'no text' => [map { chr(128 + $_) x 50 } 0 .. 20],
        'a megabyte' => ['x' x (1 << 20)],
        'a megabyte in a field' =>
            ['192.0.2.1 - - [' . '1' x (1 << 20) . '] "GET / HTTP/1.1" 200'],
    },
    json => {
        'cut off' => ['{"time":"2025-11-16T13:33:20.000Z","remote_addr":"192'],
        'a list' => ['[1,2,3]', '"text"', '17', 'null'],
        'no time' => ['{"remote_addr":"192.0.2.1","status":200}'],
        'a time that is none' =>
            ['{"time":"yesterday","remote_addr":"192.0.2.1"}',
             '{"time":null,"remote_addr":"192.0.2.1"}',
             '{"time":[1],"remote_addr":"192.0.2.1"}',
             '{"time":"2025-13-16T13:33:20Z","remote_addr":"192.0.2.1"}'],
        'too deep' => ['{"a":' x 100000],
        'a character that is none' =>
            ['{"time":"2025-11-16T13:33:20.000Z","remote_addr":"\uZZZZ"}'],
        'words' => ['GET / HTTP/1.1'],
    },
    own => {
        'cut off' => ['192.0.2.1 1763300000.0'],
        'a time that is none' =>
            ['192.0.2.1 now 0.000 "GET / HTTP/1.1" 200 cost=1',
             '192.0.2.1 1763300000.xyz 0.000 "GET / HTTP/1.1" 200 cost=1',
             '192.0.2.1 99999999999999999999.000 0.000 "GET / HTTP/1.1" 200'
             . ' cost=1',
             '192.0.2.1 -1763300000.000 0.000 "GET / HTTP/1.1" 200 cost=1'],
    },
);

for my $format (sort keys %bad) {
    with($_, $format, @{$bad{$format}{$_}}) for sort keys %{$bad{$format}};
}

my $json = with('long', 'combined', 'word ' x 100000);
cmp_ok(length $json->{first_bad}{text}, '<', 1000, '... cut to be read');


# what a person sees

my $path = SlidewinReplay::write(
    "$dir/b.log", join '', good('combined', 3), "what is this?\n",
    "and this?\n", good('combined', 3));
my $said = SlidewinReplay::run(@options, $path);

is($said->{exit}, 0, 'bad lines are not fatal');
like("$said->{stdout}$said->{stderr}", qr/\b2\b.*\bbad\b|\bbad\b.*\b2\b/,
     '... and are counted');
like("$said->{stdout}$said->{stderr}", qr/what is this\?/,
     '... the first is shown');
unlike("$said->{stdout}$said->{stderr}", qr/and this/, '... no other');

# the first line, by which a format is found

for my $format (qw(combined json)) {
    for my $options ([], ['--format', $format]) {
        my $path = SlidewinReplay::write(
            "$dir/first.log", join '', $format eq 'json' ? qq({"no":"time"}\n)
                                       : "no request\n", good($format, 9));
        my $json = SlidewinReplay::json(
            '--rate', '5r/m', @$options, $path,
            '--key', $format eq 'json' ? '.remote_addr' : '$remote_addr');

        is_deeply([@$json{qw(lines bad_lines requests)}], [10, 1, 9],
                  "$format: a bad line is the first; @$options");
    }
}

# lines without anything

$path = SlidewinReplay::write("$dir/empty.log", join "\n", good('common', 3),
                              "bad\n");
$said = SlidewinReplay::json(@options, '--format', 'common', $path);
is_deeply([$said->{bad_lines}, $said->{requests}, $said->{first_bad}{line}],
          [1, 3, 7], 'empty lines are not bad, but count in numbers of lines');

# the end of a file

$path = SlidewinReplay::write("$dir/c.log",
                              join('', good('common', 5)) =~ s/\n\z//r);
$json = SlidewinReplay::json(@options, '--format', 'common', $path);
is_deeply([@$json{qw(lines bad_lines requests)}], [5, 0, 5],
          'a last line needs no end');


# all of them

sub fatal {
    my ($name, $how, @arguments) = @_;
    my $said = SlidewinReplay::run($how, @options, @arguments);

    is($said->{exit}, 2, "$name: exit code 2");
    like($said->{stderr}, qr/\Aslidewin-replay: /, '... says why');
    cmp_ok(length $said->{stderr}, '<', 4096, '... in few words');
    unlike($said->{stderr}, qr/[^\n\x20-\x7e\x80-\xff]/,
           '... without control characters');

    return $said;
}

my $random = join '', map { chr rand 256 } 1 .. 1 << 18;

fatal('all lines are bad', {},
      SlidewinReplay::write("$dir/d.log", "no\nrequest\nat all\n"));
fatal('a random file', {}, SlidewinReplay::write("$dir/e.log", $random));
fatal('... from standard input', { stdin => $random }, '-');
fatal('... that says it is gzip', {},
      SlidewinReplay::write("$dir/f.log", "\x1f\x8b$random"));
fatal('... compressed', {},
      SlidewinReplay::write("$dir/g.log", $random, gzip => 1));
like(fatal('no such file', {}, "$dir/none.log")->{stderr}, qr/none\.log/,
     '... which is named');
like(fatal('a directory', {}, "$dir")->{stderr}, qr/replay\./,
     '... which is named');
fatal('no log', {});

$path = SlidewinReplay::write("$dir/h.log",
                              $random . "\n" . join '', good('combined', 9));
$json = SlidewinReplay::json(@options, '--format', 'combined', $path);
is($json->{requests}, 9, 'the good lines behind random bytes');
is($json->{lines}, $json->{bad_lines} + 9, '... all others are bad');


# compressed files that are not whole

my $text = join '', good('combined', 20000);

IO::Compress::Gzip::gzip(\$text, \my $packed) or die 'gzip';

sub broken {
    my ($name, $bytes) = @_;
    my $path = SlidewinReplay::write("$dir/broken.log.gz", $bytes);
    my $said = SlidewinReplay::run(@options, '--json', $path);
    my $json = eval { JSON::PP::decode_json($said->{stdout}) } // {};

    like(join("\n", $said->{stderr}, @{$json->{notes} // []}),
         qr/broken\.log\.gz/, "$name: is told, with the file");
    cmp_ok($json->{requests} // 0, '>', 100, '... what came before counts');
    cmp_ok($json->{requests} // 0, '<', 20000, '... not all of it');

    return;
}

broken('cut off', substr $packed, 0, length($packed) / 2);
substr my $damaged = $packed, length($packed) / 2, 100, 'x' x 100;
broken('damaged', $damaged);

IO::Compress::Gzip::gzip(\join('', good('combined', 200)), \my $whole);
broken('a second member that is cut off',
       $whole . substr $packed, 0, length($packed) / 2);

done_testing();
