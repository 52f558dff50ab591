# A rejected request is counted by none of its policies, also if its client
# leaves while a call begins the ban.

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
             slidewin_zone \$arg_k zone=far:1m rate=1r/40d ban=1h;",
    server => <<'END');
    add_header X-Remaining $slidewin_remaining always;
    location = /status { stub_status; }
    location = /both {
        slidewin zone=here; slidewin zone=far delay=1s; empty_gif;
    }
    location = /dry {
        slidewin zone=here dry_run; slidewin zone=far delay=1s dry_run;
        empty_gif;
    }
    location = /peek_here { slidewin zone=here cost=0; empty_gif; }
END

for my $case (['/both', 'ban', 'enforced'], ['/dry', 'dry-ban', 'dry run']) {
    my ($uri, $ban, $name) = @$case;
    my $key = SlidewinCount::fresh();

    is($nginx->get("$uri?k=$key")->{status}, 200, "$name: one passes");
    is(SlidewinCount::left($nginx, 'here', $key), 99, '... and is counted');

    # the first answer rejects it, then the ban is asked for
    my $client = $nginx->client;
    $client->request("$uri?k=$key");
    ok(SlidewinNginx::until_true(sub {
        $redis->command('EXISTS', "sw:{$key}:far:$ban");
    }, 20 * $patience), '... another one begins a ban');
    $client->close;
    ok($nginx->busy(0), '... before it hears of it the client has left');
    is(SlidewinCount::left($nginx, 'here', $key), 99, '... and is not counted');
}

$nginx->stop;
done_testing();
