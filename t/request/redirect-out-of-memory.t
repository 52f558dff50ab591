# An allocation fails while a request with the largest number of limits is
# checked, and its error page has as many other limits. The response is a 500 at
# worst, and each pass has only its own limits.

use strict;
use warnings;

use SlidewinNginx;
use SlidewinPreload;
use SlidewinRedis;
use Test::More;

my $redis = SlidewinRedis->start;
my $memory = SlidewinPreload->memory;
my ($zones, $locations) = ('', '');

for my $store (qw(local redis)) {
    my %limits;

    for my $place (qw(a b)) {
        for my $n (1 .. 32) {
            my $name = "$store-$place$n";
            # long enough for an allocation of its own
            my $key = $n == 32 ? '"$arg_k$http_big"' : '$arg_k';

            $zones .= "slidewin_zone $key zone=$name:64k rate=1000r/40d
                       store=$store on_error=closed;\n";
            $limits{$place} .= "slidewin zone=$name;\n";
        }
    }

    $locations .= <<"END";
    location = /$store/a {
        $limits{a}
        error_page 500 /$store/b?k=\$arg_k;
        empty_gif;
    }
    location = /$store/b { $limits{b} empty_gif; }
    location = /$store/left/a { slidewin zone=$store-a1 cost=0; empty_gif; }
    location = /$store/left/b { slidewin zone=$store-b1 cost=0; empty_gif; }
END
}

my $nginx = SlidewinNginx->start(
    env => $memory->env, http => <<"END", server => $locations);
    large_client_header_buffers 4 16k;
    slidewin_redis @{[$redis->url]} name=redis timeout=20s connect_timeout=20s;
    slidewin_log_level info;
    $zones
END

my ($worker) = $nginx->workers;
my $client = $nginx->client;

$client->get('/free');
cmp_ok($memory->found, '>=', 5, 'the allocations of the module are found');

# the failure may cost the connection to Redis, which comes back
sub left {
    my ($uri) = @_;
    my $left;

    SlidewinNginx::until_true(sub {
        $left = $client->get($uri)->{header}{'x-remaining'};
        return defined $left;
    }, 20 * SlidewinNginx::patience());

    return $left;
}

# allocations of the module, and those of nginx on its behalf
my @kinds = SlidewinNginx::asan() ? (1) : (1, 2);

for my $store (qw(local redis)) {
    for my $kind (@kinds) {
        my ($n, $failed, $served, %statuses) = (0, 1, 0);
        my $key = "$store$kind";

        while ($failed && $n < 100) {
            $memory->fail(-$kind, ++$n);

            my $status = $client->get("/$store/a?k=$key",
                                      Big => 'x' x 7040)->{status};

            SlidewinNginx::until_true(sub { !$memory->at_work }, 10)
                or die 'the worker is at work for ever';

            $failed = $memory->failed;
            $memory->fail(0);

            $statuses{$status}++;
            $served++ if $status == 200;
            $client = $nginx->client if !$client->{socket};
        }

        is($failed, 0, "$store, kind $kind: all $n allocations fail once");
        is(join(' ', grep { !/^(?:200|500|503|0)$/ } keys %statuses), '',
           '... and at worst the request does');
        cmp_ok($statuses{500} // 0, '>', 0, '... as one does with 500');
        is(($nginx->workers)[0], $worker, '... and the worker lives');

        $client->close;
        $client = $nginx->client;

        my ($a, $b) = map { left("/$store/left/$_?k=$key") } qw(a b);

        cmp_ok(1000 - $a, '>=', $served, '... what was served is counted');
        cmp_ok(1000 - $a, '<=', $n, '... once each');
        cmp_ok(1000 - $b, '<=', $statuses{500} // 0,
               '... and the page only where it was the answer');
    }
}

is(scalar($nginx->errors(qr/exited on/)), 0, 'no worker has died');
$client->close;
$nginx->stop(allow => qr/\[emerg\].* (?:malloc|posix_memalign)\(/);

done_testing();
