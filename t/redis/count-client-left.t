# A client that leaves while its check is pending ends with 499, and is counted
# by count= only if that is listed, though Redis counts it a moment later. A
# client that leaves before its check is sent is not counted.

use strict;
use warnings;

use SlidewinCount;
use Test::More;

my $limit = $SlidewinCount::LIMIT;
my $place = SlidewinCount->new('redis');
my $redis = $place->redis;

my @zones = qw(counter log);

my $edge = $place->edge(server => join '', map { <<"END" }
    location = /login_$_ {
        slidewin zone=$_ count=401; proxy_pass http://origin/200;
    }
    location = /listed_$_ {
        slidewin zone=$_ count=401,499; proxy_pass http://origin/200;
    }
END
    @zones);

for my $zone (@zones) {
    for my $case ([login => $limit], [listed => $limit - 1]) {
        my ($where, $want) = @$case;
        my $key = SlidewinCount::fresh();
        my @clients = map { $edge->client } 1 .. 3;

        is(SlidewinCount::left($edge, $zone, $key), $limit,
           "$zone: nothing is counted");
        $redis->signal('STOP');
        $_->request("/${where}_$zone?k=$key") for @clients;
        ok($edge->busy(3), '... one waits for Redis, two for it');
        $_->close for @clients;
        SlidewinCount::idle($edge, '... and leave');
        $redis->signal('CONT');

        # their checks are answered before this one, the refunds may not be
        SlidewinCount::left($edge, $zone, $key);
        SlidewinCount::becomes($edge, $zone, $key, $want,
                               $where eq 'login' ? '... and cost nothing'
                                                 : '... 499 is listed, for the one');
    }
}

$edge->stop;

done_testing();
