# A lease is evicted from a full zone: what is left of it is refunded to Redis
# at once.

use strict;
use warnings;

use SlidewinNginx;
use SlidewinRedis;
use Test::More;

my $limit = 1000;
my $redis = SlidewinRedis->start;
my $patience = SlidewinNginx::patience();

my $nginx = SlidewinNginx->start(
    http => "slidewin_redis @{[$redis->url]} timeout=20s connect_timeout=20s;
             slidewin_log_level info;
             slidewin_zone \$arg_k zone=leases:32k rate=${limit}r/40d
                           lease=50%;",
    server => 'add_header X-Source $slidewin_source always;
               location = /t { slidewin zone=leases; empty_gif; }
               location = /peek { slidewin zone=leases cost=0; empty_gif; }',
);

my $client = $nginx->client;
my $fresh = 0;

sub used {
    my ($key) = @_;

    return $limit
           - $client->get("/peek?k=$key")->{header}{'x-remaining'};
}

$client->get('/t?k=warm');

for my $round (1 .. 5) {
    my $key = "hot$round";
    my @statuses = $client->statuses(("/t?k=$key") x 40);

    is(SlidewinNginx::tally(@statuses), '200 x40', "a client, round $round");

    $client->statuses(map { '/t?k=fresh' . ++$fresh } 1 .. 300);

    my $used;
    SlidewinNginx::until_true(sub { ($used = used($key)) == 40 },
                              5 * $patience);
    is($used, 40, '... 300 others, and what it did not use is back');
}

is(scalar($nginx->errors(qr/zone "leases" is full/)), 1,
   'the zone was too small for all');

$client->close;
$nginx->stop;

done_testing();
