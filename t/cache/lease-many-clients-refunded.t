# However many clients have a lease: what they do not use is refunded, also if
# later clients need their memory first.

use strict;
use warnings;

use Test::More;

use SlidewinNginx;
use SlidewinRedis;

my $limit = 10;
my $n = 3000;
my $redis = SlidewinRedis->start;
my $patience = SlidewinNginx::patience();

my $nginx = SlidewinNginx->start(
    http => "slidewin_redis @{[$redis->url]} timeout=30s connect_timeout=20s;
             slidewin_log_level info;
             slidewin_zone \$arg_k zone=lease:16m rate=${limit}r/40d
                           lease=50%;",
    server => 'location = /lease { slidewin zone=lease; empty_gif; }
               location = /peek { slidewin zone=lease cost=0; empty_gif; }');

my @clients = map { $nginx->client } 1 .. 8;

$clients[0]->get('/lease?k=warm');

# the second request of each client prefetches a unit
is(SlidewinNginx::tally($clients[0]->statuses(
    map { ("/lease?k=k$_", "/lease?k=k$_") } 1 .. $n)),
   '200 x' . 2 * $n, "$n clients");

# the worker is stopped until well after the leases have ended
my ($pid) = $nginx->workers;
kill 'STOP', $pid;
SlidewinNginx::nap(2.5);

my $others = 0;
my @uris = map { [map { '/lease?k=other' . ++$others } 1 .. 200] } @clients;
is(SlidewinNginx::tally(map { $_->{status} }
                        $nginx->burst(\@clients, \@uris)),
   "200 x$others", '... then others');

my @late = 1 .. $n;
SlidewinNginx::until_true(sub {
    @late = grep {
        $clients[0]->get("/peek?k=k$_")->{header}{'x-remaining'} != $limit - 2;
    } @late;
    return !@late;
}, 10 * $patience);
is(scalar(@late), 0, '... and what the first did not use comes back');

$_->close for @clients;
$nginx->stop;

done_testing();
