# A request that a client or an upstream aborts ends with a status as well (499,
# 400, 502, or the one already sent), and count= goes by it.

use strict;
use warnings;

use SlidewinCount;
use Test::More;

my $limit = $SlidewinCount::LIMIT;

my %lists = (bad => '401', left => '401,499', class => '4xx', early => '400',
             gateway => '5xx', good => '200');

my $server = join('', map { <<"END" } sort keys %lists) . <<'END';
    location = /$_ {
        slidewin zone=log count=$lists{$_};
        proxy_pass http://held;
    }
    location = /${_}_stays {
        slidewin zone=log count=$lists{$_};
        proxy_ignore_client_abort on;
        proxy_pass http://held;
    }
    location = /${_}_streams {
        slidewin zone=log count=$lists{$_};
        proxy_buffering off;
        proxy_pass http://held;
    }
END
    location = /page {
        slidewin zone=log count=401;
        proxy_intercept_errors on;
        error_page 401 403 /held;
        proxy_pass http://origin/$arg_s;
    }
    location = /held { proxy_pass http://held; }
    location = /two {
        slidewin zone=log count=401;
        slidewin zone=fixed count=499 cost=2;
        slidewin zone=strict;
        proxy_pass http://held;
    }
END

for my $algorithm (@SlidewinCount::ALGORITHMS) {
    $server .= "location = /login_$algorithm { slidewin zone=$algorithm"
               . " count=401; proxy_pass http://held; }\n";
}

for my $place (SlidewinCount::stores()) {
    my $held = $place->held;
    my $nginx = $place->edge(server => $server);

    # N clients that leave while the upstream works
    my $leave = sub {
        my ($uri, $n, $what) = @_;
        my @clients = map { $nginx->client } 1 .. $n;

        $_->request($uri) for @clients;
        is($held->has($n), $n, $place->name . ": $what");
        $_->close for @clients;

        return;
    };

    # what is left when no request is in progress any more
    my $left = sub {
        my ($key, $want, $zone) = @_;

        SlidewinCount::idle($nginx, '... all are gone');
        is(SlidewinCount::left($nginx, $zone // 'log', $key), $want,
           "... $want left");

        return;
    };

    for my $algorithm (@SlidewinCount::ALGORITHMS) {
        my $key = SlidewinCount::fresh();

        $leave->("/login_$algorithm?k=$key", $limit,
                 "$algorithm: five leave");
        $left->($key, $limit, $algorithm);
        $held->answer(200);
    }

    for my $case (['bad', 'it is not listed', $limit],
                  ['left', 'it is listed', $limit - 2],
                  ['class', 'its class is', $limit - 2])
    {
        my ($list, $what, $want) = @$case;
        my $key = SlidewinCount::fresh();

        $leave->("/$list?k=$key", 2, "499, $what");
        $left->($key, $want);
        $held->answer(401);
        is(SlidewinCount::left($nginx, 'log', $key), $want,
           '... whatever the upstream says later');
    }

    # several limits

    my $key = SlidewinCount::fresh();

    $leave->("/two?k=$key", 1, 'three limits');
    $left->($key, $limit);
    is(join(' ', map { SlidewinCount::left($nginx, $_, $key) }
                 qw(fixed strict)), '3 4', '... each by its own list');
    $held->answer(200);

    # nginx does not wait for an error page here: the status is final

    for my $case ([401, $limit - 1], [403, $limit]) {
        my ($status, $want) = @$case;

        $key = SlidewinCount::fresh();
        $leave->("/page?k=$key&s=$status", 1, "the page of a $status");
        $left->($key, $want);
        $held->answer(200);
    }

    # nginx waits for the upstream though the client has left

    for my $case ([bad => 401, $limit - 1], [bad => 200, $limit],
                  [left => 200, $limit])
    {
        my ($list, $status, $want) = @$case;

        $key = SlidewinCount::fresh();
        $leave->("/${list}_stays?k=$key", 1,
                 "the client does not matter, $status");
        is(SlidewinCount::left($nginx, 'log', $key), $limit - 1,
           '... one is under way');
        $held->answer($status);
        $left->($key, $want);
    }

    # the client or the upstream leaves after the status was sent

    for my $who (qw(client upstream)) {
        for my $case ([bad => 401, $limit - 1], [bad => 200, $limit],
                      [left => 200, $limit], [gateway => 200, $limit],
                      [good => 200, $limit - 1])
        {
            my ($list, $status, $want) = @$case;
            my $client = $nginx->client;

            $key = SlidewinCount::fresh();
            $client->request("/${list}_streams?k=$key");
            is($held->has(1), 1, $place->name . ": the $who leaves in the"
               . " middle of a $status, $lists{$list} is listed");

            my $upstream = shift @{$held->{requests}};
            syswrite $upstream, "HTTP/1.1 $status X\r\nContent-Length: 99\r\n"
                                . "\r\npart";
            sysread $client->{socket}, my $bytes, 4096;
            like($bytes, qr{^HTTP/1\.1 $status }, '... it was sent');

            if ($who eq 'client') {
                $client->close;
            } else {
                close $upstream;
            }

            # an upstream that goes on sending finds its connection closed
            until_closed($upstream) if $who eq 'client';
            $left->($key, $want);
        }
    }

    # the upstream leaves before it has sent a status

    for my $case ([bad => $limit], [gateway => $limit - 1]) {
        my ($list, $want) = @$case;
        my $client = $nginx->client;

        $key = SlidewinCount::fresh();
        $client->request("/$list?k=$key");
        is($held->has(1), 1, $place->name . ': the upstream leaves');
        close shift @{$held->{requests}};
        is($client->answer->{status}, 502, '... which is a 502');
        $left->($key, $want);
    }

    # the client leaves in the middle of its request

    for my $case ([bad => $limit], [early => $limit - 1]) {
        my ($list, $want) = @$case;
        my $client = $nginx->client;

        $key = SlidewinCount::fresh();
        $client->write("POST /$list?k=$key HTTP/1.1\r\nHost: a\r\n"
                       . "Content-Length: 9\r\n\r\npart");
        ok(SlidewinNginx::until_true(sub {
            SlidewinCount::left($nginx, 'log', $key) eq $limit - 1;
        }, 10 * SlidewinNginx::patience()),
           $place->name . ': in the middle of its body it is charged');
        $client->close;
        $left->($key, $want);
        is($held->has(0), 0, '... and the upstream knows nothing of it');
    }

    $nginx->stop(name => $place->name);
}

sub until_closed {
    my ($upstream) = @_;

    SlidewinNginx::until_true(sub {
        !syswrite $upstream, 'x';
    }, 10 * SlidewinNginx::patience());
    close $upstream;

    return;
}

done_testing();
