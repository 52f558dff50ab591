# A refusal that has arrived holds for those that ask in the same turn of the event
# loop, before the one it was for has heard of it: a flood asks once.

use strict;
use warnings;

use SlidewinNginx;
use SlidewinRedis;
use Test::More;

my $patience = SlidewinNginx::patience();
my $redis = SlidewinRedis->start;

my $nginx = SlidewinNginx->start(
    http => "slidewin_redis @{[$redis->url]} timeout=30s connect_timeout=20s;
             slidewin_zone \$arg_k zone=one:1m rate=1r/h algorithm=log
                           on_error=closed;
             slidewin_zone \$arg_k zone=off:1m rate=1r/h algorithm=log
                           on_error=closed deny_cache=off;
             slidewin_zone \$arg_k zone=two:1m rate=2r/h algorithm=log
                           on_error=closed;",
    server => 'location = /status { stub_status; } '
              . join '', map {
                  "location = /$_ { slidewin zone=$_; empty_gif; } "
              } qw(one off two));

my ($worker) = $nginx->workers;

sub calls { return scalar $redis->calls('evalsha') }

# The first is asked for; what Redis says and what the others want is there when
# the worker looks, in this order.
sub turn {
    my ($uri, %how) = @_;
    my ($first, @others) = map { $nginx->client } 0 .. 10;

    $_->get('/status') for $first, @others;

    my $before = calls();
    $redis->signal('STOP');
    $first->request($uri);
    ok(SlidewinNginx::until_true(sub {
        $nginx->get('/status')->{body} =~ /Writing: 2/;
    }, 20 * $patience), '... one is asked for');

    kill 'STOP', $worker;
    SlidewinNginx::until_true(sub {
        SlidewinNginx::_slurp("/proc/$worker/stat") =~ /.*\) T/s;
    }, 5);
    $redis->signal('CONT');
    SlidewinNginx::until_true(sub { calls() > $before }, 20 * $patience);

    $first->close if $how{leaves};
    $_->request($uri) for @others;
    kill 'CONT', $worker;

    my @said = map { $_->answer->{status} } @others;
    push @said, $first->answer->{status} unless $how{leaves};

    return (SlidewinNginx::tally(@said), calls() - $before);
}

for my $zone (qw(one off)) {
    is($nginx->get("/$zone?k=taken")->{status}, 200, "$zone: there was one");

    my ($said, $calls) = turn("/$zone?k=taken");
    is($said, '429 x11', '... all are refused');
    is($calls, 1, '... by one question');
}

for my $zone (qw(one off)) {
    is($nginx->get("/$zone?k=left")->{status}, 200, "$zone: there was one");

    my ($said, $calls) = turn("/$zone?k=left", leaves => 1);
    is($said, '429 x10', '... all are refused when the first has left');
    cmp_ok($calls, '<=', 2, '... by one question more');
}

# what was admitted says nothing about the next
{
    my ($said) = turn('/two?k=free');
    is($said, '200 x2, 429 x9', 'who was admitted speaks for nobody else');
}

$nginx->stop;

done_testing();
