# Each HTTP/2 stream is counted by its own status; a stream that the client
# resets ends with 499.

use lib 't/lib';
use Test::Nginx::Socket 'no_plan';
use SlidewinClient;
use SlidewinHTTP2;
use SlidewinRedis;

log_level('notice');

our $Redis = SlidewinRedis->start;

our $Http = "slidewin_redis @{[$Redis->url]} timeout=20s connect_timeout=20s;\n"
            . <<'END';
slidewin_zone $arg_k zone=local:1m rate=5r/h algorithm=log store=local;
slidewin_zone $arg_k zone=redis:1m rate=5r/h algorithm=log on_error=closed;
server {
    listen 127.0.0.1:$TEST_NGINX_RAND_PORT_1 http2;
    location = /local {
        slidewin zone=local count=401 reset=302;
        proxy_pass http://127.0.0.1:$TEST_NGINX_RAND_PORT_2;
    }
    location = /redis {
        slidewin zone=redis count=401 reset=302;
        proxy_pass http://127.0.0.1:$TEST_NGINX_RAND_PORT_2;
    }
    location = /local-499 {
        slidewin zone=local count=401,499;
        proxy_pass http://127.0.0.1:$TEST_NGINX_RAND_PORT_2;
    }
    location = /redis-499 {
        slidewin zone=redis count=401,499;
        proxy_pass http://127.0.0.1:$TEST_NGINX_RAND_PORT_2;
    }
}
END

our $Config = <<'END';
add_header X-Remaining $slidewin_remaining;
location = /peek-local {
    slidewin zone=local cost=0;
    empty_gif;
}
location = /peek-redis {
    slidewin zone=redis cost=0;
    empty_gif;
}
END

sub left {
    my ($store, $key) = @_;
    return get("/peek-$store?k=$key")->{headers}{'x-remaining'};
}

sub tally {
    my %count;
    $count{$_->{status} // 'none'}++ for @_;
    return join ', ', map { "$_ x$count{$_}" } sort keys %count;
}

# until the upstream has so many requests
sub calls {
    my ($up, $n) = @_;
    my @calls = map { $up->accept } 1 .. $n;
    $_->request for @calls;
    return @calls;
}

sub answer {
    my ($status, @calls) = @_;

    for my $c (@calls) {
        $c->write("HTTP/1.0 $status X\r\nContent-Length: 0\r\n\r\n");
        $c->close;
    }
}

run_tests();

__DATA__

=== streams of one connection
--- http_config eval: $::Http
--- config eval: $::Config
--- client
my $up = upstream(port(2));

for my $store (qw(local redis)) {
    my $h2 = SlidewinHTTP2->new(port(1));
    my @ids = map { $h2->request("/$store?k=a") } 1 .. 8;
    my @calls = calls($up, 5);

    is(left($store, 'a'), 0, "$store: all is reserved");
    answer(401, @calls[0 .. 2]);
    answer(200, @calls[3, 4]);
    is(tally($h2->answers(@ids)), '200 x2, 401 x3, 429 x3', '... statuses');
    ok(!$up->called(0), '... five came through');
    is(left($store, 'a'), 2, '... three are counted');

    @ids = map { $h2->request("/$store?k=a") } 1 .. 2;
    @calls = calls($up, 2);
    answer(302, $calls[0]);
    ok(wait_until(sub { left($store, 'a') == 5 }), '... one forgives');
    answer(200, $calls[1]);
    is(tally($h2->answers(@ids)), '200 x1, 302 x1', '... statuses');
    is(left($store, 'a'), 5, '... and that is all');
}



=== streams that are reset
--- http_config eval: $::Http
--- config eval: $::Config
--- client
my $up = upstream(port(2));
my $gone = 0;

for my $store (qw(local redis)) {
    for my $list ('', '-499') {
        my $key = "stream$list";
        my $h2 = SlidewinHTTP2->new(port(1));
        my @ids = map { $h2->request("/$store$list?k=$key") } 1 .. 4;
        my @calls = calls($up, 4);

        is(left($store, $key), 1, "$store: four are reserved");
        $h2->cancel(@ids[0 .. 2]);
        ok($h2->sync, '... three are reset');
        $gone += 3;
        ok(wait_until(sub { access_lines(qr/ 499 /) == $gone }),
           '... which is 499');
        is(left($store, $key), $list ? 1 : 4,
           $list ? '... and is listed' : '... and given back');
        answer(401, @calls);
        is(tally($h2->answers($ids[3])), '401 x1', '... the other goes on');
        is(left($store, $key), $list ? 1 : 4, '... and is counted');
    }
}



=== the connection of many streams goes
--- http_config eval: $::Http
--- config eval: $::Config
--- client
my $up = upstream(port(2));
my $gone = 0;

for my $store (qw(local redis)) {
    for my $way (qw(close reset)) {
        for my $list ('', '-499') {
            my $key = "$way$list";
            my $h2 = SlidewinHTTP2->new(port(1));
            $h2->request("/$store$list?k=$key") for 1 .. 5;
            my @calls = calls($up, 5);

            is(left($store, $key), 0, "$store: five are reserved");
            $h2->{c}->$way;
            $gone += 5;
            ok(wait_until(sub { access_lines(qr/ 499 /) == $gone }),
               "... $way is 499");
            is(left($store, $key), $list ? 0 : 5,
               $list ? '... and is listed' : '... and given back');
            answer(200, @calls);
        }
    }
}
