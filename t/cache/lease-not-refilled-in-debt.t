# A charge that is above what a lease has is a debt in Redis: units that are put
# back meanwhile pass no request.

use strict;
use warnings;

use SlidewinCount;
use SlidewinNginx;
use Test::More;

my $place = SlidewinCount->new('redis');
my $nginx = SlidewinNginx->start(
    http => "slidewin_redis @{[$place->redis->url]} timeout=20s
                            connect_timeout=20s;
             slidewin_log_level info;
             slidewin_zone \$arg_k zone=z:1m rate=400r/40d algorithm=log
                           lease=50%;
             upstream held { server unix:$place->{sockets}/held; }",
    server => <<'END');
    add_header X-Source $slidewin_source always;
    location = /status { stub_status; }
    location = /held {
        slidewin zone=z cost=5 charge=$upstream_http_x_cost;
        proxy_pass http://held;
    }
    location = /one { slidewin zone=z; empty_gif; }
END

my ($leased, @clients) = (0);

# a lease is for a second: again, until one of those has units of it
for (1 .. 20) {
    my $key = SlidewinCount::fresh();

    $nginx->status("/one?k=$key", 30);
    @clients = map { $nginx->client } 1 .. 4;
    $_->request("/held?k=$key") for @clients;
    is($place->held->has(4), 4, 'four requests are held');

    # the last is charged more than there is, then the others give theirs back
    push @{$place->held->{requests}}, shift @{$place->held->{requests}}
        for 1 .. 3;
    $place->held->tell(700);
    SlidewinNginx::until_true(sub {
        $nginx->get("/one?k=$key")->{status} == 429;
    }, 10 * SlidewinNginx::patience());
    is($nginx->get("/one?k=$key")->{status}, 429, '... one leaves a debt');
    $place->held->tell(0, 0, 0);
    $leased = grep { $_ eq 'lease' }
              (map { $_->answer->{header}{'x-source'} } @clients)[0 .. 2];
    is(SlidewinNginx::tally($nginx->status("/one?k=$key", 40)), '429 x40',
       '... units that are put back pass no request');
    last if $leased;
}

isnt($leased, 0, 'there were units of a lease among them');
SlidewinCount::idle($nginx, 'all have ended');
$nginx->stop;
done_testing();
