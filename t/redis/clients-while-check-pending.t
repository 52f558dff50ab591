# Clients whose check is pending in Redis leave, send much at once, or have a
# body.

use lib 't/lib';
use Test::Nginx::Socket 'no_plan';
use SlidewinClient;
use SlidewinFake;
use SlidewinHTTP2;
use SlidewinRedis;

worker_connections(1024);
log_level('notice');

our $Redis = SlidewinRedis->start;

# the same Redis, with up to 20 ms of latency
our $Slow = SlidewinFake->start(relay => $Redis->path,
                                delay => sub { rand 0.02 });

our $UserFiles = <<'END';
>>> file
content
END

# 60 s: no request is answered while Redis is stopped
our $Http = <<"END";
slidewin_redis @{[$Redis->url]} timeout=60s connect_timeout=10s;
slidewin_redis @{[$Slow->url]} name=slow timeout=60s connect_timeout=10s;
slidewin_redis @{[$Redis->url]} name=brief timeout=500ms connect_timeout=10s;
END

$Http .= <<'END';
slidewin_zone $remote_addr zone=many:1m rate=100000r/h algorithm=log;
slidewin_zone $remote_addr zone=five:1m rate=5r/h algorithm=log;
slidewin_zone $remote_addr zone=slow:1m rate=100000r/h algorithm=log store=slow;
slidewin_zone $remote_addr zone=slow_five:1m rate=5r/h algorithm=log store=slow;
slidewin_zone $remote_addr zone=brief:1m rate=100000r/h algorithm=log
              store=brief on_error=open;
add_header X-Source $slidewin_source always;
add_header X-N $arg_n always;
server {
    listen 127.0.0.1:$TEST_NGINX_RAND_PORT_1 http2;
    root html;
    location = /many { slidewin zone=many; alias html/file; }
    location = /five { slidewin zone=five; alias html/file; }
    location = /slow { slidewin zone=slow; alias html/file; }
    location = /slow_five { slidewin zone=slow_five; alias html/file; }
    location = /free { alias html/file; }
    location = /up {
        slidewin zone=many;
        proxy_pass http://127.0.0.1:$TEST_NGINX_RAND_PORT_2;
    }
}
END

our $Server = <<'END';
location = /many { slidewin zone=many; alias html/file; }
location = /five { slidewin zone=five; alias html/file; }
location = /slow { slidewin zone=slow; alias html/file; }
location = /slow_five { slidewin zone=slow_five; alias html/file; }
location = /brief { slidewin zone=brief; alias html/file; }
location = /free { alias html/file; }
location = /up {
    slidewin zone=many;
    proxy_pass http://127.0.0.1:$TEST_NGINX_RAND_PORT_2;
}
location = /status { stub_status; }
END

sub request_to { return "GET $_[0] HTTP/1.1\r\nHost: a\r\n\r\n" }

# "200 redis"
sub told {
    my $r = shift;
    return "$r->{status} " . ($r->{headers}{'x-source'} // '-');
}

# requests in progress, without this one
sub busy {
    my ($writing) = get('/status')->{body} =~ /Writing: (\d+)/;
    return $writing - 1;
}

# Empties Redis, and waits until nginx is connected; returns how many files
# nginx has open then
sub begin {
    $Redis->command('FLUSHALL');
    for my $uri (@_) {
        ok(wait_until(sub { told(get($uri)) eq '200 redis' }),
           "$uri: Redis is asked");
    }
    $Redis->command('FLUSHALL');
    get('/status');
    return open_files();
}

sub stop_redis { $Redis->signal('STOP') }

sub go_on { $Redis->signal('CONT') }

sub become_busy {
    my $n = shift;
    ok(wait_until(sub { busy() == $n }), "$n wait");
}

sub all_are_gone {
    my ($n, $files) = @_;

    ok(wait_until(sub { access_lines(qr/ 499 /) == $n }), "$n times 499");
    ok(wait_until(sub { busy() == 0 }), 'none is left');
    ok(wait_until(sub { open_files() <= $files }), 'no file is left open');
}

# the replies to checks of clients that have left reach no other request
sub late_replies {
    my $uri = shift;

    go_on();
    is(told(get($uri)), '200 redis', 'Redis goes on, and decides');
    is(error_lines(qr/slidewin redis/), 0, 'nothing was lost');
}

# Test::Nginx loses the exit code of a block that dies

run_tests();

__DATA__

=== a FIN, 100 times
--- http_config eval: $::Http
--- user_files eval: $::UserFiles
--- config eval: $::Server
--- client
my $files = begin('/many');

for my $round (1 .. 2) {
    stop_redis();
    my @c = map { tcp() } 1 .. 50;
    $_->write(request_to('/many')) for @c;
    become_busy(50);
    $_->close for @c;
    all_are_gone(50 * $round, $files);
    late_replies('/many');
}



=== an RST, 100 times
--- http_config eval: $::Http
--- user_files eval: $::UserFiles
--- config eval: $::Server
--- client
my $files = begin('/many');

for my $round (1 .. 2) {
    stop_redis();
    my @c = map { tcp() } 1 .. 50;
    $_->write(request_to('/many')) for @c;
    become_busy(50);
    $_->reset for @c;
    all_are_gone(50 * $round, $files);
    late_replies('/many');
}



=== a client that leaves in the middle of its body
--- http_config eval: $::Http
--- user_files eval: $::UserFiles
--- config eval: $::Server
--- client
my $files = begin('/many');
my $up = upstream(port(2));

stop_redis();
my @c = map { tcp() } 1 .. 20;
$_->write("POST /up HTTP/1.1\r\nHost: a\r\nContent-Length: 10000\r\n\r\n")
    for @c;
become_busy(20);
$_->write('x' x 5000) for @c;
$_->close for @c;
all_are_gone(20, $files);
late_replies('/many');
ok(!$up->called(0.1), 'the upstream knows of none');



=== HTTP/2: 100 streams are reset
--- http_config eval: $::Http
--- user_files eval: $::UserFiles
--- config eval: $::Server
--- client
my $files = begin('/many');

stop_redis();
my $h2 = SlidewinHTTP2->new(port(1));
my @ids = map { $h2->request('/many') } 1 .. 100;
ok($h2->sync, 'they wait');
$h2->cancel(@ids);
ok($h2->sync, 'they are reset');

my ($r) = $h2->answers($h2->request('/free'));
is($r->{status}, 200, 'the connection goes on');

ok(wait_until(sub { access_lines(qr/ 499 /) == 100 }), '100 times 499');
late_replies('/many');

($r) = $h2->answers($h2->request('/many'));
is($r->{status}, 200, 'on that connection, too');
$h2->{c}->close;
ok(wait_until(sub { open_files() <= $files }), 'no file is left open');



=== HTTP/2: 100 streams go with their connection
--- http_config eval: $::Http
--- user_files eval: $::UserFiles
--- config eval: $::Server
--- client
my $files = begin('/many');
my $n = 0;

for my $way (qw(close reset goaway)) {
    stop_redis();
    my $h2 = SlidewinHTTP2->new(port(1));
    $h2->request('/many') for 1 .. 100;
    ok($h2->sync, 'they wait');

    if ($way eq 'goaway') {
        $h2->goaway;
        $h2->{c}->close;

    } else {
        $h2->{c}->$way;
    }

    $n += 100;
    all_are_gone($n, $files);
    late_replies('/many');
}



=== leaving and being answered at the same moment
--- http_config eval: $::Http
--- user_files eval: $::UserFiles
--- config eval: $::Server
--- client
my $files = begin('/slow');
my $stayed = 0;

for (1 .. 8) {
    my @c = map { tcp() } 1 .. 50;
    $_->write(request_to('/slow')) for @c;

    my @stay;

    for my $i (0 .. 49) {
        my $leave = (qw(close reset finish stay))[$i % 4];
        push @stay, $c[$i] if $leave eq 'stay';
        $c[$i]->$leave if $leave ne 'stay';
        select undef, undef, undef, 0.0005;
    }

    $stayed += grep { told($_->response) eq '200 redis' } @stay;
}

is($stayed, 8 * 12, 'those who stay are answered by Redis');

for (1 .. 4) {
    my $h2 = SlidewinHTTP2->new(port(1));
    my @ids = map { $h2->request('/slow') } 1 .. 100;

    for my $id (@ids[grep { $_ % 2 } 0 .. $#ids]) {
        $h2->cancel($id);
        select undef, undef, undef, 0.0005;
    }

    my @r = $h2->answers(@ids[grep { !($_ % 2) } 0 .. $#ids]);
    is((grep { ($_->{status} // '') eq 200 } @r), 50,
       'streams that stay are answered');
    $h2->{c}->close;
}

ok(wait_until(sub { busy() == 0 }), 'none is left');
ok(wait_until(sub { open_files() <= $files }), 'no file is left open');
is(error_lines(qr/slidewin redis/), 0, 'nothing was lost');



=== the deadline comes after the client left
--- http_config eval: $::Http
--- user_files eval: $::UserFiles
--- config eval: $::Server
--- client
my $files = begin('/brief');

stop_redis();
my @c = map { tcp() } 1 .. 20;
$_->write(request_to('/brief')) for @c;
$_->close for @c[0 .. 9];
$_->reset for @c[10 .. 19];

ok(wait_until(sub { error_lines(qr/slidewin redis .* is lost: no answer/) }),
   'the silence is noticed all the same');
ok(wait_until(sub { busy() == 0 }), 'none is left');

go_on();
ok(wait_until(sub { told(get('/brief')) eq '200 redis' }),
   'Redis is back');
ok(wait_until(sub { open_files() <= $files }), 'no file is left open');



=== HTTP/2: 100 streams at once, limit 5: exactly five pass
--- http_config eval: $::Http
--- user_files eval: $::UserFiles
--- config eval: $::Server
--- client
begin('/many', '/slow');

for my $uri ('/five', '/slow_five') {
    my $h2 = SlidewinHTTP2->new(port(1));
    my (@ids, @frames);

    for (1 .. 100) {
        my ($id, $frame) = $h2->compose($uri);
        push @ids, $id;
        push @frames, $frame;
    }

    $h2->send(@frames);
    my @r = $h2->answers(@ids);

    is((grep { $_->{status} eq 200 } @r), 5, 'passed');
    is((grep { $_->{status} eq 429 } @r), 95, 'rejected');
    is((grep { $_->{body} eq "content\n" } @r), 5, 'content for those');
    $h2->{c}->close;
}

is($::Redis->command('DBSIZE'), 2, 'Redis has counted');



=== 20 requests in a pipeline, limit 5: in order
--- http_config eval: $::Http
--- user_files eval: $::UserFiles
--- config eval: $::Server
--- client
begin('/many', '/slow');

for my $uri ('/five', '/slow_five') {
    my $c = tcp();
    $c->write(join '', map { request_to("$uri?n=$_") } 1 .. 20);

    my @r = map { $c->response } 1 .. 20;

    is(join(' ', map { $_->{status} } @r), join(' ', (200) x 5, (429) x 15),
       'statuses');
    is(join(' ', map { $_->{headers}{'x-n'} } @r), join(' ', 1 .. 20),
       'order');
    ok($c->quiet(0.1), 'and nothing else is sent');
}



=== bodies that come before, during and after the wait
--- http_config eval: $::Http
--- user_files eval: $::UserFiles
--- config eval: $::Server
--- client
begin('/many');

my $up = upstream(port(2));
my $body = join '', map { chr(33 + $_ % 90) } 1 .. 100_000;
my $head = "POST /up HTTP/1.1\r\nHost: a\r\nContent-Length: 100000\r\n\r\n";

# how many bytes go with the head, and how many more before Redis goes on
for (['all at once', 100_000, 0], ['none of it', 0, 0], ['some', 500, 500],
     ['much', 20_000, 60_000])
{
    my ($name, $first, $second) = @$_;

    stop_redis();
    my $c = tcp();
    $c->write($head . substr $body, 0, $first);
    become_busy(1);
    $c->write(substr $body, $first, $second) if $second;
    go_on();
    $c->write(substr $body, $first + $second)
        if $first + $second < length $body;

    my $u = $up->accept;
    is($u->request->{body}, $body, "$name: the body arrives whole");
    $u->write("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok");
    is($c->response->{body}, 'ok', "$name: and is answered");
    $u->close;

    $c->write(request_to('/free'));
    is($c->response->{status}, 200, "$name: the connection is as it was");
}



=== HTTP/2: bodies that come during the wait
--- http_config eval: $::Http
--- user_files eval: $::UserFiles
--- config eval: $::Server
--- client
begin('/many');

my $up = upstream(port(2));
my $h2 = SlidewinHTTP2->new(port(1));
my $part = join '', map { chr(33 + $_ % 90) } 1 .. 10_000;

for my $parts (0 .. 3) {
    stop_redis();
    my $id = $h2->request('/up', method => 'POST', open => 1,
                          headers => { 'content-length' => 40_000 });
    $h2->data($id, $part) for 1 .. $parts;
    ok($h2->sync, "$parts parts before Redis goes on");
    go_on();
    $h2->data($id, $part, $_ == 4) for $parts + 1 .. 4;

    my $u = $up->accept;
    is($u->request->{body}, $part x 4, 'the body arrives whole');
    $u->write("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok");
    my ($r) = $h2->answers($id);
    is($r->{body}, 'ok', 'and is answered');
    $u->close;
}
