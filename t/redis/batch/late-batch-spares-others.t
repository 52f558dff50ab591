# A batch behind a slow check: its requests time out, but the connection is not
# silent, and other requests on it are decided.

use strict;
use warnings;

use SlidewinFake;
use SlidewinFaults;
use Test::More;

# half a timeout lies between those that are late and those that are not
my $timeout = 4;
my $fake = SlidewinFake->start;
my $faults = SlidewinFaults->start(
    url => $fake->url, redis => "timeout=${timeout}s",
    http => 'slidewin_zone $arg_k zone=one:1m rate=1000r/h algorithm=log
                           on_error=closed;',
    server => 'location = /t { slidewin zone=one; empty_gif; }');
my $nginx = $faults->nginx;

sub told {
    my ($client) = @_;

    return SlidewinFaults::summary($client->answer);
}

# until so many checks were sent
sub asked {
    my ($key, $n) = @_;

    return SlidewinNginx::until_true(sub { $fake->checks($key) == $n },
                                     20 * SlidewinNginx::patience());
}

ok($faults->redis_answers, 'Redis is asked');
$faults->remember_workers;

# Slow, but in time. The second check is sent when the first is answered, and
# has a whole timeout from then on; a third, of another client, is sent then.

$fake->mode('hold');

my ($first, $second, $third) = map { $nginx->client(timeout => 60) } 1 .. 3;

$first->request('/t?k=hot');
ok(asked('hot', 1), 'one is asked for');
$second->request('/t?k=hot');
ok($nginx->busy(2), '... and one waits behind it');
SlidewinNginx::nap($timeout / 2);
$fake->release;
is(told($first), '200 PASSED redis', 'one that takes long');
ok(asked('hot', 2), '... then the other is asked for');
SlidewinNginx::nap($timeout * 0.7);
ok(!$second->answered, '... and has its own time');
$third->request('/t?k=cold');
ok(asked('cold', 1), '... as has another');
$fake->release;
is(told($second), '200 PASSED redis', '... in which it is decided');
is(told($third), '200 PASSED redis', '... and so is the other');
is($faults->log_lines(qr/./), 0, '... there is nothing to log');

# One is late, and the batch behind it goes without it: together they are one
# failure of Redis, however many they are.

my ($early, $leader, @behind) = map { $nginx->client(timeout => 60) } 1 .. 12;

$early->request('/t?k=early');
ok(asked('early', 1), 'one before them');
$leader->request('/t?k=late');
ok(asked('late', 1), '... and one that will be late');
$_->request('/t?k=late') for @behind;
ok($nginx->busy(12), '... and ten behind it');
SlidewinNginx::nap($timeout / 2);
$fake->release(first => 1);
is(told($early), '200 PASSED redis', '... the first is answered');
is(told($leader), '503 ERROR_REJECTED fail_closed', '... one is late');
ok(asked('late', 2), '... and those behind it are asked for');
$fake->mode('well');
$fake->release;
is(SlidewinNginx::tally(map { $_->answer->{status} } @behind), '200 x10',
   '... and decided');
is($faults->log_lines(qr/is (?:lost|not asked)/), 0, '... and Redis is asked');

# Six are late, though the connection is not silent, and the breaker opens. The
# probe goes by itself, not behind the first of them, whose reply is still to
# come.

my ($heard, $probe, @crowd) = map { $nginx->client(timeout => 60) } 1 .. 8;

$fake->mode('hold');
$heard->request('/t?k=heard');
ok(asked('heard', 1), 'one before them');
$crowd[$_]->request("/t?k=crowd.$_") for 0 .. 5;
ok(asked('crowd', 6), '... and six clients');
SlidewinNginx::nap($timeout / 2);
$fake->release(first => 1);
is(told($heard), '200 PASSED redis', '... it is answered');
is(SlidewinNginx::tally(map { $_->answer->{status} } @crowd), '503 x6',
   '... they are late');
ok($nginx->logged(qr/is not asked for a while/), '... and Redis is given up');
SlidewinNginx::nap(0.2);
$probe->request('/t?k=crowd.0');
ok(asked('crowd', 7), '... until the next of them tries it out');
$fake->mode('well');
$fake->release;
is(told($probe), '200 PASSED redis', '... and is answered');
is($faults->log_lines(qr/is lost/), 0, '... on the same connection');
is($fake->accepts, 1, '... which is the first');

$_->close for $first, $second, $third, $early, $leader, @behind,
                 $heard, $probe, @crowd;
$faults->ends_clean;

done_testing();
