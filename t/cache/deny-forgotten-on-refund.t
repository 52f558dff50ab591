# A remembered rejection is forgotten on this edge when the edge refunds a unit
# of the client or clears it. On other edges it may last: that is why it is
# short for zones with count= or reset=, unless configured longer. That is
# enough against a flood.

use strict;
use warnings;

use Test::More;

use SlidewinCount;
use SlidewinNginx;

my $place = SlidewinCount->new('redis');
my $server = join '', map { <<"END" } qw(asked default);
    location = /$_ { slidewin zone=$_ count=401 reset=302;
                     proxy_pass http://held; }
    location = /peek_$_ { slidewin zone=$_ cost=0; empty_gif; }
END
my @edges = map {
    $place->edge(
        http => 'slidewin_zone $arg_k zone=asked:1m rate=2r/h algorithm=log
                               on_error=closed deny_cache=30s;
                 slidewin_zone $arg_k zone=default:1m rate=2r/h algorithm=log
                               on_error=closed;
                 slidewin_zone $arg_k zone=login:1m rate=2r/h on_error=closed;
                 slidewin_zone $arg_k zone=reset:1m rate=2r/h on_error=closed;
                 slidewin_zone $arg_k zone=count:1m rate=2r/h on_error=closed;
                 slidewin_zone $arg_k zone=none:1m rate=2r/h on_error=closed
                               deny_cache=off;',
        server => $server . '
                  location = /reset { slidewin zone=reset reset=302;
                                      empty_gif; }
                  location = /count { slidewin zone=count count=200;
                                      empty_gif; }
                  location = /login { slidewin zone=login; empty_gif; }
                  location = /elsewhere { slidewin zone=login reset=302;
                                          empty_gif; }
                  location = /none { slidewin zone=none reset=302;
                                     empty_gif; }');
} 1, 2;

sub told {
    return join ', ', map { "$_->{status} $_->{header}{'x-source'}" } @_;
}

# the uri, and two clients of the first edge that have used up their limits
sub used_up {
    my ($zone) = @_;
    my $uri = "/$zone?k=" . SlidewinCount::fresh();
    my @clients = map { $_->client } $edges[0], $edges[0];

    for my $n (1, 2) {
        $clients[$n - 1]->request($uri);
        is($place->held->has($n), $n, "$zone: $n under way");
    }

    return ($uri, @clients);
}

for my $how ([200, 1, 'one is given back'], [302, 2, 'all is cleared']) {
    my ($status, $n, $name) = @$how;
    my ($uri, @clients) = used_up('asked');

    is(told(map { $edges[0]->get($uri) } 1, 2), '429 redis, 429 deny_cache',
       "$name: the next is refused, and the one after it");
    is(told(map { $edges[1]->get($uri) } 1, 2), '429 redis, 429 deny_cache',
       '... elsewhere as well');

    $place->held->answer($status, 1);
    is($clients[0]->answer->{status}, $status, '... one ends');

    my $third = $edges[0]->client;
    $third->request($uri);
    is($place->held->has(2), 2, '... and there is room for another');

    is(told($edges[1]->get($uri)), '429 deny_cache', '... not elsewhere');

    $place->held->answer(401);
    $clients[1]->answer;
    $third->answer;
    $_->close for @clients, $third;
}

# by default a refund on another edge is noticed soon
{
    my ($uri, @clients) = used_up('default');
    my ($key) = $uri =~ /k=(\w+)/;

    is(told(map { $_->get($uri) } @edges), '429 redis, 429 redis',
       'by default: both ask');
    $place->held->answer(200, 1);
    $clients[0]->answer;

    # once the first edge has told Redis, which it does after it has answered
    ok(SlidewinNginx::until_true(sub {
        SlidewinCount::left($edges[1], 'default', $key) eq 1;
    }, 10 * SlidewinNginx::patience()), '... and one comes back');

    # only a rejection is answered at once: a request that passes is held
    # upstream
    my ($third, $passed);
    my $start = SlidewinNginx::now();

    SlidewinNginx::until_true(sub {
        $third = $edges[1]->client;
        $third->request($uri);
        SlidewinNginx::until_true(sub {
            $passed = $place->held->has(0) == 2;
            return $passed || $third->answered;
        }, 10 * SlidewinNginx::patience());
        return $passed;
    }, 10 * SlidewinNginx::patience());
    ok($passed, '... for those elsewhere as well');
    cmp_ok(SlidewinNginx::now() - $start, '<', 1 * SlidewinNginx::patience(),
           '... in less than a second');
    $place->held->answer(200);
    $_->answer for $clients[1], $third;
    $_->close for @clients, $third;
}

# A flood does not reach Redis, in a zone with reset= or with count=; with
# deny_cache=off it does.
for (['reset', 1], ['count', 1], ['login', 1], ['none', 0]) {
    my ($zone, $spared) = @$_;
    my $uri = "/$zone?k=" . SlidewinCount::fresh();
    my $client = $edges[0]->client;

    $client->statuses(($uri) x 2);

    my $start = SlidewinNginx::now();
    my $before = $place->redis->calls('evalsha');
    is(SlidewinNginx::tally($client->statuses(($uri) x 2000)), '429 x2000',
       "$zone: a flood is refused");
    my $asked = $place->redis->calls('evalsha') - $before;
    my $seconds = SlidewinNginx::now() - $start;

    note("$zone: $asked questions in $seconds s");

    if ($spared) {
        cmp_ok($asked, '<=', 2 + 10 * $seconds,
               '... with ten questions a second at most');
    } else {
        cmp_ok($asked, '==', 2000, '... with a question for each');
    }

    $client->close;
}

$_->stop for @edges;

done_testing();
