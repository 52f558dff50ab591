# A client with two rates has a window for each, and each counts all units: what
# a request has cost in the end, too, whichever rate it had.

use strict;
use warnings;

use SlidewinCount;
use Test::More;

# 20 and 40 days: windows that do not end during the suite
my ($long, $short, $brief) = qw(100r/40d 50r/20d 20r/2s);

my ($zones, $server) = ('', '');

for my $algorithm (@SlidewinCount::ALGORITHMS) {
    $zones .= "slidewin_zone \$arg_k zone=two_$algorithm:1m rate=\$arg_r"
              . " algorithm=$algorithm on_error=closed deny_cache=off;\n";
    $server .= <<"END";
    location = /told_$algorithm {
        slidewin zone=two_$algorithm cost=10 charge=\$upstream_http_x_cost;
        proxy_pass http://told;
    }
    location = /held_$algorithm {
        slidewin zone=two_$algorithm cost=10 charge=\$upstream_http_x_cost;
        proxy_pass http://held;
    }
    location = /peek_two_$algorithm {
        slidewin zone=two_$algorithm cost=0; empty_gif;
    }
END
}

for my $place (SlidewinCount::stores()) {
    my $held = $place->held;
    my $nginx = $place->edge(
        http => ($place->redis ? $zones : $zones =~ s/deny_cache=off//gr)
                . $place->told,
        server => $server);

    for my $algorithm (@SlidewinCount::ALGORITHMS) {
        my $name = $place->name . ", $algorithm";
        my $key = SlidewinCount::fresh();

        # "left of used", in the long window and in the short one
        my $left = sub {
            return join ', ', map {
                my $header = $nginx->get("/peek_two_$algorithm?k=$key&r=$_")
                                   ->{header};
                "$header->{'x-remaining'} of " . int $header->{'x-estimate'};
            } @_ ? @_ : ($long, $short);
        };

        my $ask = sub {
            my ($rate, $cost) = @_;

            return $nginx->get("/told_$algorithm?k=$key&r=$rate&c=$cost")
                         ->{status};
        };

        is($left->(), '100 of 0, 50 of 0', "$name: two windows");
        is($ask->($short, 13), 200, '... more than estimated, with the short');
        is($left->(), '87 of 13, 37 of 13', '... counts in both');
        is($ask->($long, 15), 200, '... with the long one');
        is($left->(), '72 of 28, 22 of 28', '... as well');
        is($ask->($long, 2), 200, '... less than estimated');
        is($left->(), '70 of 30, 20 of 30', '... is given back in both');
        is($ask->($short, 0), 200, '... nothing, with the short one');
        is($left->(), '70 of 30, 20 of 30', '... too');

        # under way, with both rates

        my @clients = map { $nginx->client } 1 .. 4;
        my @rates = ($long, $short, $long);

        for my $i (0 .. 1) {
            $clients[$i]->request("/held_$algorithm?k=$key&r=$rates[$i]");
            is($held->has($i + 1), $i + 1, "$name: a request is under way");
        }
        is($left->(), '50 of 50, 0 of 50', '... reserved in both');
        $held->tell(1, 3);
        is(SlidewinCount::statuses(map { $_->answer } @clients[0, 1]),
           '200 200', '... they are answered');
        is($left->(), '66 of 34, 16 of 34', '... and settled in both');

        # debts: of one window, then of both

        is($ask->($short, 40), 200, "$name: a debt in the short window");
        is($left->(), '26 of 74, 0 of 74', '... is none in the long one');
        is(join(' ', $ask->($short, 1), $ask->($long, 10)), '429 200',
           '... which goes on');
        is($ask->($long, 500), 200, '... a debt in both');
        is($left->(), '0 of 584, 0 of 584', '... is counted');
        is(join(' ', $ask->($short, 1), $ask->($long, 1)), '429 429',
           '... and ends both');

        # a window that ends

        $key = SlidewinCount::fresh();
        is($left->($long, $brief), '100 of 0, 20 of 0',
           "$name: a window of 2 seconds");
        is($ask->($brief, 60), 200, '... has a debt');
        is($left->($long), '40 of 60', '... that the long one counts');
    }

    # the debts of all algorithms end together; a counter counts the window
    # before for as long again, and has to have three times its limit leave

    my %key;

    for my $algorithm (@SlidewinCount::ALGORITHMS) {
        my $uri = "/told_$algorithm?k=end&r=";

        is($nginx->get("$uri$long&c=1")->{status}, 200,
           $place->name . ", $algorithm: the long window");
        is($nginx->get("$uri$brief&c=60")->{status}, 200,
           '... a debt in the brief one');
    }

    for my $algorithm (@SlidewinCount::ALGORITHMS) {
        my $answer;

        ok(SlidewinNginx::until_true(sub {
            $answer = $nginx->get("/told_$algorithm?k=end&r=$brief&c=7");
            return $answer->{status} == 200;
        }, 20 * SlidewinNginx::patience()),
           $place->name . ", $algorithm: ... which ends");
        is($nginx->get("/peek_two_$algorithm?k=end&r=$long")
                 ->{header}{'x-remaining'}, 100 - 68,
           '... the long window forgets nothing');
    }

    $nginx->stop(name => $place->name);
}

done_testing();
