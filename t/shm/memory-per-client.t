# How much memory a client takes, and how many clients fit into a zone of 1m;
# also with bans, and in the zone of a policy that counts in Redis.

use strict;
use warnings;

use SlidewinNginx;
use SlidewinRedis;
use SlidewinStats;
use Test::More;

my $redis = SlidewinRedis->start;
my %zones = (
    counter => ['rate=100r/40d', 128],
    fixed => ['rate=100r/40d algorithm=fixed', 128],
    strict => ['rate=100r/40d algorithm=strict', 256],
    'strict-1' => ['rate=100r/40d algorithm=strict slices=1', 128],
    'strict-100' => ['rate=100r/40d algorithm=strict slices=100', 1024],
    log => ['rate=14r/40d algorithm=log', 256],
    # of each client two requests, so that it has a ban beside its count
    (map { ("ban-$_" => ["rate=1r/40d algorithm=$_ ban=1h", 128 + 256]) }
         qw(counter fixed)),
    'ban-steps' => ['rate=1r/40d ban=1h..1d', 128 + 256],
);

my $nginx = SlidewinNginx->start(
    http => "slidewin_log_level info;
             slidewin_redis @{[$redis->url]} timeout=20s connect_timeout=20s;
             slidewin_zone \$arg_k zone=redis:1m rate=1r/40d ban=1h
                           deny_cache=1m;
" . join('', map {
                "slidewin_zone \$arg_k zone=$_:1m $zones{$_}[0] store=local;\n"
            } sort keys %zones),
    server => SlidewinStats::location() . join '', map {
        "location = /$_ { slidewin zone=$_; empty_gif; }\n"
    } keys %zones, 'redis',
);

my $client = $nginx->client;

for my $zone (sort keys %zones) {
    my $bytes = $zones{$zone}[1];
    my $about = 1024 * 1024 / $bytes;
    my $n = 0;
    my $times = $zone =~ /^ban/ ? 2 : 1;

    # the log line names the first request that found no room

    while (!$nginx->errors(qr/zone "$zone" is full/) && $n < 2 * $about) {
        $client->statuses(map { ("/$zone?k=" . ++$n) x $times } 1 .. 500);
    }

    my ($line) = $nginx->errors(qr/zone "$zone" is full/);
    my ($fit) = ($line // '') =~ /\?k=(\d+)/;

    $fit = ($fit // 1) - 1;

    diag(sprintf '%-10s %d bytes a client, %d clients in 1m', $zone,
         $bytes, $fit);

    cmp_ok($fit, '<=', $about, "$zone: a client takes $bytes bytes");
    cmp_ok($fit, '>=', $about * 0.97, '... and the zone little else');
}

# banned by Redis: what is remembered of a client

sub free { return SlidewinStats::zone($nginx, 'redis')->{memory}{free} }

my $before = free();

is(SlidewinNginx::tally($client->statuses(map { ("/redis?k=$_") x 2 }
                                              1 .. 2000)),
   '200 x2000, 429 x2000', 'banned by Redis: 2000 clients');

my $each = ($before - free()) / 2000;

cmp_ok($each, '>=', 250, '... take 256 bytes each');
cmp_ok($each, '<=', 262, '... and not more');

# keys of any length take no more

my $long = 'x' x 200;

$nginx->reload(http => 'slidewin_log_level info;
                        slidewin_zone $arg_k zone=counter:2m
                                      rate=100r/40d;',
               server => 'location = /counter { slidewin zone=counter;
                                                empty_gif; }');
$client = $nginx->client;
$client->statuses(map { "/counter?k=$long-$_" } 1 .. 16000);

my $lines = () = $nginx->errors(qr/zone "counter" is full/);
is($lines, 1, 'long keys: 16000 clients fit in 2m');

$client->close;
$nginx->stop;


# A log with as many entries as its limit: an entry, and a ring of 8 bytes for
# each time. They are taken one by one: a ring grows with what it holds, and
# units of the same millisecond are one entry.

$nginx = SlidewinNginx->start(
    http => 'slidewin_log_level info;
             slidewin_zone $arg_k zone=fits:512k rate=1000r/40d algorithm=log;
             slidewin_zone $arg_k zone=over:512k rate=1000r/40d
                           algorithm=log;',
    server => join '', map {
        "location = /$_ { slidewin zone=$_; empty_gif; }\n"
    } qw(fits over),
);

$client = $nginx->client;

my @uris = (map({ "/fits?k=$_" } 1 .. 56), map { "/over?k=$_" } 1 .. 66);
my $ok = 1;

for (1 .. 1000) {
    my $since = SlidewinNginx::now();
    $ok &&= $client->flood(@uris);
    SlidewinNginx::nap(0.001) if SlidewinNginx::now() - $since < 0.0015;
}

ok($ok, 'log of 1000: all is answered');
is(scalar($nginx->errors(qr/zone "fits" is full/)), 0,
   'log of 1000: 56 clients fit in 512k');
is(scalar($nginx->errors(qr/zone "over" is full/)), 1,
   'log of 1000: 66 clients do not');
is(SlidewinNginx::tally($client->statuses(map { "/fits?k=$_" } 1 .. 56)),
   '429 x56', '... and all are at their limit');

diag('log of 1000 about 8500 bytes a client, 112 to 132 clients in 1m');

$client->close;
$nginx->stop(name => 'log of 1000');

done_testing();
