# Leases that no worker handles any more, because a worker was killed and a
# reload removed lease= from their zone, make room for others after a while.

use strict;
use warnings;

use SlidewinNginx;
use SlidewinPreload;
use SlidewinRedis;
use Test::More;

my $n = 80;
my $limit = 100;
my $redis = SlidewinRedis->start;
my $patience = SlidewinNginx::patience();
my $clock = SlidewinPreload->monotonic;
my $fresh = 0;

sub http {
    my ($policy) = @_;

    return "slidewin_redis @{[$redis->url]} timeout=30s connect_timeout=20s;
            slidewin_zone \$arg_k zone=one:32k algorithm=log $policy;";
}

my $nginx = SlidewinNginx->start(
    env => $clock->env,
    main => 'env SLIDEWIN_MONOTONIC;',
    http => http("rate=${limit}r/40d lease=50%"),
    server => 'location = /t { slidewin zone=one; empty_gif; }
               location = /peek { slidewin zone=one cost=0; empty_gif; }');

# shows what Redis has counted
my $peeks = SlidewinNginx->start(
    http => http("rate=${limit}r/40d"),
    server => 'location = /peek { slidewin zone=one cost=0; empty_gif; }');

sub used {
    my ($client, $k) = @_;
    my $left = $client->get("/peek?k=$k")->{header}{'x-remaining'};

    return $limit - ($left // 0);
}

ok(SlidewinNginx::until_true(sub {
    $_->get('/peek?k=any')->{status} == 200;
}, 20 * $patience), 'Redis is asked') for $nginx, $peeks;

# Each lease has a unit left when the worker is killed, and the next worker is
# replaced before it looks for leases that have ended. A busy machine may be too
# slow for that: then again.

my @left;

for (1 .. 10) {
    my @clients = map { 'k' . ++$fresh } 1 .. $n;
    my ($pid) = $nginx->workers;

    is(SlidewinNginx::tally($nginx->client->statuses(
        map { ("/t?k=$_", "/t?k=$_") } @clients)), '200 x' . 2 * $n,
       "$n clients");
    kill 'KILL', $pid;
    SlidewinNginx::until_true(sub {
        my ($worker) = $nginx->workers;
        return defined $worker && $worker != $pid;
    }, 20 * $patience);
    $nginx->reload(http => http('rate=1r/40d deny_cache=60s on_error=closed'));

    my $client = $peeks->client;
    @left = grep { used($client, $_) == 3 } @clients;
    $client->close;
    last if @left > $n / 2;
    $nginx->reload(http => http("rate=${limit}r/40d lease=50%"));
}

cmp_ok(scalar(@left), '>', $n / 2, '... with units that are not refunded');
is(scalar($nginx->errors(qr/zone "one" is full/)), 0, '... in a zone with room');

# rejected clients, so many that the zone has room for them only without the
# leases

$clock->set(90);

my $client = $nginx->client;
my @others = map { 'o' . ++$fresh } 1 .. $n;

is(SlidewinNginx::tally($client->statuses(
    map { ("/t?k=$_", "/t?k=$_") } @others)), "200 x$n, 429 x$n",
   'a while later: others are refused');
is(scalar($nginx->errors(qr/zone "one" is full/)), 0,
   '... and there is room for that');

$client->close;
$nginx->stop(allow => qr/exited on signal 9/);
$peeks->stop;

done_testing();
