# A limit in shared memory rejects at once; the time that a look at Redis takes
# for Retry-After is part of $slidewin_latency.

use strict;
use warnings;

use SlidewinNginx;
use SlidewinRedis;
use Test::More;

my $redis = SlidewinRedis->start;
my $nginx = SlidewinNginx->start(
    http => <<"END",
    slidewin_redis @{[$redis->url]} timeout=20s;
    slidewin_zone \$arg_k zone=here:1m rate=1r/40d store=local;
    slidewin_zone \$arg_k zone=there:1m rate=1r/40d;
    log_format took '\$slidewin_status \$slidewin_zone \$slidewin_latency';
END
    server => <<'END');
    location = /both {
        access_log logs/took took;
        slidewin zone=here;
        slidewin zone=there;
        empty_gif;
    }
    location = /here {
        access_log logs/took took;
        slidewin zone=here;
        empty_gif;
    }
END

sub took {
    my ($uri) = @_;
    my $file = $nginx->root . '/logs/took';
    my $before = -s $file // 0;

    $nginx->get($uri);
    SlidewinNginx::until_true(sub { (-s $file // 0) > $before },
                              10 * SlidewinNginx::patience());

    return split ' ', (split /\n/, SlidewinNginx::slurp($file))[-1];
}

is((took('/both?k=a'))[0], 'PASSED', 'a request passes');

$redis->call('CLIENT', 'PAUSE', 300, 'ALL');

my ($status, $zone, $ms) = took('/both?k=a');

is($status, 'REJECTED', 'the next one is rejected');
cmp_ok($ms, '>=', 200, '... and its look at Redis is part of the time');

# what needs no look is decided in no time, and in no less

took('/here?k=b');
($status, $zone, $ms) = took('/here?k=b');
is("$status $zone", 'REJECTED here', 'shared memory alone rejects');
like($ms, qr/^\d+\.\d{3}$/, '... in a time that can be');

$nginx->stop;

done_testing();
