# A request that passed while Redis did not say whether its client is banned lifts
# no ban with reset=: neither in the pass that met no answer, nor in a later one
# that had nothing to ask; nor one that leased units let pass.

use strict;
use warnings;

use SlidewinBan;
use SlidewinCount;
use SlidewinNginx;
use SlidewinStats;
use Test::More;

my $patience = SlidewinNginx::patience();
my $place = SlidewinCount->new('redis');
my $redis = $place->redis;

for my $on_error (qw(open local)) {
    my $nginx = SlidewinBan::edge(
        store => { redis => $redis },
        redis => 'timeout=' . 300 * $patience . 'ms connect_timeout=20s',
        http => "slidewin_log_level notice;
                 slidewin_zone \$arg_k zone=z:1m rate=1r/40d ban=1h
                               deny_cache=off on_error=$on_error;
                 upstream held { server unix:$place->{sockets}/held; }",
        server => SlidewinStats::location() . <<'END');
    location = /z { slidewin zone=z; empty_gif; }
    location = /looks { slidewin zone=z cost=0; empty_gif; }
    location = /twice {
        slidewin zone=z reset=200;
        root /var/empty;
        try_files /none @again;
    }
    location @again { slidewin zone=z reset=200; proxy_pass http://held; }
END
    my $client = $nginx->client;
    my $key = "of_$on_error";

    is(SlidewinBan::told(map { $client->get("/z?k=$key") } 1, 2),
       '200 PASSED, 429 REJECTED', "$on_error: a ban begins");

    my $guest = $nginx->client;

    SlidewinNginx::halt($redis->pid) or die "Redis does not stop\n";
    $guest->request("/twice?k=$key");
    is($place->held->has(1), 1, '... Redis does not answer, a request passes');
    kill 'CONT', $redis->pid;
    ok(SlidewinNginx::until_true(sub {
        SlidewinBan::status($client->get("/looks?k=$key")) eq 'BANNED';
    }, 20 * $patience), '... Redis is back: the client is banned');

    $place->held->answer(200);
    is($guest->answer->{status}, 200, '... the request ends with 200');
    ok($nginx->busy(0), '... has ended');
    SlidewinNginx::nap(0.3);
    is(SlidewinBan::told($client->get("/looks?k=$key")), '429 BANNED',
       '... and has lifted no ban');
    is(join(' ', map { $_->{key} }
            @{SlidewinStats::json($nginx, 'zones/z/bans')->{bans}}), $key,
       '... which is still listed');

    $_->close for $client, $guest;
    $nginx->stop(name => $on_error, allow => qr/slidewin redis|on_error/);
}

# an edge with a lease does not hear of a ban for a moment

my @edges = map {
    SlidewinBan::edge(
        store => { redis => $redis },
        http => 'slidewin_log_level notice;
                 slidewin_zone $arg_k zone=l:1m rate=1000r/40d lease=50% ban=1h;',
        server => SlidewinStats::location()
                  . 'location = /l { slidewin zone=l; empty_gif; }
                     location = /good { slidewin zone=l reset=200; empty_gif; }
                     location = /bait { slidewin zone=l cost=1001; empty_gif; }
                     location = /looks { slidewin zone=l cost=0; empty_gif; }')
} 1, 2;
my ($one, $two) = map { $_->client } @edges;
my ($tries, $leased) = (0, 0);

# until one passes by a lease that is there when the other edge begins the ban
while (!$leased && $tries++ < 50) {
    my $key = "lease$tries";

    $one->get("/l?k=$key") for 1 .. 16;
    $two->get("/bait?k=$key");
    my $good = $one->get("/good?k=$key");

    $leased = SlidewinBan::told($good) eq '200 PASSED'
              && $good->{header}{'x-source'} eq 'lease';
    next if !$leased;
    SlidewinNginx::nap(0.2);
    is(SlidewinBan::told($two->get("/looks?k=$key")), '429 BANNED',
       'leased units let one pass, which lifts no ban');
}

ok($leased, "one has passed by a lease, at try $tries");

$_->close for $one, $two;
$_->stop for @edges;

done_testing();
