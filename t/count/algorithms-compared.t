# What each algorithm decides, through nginx, and where they differ.

use strict;
use warnings;

use Test::More;

use SlidewinNginx;
use SlidewinPreload;

my @algorithms = qw(counter fixed strict log);
my $window = 400;
my $clock = SlidewinPreload->monotonic;
my $env = $clock->env;

my $nginx = SlidewinNginx->start(
    env => $env,
    # nginx passes only these environment variables to its workers
    main => join('', map { "env $_;" } sort keys %$env),
    http => join('', map { <<"END" } @algorithms),
    slidewin_zone \$arg_user zone=$_:1m rate=3r/40d algorithm=$_;
    slidewin_zone \$arg_user zone=$_-short:1m rate=3r/60s algorithm=$_;
    slidewin_zone \$arg_user zone=$_-plan:1m rate=\$arg_rate algorithm=$_;
    slidewin_zone \$arg_user zone=$_-edge:1m rate=4r/${window}s algorithm=$_;
END
    server => join('', map { <<"END" } @algorithms));
    location = /$_ { slidewin zone=$_; empty_gif; }
    location = /$_/peek { slidewin zone=$_ cost=0; empty_gif; }
    location = /$_/short { slidewin zone=$_-short; empty_gif; }
    location = /$_/short/peek { slidewin zone=$_-short cost=0; empty_gif; }
    location = /$_/plan { slidewin zone=$_-plan; empty_gif; }
    location = /$_/edge { slidewin zone=$_-edge cost=\$arg_cost; empty_gif; }
END

my $client = $nginx->client;

sub ask { return $client->get(@_) }

sub remaining { return ask(@_)->{header}{'x-remaining'} }

sub statuses { return join ' ', map { ask($_)->{status} } @_ }

for my $name (@algorithms) {

    is(statuses(("/$name?user=a") x 3), '200 200 200',
       "$name: within the limit");

    is(statuses(("/$name?user=a") x 3), '429 429 429', "$name: over the limit");

    is(statuses("/$name?user=b"), '200', "$name: another user is on its own");
    is(remaining("/$name/peek?user=a"), 0, "$name: the first has nothing left");
    is(remaining("/$name/peek?user=b"), 2, "$name: the other has");

    is(join(' ', map { remaining("/$name?user=c") } 1 .. 4), '2 1 0 0',
       "$name: what remains decreases");
    is(join(' ', map { remaining("/$name/peek?user=c") } 1 .. 3), '0 0 0',
       "$name: a look does not change it");

    is(statuses(("/$name/plan?user=a&rate=1r/40d") x 2), '200 429',
       "$name: a small plan");
    is(statuses(("/$name/plan?user=a&rate=3r/40d") x 3), '200 200 429',
       "$name: a larger one applies to the same user");
    is(statuses("/$name/plan?user=a&rate=2r/40d"), '429',
       "$name: and a smaller one");

    for my $user (1 .. 3) {
        is(remaining("/$name/short?user=$user"), 2,
           "$name: a short window counts user $user");
    }
}

# Two windows later nothing is counted any more, with any algorithm.
my $ahead = 121;
$clock->set($ahead);

for my $name (@algorithms) {
    my $peek = ask("/$name/short/peek?user=1")->{header};

    is($peek->{'x-remaining'}, 3, "$name: what is old does not count");
    is($peek->{'x-estimate'}, 0, "$name: at all");
    is(remaining("/$name/short?user=1"), 2, "$name: and it begins anew");
}


# The whole limit is used at the end of an aligned window. Then: what is left at
# the start of the next window, at its middle and after it.

# Sets the clock to SECONDS after the beginning of the next window.
my $next = (int((time + $ahead) / $window) + 1) * $window;

sub go_to {
    my ($seconds) = @_;

    $ahead = $next + $seconds - time;
    $clock->set($ahead);

    return;
}

my %seen;

go_to(-60);

for my $name (@algorithms) {
    $seen{"$name full"} = statuses("/$name/edge?cost=4&user=edge",
                                   "/$name/edge?cost=1&user=edge");
}

for (['edge', 2], ['middle', $window * 0.52],
     ['after', $window + $window / 16 + 2])
{
    my ($when, $seconds) = @$_;

    go_to($seconds);

    $seen{"$_ $when"} = remaining("/$_/edge?cost=0&user=edge")
        for @algorithms;
}

is($seen{"$_ full"}, '200 429', "$_: full at the end of a window")
    for @algorithms;

is($seen{'fixed edge'}, 4, 'fixed: the next window has all of it again');
is($seen{'counter edge'}, 0, 'counter: the window before still counts');
is($seen{'strict edge'}, 0, 'strict: it has not passed');
is($seen{'log edge'}, 0, 'log: it has not passed');

is($seen{'counter middle'}, 2, 'counter: half way, half of it is back');
is($seen{'strict middle'}, 0, 'strict: half way, nothing is back');
is($seen{'log middle'}, 0, 'log: half way, nothing is back');

is($seen{"$_ after"}, 4, "$_: a window later all of it is back")
    for @algorithms;

$nginx->stop;

done_testing();
