# A full zone finds every expired client, in whichever order the clients were
# counted: some were refunded what they used last, some have a shorter window
# than those before them, some are checked with a longer one.

use strict;
use warnings;

use SlidewinNginx;
use SlidewinPreload;
use Test::More;

my @algorithms = qw(counter fixed strict log);
my $clock = SlidewinPreload->monotonic;
my $env = $clock->env;

# enough to fill more than half of a zone
my %many = (counter => 300, fixed => 300, strict => 150, log => 150);

my $nginx = SlidewinNginx->start(
    env => $env,
    # nginx passes only these environment variables to its workers
    main => join('', map { "env $_;" } sort keys %$env),
    http => 'map $arg_r $rate { default 5r/540s; long 5r/780s; }
             map $arg_r $of { default 20r/10s; long 20r/h; }
             slidewin_zone $arg_k zone=size:64k rate=$of algorithm=log;
             slidewin_zone $arg_k zone=grow:64k rate=$of algorithm=log;'
            . join('', map {
                "slidewin_zone \$arg_k zone=back_$_:64k rate=5r/h
                               algorithm=$_;
                 slidewin_zone \$arg_k zone=rate_$_:64k rate=\$rate
                               algorithm=$_;"
            } @algorithms),
    server => join('', map {
        "location = /$_ { slidewin zone=$_ count=404; root nowhere; }
         location = /refund_$_ { slidewin zone=$_ count=404; empty_gif; }
         location = /peek_$_ { slidewin zone=$_ cost=0; empty_gif; }"
    } qw(size grow), map { ("back_$_", "rate_$_") } @algorithms),
);

my $client;
my $gone = 0;

# a connection from before may have been kept for too long
sub later {
    my ($seconds) = @_;

    $clock->set($gone += $seconds);
    $client = $nginx->client;

    return;
}

# just after a window of so many seconds has begun
sub begin {
    my ($window) = @_;

    return later($window + 5 - (time + $gone) % $window);
}

sub ask {
    my ($uri, $query, @keys) = @_;

    return SlidewinNginx::tally($client->statuses(map {
        "/$uri?k=$_$query"
    } @keys));
}

# how many of the keys have units counted
sub known {
    my ($zone, $query, @keys) = @_;

    return scalar grep {
        my $header = $client->get("/peek_$zone?k=$_$query")->{header};
        $header->{'x-remaining'} < $header->{'x-limit'};
    } @keys;
}

sub keys_of {
    my ($name, $n) = @_;

    return map { "$name$_" } 1 .. $n;
}

my @stay = keys_of('stay', 20);

# when the units are taken that are refunded later, and when earlier ones have
# expired
my %back = (
    counter => [3600, 7200], fixed => [3600, 3610],
    strict => [1800, 3900], log => [1800, 3900],
);

for my $algorithm (@algorithms) {
    my $n = $many{$algorithm};
    my $zone = "back_$algorithm";
    my @back = keys_of('back', $n);
    my ($then, $left) = @{$back{$algorithm}};

    begin(3600);
    is(ask($zone, '', @back), "404 x$n", "$algorithm: $n clients count");

    later($then);
    is(ask($zone, '', @stay), '404 x20', '... later 20 more');
    is(ask("refund_$zone", '', @back), "200 x$n",
       '... and the first again, but that is given back');

    later($left - $then);
    is(ask($zone, '', keys_of('new', $n)), "404 x$n",
       '... when the first count nothing any more others come');
    is(known($zone, '', @stay), 20, '... and forget none that counts');
}

# when the shorter windows have ended and the longer have not
my %ended = (counter => 1100, fixed => 600, strict => 600, log => 600);

for my $algorithm (@algorithms) {
    my $n = $many{$algorithm};
    my $zone = "rate_$algorithm";

    begin(540 * 780 / 60);
    is(ask($zone, '&r=long', @stay), '404 x20',
       "$algorithm: 20 clients have a window of 13 minutes");
    is(ask($zone, '', keys_of('short', $n)), "404 x$n",
       "... $n come after them, with one of 9");

    later($ended{$algorithm});
    is(ask($zone, '', keys_of('new', $n)), "404 x$n",
       '... and count nothing any more when others come');
    is(known($zone, '&r=long', @stay), 20, '... who forget none that counts');
}

# An expired log is checked with a longer window, in which it has not expired,
# and grows: it does not evict itself, but other expired clients.

my @all = keys_of('all', 400);

ask('size', '&r=long', @all);
my $n = known('size', '&r=long', @all) - 21;

is(ask('grow', '&r=long', @stay), '404 x20',
   'log: 20 clients have a window of an hour');

for (1 .. 13) {
    ask('grow', '', 'grows');
    # each at a time of its own, so that it is an entry of its own
    SlidewinNginx::nap(0.0015);
}

is(ask('grow', '', keys_of('short', $n)), "404 x$n",
   "... $n have one of ten seconds, and the zone is full");
later(20);
is(ask('grow', '&r=long', ('grows') x 8), '404 x7, 429 x1',
   '... one of them is asked with the longer one, and grows');
is(known('grow', '&r=long', @stay), 20, '... and none that counts is forgotten');

is(scalar($nginx->errors(qr/zone "(?!size)\w+" is full/)), 0,
   'no zone had to forget a client');

$client->close;
$nginx->stop;

done_testing();
