# What the endpoint tells about stores: addresses, connections of all workers,
# calls and checks, the time they take, the circuit breaker, in any worker.

use strict;
use warnings;

use SlidewinCluster;
use SlidewinFake;
use SlidewinNginx;
use SlidewinRedis;
use SlidewinSentinel;
use SlidewinStats;
use Test::More;

my $patience = 10 * SlidewinNginx::patience();
my $redis = SlidewinRedis->start(args => ['--bind', '127.0.0.1', '::1']);
my $late = SlidewinFake->start(relay => $redis->path, delay => sub { 0.03 });
my $broken = SlidewinFake->start(
    modes => { oom => sub { $_[0]->send("-OOM no memory\r\n") } });

my @stores = qw(tcp unix six late broken);
my %url = (tcp => $redis->url, unix => $redis->unix_url,
           six => 'redis://[::1]:' . $redis->port, late => $late->url,
           broken => $broken->url);

my $nginx = SlidewinNginx->start(
    workers => 2,
    http => join('', map { "slidewin_redis $url{$_} name=$_ timeout=20s
                            connect_timeout=20s;
                            slidewin_zone \$arg_k zone=$_:1m rate=1000r/40d
                                          store=$_ on_error=closed;\n"
                     } @stores),
    server => join('', map { "location = /$_ { slidewin zone=$_; empty_gif; }\n"
                       } @stores)
              . 'location = /refunded { slidewin zone=unix count=500;
                                        empty_gif; }'
              . SlidewinStats::location());

sub state_of {
    my ($name) = @_;
    my $store = SlidewinStats::store($nginx, $name);

    return "$store->{connections} of $store->{workers}";
}

for my $name (@stores) {
    is(SlidewinStats::becomes(sub { state_of($name) }, '2 of 2'), '2 of 2',
       "$name: both workers are connected");

    my $store = SlidewinStats::store($nginx, $name);
    ok($store->{connected}, '... which is told');
    is($store->{breaker}, 'closed', '... the breaker is closed');
    is($store->{timeout}, 20, '... the timeout');
    is($store->{slots_covered}, undef, '... no cluster');
    is($store->{reconnects}, 0, '... never lost');
}

is(SlidewinStats::store($nginx, 'tcp')->{address},
   '127.0.0.1:' . $redis->port, 'the address of TCP');
is(SlidewinStats::store($nginx, 'unix')->{address},
   'unix:' . $redis->path, '... of a unix socket');
is(SlidewinStats::store($nginx, 'six')->{address},
   '[::1]:' . $redis->port, '... of IPv6');

# calls, checks, latency
$nginx->status("/tcp?k=$_") for 1 .. 10;
my $tcp = SlidewinStats::store($nginx, 'tcp');
is("$tcp->{calls} $tcp->{checks}", '10 10', 'a check of each client');
is($tcp->{latency_seconds}{'+Inf'}, 10, '... each has a latency');
cmp_ok($tcp->{latency_sum}, '>', 0, '... and their sum');

# what gives back asks for nothing
$nginx->status("/refunded?k=$_") for 1 .. 3;
is(SlidewinStats::becomes(sub {
    SlidewinStats::store($nginx, 'unix')->{latency_seconds}{'+Inf'};
}, 6), 6, 'refunds are calls that take time');
my $unix = SlidewinStats::store($nginx, 'unix');
is("$unix->{calls} $unix->{checks}", '3 3', '... and are no checks');

$nginx->status('/late?k=a', 5);
my $slow = SlidewinStats::store($nginx, 'late');
is($slow->{latency_seconds}{'0.025'}, 0, 'late replies: none below 25 ms');
is($slow->{latency_seconds}{'+Inf'}, 5, '... all above');
cmp_ok($slow->{latency_sum}, '>=', 0.15, '... and their sum');

# one hot key
my @clients = $nginx->clients(60);
$nginx->burst(\@clients, [['/late?k=hot']]);
my $hot = SlidewinStats::store($nginx, 'late');
is($hot->{checks} - $slow->{checks}, 60, 'sixty at once: sixty checks');
cmp_ok($hot->{calls} - $slow->{calls}, '<', 30, '... of few calls');

# what is under way
my @waiting = map { $nginx->asks("/late?k=w$_") } 1 .. 20;
$_->answer for @waiting;
is(SlidewinStats::becomes(
       sub { SlidewinStats::store($nginx, 'late')->{in_flight} }, 0), 0,
   'nothing is under way in the end');

# the breaker
$broken->mode('oom');
ok(SlidewinNginx::until_true(sub {
    $nginx->get('/broken?k=a');
    SlidewinStats::store($nginx, 'broken')->{breaker} ne 'closed';
}, $patience), 'errors open the breaker');
is(SlidewinStats::becomes(sub {
       SlidewinStats::metrics($nginx)->{'slidewin_breaker_open{store="broken"}'}
       > 0 ? 'open' : 'closed';
   }, 'open'), 'open', '... as the metrics tell');
$broken->mode('well');
is(SlidewinStats::becomes(sub {
       $nginx->get('/broken?k=a');
       SlidewinStats::store($nginx, 'broken')->{breaker};
   }, 'closed', 20), 'closed', '... until a check works');

# workers that die, and those that are leaving
my @workers = $nginx->workers;
kill 'KILL', $workers[0];
ok(SlidewinNginx::until_true(sub {
    my @now = $nginx->workers;
    return @now == 2 && !grep { $_ == $workers[0] } @now;
}, $patience), 'a worker is killed, and has a successor');
is(SlidewinStats::becomes(sub { state_of('tcp') }, '2 of 2'), '2 of 2',
   '... there are as many connections');
is(SlidewinStats::store($nginx, 'tcp')->{calls}, 10,
   '... nothing that was counted is lost');

$nginx->reload(workers => 1);
is(SlidewinStats::becomes(sub { state_of('tcp') }, '1 of 1'), '1 of 1',
   'one worker is left');
is(SlidewinStats::store($nginx, 'tcp')->{calls}, 10, '... the counts stay');

$nginx->stop(allow => qr/exited on signal 9/);

# a cluster
my $cluster = SlidewinCluster->start;
$nginx = SlidewinNginx->start(
    http => "slidewin_redis @{[$cluster->url]} timeout=20s connect_timeout=20s;
             slidewin_zone \$arg_k zone=z:1m rate=3r/40d algorithm=log;",
    server => 'location = /z { slidewin zone=z; empty_gif; }'
              . SlidewinStats::location());

is(SlidewinStats::becomes(
       sub { SlidewinStats::store($nginx)->{slots_covered} }, 16384), 16384,
   'a cluster: all slots are covered');

my $wrong = 0;
for my $n (1 .. 20) {
    $nginx->status("/z?k=c$n", 2);
    $wrong++ if SlidewinStats::look($nginx, 'z', "c$n")->{remaining} != 1;
    $nginx->status("/z?k=c$n", 2);
    $wrong++ if SlidewinStats::forget($nginx, 'z', "c$n") != 204;
    $wrong++ if SlidewinNginx::tally($nginx->status("/z?k=c$n", 4))
                ne '200 x3, 429 x1';
}
is($wrong, 0, '... keys of all slots are told and reset');

my @addresses = split /,/, SlidewinStats::store($nginx)->{address};
is(scalar @addresses, scalar $cluster->masters, '... each master has an address');
$nginx->stop;
$cluster->stop;

# sentinels
my $group = SlidewinSentinel->start;
$nginx = SlidewinNginx->start(
    http => "slidewin_redis @{[$group->url]} timeout=2s connect_timeout=2s;
             slidewin_zone \$arg_k zone=z:1m rate=3r/40d;",
    server => 'location = /z { slidewin zone=z; empty_gif; }'
              . SlidewinStats::location());

my $before = '127.0.0.1:' . $group->master->port;
is(SlidewinStats::becomes(
       sub { SlidewinStats::store($nginx)->{address} }, $before), $before,
   'sentinels: the address of the master');
$nginx->status('/z?k=a', 2);
is(SlidewinStats::look($nginx, 'z', 'a')->{remaining}, 1, '... a key of it');
is(SlidewinStats::forget($nginx, 'z', 'a'), 204, '... is reset');
is(SlidewinNginx::tally($nginx->status('/z?k=a', 4)), '200 x3, 429 x1',
   '... and has its limit');
$group->fail_over($group->master);
my $after;
ok(SlidewinNginx::until_true(sub {
    $after = SlidewinStats::store($nginx)->{address};
    return $after ne '' && $after ne $before;
}, 4 * $patience), '... the address follows the master');
$nginx->stop;

done_testing;
