# Very many requests in one turn of the event loop, with a healthy Redis: their
# number is not a failure. One client gets its limit and no more, different
# clients are decided by Redis, and if too many would have to wait they are
# rejected, whatever on_error says.

use strict;
use warnings;

use SlidewinFake;
use SlidewinHTTP2;
use SlidewinNginx;
use SlidewinRedis;
use Test::More;

my $patience = SlidewinNginx::patience();
my $redis = SlidewinRedis->start;
my @modes = qw(open local closed);
my ($nginx, $worker, $port);

# an nginx with a zone for each on_error
sub start {
    my ($url, %options) = @_;
    my ($zones, $locations) = ('', '');

    for my $mode (@modes) {
        $zones .= "slidewin_zone \$arg_k zone=$mode:8m rate=10r/h
                                 algorithm=log on_error=$mode;\n";
        $locations .= "location = /$mode { slidewin zone=$mode; empty_gif; }\n";
    }

    $port = SlidewinRedis::free_port();
    $nginx = SlidewinNginx->start(
        connections => $options{connections} // 1024,
        http => "slidewin_redis $url timeout=$options{timeout}
                                connect_timeout=20s;
                 slidewin_log_level info;
                 $zones
                 server { listen 127.0.0.1:$port http2; $locations }",
        server => "location = /status { stub_status; }
                   add_header X-Source \$slidewin_source always;
                   $locations");
    ($worker) = $nginx->workers;

    ok(SlidewinNginx::until_true(sub {
        $nginx->get('/closed?k=well' . rand)->{header}{'x-source'} eq 'redis';
    }, 20 * $patience), 'Redis is asked');

    return;
}

# 128 streams on each of N connections, all of them sent before the worker
# reads. The URI depends on the number of the stream.
sub burst {
    my ($n, $uri) = @_;
    my @clients = map { SlidewinHTTP2->new($port) } 1 .. $n;
    my $i = 0;

    $_->sync for @clients;
    SlidewinNginx::halt($worker);

    for my $client (@clients) {
        my (@ids, @frames);

        for (1 .. 128) {
            my ($id, $frame) = $client->compose($uri->($i++));
            push @ids, $id;
            push @frames, $frame;
        }
        $client->{ids} = \@ids;
        $client->send(@frames);
    }

    kill 'CONT', $worker;

    return @clients;
}

sub told {
    my (@clients) = @_;
    my @statuses = map {
        map { $_->{status} // 'none' } $_->answers(@{$_->{ids}})
    } @clients;

    $_->{c}->close for @clients;

    return SlidewinNginx::tally(@statuses);
}

sub lines { return join '', $nginx->errors(qr/slidewin redis/) }


# One client, 4096 requests at once.

start($redis->url, timeout => '20s');

for my $mode (@modes) {
    is(told(burst(32, sub { "/$mode?k=one" })), '200 x10, 429 x4086',
       "4096 requests of one client, on_error=$mode: the limit passes");
}

# As many clients.

is(told(burst(24, sub { "/closed?k=a$_[0]" })), '200 x3072',
   '3072 clients at once: Redis decides for all');
is($redis->command('DBSIZE') > 3072, 1, '... which it has counted');
is(told(burst(24, sub { '/open?k=' . ($_[0] % 64) })), '200 x640, 429 x2432',
   '64 clients at once, 48 times: each has its limit');
is(lines(), '', '... and there is nothing to log');
$nginx->stop;


# At most 16 times as many requests as a worker has connections wait for a
# store.

my $fake = SlidewinFake->start;

start($fake->url, timeout => '60s', connections => 64);

for my $mode (@modes) {
    $fake->mode('hold');

    my @clients = burst(10, sub { "/$mode?k=crowd" });

    ok($nginx->busy(1024), "1280 wait, on_error=$mode: 1024 may");
    $fake->mode('well');
    $fake->release;
    is(told(@clients), '200 x10, 429 x1014, 503 x256',
       '... of which the limit passes, and the rest is refused at once');
}

like(lines(), qr/ is asked for more than it can answer: "too many checks wait"/,
     '... and the log says why');
unlike(lines(), qr/ is (?:lost|not asked)| failed/, '... but Redis is well');
is($fake->accepts, 1, '... on the first connection');
$nginx->stop;


# Redis replies in time, but not to all that are queued: 1024 are sent at once,
# the next when those are answered, and for the rest it is too late then.

my $timeout = 4;

$fake = SlidewinFake->start;
start($fake->url, timeout => "${timeout}s");
$fake->mode('hold');

my $before = $fake->checks;
my @clients = burst(18, sub { "/open?k=line.$_[0]" });

ok(SlidewinNginx::until_true(sub {
    $fake->checks - $before >= 1024;
}, 20 * $patience), '1024 are asked for');
SlidewinNginx::nap($timeout / 2);
$fake->release;
ok(SlidewinNginx::until_true(sub {
    $fake->checks - $before >= 2048;
}, 20 * $patience), '... and another 1024 when they are answered');
ok($nginx->logged(qr/ is asked for more than it can answer: "a check was not/,
                  2 * $timeout), '... the rest has waited long enough');
is($fake->checks - $before, 2048, '... and is not asked for');
$fake->mode('well');
$fake->release;
is(told(@clients), '200 x2048, 503 x256',
   '... it alone is rejected, on_error=open');
unlike(lines(), qr/ is (?:lost|not asked)| failed/, '... for Redis is well');
is($nginx->get('/open?k=next')->{header}{'x-source'}, 'redis',
   '... and is asked');
$nginx->stop;


# The same with a worker that is stopped when the second 1024 are answered:
# replies that have arrived are read before a queued check is given up.

$fake = SlidewinFake->start;
start($fake->url, timeout => "${timeout}s");
$fake->mode('hold');

$before = $fake->checks;
@clients = burst(24, sub { "/open?k=still.$_[0]" });

ok(SlidewinNginx::until_true(sub {
    $fake->checks - $before >= 1024;
}, 20 * $patience), '1024 are asked for');
SlidewinNginx::nap($timeout / 2);
$fake->release;
ok(SlidewinNginx::until_true(sub {
    $fake->checks - $before >= 2048;
}, 20 * $patience), '... and another 1024 when they are answered');
kill 'STOP', $worker;
$fake->mode('well');
$fake->release;
SlidewinNginx::nap($timeout / 2 + 0.5);
kill 'CONT', $worker;
is(told(@clients), '200 x3072', '... and the rest, when the worker goes on');
is(lines(), '', '... as no other was late');
$nginx->stop;


# Redis keeps replying, but not to the last of a burst in time: behind so many
# that were answered, that is no failure of Redis.

my $nth = 0;

$fake = SlidewinFake->start(modes => { crowd => sub {
    my ($c, $command) = @_;

    $nth++;
    $c->pause(0.6 * $timeout) if $nth == 200;
    $c->pause(0.75 * $timeout) if $nth == 300;
    $c->send($c->answer($command));
} });
start($fake->url, timeout => "${timeout}s");

is(told(burst(4, sub { "/open?k=crowd.$_[0]" })), '200 x299, 503 x213',
   '512 are sent at once and 299 answered in time: on_error=open lets no other '
   . 'pass');
like(lines(), qr/ is asked for more than it can answer: "a check was not answ/,
     '... and the log says why');
unlike(lines(), qr/ is (?:lost|not asked)| failed/, '... for Redis is well');
is($nginx->get('/open?k=next')->{header}{'x-source'}, 'redis',
   '... and is asked');
$nginx->stop;

done_testing();
