# Replies that come after the timeout decide nothing, and do not count for the
# breaker. Once it is open hardly any request waits.

use strict;
use warnings;

use File::Temp ();
use SlidewinFake;
use SlidewinFaults;
use SlidewinRedis;
use Test::More;
use Time::HiRes ();

my $timeout = 1000;
my $dir = File::Temp::tempdir('slidewin.XXXXXX', TMPDIR => 1, CLEANUP => 1);
my $redis = SlidewinRedis->start;

# slower and slower, so that there is never a pause without a reply
my $fake = SlidewinFake->start(relay => $redis->path, delay => sub {
    my $since = (Time::HiRes::stat("$dir/slow"))[9] // return 0;
    my $delay = (Time::HiRes::time() - $since) * 0.8;

    return $delay < 3 ? $delay : 3;
});
my $faults = SlidewinFaults->start(
    url => $fake->url, redis => "timeout=${timeout}ms connect_timeout=20s");
my $nginx = $faults->nginx;
my @clients = map { $nginx->client } 1 .. 100;
my @modes = @SlidewinFaults::MODES;

$_->get('/free') for @clients;

# how often the log has each line
sub said {
    return { map { $_ => $faults->log_lines(qr/is $_/) }
             'not asked for a while', 'asked again', 'back', 'lost' };
}

my $half;

# One request every 20 ms, each of another client and with the next on_error,
# whether earlier ones were answered or not. Returns the answers in their order,
# and what the log had when half of them were there.
sub load {
    my ($n, $key) = @_;
    my @answers;

    for my $i (0 .. $n - 1) {
        my $client = $clients[$i % @clients];

        $half = said() if $i == $n / 2;
        push @answers, $client->answer if $i >= @clients;
        $client->request("/$modes[$i % @modes]?k=$key.$i");
        SlidewinNginx::nap(0.02);
    }

    my $first = $n > @clients ? $n - @clients : 0;
    push @answers, map { $clients[$_ % @clients]->answer } $first .. $n - 1;

    return @answers;
}

sub slow {
    open my $file, '>', "$dir/slow" or die "slow: $!";
    close $file;

    return;
}

sub fast { unlink "$dir/slow" or die "fast: $!"; return }

ok($faults->redis_answers, 'Redis is asked');
$faults->remember_workers;

my $n = 500;
my ($begin, @answers);

# again, if the machine stood still and no reply came for a while
for (1 .. 3) {
    $begin = said();
    slow();
    @answers = load($n, SlidewinFaults::fresh());
    last if said()->{'not asked for a while'}
            > $begin->{'not asked for a while'};
    fast();
    $faults->redis_answers;
}

my @last = $n / 2 .. $n - 1;
my %source = (local => 'fallback', open => 'fail_open',
              closed => 'fail_closed');
my $waited = grep { $_ >= $timeout / 2 }
             SlidewinFaults::latencies(@answers[@last]);

for my $i (0 .. $#modes) {
    is(scalar(grep { ($answers[$_]{header}{'x-source'} // '-')
                     ne $source{$modes[$i]} }
              grep { $_ % @modes == $i } @last),
       0, "answers late, then all: on_error=$modes[$i] decides");
}

# one probe at a time, with pauses that grow from 25 ms
cmp_ok($waited, '<=', 20, '... and of the last ' . @last
       . ' only probes waited');

my $end = said();

is($end->{'not asked for a while'}, $end->{'asked again'} + 1,
   '... Redis is given up');
is($end->{$_}, $half->{$_}, "... for good, as long as it is late: $_")
    for 'not asked for a while', 'asked again', 'back';
cmp_ok($end->{lost} - $begin->{lost}, '<=',
       $end->{'not asked for a while'} - $begin->{'not asked for a while'},
       '... nor is it lost more than once');

fast();
ok($faults->redis_answers, 'in time again: Redis is asked');

my $then = said();

is($then->{'asked again'}, $end->{'asked again'} + 1, '... which is said once');
is($then->{back}, $then->{lost}, '... as is that it is back, if it was lost');

$faults->recovers('in the end');
$_->close for @clients;
$faults->ends_clean;

# A late error was already counted as a timeout: two such requests are two
# failures, not four, and five open the breaker.

my $errors = SlidewinFake->start(modes => {
    first => sub {
        my ($c, $command) = @_;

        $c->pause(0.8);
        $c->send($c->answer($command));
    },
    error => sub {
        my ($c) = @_;

        $c->pause(0.6);
        $c->send("-ERR late\r\n");
    },
});

$faults = SlidewinFaults->start(url => $errors->url,
                                redis => 'timeout=1800ms connect_timeout=20s');
$nginx = $faults->nginx;
@clients = map { $nginx->client } 1 .. 5;
$_->get('/free') for @clients;
ok($faults->redis_answers, 'Redis is asked');
$faults->remember_workers;

# 0.8 s, then 1.4, 2.0, 2.6, 3.2: three are late, on a connection that is not
# silent

$clients[0]->request('/open?k=first');
SlidewinNginx::nap(0.02);
$clients[$_]->request("/open?k=error.$_") for 1 .. 4;

is(SlidewinFaults::summary($clients[0]->answer), '200 PASSED redis',
   'one that is in time');
is(SlidewinFaults::summary($clients[$_]->answer),
   '200 ERROR_PASSED fail_open', '... and one that is not answered well')
    for 1 .. 4;

# until the last reply has come
SlidewinNginx::nap(2.4);

is($faults->log_lines(qr/is not asked for a while/), 0,
   'four failures, three of them late, are four');
is($errors->accepts, 1, '... on one connection');
is($faults->ask('open', SlidewinFaults::fresh()), $SlidewinFaults::DECIDED,
   '... and Redis is asked');

$_->close for @clients;
$faults->ends_clean('errors');

done_testing();
