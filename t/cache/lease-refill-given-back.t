# A lease that is given up while the store is asked for more of it: after a
# charge that it could not pay, and after a ban. What comes then goes back to
# the store; after a reset, which has erased it, it does not.

use strict;
use warnings;

use SlidewinCount;
use SlidewinFake;
use SlidewinNginx;
use Test::More;

my $place = SlidewinCount->new('redis');
my $far = SlidewinFake->start(relay => $place->redis->path,
                              delay => sub { 0.15 * SlidewinNginx::patience() });
my $nginx = SlidewinNginx->start(
    http => "slidewin_redis @{[$far->url]} timeout=20s connect_timeout=20s;
             slidewin_log_level info;
             slidewin_zone \$arg_k zone=z:1m rate=100000r/40d algorithm=log
                           lease=50%;
             upstream held { server unix:$place->{sockets}/held; }",
    server => <<'END');
    add_header X-Source $slidewin_source always;
    add_header X-Remaining $slidewin_remaining always;
    location = /status { stub_status; }
    location = /held {
        slidewin zone=z cost=10 charge=$upstream_http_x_cost reset=302;
        proxy_pass http://held;
    }
    location = /ten { slidewin zone=z cost=10; empty_gif; }
    location = /peek_z { slidewin zone=z cost=0; empty_gif; }
END

# Makes requests until one asks the store, which takes time; returns how many.
# The lease has grown before: each time that it is used up it is doubled.
sub until_asked {
    my ($client, $key, $times) = @_;
    my ($n, $asked) = (0, 0);

    for (1 .. 5000) {
        $client->request("/ten?k=$key");
        $n++;
        SlidewinNginx::nap(0.01);
        # an answer without Redis does not take so long
        SlidewinNginx::nap(0.03) if !$client->answered;
        return $n if !$client->answered && ++$asked == $times;
        $client->answer;
    }

    die "Redis is never asked\n";
}

# several tries: a lease may end by its time meanwhile
for my $case ([10, 200], [11, 200], [500, 200], [10, 302]) {
    my ($cost, $status) = @$case;
    my $name = $status == 302 ? 'a reset' : "a charge of $cost for 10";
    my $key = SlidewinCount::fresh();
    my $held = $nginx->client;
    my $client = $nginx->client;

    $held->request("/held?k=$key");
    is($place->held->has(1), 1, "$name: a request is held");

    my $n = until_asked($client, $key, 6);

    $place->held->_send($status, "X-Cost: $cost\r\n");
    is($held->answer->{status}, $status, '... it ends while the store is asked');
    is($client->answer->{status}, 200, '... which admits another one');

    # what is left of the lease goes back when that ends
    SlidewinCount::becomes($nginx, 'z', $key,
                           $status == 302 ? 100_000 : 100_000 - 10 * $n - $cost,
                           "... what was used is counted, of $n others");
    $_->close for $held, $client;
}

$nginx->stop;
done_testing();
