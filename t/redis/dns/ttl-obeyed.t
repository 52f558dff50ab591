# An address is looked up again when its time to live is over.

use strict;
use warnings;

use SlidewinDNS;
use SlidewinFaults;
use SlidewinNginx;
use SlidewinPreload;
use SlidewinRedis;
use Test::More;

my $dns = SlidewinDNS->start;
my $redis = SlidewinRedis->start;

sub start {
    my ($resolver) = @_;

    return SlidewinFaults->start(
        url => 'redis://redis.example:' . $redis->port,
        redis => 'timeout=5s connect_timeout=5s',
        http => "resolver @{[$dns->address]} ipv6=off $resolver;",
        env => { LD_PRELOAD => SlidewinPreload::library('names'),
                 SLIDEWIN_NAME => 'redis.example' });
}

$dns->has('redis.example', '127.0.0.1');

for (['for an hour', 3600, '', 1], ['for this once', 0, '', 3],
     ['for an hour, but nginx is told otherwise', 3600, 'valid=1s', 2],
     ['for this once, but nginx is told otherwise', 0, 'valid=1h', 1])
{
    my ($name, $ttl, $resolver, $times) = @$_;
    my $since = SlidewinNginx::now();

    $dns->ttl($ttl);
    my $before = $dns->asked('redis.example');
    my $faults = start($resolver);

    ok($faults->redis_answers, "$name: Redis is asked");
    $faults->remember_workers;

    if ($times > 1) {
        ok(SlidewinNginx::until_true(sub {
            $dns->asked('redis.example') - $before >= $times;
        }, 20 * SlidewinNginx::patience()),
           '... and the name server again and again');
        cmp_ok($dns->asked('redis.example') - $before, '<=',
               2 + SlidewinNginx::now() - $since,
               '... but no more than once a second');
    } else {
        SlidewinNginx::nap(2.5);
        is($dns->asked('redis.example') - $before, 1,
           '... and the name server once');
    }

    is($faults->log_lines(qr/is no longer at/), 0, '... no connection moves');
    $faults->ends_clean($name);
}

done_testing();
