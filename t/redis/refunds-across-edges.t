# Units in Redis are refunded and cleared for all edges, whatever happens to the
# edge, the connection or the scripts while the upstream works.

use strict;
use warnings;

use SlidewinCount;
use Test::More;

my $limit = $SlidewinCount::LIMIT;
my $place = SlidewinCount->new('redis');
my $redis = $place->redis;
my $held = $place->held;

my $server = join '', map { <<"END" } @SlidewinCount::ALGORITHMS;
    location = /login_$_ {
        slidewin zone=$_ count=401 reset=302;
        proxy_pass http://origin/\$arg_s;
    }
    location = /held_$_ {
        slidewin zone=$_ count=401 reset=302; proxy_pass http://held;
    }
END

my ($one, $two) = map { $place->edge(server => $server) } 1, 2;

# what is left for a client on both edges, once they agree
sub both {
    my ($zone, $key, $want, $name) = @_;
    my $left;

    SlidewinNginx::until_true(sub {
        $left = join ' ', map { SlidewinCount::left($_, $zone, $key) }
                          $one, $two;
        return $left eq $want;
    }, 10 * SlidewinNginx::patience());

    return is($left, $want, $name);
}

sub becomes { return SlidewinCount::becomes($two, @_) }

# hold EDGE, ZONE, KEY, N: clients whose requests are held at the upstream
sub hold {
    my ($edge, $zone, $key, $n) = @_;
    my @clients = map { $edge->client } 1 .. $n;

    $_->request("/held_$zone?k=$key") for @clients;
    is($held->has($n), $n, "... $n are under way");
    is(SlidewinCount::left($two, $zone, $key), $limit - $n,
       '... and reserved');

    return @clients;
}

sub leaving {
    my ($pid) = @_;

    return SlidewinNginx::until_true(sub {
        SlidewinNginx::slurp("/proc/$pid/cmdline") =~ /is shutting down/;
    }, 10 * SlidewinNginx::patience());
}

# ids of the edges' connections; that of the suite is not kept, as it might be
# idle as well
sub connections {
    return $redis->client->call('CLIENT', 'LIST') =~ /^id=(\d+) addr=127/mg;
}

for my $zone (@SlidewinCount::ALGORITHMS) {
    my $key = SlidewinCount::fresh();

    # two edges

    is(join(' ', map { $one->status("/login_$zone?k=$key&s=$_") }
                 401, 401, 401, 200), '401 401 401 200',
       "$zone: failures on one edge");
    both($zone, $key, '2 2', '... count on both');
    is(join(' ', map { $two->status("/login_$zone?k=$key&s=$_") } 401, 401),
       '401 401', '... together with those on the other');
    both($zone, $key, '0 0', '... to the limit');
    is($one->get("/login_$zone?k=$key&s=200")->{status}, 429,
       '... which both keep');

    $key = SlidewinCount::fresh();
    $one->get("/login_$zone?k=$key&s=401") for 1 .. 4;
    is($two->get("/login_$zone?k=$key&s=302")->{status}, 302,
       "$zone: a good one on the other edge");
    both($zone, $key, '5 5', '... forgives on both');
    is($redis->command('EXISTS', "sw:{$key}:$zone"), 0,
       '... and nothing is kept');
    is(join(' ', $one->status("/login_$zone?k=$key&s=401", 6)),
       '401 401 401 401 401 429', '... it is free again');

    # a key whose units were refunded expires, too

    $key = SlidewinCount::fresh();
    $one->get("/login_$zone?k=$key&s=200");
    is(SlidewinCount::left($one, $zone, $key), $limit, "$zone: given back");
    cmp_ok($redis->command('PTTL', "sw:{$key}:$zone"), '!=', -1,
           '... and it will be forgotten');

    # the scripts were flushed

    $key = SlidewinCount::fresh();
    my @clients = hold($one, $zone, $key, 2);
    $redis->command('SCRIPT', 'FLUSH', 'SYNC');
    $held->answer(200);
    is(SlidewinCount::statuses(map { $_->answer } @clients), '200 200',
       "$zone: without the scripts");
    becomes($zone, $key, $limit, '... they are given back');

    # the counts were flushed, or replaced by another type

    $key = SlidewinCount::fresh();
    @clients = hold($one, $zone, $key, 1);
    $redis->command('DEL', "sw:{$key}:$zone");
    $held->answer(200);
    is($clients[0]->answer->{status}, 200, "$zone: without its key");
    both($zone, $key, '5 5', '... there is nothing to give back');
    is($redis->command('EXISTS', "sw:{$key}:$zone"), 0,
       '... nor is it written');

    $key = SlidewinCount::fresh();
    @clients = hold($one, $zone, $key, 1);
    $redis->command('SET', "sw:{$key}:$zone", 'other');
    $held->answer(200);
    is($clients[0]->answer->{status}, 200, "$zone: another value");
    SlidewinCount::left($one, $zone, 'any');
    is($redis->command('GET', "sw:{$key}:$zone"), 'other',
       '... is let alone');
}


# A Redis that closes idle connections.

my $key = SlidewinCount::fresh();
my @clients = hold($one, 'log', $key, 2);
my %old = map { $_ => 1 } connections();

is(keys %old, 2, 'one connection for each edge');
$redis->client->call('CONFIG', 'SET', 'timeout', 1);
ok(SlidewinNginx::until_true(sub {
    my @now = connections();
    return @now == 2 && !grep { $old{$_} } @now;
}, 20), '... ended while the upstream works, and made anew');
$redis->client->call('CONFIG', 'SET', 'timeout', 0);
delete $redis->{client};
$held->answer(200);
is(SlidewinCount::statuses(map { $_->answer } @clients), '200 200',
   '... they are served');
becomes('log', $key, $limit, '... and given back');


# One that has closed them, and does not answer new ones yet. Only this log
# level shows it.

my @info = (main => 'error_log logs/info info;');

sub lost {
    my ($edge) = @_;

    return scalar(() = SlidewinNginx::slurp($edge->root . '/logs/info')
                       =~ /ended an idle connection/g);
}

# all connections; the edge has noticed the loss of N of them
sub cut {
    my ($edge, $n) = @_;
    my $before = lost($edge);

    $redis->command('CLIENT', 'KILL', 'ID', $_) for connections();
    $redis->command('PING');
    $redis->signal('STOP');

    return ok(SlidewinNginx::until_true(sub { lost($edge) >= $before + $n },
                                        10 * SlidewinNginx::patience()),
              '... without a connection');
}

my $edge = $place->edge(server => $server, @info);

for my $case ([200, $limit], [302, $limit], [401, $limit - 2]) {
    my ($status, $want) = @$case;

    $key = SlidewinCount::fresh();
    @clients = hold($edge, 'log', $key, 2);
    cut($edge, 1);
    $held->answer($status);
    is(SlidewinCount::statuses(map { $_->answer } @clients),
       "$status $status", '... they are served');
    $redis->signal('CONT');
    becomes('log', $key, $want, "... and $want are left");
}

$edge->stop(name => 'connecting');


# An edge that exits or reloads while the upstream works.

for my $way (qw(QUIT HUP)) {
    for my $case ([200, 5, 'given back'], [302, 5, 'forgiven'],
                  [401, 2, 'counted'])
    {
        my ($status, $want, $what) = @$case;
        my $key = SlidewinCount::fresh();
        my $edge = $place->edge(server => $server, @info);
        my ($worker) = $edge->workers;
        my @clients = hold($edge, 'log', $key, 3);

        $edge->signal($way);
        ok(leaving($worker), "$way: the worker is leaving");

        # the worker is not connected, and stays until it is

        if ($status == 200) {
            my $own = $way eq 'HUP' ? 2 : 1;
            ok(SlidewinNginx::until_true(sub {
                (() = connections()) == 2 + $own;
            }, 10 * SlidewinNginx::patience()), '... all are connected');
            cut($edge, $own);
        }

        $held->answer($status);
        is(SlidewinCount::statuses(map { $_->answer } @clients),
           "$status $status $status", '... but serves those it has');

        if ($status == 200) {
            # time in which a worker that does not wait would exit
            $_->close for @clients;
            SlidewinNginx::nap(0.2);
            $redis->signal('CONT');
        }

        ok(SlidewinNginx::gone($worker, 10 * SlidewinNginx::patience()),
           '... before it goes');
        becomes('log', $key, $want, "... and they are $what");
        $edge->stop(name => $way);
    }
}

$_->stop for $one, $two;

done_testing();
