# Requests that wait behind a check share its rejection only if a request that
# is still there can tell that it holds. If the client of the check has left,
# and its unit would be refunded, they check for themselves.

use strict;
use warnings;

use File::Temp ();
use SlidewinFake;
use SlidewinNginx;
use SlidewinRedis;
use Test::More;

my $patience = SlidewinNginx::patience();
my $redis = SlidewinRedis->start;
my $dir = File::Temp::tempdir('slidewin.XXXXXX', TMPDIR => 1, CLEANUP => 1);

# a delay for Redis' replies
my $way = SlidewinFake->start(relay => $redis->path, delay => sub {
    return -e "$dir/slow" ? 1.5 * $patience : 0;
});

my $nginx = SlidewinNginx->start(
    workers => 2,
    http => "slidewin_redis @{[$way->url]} timeout=30s connect_timeout=20s;
             slidewin_zone \$arg_k zone=one:1m rate=1r/40d algorithm=log
                           on_error=closed deny_cache=1m;",
    server => 'location = /status { stub_status; }
               location = /one { slidewin zone=one count=200; empty_gif; }
               location = /clear { slidewin zone=one cost=0 reset=200;
                                   empty_gif; }');

my ($here, $there) = $nginx->workers;
my $clears = $nginx->client_of($there);

sub calls { return scalar $redis->calls('evalsha') }

sub slow {
    open my $slow, '>', "$dir/slow" or die "slow: $!";
    close $slow;

    return;
}

sub fast { unlink "$dir/slow" or die "slow: $!"; return }

# The other worker clears the client after the client of the pending check has
# left, while one more request waits for that check.
sub cleared {
    my ($key, $leaves, $follows, $waiting) = @_;

    fast();
    $leaves->close;
    ok($nginx->busy($waiting), '... it leaves');
    is($clears->get("/clear?k=$key")->{status}, 200,
       '... the other worker clears the client');
    ok(SlidewinNginx::until_true(sub {
        !$redis->command('EXISTS', "sw:{$key}:one");
    }, 10 * $patience), '... which Redis knows');
    $follows->request("/one?k=$key");

    return $follows->answer->{status};
}

sub asked {
    my ($n) = @_;

    return SlidewinNginx::until_true(sub { calls() >= $n }, 20 * $patience);
}

# a check of its own
{
    my ($leaves, $follows) = $nginx->clients_of($here, 2);

    is($follows->get('/one?k=alone')->{status}, 200, 'there was one');

    my $before = calls();

    slow();
    $leaves->request('/one?k=alone');
    ok(asked($before + 1), '... one more is asked for, and takes a while');
    SlidewinNginx::nap(0.3 * $patience);
    is(cleared('alone', $leaves, $follows, 0), 200,
       '... who waited behind it is not refused with it');
    $follows->close;
}

# the last request of a batch
{
    my ($first, @group) = $nginx->clients_of($here, 5);
    my $follows = pop @group;
    my $before = calls();

    slow();
    $first->request('/one?k=group');
    ok(asked($before + 1), 'one is asked for, and takes a while');
    $_->request('/one?k=group') for @group;
    ok($nginx->busy(4), '... three wait behind it');
    is($first->answer->{status}, 200, '... and go when it is answered');
    ok(asked($before + 2), '... together');
    SlidewinNginx::nap(0.3 * $patience);
    is(cleared('group', pop @group, $follows, 2), 200,
       '... who waited behind them is not refused with them');
    is(SlidewinNginx::tally(map { $_->answer->{status} } @group), '429 x2',
       '... they are');
    $_->close for $first, @group, $follows;
}

$clears->close;
$nginx->stop;

done_testing();
