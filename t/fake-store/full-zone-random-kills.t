# Clients with random windows are counted, refunded, cleared and looked at in
# random order, in zones that are always full; workers are killed at random
# steps. When the test build evicts a client that still counts, it tells whether
# another had expired.

use strict;
use warnings;

use List::Util ();
use SlidewinNginx;
use SlidewinPreload;
use Test::More;

my $seed = $ENV{SLIDEWIN_SEED} // 20261118;
my @algorithms = qw(counter fixed strict log);
my $killed = qr/\[alert\].* (?:exited on signal 9|zone "\w+" was locked by)/;
my $full = qr/zone "(\w+)" is full, (\d+) clients/;
my $clock = SlidewinPreload->monotonic;
my $env = $clock->env;

srand $seed;
diag("SLIDEWIN_SEED=$seed");

my $nginx = SlidewinNginx->start(
    env => $env,
    # nginx passes only these environment variables to its workers
    main => join('', map { "env $_;" } sort keys %$env),
    workers => 2,
    http => 'slidewin_log_level off;'
            . join('', map {
                "slidewin_zone \$arg_k zone=$_:32k rate=\$arg_r
                               algorithm=$_;"
            } @algorithms),
    server => join('', map {
        "location = /$_ { slidewin zone=$_ cost=\$arg_c; empty_gif; }
         location = /refund_$_ { slidewin zone=$_ cost=\$arg_c count=404;
                                 empty_gif; }
         location = /reset_$_ { slidewin zone=$_ reset=200; empty_gif; }"
    } @algorithms) . 'location = /steps { slidewin_test_steps; }',
);

sub one_of { return $_[rand @_] }

# many clients with a few windows, and some with any window
my @windows = map { 1 + int rand 900 } 1 .. 3;

sub request {
    my ($algorithm) = @_;
    my $window = rand() < 0.8 ? one_of(@windows) : 1 + int rand 900;
    my $uri = one_of(('') x 6, ('refund_') x 3, 'reset_') . $algorithm;

    return sprintf '/%s?k=%d&r=20r/%ds&c=%d', $uri, rand 400, $window, rand 3;
}

my $gone = 0;
my $odd = 0;

for (1 .. 60) {
    $clock->set($gone += int rand one_of(1, 10, 100, 1000));

    my $client = $nginx->client;
    my $dies = rand() < 0.5;

    $client->get('/steps?n=' . (1 + int rand 9000)) if $dies;

    for my $algorithm (List::Util::shuffle(@algorithms)) {
        my %count;

        $count{$_}++
            for $client->statuses(map { request($algorithm) } 1 .. 200);

        delete @count{200, 429, $dies ? 0 : ()};
        $odd += $_ for values %count;
    }

    # by a worker that is not killed
    $client->get('/steps?n=0');
}

is($odd, 0, 'all requests are decided, but for those of a dying worker');
cmp_ok(scalar($nginx->errors(qr/has been repaired/)), '>', 0,
       'zones are repaired');

my %forgotten = map { /$full/ ? ($1 => $2) : () } $nginx->errors($full);

cmp_ok($forgotten{$_} // 0, '>', 10, "$_: clients that count are forgotten")
    for @algorithms;

$nginx->stop(allow => $killed);

done_testing();
