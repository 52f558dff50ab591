# A Redis whose round trip is longer than half the timeout, and a client whose
# requests follow each other: those that wait behind a check have a whole
# timeout from when they are sent. The limit is exact, and Redis is not taken
# for failed.

use strict;
use warnings;

use SlidewinFake;
use SlidewinFaults;
use SlidewinRedis;
use Test::More;

my ($timeout, $way) = (2, 1.2);
my $redis = SlidewinRedis->start;
my $far = SlidewinFake->start(relay => $redis->path, delay => sub { $way });
my $faults = SlidewinFaults->start(
    url => $far->url, redis => "timeout=${timeout}s connect_timeout=30s",
    http => 'slidewin_zone $arg_k zone=hot:1m rate=70r/h algorithm=log
                           on_error=open deny_cache=off;
             slidewin_zone $arg_k zone=other:1m rate=1000r/h algorithm=log
                           on_error=closed;',
    server => 'location = /hot { slidewin zone=hot; empty_gif; }
               location = /other { slidewin zone=other; empty_gif; }');
my $nginx = $faults->nginx;

ok($faults->redis_answers(20), 'Redis is asked');
$faults->remember_workers;

my @hot = map { $nginx->client(timeout => 60) } 1 .. 60;
my @others = map { $nginx->client(timeout => 60) } 1 .. 20;
my (%hot, %other);

$_->get('/free') for @hot, @others;

# the second half comes when the reply to the first check is on its way
for my $round (1, 2) {
    $_->request('/hot?k=hot') for @hot[0 .. 29];
    $others[$_]->request("/other?k=$_") for 0 .. 9;
    SlidewinNginx::nap($way / 2);
    $_->request('/hot?k=hot') for @hot[30 .. 59];
    $others[$_]->request("/other?k=$_") for 10 .. 19;

    $hot{SlidewinFaults::summary($_->answer)}++ for @hot;
    $other{SlidewinFaults::summary($_->answer)}++ for @others;
}

sub tally {
    my (%count) = @_;

    return join ', ', map { "$count{$_} x $_" } sort keys %count;
}

is(tally(%hot), '70 x 200 PASSED redis, 50 x 429 REJECTED redis retry',
   '120 requests of a client that are often behind each other: its limit');
is(tally(%other), '40 x 200 PASSED redis', '... and others are decided');
is($faults->log_lines(qr/./), 0, '... there is nothing to log');

# behind a check whose client has left, and behind checks that were rejected
$_->request('/hot?k=left') for @hot;
SlidewinNginx::nap($way / 2);
$hot[0]->close;
%hot = ();
$hot{SlidewinFaults::summary($_->answer)}++ for @hot[1 .. 59];
is(tally(%hot), '59 x 200 PASSED redis', 'one leaves: those behind it go on');
is($faults->log_lines(qr/./), 0, '... and there is nothing to log');

$_->close for @hot[1 .. 59], @others;
$faults->ends_clean;

done_testing();
