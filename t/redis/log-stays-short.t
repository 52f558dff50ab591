# A log in Redis has as many entries as it has units, about: those of requests
# whose units went back in whole are dropped, one by one, of many requests at
# once, and from a long log.

use strict;
use warnings;

use SlidewinCount;
use SlidewinNginx;
use Test::More;

my $place = SlidewinCount->new('redis');
my $redis = $place->redis;
my $nginx = SlidewinNginx->start(
    workers => 2,
    http => "slidewin_redis @{[$redis->url]} timeout=20s connect_timeout=20s;
             slidewin_log_level info;
             slidewin_zone \$arg_k zone=z:1m rate=1000r/40d algorithm=log;",
    server => <<'END');
    add_header X-Remaining $slidewin_remaining always;
    location = /status { stub_status; }
    location = /z { slidewin zone=z cost=2 charge=$arg_c; empty_gif; }
    location = /not { slidewin zone=z cost=2 count=404; empty_gif; }
    location = /peek_z { slidewin zone=z cost=0; empty_gif; }
END

sub entries {
    my ($key) = @_;

    return ($redis->command('STRLEN', "sw:{$key}:z") - 17) / 12;
}

my $client = $nginx->client;

for my $live (1, 50, 300) {
    my $key = SlidewinCount::fresh();
    my $name = "$live live entries";

    $client->statuses(("/z?k=$key&c=1") x $live);
    SlidewinCount::becomes($nginx, 'z', $key, 1000 - $live, "$name: are counted");
    my $before = entries($key);

    for my $uri ("/z?k=$key&c=0", "/not?k=$key") {
        is(SlidewinNginx::tally($client->statuses(($uri) x 1000)), '200 x1000',
           "... $uri: a thousand requests that cost nothing");
        SlidewinCount::becomes($nginx, 'z', $key, 1000 - $live, '... are not counted');
        cmp_ok(entries($key), '<=', 2 * $before + 83,
               '... and leave ' . entries($key) . " entries of $before");
    }

    my @clients = $nginx->clients(16);
    $nginx->together(sub { $_[0]->statuses(("/z?k=$key&c=0") x 200) }, @clients);
    $_->close for @clients;
    SlidewinCount::becomes($nginx, 'z', $key, 1000 - $live,
                           '... nor are those of 16 clients at once');
    cmp_ok(entries($key), '<=', 2 * $before + 83 + 16 * 2,
           '... which leave ' . entries($key) . " entries of $before");
}

# the log goes on as one that had no such requests

my ($one, $two) = map { SlidewinCount::fresh() } 1, 2;
for my $i (1 .. 20) {
    $client->statuses(("/z?k=$one&c=0") x 3, "/z?k=$one&c=3", "/z?k=$one&c=0");
    $client->statuses("/z?k=$two&c=3");
}
SlidewinCount::becomes($nginx, 'z', $_, 940, '60 units are counted') for $one, $two;
is($client->get("/z?k=$one&c=940")->{status}, 200, '... a charge takes the rest');
SlidewinCount::becomes($nginx, 'z', $one, 0, '... of them');
is($client->get("/z?k=$one&c=0")->{status}, 429, '... then none passes');

$client->close;
$nginx->stop;
done_testing();
