# Each stream of an HTTP/2 connection and each of several pipelined requests is
# charged by itself: by what was sent for it, and by what its upstream told
# before the client reset it.

use strict;
use warnings;

use SlidewinCount;
use SlidewinHTTP2;
use SlidewinRedis;
use SlidewinStats;
use Test::More;

my $limit = 2_000_000;
my $size = 300_000;

my $locations = <<'END';
    location = /file {
        slidewin zone=log_big cost=5 charge=$bytes_sent;
        access_log logs/bytes.log bytes;
        root html;
    }
    location = /small {
        slidewin zone=log_big cost=5 charge=$bytes_sent;
        access_log logs/bytes.log bytes;
        empty_gif;
    }
    location = /held {
        slidewin zone=log_big cost=10 charge=$upstream_http_x_cost;
        proxy_pass http://held;
    }
    location = /held_streams {
        slidewin zone=log_big cost=10 charge=$upstream_http_x_cost;
        proxy_buffering off;
        proxy_pass http://held;
    }
    location = /peek_log_big { slidewin zone=log_big cost=0; empty_gif; }
END

for my $place (SlidewinCount::stores()) {
    my $name = $place->name;
    my $held = $place->held;
    my $port = SlidewinRedis::free_port();
    my $nginx = $place->edge(
        server => $locations . SlidewinStats::location(),
        http => <<"END");
    slidewin_zone \$arg_k zone=log_big:1m rate=${limit}r/40d algorithm=fixed
                  on_error=closed;
    log_format bytes '\$arg_k \$bytes_sent';
    server {
        listen 127.0.0.1:$port http2;
        $locations
    }
END

    mkdir $nginx->root . '/html';
    open my $file, '>', $nginx->root . '/html/file' or die "file: $!";
    print $file 'x' x $size;
    close $file;

    my $used = sub { $limit - SlidewinCount::left($nginx, 'log_big', $_[0]) };

    # the bytes that were sent to a client, one number a request
    my $sent = sub {
        my ($key, $n) = @_;
        my @sent;

        SlidewinNginx::until_true(sub {
            @sent = SlidewinNginx::slurp($nginx->root . '/logs/bytes.log')
                    =~ /^\Q$key\E (\d+)$/mg;
            return @sent >= $n;
        }, 10 * SlidewinNginx::patience());

        return @sent;
    };

    # becomes KEY, WANT, NAME: a stream that was reset ends soon
    my $becomes = sub {
        my ($key, $want, $what) = @_;

        is(SlidewinStats::becomes(sub { $used->($key) }, $want), $want, $what);
    };

    $nginx->get('/peek_log_big?k=first');


    # Resets. The windows of HTTP/2 hold up long responses, not a short one that
    # comes first.

    my $h2 = SlidewinHTTP2->new($port);
    my ($cut, $goes, $small) = map { SlidewinCount::fresh() } 1 .. 3;
    my @ids = map { $h2->request($_) } "/small?k=$small", "/file?k=$cut",
                                       "/file?k=$goes";

    is(($h2->answers(shift @ids))[0]{status}, 200,
       "$name: a stream beside two others");
    $h2->sync;
    is($used->($small), ($sent->($small, 1))[0], '... is charged alone');
    is(join(' ', map { $used->($_) } $cut, $goes), '5 5',
       '... while those are reserved');
    $h2->cancel($ids[0]);
    $h2->sync;

    my ($bytes) = $sent->($cut, 1);

    cmp_ok($bytes, '>', 0, '... one is reset after a part of its response');
    cmp_ok($bytes, '<', $size, '... not all of it');
    $becomes->($cut, $bytes, '... and pays what was sent to it');
    is($used->($goes), 5, '... the other goes on');

    # before its upstream has answered, and after its head

    my $second = SlidewinHTTP2->new($port);
    my ($early, $late, $stays) = map { SlidewinCount::fresh() } 1 .. 3;
    my $id = $second->request("/held?k=$early");
    is($held->has(1), 1, "$name: the upstream works");
    $second->cancel($id);
    $second->sync;
    close shift @{$held->{requests}};
    ok(SlidewinNginx::until_true(sub {
        my $charges = SlidewinStats::zone($nginx, 'log_big')->{charges};
        return $charges->{estimated} == 1;
    }, 10 * SlidewinNginx::patience()), '... a reset ends the request');
    is($used->($early), 10, '... and the estimate stands');

    @ids = map { $second->request("/held_streams?k=$_") } $late, $stays;
    is($held->has(2), 2, "$name: the upstreams work");

    for my $upstream (@{$held->{requests}}) {
        syswrite $upstream, "HTTP/1.1 200 X\r\nContent-Length: 99\r\n"
                            . "X-Cost: 33\r\n\r\npart";
    }
    SlidewinNginx::until_true(sub {
        $second->sync;
        return 2 == grep { $second->{streams}{$_}{status} } @ids;
    }, 10 * SlidewinNginx::patience());
    $second->cancel($ids[0]);
    $second->sync;
    $becomes->($late, 33, '... a reset after the head pays what that told');
    is($used->($stays), 10, '... the other stream is under way');
    close $_ for splice @{$held->{requests}};
    $becomes->($stays, 33, '... until its upstream ends it');

    # the connection ends

    undef $h2;
    undef $second;
    ($bytes) = $sent->($goes, 1);
    cmp_ok($bytes, '>', 0, "$name: the connection of a stream ends");
    $becomes->($goes, $bytes, '... which pays what was sent to it');


    # Pipelined: each by its own bytes, also if several are of one client.

    my $client = $nginx->client;
    my @keys = map { SlidewinCount::fresh() } 1 .. 4;
    my $all = SlidewinCount::fresh();

    is(SlidewinNginx::tally($client->statuses(
           (map { ("/file?k=$_", "/small?k=$all") } @keys),
           "/small?k=$keys[0]", "/file?k=$all")),
       '200 x10', "$name: pipelined");

    for my $key (@keys, $all) {
        my @sent = $sent->($key, { $keys[0] => 2, $all => 5 }->{$key} // 1);
        my $sum = 0;

        $sum += $_ for @sent;
        is($used->($key), $sum, '... pays ' . join ' + ', @sent);
        cmp_ok($sum, '>', $size, '... for all of it');
        cmp_ok($sum, '<', $size + 5000, '... once');
    }

    $client->close;
    $nginx->stop(name => $name);
}

done_testing();
