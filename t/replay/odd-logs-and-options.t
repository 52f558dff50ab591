# What people do by mistake, and what logs have that they should not: an error, or
# the right answer, and never a log that is gone or a figure that is wrong.

use strict;
use warnings;

use JSON::PP ();
use SlidewinReplay;
use Test::More;

my $dir = SlidewinReplay::directory();
my @limit = qw(--rate 5r/m --algorithm log);

sub combined {
    my ($second, $client, $path, $status) = @_;

    return sprintf qq(%s - - [16/Nov/2025:13:%02d:%02d +0000] "GET %s HTTP/1.1" %d 1 "-" "-"\n),
           $client, $second / 60, $second % 60, $path, $status // 200;
}

sub json_lines {
    return join '', map { JSON::PP->new->canonical->encode($_) . "\n" } @_;
}

sub log_of {
    my ($name, $text) = @_;

    return SlidewinReplay::write("$dir/$name", $text);
}

# refused NAME, PATTERN, ARGUMENT...
sub refused {
    my ($name, $pattern, @arguments) = @_;
    my $run = SlidewinReplay::run(@arguments);

    is($run->{exit}, 2, $name);
    like($run->{stderr}, qr/\Aslidewin-replay: .*$pattern/, '... and why');
    is($run->{stdout}, '', '... no figures');

    return;
}

my $plain = log_of('plain.log', join '', map { combined($_, '192.0.2.1', "/$_") } 1 .. 9);

refused('standard input is named twice', qr/twice/, @limit, '-', '-');
refused('an option is named twice', qr/--fail-if is named twice/, @limit,
        '--fail-if', 'rejected > 0', '--fail-if', 'bad_lines > 0', $plain);
refused('a key without a variable', qr/\$variable/, @limit, '--key', 'remote_addr', $plain);
refused('a member of JSON as key of another log', qr/JSON/, @limit, '--key', '.user', $plain);

for my $option (qw(--decisions --html)) {
    refused("$option names a log", qr/is a log/, @limit, $option, $plain, $plain);
    is(-s $plain, 9 * length combined(1, '192.0.2.1', '/1'), '... which is left as it is');
}


# A line above 1 MB is a bad one, and no part of it is a line.

my $long = log_of('long.log', 'x' x 3_000_000 . combined(1, '9.9.9.9', '/evil')
                  . combined(2, '192.0.2.1', '/'));
my $json = SlidewinReplay::json(@limit, $long);

is_deeply([@$json{qw(lines bad_lines requests clients)}], [2, 1, 1, 1],
          'a first line of 3 MB is one bad line');
like($json->{first_bad}{why}, qr/longer/, '... because it is so long');


# A mark at the begin of a file.

$json = SlidewinReplay::json(@limit, '--key', '.u', log_of('bom.json',
    "\xef\xbb\xbf" . json_lines(map { { ts => 1763300000 + $_, u => 'a' } } 1 .. 3)));
is_deeply([@$json{qw(bad_lines requests)}], [0, 3], 'a mark of UTF-8 is no part of a line');


# Requests that take long: the end is logged, the begin decides.

$json = SlidewinReplay::json(@limit, '--key', '.u', log_of('slow.json', json_lines(map {
    { msec => 1763300000.001 + $_, request_time => $_ % 10 ? 0.01 : 300, u => "c$_" }
} 1 .. 1000)));
is_deeply([@$json{qw(requests out_of_order)}], [1000, 0],
          'requests of five minutes are replayed');
like("@{$json->{notes}}", qr/took more than/, '... and told');


# A clock that ran ahead makes all that follows late.

refused('most lines come too late', qr/time of a line wrong/, @limit, log_of('future.log',
    combined(1, '192.0.2.9', '/') =~ s/2025/2035/r
    . join '', map { combined($_, '192.0.2.1', '/') } 1 .. 20));


# ".000" in all lines is what a program makes of seconds.

sub resolution {
    my ($name, @times) = @_;

    return SlidewinReplay::json(@limit, '--key', '.u', log_of("$name.json",
        json_lines(map { { time => "2025-11-16T13:33:$_", u => 'a' } } @times)))->{resolution};
}

is(resolution('zeros', '20.000Z', '21.000Z', '22.000Z'), 'second', 'times with .000 are seconds');
is(resolution('some', '20Z', '21Z', '22.500Z'), 'millisecond',
   '... and a zero fraction may be left out');


# Bounds where a reset of the same second makes room.

my $conf = log_of('reset.conf', 'http { log_format r escape=json "{$msec}";
    slidewin_zone $remote_addr zone=z:1m rate=2r/m;
    server { location / { slidewin zone=z cost=$cost reset=500; } } }');

$json = SlidewinReplay::json('--conf', $conf, '--format', 'json', log_of('reset.json',
    json_lines(map { { ts => 1700000000 + $_->[0], remote_addr => '192.0.2.1',
                       cost => $_->[1], status => $_->[2], uri => '/' } }
               [0, 1, 200], [16, 1, 500], [16, 2, 200])));

cmp_ok($json->{candidates}[0]{rejected_at_least}, '<=', $json->{candidates}[0]{rejected},
       'reset=: the lower bound is one');
cmp_ok($json->{candidates}[0]{rejected_at_most}, '>=', $json->{candidates}[0]{rejected},
       '... and the upper one');

refused('a zone that is not there', qr/no zone "nosuch"/, '--conf', $conf, '--zone', 'z,nosuch',
        '--format', 'json', "$dir/reset.json");


# A regular expression that would try for ever is given up.

my $deep = log_of('deep.log', join '', map {
    combined($_ % 50, '192.0.2.1', '/' . 'a' x 40 . '!')
} 1 .. 50);

$json = SlidewinReplay::json(@limit, '--where', 'uri ~ ^/(a+)+$ or status = 200', $deep);
is($json->{requests}, 50, 'a regular expression that does not end is given up');


# What is to be pasted is what nginx reads.

for (['$remote_addr $uri', '"$remote_addr $uri"'], ['${remote_addr}x', '"${remote_addr}x"'],
     ['$remote_addr;{', '"$remote_addr;{"'])
{
    $json = SlidewinReplay::json(@limit, '--key', $_->[0], $plain);
    like($json->{candidates}[0]{zone}, qr/\Aslidewin_zone \Q$_->[1]\E zone=/,
         "$_->[0] is pasted as nginx reads it");
}


# The recommendation is the lowest round limit, also where costs are bytes.

my $bytes = log_of('bytes.json', json_lines(map {
    { ts => 1763300000 + $_ * 20, u => "c$_", cost => $_ < 4 ? 120_000 * $_ : $_ }
} 1 .. 3000));
my ($found) = SlidewinReplay::json('--rate', 'auto/10s', '--algorithm', 'log', '--key', '.u',
                                   '--cost', '.cost', $bytes)->{candidates}[0];
is($found->{clients_rejected}, 3, 'auto rejects one of a thousand clients');

my $lower = SlidewinReplay::json('--rate', '2500r/10s', '--algorithm', 'log', '--key', '.u',
                                 '--cost', '.cost', $bytes)->{candidates}[0];
is($found->{limit}, 3000, '... with a round limit');
cmp_ok($lower->{clients_rejected}, '>', 3, '... and the next lower one rejects more');

done_testing();
