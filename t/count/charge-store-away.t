# What cannot be settled stays as estimated: while Redis is away the reservation
# stays counted. What was reserved in shared memory is settled there. Leased
# units are settled first, and a remembered rejection is forgotten.

use strict;
use warnings;

use SlidewinCount;
use SlidewinFake;
use SlidewinStats;
use Test::More;

my $limit = 100;
my $place = SlidewinCount->new('redis');
my $redis = $place->redis;
my $held = $place->held;
my $charge = 'cost=10 charge=$upstream_http_x_cost';

my $server = SlidewinStats::location()
             . join('', map { <<"END" } @SlidewinCount::ALGORITHMS) . <<"END";
    location = /held_$_ { slidewin zone=$_ $charge; proxy_pass http://held; }
    location = /told_$_ { slidewin zone=$_ $charge; proxy_pass http://told; }
END
    location = /lease { slidewin zone=lease; empty_gif; }
    location = /held_lease { slidewin zone=lease $charge; proxy_pass http://held; }
    location = /peek_lease { slidewin zone=lease cost=0; empty_gif; }
    location = /held_deny { slidewin zone=deny $charge; proxy_pass http://held; }
    location = /deny { slidewin zone=deny cost=100; empty_gif; }
    location = /told_delay {
        slidewin zone=delay $charge delay=20s; proxy_pass http://told;
    }
END

my $zones = <<"END";
    slidewin_zone \$arg_k zone=lease:1m rate=1000r/40d lease=50% on_error=closed;
    slidewin_zone \$arg_k zone=deny:1m rate=100r/h deny_cache=1m on_error=closed;
    slidewin_zone \$arg_k zone=delay:1m rate=20r/1s algorithm=log on_error=closed;
END

sub hold {
    my ($edge, $uri) = @_;
    my $client = $edge->client;

    $client->request($uri);
    is($held->has(1), 1, "$uri is under way");

    return $client;
}

sub edge {
    my (%conf) = @_;

    return $place->edge(server => $server,
                        http => $zones . $place->told,
                        rate => "${limit}r/40d", %conf);
}

sub charges {
    my ($edge, $zone) = @_;
    my $charges = SlidewinStats::zone($edge, $zone)->{charges};

    return "$charges->{settled} settled, $charges->{estimated} estimated";
}

# another edge, to see what Redis has
my $near = edge();


# The connection is cut while the upstream works.

my $far = SlidewinFake->start(relay => $redis->path, delay => sub { 0 });
my $edge = edge(url => $far->url);
my $key = SlidewinCount::fresh();

my $client = hold($edge, "/held_log?k=$key");
is(SlidewinCount::left($near, 'log', $key), $limit - 10, '... and reserved');
$far->stop;
ok($edge->logged(qr/slidewin redis "\S+" cannot be reached/),
   '... Redis is away');
$held->tell(30);
is($client->answer->{status}, 200, '... it is served');
is(SlidewinCount::left($near, 'log', $key), $limit - 10,
   '... the reservation stays');
is(charges($edge, 'log'), '0 settled, 1 estimated', '... as estimated');
$edge->stop(name => 'cut off');


# Redis does not answer while the upstream works: no request waits for that.

for my $algorithm (@SlidewinCount::ALGORITHMS) {
    $key = SlidewinCount::fresh();
    $client = hold($near, "/held_$algorithm?k=$key");
    $redis->signal('STOP');
    $held->tell(30);
    is($client->answer->{status}, 200, '... served while Redis is stopped');
    $redis->signal('CONT');
    SlidewinCount::becomes($near, $algorithm, $key, $limit - 30,
                           '... then it is settled');
}


# Leased units are what is missing, and the rest is charged.

$key = SlidewinCount::fresh();
my $warm = $near->client;
$warm->get("/lease?k=$key") for 1 .. 6;
$client = hold($near, "/held_lease?k=$key");
$warm->get("/lease?k=$key") for 1 .. 20;
$held->tell(500);
is($client->answer->{status}, 200, 'a lease: it is served');
SlidewinCount::becomes($near, 'lease', $key, 1000 - 526,
                       '... all of it is counted');


# again, if the lease ended meanwhile
ok(SlidewinNginx::until_true(sub {
    my $key = SlidewinCount::fresh();
    $warm->get("/lease?k=$key") for 1 .. 30;

    my $client = $near->client;
    $client->request("/held_lease?k=$key");
    $held->has(1);
    $warm->get("/lease?k=$key") for 1 .. 30;

    my $calls = $redis->calls('evalsha');
    $held->tell(12);
    $client->answer;
    return $redis->calls('evalsha') == $calls;
}, 10 * SlidewinNginx::patience()), '... without a call if the lease has enough');


# A remembered rejection is forgotten: it has become longer.

$key = SlidewinCount::fresh();
$client = hold($near, "/held_deny?k=$key");
my @answers = map { $near->get("/deny?k=$key") } 1, 2;
is(join(' ', map { "$_->{status} $_->{header}{'x-source'}" } @answers),
   '429 redis 429 deny_cache', 'a rejection is remembered');
$held->tell(2000);
$client->answer;
push @answers, $near->get("/deny?k=$key");
is("$answers[2]{status} $answers[2]{header}{'x-source'}", '429 redis',
   '... and not any more');
cmp_ok($answers[2]{header}{'retry-after'}, '>=',
       $answers[1]{header}{'retry-after'} - 1, '... it is not shorter');


# A request that may wait, waits for the end of a debt.

$key = SlidewinCount::fresh();
@answers = map { $near->get("/told_delay?k=$key&c=$_") } 40, 1;
is(join(' ', map { "$_->{status} $_->{header}{'x-status'}" } @answers),
   '200 PASSED 200 DELAYED', 'a request waits for the end of a debt');


# A reload while the upstream works: the old worker settles.

$key = SlidewinCount::fresh();
$client = hold($near, "/held_log?k=$key");
$near->reload;
$held->tell(30);
is($client->answer->{status}, 200, 'reload: it is served');
SlidewinCount::becomes($near, 'log', $key, $limit - 30, '... and settled');
$near->stop(name => 'near');

my $local = SlidewinCount->new('local');
my $here = $local->edge(server => $server, rate => "${limit}r/40d",
    http => $local->told
            . join '', map { "slidewin_zone \$arg_k zone=$_:1m rate=9r/h;\n" }
                       qw(lease deny delay));
$key = SlidewinCount::fresh();
$client = $here->client;
$client->request("/held_fixed?k=$key");
$local->held->has(1);
$here->reload;
$held = $local->held;
$held->tell(30);
is($client->answer->{status}, 200, 'reload, shared memory: it is served');
is(SlidewinCount::left($here, 'fixed', $key), $limit - 30, '... and settled');
$here->stop(name => 'local');
$held = $place->held;


# It was down when the request came: settled in shared memory, also if it is
# back meanwhile.

$edge = edge(on_error => 'local', redis => 'timeout=2s connect_timeout=20s');
$redis->kill;

for my $algorithm (@SlidewinCount::ALGORITHMS) {
    $key = SlidewinCount::fresh();
    is($edge->get("/told_$algorithm?k=$key&c=$_->[0]")->{header}{'x-source'},
       'fallback', "$algorithm, fallback")
    && is(SlidewinCount::left($edge, $algorithm, $key), $_->[1],
          '... settled here')
        for [3, 97], [30, 67], [1000, 0];
    is($edge->get("/told_$algorithm?k=$key&c=1")->{status}, 429,
       '... a debt, too');
}

$edge->stop(name => 'fallback');

$edge = edge(on_error => 'open', redis => 'timeout=2s connect_timeout=20s');
$key = SlidewinCount::fresh();
is($edge->get("/told_log?k=$key&c=30")->{header}{'x-source'}, 'fail_open',
   'fail_open');
is(charges($edge, 'log'), '0 settled, 0 estimated',
   '... nothing was reserved, nothing is settled');
$edge->stop(name => 'open');

done_testing();
