# However a request ends, its true cost is charged if it is known, else the
# estimate stands; by count= and reset= nothing is charged.

use strict;
use warnings;

use POSIX ();
use SlidewinCount;
use SlidewinHTTP2;
use SlidewinRedis;
use Test::More;

my $limit = 1000;
my $charge = 'charge=$upstream_http_x_cost';

my $port = SlidewinRedis::free_port();

my $server = <<"END" . <<'END';
    listen 127.0.0.1:$port http2;
    location = /told { slidewin zone=log cost=10 $charge; proxy_pass http://told; }
    location = /500 { slidewin zone=log cost=10 $charge; proxy_pass http://told; }
    location = /down { slidewin zone=log cost=10 $charge; proxy_pass http://down; }
    location = /held { slidewin zone=log cost=10 $charge; proxy_pass http://held; }
    location = /held_stays {
        slidewin zone=log cost=10 $charge;
        proxy_ignore_client_abort on;
        proxy_pass http://held;
    }
    location = /held_streams {
        slidewin zone=log cost=10 $charge;
        proxy_buffering off;
        proxy_pass http://held;
    }
    location = /held_listed {
        slidewin zone=log cost=10 count=200,499 $charge; proxy_pass http://held;
    }
    location = /held_not_listed {
        slidewin zone=log cost=10 count=200 $charge; proxy_pass http://held;
    }
    location = /held_streams_listed {
        slidewin zone=log cost=10 count=200 $charge;
        proxy_buffering off;
        proxy_pass http://held;
    }
    location = /held_streams_not_listed {
        slidewin zone=log cost=10 count=499 $charge;
        proxy_buffering off;
        proxy_pass http://held;
    }
    location = /late {
        slidewin zone=log cost=10 $charge;
        proxy_read_timeout 200ms;
        proxy_pass http://held;
    }
    location = /held_bytes {
        slidewin zone=log cost=10 charge=\$bytes_sent;
        proxy_pass http://held;
    }
    location = /none { slidewin zone=log cost=10 $charge; empty_gif; }
    location = /accel { slidewin zone=log cost=10 $charge; proxy_pass http://told; }
    location = /in { internal; empty_gif; }
    location = /accel_again {
        slidewin zone=log cost=10 $charge; proxy_pass http://told;
    }
    location = /again {
        internal; slidewin zone=log cost=20 $charge; proxy_pass http://told/other;
    }
    location = /accel_plain {
        slidewin zone=log cost=10; proxy_pass http://told;
    }
    location = /plain {
        internal; slidewin zone=log cost=5 $charge; empty_gif;
    }
    location = /page {
        slidewin zone=log cost=10 $charge;
        proxy_intercept_errors on;
        error_page 500 /in;
        proxy_pass http://told/500;
    }
    location = /rejected {
        slidewin zone=log cost=10 $charge;
        slidewin zone=fixed cost=1001;
        proxy_pass http://told;
    }
    location = /accel_rejected {
        slidewin zone=log cost=10 $charge; proxy_pass http://told;
    }
    location = /accel_rejected_listed {
        slidewin zone=log cost=10 count=429 $charge; proxy_pass http://told;
    }
    location = /accel_rejected_not_listed {
        slidewin zone=log cost=10 count=404 $charge; proxy_pass http://told;
    }
    location = /closed { internal; slidewin zone=fixed cost=1001; empty_gif; }
    location = /accel_rejected_again {
        slidewin zone=log cost=10 count=404 $charge; proxy_pass http://told;
    }
    location = /closed_again {
        internal; slidewin zone=log cost=1001 $charge; empty_gif;
    }
    location = /cached {
        slidewin zone=log cost=10 $charge;
        proxy_cache cache;
        proxy_pass http://told;
    }
    location = /cached_free {
        slidewin zone=log cost=10 charge=\$cost_unless_cached;
        proxy_cache cache;
        proxy_cache_key \$uri\$arg_k;
        proxy_pass http://told;
    }
    location = /cached_held {
        slidewin zone=log cost=10 charge=\$cost_unless_cached;
        proxy_cache cache;
        proxy_cache_key \$uri\$arg_k;
        proxy_cache_valid 200 1s;
        proxy_cache_use_stale error updating;
        proxy_pass http://held;
    }
    location = /counted {
        slidewin zone=log cost=10 count=200 $charge; proxy_pass http://told;
    }
    location = /not_counted {
        slidewin zone=log cost=10 count=404 $charge; proxy_pass http://told;
    }
    location = /reset {
        slidewin zone=log cost=10 reset=200 $charge; proxy_pass http://told;
    }
    location = /dry {
        slidewin zone=log cost=10 $charge dry_run; proxy_pass http://told;
    }
    location = /exempt {
        slidewin zone=log cost=10 $charge if=\$arg_none; proxy_pass http://told;
    }
    location = /several {
        slidewin zone=log cost=10 $charge;
        slidewin zone=fixed cost=10 charge=\$upstream_http_x_other;
        slidewin zone=strict cost=10 charge=\$upstream_http_x_none;
        slidewin zone=counter cost=10;
        proxy_pass http://told;
    }
    location = /sum {
        slidewin zone=log charge=\$upstream_http_x_none,\$upstream_http_x_cost;
        proxy_pass http://told;
    }
    location = /action {
        slidewin zone=log cost=10 $charge;
        post_action /after;
        proxy_pass http://told;
    }
    location = /after { internal; proxy_pass http://told/other; }
    location = /delayed {
        slidewin zone=log cost=10 $charge delay=1m; proxy_pass http://told;
    }
END
    location = /bytes { slidewin zone=log charge=$bytes_sent; empty_gif; }
    location = /seconds {
        slidewin zone=log cost=10 charge=$upstream_response_time;
        access_log logs/seconds.log seconds;
        proxy_pass http://told;
    }
    location = /tries {
        slidewin zone=log cost=10 charge=$upstream_response_time;
        access_log logs/seconds.log seconds;
        proxy_pass http://two;
    }
    location = /tell { slidewin zone=log cost=10 charge=$arg_c; empty_gif; }
END

# what is requested; its status; how many units stay counted
my @cases = (
    ['/told?c=33', 200, 33],
    ['/500?c=33', 500, 33],
    ['/500?', 500, 10],
    ['/down?', 502, 10],
    ['/none?', 200, 10],
    ['/tell?c=4', 200, 4],
    ['/accel?c=33', 200, 33],
    ['/accel?', 200, 10],
    ['/accel_again?c=33&o=44', 200, 44],
    ['/accel_again?c=33&o=4', 200, 4],
    ['/accel_again?c=33', 200, 20],
    ['/accel_plain?c=33', 200, 33],
    ['/accel_plain?c=3', 200, 10],
    ['/page?c=33', 500, 33],
    ['/rejected?c=33', 429, 0],
    ['/accel_rejected?c=33', 429, 33],
    ['/accel_rejected?', 429, 10],
    ['/accel_rejected_listed?c=33', 429, 33],
    ['/accel_rejected_not_listed?c=33', 429, 33],
    ['/accel_rejected_not_listed?', 429, 10],
    ['/accel_rejected_again?c=33', 429, 33],
    ['/counted?c=33', 200, 33],
    ['/not_counted?c=33', 200, 0],
    ['/reset?c=33', 200, 0],
    ['/dry?c=33', 200, 33],
    ['/dry?c=3', 200, 3],
    ['/exempt?c=33', 200, 0],
    ['/sum?c=33', 200, 33],
    ['/action?c=33&o=44', 200, 33],
    ['/action?o=44', 200, 10],
    ['/delayed?c=33', 200, 33],
    ['/bytes?', 200, qr/^[1-9]\d\d$/],
);

for my $place (SlidewinCount::stores()) {
    my $name = $place->name;
    my $held = $place->held;
    my $nginx = $place->edge(server => $server, rate => "${limit}r/40d",
                             http => <<"END" . $place->told(<<'END'));
    proxy_cache_path cache keys_zone=cache:1m;
    log_format seconds '\$arg_k \$upstream_response_time';
    map \$upstream_cache_status \$cost_unless_cached {
        HIT 0;
        STALE 0;
        UPDATING 0;
        default \$upstream_http_x_cost;
    }
    upstream two {
        server unix:$place->{sockets}/told1;
        server unix:$place->{sockets}/down;
    }
END
        add_header X-Other $arg_o;
        location /500 { return 500; }
        location /other {
            add_header X-Cost $arg_o;
            return 200;
        }
        location /cached { expires 1h; add_header X-Cost 7; return 200; }
        location ~ ^/accel$ {
            add_header X-Cost $arg_c;
            add_header X-Accel-Redirect /in;
            return 200;
        }
        location = /accel_again {
            add_header X-Cost $arg_c;
            add_header X-Accel-Redirect /again?o=$arg_o&k=$arg_k;
            return 200;
        }
        location = /accel_plain {
            add_header X-Cost $arg_c;
            add_header X-Accel-Redirect /plain?k=$arg_k;
            return 200;
        }
        location ~ ^/accel_rejected(_listed|_not_listed)?$ {
            add_header X-Cost $arg_c;
            add_header X-Accel-Redirect /closed?k=$arg_k;
            return 200;
        }
        location = /accel_rejected_again {
            add_header X-Cost $arg_c;
            add_header X-Accel-Redirect /closed_again?k=$arg_k;
            return 200;
        }
END

    my $used = sub {
        my ($key, $zone) = @_;
        SlidewinCount::idle($nginx, '... it has ended');
        return $limit - SlidewinCount::left($nginx, $zone // 'log', $key);
    };

    for my $case (@cases) {
        my ($uri, $status, $stays) = @$case;
        my $key = SlidewinCount::fresh();

        is($nginx->get("$uri&k=$key")->{status}, $status, "$name: $uri");
        like($used->($key), ref $stays ? $stays : qr/^$stays$/,
             "... $stays are counted");
    }

    # seconds, as many as there were, of each upstream that was tried

    for my $case ([seconds => 1], [tries => 2]) {
        my ($where, $tries) = @$case;
        my $seconds;

        # again, if the upstream was tried that answers, and no other
        for (1 .. 4) {
            my $key = SlidewinCount::fresh();

            is($nginx->get("/$where?k=$key")->{status}, 200,
               "$name: /$where");

            my $used = $used->($key);
            my ($line) = SlidewinNginx::slurp($nginx->root
                . '/logs/seconds.log') =~ /^\Q$key\E (.*)/m;
            my $sum = 0;

            $seconds = () = $line =~ /[\d.]+/g;
            $sum += POSIX::ceil($_) for $line =~ /[\d.]+/g;
            is($used, $sum, "... $line is charged");
            last if $seconds == $tries;
        }

        is($seconds, $tries, "... in $tries tries");
    }

    # two uses of a cached response: nginx tells the field of the first again

    for my $case (['cached', 14], ['cached_free', 7]) {
        my ($where, $stays) = @$case;
        my $key = SlidewinCount::fresh();

        $nginx->get("/$where?k=$key") for 1, 2;
        is($used->($key), $stays, "$name: /$where, $stays are counted");
    }

    # one that has expired: the upstream breaks off its update, and another
    # request does not wait for that

    {
        my $key = SlidewinCount::fresh();
        my @clients = map { $nginx->client } 1 .. 2;

        $clients[0]->request("/cached_held?k=$key");
        is($held->has(1), 1, "$name: a response is cached");
        $held->tell(7);
        is($clients[0]->answer->{status}, 200, '... for a second');
        SlidewinNginx::nap(2.1);
        $clients[0]->request("/cached_held?k=$key");
        is($held->has(1), 1, '... the next request updates it');
        is($clients[1]->get("/cached_held?k=$key")->{status}, 200,
           '... and one meanwhile gets the stale one');
        close shift @{$held->{requests}};
        is($clients[0]->answer->{status}, 200, '... as the next does at last');
        is($used->($key), 7, '... 7 are counted');
    }

    # each limit by its own value

    my $key = SlidewinCount::fresh();
    $nginx->get("/several?k=$key&c=33&o=44");
    is(join(' ', map { $used->($key, $_) } qw(log fixed strict counter)),
       '33 44 10 10', "$name: four limits");

    # a dry run that is above the limit counts nothing, and settles nothing

    $key = SlidewinCount::fresh();
    $nginx->get("/tell?k=$key&c=995");
    $nginx->get("/dry?k=$key&c=33");
    is($used->($key), 995, "$name: a dry run that would reject");

    # the client leaves: before the response, and in the middle of it

    for my $case ([held => 10], [held_bytes => 0], [held_listed => 10],
                  [held_not_listed => 0])
    {
        my ($where, $stays) = @$case;
        my $client = $nginx->client;

        $key = SlidewinCount::fresh();
        $client->request("/$where?k=$key");
        is($held->has(1), 1, "$name: 499, /$where");
        $client->close;
        is($used->($key), $stays, "... $stays are counted");
        $held->answer(200);
    }

    for my $case ([held_stays => 33], [held_streams => 33],
                  [held_streams_listed => 33], [held_streams_not_listed => 0])
    {
        my ($where, $stays) = @$case;
        my $client = $nginx->client;

        $key = SlidewinCount::fresh();
        $client->request("/$where?k=$key");
        $held->has(1);

        my $upstream = shift @{$held->{requests}};
        $client->close if $where eq 'held_stays';
        syswrite $upstream, "HTTP/1.1 200 X\r\nContent-Length: 99\r\n"
                            . "X-Cost: 33\r\n\r\npart";

        if ($where eq 'held_stays') {
            syswrite $upstream, 'x' x 95;
        } else {
            sysread $client->{socket}, my $bytes, 4096;
            $client->close;
            SlidewinNginx::until_true(sub { !syswrite $upstream, 'x' },
                                      10 * SlidewinNginx::patience());
        }

        close $upstream;
        is($used->($key), $stays, "$name: /$where, $stays are counted");
    }

    # the upstream is late, or it breaks off: before its head, and after it

    for my $case ([late => '', 504, 10], [held => '', 502, 10],
                  [held => "HTTP/1.1 200 X\r\nContent-Length: 99\r\n"
                           . "X-Cost: 33\r\n\r\npart", 200, 33],
                  [held_streams => "HTTP/1.1 500 X\r\nContent-Length: 99\r\n"
                                   . "X-Cost: 33\r\n\r\npart", 500, 33])
    {
        my ($where, $part, $status, $stays) = @$case;
        my $client = $nginx->client;
        my $got = '';

        $key = SlidewinCount::fresh();
        $client->write("GET /$where?k=$key HTTP/1.0\r\n\r\n");
        is($held->has(1), 1, "$name: the upstream of /$where");

        my $upstream = shift @{$held->{requests}};

        syswrite $upstream, $part if $part;
        close $upstream if $status != 504;
        1 while sysread $client->{socket}, $got, 4096, length $got;
        close $upstream if $status == 504;
        like($got, qr{\AHTTP/1\.1 $status }, "... fails, $status");
        is($used->($key), $stays, "... $stays are counted");
    }

    # streams of one connection

    my $h2 = SlidewinHTTP2->new($port);
    $key = SlidewinCount::fresh();
    my @ids = map { $h2->request("/told?k=$key&c=$_") } 1, 20, 300;
    $h2->answers(@ids);
    is($used->($key), 321, "$name: three streams");
    undef $h2;

    is(scalar $nginx->errors('invalid charge'), 0, "$name: no value was bad");
    $nginx->stop(name => $name);
}

done_testing();
