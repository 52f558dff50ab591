# A Redis that does not answer, or not in time: a request waits for the timeout
# once, later ones do not, and a late reply decides nothing.

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

# Frozen, with fifty requests in flight and many after them.

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
    $faults->remember_workers;

    my %tally = (
        local => '200 x2, 429 x48', open => '200 x50', closed => '503 x50',
    );

    for my $mode (@SlidewinFaults::MODES) {
        my $client = SlidewinFaults::fresh();
        my $lost = $faults->log_lines(qr/is lost: /);

        $redis->signal('STOP');

        my @answers = $nginx->burst(\@clients, [["/$mode?k=$client"]]);
        my @latencies = sort { $a <=> $b } SlidewinFaults::latencies(@answers);

        is(SlidewinNginx::tally(map { $_->{status} } @answers), $tally{$mode},
           "$name, frozen: on_error=$mode decides for those under way");
        cmp_ok($latencies[0], '>=', $timeout - 20,
               '... not before the timeout');
        cmp_ok($latencies[-1], '<', $timeout + 3000 * SlidewinNginx::patience(),
               '... nor long after it');

        my @later = map { $clients[$_]->get("/$mode?k=later$client") } 0 .. 49;
        is(scalar(grep { $_ > $timeout / 2 } SlidewinFaults::latencies(@later)),
           0, '... those after them wait for nothing');
        is(SlidewinNginx::tally(map { $_->{status} } @later), $tally{$mode},
           '... and get as much');
        is($faults->log_lines(qr/is lost: no answer within the timeout/)
               - $lost,
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

    # a request or two at a time, while it is frozen for longer

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
    $faults->ends_clean($name);
    $_->close for @clients;
    $redis->remove;
}

# Shorter and longer than the timeout, on a connection for each on_error.

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
    late => after(4),
    # is silent on this connection, but accepts others
    half_open => sub { $_[0]->mute },
});

$timeout = 2000;

my $faults = SlidewinFaults->start(
    url => $fake->url, apart => 1, redis => "timeout=${timeout}ms");
my $nginx = $faults->nginx;
my @modes = @SlidewinFaults::MODES;
my $accepts;
my %client = map {
    $_ => { map { $_ => $nginx->client } qw(first overdue next) }
} @modes;

# one of each on_error at the same time
sub request {
    my ($name, $key) = @_;

    $client{$_}{$name}->request("/$_?k=$key") for @modes;

    return;
}

sub answers {
    my ($name) = @_;

    return map { $_ => $client{$_}{$name}->answer } @modes;
}

sub ask {
    my ($key) = @_;

    request('first', $key);

    return answers('first');
}

# the same, and no other command is sent, such as TIME, whose reply would
# arrive: it was sent just before. Returns how often it took, and the answers
sub ask_alone {
    my ($key) = @_;
    my (%answers, $tries);

    for (1 .. 5) {
        ok($faults->redis_answers, 'Redis is asked');
        ask(SlidewinFaults::fresh());
        $accepts = $fake->accepts;

        my $times = $fake->stats->{commands}{TIME};

        %answers = ask("$key.$_");
        $tries = $_;
        last if $fake->stats->{commands}{TIME} == $times;
    }

    return $tries, %answers;
}

sub asked {
    my ($key, $n) = @_;

    return SlidewinNginx::until_true(sub { $fake->checks($key) == $n },
                                     10 * SlidewinNginx::patience());
}

$_->get('/free') for map { values %$_ } values %client;
ok($faults->redis_answers, 'Redis is asked');
$faults->remember_workers;

my %before = ask('before');
my ($tries, %late) = ask_alone('late');

for my $mode (@modes) {
    is(SlidewinFaults::summary($before{$mode}), '200 PASSED redis',
       "an answer before the timeout is obeyed, on_error=$mode");
    cmp_ok($before{$mode}{header}{'x-latency'}, '>=', 450,
           '... when it comes');
    is(SlidewinFaults::summary($late{$mode}), $told{$mode},
       '... and one after it is not');
    cmp_ok($late{$mode}{header}{'x-latency'}, '>=', $timeout - 20,
           '... which is not known before');
}

ok($faults->redis_answers, 'the next ones are answered');
is($fake->accepts - $accepts, 3, '... on new connections');

# it has counted one of the two, though its reply did not arrive
my @after = map { { ask('before') } } 1, 2;

is(join(', ', map { SlidewinFaults::summary($_) } $after[0]{$_}, $after[1]{$_}),
   '200 PASSED redis, 429 REJECTED redis retry', "... and goes on, on_error=$_")
    for @modes;
is($fake->checks('late'), 3 * $tries,
   '... and what was late is not asked again');

# Half open: the peer is gone without closing.

my (undef, %gone) = ask_alone('half_open');

for my $mode (@modes) {
    is(SlidewinFaults::summary($gone{$mode}), $told{$mode},
       "a connection that swallows all: on_error=$mode decides");
    cmp_ok($gone{$mode}{header}{'x-latency'}, '>=', $timeout - 20,
           '... after the timeout');
}

ok($faults->redis_answers, '... and Redis is asked again');
is($fake->accepts - $accepts, 3, '... on new connections');
$faults->decides('... and decides');

# the kernel watches an idle connection: its keepalive timer runs

my $port = sprintf '%04X', $fake->port;

ok(scalar(grep {
    my (undef, $local, $remote, $state, undef, $timer) = split;
    $remote =~ /:$port$/ && $state eq '01' && $timer =~ /^02:/;
} split /\n/, SlidewinNginx::slurp('/proc/net/tcp')),
   'an idle connection is kept under watch');

# Late on a connection that is kept, because other checks were answered on it.

my ($first, $overdue, $next) = map { SlidewinFaults::fresh() } 1 .. 3;

ok($faults->redis_answers, 'Redis is asked');
$accepts = $fake->accepts;
$fake->mode('hold');

request('first', $first);
ok(asked($first, 3), 'one is on its way');
request('overdue', $overdue);
ok(asked($overdue, 3), '... and one behind it');
SlidewinNginx::nap($timeout / 2000);
$fake->release(first => 1);
request('next', $next);
ok(asked($next, 3), '... and a third, when the first is answered');

my %first = answers('first');
my %overdue = answers('overdue');

$fake->mode('well');
$fake->release;

my %next = answers('next');

for my $mode (@modes) {
    is(SlidewinFaults::summary($first{$mode}), '200 PASSED redis',
       "three in a pipeline, on_error=$mode: the first is in time");
    is(SlidewinFaults::summary($overdue{$mode}), $told{$mode},
       '... the second is not');
    is(SlidewinFaults::summary($next{$mode}), '200 PASSED redis',
       '... and its answer is not the third\'s');
}

is($fake->accepts, $accepts, '... all on the same connections');
is($faults->ask($_, $next, 2), '200 PASSED redis, 429 REJECTED redis retry',
   "... which go on as if nothing had been, on_error=$_")
    for @modes;

$faults->recovers('in the end');
$_->close for map { values %$_ } values %client;
$faults->ends_clean('late');

done_testing();
