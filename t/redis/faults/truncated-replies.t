# A reply that comes in pieces is waited for; one that never ends is given up at
# the timeout.

use strict;
use warnings;

use SlidewinFake;
use SlidewinFaults;
use Test::More;

my $timeout = 150;

# the client's name says how much of the reply it gets
my %modes = map {
    my $n = $_;
    ("first$n" => sub {
        my ($c, $command) = @_;

        $c->send(substr $c->answer($command), 0, $n);
        $c->mute;
    });
} 1 .. 200;

my $fake = SlidewinFake->start(modes => {
    %modes,
    bytes => sub {
        my ($c, $command) = @_;

        $c->trickle($c->answer($command), 0.001);
    },
    halves => sub {
        my ($c, $command) = @_;
        my $answer = $c->answer($command);

        $c->send(substr $answer, 0, length($answer) / 2);
        $c->pause(0.3);
        $c->send(substr $answer, length($answer) / 2);
    },
});

my $patient = SlidewinFaults->start(url => $fake->url, redis => 'timeout=20s');

ok($patient->redis_answers, 'Redis is asked');
$patient->remember_workers;

$patient->decides('a byte at a time', 'bytes');
$patient->decides('in two halves', 'halves');
is($fake->accepts, 1, 'all on one connection');
$patient->ends_clean('in pieces');

my $faults = SlidewinFaults->start(url => $fake->url, apart => 1,
                                   redis => "timeout=${timeout}ms");
my $nginx = $faults->nginx;
my %client = map { $_ => $nginx->client } @SlidewinFaults::MODES;

$_->get('/free') for values %client;
ok($faults->redis_answers, 'Redis is asked again');
$faults->remember_workers;

my %told = (
    local => '200 PASSED fallback', open => '200 ERROR_PASSED fail_open',
    closed => '503 ERROR_REJECTED fail_closed',
);

my (%other, @early);
my $n = 0;

# the same length for all: that of the first request of a client
$faults->get('/closed?k=' . SlidewinFaults::fresh());
my $length = $fake->stats->{length};

while (++$n < $length) {
    $faults->redis_answers or last;

    $client{$_}->request("/$_?k=first$n") for keys %client;

    for my $mode (sort keys %client) {
        my $answer = $client{$mode}->answer;
        my $told = SlidewinFaults::summary($answer);

        push @{$other{$mode}}, "$n: $told" if $told ne $told{$mode};
        push @early, $n if $answer->{header}{'x-latency'} < $timeout - 20;
    }

    my $asked = $fake->checks("first$n");
    push @{$other{asked}}, "$n: $asked" if $asked != 3;
}

is($n, $length, "an answer of $length cut after each of its bytes");
is(join(', ', @{$other{$_} // []}), '', "... on_error=$_ decides")
    for @SlidewinFaults::MODES;
is(join(', ', @{$other{asked} // []}), '', '... and each was asked once');
is("@early", '', '... at the timeout, not before');

$faults->recovers('in the end');
$_->close for values %client;
$faults->ends_clean;

done_testing();
