# The utilization of a client's window after each decision, in buckets, for all
# algorithms and both stores.

use strict;
use warnings;

use SlidewinNginx;
use SlidewinRedis;
use SlidewinStats;
use Test::More;

my $redis = SlidewinRedis->start;
my (@zones, $zones, $locations);

for my $store (qw(local default)) {
    for my $algorithm (qw(counter fixed strict log)) {
        my $name = "${algorithm}_$store";

        push @zones, $name;
        $zones .= "slidewin_zone \$arg_k zone=$name:1m rate=20r/40d"
                  . " algorithm=$algorithm"
                  . ($store eq 'local' ? " store=local;\n"
                                       : " deny_cache=off;\n");
        $locations .= "location = /$name { slidewin zone=$name; empty_gif; }
                       location = /five_$name { slidewin zone=$name cost=5;
                                                empty_gif; }\n";
    }
}

my $nginx = SlidewinNginx->start(
    workers => 2, server => $locations . SlidewinStats::location(),
    http => "slidewin_redis @{[$redis->url]} timeout=20s connect_timeout=20s;
             $zones");

sub buckets {
    my ($zone) = @_;
    my $buckets = SlidewinStats::zone($nginx, $zone)->{utilization};

    return join ' ', map { $buckets->{$_} } qw(0.25 0.5 0.75 0.9 1 +Inf);
}

for my $zone (@zones) {
    is(buckets($zone), '0 0 0 0 0 0', "$zone: nothing at first");

    # 1 to 20 of 20, and two rejections at 20
    is(SlidewinNginx::tally($nginx->status("/$zone?k=a", 22)),
       '200 x20, 429 x2', '... a client uses its limit');
    is(buckets($zone), '5 10 15 18 22 22', '... each twentieth is counted');

    # 5, 10, 15, 20 of 20: bounds are inclusive
    $nginx->status("/five_$zone?k=b", 4);
    is(buckets($zone), '6 12 18 21 26 26', '... a bound belongs to its bucket');

    my $metrics = SlidewinStats::metrics($nginx);
    my $name = 'slidewin_utilization_ratio';

    # 210 / 20 + 2 + 50 / 20
    is($metrics->{"${name}_sum{zone=\"$zone\"}"} + 0, 15, '... their sum');
    is($metrics->{"${name}_count{zone=\"$zone\"}"}, 26, '... and how many');
    is($metrics->{"${name}_bucket{zone=\"$zone\",le=\"0.9\"}"}, 21,
       '... a bucket of the metrics');
}

$nginx->stop;

done_testing;
