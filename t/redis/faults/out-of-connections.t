# A worker has no connection left for Redis: on_error decides until it has.

use strict;
use warnings;

use SlidewinNginx;
use SlidewinRedis;
use Test::More;

my $redis = SlidewinRedis->start;
my $message = qr/\[alert\] .*\d+ worker_connections are not enough/;

my $nginx = SlidewinNginx->start(
    connections => 16,
    http => "client_header_timeout 10m;
             slidewin_redis @{[$redis->url]} timeout=2s connect_timeout=5s;
             slidewin_zone \$arg_k zone=local:1m rate=2r/h algorithm=log;
             slidewin_zone \$arg_k zone=open:1m rate=2r/h algorithm=log
                           on_error=open;
             slidewin_zone \$arg_k zone=closed:1m rate=2r/h algorithm=log
                           on_error=closed;",
    server => 'add_header X-Source $slidewin_source always;
               location = /local { slidewin zone=local; empty_gif; }
               location = /open { slidewin zone=open; empty_gif; }
               location = /closed { slidewin zone=closed; empty_gif; }',
);

my ($worker) = $nginx->workers;

sub told {
    my ($answer) = @_;

    return "$answer->{status} " . ($answer->{header}{'x-source'} // '-');
}

sub connections {
    return scalar(() = $redis->command('CLIENT', 'LIST')
                       =~ / addr=127\.0\.0\.1:/g);
}

is(told($nginx->get('/local?k=0')), '200 redis', 'connected');

SlidewinNginx::nap(0.1);
my $fds = SlidewinNginx::fds($worker);

# A client that has begun a request: nginx does not close such a connection to
# make room, nor after its response, because the next request has begun.

sub begin {
    my $client = $nginx->client;

    $client->write('GE');

    return $client;
}

sub ask {
    my ($client, $uri, $n) = @_;

    return join ', ', map {
        $client->write("T $uri HTTP/1.1\r\nHost: a\r\n\r\nGE");
        told($client->answer);
    } 1 .. $n // 1;
}

for my $round (1 .. 2) {
    my $client = begin();
    is(ask($client, '/free'), '200 -', 'one client');

    # The connection to Redis ends, clients take its place, and later it comes
    # back.

    $redis->kill;
    ok(SlidewinNginx::until_true(sub {
        $nginx->errors(qr/cannot be reached/) == $round;
    }, 5 * SlidewinNginx::patience()), 'Redis goes');

    # a connection that is not accepted yet would make room for the next
    my @others = map {
        my $other = begin();
        ask($client, '/free', 2);
        $other;
    } 1 .. 20;

    ok($nginx->logged($message), 'the worker is full');
    ok($redis->run, 'Redis comes');

    # longer than any pause between two attempts
    SlidewinNginx::nap(2.2);
    is(connections(), 0, '... but there is no room for a connection');
    is(ask($client, "/open?k=w$round"), '200 fail_open', 'on_error decides');
    is(ask($client, "/local?k=$round", 3),
       '200 fallback, 200 fallback, 429 fallback', '... local');
    is(ask($client, "/open?k=$round", 3),
       join(', ', ('200 fail_open') x 3), '... open');
    is(ask($client, "/closed?k=$round", 3),
       join(', ', ('503 fail_closed') x 3), '... closed');

    $_->close for @others;

    ok(SlidewinNginx::until_true(sub {
        ask($client, "/open?k=b$round-" . rand) eq '200 redis';
    }, 10 * SlidewinNginx::patience()), 'there is room again, and Redis asked');
    is(ask($client, "/closed?k=a$round", 3),
       '200 redis, 200 redis, 429 redis', '... and it decides');
    $client->close;
}

ok(SlidewinNginx::until_true(sub { SlidewinNginx::fds($worker) <= $fds }, 5),
   'no descriptor is lost');
is(($nginx->workers)[0], $worker, '... and the worker is the same');
is(scalar($nginx->errors(qr/slidewin redis .* cannot be reached/)), 2,
   'each loss is said once');

$nginx->stop(allow => $message);

done_testing();
