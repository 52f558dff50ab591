# The address of a Redis changes: replies on the old connection are waited for,
# new checks wait for the new connection, and neither for ever.

use strict;
use warnings;

use SlidewinDNS;
use SlidewinFake;
use SlidewinFaults;
use SlidewinNginx;
use SlidewinPreload;
use SlidewinRedis;
use Test::More;

my $dns = SlidewinDNS->start;
my $fake = SlidewinFake->start(modes => {
    # takes its time to reply NOSCRIPT
    forgetful => sub {
        my ($c, $command) = @_;

        return $c->honest($command) if uc $command->[0] eq 'EVAL';
        $c->pause(5);
        $c->send("-NOSCRIPT No matching script. Please use EVAL.\r\n");
    },
});
my $redis = SlidewinRedis->start(args => ['--bind', '127.0.0.2'],
                                 port => $fake->port);
my $patience = 10 * SlidewinNginx::patience();

sub start {
    my ($connect_timeout) = @_;

    $redis->command('FLUSHALL');
    $dns->has('redis.example', '127.0.0.1');

    my $faults = SlidewinFaults->start(
        url => 'redis://redis.example:' . $fake->port,
        redis => "timeout=50s connect_timeout=$connect_timeout",
        http => "resolver @{[$dns->address]} valid=1s ipv6=off;",
        env => { LD_PRELOAD => SlidewinPreload::library('names'),
                 SLIDEWIN_NAME => 'redis.example' });

    ok($faults->redis_answers, "$connect_timeout: Redis is asked");
    $faults->remember_workers;

    return $faults;
}

# sends a check, and is not answered before nginx has left the server
sub asks_and_leaves {
    my ($faults, $mode) = @_;
    my $checks = $fake->checks($mode);
    my $client = $faults->nginx->asks("/closed?k=$mode");

    ok(SlidewinNginx::until_true(sub { $fake->checks($mode) > $checks },
                                 $patience), 'one is asked');
    $dns->has('redis.example', '127.0.0.2');
    ok($faults->nginx->logged(qr/is no longer at 127\.0\.0\.1$/, 10),
       '... the server has moved meanwhile');

    return $client;
}


# It replies in its own time.

my $faults = start('40s');
my $asked = asks_and_leaves($faults, 'hold');
my @late = map { $faults->nginx->asks("/closed?k=late$_") } 1 .. 5;

SlidewinNginx::nap(0.5);
ok(!$asked->answered, 'what was asked is waited for');
is(scalar(grep { $_->answered } @late), 0,
   '... and so do those who came later');
is($redis->command('DBSIZE'), 0, '... no check is sent twice');

$fake->release;
is(SlidewinFaults::summary($asked->answer), '200 PASSED redis',
   'it answers: that is what the request gets');
is(join(', ', map { SlidewinFaults::summary($_->answer) } @late),
   join(', ', ('200 PASSED redis') x 5), '... those who came later as well');
is(join(' ', map { $fake->checks("late$_") } 1 .. 5), '0 0 0 0 0',
   '... not from there');
is($redis->command('DBSIZE'), 5, '... but from the new server');
is($redis->command('EXISTS', 'sw:{hold}:closed'), 0,
   '... which does not know the first');
is($faults->log_lines(qr/(?:is lost|cannot be reached)/), 0,
   '... nothing was lost');
$_->close for $asked, @late;
$faults->ends_clean('it answers');


# It has forgotten the script: the check that sends it again is waited for as
# well.

$faults = start('40s');
$asked = asks_and_leaves($faults, 'forgetful');
is(SlidewinFaults::summary($asked->answer), '200 PASSED redis',
   'a script that is gone: it is brought along');
is($fake->stats->{commands}{EVAL}, 1, '... to who was asked');
is(SlidewinFaults::summary($faults->get('/closed?k=after')), '200 PASSED redis',
   '... and then it moves');
is($redis->command('EXISTS', 'sw:{after}:closed'), 1, '... indeed');
$asked->close;
$faults->ends_clean('a script that is gone');


# It does not reply: it is left all the same.

$faults = start('3s');
$asked = asks_and_leaves($faults, 'silent');
is(SlidewinFaults::summary($faults->get('/closed?k=later')), '200 PASSED redis',
   'it is silent: the new server decides before long');
is($redis->command('EXISTS', 'sw:{later}:closed'), 1, '... itself');
is(SlidewinFaults::summary($asked->answer), '503 ERROR_REJECTED fail_closed',
   '... and on_error for what had been asked');
$asked->close;
$faults->ends_clean('it is silent');

done_testing();
