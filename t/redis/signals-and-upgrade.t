# nginx processes that are connected to a Redis: signals, an upgrade, a worker
# that dies, cache processes, single process mode.

use strict;
use warnings;

use SlidewinNginx;
use SlidewinRedis;
use Test::More;

my $redis = SlidewinRedis->start;

# no request is answered while Redis is stopped
my %conf = (
    workers => 2,
    http => "slidewin_redis @{[$redis->url]} timeout=60s connect_timeout=60s;
             slidewin_zone \$arg_k zone=a:1m rate=30r/h algorithm=log
                           deny_cache=off on_error=closed;",
    server => 'add_header X-Source $slidewin_source always;
               location = /a { slidewin zone=a; empty_gif; }
               location = /status { stub_status; }',
);

sub connections {
    return scalar(() = $redis->command('CLIENT', 'LIST')
                       =~ / addr=127\.0\.0\.1:/g);
}

sub become {
    my ($n) = @_;

    return SlidewinNginx::until_true(sub { connections() == $n },
                                     10 * SlidewinNginx::patience());
}

sub source {
    my ($nginx, $uri) = @_;
    my $answer = $nginx->get($uri);

    return "$answer->{status} " . ($answer->{header}{'x-source'} // '-');
}

# Redis is stopped, and 50 clients of both workers wait for it.
sub waiting {
    my ($nginx) = @_;
    my @clients = $nginx->clients(50);

    $redis->command('FLUSHALL');
    become(2);
    $redis->signal('STOP');
    $_->request('/a?k=hot') for @clients;

    $nginx->busy(50) or die 'they do not wait';

    return @clients;
}

sub tally { return SlidewinNginx::tally(map { $_->answer->{status} } @_) }


# QUIT answers requests that wait.

my $nginx = SlidewinNginx->start(%conf);
my @clients = waiting($nginx);
my @all = ($nginx->master, $nginx->workers);

$nginx->signal('QUIT');
SlidewinNginx::nap(0.3);
is(scalar(grep { SlidewinNginx::alive($_) } @all), 3, 'QUIT waits');
$redis->signal('CONT');
is(tally(@clients), '200 x30, 429 x20', '... until all are answered');
ok(SlidewinNginx::all_gone(@all), '... and the processes gone soon');
ok(become(0), '... and their connections');
$nginx->stop(name => 'QUIT');


# TERM does not.

for my $signal (qw(TERM INT)) {
    $nginx = SlidewinNginx->start(%conf);
    @clients = waiting($nginx);
    @all = ($nginx->master, $nginx->workers);

    $nginx->signal($signal);
    is(tally(@clients), '0 x50', "$signal: none is answered");
    ok(SlidewinNginx::all_gone(@all), '... and the processes gone soon');
    is(scalar($nginx->errors(qr/exited on signal/)), 0, '... cleanly');
    $redis->signal('CONT');
    ok(become(0), '... and their connections');
    $nginx->stop(name => $signal);
}


# No request waits, so workers exit at once.

$nginx = SlidewinNginx->start(%conf);
is(source($nginx, '/a?k=idle'), '200 redis', 'connected');
become(2);
@all = ($nginx->master, $nginx->workers);
$nginx->signal('QUIT');
ok(SlidewinNginx::all_gone(@all), 'QUIT, idle: gone soon');
ok(become(0), '... and their connections');
$nginx->stop(name => 'idle');

# while nginx tries to reach a Redis that is down

my $http = $conf{http} =~ s/redis:\S+/'redis:\/\/127.0.0.1:' . SlidewinRedis::free_port()/er;

$nginx = SlidewinNginx->start(%conf, http => $http);
ok($nginx->logged(qr/cannot be reached/), 'no Redis');
@all = ($nginx->master, $nginx->workers);
$nginx->signal('QUIT');
ok(SlidewinNginx::all_gone(@all), 'QUIT, no Redis: gone soon');
$nginx->stop(name => 'no Redis');

# after a timeout that the client did not wait for

$nginx = SlidewinNginx->start(%conf, http => $conf{http} =~ s/=60s/=1s/r);
@clients = $nginx->clients(20);
become(2);
$redis->signal('STOP');
$_->request('/a?k=hot') for @clients;
$_->close for @clients;
@all = ($nginx->master, $nginx->workers);
$nginx->signal('QUIT');
ok(SlidewinNginx::all_gone(@all),
   'QUIT, clients gone: gone when the deadline has passed, at the latest');
$redis->signal('CONT');
$nginx->stop(name => 'deadline');


# A worker dies, and only its own requests are lost.

$nginx = SlidewinNginx->start(%conf);

my ($dies, $lives) = $nginx->workers;
my @its = $nginx->clients_of($dies, 20);
my @others = $nginx->clients_of($lives, 20);

$redis->command('FLUSHALL');
become(2);
my $fds = SlidewinNginx::fds($lives);
$redis->signal('STOP');
$_->request('/a?k=hot') for @its, @others;
ok($nginx->busy(40), '40 wait');

kill 'KILL', $dies;
is(tally(@its), '0 x20', 'a worker is killed: its clients are cut off');
ok(SlidewinNginx::until_true(sub {
    (grep { $_ != $dies } $nginx->workers) == 2;
}, 10 * SlidewinNginx::patience()), '... and there is a new one');

$redis->signal('CONT');

my @answers = map { $_->answer } @others;

is(scalar(grep { $_->{header}{'x-pid'} == $lives
                 && ($_->{header}{'x-source'} // '') eq 'redis' } @answers), 20,
   '... and those of the other are answered');

# checks of the dead worker may be counted or not, but nothing else
my $admitted = grep { $_->{status} == 200 } @answers;
cmp_ok($admitted, '>=', 10, '... within the limit');

my ($new) = grep { $_ != $lives } $nginx->workers;
my $client = $nginx->client_of($new);
is($client->get('/a?k=new')->{header}{'x-source'}, 'redis',
   '... and the new one asks Redis');
$client->close;
$_->close for @others;
ok(become(2), '... over a connection of its own');
ok(SlidewinNginx::until_true(sub { SlidewinNginx::fds($lives) <= $fds }, 5),
   '... and no descriptor is left over');
$nginx->stop(name => 'killed', allow => qr/exited on signal 9/);


# A new binary keeps the counts.

$redis->command('FLUSHALL');
$nginx = SlidewinNginx->start(%conf);
is(SlidewinNginx::tally($nginx->status('/a?k=up', 20)), '200 x20',
   'counted by the old binary');

my $old = $nginx->master;
my @old = $nginx->workers;

$nginx->signal('USR2');
ok(SlidewinNginx::until_true(sub {
    my $master = $nginx->master;
    return defined $master && $master != $old && $nginx->workers == 2;
}, 10 * SlidewinNginx::patience()), 'USR2: a second master with workers');
ok(become(4), '... which are connected as well');

$nginx->signal('WINCH', $old);
ok(SlidewinNginx::all_gone(@old), 'WINCH: the old workers leave');
is(SlidewinNginx::tally($nginx->status('/a?k=up', 20)), '200 x10, 429 x10',
   '... and the new ones go on counting');
$nginx->signal('QUIT', $old);
ok(SlidewinNginx::all_gone($old), 'QUIT: and so does the old master');
ok(become(2), '... and the connections');
$nginx->stop(name => 'new binary');


# The cache manager and loader are not connected.

$nginx = SlidewinNginx->start(%conf, http => $conf{http}
    . 'proxy_cache_path cache keys_zone=cache:1m manager_sleep=10ms
                        loader_sleep=10ms;');
is(source($nginx, '/a?k=cache'), '200 redis', 'with a cache');
ok(SlidewinNginx::until_true(sub {
    SlidewinNginx::children($nginx->master) == 4;
}, 10 * SlidewinNginx::patience()), 'two workers, a manager and a loader');
become(2);
SlidewinNginx::nap(0.3);
is(connections(), 2, '... of which the workers are connected');
$nginx->stop(name => 'cache');


# Without a master, and in the foreground.

for my $mode ([master => 'off', daemon => 'off'],
              [master => 'off', daemon => 'on'],
              [master => 'on', daemon => 'off'])
{
    my $name = "@$mode";

    $redis->command('FLUSHALL');
    $nginx = SlidewinNginx->start(%conf, workers => 1, @$mode);
    is(SlidewinNginx::tally($nginx->status('/a?k=1', 31)),
       '200 x30, 429 x1', "$name: the limit holds");
    is(source($nginx, '/a?k=1'), '429 redis', "$name: by Redis");
    is(connections(), 1, "$name: over one connection");
    $nginx->stop(name => $name);
    ok(become(0), "$name: which is closed");
}

done_testing();
