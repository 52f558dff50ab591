# A reset clears a client with the charges of requests that ended before it, also
# those that wait for another charge on its way to Redis.

use strict;
use warnings;

use SlidewinCount;
use SlidewinFake;
use SlidewinNginx;
use SlidewinStats;
use Test::More;

my $patience = SlidewinNginx::patience();
my $place = SlidewinCount->new('redis');
my $far = SlidewinFake->start(relay => $place->redis->path,
                              delay => sub { 0.3 });
my $nginx = SlidewinNginx->start(
    http => "slidewin_redis @{[$far->url]} timeout=20s connect_timeout=20s;
             slidewin_log_level info;
             slidewin_zone \$arg_k zone=z:1m rate=100r/40d;
             upstream held { server unix:$place->{sockets}/held; }",
    server => <<'END' . SlidewinStats::location());
    add_header X-Remaining $slidewin_remaining always;
    location = /held {
        slidewin zone=z charge=$upstream_http_x_cost reset=302;
        proxy_pass http://held;
    }
    location = /peek_z { slidewin zone=z cost=0; empty_gif; }
END

for my $how ('reset=', 'DELETE') {
    my $key = SlidewinCount::fresh();
    my $before = SlidewinStats::zone($nginx, 'z')->{charges};
    my @clients = map { $nginx->client } 1 .. 3;

    $_->request("/held?k=$key") for @clients;
    is($place->held->has(3), 3, "$how: three requests are held");

    # the first charge is on its way, the second waits for it
    $place->held->tell(10);
    is($_->answer->{status}, 200, '... one ends') for shift @clients;
    $place->held->tell(500);
    is($_->answer->{status}, 200, '... and another') for shift @clients;

    if ($how eq 'reset=') {
        $place->held->answer(302);
        is($clients[0]->answer->{status}, 302, '... one clears the client');

    } else {
        is(SlidewinStats::forget($nginx, 'z', $key), 204,
           '... an operator clears it');
        $place->held->tell(0);
        is($clients[0]->answer->{status}, 200, '... the last one ends');
    }

    SlidewinCount::becomes($nginx, 'z', $key, 100, '... which has its limit');

    # each of these waits for what was sent before
    is(SlidewinCount::left($nginx, 'z', $key), 100, '... and keeps it')
        for 1 .. 2;
    is($place->redis->command('EXISTS', "sw:{$key}:z"), 0,
       '... Redis has nothing of it');

    my $after = SlidewinStats::zone($nginx, 'z')->{charges};
    is($after->{estimated} - $before->{estimated}, 0,
       '... no charge is told as estimated');
}

$nginx->stop;
done_testing();
