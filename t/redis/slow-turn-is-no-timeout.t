# A turn of the event loop takes longer than the timeout: checks that are made
# in it, before or after the slow work, have a whole timeout from when they are
# sent. A late worker is no failure of Redis.

use strict;
use warnings;

use SlidewinFake;
use SlidewinHTTP2;
use SlidewinNginx;
use SlidewinProcess;
use SlidewinRedis;
use Test::More;

my $patience = SlidewinNginx::patience();
my ($timeout, $way) = (1, 0.2);
my $redis = SlidewinRedis->start;
my $far = SlidewinFake->start(relay => $redis->path, delay => sub { $way });
my $port = SlidewinRedis::free_port();

my $nginx = SlidewinNginx->start(
    http => "slidewin_redis @{[$far->url]} timeout=@{[$timeout * 1000]}ms
                            connect_timeout=20s;
             slidewin_zone \$arg_k zone=one:1m rate=5r/h algorithm=log
                           on_error=closed;
             server {
                 listen 127.0.0.1:$port http2;
                 location = /slow {
                     if (\$arg_x ~ '^(a+)+\$') { return 204; }
                     empty_gif;
                 }
                 location = /check { slidewin zone=one; empty_gif; }
             }",
    server => 'location = /check { slidewin zone=one; empty_gif; }');

sub decided { return $nginx->get('/check?k=well' . rand)->{status} == 200 }

ok(SlidewinNginx::until_true(\&decided, 20 * $patience), 'Redis is asked');

# how long a slow request takes here, and how many of them exceed a timeout
my $slow = '/slow?x=' . 'a' x 19 . 'b';
my $h2 = SlidewinHTTP2->new($port);
my $start = SlidewinNginx::now();

$h2->answers($h2->request($slow)) for 1 .. 3;

my $n = 1 + int 1.5 * $timeout / ((SlidewinNginx::now() - $start) / 3);

# other requests keep the event loop turning
my $traffic = SlidewinProcess->start(sub {
    my $client = $nginx->client(timeout => 120);

    while (getppid() != 1) { $client->get('/free') }
});

# more slow requests, if there were too few
sub burst {
    my ($name, $order) = @_;
    my ($took, @answers);

    for (1 .. 4) {
        my (@checks, @frames, @all);

        for my $uri ($order->($n)) {
            my ($id, $frame) = $h2->compose($uri);
            push @checks, $id if $uri =~ /check/;
            push @all, $id;
            push @frames, $frame;
        }

        my $start = SlidewinNginx::now();
        $h2->send(@frames);
        @answers = $h2->answers(@checks);
        $h2->answers(@all);
        $took = SlidewinNginx::now() - $start;
        last if $took > 1.2 * $timeout;
        $n = 1 + int $n * 1.5;
    }

    cmp_ok($took, '>', $timeout, "$name: the turn takes long, by $n");
    is(SlidewinNginx::tally(map { $_->{status} } @answers), '200 x5',
       '... and Redis decides');

    return;
}

sub checks { return map { '/check?k=' . rand } 1 .. 5 }

burst('checks after slow work', sub { (($slow) x $_[0], checks()) });
burst('checks before slow work', sub { (checks(), ($slow) x $_[0]) });

$traffic->stop;

is(join('', $nginx->errors(qr/slidewin redis/)), '',
   'and there is nothing to log');
$h2->{c}->close;
$nginx->stop;

# Slow work when replies are read: after a request that only waits behind a
# check, and before what the turn has to send.

my $fake = SlidewinFake->start;

$port = SlidewinRedis::free_port();
$nginx = SlidewinNginx->start(
    http => "slidewin_redis @{[$fake->url]} timeout=@{[$timeout * 1000]}ms
                            connect_timeout=20s;
             slidewin_zone \$arg_k zone=one:1m rate=5r/h algorithm=log
                           on_error=closed;
             map \$arg_x \$slow { '~^(a+)+\$' 1; }
             server {
                 listen 127.0.0.1:$port http2;
                 location = /late { slidewin zone=one; empty_gif;
                                    add_header X-Slow \$slow; }
                 location = /check { slidewin zone=one; empty_gif; }
             }",
    server => 'location = /check { slidewin zone=one; empty_gif; }');

ok(SlidewinNginx::until_true(\&decided, 20 * $patience), 'Redis is asked');

my ($worker) = $nginx->workers;
my ($one, $two) = map { SlidewinHTTP2->new($port) } 1 .. 2;
my $before = $fake->checks;

$_->sync for $one, $two;
$fake->mode('hold');

$one->send(map { ($one->compose("/late?k=slow.$_&x=" . 'a' x 19 . 'b'))[1] }
           1 .. $n);

my $leader = $one->request('/check?k=hot');

ok(SlidewinNginx::until_true(sub { $fake->checks - $before > $n },
                             20 * $patience), 'checks are under way');
kill 'STOP', $worker;

my $follower = $one->request('/check?k=hot');

$fake->release(first => $n);
SlidewinNginx::nap(0.1);

my $check = $two->request('/check?k=sent');

$fake->mode('well');
kill 'CONT', $worker;
SlidewinNginx::nap(0.1);
$fake->release;

is(SlidewinNginx::tally(map { $_->{status} } $one->answers($leader, $follower),
                        $two->answers($check)),
   '200 x3', 'slow work before the turn sends a check: Redis decides');
is(join('', $nginx->errors(qr/slidewin redis/)), '',
   'and there is nothing to log');
$_->{c}->close for $one, $two;
$nginx->stop;

done_testing();
