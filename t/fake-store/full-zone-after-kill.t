# A worker was killed while it held the lock of a zone, so that the zone's
# clients are no longer in the order in which they were counted. Expired clients
# are still dropped first.

use strict;
use warnings;

use SlidewinNginx;
use SlidewinPreload;
use Test::More;

my %many = (counter => 100, fixed => 100, strict => 50, log => 50);
my @algorithms = sort keys %many;
my $killed = qr/\[alert\].* (?:exited on signal 9|zone "\w+" was locked by)/;
my $clock = SlidewinPreload->monotonic;
my $env = $clock->env;

my $nginx = SlidewinNginx->start(
    env => $env,
    # nginx passes only these environment variables to its workers
    main => join('', map { "env $_;" } sort keys %$env),
    workers => 2,
    http => join('', map {
        "slidewin_zone \$arg_k zone=$_:64k rate=5r/h algorithm=$_;"
    } @algorithms),
    server => join('', map {
        "location = /$_ { slidewin zone=$_; empty_gif; }
         location = /peek_$_ { slidewin zone=$_ cost=0; empty_gif; }
         location = /die_$_ { slidewin_test_die $_ queue; }"
    } @algorithms),
);

my $gone = 0;

sub later {
    my ($seconds) = @_;

    $clock->set($gone += $seconds);

    return;
}

sub ask {
    my ($uri, @keys) = @_;

    return SlidewinNginx::tally($nginx->client->statuses(map {
        "/$uri?k=$_"
    } @keys));
}

sub known {
    my ($zone, @keys) = @_;
    my $client = $nginx->client;

    return scalar grep {
        $client->get("/peek_$zone?k=$_")->{header}{'x-remaining'} < 5
    } @keys;
}

sub keys_of {
    my ($name, $n) = @_;

    return map { "$name$_" } 1 .. $n;
}

for my $algorithm (@algorithms) {
    my $n = $many{$algorithm};
    my @stay = keys_of('stay', $n);

    # just after a window has begun
    later(3605 - (time + $gone) % 3600);

    is(ask($algorithm, keys_of('first', 2 * $n)), "200 x@{[2 * $n]}",
       "$algorithm: @{[2 * $n]} clients count");
    later(3600);
    is(ask($algorithm, @stay), "200 x$n", "... $n an hour later");

    is($nginx->get("/die_$algorithm")->{status}, 0, '... a worker is killed');

    later($algorithm eq 'counter' ? 3600 : 300);
    is(ask($algorithm, keys_of('new', 2 * $n)), "200 x@{[2 * $n]}",
       '... when the first count nothing any more others come');
    is(known($algorithm, @stay), $n, '... and forget none that counts');
}

is(scalar($nginx->errors(qr/has been repaired/)), 4, 'all zones are repaired');
is(scalar($nginx->errors(qr/zone "\w+" is full/)), 0,
   '... and none had to forget a client');

$nginx->stop(allow => $killed);

done_testing();
