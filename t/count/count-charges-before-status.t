# Simultaneous requests are all charged before any of them has a status. No more
# than the limit reach the password check, and good ones are refunded for later
# requests.

use strict;
use warnings;

use SlidewinCount;
use Test::More;

my $limit = $SlidewinCount::LIMIT;

my $server = join '', map {
    "location = /login_$_ { slidewin zone=$_ count=401,403;"
    . " proxy_pass http://held; }\n"
} @SlidewinCount::ALGORITHMS;

# N requests at once; returns the clients that wait, and the statuses of the
# others
sub crowd {
    my ($nginx, $held, $uri, $n, $through) = @_;
    my @clients = $nginx->clients($n);

    $_->request($uri) for @clients;
    is($held->has($through), $through, "... $through of $n come through")
        or die "the rest makes no sense\n";

    # the others are answered, and no further request is in progress
    my (@wait, @statuses);
    my $end = SlidewinNginx::now() + 10 * SlidewinNginx::patience();

    while (@statuses < $n - $through && SlidewinNginx::now() < $end) {
        @wait = ();
        for my $client (@clients) {
            my $bits = '';
            vec($bits, fileno $client->{socket}, 1) = 1;
            if (select $bits, undef, undef, 0) {
                push @statuses, $client->answer->{status};
            } else {
                push @wait, $client;
            }
        }
        @clients = @wait;
        SlidewinNginx::nap(0.005);
    }

    is(SlidewinNginx::tally(@statuses), '429 x' . ($n - $through),
       '... the others are rejected');
    is($held->has(0), $through, '... and have not come through');

    return @clients;
}

for my $place (SlidewinCount::stores()) {
    my $held = $place->held;

    for my $workers (1, 2) {
        my $nginx = $place->edge(server => $server, workers => $workers);

        for my $algorithm (@SlidewinCount::ALGORITHMS) {
            my $name = $place->name . ", $algorithm, workers: $workers";
            my $key = SlidewinCount::fresh();
            my $uri = "/login_$algorithm?k=$key";

            # all good: everything is refunded, to as many again

            for my $round (1 .. 2) {
                note("$name: six at once, round $round");
                my @clients = crowd($nginx, $held, $uri, 6, 5);
                is(SlidewinCount::left($nginx, $algorithm, $key), 0,
                   '... all is reserved');
                $held->answer(200);
                is(SlidewinNginx::tally(map { $_->answer->{status} } @clients),
                   '200 x5', '... all were good');
                SlidewinCount::becomes($nginx, $algorithm, $key, $limit,
                                       '... and cost nothing');
            }

            # some good, some bad

            my @clients = crowd($nginx, $held, $uri, 9, 5);
            $held->answer(401, 3);
            $held->answer(200);
            is(SlidewinNginx::tally(map { $_->answer->{status} } @clients),
               '200 x2, 401 x3', '... three were bad');
            SlidewinCount::becomes($nginx, $algorithm, $key, 2,
                                   '... and cost three');

            # as many as there is room for

            @clients = crowd($nginx, $held, $uri, 6, 2);
            $held->answer(403);
            is(SlidewinNginx::tally(map { $_->answer->{status} } @clients),
               '403 x2', '... both were bad');
            is($nginx->get($uri)->{status}, 429, '... that was the last');
            is(SlidewinCount::left($nginx, $algorithm, $key), 0,
               '... of the five');
        }

        $nginx->stop(name => $place->name);
    }
}

done_testing();
