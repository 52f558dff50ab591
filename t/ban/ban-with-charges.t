# charge= and ban=: a debt alone begins no ban, the next request that it rejects
# begins the ban. A request that was under way then is settled all the same, and
# its settling neither begins, prolongs nor lifts a ban.

use strict;
use warnings;

use SlidewinBan;
use SlidewinCount;
use SlidewinStats;
use Test::More;

my $limit = 100;
my $charge = 'cost=$arg_e charge=$upstream_http_x_cost';

my $zones = join '', map { <<"END" } @SlidewinCount::ALGORITHMS;
    slidewin_zone \$arg_k zone=hour_$_:1m rate=${limit}r/40d algorithm=$_ ban=1h;
    slidewin_zone \$arg_k zone=short_$_:1m rate=${limit}r/40d algorithm=$_
                  ban=300ms;
END

my $server = SlidewinStats::location() . join '', map { <<"END" }
    location = /told_$_ { slidewin zone=$_ $charge; proxy_pass http://told; }
    location = /held_$_ { slidewin zone=$_ $charge; proxy_pass http://held; }
    location = /look_$_ { slidewin zone=$_ cost=0; empty_gif; }
END
    map { ("hour_$_", "short_$_") } @SlidewinCount::ALGORITHMS;

sub told { return SlidewinBan::told(@_) }

sub ask { return SlidewinBan::ask(@_) }

for my $place (SlidewinCount::stores()) {
    my $held = $place->held;
    my $nginx = $place->edge(http => $zones . $place->told,
                             server => $server);
    my $client = $nginx->client;

    $client->get("/look_$_?k=first") for map { "hour_$_" }
                                         @SlidewinCount::ALGORITHMS;

    for my $algorithm (@SlidewinCount::ALGORITHMS) {
        my $name = $place->name . ", $algorithm";
        my $zone = "hour_$algorithm";
        my $key = SlidewinCount::fresh();

        # two are under way: one costs more, the other less than its estimate
        my @clients = map { $nginx->client } 1 .. 2;

        for my $i (0, 1) {
            $clients[$i]->request("/held_$zone?k=$key&e=@{[5 + 15 * $i]}");
            is($held->has($i + 1), $i + 1, "$name: a request is under way");
        }

        is(told(ask($client, "/told_$zone?k=$key&e=10&c=200")), '200 PASSED',
           '... another has a debt');
        is(told(ask($client, "/look_$zone?k=$key")), '200 PASSED',
           '... which begins no ban');

        my $begin = ask($client, "/told_$zone?k=$key&e=1&c=1");

        is(told($begin), '429 REJECTED', '... the next begins a ban');
        is(told(ask($client, "/look_$zone?k=$key"),
                ask($client, "/told_$zone?k=$key&e=1&c=1")),
           '429 BANNED, 429 BANNED', '... which holds');
        is(int SlidewinStats::look($nginx, $zone, $key)->{estimate}, 225,
           '... while two are reserved');

        my $was = SlidewinStats::look($nginx, $zone, $key)->{banned};

        $held->tell(44, 2);
        is(told(map { $_->answer } @clients), '200 PASSED, 200 PASSED',
           '... those under way are answered');
        is(SlidewinStats::becomes(sub {
               int SlidewinStats::look($nginx, $zone, $key)->{estimate};
           }, 246), 246, '... and settled');
        is(told(ask($client, "/look_$zone?k=$key")), '429 BANNED',
           '... which lifts no ban');
        cmp_ok(SlidewinStats::look($nginx, $zone, $key)->{banned}, '<=', $was,
               '... nor makes it longer');

        my $stats = SlidewinStats::zone($nginx, $zone);

        is("$stats->{bans_total} ban, $stats->{charges}{settled} settled, "
           . "$stats->{charges}{estimated} estimated",
           '1 ban, 3 settled, 0 estimated', '... as the statistics tell');

        # a ban is over sooner than the debt, and the debt begins the next one

        $zone = "short_$algorithm";
        ask($client, "/told_$zone?k=$key&e=10&c=200");
        $begin = ask($client, "/told_$zone?k=$key&e=1&c=1");
        is(told($begin), '429 REJECTED', "$name: a short ban begins");
        cmp_ok(SlidewinBan::retry($begin), '>', 60,
               '... the debt is longer, and tells when to come again')
            if $algorithm eq 'log' || $algorithm eq 'strict';

        my $wait = { client => $client, uri => "/told_$zone?k=$key&e=1&c=1",
                     begin => $begin, seconds => 0.3, name => $name };

        SlidewinBan::until_over($wait);
        is(told($wait->{over}), '429 REJECTED', '... then the next');
        is(int SlidewinStats::look($nginx, $zone, $key)->{estimate}, 200,
           '... and no hit was counted');
    }

    $client->close;
    $nginx->stop(name => $place->name);
}

done_testing();
