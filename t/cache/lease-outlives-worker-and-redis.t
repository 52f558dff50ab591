# A lease outlives the worker that took it, a reload, and Redis. In the end only
# the used units are counted, whichever worker refunds the rest.

use strict;
use warnings;

use Test::More;

use SlidewinFake;
use SlidewinNginx;
use SlidewinRedis;

my @algorithms = qw(counter fixed strict log);
my $limit = 10_000;
my $patience = SlidewinNginx::patience();
my $redis = SlidewinRedis->start;

sub conf {
    my ($url, $timeout) = @_;

    return (
        http => "slidewin_redis $url timeout=$timeout connect_timeout=5s;
                 slidewin_log_level info;
                 " . join('', map {
                     "slidewin_zone \$arg_k zone=$_:1m rate=${limit}r/40d
                                    algorithm=$_ lease=10%;\n"
                 } @algorithms),
        server => 'add_header X-Source $slidewin_source always;
                   ' . join('', map {
                       "location = /$_ { slidewin zone=$_; empty_gif; }
                        location = /peek_$_ { slidewin zone=$_ cost=0;
                                              empty_gif; }\n"
                   } @algorithms));
}

my $nginx = SlidewinNginx->start(workers => 2, conf($redis->url, '20s'));
my $fresh = 0;

sub fresh { return 'k' . ++$fresh }

sub source { return $_[0]{header}{'x-source'} // '-' }

sub used {
    my ($algorithm, $k) = @_;
    my $answer = $nginx->get("/peek_$algorithm?k=$k");

    return source($answer) eq 'redis'
        ? $limit - $answer->{header}{'x-remaining'} : -1;
}

sub becomes {
    my ($algorithm, $k, $want, $name) = @_;
    my $used;

    SlidewinNginx::until_true(sub { ($used = used($algorithm, $k)) == $want },
                              15 * $patience);

    return is($used, $want, $name);
}

# as many requests as it takes to hold a lease with units left
sub heat {
    my ($client, $algorithm, $k) = @_;

    for my $n (1 .. 500) {
        return $n if source($client->get("/$algorithm?k=$k")) eq 'lease'
                     && $n > 40;
    }

    return 0;
}

for my $algorithm (@algorithms) {

    # the worker that took it is killed
    my ($pid) = $nginx->workers;
    my $client = $nginx->client_of($pid);
    my $k = fresh();
    my $n = heat($client, $algorithm, $k);

    cmp_ok($n, '>', 0, "$algorithm: a lease");
    kill 'KILL', $pid;
    ok(SlidewinNginx::until_true(sub {
        my @workers = $nginx->workers;
        return @workers == 2 && !grep { $_ == $pid } @workers;
    }, 20 * $patience), '... its worker is killed');
    becomes($algorithm, $k, $n, '... and what was not used comes back');

    # the same with all workers
    $client = $nginx->client;
    $k = fresh();
    $n = heat($client, $algorithm, $k);
    my @workers = $nginx->workers;
    kill 'KILL', @workers;
    ok(SlidewinNginx::until_true(sub {
        my %now = map { $_ => 1 } $nginx->workers;
        return keys %now == 2 && !grep { $now{$_} } @workers;
    }, 20 * $patience), "$algorithm: all workers are killed");
    becomes($algorithm, $k, $n, '... and what was not used comes back');

    # a reload
    $client = $nginx->client;
    $k = fresh();
    $n = heat($client, $algorithm, $k);
    $client->close;
    $nginx->reload;
    becomes($algorithm, $k, $n, "$algorithm: after a reload as well");
}

$nginx->stop(allow => qr/exited on signal 9/);


# Redis does not answer: what is left of a lease is used, for as long as it
# lasts.
{
    my $seen = 0;

    $nginx = SlidewinNginx->start(conf($redis->url, '200ms'));
    my $client = $nginx->client;

    for (1 .. 20) {
        my $k = fresh();

        SlidewinNginx::until_true(sub {
            source($client->get('/log?k=' . fresh())) eq 'redis';
        }, 20 * $patience);
        heat($client, 'log', $k) or next;
        $redis->signal('STOP');
        my $answer = $client->get("/log?k=$k");
        my $later;

        ok(SlidewinNginx::until_true(sub {
            $later = source($client->get("/log?k=$k"));
            return $later eq 'fallback';
        }, 20 * $patience), 'in the end the fallback decides')
            if source($answer) eq 'lease';
        $redis->signal('CONT');
        $seen = source($answer) eq 'lease' and last;
    }

    ok($seen, 'without Redis a lease is used');
    $client->close;
    $nginx->stop;
}


# A client that leaves while units are prefetched for it leaves none of them
# behind.
{
    my $delay = 0.05;
    my $way = SlidewinFake->start(relay => $redis->path,
                                  delay => sub { $delay });

    $nginx = SlidewinNginx->start(conf($way->url, '20s'));
    my $client = $nginx->client;
    my $k = fresh();
    my $n = 0;

    # the second check prefetches; its client does not wait for the reply
    ok(SlidewinNginx::until_true(sub {
        source($client->get('/log?k=' . fresh())) eq 'redis';
    }, 20 * $patience), 'Redis is asked');
    for (1 .. 10) {
        my $other = $nginx->client;
        $client->get("/log?k=$k");
        $n++;
        $other->request("/log?k=$k");
        SlidewinNginx::nap(0.01);
        $other->close;
    }

    my $used;
    SlidewinNginx::until_true(sub {
        $used = used('log', $k);
        return $used >= 0 && $used <= 2 * $n;
    }, 20 * $patience);
    cmp_ok($used, '<=', 2 * $n, "$used are counted for $n and as many that left");
    cmp_ok($used, '>=', $n, '... not fewer than were served');
    $client->close;
    $nginx->stop;
}


# The last worker that exits refunds what is left.
{
    my $peeks = SlidewinNginx->start(conf($redis->url, '20s'));
    my %used;

    for my $algorithm (@algorithms) {
        $nginx = SlidewinNginx->start(workers => 2, conf($redis->url, '20s'));

        # either may be the last: both are connected
        is(source($_->get("/$algorithm?k=" . fresh())), 'redis',
           "$algorithm: a worker") for $nginx->clients(2);

        my $client = $nginx->client;
        my $k = fresh();

        heat($client, $algorithm, 'warm' . fresh());
        $used{$k} = [$algorithm, heat($client, $algorithm, $k)];
        $client->close;
        $nginx->stop(name => "$algorithm, the last");
    }

    $nginx = $peeks;
    becomes($used{$_}[0], $_, $used{$_}[1],
            "$used{$_}[0]: what was not used came back at the end")
        for sort keys %used;
    $nginx->stop;
}


# A full zone evicts leases, and nothing breaks.
{
    $nginx = SlidewinNginx->start(
        http => "slidewin_redis @{[$redis->url]} timeout=20s
                                connect_timeout=20s;
                 slidewin_zone \$arg_k zone=log:32k rate=${limit}r/40d
                               algorithm=log lease=10%;",
        server => 'add_header X-Source $slidewin_source always;
                   location = /log { slidewin zone=log; empty_gif; }
                   location = /peek_log { slidewin zone=log cost=0;
                                          empty_gif; }');
    my $client = $nginx->client;
    my @statuses = $client->statuses(map {
        my $k = fresh();
        ("/log?k=$k", "/log?k=$k", "/log?k=$k");
    } 1 .. 400);

    is(SlidewinNginx::tally(@statuses), '200 x1200', 'a full zone');
    $client->close;
    $nginx->stop;
}

done_testing();
