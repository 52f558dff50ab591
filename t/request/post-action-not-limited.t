# A post_action is no request of the client: the limits of its location neither
# charge nor reject nor refund it.

use strict;
use warnings;

use SlidewinApp;
use SlidewinNginx;
use SlidewinRedis;
use Test::More;

my $redis = SlidewinRedis->start;
my $app = SlidewinApp->start(sub { 200, 'content' });
my $up = 'http://' . $app->address;

for my $store (qw(local redis)) {
    my $nginx = SlidewinNginx->start(http => <<"END", server => <<"END");
        slidewin_redis @{[$redis->url]} name=redis timeout=20s
                       connect_timeout=20s;
        slidewin_log_level info;
        slidewin_zone \$http_k zone=main:1m rate=5r/h algorithm=log
                      store=$store on_error=closed;
        slidewin_zone \$http_k zone=after:1m rate=1r/h algorithm=log
                      store=$store on_error=closed;
END
        location = /use { slidewin zone=after; empty_gif; }
        location = /left { slidewin zone=after cost=0; empty_gif; }
        location = /status { stub_status; }
        location = /main {
            slidewin zone=main;
            post_action /after;
            proxy_pass $up;
        }
        location = /named {
            slidewin zone=main;
            post_action \@after;
            proxy_pass $up;
        }
        location = /count {
            slidewin zone=main count=200;
            post_action /after;
            proxy_pass $up;
        }
        location = /greater {
            slidewin zone=main;
            post_action /three;
            proxy_pass $up;
        }
        location = /free-of-limits { post_action /after; proxy_pass $up; }
        location = /after { slidewin zone=after; proxy_pass $up/after; }
        location \@after {
            slidewin zone=after;
            rewrite ^ /after break;
            proxy_pass $up;
        }
        location = /three { slidewin zone=main cost=3; proxy_pass $up/after; }
END

    my $client = $nginx->client;

    for my $case (qw(main named count greater)) {
        for my $used (0, 1) {
            my %fields = (K => "$store-$case-$used");
            my $before = after();

            $client->get('/use', %fields) if $used;

            is(SlidewinNginx::tally(map {
                   $client = $nginx->client if !$client->{socket};
                   $client->get("/$case", %fields)->{status}
               } 1 .. 12), '200 x5, 429 x7',
               "$store, $case: five pass" . ($used ? ', the post_action\'s '
                                             . 'limit is used up' : ''));
            ok($nginx->busy(0), '... all is done');
            $client = $nginx->client;
            cmp_ok(after() - $before, '>=', 5, '... each was followed');
            is($client->get('/left', %fields)->{header}{'x-remaining'},
               $used ? 0 : 1, '... which was not counted');
        }
    }

    is(SlidewinNginx::tally(map {
           $client = $nginx->client if !$client->{socket};
           $client->get('/free-of-limits', K => "$store-free")->{status}
       } 1 .. 3), '200 x3', "$store: one that is not limited itself");
    ok($nginx->busy(0), '... all is done');
    $client = $nginx->client;
    is($client->get('/left', K => "$store-free")->{header}{'x-remaining'}, 1,
       '... is not counted by what follows it');

    $client->close;
    $nginx->stop(name => $store);
}

sub after { return scalar grep { m{/after} } $app->seen }

done_testing();
