# Several edges prefetch from one Redis. In any rolling window they admit no
# more than the limit plus what their leases may hold, N% of it each.

use strict;
use warnings;

use Test::More;

use SlidewinNginx;
use SlidewinRedis;

my ($limit, $window, $percent, $n) = (400, 2, 10, 3);
my $redis = SlidewinRedis->start;
my $patience = SlidewinNginx::patience();

my @edges = map {
    SlidewinNginx->start(
        workers => 2,
        http => "slidewin_redis @{[$redis->url]} timeout=20s
                                connect_timeout=20s;
                 slidewin_log_level info;
                 " . join('', map {
                     "slidewin_zone \$arg_k zone=$_:1m algorithm=$_
                      rate=${limit}r/${window}s lease=$percent%
                      on_error=closed;\n"
                 } qw(strict log)),
        server => 'add_header X-Source $slidewin_source always;
                   add_header X-Time $msec always;
                   ' . join('', map {
                       "location = /$_ { slidewin zone=$_; empty_gif; }\n"
                   } qw(strict log)));
} 1 .. $n;

for my $edge (@edges) {
    $_->get("/log?k=warm"), $_->get("/strict?k=warm") for $edge->clients(2);
}

for my $algorithm (qw(strict log)) {
    my $before = $redis->calls('evalsha');

    # two clients of each edge, as fast as they can, with a pause after a
    # rejection
    my @results = $edges[0]->together(sub {
        my ($client) = @_;
        my $end = SlidewinNginx::now() + 2.2 * $window;
        my (@admitted, %source);

        while (SlidewinNginx::now() < $end) {
            my $answer = $client->get("/$algorithm?k=hot");

            $source{"$answer->{status} $answer->{header}{'x-source'}"}++;
            push @admitted, $answer->{header}{'x-time'}
                if $answer->{status} == 200;
            SlidewinNginx::nap(0.0005) if $answer->{status} == 429;
        }

        return { admitted => \@admitted, source => \%source };
    }, map { $_->clients(2) } @edges);

    my @times = sort { $a <=> $b } map { @{$_->{admitted}} } @results;
    my $calls = $redis->calls('evalsha') - $before;
    my ($most, $first, %source) = (0, 0);

    for my $result (@results) {
        $source{$_} += $result->{source}{$_} for keys %{$result->{source}};
    }

    # nginx reads its clock once per turn, and knows that of Redis to some ms
    for my $last (0 .. $#times) {
        $first++ while $times[$first] <= $times[$last] - ($window - 0.1);
        $most = $last - $first + 1 if $last - $first + 1 > $most;
    }

    my $bound = $limit + $n * int $limit * $percent / 100;

    cmp_ok($most, '<=', $bound, "$algorithm: at most $most in a window of "
           . "$limit, with leases $bound");
    cmp_ok(scalar(@times), '>=', $limit, '... of ' . @times . ' admitted');
    cmp_ok($source{'200 lease'} // 0, '>', 0, '... some from leases');
    is(join(' ', sort grep { !/^(?:200|429) (?:redis|lease|deny_cache)$/ }
                 keys %source), '', '... all decided');
    diag("$algorithm: most $most, bound $bound, admitted " . @times
         . ", $calls calls, "
         . join ', ', map { "$_: $source{$_}" } sort keys %source);
}

$_->stop for @edges;

done_testing();
