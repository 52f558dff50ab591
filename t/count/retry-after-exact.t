# Retry-After is exact: the request is admitted after so many seconds, and not a
# second earlier.

use strict;
use warnings;

use POSIX ();
use SlidewinNginx;
use Test::More;
use Time::HiRes ();

my $window = 4;
my @algorithms = qw(counter fixed strict log);

my $nginx = SlidewinNginx->start(
    workers => 2,
    http => "slidewin_log_level info;\n" . join('', map {
                "slidewin_zone \$arg_k zone=$_:1m rate=6r/${window}s
                               algorithm=$_;"
            } @algorithms),
    server => join '', map {
        "location = /$_ { slidewin zone=$_ cost=\$arg_c; empty_gif; }\n"
    } @algorithms,
);

# Takes units until the cost is rejected, then tries again too early and in
# time. The moment of the decision lies between the time before the request and
# the time after its answer; each check uses the one that cannot make it fail by
# mistake.
sub truth {
    my ($client, $algorithm, $key, $cost, $take, $pause) = @_;
    my $uri = "/$algorithm?k=$key&c=$cost";
    my ($before, $answer);

    # again, if an aligned window ended meanwhile

    for (1 .. 4) {
        for my $units (@$take) {
            $client->get("/$algorithm?k=$key&c=$units");
            SlidewinNginx::nap($pause);
        }

        $before = SlidewinNginx::now();
        $answer = $client->get($uri);
        last if $answer->{status} == 429;
    }

    my $after = SlidewinNginx::now();
    my $retry = $answer->{header}{'retry-after'} // return 'no Retry-After';

    return "answer $answer->{status}" if $answer->{status} != 429;
    return "Retry-After: $retry" if $retry !~ /^[1-9]\d*$/
                                    || $retry > 2 * $window;

    # again and again until a second before the time

    my ($early, $refused) = (0, 0);
    my $end = $before + $retry - 1;

    while (SlidewinNginx::now() < $end - 0.02) {
        my $left = $end - SlidewinNginx::now();
        SlidewinNginx::nap($left > 0.6 ? 0.3 : $left / 2);

        my $status = $client->get($uri)->{status};

        if (SlidewinNginx::now() > $end) {
            # the decision may have been so late that the request passed: start
            # over
            return truth($client, $algorithm, "$key-", $cost, $take, $pause)
                if $status != 429;
            last;
        }

        $early++;
        $refused++ if $status == 429;
    }

    my $left = $after + $retry - SlidewinNginx::now();
    SlidewinNginx::nap($left + 0.001) if $left > 0;

    my $status = $client->get($uri)->{status};

    return "$refused of $early refused" if $refused != $early;
    return "answer $status in time" if $status != 200;

    return $early ? 'true' : 'true, but a second is all it had to wait';
}

my @cases;

for my $algorithm (@algorithms) {
    for my $phase (0, 0.4, 0.8) {
        for my $case ([1, [(1) x 6], 0.01], [1, [6], 0], [3, [(2) x 3], 0.3],
                      [6, [1], 0], [2, [4, 1], 0.2])
        {
            push @cases, [$algorithm, $phase, @$case];
        }
    }
}

my @results = $nginx->together(sub {
    my ($algorithm, $phase, @case) = @{$_[0]};
    my $key = "$phase-$case[0]-@{$case[1]}" =~ tr/ /-/r;

    # at which part of an aligned window it begins
    my $now = Time::HiRes::time();
    my $start = (POSIX::floor($now / $window) + $phase) * $window;

    $start += $window while $start < $now;
    SlidewinNginx::nap($start - $now);

    return truth($nginx->client, $algorithm, $key, @case);
}, @cases);

my %early;

for my $i (0 .. $#cases) {
    my ($algorithm, $phase, $cost, $take) = @{$cases[$i]};

    like($results[$i], qr/^true/,
         "$algorithm: a cost of $cost after @$take, begun at $phase");
    $early{$algorithm}++ if $results[$i] eq 'true';
}

cmp_ok($early{$_} // 0, '>', 2, "$_: waits of more than a second were among "
                                . 'them') for @algorithms;

$nginx->stop;

done_testing();
