# A request that was in progress when its client was cleared refunds nothing:
# units counted after that stay, whatever its status. Only a log knows the time
# of each unit; the other algorithms may refund units that were taken since.

use strict;
use warnings;

use SlidewinCount;
use Test::More;

my @zones = qw(log);

my $server = join '', map { <<"END" } @zones;
    location = /login_$_ {
        slidewin zone=$_ count=401 reset=302;
        proxy_pass http://origin/\$arg_s;
    }
    location = /held_$_ {
        slidewin zone=$_ count=401 reset=302; proxy_pass http://held;
    }
END

for my $place (SlidewinCount::stores()) {
    my $nginx = $place->edge(server => $server);

    for my $zone (@zones) {
        my $key = SlidewinCount::fresh();
        my @clients = map { $nginx->client } 1 .. 3;

        $_->request("/held_$zone?k=$key") for @clients;
        is($place->held->has(3), 3,
           $place->name . ", $zone: three are under way");
        is($nginx->get("/login_$zone?k=$key&s=302")->{status}, 302,
           '... all is forgiven');
        is(SlidewinCount::left($nginx, $zone, $key), 5, '... theirs as well');

        # not within the same millisecond
        SlidewinNginx::nap(0.01);
        is(join(' ', $nginx->status("/login_$zone?k=$key&s=401", 2)),
           '401 401', '... two bad ones');
        $place->held->answer(200);
        is(SlidewinCount::statuses(map { $_->answer } @clients),
           '200 200 200', '... the first three end');
        is(SlidewinCount::left($nginx, $zone, $key), 3,
           '... and two are counted');
    }

    $nginx->stop(name => $place->name);
}

done_testing();
