# A worker that exits while it waits for a connection to Redis has units of
# leases to refund, which no server will take any more. It exits cleanly: the
# refunds are given up, not left behind.

use strict;
use warnings;

use SlidewinNginx;
use SlidewinRedis;
use Test::More;

my $redis = SlidewinRedis->start;

my $nginx = SlidewinNginx->start(
    http => "slidewin_redis @{[$redis->url]} timeout=60s connect_timeout=60s;
             slidewin_zone \$arg_k zone=leases:1m rate=1000r/40d lease=50%;",
    server => 'add_header X-Source $slidewin_source always;
               location = /t { slidewin zone=leases; empty_gif; }',
);

my $client = $nginx->client;

is(SlidewinNginx::tally($client->statuses(('/t?k=hot') x 40)), '200 x40',
   'a client');
is($client->get('/t?k=hot')->{header}{'x-source'}, 'lease',
   '... has a lease');
$client->close;

# connections are cut, and new ones hear nothing
my $admin = $redis->client;
my @replies = $admin->call_all(['MULTI'],
                               ['CLIENT', 'PAUSE', '600000', 'ALL'],
                               ['CLIENT', 'KILL', 'TYPE', 'normal'], ['EXEC']);

is($replies[-1][0], 'OK', 'Redis answers no more');
cmp_ok($replies[-1][1], '>=', 1, '... and cuts the connection');

$nginx->stop;
$redis->kill('KILL');

done_testing();
