# ban= beside delay=. A location without delay= begins a ban at once, whatever
# others have, and no request of another machine slips through. With delay= the
# store decides in the same step whether the request may wait long enough. A
# client that fills its queue is banned.

use strict;
use warnings;

use SlidewinBan;
use SlidewinFake;
use SlidewinNginx;
use SlidewinRedis;
use SlidewinStats;
use Test::More;

my $patience = SlidewinNginx::patience();
my @algorithms = @SlidewinBan::ALGORITHMS;

sub told { return SlidewinBan::told(@_) }

# Edge A hears of Redis' answer late. Before it does the ban holds for edge B.

{
    my $redis = SlidewinRedis->start;
    my $way = SlidewinFake->start(relay => $redis->path, delay => sub { 0.5 });
    my @edges = map {
        SlidewinBan::edge(
            url => $_->url,
            http => 'slidewin_log_level notice;' . join('', map { <<"ZONE" }
                slidewin_zone \$arg_k zone=$_:1m rate=1r/40d algorithm=$_
                              ban=1h;
ZONE
                @algorithms),
            server => SlidewinStats::location() . join '', map { <<"SERVER" }
                location = /$_ { slidewin zone=$_; empty_gif; }
                location = /waits_$_ { slidewin zone=$_ delay=1s; empty_gif; }
                location = /looks_$_ { slidewin zone=$_ cost=0; empty_gif; }
SERVER
                @algorithms)
    } $way, $redis;
    my ($a, $b) = map { $_->client } @edges;

    for my $algorithm (@algorithms) {
        for my $uri ("/$algorithm", "/waits_$algorithm") {
            my $key = SlidewinBan::fresh();

            is(told($b->get("$uri?k=$key")), '200 PASSED', "$uri: one passes");
            $a->request("$uri?k=$key");
            ok(SlidewinNginx::until_true(sub {
                $redis->command('EXISTS', "sw:{$key}:$algorithm:ban");
            }, 20 * $patience), '... another one begins a ban');
            is(told($b->get("/looks_$algorithm?k=$key")), '429 BANNED',
               '... the other edge knows');
            ok(!$a->answered, '... before the answer comes');
            is(told($a->answer), '429 REJECTED', '... which it is');
        }

        is(SlidewinStats::zone($edges[0], $algorithm)->{bans_total}, 2,
           "$algorithm: both are counted");
        is(scalar SlidewinBan::begun($edges[0], qr/zone "$algorithm"/), 2,
           '... and logged');
    }

    $_->close for $a, $b;
    $_->stop for @edges;
}

# A request waits if there would be room in time: the ban is not begun. One with
# a shorter delay= begins it, and those that wait are rejected.

for my $store (SlidewinBan::stores()) {
    my $name = $store->{name};
    my $nginx = SlidewinBan::edge(
        store => $store, connections => 64,
        http => 'slidewin_log_level notice;' . join('', map { <<"ZONE" }
            slidewin_zone \$arg_k zone=$_:1m rate=1r/30s algorithm=$_ ban=1h;
            slidewin_zone \$arg_k zone=soon_$_:1m rate=1r/1s algorithm=$_
                          ban=1h;
ZONE
            @algorithms),
        server => SlidewinStats::location() . join '', map { <<"SERVER" }
            location = /long_$_ { slidewin zone=$_ delay=1h; empty_gif; }
            location = /short_$_ { slidewin zone=$_ delay=1ms; empty_gif; }
            location = /soon_$_ { slidewin zone=soon_$_ delay=20s; empty_gif; }
SERVER
            @algorithms);

    for my $algorithm (@algorithms) {
        my $client = $nginx->client;
        my $bans = sub { SlidewinStats::zone($nginx, $algorithm)->{bans_total} };

        is(SlidewinBan::tally(map { $client->get("/soon_$algorithm?k=a") } 1 .. 3)
           =~ s/ x\d//gr, '200 DELAYED, 200 PASSED',
           "$name, $algorithm: requests that may wait do");
        is(SlidewinStats::zone($nginx, "soon_$algorithm")->{bans_total}, 0,
           '... and begin no ban');

        # the window may end between the first ones
        my $first = SlidewinBan::ask($client, "/short_$algorithm?k=a");
        is(told($first), '200 PASSED', "$name, $algorithm: one passes");
        my $waits = $nginx->client;
        $waits->request("/long_$algorithm?k=a");
        ok($nginx->busy(1), '... one waits');
        is($bans->(), 0, '... and begins no ban');
        is(told(SlidewinBan::until_rejected($client,
                                            "/short_$algorithm?k=a")),
           '429 REJECTED', '... one that may not wait so long');
        is($bans->(), 1, '... begins one');
        is(told($waits->answer), '429 BANNED', '... and ends the wait');
        $_->close for $client, $waits;

        # a quarter of a quarter of the connections may wait

        my ($one, @clients) = $nginx->clients(12);

        $one->get("/long_$algorithm?k=full");
        $_->request("/long_$algorithm?k=full") for @clients;
        is(SlidewinBan::tally(map { $_->answer } @clients)
           =~ s/ x\d+//gr, '429 BANNED, 429 REJECTED',
           "$name, $algorithm: a client that fills its queue");
        is($bans->(), 2, '... is banned once');
        $_->close for $one, @clients;
    }

    $nginx->stop(name => $name);
}

done_testing();
