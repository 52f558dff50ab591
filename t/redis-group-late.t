# Those that go together behind one that takes long: they are late, but the
# connection is not silent, and others on it are decided.

use strict;
use warnings;

use SlidewinFake;
use SlidewinFaults;
use Test::More;

# half of it lies between those that are late and those that are not
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

    return SlidewinFaults::told($client->answer);
}

# until so many were asked for
sub asked {
    my ($key, $n) = @_;

    return SlidewinNginx::until_true(sub { $fake->checks($key) == $n },
                                     20 * SlidewinNginx::patience());
}

ok($faults->well, 'Redis is asked');
$faults->note;

# Slow, but in time. The second is asked for when the first is answered, and is
# late then; a third of another client is not.

$fake->mode('hold');

my ($first, $second, $third) = map { $nginx->client } 1 .. 3;

$first->request('/t?k=hot');
ok(asked('hot', 1), 'one is asked for');
$second->request('/t?k=hot');
ok($nginx->busy(2), '... and one waits behind it');
SlidewinNginx::nap($timeout / 2);
$fake->release;
is(told($first), '200 PASSED redis', 'one that takes long');
ok(asked('hot', 2), '... then the other is asked for');
$third->request('/t?k=cold');
is(told($second), '503 ERROR_REJECTED fail_closed', '... which is late');
$fake->release;
is(told($third), '200 PASSED redis', '... and no reason to refuse another');
is($faults->lines(qr/is lost/), 0, '... nor to leave the connection');

# Six of one client are late, though the connection is heard of, and Redis is
# given up. The one that tries it out goes by itself, not behind the first of
# those, whose answer is still to come.

my ($heard, $probe, @crowd) = map { $nginx->client } 1 .. 8;

$heard->request('/t?k=heard');
ok(asked('heard', 1), 'one before them');
$_->request('/t?k=crowd') for @crowd;
ok($nginx->busy(7), '... and six of one client');
SlidewinNginx::nap($timeout / 2);
$fake->release(first => 1);
is(told($heard), '200 PASSED redis', '... it is answered');
is(SlidewinNginx::tally(map { $_->answer->{status} } @crowd), '503 x6',
   '... they are late');
ok($nginx->logged(qr/is not asked for a while/), '... and Redis is given up');
SlidewinNginx::nap(0.2);
$probe->request('/t?k=crowd');
ok(asked('crowd', 2), '... until the next of them tries it out');
$fake->mode('well');
$fake->release;
is(told($probe), '200 PASSED redis', '... and is answered');
is($faults->lines(qr/is lost/), 0, '... on the same connection');
is($fake->accepts, 1, '... which is the first');

$_->close for $first, $second, $third, $heard, $probe, @crowd;
$faults->clean;

done_testing();
