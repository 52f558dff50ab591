# A rate from a variable changes, in both stores and for every algorithm: the
# next request is held to the new rate, and units used before stay counted.

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

        # any rate, and the one of the client's plan
        $zones .= "slidewin_zone \$arg_k zone=$name:1m rate=\$arg_rate"
                  . " algorithm=$algorithm on_error=closed$where;\n"
                  . "slidewin_zone \$http_x_user zone=plan_$name:1m"
                  . " rate=\$plan_rate algorithm=$algorithm"
                  . " on_error=closed$where;\n";
        $locations .= "location = /$name { slidewin zone=$name cost=\$arg_c;"
                      . " empty_gif; }\n"
                      . "location = /plan_$name { slidewin zone=plan_$name;"
                      . " empty_gif; }\n";
    }
}

my $nginx = SlidewinNginx->start(
    workers => 2, http => <<"END", server => <<"END");
    slidewin_redis @{[$redis->url]} timeout=20s connect_timeout=20s;
    slidewin_log_level info;
    map \$http_x_plan \$plan_rate {
        free 5r/40d;
        pro 10r/40d;
    }
    $zones
END
    add_header X-Source \$slidewin_source always;
    $locations
END

my $client = $nginx->client;

# "200 10 5": the status, the limit that was applied and what is left of it
sub told {
    my ($answer) = @_;

    return join ' ', $answer->{status}, map { $_ // '-' }
           @{$answer->{header}}{qw(x-limit x-remaining)};
}

# walk NAME, KEY, [RATE, COST, WANTED]...
sub walk {
    my ($name, $key, $text, @steps) = @_;
    my (@got, @wanted);

    for (@steps) {
        my ($rate, $cost, $wanted) = @$_;

        push @got, told($client->get("/$name?k=$key&rate=$rate&c=$cost"));
        push @wanted, $wanted;
    }

    return is(join(', ', @got), join(', ', @wanted), "$name: $text");
}

# about 40 days: aligned windows that do not end during the suite

for my $store (@stores) {
    for my $algorithm (@algorithms) {
        my $name = "${store}_$algorithm";

        is($client->get("/$name?k=source&rate=1r/40d&c=1")
           ->{header}{'x-source'}, $store, "$name: counts where it is told to");

        walk($name, 'raised', 'an upgrade leaves the new limit less the used',
             ['5r/40d', 3, '200 5 2'], ['10r/40d', 0, '200 10 7'],
             ['10r/40d', 7, '200 10 0'], ['10r/40d', 1, '429 10 0']);

        walk($name, 'spent', 'also for one whose limit is used up',
             ['5r/40d', 5, '200 5 0'], ['5r/40d', 1, '429 5 0'],
             ['10r/40d', 6, '429 10 5'], ['10r/40d', 5, '200 10 0']);

        walk($name, 'lowered', 'below what is used nothing is left',
             ['10r/40d', 7, '200 10 3'], ['5r/40d', 1, '429 5 0'],
             ['5r/40d', 0, '200 5 0'], ['8r/40d', 1, '200 8 0'],
             ['5r/40d', 1, '429 5 0'], ['10r/40d', 0, '200 10 2']);

        walk($name, 'wider', 'a longer window keeps what was used',
             ['5r/40d', 3, '200 5 2'], ['5r/45d', 0, '200 5 2'],
             ['5r/45d', 3, '429 5 2'], ['5r/45d', 2, '200 5 0'],
             ['5r/45d', 1, '429 5 0']);

        walk($name, 'narrower', 'so does a shorter one',
             ['5r/45d', 3, '200 5 2'], ['5r/40d', 0, '200 5 2'],
             ['5r/40d', 3, '429 5 2'], ['5r/40d', 2, '200 5 0'],
             ['5r/40d', 1, '429 5 0'], ['5r/45d', 1, '429 5 0']);

        walk($name, 'both', 'limit and window at once',
             ['5r/45d', 4, '200 5 1'], ['10r/40d', 0, '200 10 6'],
             ['10r/40d', 2, '200 10 4'], ['20r/45d', 1, '200 20 13'],
             ['5r/45d', 1, '429 5 0'], ['10r/40d', 3, '200 10 0']);
    }
}


# Plans from a map: two clients with different plans at the same time, and one
# of them changes its plan.

sub asks {
    my ($name, $user, $plan) = @_;

    return told($client->get("/plan_$name", 'X-User' => $user,
                             'X-Plan' => $plan));
}

for my $store (@stores) {
    for my $algorithm (@algorithms) {
        my $name = "${store}_$algorithm";
        my @got;

        for (1 .. 5) {
            push @got, asks($name, 'ann', 'free'), asks($name, 'bob', 'pro');
        }

        is(join(', ', @got), join(', ', map {
               ('200 5 ' . (5 - $_), '200 10 ' . (10 - $_))
           } 1 .. 5), "$name: each client has its plan");

        is(asks($name, 'ann', 'free'), '429 5 0', "$name: one is at its end");
        is(asks($name, 'bob', 'pro'), '200 10 4', "$name: the other is not");

        is(join(', ', map { asks($name, 'ann', 'pro') } 1 .. 6),
           join(', ', (map { '200 10 ' . (5 - $_) } 1 .. 5), '429 10 0'),
           "$name: a better plan applies at once, with what was used");
        is(asks($name, 'bob', 'pro'), '200 10 3',
           "$name: and only to who has it");
        is(asks($name, 'bob', 'free'), '429 5 0', "$name: a lesser plan, too");
        is(asks($name, 'bob', 'pro'), '200 10 2',
           "$name: a refused request has taken nothing");
    }
}

$client->close;
$nginx->stop;

done_testing();
