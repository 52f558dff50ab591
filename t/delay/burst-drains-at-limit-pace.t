# A burst of almost three times the limit, followed by traffic at two fifths of
# the limit, with a Redis so far away that one request per round trip would be
# slower than that. The queue drains at the pace of the limit: it is empty when
# three more windows have had room for the rest of the burst.

use strict;
use warnings;

use SlidewinFake;
use SlidewinNginx;
use SlidewinRedis;
use Test::More;

my @algorithms = qw(counter fixed strict log);
my ($limit, $window, $way) = (50, 2, 0.12);
my ($burst, $pause) = (2.8 * $limit, $window / (0.4 * $limit));

# one more for windows that began before the burst or slide, one for round trips
my $gone = (3 + 2) * $window;

my $redis = SlidewinRedis->start;
my $far = SlidewinFake->start(relay => $redis->path, delay => sub { $way });
my ($zones, $locations) = ('', '');

for my $algorithm (@algorithms) {
    $zones .= "slidewin_zone \$arg_k zone=$algorithm:1m"
              . " rate=${limit}r/${window}s algorithm=$algorithm"
              . " on_error=closed;\n";
    $locations .= "location = /$algorithm { slidewin zone=$algorithm delay=1h;"
                  . " empty_gif; }\n";
}

my $nginx = SlidewinNginx->start(
    connections => 4096,
    http => "slidewin_redis @{[$far->url]} timeout=20s connect_timeout=20s;
             $zones",
    server => $locations);

my (%idle, %waiting, %told);

sub ask {
    my ($algorithm) = @_;
    my $client = shift @{$idle{$algorithm}} // $nginx->client(timeout => 60);

    $client->request("/$algorithm?k=one");
    push @{$waiting{$algorithm}}, $client;

    return;
}

# how many wait behind the first that has no answer
sub line {
    my ($algorithm, $all) = @_;
    my $waiting = $waiting{$algorithm};

    while (@$waiting && ($all || $waiting->[0]->answered)) {
        my $client = shift @$waiting;
        my $answer = $client->answer;

        push @{$told{$algorithm}},
             "$answer->{status} " . ($answer->{header}{'x-status'} // '');
        push @{$idle{$algorithm}}, $client;
    }

    return scalar @$waiting;
}

is($nginx->get("/$_?k=well")->{status}, 200, "$_: Redis is asked")
    for @algorithms;

my $start = SlidewinNginx::now();
my ($seconds, %longest) = (0);

for my $algorithm (@algorithms) {
    ask($algorithm) for 1 .. $burst;
}

while ($seconds < $gone + $window) {
    SlidewinNginx::nap($pause);
    $seconds = SlidewinNginx::now() - $start;

    for my $algorithm (@algorithms) {
        my $n = line($algorithm);

        $longest{$algorithm} = $n
            if $seconds > $gone && $n >= ($longest{$algorithm} // 0);
        ask($algorithm);
    }
}

for my $algorithm (@algorithms) {
    line($algorithm, 1);

    my @told = @{$told{$algorithm}};
    my $delayed = grep { $_ eq '200 DELAYED' } @told;

    is(scalar(grep { /^200 / } @told), scalar @told, "$algorithm: all pass");
    cmp_ok($delayed, '>=', $burst - 2 * $limit, '... many of them wait');
    note("in line: $longest{$algorithm}");
    cmp_ok($longest{$algorithm}, '<', $limit,
           '... and the line is gone when the limit has had room for it');
}

$_->close for map { @$_ } values %idle;
$nginx->stop;

done_testing();
