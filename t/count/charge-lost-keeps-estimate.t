# A charge that is on its way when its connection or its worker ends: it is
# counted once or, if it did not arrive, the estimate stays. It is never sent
# twice, and no reservation is lost.

use strict;
use warnings;

use File::Temp ();
use SlidewinCount;
use SlidewinFake;
use SlidewinRedis;
use SlidewinStats;
use Test::More;

my $limit = 100;
my $patience = SlidewinNginx::patience();
my $dir = File::Temp::tempdir('slidewin.XXXXXX', TMPDIR => 1, CLEANUP => 1);
my $place = SlidewinCount->new('redis');
my $redis = $place->redis;

my $server = SlidewinStats::location()
             . join '', map { <<"END" } @SlidewinCount::ALGORITHMS;
    location = /held_$_ {
        slidewin zone=$_ cost=10 charge=\$upstream_http_x_cost;
        proxy_pass http://held;
    }
END

sub edge {
    my ($at, %conf) = @_;

    return $at->edge(server => $server, rate => "${limit}r/40d", %conf);
}

sub hold {
    my ($at, $edge, $zone, $key) = @_;
    my $client = $edge->asks("/held_$zone?k=$key");

    is($at->held->has(1), 1, "$zone: a request is under way");

    return $client;
}

sub charges {
    my ($edge, $zone) = @_;
    my $charges = SlidewinStats::zone($edge, $zone)->{charges};

    return "$charges->{settled} settled, $charges->{estimated} estimated";
}

# until the edge's own checks are decided by Redis again
sub well {
    my ($edge, $name) = @_;

    return ok(SlidewinNginx::until_true(sub {
        $edge->get('/peek_log?k=well')->{header}{'x-source'} eq 'redis';
    }, 30 * $patience), "$name: Redis decides");
}

# another edge, to see what Redis has
my $near = edge($place);


# It arrives at a Redis that neither runs nor answers it before the connection
# ends.

my $fake = SlidewinFake->start;
my $edge = edge($place, url => $fake->url);

well($edge, 'a Redis that goes');

for my $algorithm (qw(log fixed counter)) {
    my $key = SlidewinCount::fresh();
    my $client = hold($place, $edge, $algorithm, $key);

    $fake->mode('hold');
    $place->held->tell(30);
    is($client->answer->{status}, 200, '... it is answered');
    ok(SlidewinNginx::until_true(sub { $fake->checks($key) == 2 },
                                 10 * $patience), '... its charge arrives');
    $fake->cut;
    $fake->mode('well');
    well($edge, '... the connection ends');
    is($fake->checks($key), 2, '... it is not sent again');
    is(SlidewinCount::left($edge, $algorithm, $key), $limit - 10,
       '... and the estimate stays');
    is(charges($edge, $algorithm), '0 settled, 1 estimated',
       '... as the statistics tell');
}

$edge->stop(name => 'a Redis that goes');


# Redis runs it, and the answer is lost: with the connection, or it is late.

my $slow = "$dir/slow";
my $delay = sub { -e $slow ? 1.5 : 0 };
my $far = SlidewinFake->start(relay => $redis->path, delay => $delay);
my $port = $far->port;

$edge = edge($place, url => $far->url,
             redis => 'timeout=500ms connect_timeout=20s');

for my $how ('lost', 'late') {
    for my $algorithm (@SlidewinCount::ALGORITHMS) {
        my $key = SlidewinCount::fresh();

        well($edge, "$how, $algorithm");

        my $client = hold($place, $edge, $algorithm, $key);

        open my $file, '>', $slow or die "$slow: $!";
        close $file;
        $place->held->tell(30);
        is($client->answer->{status}, 200, "$how: it is answered");
        SlidewinCount::becomes($near, $algorithm, $key, $limit - 30,
                               '... and settled');
        $far->stop if $how eq 'lost';
        unlink $slow;
        $far = SlidewinFake->start(relay => $redis->path, delay => $delay,
                                   port => $port) if $how eq 'lost';
        well($edge, '... the answer does not come');
        is(SlidewinCount::left($near, $algorithm, $key), $limit - 30,
           '... it is not charged twice');
        is(SlidewinCount::left($edge, $algorithm, $key), $limit - 30,
           '... as each edge sees');
    }
}

# whether the answer was late or lost, no edge can know what Redis did
for (@SlidewinCount::ALGORITHMS) {
    my ($settled, $estimated) = charges($edge, $_) =~ /(\d+)/g;

    is($settled + $estimated, 2, "$_: each is told once");
    cmp_ok($estimated, '>', 0, '... what was lost as estimated');
}
$edge->stop(name => 'an answer that is lost');


# A worker is killed while the upstream works.

my $local = SlidewinCount->new('local');

for my $at ($local, $place) {
    my $name = $at->name;
    my $edge = edge($at);

    for my $algorithm (@SlidewinCount::ALGORITHMS) {
        my $key = SlidewinCount::fresh();
        my ($worker) = $edge->workers;
        my $client = hold($at, $edge, $algorithm, $key);

        kill 'KILL', $worker;
        ok(SlidewinNginx::until_true(sub {
            my @workers = $edge->workers;
            return @workers == 1 && $workers[0] != $worker;
        }, 10 * $patience), "$name, $algorithm: its worker is killed");
        is($client->answer->{status}, 0, '... nobody is answered');
        $at->held->tell(30);
        is(SlidewinCount::left($edge, $algorithm, $key), $limit - 10,
           '... and the estimate stays');
        is(charges($edge, $algorithm), '0 settled, 0 estimated',
           '... nothing was settled');

        # the next one is
        $client = hold($at, $edge, $algorithm, $key);
        $at->held->tell(20);
        is($client->answer->{status}, 200, '... another is served');
        SlidewinCount::becomes($edge, $algorithm, $key, $limit - 30,
                               '... and settled');
    }

    $edge->stop(name => $name, allow => qr/exited on signal 9/);
}

$near->stop(name => 'near');

done_testing();
