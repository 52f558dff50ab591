# What the endpoint tells of a client is what its next request gets, for every
# algorithm; to look costs nothing.

use strict;
use warnings;

use SlidewinApi;
use SlidewinNginx;
use SlidewinRedis;
use Test::More;

my @algorithms = qw(counter fixed strict log);
my $redis = SlidewinRedis->start;

# windows that do not end while the suite runs

my $nginx = SlidewinNginx->start(
    workers => 2,
    http => 'slidewin_log_level info; slidewin_redis ' . $redis->url
            . ' timeout=5s;' . join('', map {
        "slidewin_zone \$arg_k zone=$_:1m rate=5r/40d algorithm=$_ "
        . "store=local;"
        . "slidewin_zone \$arg_k zone=redis-$_:1m rate=5r/40d algorithm=$_ "
        . "deny_cache=off;"
    } @algorithms),
    server => 'add_header X-Reset $slidewin_reset always;'
              . 'location /slidewin/ { slidewin_api write=on; }'
              . join('', map {
        "location = /$_ { slidewin zone=$_; empty_gif; }"
        . "location = /redis-$_ { slidewin zone=redis-$_; empty_gif; }"
    } @algorithms),
);

sub peek {
    my ($zone, $key) = @_;
    my $got = SlidewinApi::ask($nginx, 'GET', "/slidewin/zones/$zone/keys/$key");
    return SlidewinApi::decode($got->{body}) // {};
}

sub near { return abs($_[0] - $_[1]) <= 2 * SlidewinNginx::patience() }

for my $zone (@algorithms, map { "redis-$_" } @algorithms) {
    my $new = peek($zone, 'a');
    is("$new->{limit} $new->{remaining} $new->{retry_after} $new->{banned}",
       '5 5 0 0', "$zone: a client that nobody knows");
    cmp_ok($new->{estimate}, '==', 0, '... has used nothing');

    for my $left (reverse 0 .. 4) {
        my @peeks = map { peek($zone, 'a') } 1 .. 4;
        is(join(' ', map { $_->{remaining} } @peeks),
           join(' ', ($left + 1) x 4), "$zone: " . ($left + 1) . ' remain');

        my $got = $nginx->get("/$zone?k=a");
        is("$got->{status} $got->{header}{'x-remaining'}", "200 $left",
           '... and the next request gets one of them');

        my $now = peek($zone, 'a');
        my $reset = $got->{header}{'x-reset'};
        ok(near($now->{reset}, $reset), '... and tells the same reset')
            or diag("$now->{reset} instead of $reset");
        my $estimate = $got->{header}{'x-estimate'};
        ok(abs($now->{estimate} - $estimate) < 0.01, '... and estimate')
            or diag("$now->{estimate} instead of $estimate");
        is($now->{retry_after} > 0 ? 'later' : 'now', $left ? 'now' : 'later',
           '... and when to come again');
    }

    my $full = peek($zone, 'a');
    my $got = $nginx->get("/$zone?k=a");
    is("$full->{remaining} $got->{status}", '0 429', "$zone: none remains");
    ok(near($full->{retry_after}, $got->{header}{'retry-after'}),
       '... and Retry-After is the same')
        or diag("$full->{retry_after}, $got->{header}{'retry-after'}");

    is(peek($zone, 'b')->{remaining}, 5, '... of this client alone');

    is(SlidewinApi::ask($nginx, 'DELETE', "/slidewin/zones/$zone/keys/a")
           ->{status}, 204, '... until it is reset');
    is(peek($zone, 'a')->{remaining}, 5, '... which a look tells');
    is($nginx->get("/$zone?k=a")->{header}{'x-remaining'}, 4,
       '... and its next request, too');
}

# a look leaves nothing behind

my $before = SlidewinApi::decode(
    SlidewinApi::ask($nginx, 'GET', '/slidewin/zones/log')->{body});
peek('log', "never$_") for 1 .. 50;
my $after = SlidewinApi::decode(
    SlidewinApi::ask($nginx, 'GET', '/slidewin/zones/log')->{body});
is_deeply($after, $before, '50 looks change no figure of the zone');

$nginx->stop;
done_testing();
