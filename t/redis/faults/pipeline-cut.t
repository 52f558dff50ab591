# The connection ends in the middle of a pipeline, or more replies come than
# there were commands: replies that came before stand, for the rest on_error
# decides.

use strict;
use warnings;

use SlidewinFake;
use SlidewinFaults;
use Test::More;

my ($answered, $all) = (7, 20);

sub ends {
    my ($how) = @_;

    return sub {
        my ($c, $command) = @_;

        $c->{cut} //= $c->nth;
        my $n = $c->nth - $c->{cut};

        $c->send($c->answer($command)) if $n < $answered;

        if ($n == $all - 1) {
            $c->pause(0.1);
            $c->$how;
        }
    };
}

my $fake = SlidewinFake->start(modes => {
    fin => ends('fin'),
    rst => ends('rst'),
    none => sub { $_[0]->fin },
    reset => sub { $_[0]->rst },
    half => sub {
        my ($c, $command) = @_;

        $c->send(substr $c->answer($command), 0, 20);
        $c->fin;
    },

    # one reply too many: in one piece, later, or before the others
    twice => sub {
        my ($c, $command) = @_;

        $c->send($c->answer($command) x 2);
    },
    later => sub {
        my ($c, $command) = @_;
        my $answer = $c->answer($command);

        $c->send($answer);
        $c->pause(0.05);
        $c->send($answer);
    },
    stray => sub {
        my ($c, $command) = @_;
        my $answer = $c->answer($command);

        $c->{stray} //= $c->nth;
        $c->send($answer);
        $c->send($answer) if $c->nth == $c->{stray} + 4;
    },
    error => sub {
        my ($c, $command) = @_;

        $c->send($c->answer($command));
        $c->send("-ERR and another thing\r\n");
    },
    push => sub {
        my ($c, $command) = @_;

        $c->send(">2\r\n+invalidate\r\n*0\r\n" . $c->answer($command));
    },
});

# a timeout that no request is to wait for
my $faults = SlidewinFaults->start(
    url => $fake->url, redis => 'timeout=30s',
    http => join('', map {
        "slidewin_zone \$arg_k zone=many_$_:1m rate=12r/h algorithm=log"
        . " on_error=$_;\n"
    } @SlidewinFaults::MODES),
    server => join('', map {
        "location = /many_$_ { slidewin zone=many_$_; empty_gif; }\n"
    } @SlidewinFaults::MODES));
my $nginx = $faults->nginx;
my @clients = map { $nginx->client } 1 .. $all;

$_->get('/free') for @clients;
ok($faults->redis_answers, 'Redis is asked');
$faults->remember_workers;

sub tally {
    my %count;

    $count{$_}++ for @_;

    return join ', ', map { "$count{$_} x $_" } sort keys %count;
}

sub all_at_once {
    my ($uri) = @_;

    return $nginx->burst(\@clients, [map { ["$uri.$_"] } 1 .. $all]);
}

my %rest = (
    local => '13 x 200 PASSED fallback, 7 x 200 PASSED redis',
    open => '13 x 200 ERROR_PASSED fail_open, 7 x 200 PASSED redis',
    closed => '7 x 200 PASSED redis, 13 x 503 ERROR_REJECTED fail_closed',
);

for my $how (qw(fin rst)) {
    for my $mode (@SlidewinFaults::MODES) {
        ok($faults->redis_answers, 'Redis is asked');

        my $accepts = $fake->accepts;
        my $checks = $fake->checks($how);
        my @answers = all_at_once("/many_$mode?k=$how");
        my @told = map { SlidewinFaults::summary($_) } @answers;

        is(tally(@told), $rest{$mode},
           "$how after 7 of 20 answers, on_error=$mode has the rest");
        is($fake->checks($how) - $checks, $all, '... none was sent twice');
        cmp_ok((sort { $b <=> $a } SlidewinFaults::latencies(@answers))[0],
               '<', 15000, '... and none waited for the timeout');
        is(scalar(grep { length $_->{buffer} } @clients), 0,
           '... each was answered once');
        ok($faults->redis_answers, '... Redis is asked again');
        is($fake->accepts - $accepts, 1, '... on one new connection');
    }
}

for my $case (['none', 'FIN instead of an answer'],
              ['reset', 'RST instead of an answer'],
              ['half', 'FIN in an answer'])
{
    ok($faults->redis_answers, 'Redis is asked');

    my $lost = $faults->log_lines(qr/is lost/);

    $faults->fails($case->[1], $case->[0]);
    cmp_ok($faults->log_lines(qr/is lost/), '>', $lost,
           '... and is in the log');
}

$faults->recovers('after ends');

# A reply too many: the one to a command stands, but nothing after it.

for my $case (['twice', 'two answers in one piece'],
              ['later', 'another answer later'],
              ['error', 'an answer and an error'])
{
    my ($client, $name) = @$case;

    for my $mode (@SlidewinFaults::MODES) {
        ok($faults->redis_answers, 'Redis is asked');

        my $accepts = $fake->accepts;

        is($faults->ask($mode, $client, 1), '200 PASSED redis',
           "$name, on_error=$mode: the first is obeyed");
        SlidewinNginx::until_true(sub { $fake->accepts > $accepts }, 5);
        cmp_ok($fake->accepts, '>', $accepts, '... the connection is dropped');

        ok($faults->redis_answers, '... Redis is asked again');
        my $other = SlidewinFaults::fresh();
        is($faults->ask($mode, $other), $SlidewinFaults::DECIDED,
           '... and decides for another client by itself');
    }
}

cmp_ok($faults->log_lines(qr/is lost: it said more than was asked/), '>=', 9,
       'the reason is in the log');

for my $mode (@SlidewinFaults::MODES) {
    ok($faults->redis_answers, 'Redis is asked');

    my $checks = $fake->checks('stray');
    my @told = map { SlidewinFaults::summary($_) }
               all_at_once("/many_$mode?k=stray");

    is(scalar(grep { /redis/ } @told), 5, "an answer too many in a pipeline,"
       . " on_error=$mode: what came before it is obeyed");
    is($fake->checks('stray') - $checks, $all, '... all were asked, once');
    is(scalar(grep { /^200/ } @told),
       { local => 20, open => 20, closed => 5 }->{$mode},
       '... and as many are admitted as have a right to');
}

ok($faults->redis_answers, 'Redis is asked');
$faults->decides('a push in front of the answer', 'push');

# A server that always sends too much is reconnected to with pauses.

ok($faults->redis_answers, 'Redis is asked');
my $accepts = $fake->accepts;
my $lost = $faults->log_lines(qr/is lost/);
my $end = SlidewinNginx::now() + 2;
my $n = 0;

$fake->mode('twice');

while (SlidewinNginx::now() < $end) {
    $faults->get('/open?k=' . SlidewinFaults::fresh());
    $n++;
}

cmp_ok($n, '>', 100, "$n requests to one who always says too much");
cmp_ok($fake->accepts - $accepts, '<=', 12, '... do not bring as many'
       . ' connections');
cmp_ok($faults->log_lines(qr/is lost/) - $lost, '<=', 12, '... nor lines');

$fake->mode('well');
$faults->recovers('in the end');
$_->close for @clients;
$faults->ends_clean;

done_testing();
