# take_ban in a real server: without a ban that applies it is take, to the byte
# of what it replies and writes; with one it does what sw_ban.h says. A call for
# several requests does what as many calls do. A request that may wait until there
# is room begins no ban, and one that may wait a millisecond less does. An error
# leaves no trace.
#
# SLIDEWIN_SEED repeats a run, SLIDEWIN_TRACES is the number of traces.

use strict;
use warnings;

use Test::More;

use List::Util qw(max min);
use SlidewinRedis;

my @letters = qw(c f s l);
my $traces = $ENV{SLIDEWIN_TRACES} || 150;
my $seed = $ENV{SLIDEWIN_SEED} // 20240607;
my $slices = 8;

# 40 days, and a time in the middle of one: no window ends in a trace
my $long = 40 * 86_400_000;
my $start = 500 * $long + $long / 2;
my ($redis, $client, %sha, $engine);

diag("SLIDEWIN_SEED=$seed");

sub pick { return $_[rand @_] }

# A call is { now, times, claims => [{ letter, limit, window, cost, dry,
# prefetch, length, longest, begins, key }] }: begins is 1 + the ms that the
# request may wait for room, 0 for no ban.

sub claims { return @{$_[0]{claims}} }

sub numbers_of { return { c => 5, f => 5, s => 3 + $slices + 1, l => 6 }->{$_[0]} }

sub first_argument {
    my ($call) = @_;

    return SlidewinRedis::packed(7, $call->{now}, $call->{times}, map {
        ($_->{letter}, $_->{limit}, $_->{window},
         $_->{letter} eq 's' ? $slices : 0, $_->{cost}, $_->{dry},
         $_->{prefetch})
    } claims($call));
}

sub take {
    my ($call, $prefix) = @_;

    return ['EVALSHA', $sha{take}, scalar claims($call),
            (map { "$prefix$_->{key}" } claims($call)), first_argument($call)];
}

sub take_ban {
    my ($call, $prefix) = @_;

    return ['EVALSHA', $sha{take_ban}, 2 * claims($call),
            (map { "$prefix$_->{key}" } claims($call)),
            (map { "$prefix$_->{key}:" . ($_->{dry} ? 'dry-ban' : 'ban') }
             claims($call)),
            first_argument($call),
            SlidewinRedis::packed(map { @$_{qw(length longest begins)} }
                                  claims($call))];
}

# (number, time, [admitted, units...] of each claim, [left, began] of each)
sub decoded {
    my ($call, $reply) = @_;

    return $reply if ref $reply;

    my ($number, $now, @numbers) = SlidewinRedis::numbers($reply);
    my @windows = map { [splice @numbers, 0, numbers_of($_->{letter})] }
                  claims($call);

    return { now => $now, windows => \@windows,
             bans => [map { [splice @numbers, 0, 2] } claims($call)],
             rest => scalar @numbers };
}

sub value { return $redis->command('GET', $_[0]) // '-' }


# One policy, or several of clients of their own, which may be of other windows.

sub policies {
    my (%fixed) = @_;
    my $n = pick(1, 1, 2, 3);

    return map {
        my $length = pick(0, 100, 1000, 1000, 5000);
        {
            letter => pick(@letters), limit => pick(1, 2, 3, 5, 8, 20),
            window => $long, dry => 0, key => $_,
            length => $length, longest => $length
                ? pick(0, 0, $length, 3 * $length, 8 * $length) : 0,
            begins => 1, %fixed,
        }
    } 1 .. $n;
}

sub call_of {
    my ($now, @policies) = @_;
    my $dry = grep { $_->{dry} } @policies;

    return { now => $now, times => $dry ? 1 : pick(1, 1, 1, 2, 3, 7),
             claims => [map { {
                 %$_, cost => pick(0, 1, 1, 1, 2, 3, $_->{limit} + 1),
                 prefetch => pick(0, 0, 0, 0, 2),
             } } @policies] };
}


# Without a ban: as take. No key expires by the clock of the server meanwhile.

sub test_as_take {
    my ($n, %seen, @bad) = (0);

    srand $seed;

    for (1 .. $traces) {
        my @policies = policies(
            window => pick(10_000, 60_000, 1_000_000, $long),
            pick(0, 1) ? (length => 0, longest => 0) : (begins => 0));
        my $now = $start;

        $_->{dry} = pick(0, 0, 1) for @policies;
        $client->call_all(['FLUSHALL']);

        for (1 .. 15) {
            $now += pick(0, 0, 1, 7_000, 100_000, 1_000_000);
            # a policy that was changed
            @$_{qw(letter limit window)}
                = (pick(@letters), pick(1, 3, 9),
                   pick(10_000, 60_000, 1_000_000, $long))
                for rand 10 < 1 ? pick(@policies) : ();

            my $call = call_of($now, @policies);
            my ($one, $two) = $client->call_all(take($call, 'a'),
                                                take_ban($call, 'b'));
            my $claims = claims($call);

            $n++;
            $one .= "\0" x (14 * $claims) if !ref $one;
            push @bad, "reply $n" if "$one" ne "$two";
            my @keys = map { $_->{key} } @policies;
            push @bad, "value $n"
                if join('|', map { value("a$_") } @keys)
                   ne join('|', map { value("b$_") } @keys);
            my $info = decoded($call, $two);
            $seen{$_->[0] > 0 ? 'admitted' : 'rejected'}++
                for @{$info->{windows}};
            last if @bad;
        }

        push @bad, 'a ban' if @{$redis->command('KEYS', '*ban')};
        last if @bad;
    }

    is("@bad", '', "$engine: $n calls without a ban are as those of take");
    cmp_ok(min(@seen{qw(admitted rejected)}), '>', $n / 10,
           "$engine: ... with admissions and rejections");

    return;
}


# The model: what is counted of each key, and { ends, last } of each ban.

sub expect {
    my ($model, $call) = @_;
    my ($now, $times) = @$call{qw(now times)};
    my ($counted, $dry_counts) = ($times, 1);
    my (@admitted, @left, @answers);

    for my $p (claims($call)) {
        my $room = $p->{limit} - ($model->{units}{$p->{key}} // 0);
        my $admitted = $p->{cost} == 0 ? $times
                       : min($times, int(max($room, 0) / $p->{cost}));
        my $ban = $model->{bans}{"$p->{key} $p->{dry}"};
        my $left = 0;

        if ($p->{length} && $ban && $now < $ban->{ends}) {
            if ($ban->{ends} - $now > $ban->{last}) {
                $ban->{ends} = $now + $ban->{last};
                $ban->{ttl} = $ban->{last} + $p->{longest};
                $ban->{until} = $now + $ban->{ttl};
            }
            $left = $ban->{ends} - $now;
        }

        push @admitted, $admitted;
        push @left, $left;

        if ($p->{dry}) {
            $dry_counts = 0 if $admitted < $times || $left;
        } else {
            $counted = min($counted, $left ? 0 : $admitted);
        }
    }

    for my $p (claims($call)) {
        my ($admitted, $left, $began) = (shift @admitted, shift @left, 0);
        my $requests = $dry_counts || !$p->{dry} ? $counted : 0;
        my $units = $requests * $p->{cost};
        my $room = $p->{limit} - ($model->{units}{$p->{key}} // 0);

        $units += min($p->{prefetch}, $room - $units)
            if $requests == $times && $p->{cost} > 0;

        $model->{units}{$p->{key}} += $units;

        if (!$left && $p->{length} && $p->{begins} && $admitted < $times
            && ($p->{dry} || $admitted <= $counted))
        {
            my $ban = $model->{bans}{"$p->{key} $p->{dry}"}
                    //= { ends => 0, last => 0 };
            my $length = $p->{length};

            if ($ban->{last} && $p->{longest}
                && $now - $ban->{ends} <= $p->{longest})
            {
                $length = min(max($length, 2 * $ban->{last}), $p->{longest});
            }

            @$ban{qw(ends last)} = ($now + $length, $length);
            $ban->{ttl} = $length + $p->{longest};
            $ban->{until} = $now + $ban->{ttl};
            ($left, $began) = ($length, 1);
        }

        push @answers, "$admitted $units $left $began";
    }

    return join ', ', @answers;
}

sub got {
    my ($call, $reply) = @_;
    my $d = decoded($call, $reply);

    return "$d" if ref $d ne 'HASH';

    return join ', ', map {
        "@{$d->{windows}[$_]}[0, 1] @{$d->{bans}[$_]}"
    } 0 .. $#{$d->{windows}};
}

sub show {
    my ($call) = @_;

    return "now $call->{now} times $call->{times}" . join '', map {
        my $p = $_;
        "\n  " . join ' ', map { "$_=$p->{$_}" } sort keys %$p;
    } claims($call);
}

sub test_model {
    my ($steps) = @_;
    my ($n, %seen, @bad) = (0);

    srand $seed + 1 + $steps;

    TRACE:
    for (1 .. $traces) {
        my @policies = policies();
        my ($now, %model) = ($start);

        $_->{dry} = pick(0, 0, 0, 1) for @policies;
        $client->call_all(['FLUSHALL']);

        for (1 .. 25) {
            $now += pick(0, 0, 1, 50, 100, 101, 999, 1000, 1001, 5000, 20_000);
            $now -= pick(1, 100, 3_600_000) if $steps && rand 8 < 1;
            $_->{begins} = pick(0, 1, 1, 1) for @policies;
            # changed by a reload
            @$_{qw(length longest)} = (pick(0, 200, 2000), 0)
                for rand 20 < 1 ? pick(@policies) : ();

            my $call = call_of($now, @policies);

            # A clock that is set back leaves units in a window ahead: other
            # suites are about those.
            if ($steps) {
                $_->{letter} = 'f' for claims($call);
            }

            # a key expires by the clock of the server, which stands still
            for my $p (claims($call)) {
                my $ban = $model{bans}{"$p->{key} $p->{dry}"} or next;
                my $key = "$p->{key}:" . ($p->{dry} ? 'dry-ban' : 'ban');

                next if $steps || $now < $ban->{until};
                delete $model{bans}{"$p->{key} $p->{dry}"};
                $redis->command('DEL', $key);
            }

            my $want = expect(\%model, $call);
            my $is = got($call, $client->call(@{take_ban($call, '')}));

            $n++;
            $seen{began}++ while $want =~ / 1(?:,|$)/g;
            $seen{hit}++ while $want =~ / [1-9]\d* 0(?:,|$)/g;
            $seen{passed}++ if $want =~ /^[1-9]\d* [1-9]/;

            if ($is ne $want) {
                push @bad, "call $n: $is, must be $want";
                diag(show($call));
                last TRACE;
            }

            for my $p (claims($call)) {
                my $ban = $model{bans}{"$p->{key} $p->{dry}"} or next;
                my $key = "$p->{key}:" . ($p->{dry} ? 'dry-ban' : 'ban');
                my ($ends, $last)
                    = SlidewinRedis::numbers($redis->command('GET', $key)
                                             // '');
                my $ttl = $redis->command('PTTL', $key);

                push @bad, "call $n: ban " . ($ends // '-')
                    if ($ends // -1) != $ban->{ends} || $last != $ban->{last};
                # it is in seconds, as the machine may be slow
                push @bad, "call $n: TTL $ttl, not $ban->{ttl}"
                    if $ttl > 1000 * $ban->{ttl}
                       || $ttl < 1000 * ($ban->{ttl} - 60);
            }
            last TRACE if @bad;
        }
    }

    is("@bad", '', "$engine: $n calls, bans as the model has them"
       . ($steps ? ', the clock steps back' : ''));
    cmp_ok($seen{$_} // 0, '>', $n / 100, "$engine: ... some have $_")
        for qw(began hit passed);

    return;
}


# One call for n requests is n calls.

sub test_one_by_one {
    my ($n, @bad) = (0);

    srand $seed + 3;

    for (1 .. $traces) {
        my @policies = policies();
        my $now = $start;

        $client->call_all(['FLUSHALL']);

        for (1 .. 12) {
            $now += pick(0, 1, 500, 1000, 3000);

            my $call = call_of($now, @policies);

            $call->{times} = pick(2, 3, 5, 9);
            $_->{prefetch} = 0 for claims($call);

            my $group = decoded($call, $client->call(@{take_ban($call, 'a')}));
            my %one = (%$call, times => 1);
            my @each = map {
                decoded(\%one, $client->call(@{take_ban(\%one, 'b')}))
            } 1 .. $call->{times};

            $n++;

            for my $i (0 .. $#{$call->{claims}}) {
                my $units = 0;
                my $began = 0;

                $units += $_->{windows}[$i][1] for @each;
                $began += $_->{bans}[$i][1] for @each;
                push @bad, "call $n: units $group->{windows}[$i][1] for $units"
                    if $units != $group->{windows}[$i][1];
                push @bad, "call $n: a ban began $began times"
                    if $began != $group->{bans}[$i][1];
                push @bad, "call $n: what is left"
                    if $group->{bans}[$i][0] != $each[-1]{bans}[$i][0];

                my ($a, $b) = map { value("$_$call->{claims}[$i]{key}:ban") }
                              qw(a b);
                push @bad, "call $n: another ban" if $a ne $b;
            }
            if (@bad) {
                diag(show($call));
                last;
            }
        }
        last if @bad;
    }

    is("@bad", '', "$engine: $n calls for several requests are as many calls");

    return;
}


# A request that would be admitted, if no other came, before its wait is over.

sub admitted_after {
    my ($policy, $now, $wait) = @_;

    $redis->command('COPY', 'k', 'copy', 'REPLACE') or $redis->command('DEL', 'copy');

    my $call = { now => $now + $wait, times => 1,
                 claims => [{ %$policy, key => 'copy' }] };

    return (SlidewinRedis::numbers($client->call(@{take($call, '')})))[2];
}

sub begins_ban {
    my ($policy, $now, $times, $wait) = @_;
    my $call = { now => $now, times => $times,
                 claims => [{ %$policy, begins => 1 + $wait }] };

    $redis->command('DEL', 'k:ban');

    # what it counts is not there for the next one
    $redis->command('COPY', 'k', 'before', 'REPLACE') or $redis->command('DEL', 'before');
    my $bans = decoded($call, $client->call(@{take_ban($call, '')}))->{bans};
    $redis->command('COPY', 'k', 'after', 'REPLACE') or $redis->command('DEL', 'after');
    $redis->command('COPY', 'before', 'k', 'REPLACE') or $redis->command('DEL', 'k');

    return $bans->[0][1];
}

sub test_may_wait {
    my ($n, %seen, @bad) = (0);

    srand $seed + 4;

    for my $trace (1 .. $traces / 3) {
        my $window = pick(100_000, 99_991, 1_000_000);
        my $limit = pick(1, 2, 3, 5, 8, 20);
        my $policy = { letter => $letters[$trace % @letters], limit => $limit,
                       window => $window, dry => 0, key => 'k', length => 1000,
                       longest => 0, prefetch => 0 };
        my $now = $start + int rand $window;

        $client->call_all(['FLUSHALL']);

        for (1 .. 10) {
            # now and then a clock that was set back
            $now += pick(0, 1, 100, int $window / 20, int $window / 3, $window,
                         rand 3 < 1 ? -int $window / 4 : 7);
            $policy->{cost} = pick(1, 1, 2, $limit, 1 + int rand $limit);
            $client->call(@{take({ now => $now, times => pick(1, 1, 2),
                                   claims => [{ %$policy }] }, '')});
            $policy->{cost} = pick(1, 2, $limit, 1 + int rand $limit);
            $policy->{cost} = $limit if $policy->{cost} > $limit;

            # of several requests at once, the first that is rejected
            my $times = pick(1, 1, 1, 2, 4);
            my ($low, $high) = (0, 3 * $window);
            my $many = { now => $now, times => $times, claims => [{ %$policy }] };

            if (admitted_after($policy, $now, 0)) {
                next if $times == 1;
                $client->call(@{take($many, '')});
                next if admitted_after($policy, $now, 0);
                $times = 1;
            }
            while ($high - $low > 1) {
                my $middle = int +($low + $high) / 2;
                (admitted_after($policy, $now, $middle) ? $high : $low) = $middle;
            }

            $n++;
            $seen{$policy->{letter}}++;

            for my $case ([$high - 1, 1], [$high, 0], [$high + 1, 0], [0, 1],
                          [$window * 3, 0]) {
                my ($wait, $want) = @$case;
                my $began = begins_ban($policy, $now, $times, $wait);

                push @bad, "$policy->{letter} $n: $began with $wait of $high"
                    if $began != $want;
            }

            my $never = { %$policy, cost => $limit + 1 };
            push @bad, "$n: no ban for a cost above the limit"
                if !begins_ban($never, $now, 1, 10 * $window);

            if (@bad) {
                diag(show({ now => $now, times => $times,
                            claims => [{ %$policy, begins => '' }] }));
                last;
            }
        }
        last if @bad;
    }

    is("@bad", '', "$engine: $n rejections, a ban if the wait is too short");
    cmp_ok($seen{$_} // 0, '>', $n / 10, "$engine: ... some of $_") for @letters;

    return;
}


# An error leaves no trace, whichever key has it.

sub snapshot {
    my @keys = sort @{$redis->command('KEYS', '*')};

    return join '|', map { $_, $redis->command('DUMP', $_) // '' } @keys;
}

sub test_errors {
    my @policies = map {
        { letter => $_, limit => 1, window => $long, dry => 0, key => $_,
          length => 1000, longest => 8000, begins => 1, cost => 1,
          prefetch => 0 }
    } @letters;
    my $call = { now => $start, times => 3, claims => \@policies };

    for my $p (@policies) {
        for my $key ($p->{key}, "$p->{key}:ban") {
            for my $type (qw(list text)) {
                $client->call_all(['FLUSHALL']);
                $redis->command($type eq 'list' ? 'RPUSH' : 'SET', $key, 'x');

                my $before = snapshot();
                my $reply = $client->call(@{take_ban($call, '')});

                ok(SlidewinRedis::is_error($reply),
                   "$engine: a $type under $key is an error");
                is(snapshot(), $before, "$engine: ... that leaves no trace");
            }
        }
    }

    # no memory for more: nothing is counted without its ban

    $client->call_all(['FLUSHALL']);
    $redis->command('CONFIG', 'SET', 'maxmemory', 1);

    my $reply = $client->call(@{take_ban($call, '')});

    $redis->command('CONFIG', 'SET', 'maxmemory', 0);
    ok(SlidewinRedis::is_error($reply), "$engine: no memory is an error");
    is(snapshot(), '', "$engine: ... that leaves no trace");

    # a banned request writes nothing, nor does a look

    $client->call(@{take_ban($call, '')});
    my $before = snapshot();
    $client->call(@{take_ban({ %$call, now => $start + 500 }, '')});
    is(snapshot(), $before, "$engine: a banned request writes nothing");

    my %look = (%$call, now => $start + 5000, times => 1,
                claims => [map { { %$_, begins => 0 } } @policies]);
    $client->call(@{take_ban(\%look, '')});
    is(snapshot(), $before, "$engine: nor does a look after the ban");

    return;
}

# The time is that of the call. A ban lives for seconds instead of ms: none
# expires while the suite looks at it.

sub script {
    my ($name) = @_;
    my $text = SlidewinRedis::script_at($name);

    if ($name eq 'take_ban') {
        $text =~ s/(pack\('<I7I7',\w+,\w+\),'PX',)\s*(\w+\+\w+)\)/$1 1000*($2))/
            or die "no ban is written\n";
    }

    return $text;
}

for my $binary (SlidewinRedis::engines()) {
    $redis = SlidewinRedis->start(binary => $binary);
    $engine = $redis->version;
    $client = $redis->client;
    $sha{$_} = $redis->command('SCRIPT', 'LOAD', script($_))
        for qw(take take_ban);

    test_as_take();
    test_model($_) for 0, 1;
    test_one_by_one();
    test_may_wait();
    test_errors();

    $redis->remove;
}

done_testing();
