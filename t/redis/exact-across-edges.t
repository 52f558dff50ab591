# Edges that count in one Redis share a limit exactly: two nginx with two
# workers each, 64 clients at the same time, each algorithm. And the first
# questions to any limiter, with this store.

use strict;
use warnings;

use Test::More;

use SlidewinNginx;
use SlidewinRedis;

my @algorithms = qw(counter fixed strict log);
my $limit = 500;
my $redis = SlidewinRedis->start;

# 40 days: windows that do not end during the suite
sub http {
    my (%rate) = @_;

    return <<"END" . join '', map { <<"END" } @algorithms;
    slidewin_redis @{[$redis->url]} timeout=20s connect_timeout=20s;
    slidewin_log_level info;
END
    slidewin_zone \$arg_k zone=$_:1m on_error=closed algorithm=$_
                  rate=${limit}r/40d deny_cache=off;
    slidewin_zone \$arg_k zone=narrow_$_:1m on_error=closed algorithm=$_
                  rate=200r/40d deny_cache=off;
    slidewin_zone \$arg_k zone=five_$_:1m on_error=closed algorithm=$_
                  rate=@{[$rate{five} // '5r/40d']} deny_cache=off;
    slidewin_zone \$arg_k zone=short_$_:1m on_error=closed algorithm=$_
                  rate=3r/2s;
END
}

my $server = "add_header X-Source \$slidewin_source always;\n"
    . join '', map { <<"END" } @algorithms;
    location = /$_ { slidewin zone=$_; empty_gif; }
    location = /five_$_ { slidewin zone=five_$_; empty_gif; }
    location = /short_$_ { slidewin zone=short_$_; empty_gif; }
    location = /both_$_ {
        slidewin zone=$_; slidewin zone=narrow_$_; empty_gif;
    }
    location = /three_$_ { slidewin zone=$_ cost=3; empty_gif; }
END

my @edges = map {
    SlidewinNginx->start(workers => 2, http => http(), server => $server)
} 1, 2;

# all workers are connected to Redis
for my $edge (@edges) {
    $_->get('/log?k=warm') for $edge->clients(2);
}

sub tally { return SlidewinNginx::tally(@_) }

# 64 clients, half of them on each edge, spread over all workers.
sub crowd {
    my ($uri, $each) = @_;
    my @clients = map { $_->clients(32) } @edges;

    return map { @$_ } $edges[0]->together(sub {
        my ($client) = @_;
        return [$client->statuses(("$uri?k=crowd") x $each)];
    }, @clients);
}

for my $algorithm (@algorithms) {
    $redis->command('FLUSHALL');
    is(tally(crowd("/$algorithm", 15)), "200 x$limit, 429 x" . (960 - $limit),
       "$algorithm: exactly the limit, over both");
    is($redis->command('DBSIZE'), 1, "$algorithm: one key for one client");

    $redis->command('FLUSHALL');
    is(tally(crowd("/three_$algorithm", 5)), '200 x166, 429 x154',
       "$algorithm: as many threes as fit");

    $redis->command('FLUSHALL');
    is(tally(crowd("/both_$algorithm", 6)), '200 x200, 429 x184',
       "$algorithm: two policies, exactly the narrow one");
    is(tally(crowd("/$algorithm", 6)), '200 x300, 429 x84',
       "$algorithm: what the narrow one refused was not counted");
}


# The same client on both edges in turn: each sees what the other counts.

for my $algorithm (@algorithms) {
    my @clients = map { $_->client } @edges;
    my @answers = map {
        $clients[$_ % 2]->get("/five_$algorithm?k=both")
    } 1 .. 7;

    is(join(' ', map { $_->{status} } @answers),
       '200 200 200 200 200 429 429', "$algorithm: by turns");
    is(join(' ', map { $_->{header}{'x-remaining'} } @answers),
       '4 3 2 1 0 0 0', "$algorithm: remaining falls on both");
    is(join(' ', map { $_->{header}{'x-source'} } @answers),
       join(' ', ('redis') x 7), "$algorithm: Redis decided");

    # four processes
    my @crowd = $edges[0]->together(sub {
        return [$_[0]->statuses(("/five_$algorithm?k=four") x 10)];
    }, map { $_->clients(2) } @edges);
    is(tally(map { @$_ } @crowd), '200 x5, 429 x35',
       "$algorithm: four at once do not exceed it");

    # other clients are not affected
    is(tally($clients[0]->statuses(map { "/five_$algorithm?k=one$_" }
                                   1 .. 20)), '200 x20',
       "$algorithm: others are not touched");
}


# Expiry: used units come back, and not before Retry-After.

for my $algorithm (@algorithms) {
    my $client = $edges[0]->client;
    my ($uri, @answers);

    # a window may end between two requests
    for my $try (1 .. 5) {
        $uri = "/short_$algorithm?k=try$try";
        @answers = map { $client->get($uri) } 1 .. 4;
        last if $answers[3]{status} == 429;
    }

    is(join(' ', map { $_->{status} } @answers), '200 200 200 429',
       "$algorithm: used up");

    my $retry = $answers[3]{header}{'retry-after'};
    ok($retry >= 1 && $retry <= 4, "$algorithm: Retry-After $retry");

    # a little later: an edge knows the time of Redis to some ms
    SlidewinNginx::nap($retry + 0.1);
    is($client->get($uri)->{status}, 200,
       "$algorithm: then it is admitted");
}

ok(SlidewinNginx::until_true(sub {
    !grep { /short_/ } @{$redis->command('KEYS', '*')};
}, 15), 'keys that count nothing are gone');


# Reconfigured: the new limit applies to clients that are counted already.

for my $change (['8r/40d', '200 x3, 429 x4'], ['2r/40d', '429 x7'],
                ['8r/41d', '200 x3, 429 x4'])
{
    my ($rate, $want) = @$change;

    for my $algorithm (@algorithms) {
        $redis->command('DEL', "sw:{known}:five_$algorithm");
        is(tally($edges[0]->client->statuses(("/five_$algorithm?k=known")
                                             x 6)),
           '200 x5, 429 x1', "$algorithm: used up under 5r/40d");
    }

    $_->reload(http => http(five => $rate)) for @edges;

    for my $algorithm (@algorithms) {
        is(tally($edges[1]->client->statuses(("/five_$algorithm?k=known")
                                             x 7)),
           $want, "$algorithm: under $rate");
    }

    $_->reload(http => http()) for @edges;
    $redis->command('FLUSHALL');
}

$_->stop for @edges;

done_testing();
