# Each fault of a store is counted by its kind, and by one kind alone.

use strict;
use warnings;

use SlidewinFake;
use SlidewinNginx;
use SlidewinRedis;
use SlidewinStats;
use Test::More;

my $redis = SlidewinRedis->start;
my $patience = 10 * SlidewinNginx::patience();
my $nobody = SlidewinRedis::free_port();

# name, what the fake does, the kind; the status of the request is the same
my @cases = (
    ['garbage', sub { $_[0]->send("HTTP/1.1 400 Bad Request\r\n\r\n") },
     'bad_reply 1'],
    ['nonsense', sub { $_[0]->send("+OK\r\n") }, 'bad_reply 1'],
    ['cut', sub { $_[0]->fin }, 'lost 1'],
    ['oom', sub { $_[0]->send("-OOM command not allowed\r\n") },
     'error_reply 1'],
    ['readonly', sub { $_[0]->send("-READONLY You can't write\r\n") },
     'error_reply 1'],
    ['silent', 'silent', 'timeout 1'],
);

my (@fakes, $stores, $zones, $locations);

for my $case (@cases) {
    my ($name, $mode) = @$case;
    my $fake = SlidewinFake->start(
        ref $mode ? (modes => { bad => $mode }) : ());

    push @fakes, $fake;
    my $timeout = $name eq 'silent' ? '200ms' : '20s';
    $stores .= "slidewin_redis @{[$fake->url]} name=$name timeout=$timeout
                               connect_timeout=20s;\n";
    $zones .= "slidewin_zone \$arg_k zone=$name:1m rate=9r/40d store=$name
                             on_error=closed;\n";
}

$stores .= "slidewin_redis @{[$redis->url]} name=foreign timeout=20s
                           connect_timeout=20s;
            slidewin_redis redis://127.0.0.1:$nobody name=nobody
                           timeout=200ms;\n";
$zones .= "slidewin_zone \$arg_k zone=$_:1m rate=9r/40d store=$_
                         on_error=closed;\n" for qw(foreign nobody);
$locations .= "location = /$_ { slidewin zone=$_; empty_gif; }\n"
    for qw(foreign nobody), map { $_->[0] } @cases;

my $nginx = SlidewinNginx->start(
    http => "$stores $zones", server => $locations . SlidewinStats::location());

for my $i (0 .. $#cases) {
    my ($name, $mode, $kind) = @{$cases[$i]};

    is(SlidewinStats::becomes(
           sub { $nginx->get("/$name?k=well")->{status} }, 200),
       200, "$name: well at first");

    my $before = SlidewinStats::errors($nginx, $name);
    is($before, '', '... without errors');

    $fakes[$i]->mode(ref $mode ? 'bad' : $mode);
    is($nginx->get("/$name?k=a")->{status}, 503, '... a check fails');
    is(SlidewinStats::becomes(
           sub { SlidewinStats::errors($nginx, $name) }, $kind),
       $kind, '... and is counted');

    my $json = SlidewinStats::store($nginx, $name);
    my $metrics = SlidewinStats::metrics($nginx);
    my ($word, $n) = split ' ', $kind;
    is($metrics->{"slidewin_store_errors_total{store=\"$name\","
                  . "kind=\"$word\"}"}, $n, '... in the metrics');
    is(SlidewinStats::evaluations($nginx, $name),
       'error_rejected fail_closed 1, passed redis '
       . SlidewinStats::zone($nginx, $name)->{sources}{redis},
       '... the request as well');
}

ok(SlidewinNginx::until_true(sub {
    (SlidewinStats::store($nginx, 'nobody')->{errors}{connect} // 0) >= 2;
}, $patience), 'nobody listens: attempts to connect are counted');
is($nginx->get('/nobody?k=a')->{status}, 503, '... a request is rejected');
like(SlidewinStats::errors($nginx, 'nobody'), qr/^connect \d+$/,
     '... and nothing else');
ok(!SlidewinStats::store($nginx, 'nobody')->{connected}, '... not connected');
is(SlidewinStats::store($nginx, 'nobody')->{connections}, 0,
   '... no connection');
is(SlidewinStats::store($nginx, 'nobody')->{calls}, 0, '... no call');

# a key of somebody else
is($nginx->get('/foreign?k=a')->{status}, 200, 'a key of slidewin');
my @keys = @{$redis->command('KEYS', '*')};
is(scalar @keys, 1, '... is there');
$redis->command('DEL', $keys[0]);
$redis->command('LPUSH', $keys[0], 'x');
is($nginx->get('/foreign?k=a')->{status}, 503, '... and becomes a list');
is(SlidewinStats::errors($nginx, 'foreign'), 'foreign_key 1',
   '... which is counted');

# scripts
my $loaded = SlidewinStats::store($nginx, 'foreign')->{scripts_loaded};
my $checks = SlidewinStats::store($nginx, 'foreign')->{checks};
cmp_ok($loaded, '>', 0, 'scripts are loaded');
$redis->command('SCRIPT', 'FLUSH');
is($nginx->get('/foreign?k=b')->{status}, 200, '... flushed');
is(SlidewinStats::store($nginx, 'foreign')->{scripts_loaded}, $loaded + 1,
   '... and loaded again');
is(SlidewinStats::store($nginx, 'foreign')->{checks}, $checks + 1,
   '... the check that brought it is one check');

# a Redis that comes back
my $reconnects = SlidewinStats::store($nginx, 'foreign')->{reconnects};
$redis->command('CLIENT', 'KILL', 'TYPE', 'normal');
ok(SlidewinNginx::until_true(sub {
    SlidewinStats::store($nginx, 'foreign')->{reconnects} > $reconnects;
}, $patience), 'a reconnect is counted');
is($nginx->get('/foreign?k=b')->{status}, 200, '... and works');

$nginx->stop;

done_testing;
