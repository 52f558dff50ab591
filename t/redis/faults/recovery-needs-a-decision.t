# A Redis that completes the handshake but decides nothing, as a replica or
# because it is always slower than the timeout, is lost once: it counts as back
# only when it has answered a check.

use strict;
use warnings;

use SlidewinFake;
use SlidewinFaults;
use SlidewinRedis;
use Test::More;

my $faults;

# requests for some seconds; whether Redis decided none of them
sub ask_for {
    my ($seconds) = @_;
    my $end = SlidewinNginx::now() + $seconds;
    my $decided = 0;

    while (SlidewinNginx::now() < $end) {
        $decided++ if $faults->get('/open?k=' . SlidewinFaults::fresh())
                      ->{header}{'x-source'} ne 'fail_open';
        SlidewinNginx::nap(0.01);
    }

    return $decided == 0;
}

sub stays_lost {
    my ($name) = @_;

    ok(ask_for(4), "$name: it decides nothing");
    is($faults->log_lines(qr/(?:is lost|cannot be reached)/), 1,
       '... it is lost once');
    is($faults->log_lines(qr/is (?:back|asked again)/), 0,
       '... and never back');
    cmp_ok($faults->log_lines(qr/./), '<=', 4, '... with few words')
        or diag(join '', $faults->nginx->errors(qr/slidewin redis/));

    return;
}

sub comes_back {
    my ($name) = @_;

    is($faults->log_lines(qr/is back/), 0, "$name: it is not back yet");
    $faults->recovers($name);
    is($faults->log_lines(qr/is back/), 1, '... it is back, once');
    is($faults->log_lines(qr/(?:is lost|cannot be reached)/), 1,
       '... and not lost again');
    $faults->ends_clean($name);

    return;
}

# A master that becomes a replica.

my $redis = SlidewinRedis->start;

$faults = SlidewinFaults->start(url => $redis->url, redis => 'timeout=2s');
ok($faults->redis_answers, 'Redis is asked');
$faults->remember_workers;

$redis->command('REPLICAOF', '127.0.0.1', SlidewinRedis::free_port());
stays_lost('a replica');

$redis->command('REPLICAOF', 'NO', 'ONE');
comes_back('a master again');
$redis->remove;

# A server that completes the handshake at once, and takes too long for each
# check.

my $slow = sub {
    my ($c, $command) = @_;
    my $answer = $c->answer($command);

    $c->pause(2);
    $c->send($answer);
};

my $fake = SlidewinFake->start(modes => { slow => $slow });

$faults = SlidewinFaults->start(url => $fake->url,
                                redis => 'timeout=500ms connect_timeout=20s');
ok($faults->redis_answers, 'Redis is asked');
$faults->remember_workers;

$fake->mode('slow');
stays_lost('slower than the timeout');

$fake->mode('well');
comes_back('as fast as before');

# A server that completes the handshake and is silent then: being connected is
# not being back.

$fake = SlidewinFake->start;
$faults = SlidewinFaults->start(url => $fake->url,
                                redis => 'timeout=1s connect_timeout=20s');
ok($faults->redis_answers, 'Redis is asked');
$faults->remember_workers;

my $accepts = $fake->accepts;

$fake->mode('silent');
$faults->get('/open?k=silent');
ok(SlidewinNginx::until_true(sub { $fake->accepts > $accepts }, 10),
   'lost, and connected anew');
SlidewinNginx::nap(0.5);
is($faults->log_lines(qr/is lost: no answer within the timeout/), 1,
   '... which is said once');

$fake->mode('well');
SlidewinNginx::nap(0.5);
comes_back('when it answers');

done_testing();
