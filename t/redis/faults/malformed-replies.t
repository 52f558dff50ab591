# Replies that are none: they admit no request, and on_error decides.

use strict;
use warnings;

use SlidewinFake;
use SlidewinFaults;
use SlidewinRedis;
use Test::More;

# the true numbers for the first request of a client, changed
sub changed {
    my ($change) = @_;

    return sub {
        my ($c, $command) = @_;

        $c->forget($command);
        my @numbers = $c->take($command);

        @numbers = $change->(@numbers);
        $c->send(SlidewinFake::reply(@numbers));
    };
}

sub with {
    my ($i, $value) = @_;

    return changed(sub { my @n = @_; $n[$i] = $value; @n });
}

# the bytes of the true reply, sent by the code as another type
sub as {
    my ($code) = @_;

    return sub {
        my ($c, $command) = @_;

        $c->forget($command);
        $c->send($code->(SlidewinRedis::packed($c->take($command))));
    };
}

sub says {
    my ($text) = @_;

    return sub { $_[0]->send($text) };
}

# number, time, admitted, units, total, oldest, newest, fits

my @cases = (
    ['garbage', says("HTTP/1.1 400 Bad Request\r\n\r\n")],
    ['zeroes', says("\0" x 64)],
    ['a letter', says("x\r\n")],
    ['a line end', says("\r\n")],

    ['nil', says("*-1\r\n")],
    ['a nil string', says("\$-1\r\n")],
    ['a status', says("+OK\r\n")],
    ['a string', says("\$2\r\nOK\r\n")],
    ['a number', says(":1\r\n")],
    ['an empty array', says("*0\r\n")],
    ['an empty string', says("\$0\r\n\r\n")],
    ['one number', changed(sub { $_[0] })],
    ['two numbers', changed(sub { @_[0, 1] })],
    ['a number less', changed(sub { @_[0 .. $#_ - 1] })],
    ['a number more', changed(sub { @_, 0 })],
    ['the bans of a policy that has none', changed(sub { @_, 0, 0 })],
    ['three numbers more', changed(sub { @_, 0, 0, 0 })],
    ['the numbers twice', changed(sub { @_, @_ })],
    ['a byte less', as(sub { SlidewinFake::bulk(substr $_[0], 0, -1) })],
    ['a byte more', as(sub { SlidewinFake::bulk("$_[0]\0") })],
    ['a byte in front', as(sub { SlidewinFake::bulk("\0$_[0]") })],

    ['a RESP3 null', says("_\r\n")],
    ['a RESP3 double', says(",1.5\r\n")],
    ['a RESP3 boolean', says("#t\r\n")],
    ['a RESP3 big number', says("(3492890328409238509324850943850\r\n")],
    ['a RESP3 verbatim string', says("=6\r\ntxt:OK\r\n")],
    ['a RESP3 map', says("%1\r\n:1\r\n:2\r\n")],
    ['a RESP3 set', sub {
        my ($c, $command) = @_;
        $c->send("~1\r\n" . $c->answer($command));
    }],
    ['a RESP3 push of a subscriber', says(
        ">3\r\n\$9\r\nsubscribe\r\n\$1\r\na\r\n:1\r\n")],

    ['the string in an array', as(sub {
        "*1\r\n" . SlidewinFake::bulk($_[0]) })],
    ['the numbers in an array', as(sub {
        my @n = SlidewinRedis::numbers($_[0]);
        join '', '*' . @n . "\r\n", map { ":$_\r\n" } @n })],
    ['the bytes as a status', as(sub { '+' . unpack('H*', $_[0]) . "\r\n" })],
    ['the bytes as digits', as(sub {
        SlidewinFake::bulk(unpack 'H*', $_[0]) })],
    ['the bytes as an error', as(sub { "-$_[0]\r\n" })],
    ['the bytes as a verbatim string', as(sub {
        '=' . (4 + length $_[0]) . "\r\ntxt:$_[0]\r\n" })],
    ['a number that is none', says(":1x\r\n")],
    ['a number without digits', says(":\r\n")],
    ['a number beyond 64 bits', says(":9223372036854775808\r\n")],

    ['another call\'s number', changed(sub { $_[0]++; @_ })],
    ['the call before', changed(sub { $_[0]--; @_ })],
    ['no call\'s number', with(0, 0)],
    ['no time', with(1, 0)],
    ['a time below zero', with(1, -1)],
    ['the last time there is', with(1, '9223372036854775807')],
    ['admitted 2', with(2, 2)],
    ['admitted -1', with(2, -1)],
    ['admitted without end', with(2, '9223372036854775807')],
    ['counted 2', with(3, 2)],
    ['counted -1', with(3, -1)],
    ['admitted and not counted', with(3, 0)],
    ['counted and not admitted', with(2, 0)],
    ['a total below zero', with(4, -1)],
    ['the least total there is', with(4, '-9223372036854775808')],
    ['a total without end', with(4, '9223372036854775807')],
    ['counted, and nothing there', with(4, 0)],
    ['counted above the limit', with(4, 3)],
    ['the oldest after the newest', changed(sub { $_[5] = $_[6] + 1; @_ })],
    ['the oldest before the window', changed(sub { $_[5] -= 3600000; @_ })],
    ['the newest beyond the window', changed(sub { $_[6] += 3600001; @_ })],
    ['the oldest without end', with(5, '9223372036854775807')],
    ['the newest without end', with(6, '9223372036854775807')],
    ['the newest below zero', with(6, -1)],
    ['refused with room', changed(sub { @_[2, 3, 4] = (0, 0, 1); @_ })],
    ['refused, and what must leave is too old', changed(sub {
        @_[2, 3, 4] = (0, 0, 2); $_[7] = $_[5] - 1; @_ })],
    ['refused, and what must leave is to come', changed(sub {
        @_[2, 3, 4] = (0, 0, 2); $_[7] = $_[6] + 1; @_ })],
    ['admitted at the limit', changed(sub { @_[2, 3, 4] = (1, 0, 2); @_ })],
);

my %modes;

$modes{"case$_"} = $cases[$_][1] for 0 .. $#cases;

# number, time, admitted, units, index, previous, current

my @pairs = (
    ['a window before', changed(sub { $_[4]--; @_ })],
    ['two windows ahead', changed(sub { $_[4] += 2; @_ })],
    ['an index without end', with(4, '9223372036854775807')],
    ['counted above the limit', with(6, 3)],
    ['counted, and nothing there', with(6, 0)],
    ['counted, with a current without end', with(6, '9223372036854775807')],
    ['a previous without end', with(5, '9223372036854775807')],
    ['a previous below zero', with(5, -1)],
    ['a current below zero', with(6, -1)],
    ['refused with room', changed(sub { @_[2, 3, 6] = (0, 0, 1); @_ })],
    ['admitted at the limit', changed(sub { @_[2, 3, 6] = (1, 0, 2); @_ })],
    ['admitted and not counted', with(3, 0)],
    ['a log\'s numbers', changed(sub { @_, 0 })],
);

$modes{"pair$_"} = $pairs[$_][1] for 0 .. $#pairs;

# Of a policy with ban=1h..2h and one without: number, time, six of each, and at
# 14 what is left of a ban and whether this call began it, of each.

my $hour = 3_600_000;

sub bans {
    my (@bans) = @_;

    return changed(sub { (@_[0 .. 13], @bans) });
}

# the first policy has no room
sub refused {
    my (@bans) = @_;

    return changed(sub {
        my @n = @_;
        @n[2, 3, 4, 5, 6, 7] = (0, 0, 2, $n[1], $n[1], $n[1]);
        @n[8 .. 13] = (1, 0, 0, 0, 0, 0);
        return (@n[0 .. 13], @bans);
    });
}

my @bans = (
    ['none of both', bans()],
    ['of one alone', bans(0, 0)],
    ['a number too few', bans(0, 0, 0)],
    ['a number too many', bans(0, 0, 0, 0, 0)],
    ['of three', bans((0) x 6)],
    ['a byte less', as(sub { SlidewinFake::bulk(substr $_[0], 0, -1) })],
    ['a byte more', as(sub { SlidewinFake::bulk("$_[0]\0") })],

    ['none can begin', bans(0, 0, 0, 1)],
    ['none can begin, of an hour', bans(0, 0, $hour, 1)],
    ['none can last', bans(0, 0, 1, 0)],
    ['none can last, nor the other', bans($hour, 0, $hour, 0)],
    ['none can begin, nor the other', bans($hour, 1, $hour, 1)],
    ['none is refused for ever', refused($hour, 1, -1, 0)],
    ['none begins with another', refused($hour, 1, 0, 1)],
    ['none lasts with another', refused($hour, 0, 1, 0)],

    ['it begins and is over', bans(0, 1, 0, 0)],
    ['it begins twice', bans($hour, 2, 0, 0)],
    ['it begins without end', bans($hour, -1, 0, 0)],
    ['it begins a millisecond too short', bans($hour - 1, 1, 0, 0)],
    ['it begins a millisecond too long', bans(2 * $hour + 1, 1, 0, 0)],
    ['it begins below zero', bans(-1, 1, 0, 0)],
    ['50 days are left', bans(50 * 24 * $hour, 0, 0, 0)],
    ['less than nothing is left', bans(-1, 0, 0, 0)],
    ['all that there is, is left', bans('9223372036854775807', 0, 0, 0)],
    ['it lasts, and the request is counted', bans($hour, 0, 0, 0)],
    ['it lasts for a moment, and the request is counted', bans(1, 0, 0, 0)],
    ['refused, and it is over', refused(0, 1, 0, 0)],
    ['refused, and it begins twice', refused($hour, 2, 0, 0)],
    ['refused, and it begins too short', refused($hour - 1, 1, 0, 0)],
    ['refused, and it begins too long', refused(2 * $hour + 1, 1, 0, 0)],
    ['refused, and it lasts for 50 days', refused(50 * 24 * $hour, 0, 0, 0)],
);

$modes{"ban$_"} = $bans[$_][1] for 0 .. $#bans;

my @algorithms = qw(counter fixed);
my $fake = SlidewinFake->start(modes => \%modes);
my $faults = SlidewinFaults->start(
    url => $fake->url, apart => 1, redis => 'timeout=2s',
    http => join('', map {
        my $algorithm = $_;
        map { "slidewin_zone \$arg_k zone=${algorithm}_$_:1m rate=2r/d"
              . " algorithm=$algorithm store=of_$_ on_error=$_;\n"
        } @SlidewinFaults::MODES;
    } @algorithms) . join('', map {
        "slidewin_zone \$arg_k zone=ban_$_:1m rate=2r/h algorithm=log"
        . " ban=1h..2h deny_cache=off store=of_$_ on_error=$_;\n"
    } @SlidewinFaults::MODES),
    server => join('', map {
        "location = /ban_$_ { slidewin zone=ban_$_; slidewin zone=$_;"
        . " empty_gif; }\n"
    } @SlidewinFaults::MODES) . join('', map {
        my $algorithm = $_;
        map { "location = /${algorithm}_$_ { slidewin zone=${algorithm}_$_;"
              . " empty_gif; }\n" } @SlidewinFaults::MODES;
    } @algorithms));

ok($faults->redis_answers, 'Redis is asked');
$faults->decides('an honest answer');
$faults->remember_workers;

for my $i (0 .. $#cases) {
    my $before = $fake->checks("case$i");

    BAIL_OUT('nginx does not get well') if !$faults->redis_answers;
    $faults->fails($cases[$i][0], "case$i");

    cmp_ok($fake->checks("case$i") - $before, '>=', 3,
           '... and it was asked for each');
}

for my $algorithm (@algorithms) {
    for my $i (0 .. $#pairs) {
        BAIL_OUT('nginx does not get well') if !$faults->redis_answers;

        for my $mode (@SlidewinFaults::MODES) {
            is($faults->ask("${algorithm}_$mode", "pair$i"),
               $SlidewinFaults::FAILED{$mode},
               "$algorithm, $pairs[$i][0]: on_error=$mode decides");
        }
    }

    ok($faults->redis_answers, 'Redis is asked');
    is($faults->ask("${algorithm}_closed", 'honest'), $SlidewinFaults::DECIDED,
       "$algorithm: an honest answer");
}

for my $i (0 .. $#bans) {
    BAIL_OUT('nginx does not get well') if !$faults->redis_answers;

    for my $mode (@SlidewinFaults::MODES) {
        is($faults->ask("ban_$mode", "ban$i"), $SlidewinFaults::FAILED{$mode},
           "a ban, $bans[$i][0]: on_error=$mode decides");
    }

    cmp_ok($fake->checks("ban$i"), '>=', 3, '... and it was asked for each');
}

ok($faults->redis_answers, 'Redis is asked');
is($faults->ask("ban_$_", "honest_$_", 4),
   "$SlidewinFaults::DECIDED, 429 BANNED redis retry",
   'a ban: an honest answer') for @SlidewinFaults::MODES;

$faults->recovers('in the end');
$faults->ends_clean;

done_testing();
