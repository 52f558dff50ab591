# A Redis that is down when nginx starts, or goes down at once with checks in
# flight.

use strict;
use warnings;

use SlidewinFaults;
use SlidewinRedis;
use Test::More;

sub slowest {
    return (sort { $b <=> $a } SlidewinFaults::latencies(@_))[0];
}

# crowd NAME, CLIENT: fifty requests of one client at once in each mode;
# on_error decides
sub crowd {
    my ($faults, $clients, $name, $client) = @_;
    my @all;

    for my $mode (@SlidewinFaults::MODES) {
        my @answers = $faults->nginx->burst($clients, [["/$mode?k=$client"]]);
        my %want = (
            local => "200 x2, 429 x48", open => "200 x50", closed => "503 x50",
        );
        my %source = (
            local => 'fallback', open => 'fail_open', closed => 'fail_closed',
        );

        is(SlidewinNginx::tally(map { $_->{status} } @answers), $want{$mode},
           "$name, 50 at once: on_error=$mode decides");
        is(scalar(grep { $_->{header}{'x-source'} eq $source{$mode} } @answers),
           50, '... and says so');
        is(scalar(grep { defined $_->{header}{'retry-after'} } @answers),
           $mode eq 'local' ? 48 : 0, '... with Retry-After where it is known');
        push @all, @answers;
    }

    return @all;
}

for my $workers (1, 2) {
    my $redis = SlidewinRedis->start;
    my $name = "$workers worker" . ($workers > 1 ? 's' : '');

    $redis->kill;

    my $faults = SlidewinFaults->start(
        url => $redis->url, workers => $workers, redis => 'timeout=20s');
    my $nginx = $faults->nginx;

    # connection refused: no request waits, and the log does not fill

    ok($nginx->logged(qr/slidewin redis "127.0.0.1:\d+" cannot be reached: /),
       "$name, down at start: it is in the log");

    SlidewinNginx::until_true(sub {
        $faults->log_lines(qr/cannot be reached: /) >= $workers;
    }, 10);

    my @clients = $nginx->clients(50);

    $faults->fails("$name, down at start");
    my @answers = crowd($faults, \@clients, "$name, down at start", 'start');
    cmp_ok(slowest(@answers), '<', 10000, '... and no request waits');

    SlidewinNginx::nap(0.5);
    is($faults->log_lines(qr/cannot be reached: Connection refused/), $workers,
       '... with one line of each worker');

    ok($redis->run, "$name: Redis is started");
    $faults->recovers("$name, started later");
    ok($nginx->logged(qr/slidewin redis .* is back/), '... as the log says');

    # on all connections of all workers
    ok(SlidewinNginx::until_true(sub {
        !grep { $_->get('/well_local?k=w')->{header}{'x-source'} ne 'redis' }
            @clients;
    }, 10), '... to each worker');
    is($faults->log_lines(qr/is back/), $workers, '... with one line of each');
    $faults->remember_workers;

    # killed with commands in flight: it is stopped first, so that there are
    # some

    for my $round (1, 2) {
        my $client = SlidewinFaults::fresh();
        my @more = map { $nginx->clients(20) } @SlidewinFaults::MODES;
        my $lost = $faults->log_lines(qr/is lost: /);

        # each worker reconnects in its own time
        ok(SlidewinNginx::until_true(sub {
            !grep { $_->get('/well_local?k=w')->{header}{'x-source'}
                    ne 'redis' } @more;
        }, 10 * SlidewinNginx::patience()), "$name: Redis is asked by all");
        $redis->signal('STOP');

        for my $i (0 .. $#more) {
            my $mode = $SlidewinFaults::MODES[$i / 20];
            $more[$i]->request("/$mode?k=$client");
        }

        ok($nginx->busy(60), '... and 60 wait for it');

        my $start = SlidewinNginx::now();
        $redis->kill('KILL');
        my @answers = map { $_->answer } @more;

        cmp_ok(SlidewinNginx::now() - $start, '<', 10,
               "$name, killed with 60 checks under way: none waits for more");

        my %tally = (
            local => '200 x2, 429 x18', open => '200 x20', closed => '503 x20',
        );

        for my $mode (@SlidewinFaults::MODES) {
            my @of = splice @answers, 0, 20;
            is(SlidewinNginx::tally(map { $_->{status} } @of), $tally{$mode},
               "... on_error=$mode decides");
            is(scalar(grep { $_->{header}{'x-source'} eq 'redis' } @of), 0,
               '... for all of them');
        }

        is(scalar(grep { length $_->{buffer} } @more), 0,
           '... each is answered once');
        is($faults->log_lines(qr/is lost: /) - $lost, $workers,
           '... and each worker has one line about it');

        $faults->fails("$name, gone");
        $_->close for @more;

        ok($redis->run, "$name: Redis is started again");
        $faults->recovers("$name, after a kill");
    }

    # restarted between two requests: only the counts are lost

    my $client = SlidewinFaults::fresh();

    is($faults->ask('closed', $client, 1), '200 PASSED redis', 'a request');
    $redis->kill('TERM');
    ok($redis->run, "$name: Redis is restarted");
    $faults->recovers("$name, after a restart");
    is($faults->ask('closed', $client), $SlidewinFaults::DECIDED,
       '... and begins to count anew');

    ok(SlidewinNginx::until_true(sub {
        !grep { $_->get('/well_local?k=w')->{header}{'x-source'} ne 'redis' }
            @clients;
    }, 10), '... for each worker');

    $faults->ends_clean($name);
    $_->close for @clients;
    $redis->remove;
}

done_testing();
