# A true cost above what is left is a debt: no client of that key passes until
# the window has room, and Retry-After tells when, to the second.

use strict;
use warnings;

use SlidewinCount;
use Test::More;

my $window = 2;
my $limit = 6;

my $server = join '', map { <<"END" } @SlidewinCount::ALGORITHMS;
    location = /$_ {
        slidewin zone=$_ cost=\$arg_e charge=\$upstream_http_x_cost;
        proxy_pass http://told;
    }
END

# the debt, and the cost that waits for it
my @debts = ([7, 1], [8, 3], [40, 6], [100_000, 1]);

# Answers are counted from the moment of the decision, which lies between the
# times before and after a request: each check has the one that cannot make it
# fail by mistake.
sub truth {
    my ($client, $algorithm, $key, $debt, $cost) = @_;
    my $uri = "/$algorithm?k=$key&e=$cost&c=$cost";
    my ($before, $answer);

    # again, if a window ended meanwhile
    for (1 .. 4) {
        $client->get("/$algorithm?k=$key&e=1&c=$debt");
        $before = SlidewinNginx::now();
        $answer = $client->get($uri);
        last if $answer->{status} == 429;
    }

    my $after = SlidewinNginx::now();
    my $retry = $answer->{header}{'retry-after'} // return 'no Retry-After';

    return "answer $answer->{status}" if $answer->{status} != 429;
    return "Retry-After $retry" if $retry !~ /^[1-9]$/ || $retry > 2 * $window;
    return "remaining $answer->{header}{'x-remaining'}"
        if $answer->{header}{'x-remaining'} ne '0';

    my $early = $before + $retry - 1.03 - SlidewinNginx::now();

    if ($early > 0) {
        SlidewinNginx::nap($early);

        my $status = $client->get($uri)->{status};
        my $late = SlidewinNginx::now() > $before + $retry - 1;

        return "answer $status a second early" if $status != 429 && !$late;

        # on a busy machine it was not early, and has what the next one needs
        return truth($client, $algorithm, "$key-", $debt, $cost)
            if $status != 429;
    }

    SlidewinNginx::nap($after + $retry - SlidewinNginx::now() + 0.001);

    my $status = $client->get($uri)->{status};

    return $status == 200 ? 'true' : "answer $status in time";
}

my @cases = map {
    my $algorithm = $_;
    map { [$algorithm, SlidewinCount::fresh(), @$_] } @debts;
} @SlidewinCount::ALGORITHMS;

for my $place (SlidewinCount::stores()) {
    my $nginx = $place->edge(server => $server, rate => "${limit}r/${window}s",
                             http => $place->told);
    $nginx->get("/$_?k=first&e=1") for @SlidewinCount::ALGORITHMS;

    my @results = $nginx->together(sub {
        return truth($nginx->client, @{$_[0]});
    }, @cases);

    is($results[$_], 'true', $place->name . ", $cases[$_][0]: a debt of"
       . " $cases[$_][2] units, a cost of $cases[$_][3] waits")
        for 0 .. $#cases;

    $nginx->stop(name => $place->name);
}

done_testing();
