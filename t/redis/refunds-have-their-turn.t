# Refunds wait behind checks, and have their turn all the same while more checks
# come than Redis answers. A reset does not wait behind refunds.

use strict;
use warnings;

use SlidewinFake;
use SlidewinHTTP2;
use SlidewinNginx;
use SlidewinRedis;
use SlidewinStats;
use Test::More;

my $patience = SlidewinNginx::patience();
my $redis = SlidewinRedis->start;
my $far = SlidewinFake->start(relay => $redis->path, delay => sub { 0.05 });
my $port = SlidewinRedis::free_port();
my $location = 'location = /refunded { slidewin zone=z count=404;
                                       empty_gif; }';

# so many workers that each has few calls on their way at once
my $nginx = SlidewinNginx->start(
    workers => 16,
    http => "slidewin_redis @{[$far->url]} timeout=60s connect_timeout=60s;
             slidewin_log_level info;
             slidewin_zone \$arg_k zone=z:8m rate=10r/40d;
             server { listen 127.0.0.1:$port http2; $location }",
    server => "add_header X-Source \$slidewin_source always;
               $location" . SlidewinStats::location());

ok(SlidewinNginx::until_true(sub {
    $nginx->get('/refunded?k=well' . rand)->{header}{'x-source'} eq 'redis';
}, 20 * $patience), 'Redis is asked');

my $monitor = $redis->client;
$monitor->send('MONITOR');
$monitor->reply;

# all streams of a connection are of one worker
my $h2 = SlidewinHTTP2->new($port);
my $n = 0;
my @ids;

$h2->sync;

# as a stream ends, the next one begins: checks always wait
for (1 .. 120) {
    push @ids, $h2->request('/refunded?k=c' . $n++);
}
for (1 .. 600) {
    my ($answer) = $h2->answers(shift @ids);

    is($answer->{status}, 200, 'a request passes') if $answer->{status} ne 200;
    push @ids, $h2->request('/refunded?k=c' . $n++);
}
is(SlidewinNginx::tally(map { $_->{status} } $h2->answers(@ids)), '200 x120',
   "$n requests of as many clients pass");

# the order in which Redis had them; a request is checked before it is refunded
my ($order, $take) = ('');

sub order {
    $redis->command('ECHO', 'end');

    while (defined(my $line = $monitor->reply)) {
        last if $line =~ /"ECHO" "end"/i;
        next if $line !~ /"EVALSHA" "([0-9a-f]+)" "1" "sw:\{c\d/i;
        $take //= $1;
        $order .= $1 eq $take ? 't' : 'r';
    }

    return $order;
}

ok(SlidewinNginx::until_true(sub { length order() == 2 * $n }, 30 * $patience),
   '... and all are refunded');
is($order =~ tr/r//, $n, '... by a call each');
like(substr($order, 0, length($order) / 2), qr/r/,
     '... some of them before half of the checks');

$nginx->stop;
done_testing();
