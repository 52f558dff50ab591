# A worker that exits, by a reload or a QUIT, has charges that are added up or
# wait behind others for a Redis that does not answer: it settles them first. If
# the way to Redis ends, those on their way stand as estimated.

use strict;
use warnings;

use SlidewinCount;
use SlidewinFake;
use SlidewinHTTP2;
use SlidewinNginx;
use SlidewinRedis;
use SlidewinStats;
use Test::More;

# of 16 workers each has no more than 64 calls on their way at once
my ($workers, $calls) = (16, 64);
my ($summed, $single) = (5, 110);
my $all = $summed + $single;
my $limit = 100;

my $place = SlidewinCount->new('redis');
my $redis = $place->redis;
my $far = SlidewinFake->start(relay => $redis->path, delay => sub { 0 });

my $locations = <<'END';
    location = /held {
        slidewin zone=z charge=$upstream_http_x_cost;
        proxy_pass http://held;
    }
    location = /peek_z { slidewin zone=z cost=0; empty_gif; }
END

sub zones {
    return "slidewin_redis $_[0] timeout=60s connect_timeout=60s;
            slidewin_zone \$arg_k zone=z:1m rate=${limit}r/40d
                          on_error=closed;
            upstream held { server unix:$place->{sockets}/held; }";
}

# another edge, to see what Redis has
my $near = SlidewinNginx->start(http => zones($redis->url),
                                server => $locations);

sub used { return $limit - SlidewinCount::left($near, 'z', $_[0]) }

sub charges {
    my $charges = SlidewinStats::zone($_[0], 'z')->{charges};

    return "$charges->{settled} settled, $charges->{estimated} estimated";
}

# An nginx whose charges Redis does not answer: all requests have ended, and each
# has cost 5. Returns it, its workers, of which one is busy, the client that is
# charged several times, and the others.
sub ended {
    my ($url, $what) = @_;
    my $port = SlidewinRedis::free_port();
    my $nginx = SlidewinNginx->start(
        workers => $workers,
        http => zones($url)
                . "server { listen 127.0.0.1:$port http2; $locations }",
        server => $locations . SlidewinStats::location());
    my ($sum, @keys) = map { SlidewinCount::fresh() } 0 .. $single;

    # all streams of a connection are of one worker
    my $h2 = SlidewinHTTP2->new($port);
    my @ids = map { $h2->request("/held?k=$_") } ($sum) x $summed, @keys;

    is($place->held->has($all), $all, "$what: requests are under way");
    $redis->signal('STOP');
    $place->held->tell((5) x $all);
    is(SlidewinNginx::tally(map { $_->{status} } $h2->answers(@ids)),
       "200 x$all", '... all are answered, while Redis is stopped');
    is(charges($nginx), '0 settled, 0 estimated', '... none is settled');

    return $nginx, [$nginx->workers], $sum, @keys;
}

# until all workers but the one that has charges have exited
sub one_left {
    my ($workers, $name) = @_;

    return ok(SlidewinNginx::until_true(sub {
        1 == grep { SlidewinNginx::alive($_) } @$workers;
    }, 20 * SlidewinNginx::patience()), $name);
}

for my $how (qw(reload quit)) {
    my ($nginx, $old, $sum, @keys) = ended($redis->url, $how);

    if ($how eq 'reload') {
        $nginx->reload;
    } else {
        $nginx->signal('QUIT');
    }

    one_left($old, '... one worker waits for Redis');
    $redis->signal('CONT');
    ok(SlidewinNginx::all_gone(@$old), '... then it exits');
    is(charges($nginx), "$all settled, 0 estimated",
       '... which tells that all are settled') if $how eq 'reload';
    is(SlidewinNginx::tally(map { used($_) } @keys), "5 x$single",
       '... each is');
    is(used($sum), 5 * $summed, '... those that were added up, too');
    $nginx->stop(name => $how);
}

# the way to Redis ends meanwhile

my ($nginx, $old, $sum, @keys) = ended($far->url, 'Redis goes away');

$nginx->reload;
one_left($old, '... one worker waits for Redis');
$far->stop;
ok(SlidewinNginx::all_gone(@$old), '... then it exits');

my $told = SlidewinStats::zone($nginx, 'z')->{charges};

is($told->{settled}, 0, '... which tells that none is settled');
cmp_ok($told->{estimated}, '>=', $calls,
       '... and that those that were sent stand as estimated');
$redis->signal('CONT');

# what had been sent, Redis may run: once
my @odd = grep { $_ != 1 && $_ != 5 } map { used($_) } @keys;

is("@odd", '', '... each is charged once, or as estimated');

$_->stop for $nginx, $near;

done_testing();
