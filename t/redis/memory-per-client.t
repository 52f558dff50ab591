# What a client costs Redis: bytes by MEMORY USAGE, compared with the usual
# sorted set of unique members. The suite prints the table, and the time of a
# call in the server, for the documentation.

use strict;
use warnings;

use Test::More;

use SlidewinRedis;

my $redis = SlidewinRedis->start;
my $window = 3_600_000;
my $key = 'sw:{192.168.100.200}:search';

# the arguments of the module for one zone
my %take = map {
    $_ => $redis->command('SCRIPT', 'LOAD',
              SlidewinRedis::script((SlidewinRedis::takes($_))[-1]))
} qw(c f s l);

# and to place an entry in the past
my %then = map {
    $_ => $redis->command('SCRIPT', 'LOAD',
              SlidewinRedis::script_at((SlidewinRedis::takes($_))[-1]))
} qw(c f s l);

my $classic = $redis->command('SCRIPT', 'LOAD', <<'END');
local now, limit, window = tonumber(ARGV[4]), tonumber(ARGV[1]), tonumber(ARGV[2])
redis.call('ZREMRANGEBYSCORE', KEYS[1], '-inf', now - window)
local count = redis.call('ZCARD', KEYS[1])
if count >= limit then
    return { 0, 0 }
end
redis.call('ZADD', KEYS[1], now, now .. '-' .. ARGV[3])
redis.call('PEXPIRE', KEYS[1], window)
return { 1, limit - count - 1 }
END

sub policy {
    my ($kind, $limit) = @_;

    return ($kind, $limit, $window, $kind eq 's' ? 16 : 0, 1, 0, 0);
}

# entries spread over the window, the last one now
sub fill {
    my ($kind, $entries) = @_;
    my $client = $redis->client;
    my $now = int(time) * 1000;

    $redis->command('DEL', $key);

    $client->call_all(map {
        my $then = $now - int(($entries - $_) * $window / ($entries + 1));
        $kind eq 'zset'
            ? ['ZADD', $key, $then, sprintf '%d-%08x', $then, rand 2 ** 32]
            : ['EVALSHA', $then{$kind}, 1, $key, SlidewinRedis::packed(
               1, $then, 1, policy($kind, 1_000_000))]
    } 1 .. $entries);

    $redis->command('PEXPIRE', $key, $window) if $kind eq 'zset';
    cmp_ok($redis->command('PTTL', $key), '>', 0, "$kind, $entries: a TTL");

    return $redis->command('MEMORY', 'USAGE', $key, 'SAMPLES', 0);
}

my %bytes;

$bytes{counter} = fill('c', 1000);
$bytes{fixed} = fill('f', 1000);
$bytes{strict} = fill('s', 1000);

cmp_ok($bytes{counter}, '<=', 112, 'counter');
cmp_ok($bytes{fixed}, '<=', 112, 'fixed');
cmp_ok($bytes{strict}, '<=', 280, 'strict with 16 slices');

for my $n (5, 100, 1000) {
    $bytes{"log $n"} = fill('l', $n);
    $bytes{"set $n"} = fill('zset', $n);
}

cmp_ok($bytes{'log 5'}, '<', $bytes{'set 5'}, 'a log of 5');
cmp_ok($bytes{'log 100'}, '<', $bytes{'set 100'}, 'a log of 100');
cmp_ok($bytes{'log 1000'}, '<', $bytes{'set 1000'} / 3, 'a log of 1000');

# a ban, beside the count of its client: as take_ban writes it, and in what the
# page about keys says
{
    my $sha = $redis->command('SCRIPT', 'LOAD',
                              SlidewinRedis::script('take_ban'));

    $redis->command('DEL', $key);
    $redis->command('EVALSHA', $sha, 2, $key, "$key:ban",
                    SlidewinRedis::packed(1, 0, 1, policy('c', 1)),
                    SlidewinRedis::packed(600_000, 86_400_000, 1)) for 1, 2;
    is($redis->command('STRLEN', "$key:ban"), 14, 'a ban: 14 bytes');
    $bytes{ban} = $redis->command('MEMORY', 'USAGE', "$key:ban", 'SAMPLES', 0);
    cmp_ok($bytes{ban}, '<=', 128, '... which take about what a counter does');

    my $ttl = $redis->command('PTTL', "$key:ban");
    cmp_ok($ttl, '<=', 87_000_000, '... for its length and the longest');
    cmp_ok($ttl, '>', 86_400_000, '... not for less');
}

# expired entries do not stay: a log in use is never longer than the entries of
# one and a half windows
{
    my $client = $redis->client;
    my $now = int(time) * 1000;

    $redis->command('DEL', $key);
    $client->call_all(map {
        ['EVALSHA', $then{l}, 1, $key, SlidewinRedis::packed(
         1, $now + $_ * $window / 100, 1, policy('l', 1_000_000))]
    } 1 .. 1000);
    cmp_ok($redis->command('STRLEN', $key), '<=', 17 + 151 * 12,
           'a log does not keep what left it');
}


# Time of a call in the server, the best of some alternating rounds: each client
# asks ten times, or one asks four thousand times and is rejected mostly.

sub usec {
    my ($name, $command) = @_;
    my $client = $redis->client;
    my @commands = map { [$command->($_)] } 1 .. 4000;

    $redis->command('FLUSHALL');
    $redis->command('CONFIG', 'RESETSTAT');
    $client->call_all(@commands);
    my ($calls, $usec) = $redis->calls('evalsha');

    is($calls, 4000, "$name: calls");

    return $usec / $calls;
}

my %usec;
my %kind = (counter => 'c', fixed => 'f', strict => 's', log => 'l');

for my $limit ((5, 1000) x 5) {
    for my $name (sort(keys %kind), 'sorted set') {
        my $usec = usec($name, sub {
            my ($i) = @_;
            my $client = $key . ($limit == 5 ? $i % 400 : 0);
            my $now = 1_700_000_000_000 + $i;

            return $name eq 'sorted set'
                ? ('EVALSHA', $classic, 1, $client, $limit, $window, $i, $now)
                : ('EVALSHA', $take{$kind{$name}}, 1, $client,
                   SlidewinRedis::packed(1, $now, 1,
                                         policy($kind{$name}, $limit)));
        });
        my $best = \$usec{$limit}{$name};
        $$best = $usec if !defined $$best || $usec < $$best;
    }
}

diag($redis->version . ', a client of the key "' . $key . '"');
diag('bytes a client:');
diag(sprintf '  %-28s %8d', $_, $bytes{$_}) for qw(counter fixed strict ban);
diag(sprintf '  %-28s %8d   sorted set %8d   %.1f times less',
             "log of $_", $bytes{"log $_"}, $bytes{"set $_"},
             $bytes{"set $_"} / $bytes{"log $_"}) for 5, 100, 1000;

for my $limit (5, 1000) {
    diag("time of a call, limit $limit, as a part of the sorted set's:");
    diag(sprintf '  %-28s %8.2f   (%.1f us)', $_,
                 $usec{$limit}{$_} / $usec{$limit}{'sorted set'},
                 $usec{$limit}{$_})
        for sort { $usec{$limit}{$a} <=> $usec{$limit}{$b} }
            keys %{$usec{$limit}};
}

done_testing();
