# The scripts in a real server: what they write, and that they write all of it
# or nothing, whatever values they find.

use strict;
use warnings;

use Test::More;

use SlidewinOracle;
use SlidewinRedis;

my %letter = (counter => 'c', fixed => 'f', strict => 's', log => 'l');
my @algorithms = sort keys %letter;
my $seed = $ENV{SLIDEWIN_SEED} // 20240607;
my $oracle = SlidewinOracle->new;
my ($redis, %sha, $engine);

diag("SLIDEWIN_SEED=$seed");

# 40 days: an aligned window that does not end during the suite
my $long = 40 * 86_400_000;

# a rule is [algorithm, limit, window]
sub arguments {
    my ($policy, $cost, @last) = @_;
    my ($algorithm, $limit, $window) = @$policy;

    return ($letter{$algorithm}, $limit, $window,
            $algorithm eq 'strict' ? 16 : 0, $cost, @last);
}

sub take_call {
    my ($now, @claims) = @_;

    my $script = @claims > 1 ? 'take'
                 : (SlidewinRedis::takes($letter{$claims[0]{policy}[0]}))[-1];

    return ['EVALSHA', $sha{$script}, scalar @claims,
            (map { $_->{key} } @claims),
            SlidewinRedis::packed(7, $now, 1, map {
                arguments($_->{policy}, $_->{cost} // 1, $_->{dry} // 0, 0)
            } @claims)];
}

# (admitted, units counted) of each claim, or the error
sub take {
    my ($now, @claims) = @_;
    my $reply = $redis->call(@{take_call($now, @claims)});

    return $reply if ref $reply;

    my (undef, undef, @numbers) = SlidewinRedis::numbers($reply);

    return join ' ', map {
        my @own = splice @numbers, 0, { c => 5, f => 5, s => 20, l => 6 }
                                      ->{$letter{$_->{policy}[0]}};
        "$own[0]$own[1]";
    } @claims;
}

sub give_back {
    my ($now, $key, $policy, $cost, $stamp) = @_;

    return $redis->call('EVALSHA', $sha{give_back}, 1, $key,
        SlidewinRedis::packed(7, $now, arguments($policy, $cost, $stamp)));
}

sub values_of { return join '|', map { $redis->command('GET', $_) // '-' } @_ }

sub changes {
    my ($n) = $redis->command('INFO', 'persistence')
              =~ /^rdb_changes_since_last_save:(\d+)/m;

    return $n;
}

sub time_there {
    my ($sec, $usec) = @{$redis->command('TIME')};

    return $sec * 1000 + int $usec / 1000;
}


# Every key has a time to live from its first write on.

sub lives {
    my ($key, $window, $name) = @_;
    my $ttl = $redis->command('PTTL', $key);

    ok($ttl > 0 && $ttl <= 2 * $window, "$engine: $name")
        or diag("TTL $ttl of a window of $window");

    return;
}

sub test_ttl {
    for my $window (20_000, 3_600_000) {
        for my $algorithm (@algorithms) {
            my $policy = [$algorithm, 100, $window];
            my $claim = { key => 'k', policy => $policy };
            my $name = "$algorithm, $window ms: a TTL";

            $redis->command('FLUSHALL');
            is(take(0, $claim), '11', "$engine: $algorithm counts");
            lives('k', $window, "$name from the first write");

            my $stamp = time_there();
            take($stamp, $claim) for 1 .. 50;
            lives('k', $window, "$name after many writes");

            give_back(0, 'k', $policy, 1, $stamp);
            lives('k', $window, "$name after a give back");

            give_back(0, 'k', $policy, 1000, $stamp);
            lives('k', $window, "$name after all was given back");

            for my $other (@algorithms) {
                next if $other eq $algorithm;
                $redis->command('FLUSHALL');
                take(0, $claim);
                is(take(0, { key => 'k', policy => [$other, 9, 30_000] }),
                   '11', "$engine: $algorithm becomes $other");
                lives('k', 30_000, "$algorithm becomes $other: a TTL");
            }
        }
    }

    # one transaction: the window would end before the suite could look
    for my $algorithm (@algorithms) {
        my $client = $redis->client;
        my @replies = $client->call_all(
            ['FLUSHALL'], ['MULTI'],
            take_call(0, { key => 'k', policy => [$algorithm, 5, 1] }),
            ['PTTL', 'k'], ['EXEC']);
        my $ttl = $replies[-1][1];
        ok($ttl >= 0 && $ttl <= 2, "$engine: $algorithm, 1 ms: a TTL")
            or diag("TTL $ttl");
    }

    return;
}


# What is not counted is not written.

sub test_untouched {
    for my $algorithm (@algorithms) {
        my $claim = { key => 'k', policy => [$algorithm, 3, $long] };
        my $now = time_there();

        $redis->command('FLUSHALL');
        my $changes = changes();

        is(take($now, { %$claim, cost => 0 }), '10', "$engine: $algorithm, "
           . 'a peek at a new client');
        is(take($now, { %$claim, cost => 4 }), '00', "$engine: $algorithm, "
           . 'a cost above the limit');
        give_back($now, 'k', $claim->{policy}, 1, $now);
        is($redis->command('EXISTS', 'k'), 0, "$engine: $algorithm, no key");

        take($now, $claim) for 1 .. 3;
        my $counted = changes();
        my @before = (values_of('k'), $redis->command('PEXPIRETIME', 'k'));

        is(take($now + $_, $claim), '00', "$engine: $algorithm, full")
            for 0, 1, 1000;
        is(take($now + 1000, { %$claim, cost => 0 }), '10',
           "$engine: $algorithm, a peek");

        is_deeply([values_of('k'), $redis->command('PEXPIRETIME', 'k')],
                  \@before, "$engine: $algorithm, the key is as it was");
        is(changes() - $counted, 0, "$engine: $algorithm, no write");
        is($counted - $changes, 3, "$engine: $algorithm, a write a take");
    }

    return;
}


# All zones of a call are written, or none.

sub test_all_or_nothing {
    my $now = time_there();
    my @claims = map { { key => "{k}$_", policy => [$_, 5, $long] } }
                 @algorithms;
    my @keys = map { $_->{key} } @claims;

    for my $narrow (0 .. $#claims) {
        $redis->command('FLUSHALL');

        my @asked = @claims;
        $asked[$narrow] = { %{$asked[$narrow]},
                            policy => [$algorithms[$narrow], 3, $long] };

        is(take($now, @asked), '11 11 11 11', "$engine: all count")
            for 1 .. 3;

        my $before = values_of(@keys);
        my $changes = changes();
        my @want = ('10') x 4;
        $want[$narrow] = '00';

        is(take($now, @asked), "@want",
           "$engine: $algorithms[$narrow] is full");
        is(values_of(@keys), $before, "$engine: none is counted");
        is(changes(), $changes, "$engine: none is written");

        # a dry run that would reject does not keep the other zones from
        # counting
        my @dry = @asked;
        $dry[$narrow] = { %{$asked[$narrow]}, dry => 1 };
        $dry[$narrow - 1] = { %{$asked[$narrow - 1]}, dry => 1 };
        @want = ('11') x 4;
        $want[$narrow] = '00';
        $want[$narrow - 1] = '10';
        is(take($now, @dry), "@want", "$engine: $algorithms[$narrow] is full, "
           . 'in dry run');
    }

    return;
}


# Values of other programs: an error, and nothing is written.

my $foreign = qr/^(?:SLIDEWIN|WRONGTYPE) /;

sub refused {
    my ($policy, $name) = @_;
    my $other = { key => '{k}other', policy => ['counter', 5, 60_000] };
    my $claim = { key => 'k', policy => $policy };
    my $dump = $redis->command('DUMP', 'k');

    my @replies = (take(0, $claim), take(0, { %$claim, cost => 0 }),
                   take(0, $other, $claim), take(0, $claim, $other));

    # the reply to a refund is not looked at: the script must leave the key
    # alone
    give_back(0, 'k', $policy, 1, time_there());

    return 1 if 4 == grep({ SlidewinRedis::is_error($_) && /$foreign/ }
                          @replies)
                && $redis->command('DUMP', 'k') eq $dump
                && !$redis->command('EXISTS', '{k}other');

    diag("$name: " . join ', ', map { ref ? $_ : unpack 'H*', $_ } @replies);
    return 0;
}

sub test_foreign {
    my %types = (
        hash => ['HSET', 'k', 'a', 1], list => ['RPUSH', 'k', 'a'],
        set => ['SADD', 'k', 'a'], zset => ['ZADD', 'k', 1, 'a'],
        stream => ['XADD', 'k', '*', 'a', 1],
        map { +"string \"$_\"" => ['SET', 'k', $_] }
            '', 'c', 'f', 's', 'l', '5', 'counter', "\0" x 25, 'x' x 25,
            'c' . "\0" x 24, 's' . "\0" x 18, 'l' . "\0" x 16,
            "s\1\0\0\0\0" . "\0" x 13, 'l' x 16, 'l' x 18,
            'y' x 100_000, '{"count":3}'
    );

    for my $algorithm (@algorithms) {
        my $policy = [$algorithm, 5, 60_000];
        my $good = 0;

        # a log without entries is empty, whatever its header says
        my @types = grep {
            $algorithm ne 'log' || !/^string "(?:l\0{16})?"$/
        } sort keys %types;

        for my $type (@types) {
            $redis->command('FLUSHALL');
            $redis->command(@{$types{$type}});
            $good += refused($policy, substr $type, 0, 40);
        }
        is($good, @types, "$engine: $algorithm, other values");

        # its own value, cut at every byte; a log without its last entries is
        # still a log
        $redis->command('FLUSHALL');
        take(0, { key => 'k', policy => $policy }) for 1 .. 3;
        my $value = $redis->command('GET', 'k');
        my @cuts = grep {
            $algorithm ne 'log' || $_ && ($_ < 17 || ($_ - 17) % 12)
        } 0 .. length($value) - 1;

        $good = 0;
        for my $cut (@cuts) {
            $redis->command('SET', 'k', substr $value, 0, $cut);
            $good += refused($policy, "cut at $cut");
        }
        is($good, @cuts, "$engine: $algorithm, cut short");
    }

    return;
}

# Random bytes, half of them of the right kind and length: the script returns an
# error or an answer, and what it writes has a time to live.
sub test_noise {
    my ($rounds) = @_;
    my %length = (c => sub { 25 }, f => sub { 25 },
                  s => sub { 12 + 7 * (1 + int rand 20) },
                  l => sub { 17 + 12 * int rand 20 });
    my (%seen, @bad);

    srand $seed;

    for my $round (1 .. $rounds) {
        my $algorithm = $algorithms[rand @algorithms];
        my $window = (1000, 60_000, 3_600_000)[rand 3];
        my $policy = [$algorithm, 1 + int rand 10, $window];
        my $now = time_there();
        my $value;

        if (rand 2 < 1) {
            $value = join '', map { chr int rand 256 } 1 .. rand 60;

        } else {
            my $kind = rand 2 < 1 ? $letter{$algorithm}
                                  : (sort values %letter)[rand 4];
            my $size = $length{$kind}->();
            $value = pack 'aV', $kind, rand 2 < 1 ? $window : rand 2 ** 32;
            $value .= chr(rand 2 < 1 ? 16 : ($size - 19) / 7) if $kind eq 's';
            $value .= substr pack('Q<', $now - int rand 2 * $window), 0, 6
                if $kind eq 'l';
            $value .= chr(int rand 256) while length $value < $size;
            $value = substr $value, 0, $size;
        }

        # with a time to live as the module's own keys have, which an append
        # keeps
        $redis->command('SET', 'k', $value, 'PX', 7_200_000);
        my $reply = $redis->call(@{take_call($now, { key => 'k',
                                                     policy => $policy })});
        my $after = $redis->command('GET', 'k');
        my $outcome = 'nonsense';

        if (SlidewinRedis::is_error($reply)) {
            $outcome = $reply =~ $foreign ? 'foreign' : "crash: $reply";

        } else {
            my (undef, undef, @numbers) = SlidewinRedis::numbers($reply);
            my ($answer) = $oracle->ask(
                'P ' . SlidewinOracle::rule({
                    algorithm => $algorithm, limit => $policy->[1],
                    window => $window,
                    slices => $algorithm eq 'strict' ? 16 : 0,
                }) . " $now 1 1 0 1 @numbers");
            if (my ($is, $verdict) = SlidewinOracle::proven($answer)) {
                $outcome = $verdict->{admitted} ? 'admitted' : 'refused';
            }
        }

        $seen{$outcome}++;
        # a state from the future may have been made one of now
        push @bad, "$outcome: " . unpack 'H*', $value
            if $outcome =~ /crash/
               || $after ne $value && $redis->command('PTTL', 'k') < 1;

        my $given = give_back($now, 'k', $policy, 1, $now);
        push @bad, "give back: $given: " . unpack 'H*', $after
            if SlidewinRedis::is_error($given) && $given !~ $foreign;
    }

    is(scalar @bad, 0, "$engine: $rounds values by chance")
        or diag(join "\n", splice @bad, 0, 5);
    cmp_ok($seen{foreign}, '>', $rounds / 4, "$engine: most are found out");

    diag("$engine, values by chance: "
         . join ', ', map { "$seen{$_} $_" } sort keys %seen);

    return;
}


# Out of memory: nothing is half written or forgotten.

sub test_oom {
    my $now = time_there();
    my @claims = map { { key => "{k}$_", policy => [$_, 4, $long] } }
                 @algorithms;
    my @keys = map { $_->{key} } @claims;

    $redis->command('FLUSHALL');
    take($now, @claims) for 1 .. 3;

    my $before = values_of(@keys);

    $redis->command('CONFIG', 'SET', 'maxmemory-policy', 'noeviction');
    $redis->command('CONFIG', 'SET', 'maxmemory', 1);

    like(take($now + 5, @claims), qr/^OOM /, "$engine: no memory: an error");
    like(take($now + 5, $_), qr/^OOM /, "$engine: no memory: $_->{key}")
        for @claims;
    like(take($now + 5, { key => 'new', policy => ['log', 4, 60_000] }),
         qr/^OOM /, "$engine: no memory: a new key");
    is(values_of(@keys, 'new'), "$before|-", "$engine: no memory: no trace");
    is(take($now + 5, map { { %$_, cost => 2 } } @claims), '00 00 00 00',
       "$engine: no memory: what is refused is refused");

    $redis->command('CONFIG', 'SET', 'maxmemory', 0);

    is(take($now + 5, @claims), '11 11 11 11', "$engine: memory again");
    is(take($now + 5, @claims), '00 00 00 00',
       "$engine: all that was admitted is counted");

    return;
}


# A short log: prefetched units beyond the cost have to fit, and expired entries
# are not written again.

sub test_short_log {
    my $window = 60_000;

    for my $script (SlidewinRedis::takes('l')) {
        my $now = time_there();

        my $ask = sub {
            my ($key, $limit, $cost, $beyond) = @_;

            return join ' ', (SlidewinRedis::numbers($redis->command(
                'EVALSHA', $sha{$script}, 1, $key, SlidewinRedis::packed(
                7, $now, 1, arguments(['log', $limit, $window], $cost, 0,
                                      $beyond)))))[2 .. 7];
        };
        my $name = "$engine: $script";

        $redis->command('DEL', 'new', 'old');
        is($ask->('new', 9, 2, 3), "1 5 5 $now $now 0",
           "$name: a log begins with what is taken beyond");
        is($ask->('new', 9, 2, 1), "1 3 8 $now $now 0", "$name: and goes on");
        is($ask->('new', 9, 1, 5), "1 1 9 $now $now 0",
           "$name: as far as there is room");
        is($ask->('new', 9, 1, 5), "0 0 9 $now $now $now", "$name: not more");
        $redis->command('DEL', 'new');
        is($ask->('new', 3, 1, 5), "1 3 3 $now $now 0",
           "$name: nor at once");

        # due to be written anew, one of two entries has expired
        $redis->command('SET', 'old', 'l' . pack('V', $window) . join '',
            map { substr pack('q<', $_), 0, 6 }
                $now - $window, 0, $now - $window, 2, $now - 9, 5);
        my $oldest = $now - 9;
        is($ask->('old', 9, 1, 1), "1 2 5 $oldest $now 0",
           "$name: what has left counts nothing");
        is($redis->command('STRLEN', 'old'), 17 + 2 * 12,
           "$name: nor is it kept");
        lives('old', $window, "$script: the log has an end again");
    }

    return;
}


# Without a time in the call the server's is used, and Lua's numbers are exact.

sub test_clock {
    for my $script ('take', 'take_log') {
        my $before = time_there();
        my ($number, $now) = SlidewinRedis::numbers($redis->command(
            'EVALSHA', $sha{$script}, 1, "clock $script",
            SlidewinRedis::packed(9007199254740991, 0, 1,
                arguments(['log', 5, 60_000], 1, 0, 0))));
        my $after = time_there();

        is($number, 9007199254740991, "$engine: $script: the number is echoed");
        ok($now >= $before && $now <= $after,
           "$engine: $script: the server's own time");
    }

    return;
}


for my $binary (SlidewinRedis::engines()) {
    $redis = SlidewinRedis->start(binary => $binary);
    $engine = $redis->version;
    $sha{$_} = $redis->command('SCRIPT', 'LOAD', SlidewinRedis::script_at($_))
        for SlidewinRedis::scripts();

    test_ttl();
    test_untouched();
    test_all_or_nothing();
    test_foreign();
    test_noise(4000);
    test_oom();
    test_short_log();
    test_clock();

    $redis->remove;
}

done_testing();
