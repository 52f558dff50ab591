# A zone lists 4096 bans. Those beyond hold as all others do, are looked at and
# lifted; the zone, its metrics and the list tell about how many they are.

use strict;
use warnings;

use SlidewinNginx;
use SlidewinRedis;
use SlidewinStats;
use Test::More;

my $listed = 4096;
my $clients = 5000;

my $redis = SlidewinRedis->start;
my @zones = qw(local redis);

my $nginx = SlidewinNginx->start(
    workers => 2,
    http => "slidewin_redis @{[$redis->url]} timeout=20s connect_timeout=20s;"
            . 'slidewin_log_level off;
               slidewin_zone $arg_k zone=local:2m rate=1r/40d ban=1h
                             store=local;
               slidewin_zone $arg_k zone=redis:2m rate=1r/40d ban=1h
                             on_error=closed;
               slidewin_zone $arg_k zone=none:1m rate=1r/40d ban=1h
                             store=local;',
    server => SlidewinStats::location()
              . join '', map { "location = /$_ { slidewin zone=$_;"
                               . " empty_gif; }\n" } @zones, 'none');

# told ZONE: what the list, the zone, the zones and the metrics say of how many
# are listed, and then how many are not
sub told {
    my ($zone) = @_;
    my $list = SlidewinStats::json($nginx, "zones/$zone/bans?max=1");
    my $one = SlidewinStats::zone($nginx, $zone);
    my $of_all = SlidewinStats::json($nginx, 'zones')->{$zone};
    my $metrics = SlidewinStats::metrics($nginx);

    return [$list->{active}, $one->{bans}, $of_all->{bans},
            $metrics->{qq(slidewin_bans_active{zone="$zone"})}],
           [$list->{overflow}, $one->{bans_overflow},
            $of_all->{bans_overflow},
            $metrics->{qq(slidewin_bans_overflow{zone="$zone"})}];
}

for my $zone (@zones) {
    my $client = $nginx->client;

    $client->get('/free');

    my @keys = map { "k$_" } 1 .. $clients;
    my @statuses = $client->statuses(map { ("/$zone?k=$_") x 2 }
                                     @keys[0 .. $listed - 1]);

    is(SlidewinNginx::tally(@statuses), "200 x$listed, 429 x$listed",
       "$zone: as many bans as the list has room for");
    is_deeply([told($zone)], [[($listed) x 4], [(0) x 4]],
              '... which are listed, and no more are there');

    $client->statuses(map { ("/$zone?k=$_") x 2 } @keys[$listed .. $#keys]);

    my ($active, $beyond) = told($zone);
    my $more = $clients - $listed;

    is_deeply($active, [($listed) x 4], "$zone, $clients bans: as many listed");
    is_deeply($beyond, [($beyond->[0]) x 4],
              '... and as many beyond, says each page');
    cmp_ok($beyond->[0], '>', 0.95 * $more, '... about as many as there are');
    cmp_ok($beyond->[0], '<', 1.05 * $more, '... and not many more');
    is(SlidewinStats::zone($nginx, $zone)->{bans_total}, $clients,
       '... all have been counted');

    my $list = SlidewinStats::json($nginx, "zones/$zone/bans");
    my %in = map { $_->{key} => 1 } @{$list->{bans}};

    is(scalar keys %in, $listed, '... the list has all that fit');
    ok(!$in{k1}, '... not the one that ends first');
    ok($in{"k$clients"}, '... but the one that ends last');

    # one that is not listed

    is($client->get("/$zone?k=k1")->{header}{'x-status'}, 'BANNED',
       "$zone: who is not listed is banned");
    cmp_ok(SlidewinStats::look($nginx, $zone, 'k1')->{banned}, '>', 3000,
           '... which a look tells');
    is(SlidewinStats::forget($nginx, $zone, 'k1'), 204, '... may be lifted');
    is(SlidewinStats::look($nginx, $zone, 'k1')->{banned}, 0, '... and is');
    is($client->get("/$zone?k=k1")->{status}, 200, '... and passes');

    # and one that is

    is(SlidewinStats::forget($nginx, $zone, "k$clients"), 204,
       "$zone: one of the list is lifted");
    ok(!(grep { $_->{key} eq "k$clients" }
         @{SlidewinStats::json($nginx, "zones/$zone/bans")->{bans}}),
       '... and left out');

    my $less = (told($zone))[1];
    cmp_ok($less->[0], '<=', $beyond->[0],
           'there are no more beyond the list than before');
    $nginx->reload;
    is_deeply((told($zone))[1], $less, '... a reload keeps the number');
    $client->close;
}

is_deeply([told('none')], [[(0) x 4], [(0) x 4]], 'another zone has none');

$nginx->stop;

done_testing();
