# Scripts, all counts or single keys disappear: requests are still decided, by
# what is left.

use strict;
use warnings;

use SlidewinFaults;
use SlidewinProcess;
use SlidewinRedis;
use Test::More;

for my $workers (1, 2) {
    my $name = "$workers worker" . ($workers > 1 ? 's' : '');
    my $redis = SlidewinRedis->start;
    my $faults = SlidewinFaults->start(url => $redis->url, workers => $workers,
                                       redis => 'timeout=20s');
    my $nginx = $faults->nginx;
    my @clients = $nginx->clients(50);

    ok($faults->redis_answers, "$name: Redis is asked");
    is(scalar(grep { $_->get('/well_local?k=w')->{header}{'x-source'}
                     ne 'redis' } @clients), 0, '... by all');
    $faults->remember_workers;

    # the script, with single requests and with many at once

    for my $mode (@SlidewinFaults::MODES) {
        my $client = SlidewinFaults::fresh();

        is($faults->ask($mode, $client, 1), '200 PASSED redis',
           "$name, on_error=$mode: one before the scripts go");
        $redis->command('SCRIPT', 'FLUSH', 'SYNC');
        is($faults->ask($mode, $client, 2),
           '200 PASSED redis, 429 REJECTED redis retry',
           '... and after it counts on');

        $redis->command('SCRIPT', 'FLUSH', 'SYNC');
        my @answers = $nginx->burst(\@clients,
                          [["/$mode?k=" . SlidewinFaults::fresh()]]);
        is(SlidewinNginx::tally(map { $_->{status} } @answers),
           '200 x2, 429 x48', '... a crowd gets its limit');
        is(scalar(grep { $_->{header}{'x-source'} eq 'redis' } @answers), 50,
           '... from Redis');
    }

    # flushed again and again under bursts of requests

    my $flushing = SlidewinProcess->start(sub {
        my $operator = $redis->client;
        for (1 .. 200) {
            $operator->call('SCRIPT', 'FLUSH', 'SYNC');
            SlidewinNginx::nap(0.002);
        }
    });

    my (%told, $rounds);

    while ($flushing->runs) {
        my $client = SlidewinFaults::fresh();
        my @answers = $nginx->burst(\@clients, [["/closed?k=$client"]]);

        $told{SlidewinNginx::tally(map { $_->{status} } @answers)}++;
        $rounds++;
    }

    is_deeply(\%told, { '200 x2, 429 x48' => $rounds },
              "$name: scripts flushed 200 times change no outcome");
    is($faults->log_lines(qr/./), 0, '... and are nothing to log');
    my ($before) = $redis->calls('evalsha');
    $faults->decides($name);
    is(($redis->calls('evalsha'))[0] - $before, 9,
       '... and the short form is in use again');

    # the counts

    for my $mode (@SlidewinFaults::MODES) {
        my $client = SlidewinFaults::fresh();

        is($faults->ask($mode, $client), $SlidewinFaults::DECIDED,
           "$name, on_error=$mode: at the limit");
        $redis->command('FLUSHALL', 'SYNC');
        is($faults->ask($mode, $client), $SlidewinFaults::DECIDED,
           '... and from the beginning after FLUSHALL');
    }

    is($faults->log_lines(qr/./), 0, '... which is nothing to log');

    # one key, evicted for others

    my $client = SlidewinFaults::fresh();

    is($faults->ask($_, $client), $SlidewinFaults::DECIDED,
       "$name, on_error=$_: at the limit") for @SlidewinFaults::MODES;

    my ($used) = $redis->command('INFO', 'memory') =~ /^used_memory:(\d+)/m;
    $redis->command('CONFIG', 'SET', 'maxmemory-policy', 'allkeys-lru');
    $redis->command('CONFIG', 'SET', 'maxmemory', $used + 2_000_000);

    my $filler = $redis->client;
    my $n = 0;

    my $gone = SlidewinNginx::until_true(sub {
        $filler->call_all(map { ['SET', 'filler' . ++$n, 'x' x 1000] }
                          1 .. 500);
        !$redis->command('EXISTS', map { "sw:{$client}:$_" }
                         @SlidewinFaults::MODES);
    }, 30);

    ok($gone, '... its key is evicted');
    is($faults->ask($_, $client), $SlidewinFaults::DECIDED,
       "... on_error=$_: it begins anew") for @SlidewinFaults::MODES;
    cmp_ok($redis->command('INFO', 'stats') =~ /^evicted_keys:(\d+)/m && $1,
           '>', 0, '... as keys do there');
    is($faults->log_lines(qr/./), 0, '... which is nothing to log');

    $faults->recovers($name);
    $faults->ends_clean($name);
    $_->close for @clients;
    $redis->remove;
}

done_testing();
