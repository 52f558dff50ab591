# With lease= units are prefetched for a busy client. All of them are counted in
# Redis when they are taken, unused ones are refunded, and the client sees no
# difference but $slidewin_source.

use strict;
use warnings;

use Test::More;

use SlidewinNginx;
use SlidewinRedis;

my @algorithms = qw(counter fixed strict log);
my $redis = SlidewinRedis->start;
my $limit = 100_000;
my $patience = SlidewinNginx::patience();

my $nginx = SlidewinNginx->start(
    workers => 2,
    http => "slidewin_redis @{[$redis->url]} timeout=20s connect_timeout=20s;
             slidewin_log_level info;
             map \$arg_r \$rate { default 1000r/40d; more 2000r/40d; }
             slidewin_zone \$arg_k zone=rate:1m rate=\$rate lease=10%
                           on_error=closed;
             slidewin_zone \$arg_k zone=narrow:1m rate=3r/40d deny_cache=off
                           on_error=closed;
             slidewin_zone \$arg_k zone=tiny:1m rate=5r/40d lease=1%
                           on_error=closed;
             slidewin_zone \$arg_k zone=brief:1m rate=5r/5ms lease=100%
                           on_error=closed;
             slidewin_zone \$arg_k zone=none:1m rate=${limit}r/40d
                           on_error=closed;
             " . join('', map {
                 "slidewin_zone \$arg_k zone=$_:1m rate=${limit}r/40d
                                algorithm=$_ lease=10% on_error=closed;
                  slidewin_zone \$arg_k zone=few_$_:1m rate=60r/40d
                                algorithm=$_ lease=50% on_error=closed;\n"
             } @algorithms),
    server => 'add_header X-Source $slidewin_source always;
               location = /rate { slidewin zone=rate; empty_gif; }
               location = /tiny { slidewin zone=tiny; empty_gif; }
               location = /brief { slidewin zone=brief; empty_gif; }
               ' . join('', map {
                   "location = /$_ { slidewin zone=$_; empty_gif; }
                    location = /few_$_ { slidewin zone=few_$_; empty_gif; }
                    location = /cost_$_ { slidewin zone=$_ cost=\$arg_c;
                                          empty_gif; }
                    location = /peek_$_ { slidewin zone=$_ cost=0;
                                          empty_gif; }
                    location = /peek_few_$_ { slidewin zone=few_$_ cost=0;
                                              empty_gif; }
                    location = /two_$_ { slidewin zone=$_;
                                         slidewin zone=narrow; empty_gif; }
                    location = /dry_$_ { slidewin zone=$_ dry_run;
                                         empty_gif; }
                    location = /count_$_ { slidewin zone=$_ count=404;
                                           empty_gif; }
                    location = /reset_$_ { slidewin zone=$_ reset=200;
                                           empty_gif; }\n"
               } @algorithms));

my ($client, $other) = $nginx->clients(2);
my $fresh = 0;

$_->get('/narrow?k=warm'), $_->get('/log?k=warm') for $client, $other;

sub fresh { return 'k' . ++$fresh }

sub calls { return scalar $redis->calls('evalsha') }

sub source { return $_[0]{header}{'x-source'} // '-' }

sub used {
    my ($zone, $k, $of) = @_;

    return ($of // $limit)
           - $client->get("/peek_$zone?k=$k")->{header}{'x-remaining'};
}

# until unused units have been refunded: a request of cost 0 asks Redis
sub becomes {
    my ($zone, $k, $want, $name, $of) = @_;
    my $used;

    SlidewinNginx::until_true(sub {
        ($used = used($zone, $k, $of)) == $want;
    }, 10 * $patience);

    return is($used, $want, $name);
}

# requests until one of them was answered from a lease; returns how many
sub heat {
    my ($uri, $from) = @_;

    for my $n (1 .. 2000) {
        return $n if source(($from // $client)->get($uri)) eq 'lease';
    }

    return 0;
}

for my $algorithm (@algorithms) {
    # busy: more and more units are prefetched
    my $k = fresh();
    my (@calls, @remaining);

    for my $part (1 .. 4) {
        my $at = calls();

        for (1 .. 100) {
            push @remaining, $client->get("/$algorithm?k=$k")
                                    ->{header}{'x-remaining'};
        }
        push @calls, calls() - $at;
    }
    is("@remaining", join(' ', map { $limit - $_ } 1 .. 400),
       "$algorithm: 400 in a row, each told what is left");
    cmp_ok($calls[3], '<', $calls[0], '... with fewer and fewer questions: '
           . "@calls");

    my $before = calls();
    is(SlidewinNginx::tally($client->statuses(("/$algorithm?k=$k") x 10_000)),
       '200 x10000', "$algorithm: 10000 more");
    my $asked = calls() - $before;
    cmp_ok($asked, '<=', 100, "... by $asked questions");
    becomes($algorithm, $k, 10_400, '... and what was not used comes back');

    # for both workers
    $k = fresh();
    cmp_ok(heat("/$algorithm?k=$k"), '>', 0, "$algorithm: a lease");
    ok(SlidewinNginx::until_true(sub {
        $client->get("/$algorithm?k=$k");
        return source($other->get("/$algorithm?k=$k")) eq 'lease';
    }, 20), '... which the other worker uses as well');

    # leases do not change the limit; a lease lasts a second, and if the
    # requests take as long some units may be on their way back
    my @statuses;

    for (1 .. 5) {
        my $start = SlidewinNginx::now();

        $k = fresh();
        @statuses = map { $_->statuses(("/few_$algorithm?k=$k") x 50) }
                    $client, $other;
        last if SlidewinNginx::now() - $start < 0.9;
    }

    is(SlidewinNginx::tally(@statuses), '200 x60, 429 x40',
       "$algorithm: exactly the limit");
    becomes("few_$algorithm", $k, 60, '... and it is used up', 60);

    # costs
    $k = fresh();
    my $sum = 0;
    my @costs = map { (1, 5, 2, 11) } 1 .. 30;
    @statuses = $client->statuses(map { "/cost_$algorithm?k=$k&c=$_" } @costs);
    $sum += $_ for @costs;
    is(SlidewinNginx::tally(@statuses), '200 x120', "$algorithm: costs");
    becomes($algorithm, $k, $sum, '... are what they are');

    # all or none: a unit from a lease is returned if another limit rejects
    $k = fresh();
    my $n = heat("/$algorithm?k=$k");
    my @two = map { $client->get("/two_$algorithm?k=$k") } 1 .. 10;
    is(SlidewinNginx::tally(map { $_->{status} } @two), '200 x3, 429 x7',
       "$algorithm: with a narrow one");
    becomes($algorithm, $k, $n + 3, '... what that refused is not counted');

    # a dry run neither takes nor uses a lease
    $k = fresh();
    is(join(' ', map { source($client->get("/dry_$algorithm?k=$k")) } 1 .. 20),
       join(' ', ('redis') x 20), "$algorithm: a dry run asks");
    is(used($algorithm, $k), 20, '... for its own');

    # refunded by status
    $k = fresh();
    for (1 .. 200) { $client->get("/count_$algorithm?k=$k") }
    becomes($algorithm, $k, 0, "$algorithm: given back, all of it");

    # cleared by status
    $k = fresh();
    heat("/$algorithm?k=$k");
    $client->get("/reset_$algorithm?k=$k");
    is(used($algorithm, $k), 0, "$algorithm: cleared");
    my $answer = $client->get("/$algorithm?k=$k");
    is(source($answer) . " $answer->{header}{'x-remaining'}",
       'redis ' . ($limit - 1), '... and nothing is left of the lease');
}

# For a client with few requests nothing is prefetched.
{
    my $k = fresh();

    for my $n (1 .. 3) {
        SlidewinNginx::nap(1.1) if $n > 1;
        is(source($client->get("/log?k=$k")), 'redis',
           'once in a while Redis is asked');
        is(used('log', $k), $n, '... for one unit');
    }
}

# Units leased under one rate are not used under another.
{
    my $k = fresh();

    heat("/rate?k=$k");
    is(source($client->get("/rate?k=$k&r=more")), 'redis', 'another rate asks');
    ok(heat("/rate?k=$k&r=more"), '... and has leases of its own');
}

# at least one unit; no lease where the window is too short for one
{
    my $k = fresh();

    is(SlidewinNginx::tally($client->statuses(("/tiny?k=$k") x 7)),
       '200 x5, 429 x2', 'one unit of a small limit');
    is(join(' ', map { source($client->get("/brief?k=$k$_")) } 1 .. 5),
       'redis redis redis redis redis', 'a short window');
}

$_->close for $client, $other;
$nginx->stop;

done_testing();
