# When Retry-After is sent, and that it is exact: the request is admitted after
# so many seconds if no other came, and not a second earlier.

use strict;
use warnings;

use Test::More;

use SlidewinNginx;

my ($limit, $window) = (4, 3);
my @algorithms = ('counter', 'log', 'fixed', 'strict', 'strict slices=3');

my $nginx = SlidewinNginx->start(
    http => join('', map {
        (my $name = $_) =~ s/\W+/-/g;
        "slidewin_zone \$arg_k zone=$name:1m rate=${limit}r/${window}s"
        . " algorithm=$_;\n"
    } @algorithms) . <<'END',
    slidewin_zone $arg_k zone=hour:1m rate=1r/h algorithm=log;
    slidewin_zone $arg_k zone=day:1m rate=1r/d algorithm=log;
    slidewin_zone $arg_k zone=ms:1m rate=1r/300ms algorithm=log;
    slidewin_zone $arg_k zone=none:1m rate=$arg_rate;
END
    server => join('', map {
        (my $name = $_) =~ s/\W+/-/g;
        "location = /$name { slidewin zone=$name cost=\$arg_cost; empty_gif; }\n"
    } @algorithms) . <<'END');
    location = /hour { slidewin zone=hour; empty_gif; }
    location = /both {
        slidewin zone=hour;
        slidewin zone=day;
        empty_gif;
    }
    location = /503 { slidewin zone=hour; slidewin_status 503; empty_gif; }
    location = /page {
        slidewin zone=hour;
        error_page 429 =200 /free;
        empty_gif;
    }
    location = /none { slidewin zone=none; empty_gif; }
    location = /cost { slidewin zone=hour cost=2; empty_gif; }
    location = /never {
        slidewin zone=hour;
        slidewin zone=day cost=2;
        empty_gif;
    }
    location = /dry { slidewin zone=hour dry_run; empty_gif; }
    location = /ms { slidewin zone=ms; empty_gif; }
END

sub retry { return $nginx->get(@_)->{header}{'retry-after'} }

my $hour = qr/^3[56]\d\d$/;
my $day = qr/^86[34]\d\d$/;

is(retry('/hour?k=a'), undef, 'none on a pass');
like(retry('/hour?k=a'), $hour, 'on a rejection');
like(retry('/503?k=a'), $hour, 'on a rejection with another status');
like(retry('/page?k=a'), $hour, 'on a rejection that an error page answers');
is(retry('/dry?k=a'), undef, 'none in a dry run');
is(retry('/cost?k=b'), undef, 'none for a cost above the limit');
is(retry('/cost?k=a'), undef, 'nor when the limit is used up');
is(retry('/never?k=a'), undef, 'nor when it is only one of two limits');
is(retry('/none?k=a&rate=x'), undef, 'none when there is no rate');
is(retry('/none?k=a'), undef, 'nor when the rate is empty');

is($nginx->get('/both?k=c')->{status}, 200, 'two limits pass');
like(retry('/both?k=c'), $day, 'the longer of two');
like(retry('/hour?k=c'), $hour, 'each had its own');
like(retry('/both?k=a'), $hour, 'of the one that rejects');

# less than a second is sent as 1: 0 would mean now
my ($short) = grep { defined } map { retry('/ms?k=d') } 1 .. 20;
is($short, 1, 'less than a second is a second');


# A schedule of requests, so that all clients wait at the same time.

my @schedule;

sub at {
    my ($time, $code) = @_;

    @schedule = sort { $a->[0] <=> $b->[0] } @schedule, [$time, $code];
}

sub now { return SlidewinNginx::now() }

my %checked;
my $client = $nginx->client;
my $n = 0;

sub ask {
    my ($uri) = @_;
    my $from = now();
    my $answer = $client->get($uri);

    return ($answer->{status}, $answer->{header}{'retry-after'}, $from, now());
}

# Takes what is left, then waits for as long as Retry-After says.
sub exhaust {
    my ($name, $uri, $cost) = @_;

    while (1) {
        my ($status, $retry, $from, $to) = ask("$uri&cost=$cost");

        next if $status == 200;

        if ($status != 429 || !defined $retry || $retry !~ /^[1-9]\d*$/) {
            fail("$name: Retry-After of $status is " . ($retry // 'none'));
            return;
        }

        if ($retry > 1) {
            at($from + $retry - 1 - 0.15, sub {
                my ($status, undef, undef, $then) = ask("$uri&cost=$cost");

                # an answer that comes late proves nothing
                return if $then > $from + $retry - 1;

                $checked{$name}++;
                is($status, 429, "$name: a second before $retry: too early");
            });
        }

        at($to + $retry + 0.002, sub {
            my ($status) = ask("$uri&cost=$cost");

            is($status, 200, "$name, cost $cost: admitted after $retry");
        });

        return;
    }
}

my $start = now() + 0.05;

for my $algorithm (@algorithms) {
    (my $name = $algorithm) =~ s/\W+/-/g;

    for my $i (0 .. 9) {
        my $uri = "/$name?k=" . ++$n;
        my $cost = 1 + $i % 3;
        my $from = $start + $i * $window / 13;

        # some units early, the rest a while later
        at($from, sub { ask("$uri&cost=" . (1 + $i % 2)) });
        at($from + $i * 0.11, sub { ask("$uri&cost=1") });
        at($from + $i * 0.23, sub { exhaust($algorithm, $uri, $cost) });
    }
}

while (my $next = shift @schedule) {
    my ($time, $code) = @$next;
    my $wait = $time - now();

    SlidewinNginx::nap($wait) if $wait > 0;
    $code->();
}

for my $algorithm (@algorithms) {
    cmp_ok($checked{$algorithm} // 0, '>', 0,
           "$algorithm: was asked a second before");
}

$nginx->stop;

done_testing();
