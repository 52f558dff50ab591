# One take for several equal requests admits as many as single takes one after
# the other would, with the same numbers for each, and leaves the same state.
# Prefetched units are those that a further take would have got.

use strict;
use warnings;

use Test::More;

use SlidewinOracle;
use SlidewinRedis;

my %letter = (counter => 'c', fixed => 'f', strict => 's', log => 'l');
my @algorithms = sort keys %letter;
my $rounds = $ENV{SLIDEWIN_TRACES} || 1500;
my $seed = $ENV{SLIDEWIN_SEED} // 20241116;
my $oracle = SlidewinOracle->new;

diag("SLIDEWIN_SEED=$seed");

sub between { my ($low, $high) = @_; return $low + int rand $high - $low + 1 }

sub policy {
    my $algorithm = $algorithms[rand @algorithms];
    # so that no key expires by the clock of the server
    my $window = (60_000, 599_993, 3_600_000)[rand 3];

    return { algorithm => $algorithm, limit => between(1, 30),
             window => $window,
             slices => $algorithm eq 'strict' ? between(1, 7) : 0 };
}

# claims are { policy, cost, ahead }: a rule, a cost, units to prefetch
sub take {
    my ($redis, $set, $now, $times, @claims) = @_;
    my $script = @claims > 1 ? 'take'
        : (SlidewinRedis::takes($letter{$claims[0]{policy}{algorithm}}))[-1];

    return ['EVALSHA', $redis->{sha}{$script}, scalar @claims,
            (map { "{$set}$_" } 0 .. $#claims),
            SlidewinRedis::packed(7, $now, $times, map {
                my $p = $_->{policy};
                ($letter{$p->{algorithm}}, $p->{limit}, $p->{window},
                 $p->{slices}, $_->{cost}, 0, $_->{ahead} // 0);
            } @claims)];
}

# the numbers of each claim
sub numbers {
    my ($reply, @claims) = @_;

    return if ref $reply;

    my (undef, undef, @numbers) = SlidewinRedis::numbers($reply);

    return map {
        my $p = $_->{policy};
        my $n = { c => 5, f => 5, s => 4 + $p->{slices}, l => 6 }
                ->{$letter{$p->{algorithm}}};
        [splice @numbers, 0, $n];
    } @claims;
}

# "counted ahead: verdict" of each claim for the nth request
sub verdicts {
    my ($now, $times, $nth, $reply, @claims) = @_;
    my @numbers = numbers($reply, @claims) or return "error $reply";

    return join '; ', map {
        my $c = $claims[$_];
        my ($answer) = $oracle->ask(
            'P ' . SlidewinOracle::rule($c->{policy})
            . " $now $times $c->{cost} " . ($c->{ahead} // 0)
            . " $nth @{$numbers[$_]}");
        my ($counted, $v) = SlidewinOracle::proven($answer);
        $v ? join ' ', $nth <= $counted ? 1 : 0,
                 map { "$_=$v->{$_}" } sort keys %$v
           : "untrue: @{$numbers[$_]}";
    } 0 .. $#claims;
}

# in a log, entries of the same time are one
sub value {
    my ($value) = @_;

    return '-' if !defined $value;
    return unpack 'H*', $value if substr($value, 0, 1) ne 'l';

    my %sum;
    my @entries = unpack '(a6a6)*', substr $value, 17;
    while (my ($time, $sum) = splice @entries, 0, 2) {
        $sum{unpack 'Q<', "$time\0\0"} = unpack 'Q<', "$sum\0\0";
    }

    return join ' ', unpack('H*', substr $value, 0, 17),
                map { "$_:$sum{$_}" } sort { $a <=> $b } keys %sum;
}

sub values_of {
    my ($redis, $set, $n) = @_;

    return join ', ', map { value($redis->command('GET', "{$set}$_")) }
                      0 .. $n - 1;
}

sub round {
    my ($redis, $seen) = @_;
    my $now = 1_700_000_000_000 + between(0, 100_000);
    my @claims = map {
        my $p = policy();
        { policy => $p, cost => between(0, 9) ? between(1, 4) : 0 };
    } 1 .. (rand 3 < 2 ? 1 : between(2, 3));
    my $client = $redis->{client};

    $client->call_all(['FLUSHALL']);

    # some units that were used before, the same for both
    for (1 .. between(0, 6)) {
        $now += between(0, $claims[0]{policy}{window});
        my @used = map { { %$_, cost => between(0, 5) } } @claims;
        $client->call_all(map { take($redis, $_, $now, 1, @used) }
                          'one', 'all');
    }

    # another limit or window: used units are carried over
    if (rand 4 < 1) {
        $_->{policy} = { %{$_->{policy}}, limit => between(1, 30) }
            for @claims;
    } elsif (rand 8 < 1) {
        $claims[0]{policy} = policy();
    }

    my $times = between(1, 9);
    my @one = $client->call_all(map { take($redis, 'one', $now, 1, @claims) }
                                1 .. $times);
    my ($all) = $client->call_all(take($redis, 'all', $now, $times, @claims));

    for my $nth (1 .. $times) {
        my $want = verdicts($now, 1, 1, $one[$nth - 1], @claims);
        my $got = verdicts($now, $times, $nth, $all, @claims);

        # a log above its limit: the script knows when this cost fits, not when
        # another would
        s/ more=\d+//g for $got, $want;
        return "$nth of $times: $got, must be $want" if $got ne $want;
        $seen->{substr $got, 0, 1}++;
    }

    my ($got, $want) = map { values_of($redis, $_, scalar @claims) }
                       'all', 'one';
    return "it leaves $got, must be $want" if $got ne $want;

    # prefetch: all that were asked for, and then as many as fit of the same
    # number
    my @ahead = map { { %$_, ahead => between(0, 12) } } @claims;
    ($all) = $client->call_all(take($redis, 'all', $now, 1, @ahead));
    my @after = numbers($all, @claims) or return "ahead: $all";
    my ($first) = $client->call_all(take($redis, 'one', $now, 1, @claims));
    my @first = numbers($first, @claims);
    my $admitted = !grep { !$_->[0] } @first;

    for my $i (0 .. $#claims) {
        next if !$claims[$i]{cost} || !$admitted;
        my ($answer) = $oracle->ask(
            'P ' . SlidewinOracle::rule($claims[$i]{policy})
            . " $now 1 $claims[$i]{cost} 0 1 @{$first[$i]}");
        my (undef, $v) = SlidewinOracle::proven($answer)
            or return "untrue: @{$first[$i]}";
        my $more = $ahead[$i]{ahead} < $v->{remaining} ? $ahead[$i]{ahead}
                                                       : $v->{remaining};
        $client->call_all(['COPY', "{one}$i", '{x}0', 'REPLACE'],
                          take($redis, 'x', $now, 1,
                               { %{$claims[$i]}, cost => $more }),
                          ['COPY', '{x}0', "{one}$i", 'REPLACE']);
        return "ahead $i: $after[$i][1], must be "
               . ($claims[$i]{cost} + $more)
            if $after[$i][1] != $claims[$i]{cost} + $more;
        $seen->{ahead}++ if $more;
        $seen->{short}++ if $more && $more < $ahead[$i]{ahead};
    }

    ($got, $want) = map { values_of($redis, $_, scalar @claims) }
                    'all', 'one';
    return "ahead it leaves $got, must be $want" if $got ne $want;

    return;
}

for my $binary (SlidewinRedis::engines()) {
    my $redis = SlidewinRedis->start(binary => $binary);
    my $engine = $redis->version;
    my (@bad, %seen);

    $redis->{client} = $redis->client;
    $redis->{sha}{$_} = $redis->command('SCRIPT', 'LOAD',
                                        SlidewinRedis::script_at($_))
        for SlidewinRedis::scripts();

    srand $seed;

    for my $round (1 .. $rounds) {
        my $bad = round($redis, \%seen) // next;
        push @bad, "round $round: $bad";
        last if @bad == 5;
    }

    is(scalar @bad, 0, "$engine: $rounds times several at once")
        or diag(join "\n", @bad);
    cmp_ok($seen{$_} // 0, '>', $rounds / 20, "$engine: $_, $seen{$_} times")
        for 0, 1, 'ahead', 'short';

    $redis->remove;
}

done_testing();
