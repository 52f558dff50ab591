# A client that leaves while the store is asked about a key leaves nothing
# behind: neither memory nor descriptors. A reload and a shutdown wait for the
# answer.

use strict;
use warnings;

use SlidewinHTTP2;
use SlidewinNginx;
use SlidewinRedis;
use SlidewinStats;
use Socket ();
use Test::More;

my $redis = SlidewinRedis->start;
my $port = SlidewinRedis::free_port();
my $patience = 10 * SlidewinNginx::patience();

my $nginx = SlidewinNginx->start(
    http => "slidewin_redis @{[$redis->url]} timeout=20s connect_timeout=20s;
             slidewin_zone \$arg_k zone=z:1m rate=3r/40d;",
    server => "listen 127.0.0.1:$port http2;
               location = /z { slidewin zone=z; empty_gif; }
               location = /status { stub_status; }"
              . SlidewinStats::location());

my ($pid) = $nginx->workers;

sub text { return "$_[0] /slidewin/zones/z/keys/$_[1] HTTP/1.1\r\nHost: localhost\r\n\r\n" }

# until the worker has nothing to do with anybody
sub quiet { return $nginx->busy(0) }

ok(SlidewinNginx::until_true(sub {
    (SlidewinStats::store($nginx)->{connections} // 0) == 1;
}, $patience), 'connected');
ok(quiet(), 'nothing goes on at first');
my $fds = SlidewinNginx::fds($pid);

for my $method (qw(GET DELETE)) {
    $redis->signal('STOP');

    for my $how (qw(FIN RST)) {
        for my $n (1 .. 100) {
            my $client = $nginx->client;

            $client->write(text($method, "k$n"));
            setsockopt $client->{socket}, Socket::SOL_SOCKET(),
                       Socket::SO_LINGER(), pack 'ii', 1, 0 if $how eq 'RST';

            # some leave before the request is read, others later
            SlidewinNginx::nap(0.002) if $n % 2;
            $client->close;
        }

        ok(quiet(), "$method, $how: all have left");
    }

    my $http2 = SlidewinHTTP2->new($port);

    for my $n (1 .. 100) {
        my $id = $http2->request("/slidewin/zones/z/keys/h$n",
                                 method => $method);
        $http2->cancel($id);
    }

    $http2->sync;
    ok(quiet(), "$method, RST_STREAM: all have left");
    $redis->signal('CONT');

    ok(SlidewinNginx::until_true(sub {
        SlidewinStats::store($nginx)->{in_flight} == 0;
    }, $patience), '... and all have their replies');
}

is(($nginx->workers)[0], $pid, 'the worker is the same');
ok(SlidewinNginx::until_true(sub { SlidewinNginx::fds($pid) <= $fds + 1 },
                             $patience),
   '... with as many descriptors');

# the answer of one that stays comes
$redis->signal('STOP');
my $stays = $nginx->client;
$stays->write(text('GET', 'stays'));
ok($nginx->busy(1), 'one stays');
$redis->signal('CONT');
is($stays->answer->{status}, 200, '... and has its answer');

# a reload, and a shutdown
for my $how (qw(HUP QUIT)) {
    $redis->signal('STOP');

    my $client = $nginx->client;
    $client->write(text('GET', "at$how"));
    ok($nginx->busy(1), "$how: one waits");

    my ($old) = $nginx->workers;
    my $master = $nginx->master;

    $nginx->signal($how);
    ok(SlidewinNginx::until_true(sub {
        SlidewinNginx::slurp("/proc/$old/cmdline") =~ /shutting down/;
    }, $patience), '... its worker is about to end');
    $redis->signal('CONT');
    is($client->answer->{status}, 200, '... and answers');
    ok(SlidewinNginx::gone($old, $patience), '... before it ends');
    SlidewinNginx::until_true(sub { $nginx->workers == 1 }, $patience)
        if $how eq 'HUP';
    ok(SlidewinNginx::gone($master, $patience), '... and so does nginx')
        if $how eq 'QUIT';
}

$nginx->stop;

done_testing;
