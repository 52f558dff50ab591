# Two hundred TLS connections lose their server at the same time: they reconnect
# one after the other, and resume their sessions.

use strict;
use warnings;

use SlidewinCerts;
use SlidewinFake;
use SlidewinNginx;
use SlidewinPeer;
use SlidewinPreload;
use SlidewinRedis;
use Test::More;

my ($workers, $stores) = (4, 50);
my $all = $workers * $stores;
my $patience = 20 * SlidewinNginx::patience();
my $certs = SlidewinCerts->new;
my $ca = $certs->authority('ca');

$certs->certificate('redis', by => 'ca', for => 'IP:127.0.0.1');

my $redis = SlidewinRedis->start;
my $tls = SlidewinPeer->serve('tls', $certs->pem('redis'), $certs->key('redis'),
                              $redis->path);
my $nginx = SlidewinNginx->start(
    workers => $workers,
    http => join('', map {
        "slidewin_redis rediss://@{[$tls->address]} name=r$_ ssl_ca=$ca"
        . ' ssl_name=127.0.0.1'
        . " timeout=10s connect_timeout=20s;\n"
        . "slidewin_zone \$arg_k zone=z$_:64k rate=2r/h store=r$_"
        . " on_error=closed;\n"
    } 1 .. $stores),
    server => join '', map {
        "location = /t$_ { slidewin zone=z$_; empty_gif; }\n"
    } 1 .. $stores);

my %seen;

# the handshakes since the last time, when there are that many
sub came {
    my ($n) = @_;

    %seen = (accepts => [], whole => 0, resumed => 0);

    return SlidewinNginx::until_true(sub {
        my $stats = $tls->tell('stats');

        push @{$seen{accepts}}, @{$stats->{accepts}};
        $seen{$_} += $stats->{$_} for qw(whole resumed);

        return $seen{whole} + $seen{resumed} >= $n;
    }, $patience);
}

# in ms, of the eight tenths in the middle
sub spread {
    my @at = sort { $a <=> $b } @{$seen{accepts}};

    return 1000 * ($at[int(0.9 * @at)] - $at[int(0.1 * @at)]);
}

# connections in Redis that have completed the handshake; before it hears of
# them, the server has sent their sessions, which workers that wait have read
sub greeted {
    return SlidewinNginx::until_true(sub {
        $all == grep { / cmd=time / } split /^/,
                $redis->command('CLIENT', 'LIST');
    }, $patience) && !grep { !SlidewinNginx::idle($_) } $nginx->workers;
}

ok(came($all), "$all connections") or BAIL_OUT("there are $seen{whole}");
is("$seen{whole} $seen{resumed}", "$all 0", '... of which none is resumed');
ok(greeted(), '... all of them greeted');

$tls->tell('cut');
ok(came($all), 'cut: all come back');
is("$seen{whole} $seen{resumed}", "0 $all", '... and are resumed');
ok(greeted(), '... and greeted');
is(join(' ', $nginx->status('/t1?k=a', 3)), '200 200 429', '... and decide');

$tls->tell('forget');
$tls->tell('cut');
ok(came($all), 'a server that knows no sessions: all come back');
is($seen{resumed}, 0, '... with handshakes that are whole');
ok(greeted(), '... and greeted');

$tls->tell('close');
SlidewinNginx::nap(1.5);
$tls->tell('stats');
$tls->tell('open');
ok(came($all), 'one that was away: all come back');
is("$seen{whole} $seen{resumed} " . @{$seen{accepts}}, "0 $all $all",
   '... resumed, each once');
cmp_ok(spread(), '>=', 100, '... one after the other');
ok(greeted(), '... and greeted');
ok(SlidewinNginx::until_true(sub {
    ($nginx->status('/t1?k=b' . rand))[0] == 200;
}, $patience), '... and decide');

$nginx->stop;
$tls->stop;


# The first attempt, for which requests may wait, has a random delay as well.

my $fake = SlidewinFake->start;

$nginx = SlidewinNginx->start(
    http => "slidewin_redis @{[$fake->url]} timeout=10s connect_timeout=20s;"
            . 'slidewin_zone $arg_k zone=one:1m rate=2r/h on_error=closed;',
    server => 'location = /t { slidewin zone=one; empty_gif; }');

my ($cuts, %told) = (40);

for my $n (1 .. $cuts) {
    $told{($nginx->status("/t?k=w$n"))[0]}++;
    $fake->cut;
    SlidewinNginx::until_true(sub { $fake->accepts > $n }, $patience);
}

my @after = sort { $a <=> $b } @{$fake->stats->{after}};

is(scalar @after, $cuts, 'cut again and again: it comes back each time');
cmp_ok($after[$cuts / 2], '>=', 0.004, '... after some time');
is(join(' ', %told), "200 $cuts", '... and every request was decided');
$nginx->stop(name => 'cut again and again');


# A server that stays down for long is tried less and less: with pauses of at
# least half of five seconds.

my $clock = SlidewinPreload->monotonic;

$fake = SlidewinFake->start(mode => 'away', modes => {
    away => { accept => sub { $_[0]->fin } },
});
$nginx = SlidewinNginx->start(
    env => $clock->env,
    main => join('', map { "env $_;\n" } sort keys %{$clock->env}),
    http => "slidewin_redis @{[$fake->url]};"
            . 'slidewin_zone $arg_k zone=one:1m rate=2r/h on_error=closed;',
    server => 'location = /t { slidewin zone=one; empty_gif; }');

my $client = $nginx->client;
my $offset = 0;

# so many seconds of the worker's time, half a second at a time; how many
# attempts
sub attempts {
    my ($seconds) = @_;
    my $before = $fake->accepts;

    for (1 .. 2 * $seconds) {
        $clock->set($offset += 0.5);
        $client->get('/free') for 1 .. 3;
        SlidewinNginx::nap(0.005);
    }

    return $fake->accepts - $before;
}

cmp_ok(attempts(30), '>', 5, 'away: it is asked for');

my $since = SlidewinNginx::now();
my $attempts = attempts(120);

cmp_ok($attempts, '>', 5, '... and asked for');
cmp_ok($attempts, '<=', 1 + (120 + SlidewinNginx::now() - $since) / 2.5,
       '... but not so often');
$client->close;
$nginx->stop(name => 'away');

done_testing();
