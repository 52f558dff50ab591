# A Redis that does not answer, or not in time: a request waits for the timeout
# once, those after it do not, and an answer that is late decides nothing.

use strict;
use warnings;

use SlidewinFake;
use SlidewinFaults;
use SlidewinRedis;
use Test::More;

my %told = (
    local => '200 PASSED fallback', open => '200 ERROR_PASSED fail_open',
    closed => '503 ERROR_REJECTED fail_closed',
);

# Frozen, with fifty requests on their way and many after them.

my $timeout = 1000;

for my $workers (1, 2) {
    my $redis = SlidewinRedis->start;
    my $faults = SlidewinFaults->start(
        url => $redis->url, workers => $workers, connections => 2048,
        redis => "timeout=${timeout}ms");
    my $nginx = $faults->nginx;
    my @clients = $nginx->clients(50);
    my $name = "$workers worker" . ($workers > 1 ? 's' : '');

    my $all_well = sub {
        return SlidewinNginx::until_true(sub {
            !grep { $_->get('/well_local?k=w')->{header}{'x-source'}
                    ne 'redis' } @clients;
        }, 20);
    };

    ok($all_well->(), "$name: Redis is asked");
    $faults->note;

    my %tally = (
        local => '200 x2, 429 x48', open => '200 x50', closed => '503 x50',
    );

    for my $mode (@SlidewinFaults::MODES) {
        my $client = SlidewinFaults::fresh();
        my $lost = $faults->lines(qr/is lost: /);

        $redis->signal('STOP');

        my @answers = $nginx->burst(\@clients, [["/$mode?k=$client"]]);
        my @latencies = sort { $a <=> $b } SlidewinFaults::latencies(@answers);

        is(SlidewinNginx::tally(map { $_->{status} } @answers), $tally{$mode},
           "$name, frozen: on_error=$mode decides for those under way");
        cmp_ok($latencies[0], '>=', $timeout - 20,
               '... not before the timeout');
        cmp_ok($latencies[-1], '<', $timeout + 500 * SlidewinNginx::patience(),
               '... nor long after it');

        my @later = map { $clients[$_]->get("/$mode?k=later$client") } 0 .. 49;
        is(scalar(grep { $_ > $timeout / 2 } SlidewinFaults::latencies(@later)),
           0, '... those after them wait for nothing');
        is(SlidewinNginx::tally(map { $_->{status} } @later), $tally{$mode},
           '... and get as much');
        is($faults->lines(qr/is lost: no answer within the timeout/) - $lost,
           $workers, '... with one line of each worker');

        $redis->signal('CONT');
        ok($all_well->(), "$name, thawed: Redis is asked again");

        my @once = $nginx->burst(\@clients,
                                 [['/closed?k=' . SlidewinFaults::fresh()]]);
        is(SlidewinNginx::tally(map { $_->{status} } @once), '200 x2, 429 x48',
           '... and nothing that is late decides');
        is(scalar(grep { $_->{header}{'x-source'} eq 'redis' } @once), 50,
           '... but it does');
    }

    # a request or two an instant, while it is frozen for longer

    $redis->signal('STOP');

    my ($start, $waited, $n) = (SlidewinNginx::now(), 0, 0);

    while (SlidewinNginx::now() < $start + 3 || $n < 150) {
        my ($latency) = SlidewinFaults::latencies(
            $clients[++$n % 50]->get('/open?k=' . SlidewinFaults::fresh()));

        $waited++ if $latency > $timeout / 2;
        SlidewinNginx::nap(0.001);
    }

    cmp_ok($waited, '<=', $workers,
           "$name: of $n requests to a frozen Redis one of each worker waited");

    $redis->signal('CONT');
    ok($all_well->(), 'Redis is asked again');
    $faults->recovers($name);
    $faults->clean($name);
    $_->close for @clients;
    $redis->remove;
}

# Before the timeout and after it.

sub after {
    my ($seconds) = @_;

    return sub {
        my ($c, $command) = @_;
        my $answer = $c->answer($command);

        $c->pause($seconds);
        $c->send($answer);
    };
}

my $fake = SlidewinFake->start(modes => {
    before => after(0.5),
    late => after(2),
    # says nothing more on this connection, but takes others
    half_open => sub { $_[0]->mute },
    # answers at once, so that something was heard, and the next one late
    first => sub {
        my ($c, $command) = @_;

        $c->pause(0.3);
        $c->send($c->answer($command));
    },
    overdue => after(1.1),
});

$timeout = 1200;

my $faults = SlidewinFaults->start(
    url => $fake->url, redis => "timeout=${timeout}ms connect_timeout=20s");
my $nginx = $faults->nginx;
my %client = map { $_ => $nginx->client }
             qw(first overdue next), @SlidewinFaults::MODES;

$_->get('/free') for values %client;
ok($faults->well, 'Redis is asked');
$faults->note;

for my $mode (@SlidewinFaults::MODES) {
    my $before = $faults->get("/$mode?k=before");

    is(SlidewinFaults::told($before), '200 PASSED redis',
       "an answer before the timeout is obeyed, on_error=$mode");
    cmp_ok($before->{header}{'x-latency'}, '>=', 450, '... when it comes');

    my $accepts = $fake->accepts;
    my $late = $faults->get("/$mode?k=late");

    is(SlidewinFaults::told($late), $told{$mode},
       '... and one after it is not');
    cmp_ok($late->{header}{'x-latency'}, '>=', $timeout - 20,
           '... which is not known before');

    ok($faults->well, '... the next one is answered');
    is($fake->accepts - $accepts, 1, '... on a new connection');

    # it has counted one of the two, though it was not heard
    is($faults->ask($mode, 'before', 2),
       '200 PASSED redis, 429 REJECTED redis retry', '... and goes on');
    is($fake->checks('late'), { local => 1, open => 2, closed => 3 }->{$mode},
       '... and what was late is not asked again');
}

# Half open: gone without a word.

for my $mode (@SlidewinFaults::MODES) {
    ok($faults->well, 'Redis is asked');

    my $accepts = $fake->accepts;
    my $gone = $faults->get("/$mode?k=half_open");

    is(SlidewinFaults::told($gone), $told{$mode},
       "a connection that swallows all: on_error=$mode decides");
    cmp_ok($gone->{header}{'x-latency'}, '>=', $timeout - 20,
           '... after the timeout');
    ok(SlidewinNginx::until_true(sub { $fake->accepts > $accepts }, 10),
       '... the connection is replaced');
    ok($faults->well, '... and Redis is asked again');
    is($faults->ask($mode, SlidewinFaults::fresh()), $SlidewinFaults::DECIDED,
       '... and decides');
}

# one that is idle is looked at by the kernel: its keepalive timer runs

my $port = sprintf '%04X', $fake->port;

ok(scalar(grep {
    my (undef, $local, $remote, $state, undef, $timer) = split;
    $remote =~ /:$port$/ && $state eq '01' && $timer =~ /^02:/;
} split /\n/, SlidewinNginx::_slurp('/proc/net/tcp')),
   'an idle connection is kept under watch');

# Late on a connection that is kept, because others were answered on it.

for my $mode (@SlidewinFaults::MODES) {
    ok($faults->well, 'Redis is asked');

    my $accepts = $fake->accepts;

    # 0.3 s for the first, 1.1 s more for the one after it: 0.2 s too late
    $client{first}->request("/$mode?k=first");
    SlidewinNginx::nap(0.02);
    $client{overdue}->request("/$mode?k=overdue");
    SlidewinNginx::nap(0.6);
    my $next = SlidewinFaults::fresh();
    $client{next}->request("/$mode?k=$next");

    is(SlidewinFaults::told($client{first}->answer), '200 PASSED redis',
       "two in a pipeline, on_error=$mode: the first is in time");
    is(SlidewinFaults::told($client{overdue}->answer), $told{$mode},
       '... the second is not');
    is(SlidewinFaults::told($client{next}->answer), '200 PASSED redis',
       '... and its answer is not the third\'s');
    is($fake->accepts, $accepts, '... all on the same connection');
    is($faults->ask($mode, $next, 2),
       '200 PASSED redis, 429 REJECTED redis retry',
       '... which goes on as if nothing had been')
        or diag join '', $nginx->errors(qr/slidewin redis/);
}

$faults->recovers('in the end');
$_->close for values %client;
$faults->clean('late');

done_testing();
