# However many requests come at once, in the end exactly those are counted that
# ended with a status of count=: with two workers, and with two edges of one
# Redis with two workers each.

use strict;
use warnings;

use SlidewinCount;
use Test::More;

my ($clients, $each) = SlidewinNginx::asan() ? (8, 60) : (8, 150);
my $plenty = 10_000;
my $few = 40;

my $server = <<'END';
location = /all {
    slidewin zone=counter count=401;
    slidewin zone=fixed count=401,403;
    slidewin zone=strict count=403 cost=3;
    slidewin zone=log count=401 cost=2;
    proxy_pass http://origin/$arg_s;
}
END

for my $algorithm (@SlidewinCount::ALGORITHMS) {
    $server .= "location = /few_$algorithm { slidewin zone=few_$algorithm"
               . ' count=401; proxy_pass http://origin/$arg_s; }'
               . "\nlocation = /peek_few_$algorithm {"
               . " slidewin zone=few_$algorithm cost=0; empty_gif; }\n";
}

my $http = join '', map {
    "slidewin_zone \$arg_k zone=few_$_:1m rate=${few}r/40d algorithm=$_"
    . " on_error=closed;\n"
} @SlidewinCount::ALGORITHMS;

# random, but the same in each run
sub chance {
    my ($seed, @of) = @_;

    srand $seed;

    return map { $of[rand @of] } 1 .. $each;
}

sub crowd {
    my ($edges, $uri, @of) = @_;
    my $share = $clients / @$edges;
    my %count;
    my @all = map { $_->clients($share) } @$edges;
    my $seed = 0;

    my @results = $edges->[0]->together(sub {
        my ($job) = @_;
        my ($client, $n) = @$job;

        # some one by one, some at once
        return [$n % 2 ? $client->statuses(map { "$uri&s=$_" }
                                           chance($n, @of))
                       : map { $client->get("$uri&s=$_")->{status} }
                         chance($n, @of)];
    }, map { [$_, ++$seed] } @all);

    $count{$_}++ for map { @$_ } @results;

    return \%count;
}

for my $place (SlidewinCount::stores()) {
    my $name = $place->name;
    my @edges = map {
        $place->edge(workers => 2, rate => "${plenty}r/40d", http => $http,
                     server => $server)
    } 1 .. ($place->redis ? 2 : 1);

    # the limit is larger than the number of requests

    my $got = crowd(\@edges, '/all?k=all', 200, 401, 403, 404);
    my ($bad, $denied) = ($got->{401} // 0, $got->{403} // 0);
    my %used = (counter => $bad, fixed => $bad + $denied,
                strict => 3 * $denied, log => 2 * $bad);

    is($got->{200} + $bad + $denied + $got->{404}, $clients * $each,
       "$name: all are answered") or diag(explain($got));
    cmp_ok($bad, '>', 0, '... some with 401');

    for my $zone (@SlidewinCount::ALGORITHMS) {
        SlidewinCount::becomes($edges[-1], $zone, 'all', $plenty - $used{$zone},
                               "... $zone: what was counted is exact");
    }

    # the limit is smaller: requests in progress take room, so that others are
    # rejected; there are never more bad ones than the limit, and no others are
    # counted

    for my $algorithm (@SlidewinCount::ALGORITHMS) {
        $got = crowd(\@edges, "/few_$algorithm?k=few", (200) x 19, 401);
        $bad = $got->{401} // 0;

        cmp_ok($bad, '<=', $few, "$name, $algorithm: not more than the limit");
        is($got->{200} + $bad + ($got->{429} // 0), $clients * $each,
           '... all are answered') or diag(explain($got));
        SlidewinCount::becomes($edges[-1], "few_$algorithm", 'few',
                               $few - $bad, "... $bad are counted");
    }

    $_->stop(name => $name) for @edges;
}

done_testing();
