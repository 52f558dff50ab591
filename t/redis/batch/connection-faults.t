# Faults while requests are in a batch: each request gets an outcome of its own,
# and what was not sent is not counted.

use strict;
use warnings;

use POSIX ();
use SlidewinFake;
use SlidewinFaults;
use SlidewinRedis;
use Test::More;

my @modes = @SlidewinFaults::MODES;
my %told = (local => '200 PASSED fallback', open => '200 ERROR_PASSED fail_open',
            closed => '503 ERROR_REJECTED fail_closed');

sub zones {
    return (
        http => join('', map {
            "slidewin_zone \$arg_k zone=many_$_:1m rate=100r/h algorithm=log"
            . " on_error=$_ deny_cache=off;\n"
        } @modes),
        server => join('', map {
            "location = /many_$_ { slidewin zone=many_$_; empty_gif; }\n"
        } @modes));
}

sub tally {
    my %count;

    $count{$_}++ for map { SlidewinFaults::summary($_) } @_;

    return expect(%count);
}

sub expect {
    my (%count) = @_;

    return join ', ', map { "$count{$_} x $_" } sort keys %count;
}

sub left {
    my ($faults, $mode, $k) = @_;

    return 99 - $faults->get("/many_$mode?k=$k")->{header}{'x-remaining'};
}

# how many units were counted when the reply was a lie
my %lies = (
    more => sub { $_[0][2]++ },
    less => sub { $_[0][2]-- },
    some => sub { $_[0][3]-- },
    none => sub { $_[0][3] = 0 },
);

my $fake = SlidewinFake->start(modes => {
    error => sub { $_[0]->send("-OOM no memory\r\n") },
    map {
        my $lie = $lies{$_};
        $_ => sub {
            my ($c, $command) = @_;
            my @numbers = $c->take($command);

            # the first check goes alone, and is answered correctly when it is
            # released
            if (!$c->{$command->[3]}++) {
                $c->hold($command);
                $c->forget($command);
                return;
            }
            $lie->(\@numbers);
            $c->send(SlidewinFake::reply(@numbers));
        };
    } keys %lies,
});

my $faults = SlidewinFaults->start(
    url => $fake->url, redis => 'timeout=30s connect_timeout=20s', zones());
my $nginx = $faults->nginx;
my @clients;

ok($faults->redis_answers, 'Redis is asked');
$faults->remember_workers;

# one check in flight, and so many behind it
sub group {
    my ($mode, $k, $n) = @_;
    my ($name) = $k =~ /^(\w+)/;
    my $before = $fake->checks($name);

    @clients = map { $nginx->client } 1 .. $n;
    $fake->mode('hold');
    $clients[0]->request("/many_$mode?k=$k");
    ok(SlidewinNginx::until_true(sub { $fake->checks($name) > $before },
                                 20 * SlidewinNginx::patience()),
       "on_error=$mode: one is on its way");
    $_->request("/many_$mode?k=$k") for @clients[1 .. $n - 1];
    ok($nginx->busy($n), '... and ' . ($n - 1) . ' behind it');

    return;
}

for my $mode (@modes) {

    # some clients leave
    my $k = SlidewinFaults::fresh();
    group($mode, $k, 20);
    $_->close for splice @clients, 5, 7;
    ok($nginx->busy(13), '... seven leave');
    $fake->mode('well');
    $fake->release;
    is(tally(map { $_->answer } @clients), '13 x 200 PASSED redis',
       '... the others are decided');
    is($fake->checks($k), 2, '... in two questions');
    is(left($faults, $mode, $k), 13, '... and none of those who left counts');

    # the client of the first check leaves; the check was sent
    $k = SlidewinFaults::fresh();
    group($mode, $k, 10);
    (shift @clients)->close;
    ok($nginx->busy(9), '... the first leaves');
    $fake->mode('well');
    $fake->release;
    is(tally(map { $_->answer } @clients), '9 x 200 PASSED redis',
       '... those behind it are decided');
    is(left($faults, $mode, $k), 10, '... and it counts, as it was sent');

    # all clients leave
    $k = SlidewinFaults::fresh();
    group($mode, $k, 10);
    $_->close for @clients;
    ok($nginx->busy(0), '... all leave');
    $fake->mode('well');
    $fake->release;
    is(left($faults, $mode, $k), 1, '... one was sent');

    # some clients of a batch that was sent leave
    $k = SlidewinFaults::fresh();
    group($mode, $k, 10);
    $fake->release;
    ok(SlidewinNginx::until_true(sub { $fake->checks($k) == 2 },
                                 20 * SlidewinNginx::patience()),
       '... nine are on their way');
    is(SlidewinFaults::summary((shift @clients)->answer), '200 PASSED redis',
       '... and the first is answered');
    $_->close for splice @clients, 0, 3;
    ok($nginx->busy(6), '... three of them leave');
    $fake->mode('well');
    $fake->release;
    is(tally(map { $_->answer } @clients), '6 x 200 PASSED redis',
       '... the others are decided');
    is(left($faults, $mode, $k), 10, '... and all count');

    # an error for the whole batch
    $k = SlidewinFaults::fresh();
    group($mode, $k, 4);
    $fake->mode('error');
    $fake->release;
    is(SlidewinFaults::summary((shift @clients)->answer), '200 PASSED redis',
       'an error: the first is decided');
    is(tally(map { $_->answer } @clients), "3 x $told{$mode}",
       "... and on_error=$mode for those it was meant for");
    $fake->mode('well');

    # the connection is closed: requests that were not sent are checked on the
    # next one
    ok($faults->redis_answers, 'Redis is asked');
    $k = SlidewinFaults::fresh();
    group($mode, $k, 10);
    $fake->mode('well');
    $fake->cut;
    is(SlidewinFaults::summary((shift @clients)->answer), $told{$mode},
       "the connection ends: on_error=$mode decides for one");
    is(tally(map { $_->answer } @clients), '9 x 200 PASSED redis',
       '... and Redis for the others');
    is($fake->checks($k), 2, '... in one question');

    # the same with a batch that was sent
    ok($faults->redis_answers, 'Redis is asked');
    $k = SlidewinFaults::fresh();
    group($mode, $k, 10);
    $fake->release;
    ok(SlidewinNginx::until_true(sub { $fake->checks($k) == 2 },
                                 20 * SlidewinNginx::patience()),
       '... nine are on their way');
    $fake->mode('well');
    $fake->cut;
    is(tally(map { $_->answer } @clients),
       expect('200 PASSED redis' => 1, $told{$mode} => 9),
       "... the connection ends: on_error=$mode decides for them");

    # numbers that are impossible for so many requests
    for my $lie (sort keys %lies) {
        ok($faults->redis_answers, 'Redis is asked');
        group($mode, "$lie.$mode", 5);
        $fake->mode('well');
        $fake->release;
        is(tally(map { $_->answer } @clients),
           expect('200 PASSED redis' => 1, $told{$mode} => 4),
           "... $lie than is true: on_error=$mode decides");
    }

    $_->close for @clients;
}

# Many requests, all of one client
{
    my $k = SlidewinFaults::fresh();

    ok($faults->redis_answers, 'Redis is asked');
    $fake->mode('hold');

    my @crowd = map { $nginx->client(timeout => 120) } 1 .. 900;
    my $before = $fake->checks($k);

    $crowd[0]->request("/many_open?k=$k");
    ok(SlidewinNginx::until_true(sub { $fake->checks($k) > $before },
                                 20 * SlidewinNginx::patience()), 'one');
    $_->request("/many_open?k=$k") for @crowd[1 .. $#crowd];
    ok($nginx->busy(scalar @crowd), '... and 899 behind it');
    $fake->mode('well');
    $fake->release;
    is(tally(map { $_->answer } @crowd), '100 x 200 PASSED redis, '
       . '800 x 429 REJECTED redis retry', '... exactly the limit');
    is($fake->checks($k), 2, '... in two questions');
    $_->close for @crowd;
}

$faults->recovers('in the end');
$faults->ends_clean;
$fake->stop;


# Late: no request waits for longer than the timeout, in the batch or behind it.
{
    my $slow = SlidewinFake->start;

    $faults = SlidewinFaults->start(
        url => $slow->url, redis => 'timeout=1500ms connect_timeout=20s',
        zones());
    $nginx = $faults->nginx;
    ok($faults->redis_answers, 'Redis is asked');
    $faults->remember_workers;

    for my $mode (@modes) {
        my $k = SlidewinFaults::fresh();

        @clients = map { $nginx->client } 1 .. 12;
        ok($faults->redis_answers, 'Redis is asked');
        $slow->mode('hold');
        for (@clients) {
            $_->request("/many_$mode?k=$k");
            SlidewinNginx::nap(0.01);
        }

        my @answers = map { $_->answer } @clients;

        is(tally(@answers), "12 x $told{$mode}",
           "no answer: on_error=$mode decides for all");
        cmp_ok((sort { $b <=> $a } SlidewinFaults::latencies(@answers))[0],
               '<', 5000, '... in time');
        $slow->mode('well');
        $slow->release;
        ok($faults->redis_answers, '... Redis is asked again');
        $k = SlidewinFaults::fresh();
        is(left($faults, $mode, $k), 0, '... and decides for others');
    }

    $_->close for @clients;
    $faults->ends_clean('late');
}


# The scripts were flushed: they are sent again, once for a whole batch.
{
    my $redis = SlidewinRedis->start;

    $faults = SlidewinFaults->start(
        url => $redis->url, redis => 'timeout=30s connect_timeout=20s',
        zones());
    $nginx = $faults->nginx;
    ok($faults->redis_answers, 'Redis is asked');
    $faults->remember_workers;

    my $k = SlidewinFaults::fresh();

    @clients = map { $nginx->client } 1 .. 10;
    $redis->command('SCRIPT', 'FLUSH');
    $redis->signal('STOP');
    $_->request("/many_closed?k=$k") for @clients;
    ok($nginx->busy(10), 'ten wait');
    $redis->signal('CONT');
    is(tally(map { $_->answer } @clients), '10 x 200 PASSED redis',
       '... and are decided without the scripts');
    is(left($faults, 'closed', $k), 10, '... each once');

    # Redis dies while a batch waits: no request waits for it
    $redis->signal('STOP');
    $_->request("/many_closed?k=$k") for @clients;
    ok($nginx->busy(10), 'ten wait');
    $redis->kill;
    is(tally(map { $_->answer } @clients), "10 x $told{closed}",
       '... on_error=closed decides when it dies');

    $_->close for @clients;
    ok($redis->run, 'Redis is back');
    $faults->recovers('a new one');
    $faults->ends_clean('scripts');
}

done_testing();
