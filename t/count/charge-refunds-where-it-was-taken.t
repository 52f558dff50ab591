# A policy in the target of an X-Accel-Redirect rejects. The look for the longest
# wait, at the policy of the first pass, does not change where and when that has
# counted: what is settled goes back there, not to other requests.

use strict;
use warnings;

use SlidewinCount;
use SlidewinNginx;
use SlidewinStats;
use Test::More;
use Time::HiRes ();

my $window = 2 * SlidewinNginx::patience();

for my $place (SlidewinCount::stores()) {
    my $name = $place->name;
    my $store = $place->redis ? '' : 'store=local';
    my @algorithms = @SlidewinCount::ALGORITHMS;

    my $nginx = $place->edge(
        rate => '15r/40d',
        http => "slidewin_zone \$arg_k zone=full:1m rate=1r/40d $store;"
            . join('', map { <<"END" } @algorithms),
    slidewin_zone \$arg_k zone=soon_$_:1m rate=15r/${window}s algorithm=$_ $store;
END
        server => SlidewinStats::location() . join('', map { <<"END" } @algorithms)
    location = /plain_soon_$_ { slidewin zone=soon_$_ cost=10; empty_gif; }
    location = /peek_soon_$_ { slidewin zone=soon_$_ cost=0; empty_gif; }
END
            . join('', map { <<"END" } @algorithms, map { "soon_$_" } @algorithms) . <<'END');
    location = /$_ {
        slidewin zone=$_ cost=10 charge=\$upstream_http_x_cost;
        proxy_pass http://held;
    }
END
    location = /closed { internal; slidewin zone=full; empty_gif; }
    location = /fill { slidewin zone=full; empty_gif; }
END

    my $held = sub {
        my ($uri, $key) = @_;
        my $client = $nginx->client;

        $nginx->get("/fill?k=$key");
        $client->request("$uri?k=$key");
        is($place->held->has(1), 1, "$name, $uri: the upstream has it");

        return $client;
    };
    my $redirected = sub {
        my ($client, $key, $cost) = @_;

        $place->held->_send(200, "X-Cost: $cost\r\n"
                                 . "X-Accel-Redirect: /closed?k=$key\r\n");
        is($client->answer->{status}, 429, '... another policy rejects it then');
        $client->close;
    };

    for my $zone (@algorithms) {
        for my $cost (0, 2, 10, 12, 40) {
            my $key = SlidewinCount::fresh();
            my $client = $held->("/$zone", $key);

            # another time than that of the take
            SlidewinNginx::nap(0.02);
            $redirected->($client, $key, $cost);
            SlidewinCount::idle($nginx, '... it has ended');
            SlidewinCount::becomes($nginx, $zone, $key, $cost > 15 ? 0 : 15 - $cost,
                                   "... its cost of $cost is counted");
        }
        is(join(' ', @{SlidewinStats::zone($nginx, $zone)->{charges}}
                     {qw(settled estimated)}), '5 0', "$name, $zone: all are settled");
    }

    # the units have left the window, and others have come

    my %client;

    for my $i (0 .. $#algorithms) {
        my $key = "soon_$algorithms[$i]";

        $nginx->get("/fill?k=$key");
        $client{$key} = $nginx->client;
        $client{$key}->request("/$key?k=$key");
        is($place->held->has($i + 1), $i + 1, "$name, $key: the upstream has it");
    }

    # from the beginning of a window on there is time
    my $time = Time::HiRes::time();
    SlidewinNginx::nap(3 * $window - ($time - $window * int $time / $window) + 0.02);

    for my $key (sort keys %client) {
        is($nginx->get("/plain_$key?k=$key")->{status}, 200,
           "$name, $key: ten units of another request");
    }
    for my $i (0 .. $#algorithms) {
        my $key = "soon_$algorithms[$i]";

        $redirected->($client{$key}, $key, 2);
    }
    SlidewinCount::idle($nginx, "$name: all have ended");
    SlidewinNginx::nap(0.1);
    for my $key (sort keys %client) {
        is(SlidewinCount::left($nginx, $key, $key), 5, "$name, $key: they stay counted");
    }

    $nginx->stop;
}

done_testing();
