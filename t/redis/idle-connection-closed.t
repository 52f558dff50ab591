# A Redis that closes idle connections is healthy: nothing is logged, and the
# next request is decided by it.

use strict;
use warnings;

use SlidewinFake;
use SlidewinFaults;
use SlidewinRedis;
use Test::More;

my $redis = SlidewinRedis->start(args => ['--timeout', 1]);
my $faults = SlidewinFaults->start(
    url => $redis->url, main => 'error_log logs/info info;',
    redis => 'timeout=5s connect_timeout=20s');
my $nginx = $faults->nginx;
my $info = $nginx->root . '/logs/info';

# the connection of the worker; those of the suite are not kept, because they
# would be idle as well
sub connection {
    return $redis->client->call('CLIENT', 'LIST')
           =~ /^id=(\d+) addr=127\.0\.0\.1:/m ? $1 : 0;
}

sub ended {
    return scalar(() = SlidewinNginx::slurp($info)
                       =~ /ended an idle connection/g);
}

ok($faults->redis_answers, 'Redis is asked');
$faults->remember_workers;

# requests after each close, and after some that no request has noticed

for my $ends (1, 1, 3) {
    my $before = ended();
    my $old = connection();

    ok(SlidewinNginx::until_true(sub { ended() >= $before + $ends },
                                 5 * $ends + 5), "$ends times it is ended");
    is($faults->ask('closed', SlidewinFaults::fresh()),
       $SlidewinFaults::DECIDED, '... and Redis decides for the next');
    isnt(connection(), $old, '... on another connection');
}

is($faults->log_lines(qr/./), 0, 'there is nothing to tell')
    or diag(join '', $nginx->errors(qr/slidewin redis/));
is(scalar(grep { !/limiting requests, excess: / }
          $nginx->errors(qr/\[(?:warn|error)\]/)), 0, '... of any kind');

$faults->ends_clean;
$redis->remove;

# A Redis that closes a connection right after the handshake is not healthy:
# nginx reconnects with pauses.

my $fake = SlidewinFake->start(modes => {
    brief => { command => sub {
        my ($c, $command) = @_;

        $c->honest($command);
        $c->fin if uc $command->[0] eq 'TIME';
        return 1;
    } },
});

$faults = SlidewinFaults->start(url => $fake->url, redis => 'timeout=5s');
ok($faults->redis_answers, 'Redis is asked');
$faults->remember_workers;

my $accepts = $fake->accepts;

$fake->mode('brief');
$fake->cut;
SlidewinNginx::nap(4);

# growing pauses: 25 to 50 ms, 50 to 100 ...
cmp_ok($fake->accepts - $accepts, '>=', 3,
       'one that ends each connection at once is tried again');
cmp_ok($fake->accepts - $accepts, '<=', 12, '... and not for ever at once');
is($faults->log_lines(qr/is lost/), 1, '... it is lost, once');
is($faults->log_lines(qr/is back/), 0, '... and does not come back so');

$fake->mode('well');
$faults->recovers('in the end');
is($faults->log_lines(qr/is back/), 1, '... but when it has answered');
$faults->ends_clean('brief');

done_testing();
