# Retry-After stays exact when the rate or the algorithm changes, in both stores
# and for every algorithm: with the units used under the old rate, the request
# is admitted after so many seconds, and not a second earlier.

use strict;
use warnings;

use Test::More;

use SlidewinNginx;
use SlidewinRedis;

my @stores = qw(local redis);
my @algorithms = qw(counter fixed strict log);
my $redis = SlidewinRedis->start;

my ($zones, $locations) = ('', '');

for my $store (@stores) {
    my $where = $store eq 'local' ? ' store=local' : '';

    for my $algorithm (@algorithms) {
        my $name = "${store}_$algorithm";

        $zones .= "slidewin_zone \$arg_k zone=$name:1m rate=\$arg_rate"
                  . " algorithm=$algorithm on_error=closed$where;\n";
        $locations .= "location = /$name { slidewin zone=$name cost=\$arg_c;"
                      . " empty_gif; }\n";
    }
}

my $nginx = SlidewinNginx->start(
    workers => 2, http => <<"END", server => $locations);
    slidewin_redis @{[$redis->url]} timeout=20s connect_timeout=20s;
    slidewin_log_level info;
    $zones
END

my $window = 3;

my %changes = (
    'a lower limit' => ["6r/${window}s", 6, "2r/${window}s"],
    'a shorter window' => ['6r/1h', 6, "6r/${window}s"],
    'a longer window' => ['6r/2s', 6, "6r/${window}s"],
    'a lower limit and a shorter window' => ['6r/1h', 6, "2r/${window}s"],
);

# The moment of the decision lies between the time before the request and the
# time after its answer; each check uses the one that cannot make it fail by
# mistake.
sub truth {
    my ($name, $change) = @_;
    my ($old, $units, $new) = @{$changes{$change}};
    my $own = $nginx->client;
    my ($before, $answer, $after, $uri);

    # with another client, if an aligned window ended meanwhile

    for my $try (1 .. 5) {
        my $key = "$change-$try" =~ tr/ /-/r;

        $uri = "/$name?k=$key&rate=$new&c=1";
        $own->get("/$name?k=$key&rate=$old&c=$units");

        $before = SlidewinNginx::now();
        $answer = $own->get($uri);
        $after = SlidewinNginx::now();
        last if $answer->{status} == 429;
    }

    return told($own, $uri, $before, $answer, $after);
}

# Whether a Retry-After was exact.
sub told {
    my ($own, $uri, $before, $answer, $after) = @_;
    my $retry = $answer->{header}{'retry-after'} // '';

    return "answer $answer->{status}" if $answer->{status} != 429;
    return "Retry-After: $retry" if $retry !~ /^[1-9]\d*$/
                                    || $retry > 2 * $window;

    my $early = $before + $retry - 1;

    while (SlidewinNginx::now() < $early - 0.05) {
        my $left = $early - SlidewinNginx::now();
        SlidewinNginx::nap($left > 0.6 ? 0.3 : $left / 2);

        my $status = $own->get($uri)->{status};
        last if SlidewinNginx::now() > $early;

        return "answer $status too early" if $status != 429;
    }

    # a little later: an edge knows the time of Redis to some ms

    my $left = $after + $retry + 0.1 - SlidewinNginx::now();
    SlidewinNginx::nap($left) if $left > 0;

    my $status = $own->get($uri)->{status};

    return $status == 200 ? 'true' : "answer $status after $retry s";
}

my @cases;

for my $change (sort keys %changes) {
    for my $store (@stores) {
        push @cases, map { [$change, "${store}_$_"] } @algorithms;
    }
}

my @truths = $nginx->together(sub { truth(reverse @{$_[0]}) }, @cases);

for my $i (0 .. $#cases) {
    is($truths[$i], 'true', "$cases[$i][1]: Retry-After after $cases[$i][0]");
}

$nginx->stop;


# A reload changes the algorithm, and with it the window: a request that is
# rejected because of earlier units gets an exact Retry-After at once.

my @pairs;

for my $store (@stores) {
    for my $old (@algorithms) {
        push @pairs, map { [$store, $old, $_] } grep { $_ ne $old } @algorithms;
    }
}

sub pairs_of {
    my ($after) = @_;
    my ($zones, $locations) = ('', '');

    for (@pairs) {
        my ($store, @pair) = @$_;
        my $name = join '_', $store, @pair;

        $zones .= "slidewin_zone \$arg_k zone=$name:1m algorithm=$pair[$after]"
                  . ' rate=6r/' . ($after ? "${window}s" : '40d')
                  . ' on_error=closed'
                  . ($store eq 'local' ? " store=local;\n" : ";\n");
        $locations .= "location = /$name { slidewin zone=$name cost=\$arg_c;"
                      . " empty_gif; }\n";
    }

    return (http => <<"END", server => $locations);
    slidewin_redis @{[$redis->url]} timeout=20s connect_timeout=20s;
    slidewin_log_level info;
    $zones
END
}

$nginx = SlidewinNginx->start(workers => 2, pairs_of(0));

my @uris = map { '/' . join('_', @$_) . '?k=k' } @pairs;
my @used = map { $nginx->get("$_&c=6")->{status} } @uris;

is(join(' ', @used), join(' ', ('200') x @used), 'all is used up');
$nginx->reload(pairs_of(1));

my @firsts = $nginx->together(sub {
    my ($uri) = @_;
    my $own = $nginx->client;
    my $before = SlidewinNginx::now();
    my $answer = $own->get("$uri&c=1");

    return told($own, "$uri&c=1", $before, $answer, SlidewinNginx::now());
}, @uris);

for my $i (0 .. $#pairs) {
    my ($store, $old, $new) = @{$pairs[$i]};

    is($firsts[$i], 'true', "$store: Retry-After, $old became $new");
}

$nginx->stop;

done_testing();
