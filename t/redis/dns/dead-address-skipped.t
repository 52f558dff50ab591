# A name with several addresses: those without a server are skipped.

use strict;
use warnings;

use SlidewinNginx;
use SlidewinPreload;
use SlidewinRedis;
use Test::More;

my $names = SlidewinPreload::library('names');

# it listens on 127.0.0.2 alone
my $redis = SlidewinRedis->start(args => ['--bind', '127.0.0.2']);

sub start {
    my ($addresses) = @_;

    return SlidewinNginx->start(
        env => { LD_PRELOAD => $names,
                 SLIDEWIN_NAME => 'several.example',
                 SLIDEWIN_ADDRESSES => $addresses },
        http => 'slidewin_redis redis://several.example:' . $redis->port
                . ' timeout=5s connect_timeout=20s;
                slidewin_zone $arg_k zone=one:1m rate=2r/h algorithm=log
                              on_error=open;',
        server => 'add_header X-Source $slidewin_source always;
                   location = /t { slidewin zone=one; empty_gif; }');
}

my $fresh = 0;

sub asked {
    my ($nginx) = @_;

    return SlidewinNginx::until_true(sub {
        $nginx->get('/t?k=w' . ++$fresh)->{header}{'x-source'} eq 'redis';
    }, 10 * SlidewinNginx::patience());
}

for my $addresses ('127.0.0.2', '127.0.0.2,127.0.0.1', '127.0.0.1,127.0.0.2',
                   '127.0.0.1,127.0.0.3,127.0.0.2',
                   '127.0.0.1,127.0.0.2,127.0.0.3')
{
    my $nginx = start($addresses);

    ok(asked($nginx), "$addresses: Redis is asked");
    is(join(' ', $nginx->status("/t?k=$addresses", 3)), '200 200 429',
       '... and decides');

    my $log = $nginx->error_log;

    unlike($log, qr/its name was not resolved|host not found/,
           '... its name is known');
    unlike($log, qr/redis "several\.example:\d+" cannot be reached/,
           '... and an address without a server is not logged');

    # the server goes and comes back: all addresses are tried again

    $redis->kill;
    ok(SlidewinNginx::until_true(sub {
        $nginx->get('/t?k=w' . ++$fresh)->{header}{'x-source'} ne 'redis';
    }, 10), '... it is gone');
    SlidewinNginx::nap(0.3);
    ok($redis->run, '... it comes');
    ok(asked($nginx), '... and is asked again');

    $nginx->stop;
}

done_testing();
