# A probe whose connection is lost has failed: the next one follows after the
# pause, not after the longer time that a probe without a reply is given.

use strict;
use warnings;

use SlidewinFake;
use SlidewinFaults;
use Test::More;

# the time for a probe without a reply
my $unheard = 2;

my $fake = SlidewinFake->start(modes => {
    error => sub { $_[0]->send("-ERR no\r\n") },
    fin => sub { $_[0]->fin },
    rst => sub { $_[0]->rst },
    torn => sub { $_[0]->send("*3\r\n:1"); $_[0]->fin },
    foreign => sub { $_[0]->send(SlidewinFake::reply((7) x 8)) },
});

for my $end (qw(fin rst torn foreign)) {
    my $faults = SlidewinFaults->start(url => $fake->url,
                                       redis => 'timeout=5s');

    $fake->mode('well');
    ok($faults->redis_answers, 'Redis is asked');
    $faults->remember_workers;

    $fake->mode('error');
    is($faults->ask('open', SlidewinFaults::fresh(), 5),
       join(', ', ('200 ERROR_PASSED fail_open') x 5), 'five errors');
    is($faults->log_lines(qr/is not asked for a while/), 1,
       '... and it is not asked for a while');

    $fake->mode($end);

    # the one request that is let through
    my $checks = $fake->checks;
    ok(SlidewinNginx::until_true(sub {
        $faults->get('/open?k=probe');
        $fake->checks > $checks;
    }, 10), "$end: a probe ...");
    my $lost = SlidewinNginx::now();
    is($fake->checks - $checks, 1, '... one');

    $fake->mode('well');
    ok(SlidewinNginx::until_true(sub {
        $faults->get('/open?k=' . SlidewinFaults::fresh())
            ->{header}{'x-source'} eq 'redis';
    }, 10), '... another one, which is answered');
    cmp_ok(SlidewinNginx::now() - $lost, '<', $unheard * 0.75,
           '... before the first would be thought of as unheard');
    is($faults->log_lines(qr/is asked again/), 1, '... it is asked again');

    $faults->recovers($end);
    $faults->ends_clean($end);
}

done_testing();
