# Queues of several limits, and units that are refunded while requests wait.

use strict;
use warnings;

use SlidewinNginx;
use SlidewinRedis;
use Test::More;

my @stores = qw(local redis);
my $redis = SlidewinRedis->start;
my $patience = SlidewinNginx::patience();
my ($zones, $locations) = ('', '');

for my $store (@stores) {
    my $where = $store eq 'local' ? ' store=local' : ' on_error=closed';

    for (['x', '$arg_x', '1r/4s'], ['y', '$arg_y', '1r/30m'],
         ['z', '$arg_z', '1r/4s'], ['big', '$arg_k', '60r/h'],
         ['login', '$arg_k', '1r/20s'])
    {
        my ($zone, $key, $rate) = @$_;
        $zones .= "slidewin_zone $key zone=${store}_$zone:1m rate=$rate"
                  . " algorithm=log$where;\n";
    }

    $locations .= <<"END";
location = /$store/x { slidewin zone=${store}_x delay=1m; empty_gif; }
location = /$store/z { slidewin zone=${store}_z delay=1m; empty_gif; }
location = /$store/xy {
    slidewin zone=${store}_x delay=1h; slidewin zone=${store}_y delay=1h;
    empty_gif;
}
location = /$store/yx {
    slidewin zone=${store}_y delay=1h; slidewin zone=${store}_x delay=1h;
    empty_gif;
}
location = /$store/xz {
    slidewin zone=${store}_x delay=1m; slidewin zone=${store}_z delay=1m;
    empty_gif;
}
location = /$store/zx {
    slidewin zone=${store}_z delay=1m; slidewin zone=${store}_x delay=1m;
    empty_gif;
}
location = /$store/big {
    slidewin zone=${store}_big cost=\$arg_c delay=1h;
    empty_gif;
}
location = /$store/login {
    slidewin zone=${store}_login count=401 reset=200 delay=1m;
    proxy_pass http://app;
}
location = /$store/refund {
    slidewin zone=${store}_login count=401 delay=1m;
    proxy_pass http://app;
}
END
}

my $nginx = SlidewinNginx->start(
    connections => 256,
    # lines that the log throttle leaves out appear at debug, and no others do
    http => 'error_log logs/error.log debug_mail;
             slidewin_redis ' . $redis->unix_url . " timeout=5s
                   connect_timeout=10s;
             slidewin_log_level warn key=on;
             upstream app { server unix:/nowhere; }
             $zones",
    server => $locations);

# an application that answers when the suite says so
my $app = IO::Socket::UNIX->new(Local => $nginx->root . '/app', Listen => 64)
    or die "listen: $!";
chmod 0777, $nginx->root . '/app';
my $path = $nginx->root . '/app';
$nginx->reload(http => $nginx->{conf}{http} =~ s{unix:/nowhere}{unix:$path}r);

my $fresh = 0;

sub fresh { return 'c' . ++$fresh }

sub status {
    return join ' ', map {
        $_->{status} . '-' . ($_->{header}{'x-status'} // '')
    } @_;
}

sub delays {
    my ($uri) = @_;
    my $keys = join '|', $uri =~ /=(c\d+)/g;

    return scalar(() = $nginx->errors(
        qr/delaying request, .*, key: "(?:$keys)"/));
}

# a client that has to wait
sub waits {
    my ($uri, $name) = @_;
    my $before = delays($uri);
    my $client = $nginx->asks($uri);

    ok(SlidewinNginx::until_true(sub { delays($uri) > $before },
                                 10 * $patience), $name);

    return $client;
}

# the next request that reaches the application
sub held {
    my $bits = '';

    vec($bits, fileno $app, 1) = 1;
    select $bits, undef, undef, 10 * $patience or die "no request came\n";

    my $call = $app->accept;
    sysread $call, my $request, 65536;

    return $call;
}

sub answer {
    my ($call) = @_;

    print {$call} "HTTP/1.0 200 OK\r\nContent-Length: 0\r\n\r\n";
    close $call;

    return;
}

# Checked when all clients wait.
my @ends;

for my $store (@stores) {
    # Units that are refunded or cleared: a request that waits for them goes on
    # at once, however long it would have had to wait.

    for my $how (qw(refund login)) {
        my $k = fresh();
        my $first = $nginx->asks("/$store/$how?k=$k");
        my $call = held();
        my @clients = map {
            waits("/$store/$how?k=$k", "$store, $how: number $_ waits")
        } 1, 2;

        my $start = SlidewinNginx::now();
        answer($call);
        is(status($first->answer), '200-PASSED', '... the first ends well');

        for my $client (@clients) {
            answer(held());
            is(status($client->answer), '200-DELAYED',
               '... and the next need not wait for long');
        }
        cmp_ok(SlidewinNginx::now() - $start, '<', 19,
               '... as one would for a unit to leave the window');
    }

    # A request that waits for one limit does not hold up requests of another.

    for my $order ($store eq 'local' ? qw(xy yx) : 'yx') {
        my ($x, $y) = (fresh(), fresh());

        is(status($nginx->get("/$store/$order?x=$x&y=$y")), '200-PASSED',
           "$store, $order: all is used up");
        my $both = waits("/$store/$order?x=$x&y=$y", '... one waits for both');

        my @others = map { waits("/$store/x?x=$x", "... $_ for the first") }
                     1, 2;

        push @ends, sub {
            is(status(map { $_->answer } @others), '200-DELAYED 200-DELAYED',
               "$store, $order: others have their turn meanwhile");
            ok(!$both->answered, '... and the one waits still');
            $both->close;
        };
    }

    # Two requests do not wait for each other.

    my ($x, $z) = (fresh(), fresh());

    is(status($nginx->asks("/$store/x?x=$x")->answer,
              $nginx->asks("/$store/z?z=$z")->answer), '200-PASSED 200-PASSED',
       "$store: two limits are used up");

    my @clients = map { waits("/$store/$_?x=$x&z=$z", "... $_ waits") }
                  qw(x z xz zx xz zx);
    push @ends, sub {
        is(status(map { $_->answer } @clients), join(' ', ('200-DELAYED') x 6),
           "$store: all have their turn");
    };
}

$_->() for @ends;
@ends = ();


# One client does not take all slots of the queue.

my ($k, $other) = (fresh(), fresh());
$nginx->asks("/local/big?c=60&k=$_")->answer for $k, $other;

my @crowd = map { $nginx->asks("/local/big?c=1&k=$k") } 1 .. 40;
ok(SlidewinNginx::until_true(sub {
       grep({ $_->answered } @crowd) == 24;
   }, 10 * $patience), 'of one client a sixteenth of the connections wait');
waits("/local/big?c=1&k=$other", '... and there is room for another');
$_->close for @crowd;

$nginx->stop(signal => 'TERM');


# A Redis that answers no check is not taken for healthy because it carries out
# refunds.

my $full = SlidewinRedis->start(args => ['--maxmemory-policy', 'noeviction']);
$nginx = SlidewinNginx->start(
    http => 'slidewin_redis ' . $full->unix_url . ' timeout=5s
                   connect_timeout=10s;
             slidewin_zone $arg_k zone=a:1m rate=1000r/h;',
    server => 'add_header X-Source $slidewin_source always;
               location = /a { slidewin zone=a reset=200; empty_gif; }');

is($nginx->get('/a?k=k')->{header}{'x-source'}, 'redis', 'Redis is asked');
$full->command('CONFIG', 'SET', 'maxmemory', '1');
is($nginx->get('/a?k=k')->{header}{'x-source'}, 'fallback', '... has no memory')
    for 1 .. 20;
is(scalar $nginx->errors(qr/is not asked for a while/), 1,
   '... and is not asked any more, though it forgets when told to');
$nginx->stop;

done_testing();
