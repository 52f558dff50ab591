# TLS in pieces: byte by byte, and over a connection without room for what is to
# be sent. Nothing is lost, and nothing waits for ever.

use strict;
use warnings;

use SlidewinCerts;
use SlidewinFaults;
use SlidewinNginx;
use SlidewinProxy;
use SlidewinRedis;
use Test::More;

my $certs = SlidewinCerts->new;
my $ca = $certs->authority('ca');

$certs->certificate('redis', by => 'ca', for => 'IP:127.0.0.1');

my $redis = SlidewinRedis->start(tls => $certs->server('redis'));
my $limits = join '', map {
    "slidewin_zone \$arg_k zone=z$_:1m rate=100r/h algorithm=log;\n"
} 1 .. 12;
my $apply = join '', map { "slidewin zone=z$_;\n" } 1 .. 12;

# a timeout that no request is to wait for
sub start {
    my ($proxy) = @_;

    return SlidewinFaults->start(
        url => 'rediss://127.0.0.1:' . $proxy->port,
        redis => "ssl_ca=$ca timeout=60s connect_timeout=60s",
        http => $limits,
        server => "location = /big { $apply empty_gif; }\n");
}

sub checks { return scalar $redis->calls('evalsha') }

sub tally {
    my %count;

    $count{SlidewinFaults::summary($_)}++ for @_;

    return join ', ', map { "$count{$_} x $_" } sort keys %count;
}


# Byte by byte in both directions, the handshake included.

for my $version ('TLSv1.2', 'TLSv1.3') {
    $redis->command('CONFIG', 'SET', 'tls-protocols', $version);

    my $proxy = SlidewinProxy->start($redis->port, up => { chunk => 1 },
                                     down => { chunk => 1 });
    my $faults = start($proxy);
    my @clients = map { $faults->nginx->client(timeout => 120) } 1 .. 5;

    ok($faults->redis_answers(60), "$version, byte by byte: Redis is asked");
    $faults->decides("$version, byte by byte");
    is(tally($faults->nginx->burst(\@clients, [map { ["/big?k=$version-$_"] }
                                               1 .. 5])),
       '5 x 200 PASSED redis', "$version, byte by byte: several at once");
    is($proxy->stats->{accepts}, 1, '... on one connection');
    is($faults->log_lines('.'), 0, '... of which there is nothing to say');
    $_->close for @clients;
    $faults->client->close;
    $faults->nginx->stop(name => $version);
    $proxy->stop;
}

$redis->command('CONFIG', 'SET', 'tls-protocols', '');


# More to send than there is room for. Before that, a reply stops in the middle:
# hiredis has then waited for something to read, and must not take the lack of
# room for the same.

my $n = 200;
my $proxy = SlidewinProxy->start($redis->port);
my $faults = start($proxy);
my $nginx = $faults->nginx;
my @clients = map { $nginx->client(timeout => 120) } 0 .. $n;

ok($faults->redis_answers, 'Redis is asked');

my $first = $clients[0];
my $before = checks();

$proxy->down(most => 3);
$first->request('/big?k=first');
ok(SlidewinNginx::until_true(sub { checks() == $before + 1 },
                             10 * SlidewinNginx::patience()),
   'a check whose answer stops in the middle');
SlidewinNginx::nap(0.2);

my $up = $proxy->stats->{up};

$proxy->up(most => 0);
$clients[$_]->request("/big?k=$_") for 1 .. $n;

# all of them have reached nginx when a later request is answered
is($nginx->get('/free')->{status}, 200, "$n more checks, and no room");
SlidewinNginx::nap(0.3);
is($proxy->stats->{up}, $up, '... nothing passes');

$proxy->up;
ok(SlidewinNginx::until_true(sub { checks() == $before + 1 + $n },
                             20 * SlidewinNginx::patience()),
   'there is room: all of them arrive, though no answer does')
    or diag(checks() - $before - 1 . ' arrived');
cmp_ok($proxy->stats->{up} - $up, '>', 100_000, '... more than a system keeps'
       . ' for a way like this');
ok(!$first->answered, '... none was answered meanwhile');

$proxy->down;
is(tally(map { $_->answer } @clients), $n + 1 . ' x 200 PASSED redis',
   'the answers come: all are decided');
is($proxy->stats->{accepts}, 1, '... on one connection');


# The same, slowly.

$proxy->up(chunk => 1000);
$proxy->down(chunk => 100);
is(tally($nginx->burst([@clients[1 .. $n]], [map { ["/big?k=slow$_"] }
                                             1 .. $n])),
   "$n x 200 PASSED redis", 'a slow way: all are decided');
is($proxy->stats->{accepts}, 1, '... on one connection');
is($faults->log_lines('.'), 0, '... of which there is nothing to say');

$_->close for @clients;
$faults->client->close;
$nginx->stop;

done_testing();
