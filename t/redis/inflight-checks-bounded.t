# A single worker has at most 1024 checks in flight: one more is queued and sent
# when there is room. Requests that wait behind a check of the same key do not
# count, and hold up no other.

use strict;
use warnings;

use SlidewinFake;
use SlidewinFaults;
use Test::More;

my $most = 1024;
my $fake = SlidewinFake->start;
my $faults = SlidewinFaults->start(
    url => $fake->url, redis => 'timeout=60s', connections => 4096,
    main => 'worker_rlimit_nofile 8192;',
    http => 'slidewin_zone $arg_k zone=many:1m rate=1000r/40d
             algorithm=fixed;',
    server => 'location = /many { slidewin zone=many; empty_gif; }');
my $nginx = $faults->nginx;

ok($faults->redis_answers, 'Redis is asked');
$faults->remember_workers;

# round 2: TIME is sent among them; round 3: all of one client, so that one
# check is in flight and the others wait for it
for my $round (1 .. 3) {
    my $before = $fake->checks;
    my $times = $fake->stats->{commands}{TIME};

    $fake->mode('hold');

    # a process for each part of the clients, because of the limit on
    # descriptors

    pipe my $from, my $to or die "pipe: $!";
    my $driver = fork // die "fork: $!";

    if ($driver == 0) {
        close $from;
        my @tallies = $nginx->together(sub {
            my ($part) = @_;
            my @clients = map { $nginx->client(timeout => 120) } 1 .. 256;
            my %count;

            for my $i (0 .. $#clients) {
                SlidewinNginx::nap(1.5) if $round == 2 && $i == 128;
                $clients[$i]->request("/many?k=round$round"
                                      . ($round < 3 ? ".$part.$i" : ''));
            }
            $count{SlidewinFaults::summary($_->answer)}++ for @clients;

            return \%count;
        }, 1 .. $most / 256);

        my %count;
        for my $tally (@tallies) {
            $count{$_} += $tally->{$_} for keys %$tally;
        }
        print {$to} join ', ', map { "$count{$_} x $_" } sort keys %count;
        close $to;
        POSIX::_exit(0);
    }

    close $to;

    my $asked = $round < 3 ? $most : 1;

    ok(SlidewinNginx::until_true(sub {
        $faults->get('/status')->{body} =~ /Writing: (\d+)/;
        return $1 > $most && $fake->checks - $before >= $asked;
    }, 30 * SlidewinNginx::patience()), "$most checks are under way");

    cmp_ok($fake->stats->{commands}{TIME}, '>', $times,
           '... and the time is asked for among them') if $round == 2;

    my $more = $nginx->asks("/many?k=more$round");

    if ($round < 3) {
        my $leaves = $more;

        ok($nginx->busy($most + 1), 'one more waits');
        $more = $nginx->asks("/many?k=more$round");
        ok($nginx->busy($most + 2), '... and one behind it');
        $leaves->close;
        ok($nginx->busy($most + 1), '... which has its place when it leaves');
        is($fake->checks - $before, $asked, '... and Redis is not asked yet');
    } else {
        ok(SlidewinNginx::until_true(sub {
            $fake->checks('more3') == 1;
        }, 20 * SlidewinNginx::patience()), 'another client is asked for');
    }

    is($faults->get('/free')->{status}, 200,
       '... while others are served');

    $fake->mode('well');
    $fake->release;

    my $tally = do { local $/; <$from> };
    waitpid $driver, 0;

    is($tally, $round < 3 ? "$most x 200 PASSED redis"
               : '1000 x 200 PASSED redis, 24 x 429 REJECTED redis retry',
       'those under way are decided by what Redis says');
    is(SlidewinFaults::summary($more->answer), '200 PASSED redis',
       '... and so is the one more');
    $more->close;
    is($fake->accepts, 1, '... on one connection');
    is($faults->log_lines(qr/./), 0, '... and there is nothing to log');

    $faults->recovers('there is room again');
}

$faults->ends_clean;

done_testing();
