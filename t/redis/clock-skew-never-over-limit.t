# Whatever time the edges believe: log and strict never admit more than the
# limit in any window of Redis' own clock, no unit that another edge has counted
# is lost, every key expires, and once the edges have the right time no client
# is locked out. The edges' clocks are stepped by up to three windows, edges are
# idle for a while or do not know the time; and the clock of Redis is set.

use strict;
use warnings;

use Test::More;

use SlidewinNginx;
use SlidewinPreload;
use SlidewinRedis;

my %letter = (counter => 'c', fixed => 'f', strict => 's', log => 'l');
my @algorithms = sort keys %letter;
my $seed = $ENV{SLIDEWIN_SEED} // time ^ $$ << 8;
my $edges = 5;

diag("SLIDEWIN_SEED=$seed");
srand $seed;

my $clock = SlidewinPreload->clock;
my $redis = SlidewinRedis->start(env => $clock->env);
my $client = $redis->client;

my %sha = map {
    $_ => $redis->command('SCRIPT', 'LOAD', SlidewinRedis::script($_))
} SlidewinRedis::scripts();

sub between { my ($low, $high) = @_; return $low + int rand $high - $low + 1 }

sub ms { my ($s, $us) = @{$_[0]}; return $s * 1000 + int $us / 1000 }

# A client of a zone, how far the clocks of its edges are from that of Redis,
# until when they are idle, and what was admitted: [not before, not after,
# units, stamp]
sub subject {
    my ($n) = @_;
    my $algorithm = $algorithms[$n % 4];

    return {
        key => "{$n}z", algorithm => $algorithm,
        limit => between(1, 12), window => between(60, 400),
        set => 0,
        slices => $algorithm eq 'strict' ? between(1, 16) : 0,
        offsets => [(0) x $edges], idle => [(0) x $edges],
        admitted => [], asked => 0, passed => 0,
    };
}

# Steps and pauses of the edges of a client.
sub wander {
    my ($s, $now) = @_;

    for my $edge (0 .. $edges - 1) {
        $s->{offsets}[$edge] = rand 2 < 1 ? 0
            : between(-3 * $s->{window}, 3 * $s->{window}) if rand 20 < 1;
        $s->{idle}[$edge] = $now + rand 2 * $s->{window} if rand 30 < 1;
    }

    return;
}

# one transaction: it runs between two readings of Redis' clock
sub transaction {
    my (@calls) = @_;
    my @replies = $client->call_all(['MULTI'], ['TIME'], @calls, ['TIME'],
                                    ['EXEC']);
    my @done = @{$replies[-1]};

    return (ms(shift @done), ms(pop @done), @done);
}

sub policy {
    my ($s, $cost) = @_;

    return ($letter{$s->{algorithm}}, $s->{limit}, $s->{window},
            $s->{slices}, $cost);
}

my (@bad, %total);

sub bad {
    my ($s, $text) = @_;

    push @bad, "$s->{algorithm} $s->{limit}r/$s->{window}ms: $text";
    return;
}

# (admitted, units) of a reply
sub answer {
    my ($s, $reply) = @_;

    return bad($s, "error $reply") if ref $reply;

    my (undef, undef, $admitted, $units) = SlidewinRedis::numbers($reply);

    return ($admitted, $units);
}

sub take {
    my ($s, $now, $edge) = @_;
    my $cost = rand 4 < 1 ? between(0, $s->{limit}) : 1;
    my $times = rand 4 < 1 ? between(1, 4) : 1;
    my @scripts = SlidewinRedis::takes($letter{$s->{algorithm}});
    my $script = $scripts[rand @scripts];
    my $believed = rand 10 < 1 ? 0 : $now + $s->{offsets}[$edge];

    my ($before, $after, $reply, $ttl) = transaction(
        ['EVALSHA', $sha{$script}, 1, $s->{key}, SlidewinRedis::packed(
            1, $believed, $times, policy($s, $cost), 0, 0)],
        ['PTTL', $s->{key}]);
    my ($admitted, $units) = answer($s, $reply) or return;

    $s->{asked}++;
    # a value that is not written keeps its stamp when a clock is set back
    bad($s, "TTL $ttl")
        if $ttl == -1 || $ttl > 2 * $s->{window} && !$s->{set};
    return if !$units;

    $s->{passed}++;
    push @{$s->{admitted}}, [$before, $after, $units,
                             (SlidewinRedis::numbers($reply))[1]];

    return;
}

# A refund of a taken unit, once, by an edge with any clock.
sub give_back {
    my ($s, $now, $edge) = @_;
    my $entry = $s->{admitted}[-1 - int rand 4] // return;

    # the reply does not have the stamp of units that wait for a clock that was
    # set back
    return if !$entry->[2] || $s->{set};

    my $units = between(1, $entry->[2]);

    $entry->[2] -= $units;
    transaction(['EVALSHA', $sha{give_back}, 1, $s->{key},
                 SlidewinRedis::packed(1, $now + $s->{offsets}[$edge],
                                       policy($s, $units), $entry->[3])]);

    return;
}

# the most units that were certainly admitted within one window
sub most {
    my ($s) = @_;
    my ($most, $from) = (0, 0);
    my @all = @{$s->{admitted}};

    for my $last (0 .. $#all) {
        my $units = 0;

        $from++ while $all[$last][1] - $all[$from][0] >= $s->{window};
        $units += $all[$_][2] for $from .. $last;
        $most = $units if $units > $most;
    }

    return $most;
}

sub judge {
    my (@subjects) = @_;

    for my $s (@subjects) {
        my $most = most($s);

        bad($s, "$most in a window")
            if $s->{algorithm} =~ /^(?:log|strict)$/ && $most > $s->{limit};
        $total{$s->{algorithm}}[0] += $s->{asked};
        $total{$s->{algorithm}}[1] += $s->{passed};
        @$s{qw(asked passed admitted)} = (0, 0, []);
    }

    return;
}

sub run {
    my ($seconds, @subjects) = @_;
    my $end = SlidewinNginx::now() + $seconds;

    while (SlidewinNginx::now() < $end) {
        for my $s (@subjects) {
            my $now = ms($redis->command('TIME'));
            my $edge = int rand $edges;

            wander($s, $now);
            next if $s->{idle}[$edge] > $now;
            take($s, $now, $edge);
            give_back($s, $now, $edge) if rand 6 < 1;
        }
    }

    return;
}

# An edge with the right time is admitted after at most two windows and a slice.
sub free {
    my (@subjects) = @_;
    my ($longest) = sort { $b <=> $a } map { $_->{window} } @subjects;

    SlidewinNginx::nap(2.2 * $longest / 1000);

    for my $s (@subjects) {
        my $now = ms($redis->command('TIME'));
        my (undef, undef, $reply) = transaction(
            ['EVALSHA', $sha{take}, 1, $s->{key}, SlidewinRedis::packed(
                1, 0, 1, policy($s, $s->{limit}), 0, 0)]);
        my ($admitted) = answer($s, $reply) or next;

        bad($s, 'locked out') if !$admitted;
        push @{$s->{admitted}}, [$now, $now, 0, $now];
    }

    return;
}

my @subjects = map { subject($_) } 0 .. 23;

run(3, @subjects);
judge(@subjects);
is(join("\n", splice @bad), '', 'whatever the edges believe');

free(@subjects);
is(join("\n", splice @bad), '', 'then all are free again');


# Redis' own clock is set, by much and by little, while edges use the old time
# for a while: until it is set again no client gets more than the limit.

for my $offset (120, 118, 0, -2, -120, 0) {
    my $before = ms($redis->command('TIME'));
    $clock->set($offset);
    my $step = ms($redis->command('TIME')) - $before;

    for my $s (@subjects) {
        $s->{set} = 1;
        $_ = rand 2 < 1 ? -$step : 0 for @{$s->{offsets}};
        $_ = 0 for @{$s->{idle}};
    }
    run(0.5, @subjects);
    judge(@subjects);
    is(join("\n", splice @bad), '', "Redis' clock is set to $offset");
}

free(@subjects);
is(join("\n", splice @bad), '', 'no client is locked out');

for my $algorithm (@algorithms) {
    my ($asked, $passed) = @{$total{$algorithm}};

    diag("$algorithm: asked $asked times, passed $passed");
    cmp_ok($passed, '>', 100, "$algorithm: some pass");
    cmp_ok($asked - $passed, '>', 100, "$algorithm: some do not");
}

done_testing();
