# A rejection that has arrived is remembered for requests in the same turn of
# the event loop, before its own request goes on: a flood costs one check.

use strict;
use warnings;

use File::Temp ();
use SlidewinFake;
use SlidewinNginx;
use SlidewinRedis;
use Test::More;

my $patience = SlidewinNginx::patience();
my $redis = SlidewinRedis->start;
my $dir = File::Temp::tempdir('slidewin.XXXXXX', TMPDIR => 1, CLEANUP => 1);

my $nginx = SlidewinNginx->start(
    http => "slidewin_redis @{[$redis->url]} timeout=30s connect_timeout=20s;
             slidewin_zone \$arg_k zone=one:1m rate=1r/h algorithm=log
                           on_error=closed;
             slidewin_zone \$arg_k zone=off:1m rate=1r/h algorithm=log
                           on_error=closed deny_cache=off;
             slidewin_zone \$arg_k zone=two:1m rate=2r/h algorithm=log
                           on_error=closed;
             slidewin_zone \$arg_k zone=lease:1m rate=100r/40d algorithm=log
                           on_error=closed lease=10%;",
    server => 'location = /status { stub_status; }
               add_header X-Source $slidewin_source always; '
              . join '', map {
                  "location = /$_ { slidewin zone=$_; empty_gif; } "
              } qw(one off two lease));

my ($worker) = $nginx->workers;

sub calls { return scalar $redis->calls('evalsha') }

# The first check is in flight. Its reply and the other requests arrive while
# the worker is stopped, in this order.
sub turn {
    my ($uri, %how) = @_;
    my ($first, @others) = map { $nginx->client } 0 .. 10;

    $_->get('/status') for $first, @others;

    my $before = calls();
    $redis->signal('STOP');
    $first->request($uri);
    ok(SlidewinNginx::until_true(sub {
        $nginx->get('/status')->{body} =~ /Writing: 2/;
    }, 20 * $patience) && SlidewinNginx::idle($worker), '... one is asked for');

    SlidewinNginx::halt($worker);
    $redis->signal('CONT');
    SlidewinNginx::until_true(sub { calls() > $before }, 20 * $patience);

    $first->close if $how{leaves};
    $_->request($uri) for @others;
    kill 'CONT', $worker;

    my @said = map { $_->answer->{status} } @others;
    push @said, $first->answer->{status} unless $how{leaves};

    return (SlidewinNginx::tally(@said), calls() - $before);
}

for my $zone (qw(one off)) {
    is($nginx->get("/$zone?k=taken")->{status}, 200, "$zone: there was one");

    my ($said, $calls) = turn("/$zone?k=taken");
    is($said, '429 x11', '... all are refused');

    # without a deny cache, only requests that wait behind the check share its
    # rejection
    cmp_ok($calls, '<=', $zone eq 'one' ? 1 : 2, '... by one question'
           . ($zone eq 'one' ? '' : ', or one more'));
}

for my $zone (qw(one off)) {
    is($nginx->get("/$zone?k=left")->{status}, 200, "$zone: there was one");

    my ($said, $calls) = turn("/$zone?k=left", leaves => 1);
    is($said, '429 x10', '... all are refused when the first has left');
    cmp_ok($calls, '<=', 2, '... by one question more');
}

# a check that was admitted says nothing about the next
{
    my ($said) = turn('/two?k=free');
    is($said, '200 x2, 429 x9', 'an admission is not shared');
}

# The request that prefetches need not be the first of a batch: one that is read
# in the turn of the first reply comes before it, and knows of no lease yet. A
# lease lasts a second: again, if that has passed.

my ($next, $took);

for my $key (map { "ahead$_" } 1 .. 5) {
    my @clients = map { $nginx->client(timeout => 60) } 1 .. 5;
    my $uri = "/lease?k=$key";

    $_->get('/status') for @clients;
    $redis->signal('STOP');
    $_->request($uri) for @clients[0, 1];
    ok($nginx->busy(2) && SlidewinNginx::idle($worker),
       'one is asked for, and one waits behind it');

    # only the first has been answered

    SlidewinNginx::halt($worker);
    $redis->signal('CONT');
    SlidewinNginx::until_true(sub {
        $redis->command('EXISTS', "sw:{$key}:lease");
    }, 20 * $patience);
    # what the worker sent in that turn has arrived when it sends more
    $redis->command('PING');
    $redis->signal('STOP');

    my $since = SlidewinNginx::now();
    $clients[2]->request($uri);
    kill 'CONT', $worker;
    is($clients[0]->answer->{status}, 200, '... and one comes with its answer');
    $clients[3]->request($uri);
    ok($nginx->busy(3), '... and one after it');
    $redis->signal('CONT');
    is($_->answer->{status}, 200, '... all are admitted') for @clients[1 .. 3];

    $next = $clients[4]->get($uri)->{header}{'x-source'};
    $took = SlidewinNginx::now() - $since;
    $_->close for @clients;
    last if $took < 0.8;
}

is($next, 'lease', '... and there is one ahead');

$nginx->stop;

# A refund or reset by another worker applies at once: an earlier rejection is
# not shared with a request that comes then, neither with one that is read in
# the same turn, nor with one that waited behind the check.

my $way = SlidewinFake->start(relay => $redis->path, delay => sub {
    return -e "$dir/slow" ? 1.5 * $patience : 0;
});

$nginx = SlidewinNginx->start(
    workers => 2,
    http => "slidewin_redis @{[$way->url]} timeout=30s connect_timeout=20s;
             slidewin_zone \$arg_k zone=on:1m rate=1r/40d algorithm=log
                           on_error=closed deny_cache=1m;
             slidewin_zone \$arg_k zone=off:1m rate=1r/40d algorithm=log
                           on_error=closed;",
    server => 'location = /status { stub_status; } '
              . join '', map {
                  "location = /$_ { slidewin zone=$_; empty_gif; }
                   location = /clear_$_ { slidewin zone=$_ cost=0 reset=200;
                                          empty_gif; } "
              } qw(on off));

my ($here, $there) = $nginx->workers;

# a client of one worker: the other does not accept it
sub client_of {
    my ($mine, $other) = @_;

    SlidewinNginx::halt($other);
    my $client = $nginx->client(timeout => 60);
    is($client->get('/free')->{header}{'x-pid'}, $mine, 'a client of a worker');
    kill 'CONT', $other;

    return $client;
}

sub until_cleared {
    my ($client, $zone, $key) = @_;

    is($client->get("/clear_$zone?k=$key")->{status}, 200,
       '... the other worker clears the client');
    ok(SlidewinNginx::until_true(sub {
        !$redis->command('EXISTS', "sw:{$key}:$zone");
    }, 10 * $patience), '... which Redis knows');

    return;
}

my $clears = client_of($there, $here);
my ($asks, $comes) = map { client_of($here, $there) } 1, 2;

for my $zone (qw(on off)) {

    # the reply arrives, and then the request, while the worker is stopped

    my $uri = "/$zone?k=read";
    is($comes->get($uri)->{status}, 200, "$zone: there was one");

    my $before = calls();
    $redis->signal('STOP');
    $asks->request($uri);
    ok(SlidewinNginx::until_true(sub {
        $clears->get('/status')->{body} =~ /Writing: 2/;
    }, 20 * $patience) && SlidewinNginx::idle($here),
       '... one more is asked for');
    SlidewinNginx::halt($here);
    $redis->signal('CONT');
    ok(SlidewinNginx::until_true(sub { calls() > $before }, 20 * $patience),
       '... and Redis has replied');

    until_cleared($clears, $zone, 'read');
    $comes->request($uri);
    kill 'CONT', $here;

    is($asks->answer->{status}, 429, '... who asked before is refused');
    is($comes->answer->{status}, 200, '... who came then is not');

    # the reply is on its way

    $uri = "/$zone?k=waits";
    is($comes->get($uri)->{status}, 200, "$zone: there was one");

    $before = calls();
    open my $slow, '>', "$dir/slow" or die "slow: $!";
    close $slow;
    $asks->request($uri);
    ok(SlidewinNginx::until_true(sub { calls() > $before }, 20 * $patience),
       '... one more is asked for, and the answer takes a while');
    SlidewinNginx::nap(0.3 * $patience);
    unlink "$dir/slow" or die "slow: $!";

    until_cleared($clears, $zone, 'waits');
    $comes->request($uri);

    is($asks->answer->{status}, 429, '... who asked before is refused');
    is($comes->answer->{status}, 200, '... who waited behind it is not');
}

$_->close for $clears, $asks, $comes;
$nginx->stop;

done_testing();
