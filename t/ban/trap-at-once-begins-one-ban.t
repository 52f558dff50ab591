# Requests at once that cost one more than the limit, in a policy that has
# delay= elsewhere: the calls that begin a ban are told apart from requests that
# cost as much, so that one ban begins and nobody passes.

use strict;
use warnings;

use File::Temp ();
use SlidewinBan;
use SlidewinFake;
use SlidewinNginx;
use SlidewinStats;
use Test::More;

my $clients = 20;
my $one_begins = '429 BANNED x' . ($clients - 1) . ', 429 REJECTED x1';
# while the file is there, replies of Redis are so late
my $late = 0.2;
my $flag = File::Temp::tempdir('slidewin.XXXXXX', TMPDIR => 1, CLEANUP => 1)
           . '/far';
my @zones = map { ($_, "off_$_") } @SlidewinBan::ALGORITHMS;

sub http {
    my ($cache) = @_;

    return "slidewin_log_level notice;\n"
           . join '', map { <<"ZONE" } @SlidewinBan::ALGORITHMS;
    slidewin_zone \$arg_k zone=$_:1m rate=1r/d algorithm=$_ ban=1h;
    slidewin_zone \$arg_k zone=off_$_:1m rate=1r/d algorithm=$_ ban=1h $cache;
ZONE
}

my $server = SlidewinStats::location() . join '', map { <<"LOCATION" } @zones;
    location = /$_ { slidewin zone=$_ cost=2; empty_gif; }
    location = /wait_$_ { slidewin zone=$_ delay=1s; empty_gif; }
    location = /any_$_ { slidewin zone=$_ cost=\$arg_c; empty_gif; }
LOCATION

for my $store (SlidewinBan::stores()) {
    my $name = $store->{name};
    # calls of the same moment are under way together
    my $way = $store->{redis}
              && SlidewinFake->start(relay => $store->{redis}->path,
                                     delay => sub { -e $flag ? $late : 0.02 });
    my $nginx = SlidewinBan::edge(store => $store, server => $server,
                                  http => http($way ? 'deny_cache=off' : ''),
                                  $way ? (url => $way->url) : ());
    my @clients = $nginx->clients($clients);
    my $far = sub {
        unlink $flag;
        if ($_[0]) {
            open my $file, '>', $flag or die "$flag: $!";
        }
    };

    $clients[0]->get("/any_$_?k=warm&c=0") for @zones;

    for my $zone (@zones) {
        my $begun = sub {
            return scalar grep { /zone "$zone"/ } SlidewinBan::begun($nginx);
        };
        my @answers = map { @$_ } $nginx->together(sub {
            my ($client) = @_;
            return [map { $client->get("/$zone?k=a") } 1 .. 5];
        }, @clients);

        is(SlidewinBan::tally(@answers),
           '429 BANNED x' . (@answers - 1) . ', 429 REJECTED x1',
           "$name, $zone: nobody passes, and one begins a ban");
        is($begun->(), 1, '... as one line tells');
        is(SlidewinStats::zone($nginx, $zone)->{bans_total}, 1,
           '... and one is counted');

        # in one turn of nginx, beside requests that cost less

        for my $uris (["/any_$zone?k=b&c=2", "/$zone?k=b"],
                      ["/any_$zone?k=c&c=1", "/$zone?k=c"])
        {
            my ($k) = $uris->[0] =~ /k=(\w)/;
            my $before = $begun->();

            is($clients[0]->get("/any_$zone?k=$k&c=1")->{status}, 200,
               "$name, $zone, $k: the limit is used up");
            @answers = $nginx->burst(\@clients, [map { [$_] } @$uris]);
            is(SlidewinBan::tally(@answers), $one_begins,
               '... of those at once one begins a ban');
            is($begun->() - $before, 1, '... as one line tells');
        }

        # calls that begin a ban, while those that cost more are under way

        my $before = $begun->();
        my @first = @clients[0 .. $clients / 2 - 1];
        my @second = @clients[$clients / 2 .. $#clients];

        is($clients[0]->get("/any_$zone?k=d&c=1")->{status}, 200,
           "$name, $zone, d: the limit is used up");
        $far->(1);

        for my $half ([\@first, "/any_$zone?k=d&c=1"],
                      [\@second, "/$zone?k=d"])
        {
            $_->request($half->[1]) for @{$half->[0]};
            SlidewinNginx::nap($late / 4) if $way;
        }

        @answers = map { $_->answer } @first, @second;
        $far->(0);
        is(SlidewinBan::tally(@answers), $one_begins,
           '... of those in turn one begins a ban');
        is($begun->() - $before, 1, '... as one line tells');

        is(SlidewinStats::zone($nginx, $zone)->{bans_total}, 4,
           "$name, $zone: each ban is counted");

        my $hit = SlidewinBan::ask($clients[0], "/any_$zone?k=b&c=0");

        is(SlidewinBan::told($hit), '429 BANNED',
           '... a request that costs nothing is banned');
        like(SlidewinBan::retry($hit), qr/^(?:3600|35\d\d)$/,
             '... for an hour');
    }

    $_->close for @clients;
    $nginx->stop(name => $name);
}

done_testing();
