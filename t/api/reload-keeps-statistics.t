# A reload keeps counters, the most rejected clients and the time since when,
# whatever else it changes: other zones, the size, the rate, the algorithm and
# the store of this one, the number of workers. nginx -t and a reload that fails
# do not disturb them. A new binary starts with 0.

use strict;
use warnings;

use SlidewinApp;
use SlidewinNginx;
use SlidewinRedis;
use SlidewinStats;
use Test::More;

my $redis = SlidewinRedis->start;
my $patience = 10 * SlidewinNginx::patience();
my $held = SlidewinRedis::free_port();
my $listener = IO::Socket::INET->new(LocalAddr => '127.0.0.1',
                                     LocalPort => $held, Listen => 5,
                                     ReuseAddr => 1) or die "listen: $!";

sub zones {
    my ($keep, @others) = @_;

    return "slidewin_redis @{[$redis->url]} timeout=20s connect_timeout=20s;
            slidewin_zone \$arg_k zone=keep:$keep;
            slidewin_zone \$arg_k zone=long:1m rate=9r/40d store=local;"
           . join '', map { "slidewin_zone \$arg_k zone=$_:1m rate=1r/40d
                             store=local;" } @others;
}

sub server {
    my (@others) = @_;

    return "location = /long { slidewin zone=long;
                               proxy_pass http://127.0.0.1:$held; }\n"
           . join('', map { "location = /$_ { slidewin zone=$_; empty_gif; }\n"
                      } 'keep', @others)
           . SlidewinStats::location();
}

my $nginx = SlidewinNginx->start(
    workers => 2, http => zones('1m rate=1r/40d store=local', 'gone'),
    server => server('gone'));

my ($passed, $rejected) = (0, 0);
my $client = 'c0';

# a client of its own is rejected as soon as its limit of 1 is used
sub traffic {
    my ($n) = @_;

    $client++;
    $nginx->status("/keep?k=$client", $n);
    $passed++;
    $rejected += $n - 1;

    return;
}

sub kept {
    my ($name) = @_;
    my $wanted = "passed $passed, rejected $rejected";

    is(SlidewinStats::becomes(sub { SlidewinStats::outcomes($nginx, 'keep') },
                              $wanted, 2),
       $wanted, "$name: the counters");

    return;
}

my $since = SlidewinStats::json($nginx, 'info')->{since};

traffic(4);
$nginx->status('/gone?k=a', 3);
kept('at first');

my $top = SlidewinStats::json($nginx, 'zones/keep/top');
is($top->{top}[0]{rejected}, 3, 'the most rejected client');

for my $case (
    ['nothing changes', zones('1m rate=1r/40d store=local', 'gone'),
     server('gone'), 2],
    ['zones are added', zones('1m rate=1r/40d store=local', 'gone', 'new1',
                              'new2'),
     server('gone', 'new1'), 2],
    ['zones are removed', zones('1m rate=1r/40d store=local'), server(), 2],
    ['the zone is larger', zones('3m rate=1r/40d store=local'), server(), 2],
    ['another rate', zones('3m rate=1r/30d store=local'), server(), 2],
    ['another algorithm', zones('3m rate=1r/30d algorithm=log store=local'),
     server(), 2],
    ['another store', zones('3m rate=1r/30d algorithm=log deny_cache=off'),
     server(), 2],
    ['more workers', zones('3m rate=1r/30d algorithm=log deny_cache=off'),
     server(), 4],
    ['one worker', zones('3m rate=1r/30d algorithm=log deny_cache=off'),
     server(), 1],
    ['a zone comes back', zones('3m rate=1r/30d algorithm=log store=local',
                                'gone'),
     server('gone'), 2],
) {
    my ($name, $http, $server, $workers) = @$case;

    $nginx->reload(http => $http, server => $server, workers => $workers);
    kept($name);

    my $list = SlidewinStats::json($nginx, 'zones/keep/top');
    is(scalar(grep { $_->{key} eq 'c1' && $_->{rejected} == 3 }
              @{$list->{top}}), 1, '... the list');
    is(SlidewinStats::json($nginx, 'info')->{since}, $since, '... since when');

    traffic(3);
    kept('... and goes on');
}

is(SlidewinStats::outcomes($nginx, 'gone'), '',
   'a zone that was away begins anew');

# another length of the list
my $same = '3m rate=1r/30d algorithm=log store=local';
$nginx->reload(http => zones("$same top=16", 'gone'), server => server('gone'));
kept('top=16');
is(scalar @{SlidewinStats::json($nginx, 'zones/keep/top')->{top}}, 0,
   '... its list begins anew');
traffic(2);
is(scalar @{SlidewinStats::json($nginx, 'zones/keep/top')->{top}}, 1,
   '... and fills');

# nginx -t, and a reload that nginx refuses
my $good = SlidewinNginx::slurp($nginx->root . '/nginx.conf');
my $root = $nginx->root;

system(SlidewinNginx::binary() . " -t -p $root/ -c $root/nginx.conf"
       . " -e $root/logs/test.log >/dev/null 2>&1");
is($?, 0, 'nginx -t');
kept('... is another process');

$nginx->configure(server => 'listen 203.0.113.1:1;' . server('gone'));
$nginx->signal('HUP');
ok($nginx->logged(qr/bind\(\) to 203\.0\.113\.1/), 'a reload fails');
kept('... and keeps all');
traffic(2);
kept('... and goes on');
$nginx->configure(server => server('gone'));

# a worker of the last configuration counts where the new ones do
my $slow = $nginx->asks('/long?k=a');
my $upstream = $listener->accept;
sysread $upstream, my $request, 65536;

$nginx->reload(http => zones("$same top=16"), server => server());
is(SlidewinStats::outcomes($nginx, 'long'), '', 'a request of an old worker');
syswrite $upstream, "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok";
is($slow->answer->{status}, 200, '... ends');
is(SlidewinStats::outcomes($nginx, 'long'), 'passed 1', '... and is counted');

# a new binary
my $old = $nginx->master;
$nginx->signal('USR2');
ok(SlidewinNginx::until_true(sub {
    my $master = $nginx->master;
    return $master && $master != $old && $nginx->workers == 2;
}, 2 * $patience), 'a new binary');
$nginx->signal('QUIT', $old);
ok(SlidewinNginx::gone($old, 2 * $patience), '... takes over');
is(SlidewinStats::outcomes($nginx, 'keep'), '', '... and begins with 0');
cmp_ok(SlidewinStats::json($nginx, 'info')->{since}, '>=', $since,
       '... from now on');

$nginx->stop(allow => qr/bind\(\) to 203|still could not bind/);

done_testing;
