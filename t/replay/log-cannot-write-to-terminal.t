# What clients have put into a log reaches neither the terminal, nor the JSON, nor
# the page as anything but text: no control characters, no escape sequences, no
# markup.

use strict;
use warnings;

use SlidewinReplay;
use Test::More;

my $dir = SlidewinReplay::directory();

my %evil = (
    'a title of the terminal' => "\e]0;owned\a",
    'a cleared screen' => "\e[2J\e[H",
    'a C1 sequence' => "\x{9b}31m",
    'a C1 sequence in UTF-8' => "\xc2\x9b31m",
    'a carriage return' => "\rgood news",
    'a backspace' => "a\b\b\b",
    'a delete' => "a\x7f",
    'a zero byte' => "a\0b",
    'not UTF-8' => "\xff\xfe\x80",
    'cut-off UTF-8' => "caf\xc3",
    'a quote' => "a\"b\\c",
    'markup' => '<script>alert(1)</script><img src=x onerror=alert(1)>',
    'the end of a script' => '</script><script>alert(1)</script>',
    'a right-to-left override' => "\xe2\x80\xae" . 'gnp.exe',
);
my $control = qr/[\x00-\x08\x0b-\x1f\x7f]/;

# written TEXT: as nginx writes it into a JSON log
sub written {
    my ($text) = @_;

    return $text =~ s{([\x00-\x1f"\\])}{sprintf '\\u%04x', ord $1}ger;
}

sub encoded {
    my ($text) = @_;

    return $text =~ s{([^\w./-])}{sprintf '%%%02X', ord $1}ger;
}

sub clean {
    my ($name, $said) = @_;

    for my $where (qw(stdout stderr)) {
        my $text = $said->{$where};

        unlike($text, $control, "$name: no control character on $where");
        unlike($text, qr/\x9b|\xc2[\x80-\x9f]/, '... nor one of eight bits')
            if !utf8::decode(my $copy = $text) || $text =~ /\xc2[\x80-\x9f]/;
        unlike($text, qr/\xe2\x80[\xaa-\xae]/, '... nor one that turns it');
    }

    return;
}

for my $name (sort keys %evil) {
    my $evil = $evil{$name};
    # as the key, the path, and the first of the bad lines
    my $log = SlidewinReplay::write("$dir/json.log", join "bad $evil\n", map {
        sprintf qq({"time":"2025-11-16T13:33:%02dZ","user":"%s",)
                . qq("request":"GET /%s HTTP/1.1","status":200}\n),
                $_, written($evil), encoded($evil)
    } 20 .. 30);
    my @options = ('--key', '.user', '--rate', '2r/m', '--format', 'json');
    my $said = SlidewinReplay::run(@options, $log);

    is($said->{exit}, 0, "$name: replayed");
    like($said->{stdout}, qr/2r\/m/, '... with a result');
    clean($name, $said);

    my $machine = SlidewinReplay::run('--json', @options, $log);
    my $json = eval { JSON::PP->new->utf8->decode($machine->{stdout}) };

    ok(defined $json, "$name: JSON") or diag($machine->{stdout});
    unlike($machine->{stdout}, $control, '... has no control character');
    ok(utf8::decode(my $copy = $machine->{stdout}), '... is UTF-8');
    is($json->{candidates}[0]{clients_rejected}, 1, '... one client');

    my $text = $evil;
    is($json->{candidates}[0]{worst}[0]{key}, $text, '... of that name')
        if utf8::decode($text);

    $said = SlidewinReplay::run(@options, '--html', "$dir/page.html",
                                '--decisions', "$dir/decisions", $log);
    is($said->{exit}, 0, "$name: a page");
    clean("$name, a page", $said);

    my $page = slurp("$dir/page.html");
    unlike($page, qr/<script>alert|<img src=x/i, '... has no markup of a log');
    unlike($page, $control, '... has no control character');
    is(scalar(() = $page =~ m{<script}gi), scalar(() = $page =~ m{</script}gi),
       '... no script ends early');
    unlike($page, qr{(?:src|href|url\()\s*=?\s*["']?(?:https?:)?//}i,
           '... asks nobody else');

    my @lines = split /^/, slurp("$dir/decisions");
    is(scalar @lines, 11, "$name: a line for each decision");
    is_deeply([grep { tr/\t// != 4 || /$control/ } map { tr/\t/\t/r } @lines],
              [], '... of five fields')
        if $evil !~ /\t/;
}

# when nothing else is there
for my $name (sort keys %evil) {
    my $said = SlidewinReplay::run(
        SlidewinReplay::write("$dir/bad.log", "bad $evil{$name}\n" x 3));

    is($said->{exit}, 2, "$name, all lines are bad: exit code 2");
    clean("$name, all lines are bad", $said);
}

# a name of a file, too
my $path = SlidewinReplay::write("$dir/\e]0;owned\a.log", "bad\n");
my $said = SlidewinReplay::run($path);

is($said->{exit}, 2, 'the name of a file: exit code 2');
clean('the name of a file', $said);

sub slurp {
    open my $file, '<:raw', $_[0] or return '';
    local $/;
    return readline($file) // '';
}

done_testing();
