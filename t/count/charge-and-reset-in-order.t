# A reset clears a client with what it was charged before, also if the charge
# still waits, behind checks, to be sent to Redis.

use strict;
use warnings;

use SlidewinCount;
use SlidewinFake;
use SlidewinHTTP2;
use SlidewinNginx;
use SlidewinRedis;
use SlidewinStats;
use Test::More;

my $patience = SlidewinNginx::patience();
my $place = SlidewinCount->new('redis');
my $far = SlidewinFake->start(relay => $place->redis->path,
                              delay => sub { 0.4 * $patience });
my $port = SlidewinRedis::free_port();
my $server = <<'END';
    add_header X-Remaining $slidewin_remaining always;
    location = /held {
        slidewin zone=z charge=$upstream_http_x_cost reset=302;
        proxy_pass http://held;
    }
    location = /tell { slidewin zone=z charge=$arg_c; empty_gif; }
    location = /peek_z { slidewin zone=z cost=0; empty_gif; }
END

# 1,024 checks at once to one Redis: with 16 workers 64 of this one
my $nginx = SlidewinNginx->start(
    workers => 16,
    http => "slidewin_redis @{[$far->url]} timeout=20s connect_timeout=20s;
             slidewin_log_level info;
             slidewin_zone \$arg_k zone=z:1m rate=100r/40d;
             upstream held { server unix:$place->{sockets}/held; }
             server { listen 127.0.0.1:$port http2; $server }",
    server => $server . SlidewinStats::location());

my $h2 = SlidewinHTTP2->new($port);
$h2->sync;

my @held = map { $h2->request('/held?k=K') } 1, 2;
is($place->held->has(2), 2, 'two requests are held');

# more checks, and charges, than may be under way
my @others = map { $h2->request("/tell?k=c$_&c=5") } 1 .. 110;
SlidewinNginx::nap(0.55 * $patience);
$place->held->tell(50);
SlidewinNginx::nap(0.02);
$place->held->answer(302);
is(join(' ', map { $_->{status} } $h2->answers(@held)), '200 302',
   'they end, the one that resets last');
$h2->answers(@others);
SlidewinCount::becomes($nginx, 'z', 'c110', 95, 'others are charged');
SlidewinCount::becomes($nginx, 'z', 'K', 100, 'the client is clear');
SlidewinNginx::nap(1.5 * $patience);
is(SlidewinCount::left($nginx, 'z', 'K'), 100, '... and stays clear');
is(join(' ', @{SlidewinStats::zone($nginx, 'z')->{charges}}{qw(settled estimated)}),
   '111 0', 'all charges but that of the reset count as settled');

$nginx->stop;
done_testing();
