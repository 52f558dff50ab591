# Replies that announce huge sizes, or nest without end, take no memory.

use strict;
use warnings;

use SlidewinFake;
use SlidewinFaults;
use Test::More;

sub says { my ($text) = @_; return sub { $_[0]->send($text) } }

sub nested {
    my ($depth, $text) = @_;

    return sub {
        my ($c) = @_;

        $c->repeat($text, $depth);
        $c->send(":1\r\n");
    };
}

# announced, but not sent
my @announced = (
    ['a string of 512 MB', says("\$536870912\r\n")],
    ['a string of 2^63 - 1', says("\$9223372036854775807\r\n")],
    ['a string below zero', says("\$-2\r\n")],
    ['an array of 2^31 - 1', says("*2147483647\r\n")],
    ['an array of 2^63 - 1', says("*9223372036854775807\r\n")],
    ['an array beyond 64 bits', says("*99999999999999999999\r\n")],
    ['an array below zero', says("*-2\r\n")],
    ['a map of 2^30', says("%1073741824\r\n")],
    ['a set of 2^31 - 1', says("~2147483647\r\n")],
    ['a push of 2^31 - 1', says(">2147483647\r\n")],
);

# sent
my @sent = (
    ['a string of 512 MB that begins', sub {
        $_[0]->send("\$536870912\r\n");
        $_[0]->repeat('x' x 1024, 4096);
    }],
    ['large arrays in arrays', sub { $_[0]->repeat("*4000\r\n", 1000) }],
    ['a status without end', sub { $_[0]->repeat('+' x 1024, 65536) }],
    ['an error without end', sub { $_[0]->repeat('-' x 1024, 65536) }],
    ['a number without end', sub {
        $_[0]->send(':');
        $_[0]->repeat('1' x 1024, 65536);
    }],
    ['an array of 4096', sub {
        $_[0]->send("*4096\r\n");
        $_[0]->repeat(":1\r\n", 4096);
    }],
    ['a million empty arrays', sub { $_[0]->repeat("*0\r\n", 1000000) }],
    ['nesting of 8', nested(8, "*1\r\n")],
    ['nesting of 10', nested(10, "*1\r\n")],
    ['nesting of 1000', nested(1000, "*1\r\n")],
    ['nesting of 100000', nested(100000, "*1\r\n")],
    ['nesting of 1000000', nested(1000000, "*1\r\n")],
    ['nesting of maps', nested(100000, "%1\r\n:1\r\n")],
    ['nesting of pushes', nested(100000, ">1\r\n")],
);

my @cases = (@announced, @sent);
my %modes = map {
    ("case$_" => $cases[$_][1], "again$_" => $cases[$_][1])
} 0 .. $#cases;

my $fake = SlidewinFake->start(modes => \%modes);
my $faults = SlidewinFaults->start(url => $fake->url, apart => 1,
                                   redis => 'timeout=300ms');
my ($worker) = $faults->nginx->workers;

sub run {
    my ($name, $client) = @_;

    BAIL_OUT('nginx does not get well') if !$faults->redis_answers(20);
    $faults->fails($name, $client);
    cmp_ok($fake->checks($client), '>=', 3, '... and it was asked');

    return;
}

# a sanitizer keeps freed memory, so that this says nothing
sub grown {
    my ($name, $before) = @_;

    return if SlidewinNginx::asan();
    cmp_ok(SlidewinNginx::rss($worker) - $before, '<', 1024, $name);

    return;
}

ok($faults->redis_answers, 'Redis is asked');
$faults->decides('an honest answer');
$faults->remember_workers;

my $rss = SlidewinNginx::rss($worker);

run($cases[$_][0], "case$_") for 0 .. $#announced;
grown('what is announced takes no memory', $rss);

run($cases[$_][0], "case$_") for @announced .. $#cases;
$rss = SlidewinNginx::rss($worker);
run("$cases[$_][0], again", "again$_") for @announced .. $#cases;
grown('what is sent leaves none behind', $rss);

$faults->recovers('in the end');
$faults->ends_clean;

done_testing();
