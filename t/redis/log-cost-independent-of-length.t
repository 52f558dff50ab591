# A check or refund in a long log costs Redis what it touches, not the length of
# the log; and the log decides as a plain list of all admitted requests does,
# however often its entries are reused.

use strict;
use warnings;

use Test::More;

use SlidewinNginx;
use SlidewinRedis;

my $seed = $ENV{SLIDEWIN_SEED} // 20261118;
my ($redis, %at, %sha, %seen, $engine);

diag("SLIDEWIN_SEED=$seed");

sub between { my ($low, $high) = @_; return $low + int rand $high - $low + 1 }

sub int_of { my ($bytes, $n) = @_; return substr pack('Q<', $n), 0, $bytes }

sub time_there {
    my ($sec, $usec) = @{$redis->command('TIME')};

    return $sec * 1000 + int $usec / 1000;
}


# The plain list: [time, units], the oldest first.

sub drop {
    my ($model, $now) = @_;
    my $list = $model->{list};

    shift @$list while @$list && $list->[0][0] <= $now - $model->{window};

    return;
}

# what a take replies: admitted, units, total, oldest, newest, fits
sub expected {
    my ($model, $now, $cost) = @_;
    my $list = $model->{list};
    my ($total, $fits) = (0, 0);

    drop($model, $now);
    $total += $_->[1] for @$list;

    if ($total + $cost <= $model->{limit}) {
        push @$list, [$now, $cost];
        return (1, $cost, $total + $cost, $list->[0][0], $now, 0);
    }

    my $left = $total + $cost - $model->{limit};
    for (@$list) {
        $fits = $_->[0];
        last if ($left -= $_->[1]) <= 0;
    }

    return (0, 0, $total, $list->[0][0], $list->[-1][0], $fits);
}

sub uncount {
    my ($model, $cost, $stamp) = @_;

    for (reverse @{$model->{list}}) {
        next if $_->[0] != $stamp;
        my $units = $cost < $_->[1] ? $cost : $_->[1];
        $_->[1] -= $units;
        $cost -= $units;
    }
    @{$model->{list}} = grep { $_->[1] > 0 } @{$model->{list}};

    return;
}

sub policy { my ($m, $cost) = @_; return ('l', @$m{qw(limit window)}, 0, $cost) }

# One client for some windows, at a rate that changes.
sub walk {
    my ($limit) = @_;
    my $model = { limit => $limit, window => between(500, 3000), list => [] };
    my $now = 1_700_000_000_000 + between(0, 10_000);
    my $client = $redis->client;
    my (@calls, @wanted, @bad);
    my $pace = 1;

    for my $i (1 .. 8 * $limit) {
        $pace = between(0, 6) if $i % $limit == 0;
        $now += $pace == 6 ? between(0, int 40 * $model->{window} / $limit)
                           : between(0, int $pace * $model->{window} / $limit);

        if (rand 8 < 1 && @{$model->{list}}) {
            my $list = $model->{list};
            my $back = rand 10 < 1 ? @$list : @$list < 5 ? @$list : 5;
            my $stamp = $list->[-1 - int rand $back][0];
            my $cost = between(1, 3);

            push @calls, ['EVALSHA', $at{give_back}, 1, 'k',
                SlidewinRedis::packed($i, $now, policy($model, $cost), $stamp)];
            push @wanted, "$i $now";
            uncount($model, $cost, $stamp);
            next;
        }

        my $cost = rand 20 < 1 ? between(1, 5) : 1;
        my $script = rand 3 < 1 ? 'take' : 'take_log';

        push @calls, ['EVALSHA', $at{$script}, 1, 'k', SlidewinRedis::packed(
            $i, $now, 1, policy($model, $cost), 0, 0)];
        push @wanted, join ' ', $i, $now, expected($model, $now, $cost);
    }

    $redis->command('DEL', 'k');
    # the key must not expire, as the calls bring their own time
    my @replies = $client->call_all(['MULTI'], @calls, ['EXEC']);

    for my $i (0 .. $#calls) {
        my $reply = $replies[-1][$i];
        my $got = ref $reply ? $reply
                             : join ' ', SlidewinRedis::numbers($reply);
        next if $got eq $wanted[$i];
        push @bad, "limit $limit, call $i: $got, must be $wanted[$i]";
        last;
    }

    $seen{substr $redis->command('GET', 'k'), 0, 1}++;
    push @bad, 'it is ' . $redis->command('STRLEN', 'k') . ' bytes long'
        if $redis->command('STRLEN', 'k') > 17 + 12 * (4 * $limit + 84);
    push @bad, 'it has no end' if $redis->command('PTTL', 'k') < 0;

    return @bad;
}


# A full log, its entries spread over a window that ended so long ago.
my %filled;

sub fill {
    my ($entries, $window, $ago) = @_;
    my $filled = $filled{"$entries $ago"} //= do {
        my $start = time_there() - $window - $ago;
        my $text = 'l' . pack('V', $window) . int_of(6, $start + $window / 2)
                   . int_of(6, 0);

        $text .= join '', map {
            int_of(6, $start + int $_ * $window / $entries) . int_of(6, $_)
        } 1 .. $entries;
        [$text, $start + $window];
    };

    $redis->command('SET', 'k', $filled->[0], 'PX', 2 * $window);

    return $filled->[1];
}

# the shortest time in Redis, of some tries
sub usec {
    my ($entries, $what) = @_;
    my $least;

    for (1 .. 8) {
        my $call = $what->($entries);

        $redis->command('CONFIG', 'RESETSTAT');
        my $reply = $redis->command(@$call);
        my (undef, $usec) = $redis->calls('evalsha');
        $least = $usec if !defined $least || $usec < $least;
    }

    return $least;
}

my $window = 3_600_000;

my %costs = (
    'a take after half a window' => sub {
        my ($entries) = @_;
        fill($entries, $window, $window / 2);
        return ['EVALSHA', $sha{take_log}, 1, 'k', SlidewinRedis::packed(
            1, 0, 1, 'l', $entries, $window, 0, 1, 0, 0)];
    },
    'the next one' => sub {
        my ($entries) = @_;
        my $take = ['EVALSHA', $sha{take_log}, 1, 'k', SlidewinRedis::packed(
            1, 0, 1, 'l', $entries, $window, 0, 1, 0, 0)];
        fill($entries, $window, $window / 2);
        $redis->command(@$take);
        return $take;
    },
    'a give back of the newest' => sub {
        my ($entries) = @_;
        my $stamp = fill($entries, $window, 0);
        return ['EVALSHA', $sha{give_back}, 1, 'k', SlidewinRedis::packed(
            1, $stamp, 'l', $entries, $window, 0, 1, $stamp)];
    },
);

for my $binary (SlidewinRedis::engines()) {
    $redis = SlidewinRedis->start(binary => $binary);
    $engine = $redis->version;

    for my $script (SlidewinRedis::scripts()) {
        $sha{$script} = $redis->command('SCRIPT', 'LOAD',
                                        SlidewinRedis::script($script));
        $at{$script} = $redis->command('SCRIPT', 'LOAD',
                                       SlidewinRedis::script_at($script));
    }

    srand $seed;

    for my $limit (40, 90, 200, 700) {
        my @bad = map { walk($limit) } 1 .. 3;

        is(join("\n", @bad), '', "$engine: as a list of up to $limit has it");
    }

    cmp_ok($seen{L} // 0, '>', 0, "$engine: places were used again");

    for my $name (sort keys %costs) {
        my ($short, $long) = map { usec($_, $costs{$name}) } 10_000, 100_000;

        diag("$engine: $name: $short us of 10,000, $long us of 100,000");
        cmp_ok($long, '<', 4 * $short + 50,
               "$engine: $name costs what it touches");
    }

    $redis->remove;
}

done_testing();
