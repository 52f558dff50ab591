# A rejected request is counted by none of its policies, also if its client
# leaves while a call of its own begins the ban: when the request could have
# waited for room, but another one of the client was faster.

use strict;
use warnings;

use SlidewinCount;
use SlidewinFake;
use SlidewinNginx;
use SlidewinRedis;
use Test::More;

my $patience = SlidewinNginx::patience();
my $redis = SlidewinRedis->start;
my $far = SlidewinFake->start(relay => $redis->path, delay => sub { 0.4 });
my $nginx = SlidewinNginx->start(
    http => "slidewin_redis @{[$far->url]} timeout=20s connect_timeout=20s;
             slidewin_log_level info;
             slidewin_zone \$arg_k zone=here:1m rate=100r/40d store=local;
             slidewin_zone \$arg_k zone=far:1m rate=1r/40m algorithm=log
                           ban=1h;",
    server => <<'END');
    add_header X-Remaining $slidewin_remaining always;
    location = /status { stub_status; }
    location = /both {
        slidewin zone=here; slidewin zone=far delay=1h; empty_gif;
    }
    location = /peek_here { slidewin zone=here cost=0; empty_gif; }
END

my $key = SlidewinCount::fresh();

is($nginx->get("/both?k=$key")->{status}, 200, 'one passes');
is(SlidewinCount::left($nginx, 'here', $key), 99, '... and is counted');

# two ask at the same time; the second would have to wait for 80 minutes
my @clients = map { $nginx->client } 1, 2;

$_->request("/both?k=$key") for @clients;
ok(SlidewinNginx::until_true(sub {
    $redis->command('EXISTS', "sw:{$key}:far:ban");
}, 20 * $patience), '... one of two more begins a ban');
$_->close for @clients;
ok($nginx->busy(0), '... before it hears of it the clients have left');
is(SlidewinCount::left($nginx, 'here', $key), 99, '... and are not counted');

$nginx->stop;
done_testing();
