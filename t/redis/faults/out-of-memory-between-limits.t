# Memory runs out between the limits of a request: what was charged by then is
# refunded, and the limits of the error page, as many as a location may have,
# are decided on their own.

use strict;
use warnings;

use File::Temp ();
use SlidewinNginx;
use SlidewinRedis;
use Test::More;

my $dir = File::Temp::tempdir('slidewin.XXXXXX', TMPDIR => 1, CLEANUP => 1);
my $redis = SlidewinRedis->start;
my $most = 32;
my $failed = qr/\[emerg\] .* failed \(12: /;

# 512 KB, if there is a field of 8 KB, then 32 MB, and a key of 512 MB
my $large = '$http_x_large' x 64;
my $larger = '$large' x 64;
my $huge = '$larger' x 16;

my $nginx = SlidewinNginx->start(
    # a sanitizer has limits of its own, and reports each time they are reached
    env => SlidewinNginx::asan()
           ? { ASAN_OPTIONS => ($ENV{ASAN_OPTIONS} // '')
                               . ',allocator_may_return_null=1'
                               . ',max_allocation_size_mb=256'
                               . ",log_path=$dir/asan" } : {},
    http => "large_client_header_buffers 4 16k;
             slidewin_redis @{[$redis->url]} timeout=5s connect_timeout=20s;
             map \$http_x_large \$large { default \"$large\"; }
             map \$http_x_large \$larger { default \"$larger\"; }
             slidewin_zone \"$huge\" zone=huge:1m rate=10r/h algorithm=log;
             " . join('', map {
                 "slidewin_zone \$arg_k zone=z$_:1m rate=10r/h
                                algorithm=log;
                  slidewin_zone \$arg_k zone=page$_:1m rate=10r/h
                                algorithm=log;\n"
             } 1 .. $most),
    server => 'add_header X-Source $slidewin_source always;
               location = /t {
               ' . join('', map { "slidewin zone=z$_;\n" } 1 .. $most - 1) . '
                   slidewin zone=huge;
                   error_page 500 /page?$args;
                   empty_gif;
               }
               location = /page {
               ' . join('', map { "slidewin zone=page$_;\n" } 1 .. $most) . '
                   empty_gif;
               }
               location = /one { slidewin zone=z1; empty_gif; }
               location = /two { slidewin zone=page1; empty_gif; }');

my ($worker) = $nginx->workers;

ok(SlidewinNginx::until_true(sub {
    $nginx->get('/one?k=w' . rand)->{header}{'x-source'} eq 'redis';
}, 10 * SlidewinNginx::patience()), 'Redis is asked');
is($nginx->get('/t?k=a')->{status}, 200, 'all limits of a request');

if (!SlidewinNginx::asan()) {
    my $kb = SlidewinNginx::memory($worker, 'VmSize');
    my $bytes = ($kb + 256 * 1024) * 1024;

    system('prlimit', "--pid=$worker", "--as=$bytes:$bytes") == 0
        or die "prlimit failed\n";
}

for my $n (1 .. 5) {
    my $answer = $nginx->get("/t?k=b$n", 'X-Large' => 'x' x 8192);

    is($answer->{status}, 500, 'no memory for the last key');
    is($answer->{header}{'x-source'}, 'redis', '... the page is decided');
    is($nginx->get("/one?k=b$n")->{header}{'x-remaining'}, 9,
       '... those from before the error are not counted');
    is($nginx->get("/two?k=b$n")->{header}{'x-remaining'}, 8,
       '... and those of the page are');
}

cmp_ok(scalar($nginx->errors($failed)), '>=', 5, 'memory had run out');
is(($nginx->workers)[0], $worker, 'the worker lives on');

$nginx->stop(allow => $failed);

is(scalar(grep { /^=+\d+=+ERROR|runtime error/ }
          map { split /^/, SlidewinNginx::slurp($_) } glob "$dir/asan*"),
   0, 'nothing was written where it must not be');

done_testing();
