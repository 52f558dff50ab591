# A full zone evicts the clients that were unused longest, and never stops
# limiting.

use strict;
use warnings;

use SlidewinNginx;
use Test::More;

my @algorithms = qw(counter fixed strict log);
my $size = 32;

my $nginx = SlidewinNginx->start(
    http => "slidewin_log_level info;\n"
            . join('', map {
                "slidewin_zone \$arg_k zone=$_:${size}k rate=3r/40d
                               algorithm=$_;"
            } @algorithms)
            . "map \$arg_k \$rate { default 6000r/40d; }
               slidewin_zone \$arg_k zone=ring:${size}k rate=2000r/40d
                             algorithm=log;
               slidewin_zone \$arg_k zone=longer:${size}k rate=\$rate
                             algorithm=log;
               slidewin_zone \$arg_k zone=large:1m rate=3r/40d;
               slidewin_zone \$arg_k zone=small:${size}k rate=3r/40d;",
    server => join('', map {
                "location = /$_ { slidewin zone=$_; empty_gif; }"
              } @algorithms, qw(ring longer large))
              . 'location = /two { slidewin zone=small; slidewin zone=large;
                                   empty_gif; }',
);

my ($worker) = $nginx->workers;
my $client = $nginx->client;
my $n = 0;

sub tally { return SlidewinNginx::tally(@_) }

sub random {
    my ($uri) = @_;

    return $uri . '?k=' . $n++ . '-' . int rand 1e9;
}

for my $algorithm (@algorithms) {
    my $uri = "/$algorithm";

    is(tally($client->statuses(("$uri?k=old") x 4)), '200 x3, 429 x1',
       "$algorithm: a client that will go");
    is(tally($client->statuses(("$uri?k=hot") x 4)), '200 x3, 429 x1',
       "$algorithm: a client that will stay");
    is(scalar($nginx->errors(qr/zone "$algorithm" is full/)), 0,
       "$algorithm: there is room yet");

    is(tally($client->statuses(map {
           ("$uri?k=hot", map { random($uri) } 1 .. 20)
       } 1 .. 1000)), '200 x20000, 429 x1000',
       "$algorithm: 20000 others pass, the one that comes often does not");

    is(tally($client->statuses(("$uri?k=old") x 4)), '200 x3, 429 x1',
       "$algorithm: the one that was away has been forgotten");

    my @lines = $nginx->errors(qr/zone "$algorithm" is full/);

    is(scalar(@lines), 1, "$algorithm: one line says so");
    like($lines[0], qr/\[error\].* slidewin zone "$algorithm" is full, (?#
                      )\d+ clients have been forgotten so far to make room/,
         "$algorithm: ... in these words");
}


# the same from several clients and a second worker

$client->close;
$nginx->reload(workers => 2);

my @clients = $nginx->clients(4);
my @results = $nginx->together(sub {
    my ($i) = @_;

    srand $i;
    return [$clients[$i]->statuses(map {
        ('/log?k=hot', map { '/log?k=' . rand } 1 .. 10)
    } 1 .. 300)];
}, 0 .. $#clients);

is(tally(map { @$_ } @results), '200 x12000, 429 x1200',
   'four clients, two workers: the one that comes often is refused');

$_->close for @clients;


# a larger zone: the clients evicted are those unused longest

$client = $nginx->client;

my @keys = map { "/large?k=$_" } 1 .. 20000;

is(tally($client->statuses(@keys)), '200 x20000', '20000 clients in 1m');

my @again = map { $client->get("/large?k=$_")->{header}{'x-remaining'} }
            (20000, 15000, 1, 100);

is("@again", '1 1 2 2', 'the last are remembered, the first are not');


# two zones, one of them full: both count a request, or none

is(tally($client->statuses(map { random('/two') } 1 .. 2000)), '200 x2000',
   'a full zone beside another');
is(tally($client->statuses(('/two?k=both') x 4)), '200 x3, 429 x1',
   '... and both limit');


# a log whose ring does not fit counts less exactly, and admits no more

my %limit = (ring => 2000, longer => 6000);

for my $zone (sort keys %limit) {
    my %count;

    for my $round (1 .. $limit{$zone} / 10) {
        my @statuses = $client->statuses(("/$zone?k=hot") x 15,
                                         map { random("/$zone") } 1 .. 5);
        $count{$_}++ for @statuses[0 .. 14];
    }

    is($count{200}, $limit{$zone}, "$zone: a log admits its limit");
    is($count{429}, $limit{$zone} / 2, '... and refuses all above it');
    is(scalar($nginx->errors(qr/zone "$zone" is full/)), 1,
       '... and one line says that the zone is full');
}

$client->close;
is(scalar($nginx->errors(qr/exited on/)), 0, 'no worker has died');
ok(!SlidewinNginx::alive($worker), '... and the first left when told to');

$nginx->stop;

done_testing();
