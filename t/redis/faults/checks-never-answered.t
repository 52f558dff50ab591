# A connection completes its handshake and replies to TIME, but never to a
# check: that it sends something does not make it healthy. It is left after one
# timeout.

use strict;
use warnings;

use SlidewinFake;
use SlidewinFaults;
use Test::More;

my $timeout = 2;
my $patience = SlidewinNginx::patience();

# The first connection is closed at once, the second ignores checks, the others
# are healthy.
my $fake = SlidewinFake->start(mode => 'odd', modes => {
    odd => {
        accept => sub {
            my ($c) = @_;

            $c->{place} = $c->{server}{stats}{accepts};
            $c->fin if $c->{place} == 1;
        },
        check => sub {
            my ($c, $command) = @_;

            $c->honest($command) if $c->{place} > 2;
        },
    },
});
my $faults = SlidewinFaults->start(
    url => $fake->url, redis => "timeout=${timeout}s");
my $nginx = $faults->nginx;

sub time_asked { return $fake->stats->{commands}{TIME} // 0 }

ok(SlidewinNginx::until_true(sub { time_asked() == 1 }, 20 * $patience),
   'the second connection is greeted');

# TIME is sent again with the first check after a second, for an algorithm that
# does not leave the time to Redis
SlidewinNginx::nap(1.5);

my $answer = $faults->get('/well_closed?k=first');

is(SlidewinFaults::summary($answer), '503 ERROR_REJECTED fail_closed',
   'a check is swallowed');
is(time_asked(), 2, '... though the time is told');
ok($faults->redis_answers(20),
   '... and the connection is left for one that answers');
is($fake->accepts, 3, '... which is the next');
$faults->remember_workers;

# When one check is given up while another was answered, the watchdog goes on:
# the connection is left when nothing was answered for a timeout, though no
# further check is sent.

my ($first, $second) = map { $nginx->client(timeout => 60) } 1, 2;
my $lost = $faults->log_lines(qr/is lost/);

$fake->mode('hold');
$first->request('/closed?k=first.1');
$second->request('/closed?k=first.2');
ok(SlidewinNginx::until_true(sub { $fake->checks('first') == 3 },
                             20 * $patience), 'two are asked for');
SlidewinNginx::nap($timeout / 2);
$fake->release(first => 1);
is(SlidewinFaults::summary($first->answer), '200 PASSED redis',
   '... one in time');
is(SlidewinFaults::summary($second->answer), '503 ERROR_REJECTED fail_closed',
   '... the other is given up');
is($faults->log_lines(qr/is lost/), $lost,
   '... and the connection is not, yet');
ok(SlidewinNginx::until_true(sub { $fake->accepts == 4 }, 20 * $patience),
   '... until it has said nothing for a timeout');
is($faults->log_lines(qr/is lost: no answer within the timeout/), $lost + 1,
   '... which the log tells');
$fake->mode('well');
ok($faults->redis_answers(20), '... and Redis is asked again');

$_->close for $first, $second;
$faults->ends_clean;

done_testing();
