# Redis is slow, or is lost between the charge of a request and its refund: no
# request waits for that and nothing breaks; at worst a unit stays counted.
# Units counted in shared memory meanwhile are refunded and cleared there.

use strict;
use warnings;

use SlidewinCount;
use SlidewinFake;
use Test::More;

my $limit = $SlidewinCount::LIMIT;
my $place = SlidewinCount->new('redis');
my $redis = $place->redis;
my $held = $place->held;

my $server = join('', map { <<"END" } @SlidewinCount::ALGORITHMS) . <<'END';
    location = /login_$_ {
        slidewin zone=$_ count=401 reset=302;
        proxy_pass http://origin/\$arg_s;
    }
    location = /held_$_ {
        slidewin zone=$_ count=401 reset=302; proxy_pass http://held;
    }
END
    location = /beside {
        slidewin zone=here count=200 reset=5xx; slidewin zone=log;
        proxy_pass http://origin/$arg_s;
    }
    location = /peek_here { slidewin zone=here cost=0; empty_gif; }
END

my $http = 'slidewin_zone $arg_k zone=here:1m rate=5r/h algorithm=log'
           . " store=local;\n";

# a nearby edge, to see what Redis has
my $near = $place->edge(server => $server, http => $http);

sub edge { return $place->edge(server => $server, http => $http, @_) }

sub hold {
    my ($edge, $zone, $key, $n) = @_;
    my @clients = map { $edge->client } 1 .. $n;

    $_->request("/held_$zone?k=$key") for @clients;
    is($held->has($n), $n, "... $n are under way");

    return @clients;
}

sub told {
    my ($answer) = @_;

    return "$answer->{status} " . ($answer->{header}{'x-source'} // '-');
}

# "200 redis x3, 429 redis x1"
sub tally {
    my %count;

    $count{told($_)}++ for @_;

    return join ', ', map { "$_ x$count{$_}" } sort keys %count;
}

# until Redis answers all workers
sub well {
    my ($edge, $name) = @_;
    my @clients = $edge->clients(scalar(() = $edge->workers));

    return ok(SlidewinNginx::until_true(sub {
        !grep { told($_->get('/peek_log?k=well')) ne '200 redis' } @clients;
    }, 20 * SlidewinNginx::patience()), $name);
}


# Far away: everything takes its time, and nothing else changes.

my $far = SlidewinFake->start(relay => $redis->path, delay => sub { 0.1 });
my $edge = edge(url => $far->url);

for my $zone (@SlidewinCount::ALGORITHMS) {
    my $key = SlidewinCount::fresh();
    my @clients = map { $edge->client } 1 .. 6;

    $_->request("/held_$zone?k=$key") for @clients;
    is($held->has($limit), $limit, "$zone, far away: six at once, five are"
       . ' under way');
    $held->answer(200);
    is(SlidewinNginx::tally(map { $_->answer->{status} } @clients),
       '200 x5, 429 x1', '... one was rejected');
    SlidewinCount::becomes($near, $zone, $key, $limit, '... all is given back');
    is(join(' ', map { $edge->status("/login_$zone?k=$key&s=$_") } 401, 401),
       '401 401', '... two bad ones');
    is(SlidewinCount::left($near, $zone, $key), 3, '... are counted');
    is($edge->get("/login_$zone?k=$key&s=302")->{status}, 302,
       '... and a good one');
    SlidewinCount::becomes($near, $zone, $key, $limit, '... forgives');
}


# The connection is cut while the upstream works.

my $key = SlidewinCount::fresh();
my @clients = hold($edge, 'log', $key, 3);

is(SlidewinCount::left($near, 'log', $key), $limit - 3, '... and reserved');
$far->stop;
$held->answer(200, 1);
is($clients[0]->answer->{status}, 200, '... cut off, a good one is served');
$held->answer(302, 1);
is($clients[1]->answer->{status}, 302, '... so is one that forgives');
ok($edge->logged(qr/slidewin redis "\S+" cannot be reached/),
   '... Redis is not reached');
$held->answer(200);
is($clients[2]->answer->{status}, 200, '... nor for the third');
is(SlidewinCount::left($near, 'log', $key), $limit - 3, '... and all stays');
$edge->stop(name => 'far away');


# It does not answer while the upstream works: no request waits, and the refund
# is made when it answers.

$edge = edge();

for my $case ([200, $limit], [302, $limit], [401, $limit - 4]) {
    my ($status, $want) = @$case;

    $key = SlidewinCount::fresh();
    @clients = hold($edge, 'log', $key, 4);
    $redis->signal('STOP');
    $held->answer($status);
    is(SlidewinNginx::tally(map { $_->answer->{status} } @clients),
       "$status x4", "... served while Redis is stopped, $status");
    $redis->signal('CONT');
    SlidewinCount::becomes($near, 'log', $key, $want, "... $want are left");
}

$edge->stop(name => 'stopped');

# a worker that exits waits no longer for this than for any other reply

for my $way (qw(QUIT TERM)) {
    $edge = edge(redis => 'timeout=2s connect_timeout=20s');
    well($edge, 'Redis is asked');
    @clients = hold($edge, 'log', SlidewinCount::fresh(), 4);
    $redis->signal('STOP');
    $held->answer(200, 2);
    $held->answer(302);
    is(SlidewinNginx::tally(map { $_->answer->{status} } @clients),
       '200 x2, 302 x2', '... served while Redis is stopped');
    $edge->stop(name => $way, signal => $way);
    $redis->signal('CONT');
}


# It is killed while the upstream works.

$edge = edge(workers => 2, redis => 'timeout=2s connect_timeout=20s');
my @workers = $edge->workers;

for my $status (200, 302) {
    well($edge, 'Redis is asked');
    $key = SlidewinCount::fresh();
    @clients = hold($edge, 'log', $key, $limit);
    $redis->kill;
    $held->answer($status);
    is(SlidewinNginx::tally(map { $_->answer->{status} } @clients),
       "$status x5", "... served when Redis is dead, $status");
    is(join(' ', $edge->workers), "@workers", '... by workers that live on');
    ok($redis->run, '... Redis is there again');
}

well($edge, '... and asked');
$edge->stop(name => 'killed');
well($near, '... by the other edge as well');


# It was down when the requests came: shared memory counts, refunds and clears.

$edge = edge(on_error => 'local', redis => 'timeout=2s connect_timeout=20s');
$redis->kill;

for my $zone (@SlidewinCount::ALGORITHMS) {
    my $key = SlidewinCount::fresh();
    my $uri = "/login_$zone?k=$key&s=";

    is(tally(map { $edge->get("${uri}200") } 1 .. 7),
       '200 fallback x7', "$zone, fallback: good ones");
    is(SlidewinCount::left($edge, $zone, $key), $limit, '... cost nothing');
    is(join(', ', map { told($edge->get("$uri$_")) } 401, 200, 401),
       '401 fallback, 200 fallback, 401 fallback', '... two bad ones');
    is(SlidewinCount::left($edge, $zone, $key), $limit - 2, '... cost two');
    is(told($edge->get("${uri}302")), '302 fallback', '... and one');
    is(SlidewinCount::left($edge, $zone, $key), $limit, '... forgives');
    is(tally(map { $edge->get("${uri}401") } 1 .. 6),
       '401 fallback x5, 429 fallback x1', '... the sixth is rejected');

    my @clients = hold($edge, $zone, SlidewinCount::fresh(), 2);
    $held->answer(200);
    is(SlidewinCount::statuses(map { $_->answer } @clients), '200 200',
       '... several at once');
}

# what was counted in shared memory is refunded there, though Redis is back

$key = SlidewinCount::fresh();
my $other = SlidewinCount::fresh();
@clients = hold($edge, 'log', $key, 2);
is(told($edge->get("/login_log?k=$other&s=401")), '401 fallback',
   '... and a bad one, of another client') for 1 .. 3;
ok($redis->run, '... Redis is there again');
well($edge, '... and asked');
$held->answer(200);
is(SlidewinCount::statuses(map { $_->answer } @clients), '200 200',
   '... they end');
is(told($edge->get("/login_log?k=$other&s=302")), '302 redis',
   '... the other is forgiven');
$redis->kill;
ok(SlidewinNginx::until_true(sub {
    told($edge->get("/peek_log?k=$key")) eq '200 fallback';
}, 20), '... Redis is away again');
is(SlidewinCount::left($edge, 'log', $key), $limit,
   '... what they cost was given back here');
is(SlidewinCount::left($edge, 'log', $other), $limit,
   '... and what the other did here is forgiven');
$edge->stop(name => 'fallback');


# Without a count nothing is refunded, and a rejection for lack of one clears
# nothing.

$edge = edge(on_error => 'open', redis => 'timeout=2s connect_timeout=20s');
$key = SlidewinCount::fresh();
is(join(', ', map { told($edge->get("/login_log?k=$key&s=$_")) }
              401, 200, 302),
   '401 fail_open, 200 fail_open, 302 fail_open', 'open: uncounted');
ok($redis->run, '... Redis is there again');
well($edge, '... and asked');
is(SlidewinCount::left($edge, 'log', $key), $limit, '... and has nothing');
$edge->stop(name => 'open');

$edge = edge(redis => 'timeout=2s connect_timeout=20s');
well($edge, 'Redis is asked');
is(join(' ', map { $edge->get("/beside?k=$key&s=$_")->{status} } 200, 200),
   '200 200', 'closed: two by two limits');
is(SlidewinCount::left($edge, 'here', $key), 3, '... are counted');
$redis->kill;
is(join(', ', map { told($edge->get("/beside?k=$key&s=$_")) } 200, 200),
   '503 fail_closed, 503 fail_closed', '... then there is no Redis');
is(SlidewinCount::left($edge, 'here', $key), 3,
   '... which neither counts nor forgives');
$edge->stop(name => 'closed');
$near->stop(name => 'near');

done_testing();
