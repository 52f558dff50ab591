# After a reload that changes the algorithm, what old workers still charge leaves
# the counts of the new algorithm as they are: the estimate stands. Otherwise
# each charge would count all units anew.

use strict;
use warnings;

use SlidewinCount;
use SlidewinNginx;
use SlidewinStats;
use Test::More;

my $patience = SlidewinNginx::patience();

sub zone {
    my ($place, $rule) = @_;
    my $store = $place->redis ? '' : ' store=local';

    return "slidewin_zone \$arg_k zone=z:1m rate=100r/40d $rule$store;";
}

sub http {
    my ($place, $rule) = @_;
    my $redis = $place->redis;

    return ($redis ? "slidewin_redis @{[$redis->url]} timeout=20s
                                     connect_timeout=20s;" : '')
           . zone($place, $rule) . "
           slidewin_log_level info;
           upstream held { server unix:$place->{sockets}/held; }";
}

my $server = <<'END' . SlidewinStats::location();
    add_header X-Remaining $slidewin_remaining always;
    location = /held {
        slidewin zone=z cost=10 charge=$upstream_http_x_cost;
        proxy_pass http://held;
    }
    location = /peek_z { slidewin zone=z cost=0; empty_gif; }
END

sub charges {
    my $charges = SlidewinStats::zone($_[0], 'z')->{charges};

    return "$charges->{settled} settled, $charges->{estimated} estimated";
}

for my $place (SlidewinCount::stores()) {
    my $name = $place->name;

    for my $case (['strict', 'log', 0], ['counter', 'fixed', 0],
                  ['log', 'counter', 0], ['strict', 'strict slices=8', 0],
                  ['fixed', 'strict', 0], ['log', 'log', 1],
                  ['strict', 'strict top=off', 1])
    {
        my ($old, $new, $settles) = @$case;
        my $nginx = SlidewinNginx->start(
            http => http($place, "algorithm=$old"), server => $server);
        my $key = SlidewinCount::fresh();
        my @clients = map { $nginx->client } 1 .. 3;

        for my $client (@clients) {
            $client->request("/held?k=$key");
        }
        is($place->held->has(3), 3, "$name, $old: three requests are held");
        is(SlidewinCount::left($nginx, 'z', $key), 70, '... 30 are reserved');

        $nginx->configure(http => http($place, "algorithm=$new"));
        $nginx->reload;
        is(SlidewinCount::left($nginx, 'z', $key), 70, "... $new counts them");

        # from now on the state is one of the new algorithm
        is($nginx->get("/peek_z?k=$key")->{status}, 200, '... as it looks');
        my $more = $nginx->client;
        $more->request("/held?k=$key");
        is($place->held->has(4), 4, '... and takes 10 more');

        $place->held->tell(11, 12, 13);
        is($_->answer->{status}, 200, '... one that was held is answered')
            for @clients;

        my $told = $settles ? '3 settled, 0 estimated'
                            : '0 settled, 3 estimated';
        is(SlidewinStats::becomes(sub { charges($nginx) }, $told), $told,
           "... $told");
        SlidewinCount::becomes($nginx, 'z', $key, $settles ? 54 : 60,
                               '... which is what is counted');

        $place->held->tell(11);
        is($more->answer->{status}, 200, '... one of the new worker');
        SlidewinCount::becomes($nginx, 'z', $key, $settles ? 53 : 59,
                               '... is settled');
        $nginx->stop(name => "$name, $old");
    }
}

done_testing();
