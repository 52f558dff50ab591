# A Redis that cannot be connected to, for each reason: attempts are few, and
# requests do not wait for them.

use strict;
use warnings;

use IO::Socket::INET;
use SlidewinFake;
use SlidewinFaults;
use SlidewinRedis;
use Test::More;

sub at_time {
    my ($text) = @_;

    return { command => sub {
        my ($c, $command) = @_;

        return 0 if $command->[0] ne 'TIME';
        $c->send($text);
        return 1;
    } };
}

my @ways = (
    ['ends it', { accept => sub { $_[0]->fin } }, qr/closed|reset/],
    ['resets it', { accept => sub { $_[0]->rst } }, qr/closed|reset/],
    ['has enough clients', { accept => sub {
        $_[0]->send("-ERR max number of clients reached\r\n");
        $_[0]->fin;
    } }, qr/max number of clients|closed|reset/],
    ['speaks first', { accept => sub {
        $_[0]->send("220 smtp.example ESMTP\r\n");
    } }, qr/Protocol error/],
    ['speaks HTTP', { command => sub {
        $_[0]->send("HTTP/1.1 400 Bad Request\r\nConnection: close\r\n\r\n");
        $_[0]->fin;
        return 1;
    } }, qr/Protocol error/],
    ['says nothing', { command => sub { 1 } }, qr/took too long/],
    ['has no time', at_time("*-1\r\n"), qr/does not speak like Redis/],
    ['has a strange time', at_time("*2\r\n\$1\r\nx\r\n\$1\r\n0\r\n"),
     qr/does not speak like Redis/],
    ['has an error for the time', at_time("-ERR unknown command 'TIME'\r\n"),
     qr/ERR unknown command/],
);

my $fake = SlidewinFake->start(modes => {
    (map { ($_->[0] => $_->[1]) } @ways),
    brief => { command => sub {
        my ($c, $command) = @_;

        return 0 if $command->[0] ne 'TIME';
        $c->honest($command);
        $c->fin;
        return 1;
    } },
});

# The pauses are 50, 100, 200, 400, 800 ms and so on, half of each random: at
# most seven attempts in the first second, and the one at the start.

# only the one that is silent is noticed by the time it takes

for my $way (@ways) {
    my ($name, undef, $reason) = @$way;
    my $connect = $name eq 'says nothing' ? '300ms' : '20s';
    my $accepts = $fake->accepts;

    $fake->mode($name);

    my $faults = SlidewinFaults->start(
        url => $fake->url,
        redis => "timeout=1s connect_timeout=$connect");
    my $nginx = $faults->nginx;
    my $start = SlidewinNginx::now();
    my @latencies;

    $faults->fails("a Redis that $name");

    while (SlidewinNginx::now() < $start + 1
           || $fake->accepts - $accepts < 2
              && SlidewinNginx::now() < $start + 30)
    {
        push @latencies, SlidewinFaults::latencies(
            $faults->get('/open?k=' . SlidewinFaults::fresh()));
        SlidewinNginx::nap(0.002);
    }

    my $seconds = SlidewinNginx::now() - $start;

    cmp_ok(scalar(grep { $_ > 200 } @latencies), '<=', 2,
           '... a few wait for it at most, of ' . @latencies);
    cmp_ok($fake->accepts - $accepts, '<=', 8 + 2 * $seconds,
           '... there are few attempts');
    cmp_ok($fake->accepts - $accepts, '>=', 2, '... but there are some');
    is($faults->log_lines(qr/cannot be reached: .*$reason/), 1,
       '... one line says'
       . ' why') or diag $nginx->error_log;
    is($faults->log_lines(qr/./), 1, '... and it is the only one');

    $fake->mode('well');
    $faults->recovers("one that $name, and is well later");
    is($faults->log_lines(qr/is back/), 1, '... as one line says');
    is($faults->log_lines(qr/./), 2, '... and no other');

    $faults->remember_workers;
    $fake->cut;
    $faults->recovers('cut off');
    $faults->ends_clean($name);
}

# Closed as soon as it is made, first without requests, then with some.

for my $asking (0, 1) {
    my $accepts = $fake->accepts;

    $fake->mode('brief');

    my $faults = SlidewinFaults->start(url => $fake->url,
                                       redis => 'timeout=1s');
    my $start = SlidewinNginx::now();

    SlidewinNginx::until_true(sub {
        $faults->get('/open?k=' . SlidewinFaults::fresh()) if $asking;
        SlidewinNginx::now() > $start + 1 && $fake->accepts - $accepts >= 3;
    }, 30);

    cmp_ok($fake->accepts - $accepts, '<=',
           8 + 2 * (SlidewinNginx::now() - $start),
           'a connection ended as soon as it is made: there are few'
           . ($asking ? ' with requests' : ' without requests'));
    cmp_ok($fake->accepts - $accepts, '>=', 3, '... but there are some');
    is($faults->log_lines(qr/is lost: /), 1, '... one line says so');

    $fake->mode('well');
    $faults->recovers('kept');
    $faults->remember_workers;

    # a connection that was in use is replaced without a line in the log
    my $lost = $faults->log_lines(qr/is lost: /);
    $fake->cut;
    $faults->recovers('cut off once');
    is($faults->log_lines(qr/is lost: /), $lost, '... which is nothing to log');
    $faults->ends_clean('brief');
}

# Lost, and then a connection that takes its time: the first request waits for
# it.

my $faults = SlidewinFaults->start(
    url => $fake->url, redis => 'timeout=1s connect_timeout=30s');
my $nginx = $faults->nginx;

ok($faults->redis_answers, 'Redis is asked');
$faults->remember_workers;
$fake->mode('says nothing');
my $accepted = $fake->accepts;
$fake->cut;
SlidewinNginx::until_true(sub { $fake->accepts > $accepted }, 10);

my @crowd = map { $nginx->client } 1 .. 20;
my @waited = $nginx->burst(\@crowd, [['/closed?k=crowd']]);

is(SlidewinNginx::tally(map { $_->{status} } @waited), '503 x20',
   'a connection that takes its time: on_error decides');

my @after = map { $_->get('/open?k=crowd') } @crowd;

is(scalar(grep { $_ > 150 } SlidewinFaults::latencies(@after)), 0,
   '... and later ones do not wait');
$faults->fails('a connection that takes its time');

$fake->mode('well');
$fake->cut;
$faults->recovers('made after all');
$_->close for @crowd;
$faults->ends_clean('in its time');
$fake->stop;

# No server listens.

$faults = SlidewinFaults->start(
    url => 'redis://127.0.0.1:' . SlidewinRedis::free_port(),
    redis => 'timeout=20s');
$nginx = $faults->nginx;
$faults->remember_workers;

ok($nginx->logged(qr/cannot be reached: Connection refused/),
   'no server listens: it is in the log');

my $start = SlidewinNginx::now();

$faults->fails('no server listens');
cmp_ok(SlidewinNginx::now() - $start, '<', 5, '... and no request waits');
SlidewinNginx::nap(1);
is($faults->log_lines(qr/./), 1, '... and that line is all');
$faults->ends_clean('refused');

# No socket at the path.

$faults = SlidewinFaults->start(url => 'unix:/nonexistent/socket',
                                redis => 'timeout=20s');
$faults->remember_workers;
ok($faults->nginx->logged(
       qr{"unix:/nonexistent/socket" cannot be reached: No such file}),
   'no socket: it is in the log');
$faults->fails('no socket');
$faults->ends_clean('no socket');

# A listener whose backlog is full: the kernel drops further connections.

$fake = SlidewinFake->start(mode => 'full', backlog => 1, modes => {
    full => { accept => 0 },
});

my @waiting;

for (1 .. 8) {
    push @waiting, IO::Socket::INET->new(
        PeerAddr => '127.0.0.1', PeerPort => $fake->port, Blocking => 0);
}

SlidewinNginx::nap(0.1);

$faults = SlidewinFaults->start(
    url => $fake->url, redis => 'timeout=1s connect_timeout=600ms');
$nginx = $faults->nginx;

my @first = map { $nginx->client } 1 .. 50;
my @answers = $nginx->burst(\@first, [['/closed?k=first']]);

is(SlidewinNginx::tally(map { $_->{status} } @answers), '503 x50',
   'a full queue: on_error decides');
cmp_ok((sort { $b <=> $a } SlidewinFaults::latencies(@answers))[0],
       '<', 2000 * SlidewinNginx::patience(),
       '... at the timeout, not the kernel\'s');
ok($nginx->logged(qr/cannot be reached: connecting took too long/),
   '... and it is in the log');

$start = SlidewinNginx::now();
$faults->fails('a full queue');
my @late = map { SlidewinFaults::latencies($faults->get("/open?k=late$_")) }
           1 .. 20;
is(scalar(grep { $_ > 200 } @late), 0, '... later ones do not wait');
is($faults->log_lines(qr/./), 1, '... there is one line');

$fake->mode('well');
$_->close for grep { $_ } @waiting;
$faults->recovers('there is room again');
$faults->remember_workers;
$_->close for @first;
$faults->ends_clean('full');
$fake->stop;

# Redis has its maximum of clients.

my $redis = SlidewinRedis->start;

$faults = SlidewinFaults->start(url => $redis->url, redis => 'timeout=2s');
$nginx = $faults->nginx;
ok($faults->redis_answers, 'Redis is asked');
$faults->remember_workers;

sub rejected {
    my ($n) = $redis->command('INFO', 'stats')
              =~ /^rejected_connections:(\d+)/m;
    return $n;
}

$redis->command('CONFIG', 'SET', 'maxclients', 1);
$redis->command('CLIENT', 'KILL', 'SKIPME', 'yes', 'TYPE', 'normal');

my $before = rejected();

$faults->fails('no more clients');
SlidewinNginx::nap(2);

my $after = rejected();

cmp_ok($after - $before, '<=', 12, '... it is not tried all the time');
cmp_ok($after - $before, '>=', 2, '... but it is tried');
cmp_ok($faults->log_lines(qr/./), '<=', 2, '... few lines are about it');

$redis->command('CONFIG', 'SET', 'maxclients', 100);
$faults->recovers('they have left');
$faults->ends_clean('clients');

done_testing();
