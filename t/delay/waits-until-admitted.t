# delay=TIME: a request that would be admitted within TIME waits for that, in
# order. One that would have to wait longer is rejected at once. The same in
# both stores.

use strict;
use warnings;

use SlidewinNginx;
use SlidewinRedis;
use Test::More;
use Time::HiRes ();

my @stores = qw(local redis);
my @algorithms = qw(counter fixed strict log);

my $redis = SlidewinRedis->start;
my ($zones, $locations) = ('', '');

for my $store (@stores) {
    my $where = $store eq 'local' ? ' store=local' : ' on_error=closed';

    for my $algorithm (@algorithms) {
        $zones .= "slidewin_zone \$arg_k zone=${store}_$algorithm:1m"
                  . " rate=2r/2s algorithm=$algorithm$where;\n";
        $locations .= "location = /$store/$algorithm {"
                      . " slidewin zone=${store}_$algorithm delay=20s;"
                      . " empty_gif; }\n";
    }

    $zones .= "slidewin_zone \$arg_k zone=${store}_one:1m rate=1r/3s"
              . " algorithm=log$where;\n"
              . "slidewin_zone \$arg_k zone=${store}_three:1m rate=3r/3s"
              . " algorithm=log$where;\n"
              . "slidewin_zone \$arg_k zone=${store}_hour:1m rate=2r/h"
              . " algorithm=log$where;\n"
              . "slidewin_zone \$arg_k zone=${store}_two:1m rate=1r/3s"
              . " algorithm=log$where;\n";
    $locations .= <<"END";
location = /$store/one { slidewin zone=${store}_one delay=7s; empty_gif; }
location = /$store/one/now { slidewin zone=${store}_one; empty_gif; }
location = /$store/three {
    slidewin zone=${store}_three delay=20s cost=\$arg_cost;
    empty_gif;
}
location = /$store/hour { slidewin zone=${store}_hour delay=1h; empty_gif; }
location = /$store/minute { slidewin zone=${store}_hour delay=1m; empty_gif; }
location = /$store/dry {
    slidewin zone=${store}_one delay=7s dry_run;
    empty_gif;
}
location = /$store/both {
    slidewin zone=${store}_hour;
    slidewin zone=${store}_two delay=7s;
    empty_gif;
}
location = /$store/look { slidewin zone=${store}_hour cost=0; empty_gif; }
END
}

my $nginx = SlidewinNginx->start(
    # lines that the log throttle leaves out appear at debug, and no others do
    http => 'error_log logs/error.log debug_mail;
             slidewin_redis unix:' . $redis->path . " timeout=5s
                   connect_timeout=10s;\n$zones",
    server => "add_header X-Source \$slidewin_source always;
               add_header X-Latency \$slidewin_latency always;
               add_header X-Zone \$slidewin_zone always;
               add_header X-Time \$msec always;
               slidewin_log_level warn key=on;
               $locations");

my $fresh = 0;

sub fresh { return 'c' . ++$fresh }

sub status {
    my ($answer) = @_;

    return join ' ', $answer->{status}, $answer->{header}{'x-status'} // '-';
}

# how many requests with this key had to wait
sub delays {
    my ($k) = @_;

    return scalar(() = $nginx->errors(qr/delaying request, .*, key: "$k"/));
}

sub delaying {
    my ($k, $n) = @_;

    return SlidewinNginx::until_true(sub { delays($k) >= $n },
                                     10 * SlidewinNginx::patience());
}

# All scenarios wait at the same time: a scenario gets a store, and returns the
# code that checks what has become of its requests.
my @ends;

sub scenario {
    my ($begin) = @_;

    push @ends, map { $begin->($_) } @stores;

    return;
}

# seconds between two answers
sub between {
    my ($one, $two) = @_;

    return $two->{header}{'x-time'} - $one->{header}{'x-time'};
}

# Asserts that an answer came at least so many seconds after a moment. The
# moment of the answer before it is not exact, as Redis decides some time before
# nginx answers; and the time of nginx is that of the latest turn of its event
# loop.
sub not_before {
    my ($start, $seconds, $answer, $name) = @_;

    return cmp_ok($answer->{header}{'x-time'} - $start, '>=', $seconds - 0.1,
                  $name);
}

# a moment with most of an aligned window before it
sub early {
    my ($seconds) = @_;
    my $now = Time::HiRes::time();
    my $gone = $now - $seconds * int $now / $seconds;

    SlidewinNginx::nap($seconds - $gone) if $gone > $seconds / 4;

    return;
}


# Many requests pass at the pace of the limit, each in its turn.

scenario(sub {
    my ($store) = @_;
    my %clients;

    early(2);

    for my $algorithm (@algorithms) {
        my $k = fresh();
        $clients{$algorithm} = [map { $nginx->asks("/$store/$algorithm?k=$k") }
                                1 .. 5];
    }

    return sub {
        for my $algorithm (@algorithms) {
            my $name = "$store, $algorithm";
            my @answers = map { $_->answer } @{$clients{$algorithm}};
            my %count;

            $count{status($_)}++ for @answers;

            is($count{'200 PASSED'} + $count{'200 DELAYED'}, 5,
               "$name: all pass");
            cmp_ok($count{'200 DELAYED'}, '>=', 3,
                   "$name: those that are too many wait");
            is(join(' ', map { $_->{header}{'x-source'} } @answers),
               join(' ', ($store) x 5), "$name: ... and their store decides");

            my ($first, $last) = (sort {
                $a->{header}{'x-time'} <=> $b->{header}{'x-time'}
            } @answers)[0, -1];

            cmp_ok($last->{header}{'x-latency'} / 1000, '<',
                   between($first, $last),
                   "$name: waiting is no part of the latency");
        }
    };
});


# Each waits for as long as it must, and one that would wait too long is
# rejected. They are sent at once, so that their order is not known.

scenario(sub {
    my ($store) = @_;
    my $k = fresh();
    my $start = Time::HiRes::time();
    my @clients = map { $nginx->asks("/$store/one?k=$k") } 1 .. 5;

    ok(SlidewinNginx::until_true(sub {
           grep({ $_->answered } @clients) == 3;
       }, 2.5), "$store: one passes, two are rejected at once, two wait");

    return sub {
        my @answers = sort {
            $a->{header}{'x-time'} <=> $b->{header}{'x-time'}
        } map { $_->answer } @clients;
        my ($passed) = grep { status($_) eq '200 PASSED' } @answers;
        my @late = grep { status($_) eq '429 REJECTED' } @answers;
        my @delayed = grep { status($_) eq '200 DELAYED' } @answers;

        is(join(', ', map { scalar @$_ } [$passed], \@late, \@delayed),
           '1, 2, 2', "$store: ... and have their turn");

        for my $answer (@late) {
            my $retry = $answer->{header}{'retry-after'};
            cmp_ok($retry, '>=', 7, "$store: ... and told more than the delay");
            # an edge knows the time of Redis to some ms
            cmp_ok($retry, '<=', $store eq 'local' ? 9 : 10,
                   "$store: ... and when it is its turn");
        }

        not_before($start, 3 * $_, $delayed[$_ - 1],
                   "$store: $_ windows, not less") for 1, 2;
        cmp_ok(between($passed, $delayed[0]), '<', 5.9,
               "$store: ... and not as long as it may");
    };
});


# In order: requests queue up one after the other.

scenario(sub {
    my ($store) = @_;
    my $k = fresh();

    $nginx->asks("/$store/three?cost=3&k=$k")->answer;

    my @clients = map {
        my $client = $nginx->asks("/$store/three?cost=1&k=$k");
        ok(delaying($k, $_), "$store: number $_ stands in line");
        $client;
    } 1 .. 5;

    return sub {
        my @answers = map { $_->answer } @clients;

        is(join(' ', map { status($_) } @answers),
           join(' ', ('200 DELAYED') x 5), "$store: all have their turn");
        cmp_ok(between($answers[$_ - 1], $answers[$_]), '>=', 0,
               "$store: number $_ before the next") for 1 .. 4;
    };
});


# No request overtakes those that wait, not even one that needs less.

scenario(sub {
    my ($store) = @_;
    my $k = fresh();
    my $start = Time::HiRes::time();
    my $answer = $nginx->asks("/$store/three?cost=2&k=$k")->answer;
    my $large = $nginx->asks("/$store/three?cost=3&k=$k");

    ok(delaying($k, 1), "$store: a large one waits");
    my $small = $nginx->asks("/$store/three?cost=1&k=$k");

    return sub {
        is(status($answer), '200 PASSED', "$store: there is room for it");
        my @answers = map { $_->answer } $large, $small;

        is(join(', ', map { status($_) } @answers),
           '200 DELAYED, 200 DELAYED', "$store: both have their turn");
        not_before($start, 3, $answers[0], "$store: the large one in a window");
        not_before($start, 6, $answers[1],
                   "$store: the small one in the window after it");
    };
});

scenario(sub {
    my ($store) = @_;
    my $k = fresh();

    $nginx->asks("/$store/one?k=$k")->answer;
    my $second = $nginx->asks("/$store/one?k=$k");
    ok(delaying($k, 1), "$store: one waits");

    my $answer = $nginx->asks("/$store/one/now?k=$k")->answer;

    return sub {
        is(status($answer), '429 REJECTED',
           "$store: who must not wait is rejected");
        cmp_ok($answer->{header}{'retry-after'}, '>', 3,
               "$store: ... and told to come after those who do");
        is(status($second->answer), '200 DELAYED',
           "$store: who has their turn");
    };
});


# A client that leaves is no longer waited for.

scenario(sub {
    my ($store) = @_;
    my $k = fresh();

    $nginx->asks("/$store/one?k=$k")->answer;
    my @clients = map {
        my $client = $nginx->asks("/$store/one?k=$k");
        ok(delaying($k, $_), "$store: $_ wait");
        $client;
    } 1, 2;
    is(status($nginx->asks("/$store/one?k=$k")->answer), '429 REJECTED',
       "$store: there is no room for a third");

    $clients[0]->close;
    my $last;

    # until the worker has noticed it
    ok(SlidewinNginx::until_true(sub {
           my $client = $nginx->asks("/$store/one?k=$k");
           SlidewinNginx::until_true(sub {
               $client->answered || delays($k) > 2;
           }, 10 * SlidewinNginx::patience());
           return 0 if delays($k) == 2;
           $last = $client;
       }, 3), "$store: one leaves, and makes room behind the other");

    return sub {
        is(status($clients[1]->answer), '200 DELAYED', "$store: the other");
        is(status($last->answer), '200 DELAYED', "$store: and the new one");
    };
});


# A request that would wait too long is rejected at once, and so is a cost above
# the limit.

for my $store (@stores) {
    my $k = fresh();

    is(join(', ', map { status($nginx->get("/$store/minute?k=$k")) } 1 .. 3),
       '200 PASSED, 200 PASSED, 429 REJECTED',
       "$store: an hour is not waited for where a minute may be");

    $k = fresh();
    my $answer = $nginx->asks("/$store/three?cost=4&k=$k")->answer;
    is(status($answer), '429 REJECTED', "$store: what can never pass");
    is($answer->{header}{'retry-after'}, undef, "$store: ... never does");

    # a dry run does not delay
    $k = fresh();
    is(join(', ', map { status($nginx->get("/$store/dry?k=$k")) } 1 .. 3),
       '200 PASSED, 200 REJECTED_DRY_RUN, 200 REJECTED_DRY_RUN',
       "$store: a dry run delays none");
}


# Several limits: while a request waits for one, the other does not count it.

scenario(sub {
    my ($store) = @_;
    my $k = fresh();

    $nginx->asks("/$store/both?k=$k")->answer;
    my $second = $nginx->asks("/$store/both?k=$k");
    ok(delaying($k, 1), "$store, two limits: one waits");

    my $remaining;
    ok(SlidewinNginx::until_true(sub {
        my $answer = $nginx->asks("/$store/look?k=$k")->answer;
        $remaining = $answer->{header}{'x-remaining'};
        return $remaining == 1;
    }, 2), "$store: ... and is not counted by the other")
        or diag("remaining: $remaining");

    return sub {
        my $answer = $second->answer;

        is(status($answer), '200 DELAYED', "$store: it passes both");
        is($answer->{header}{'x-zone'}, "${store}_two",
           "$store: by the one it waited for");
        is($nginx->get("/$store/look?k=$k")->{header}{'x-remaining'}, 0,
           "$store: ... and is counted by the other then");

        $answer = $nginx->asks("/$store/both?k=$k")->answer;
        is(status($answer), '429 REJECTED',
           "$store: a limit without a delay is not waited for");
        is($answer->{header}{'x-zone'}, "${store}_hour",
           "$store: ... and speaks for the request");
    };
});


$_->() for @ends;
@ends = ();

ok($nginx->errors(qr/\[notice\]\ .*\ delaying\ request,\ excess:\ 1\.000
                     \ by\ zone\ "local_one",\ client:\ unix:,
                     \ rate:\ 1r\/3s,\ wait:\ \d+ms.*request:\ "GET/x),
   'a line for one that is delayed, a level below');


# No queue and no descriptor is left, and nginx ends.

my ($worker) = $nginx->workers;
ok(SlidewinNginx::until_true(sub { SlidewinNginx::fds($worker) < 40 },
                             10 * SlidewinNginx::patience()),
   'all that waited is gone');

$nginx->stop;

done_testing();
