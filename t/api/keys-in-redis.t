# A key that is looked at is told as the next request finds it; a key that is
# reset has its whole limit again at once, in the store and in all that this
# machine remembers. With a Redis that does not answer both are 503 in time.

use strict;
use warnings;

use SlidewinNginx;
use SlidewinRedis;
use SlidewinStats;
use Test::More;

my $redis = SlidewinRedis->start;
my $patience = 10 * SlidewinNginx::patience();

sub edge {
    return SlidewinNginx->start(
        workers => 2,
        http => <<"END", server => <<'END' . SlidewinStats::location());
    slidewin_redis @{[$redis->url]} timeout=500ms connect_timeout=500ms;
    slidewin_zone \$arg_k zone=plain:1m rate=3r/40d algorithm=log
                          deny_cache=off;
    slidewin_zone \$arg_k zone=denied:1m rate=3r/40d deny_cache=1m;
    slidewin_zone \$arg_k zone=short:1m rate=3r/40d deny_cache=2s;
    slidewin_zone \$arg_k zone=leased:1m rate=60r/40d lease=50%;
    slidewin_zone \$arg_k zone=delayed:1m rate=1r/4m algorithm=log
                          deny_cache=off;
    slidewin_zone \$arg_k zone=unused:1m rate=3r/40d;
    slidewin_zone \$arg_k zone=varied:1m rate=\$arg_r;
END
    location = /free2 { empty_gif; }
    location = /plain { slidewin zone=plain; empty_gif; }
    location = /denied { slidewin zone=denied; empty_gif; }
    location = /short { slidewin zone=short; empty_gif; }
    location = /leased { slidewin zone=leased; empty_gif; }
    location = /delayed { slidewin zone=delayed delay=5m; empty_gif; }
    location = /varied { slidewin zone=varied; empty_gif; }
    location = /status { stub_status; }
END
}

my ($nginx, $other) = (edge(), edge());

sub told {
    my $look = SlidewinStats::look($nginx, @_);

    return join ' ', map { $look->{$_} // 'null' } qw(limit remaining);
}

for my $zone (qw(plain denied)) {
    is(told($zone, 'a'), '3 3', "$zone: a key that nobody has used");

    for my $left (2, 1, 0) {
        is($nginx->get("/$zone?k=a")->{header}{'x-remaining'}, $left,
           "... a request leaves $left");
        is(told($zone, 'a'), "3 $left", '... as the key tells');
    }

    my $answer = $nginx->get("/$zone?k=a");
    my $look = SlidewinStats::look($nginx, $zone, 'a');
    is($answer->{status}, 429, '... the next is rejected');
    cmp_ok(abs($look->{retry_after} - $answer->{header}{'retry-after'}), '<=',
           2, '... and may come again when the key tells');

    $nginx->status("/$zone?k=a", 4);
    is(SlidewinStats::forget($nginx, $zone, 'a'), 204, '... it is reset');
    is(SlidewinNginx::tally($nginx->status("/$zone?k=a", 5)),
       '200 x3, 429 x2', '... and has its limit again, no more');
}

is(SlidewinStats::forget($nginx, 'plain', 'never'), 204,
   'a key that nobody has used can be reset');
is(told('unused', 'a'), '3 3', 'a zone that no limit uses');
is(SlidewinStats::forget($nginx, 'unused', 'a'), 204, '... can be reset');

$nginx->get('/varied?k=a&r=5r/m');
is(told('varied', 'a'), 'null null', 'a rate from a variable is not known');
is(told('varied', 'a?rate=5r/m'), '5 4', '... unless it is told');

# units that this machine has leased are dropped as well
is(SlidewinNginx::tally($nginx->status('/leased?k=a', 20)), '200 x20',
   'a lease');
is(SlidewinStats::forget($nginx, 'leased', 'a'), 204, '... is reset');

# what is prefetched in the millisecond of a reset may have been asked before
# it, and is dropped
SlidewinNginx::nap(0.005);

# a unit that a lease did not use in time is on its way back for a moment
my $passed = grep { $_ == 200 } $nginx->status('/leased?k=a', 70);
SlidewinNginx::until_true(sub {
    $passed += $nginx->get('/leased?k=a')->{status} == 200;
    return $passed >= 60;
}, $patience);
is($passed, 60, '... and the limit is whole');
is(SlidewinNginx::tally($nginx->status('/leased?k=a', 10)), '429 x10',
   '... no more than that is admitted');

# another machine remembers for deny_cache=
$other->status('/short?k=a', 5);
is(SlidewinStats::forget($nginx, 'short', 'a'), 204, 'another machine');
is($nginx->get('/short?k=a')->{status}, 200, '... this one admits at once');
is(SlidewinStats::becomes(sub { $other->get('/short?k=a')->{status} }, 200),
   200, '... the other soon');

# a request that waits
is($nginx->get('/delayed?k=a')->{status}, 200, 'the limit is used');
my $waits = $nginx->asks('/delayed?k=a');
SlidewinNginx::until_true(sub {
    $nginx->get('/status')->{body} =~ /Writing: 2/;
}, $patience);
is($waits->answered, 0, '... a request waits');
is(SlidewinStats::forget($nginx, 'delayed', 'a'), 204, '... it is reset');
is($waits->answer->{status}, 200, '... and goes on');

# Redis stops
$redis->signal('STOP');
for my $method (qw(GET DELETE)) {
    my $asked = SlidewinStats::ask($nginx, 'zones/plain/keys/b', $method);

    is($asked->{status}, 503, "$method of a Redis that stopped");
    like($asked->{body}, qr/"error"/, '... says why');
    cmp_ok($asked->{seconds}, '<', 5 * SlidewinNginx::patience(),
           '... in time');
}
is(SlidewinNginx::tally($nginx->status('/plain?k=c', 5)), '200 x3, 429 x2',
   '... the fallback counts');
is(SlidewinStats::forget($nginx, 'plain', 'c'), 503,
   '... which a reset clears, though not all');
is(SlidewinNginx::tally($nginx->status('/plain?k=c', 5)), '200 x3, 429 x2',
   '... the client has the limit of the fallback again');
ok(SlidewinNginx::until_true(sub {
    !SlidewinStats::store($nginx)->{connected};
}, $patience), '... there is no connection');
is(SlidewinStats::key($nginx, 'plain', 'b')->{status}, 503, '... and still');
$redis->signal('CONT');
ok(SlidewinNginx::until_true(sub {
    $nginx->get('/plain?k=' . rand);
    SlidewinStats::store($nginx)->{connections} == 2;
}, 2 * $patience), '... until Redis goes on');
is(SlidewinStats::becomes(sub { told('plain', 'b') }, '3 3'), '3 3',
   '... and the key is told');

# Redis is dead
$redis->kill;
is(SlidewinStats::becomes(
       sub { SlidewinStats::key($nginx, 'plain', 'b')->{status} }, 503), 503,
   'a dead Redis: a key');
is(SlidewinStats::forget($nginx, 'plain', 'b'), 503, '... a reset');

$_->stop for $nginx, $other;

done_testing;
