# A full zone drops clients that have expired, however recently they were used,
# before it drops one that still counts. A log that grows evicts no client whose
# memory it cannot use.

use strict;
use warnings;

use SlidewinNginx;
use SlidewinPreload;
use Test::More;

my @algorithms = qw(counter fixed strict log);
my $clock = SlidewinPreload->monotonic;
my $env = $clock->env;
my $full = qr/zone "\w+" is full/;

my $nginx = SlidewinNginx->start(
    env => $env,
    # nginx passes only these environment variables to its workers
    main => join('', map { "env $_;" } sort keys %$env),
    http => 'map $arg_r $rate { default 5r/40d; short 100r/s; }
             slidewin_zone $arg_k zone=grow:64k rate=100r/40d algorithm=log;
             slidewin_zone $arg_k zone=order:64k rate=5r/h algorithm=log;'
            . join('', map {
                "slidewin_zone \$arg_k zone=login_$_:64k rate=5r/40d
                               algorithm=$_;
                 slidewin_zone \$arg_k zone=rate_$_:64k rate=\$rate
                               algorithm=$_;"
            } @algorithms),
    server => 'location = /grow { slidewin zone=grow; empty_gif; }
               location = /order { slidewin zone=order; empty_gif; }
               location = /order_peek { slidewin zone=order cost=0;
                                        empty_gif; }
               location = /grow_peek { slidewin zone=grow cost=0;
                                       empty_gif; }'
              . join('', map {
                  "location = /login_$_ { slidewin zone=login_$_ count=404;
                                          empty_gif; }
                   location = /bad_$_ { slidewin zone=login_$_ count=404;
                                        root nowhere; }
                   location = /rate_$_ { slidewin zone=rate_$_; empty_gif; }"
              } @algorithms),
);

my $client = $nginx->client;

my $gone = 0;

# a connection from before may have been kept for too long
sub later {
    my ($seconds) = @_;

    $clock->set($gone += $seconds);
    $client = $nginx->client;

    return;
}

sub tally { return SlidewinNginx::tally(@_) }

# how many of the keys have units counted
sub known {
    my ($uri, $limit, @keys) = @_;

    return scalar grep {
        $client->get("$uri?k=$_")->{header}{'x-remaining'} < $limit
    } @keys;
}

for my $algorithm (@algorithms) {
    is(tally($client->statuses(("/bad_$algorithm?k=bad") x 6)),
       '404 x5, 429 x1', "$algorithm: a client is at its limit");
    is(tally($client->statuses(map { "/login_$algorithm?k=good$_" }
                               1 .. 900)),
       '200 x900', '... and 900 others come, whose units are given back');
    is($client->get("/bad_$algorithm?k=bad")->{status}, 429,
       '... it is still refused');
}

for my $algorithm (@algorithms) {
    is(tally($client->statuses(("/rate_$algorithm?k=long") x 6)),
       '200 x5, 429 x1', "$algorithm: a client is at its limit");

    for my $round (1 .. 3) {
        is(tally($client->statuses(map {
               "/rate_$algorithm?r=short&k=$round-$_"
           } 1 .. 180)),
           '200 x180', '... others have a short window');
        later(10);
    }

    is($client->get("/rate_$algorithm?k=long")->{status}, 429,
       '... it is still refused when those have ended');
}

is(scalar($nginx->errors($full)), 0, 'no zone had to forget a client');


# The first clients count until the hour is over, the later ones for a minute
# more. The first were rejected again in between, and so were used last.

my @first = map { "first$_" } 1 .. 50;
my @second = map { "second$_" } 1 .. 50;

$client->statuses(map { ("/order?k=$_") x 5 } @first);
later(60);
$client->statuses(map { ("/order?k=$_") x 5 } @second);
later(58 * 60);
is(tally($client->statuses(map { "/order?k=$_" } @first)), '429 x50',
   '50 clients are refused just before their hour ends');
later(90);

is(tally($client->statuses(map { "/order?k=new$_" } 1 .. 150)), '200 x150',
   '... and make room after it');
is(known('/order_peek', 5, @second), 50,
   '... for 150 others, not those that came after them');
is(scalar($nginx->errors($full)), 0, '... which the zone has not forgotten');


# a log that grows larger than any other client

my @others = map { "other$_" } 1 .. 400;

$client->statuses(map { "/grow?k=$_" } @others);

my $before = known('/grow_peek', 100, @others);
cmp_ok($before, '>', 100, "a zone is full of $before clients");

my $count = 0;

for (1 .. 130) {
    $count++ if $client->get('/grow?k=grows')->{status} == 200;
    # each at a time of its own, so that it is an entry of its own
    SlidewinNginx::nap(0.0015);
}

my $after = known('/grow_peek', 100, @others);

is($count, 100, 'one of them grows to its limit');
cmp_ok($before - $after, '<=', 3,
       "... and pushes out few others: @{[$before - $after]}");
is($client->get('/grow?k=grows')->{status}, 429, '... and is refused');

$client->close;
$nginx->stop;

done_testing();
