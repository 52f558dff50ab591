# Reloads while checks are pending: the old workers answer their requests and
# exit soon after, and Redis keeps the counts.

use strict;
use warnings;

use SlidewinNginx;
use SlidewinRedis;
use Test::More;

my $redis = SlidewinRedis->start;
my $second = SlidewinRedis->start;
my $limit = 60;

# no request is answered while Redis is stopped, however long that is
sub http {
    my ($to) = @_;

    return "slidewin_redis @{[$to->url]} timeout=60s connect_timeout=60s;
            slidewin_zone \$arg_k zone=a:1m rate=${limit}r/h algorithm=log
                          deny_cache=off on_error=closed;
            slidewin_zone \$arg_k zone=many:1m rate=500r/h algorithm=log
                          on_error=closed;";
}

my $server = 'add_header X-Source $slidewin_source always;
              location = /a { slidewin zone=a; empty_gif; }
              location = /many { slidewin zone=many; empty_gif; }
              location = /status { stub_status; }';

sub connections {
    my ($of) = @_;

    return scalar(() = $of->command('CLIENT', 'LIST')
                       =~ / addr=127\.0\.0\.1:/g);
}

sub source {
    my ($nginx, $uri) = @_;
    my $answer = $nginx->get($uri);

    return "$answer->{status} " . ($answer->{header}{'x-source'} // '-');
}


# 100 requests that wait.

my $nginx = SlidewinNginx->start(workers => 2, http => http($redis),
                                 server => $server);
my %old = map { $_ => 1 } $nginx->workers;
my @clients = $nginx->clients(100);

is(SlidewinNginx::tally(map { $_->get('/many?k=warm')->{status} }
                        @clients[0, 99]), '200 x2', 'both workers count');

$redis->signal('STOP');
$_->request('/a?k=hot') for @clients;
ok($nginx->busy(100), '100 wait');

$nginx->reload;
is($nginx->get('/free')->{status}, 200, 'new workers serve meanwhile');
is(scalar(grep { SlidewinNginx::alive($_) } keys %old), 2,
   '... and the old ones stay for those who wait');

$redis->signal('CONT');
my @answers = map { $_->answer } @clients;

is(SlidewinNginx::tally(map { $_->{status} } @answers),
   "200 x$limit, 429 x40", 'all are answered');
is(SlidewinNginx::tally(map { $old{$_->{header}{'x-pid'} // ''} ? 1 : 0 }
                        @answers), '1 x100', '... by the workers that have them');
is(scalar(grep { ($_->{header}{'x-source'} // '') ne 'redis' } @answers), 0,
   '... as Redis decided');
ok(SlidewinNginx::all_gone(keys %old), '... which are gone soon');
ok(SlidewinNginx::until_true(sub { connections($redis) == 2 }, 10),
   'two workers, two connections');
is(source($nginx, '/a?k=hot'), '429 redis', 'Redis has kept the counts');
$nginx->stop(name => 'waiting');


# Workers without waiting requests do not stay for a reply that only they want,
# nor for a Redis that does not answer at all.

$nginx = SlidewinNginx->start(workers => 2, http => http($redis),
                              server => $server);
%old = map { $_ => 1 } $nginx->workers;
is(source($nginx, '/many?k=x'), '200 redis', 'connected');
$redis->signal('STOP');
$nginx->reload;
ok(SlidewinNginx::all_gone(keys %old), 'idle: gone soon, Redis stopped or not');

# these workers have never been answered: they are still connecting

%old = map { $_ => 1 } $nginx->workers;
$nginx->reload;
ok(SlidewinNginx::all_gone(keys %old), 'connecting: gone soon');
$redis->signal('CONT');
is(source($nginx, '/many?k=x'), '200 redis', 'and Redis is asked');
$nginx->stop(name => 'idle');


# To another Redis and back.

$redis->command('FLUSHALL');
$nginx = SlidewinNginx->start(workers => 2, http => http($redis),
                              server => $server);
is(source($nginx, '/a?k=move'), '200 redis', 'counted');
$nginx->reload(http => http($second));
is(source($nginx, '/a?k=move'), '200 redis', 'another Redis counts');
is(join(' ', map { $_->command('DBSIZE') } $redis, $second), '1 1',
   '... for itself');
ok(SlidewinNginx::until_true(sub {
    connections($redis) == 0 && connections($second) == 2
}, 10), '... and the first has no connection any more');
$nginx->reload(http => "slidewin_zone \$arg_k zone=a:1m rate=${limit}r/h
                        algorithm=log;
                        slidewin_zone \$arg_k zone=many:1m rate=500r/h
                        algorithm=log;");
is(source($nginx, '/a?k=move'), '200 local', 'none at all: counted here');
ok(SlidewinNginx::until_true(sub { connections($second) == 0 }, 10),
   '... and no connection is left');
$nginx->reload(http => http($redis));
is($nginx->get('/a?k=move')->{header}{'x-remaining'}, $limit - 2,
   'back: the count is as it was left');
$nginx->stop(name => 'another Redis');


# Twenty reloads under load.

my $total = 1200;

$redis->command('FLUSHALL');
$nginx = SlidewinNginx->start(workers => 2, http => http($redis),
                              server => $server);
my $master = $nginx->master;

# nginx itself has other descriptors after its first reload
$nginx->reload;
SlidewinNginx::until_true(sub { SlidewinNginx::children($master) == 2 }, 10);
my $fds = SlidewinNginx::fds($master);
my $done = $nginx->root . '/done';

my @results = $nginx->together(sub {
    my ($i) = @_;
    my (%count, $reloads);

    if ($i == 0) {
        for (1 .. 20) {
            my %before = map { $_ => 1 } $nginx->workers;
            kill 'HUP', $master;
            SlidewinNginx::until_true(sub {
                (grep { !$before{$_} } $nginx->workers) == 2;
            }, 20 * SlidewinNginx::patience()) and $reloads++;
        }
        open my $file, '>', $done;
        close $file;
        return { reloads => $reloads };
    }

    # a new connection for each request: nginx may close a kept one at any time
    while (!-e $done || ($count{asked} // 0) < $total / 4) {
        my $answer = $nginx->get('/many?k=load', Connection => 'close');
        $count{asked}++;
        $count{"$answer->{status} " . ($answer->{header}{'x-source'} // '')}++;
    }

    return \%count;
}, 0 .. 4);

my %sum;

for my $result (@results) {
    $sum{$_} += $result->{$_} for keys %$result;
}

is($sum{reloads}, 20, '20 reloads under load');
is($sum{'200 redis'}, 500, '... exactly the limit is admitted');
is($sum{'200 redis'} + $sum{'429 redis'} + $sum{'429 deny_cache'}, $sum{asked},
   '... and no request fails') or diag(explain(\%sum));
ok(SlidewinNginx::until_true(sub {
    SlidewinNginx::children($master) == 2;
}, 20), '... no old worker stays');
ok(SlidewinNginx::until_true(sub { connections($redis) == 2 }, 10),
   '... nor its connection');
ok(SlidewinNginx::until_true(sub { SlidewinNginx::fds($master) <= $fds }, 10),
   '... nor a descriptor of the master')
    or diag(SlidewinNginx::fds($master) . ", before: $fds");
$nginx->stop(name => 'load');

done_testing();
