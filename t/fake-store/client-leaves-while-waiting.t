# Clients leave while their requests wait for a store.

use lib 't/lib';
use Test::Nginx::Socket 'no_plan';
use SlidewinClient;
use SlidewinHTTP2;

worker_connections(1024);
log_level('notice');

our $UserFiles = <<'END';
>>> file
content
END

# the store "never" does not answer: a request ends only when its client leaves
our $Stores = <<'END';
slidewin_test_store never silent;
slidewin_test_store late delay=50ms;
slidewin_zone $remote_addr zone=never:1m rate=1000r/h algorithm=log store=never;
slidewin_zone $remote_addr zone=late:1m rate=1000r/h algorithm=log store=late;
server {
    listen 127.0.0.1:$TEST_NGINX_RAND_PORT_1 http2;
    root html;
    location = /file {
        slidewin zone=never;
    }
    location = /free {
        alias html/file;
    }
}
END

our $Server = <<'END';
location = /file {
    slidewin zone=never;
}
location = /free {
    alias html/file;
}
location = /late {
    slidewin zone=late;
    alias html/file;
}
location = /up {
    slidewin zone=never;
    proxy_ignore_client_abort on;
    proxy_pass http://127.0.0.1:$TEST_NGINX_RAND_PORT_2;
}
location = /peek {
    slidewin_test_key late;
}
location = /status {
    stub_status;
}
END

our $Get = "GET /file HTTP/1.1\r\nHost: a\r\n\r\n";

# requests in progress, without this one
sub busy {
    my ($writing) = get('/status')->{body} =~ /Writing: (\d+)/;
    return $writing - 1;
}

sub become_busy {
    my $n = shift;
    ok(wait_until(sub { busy() == $n }), "$n wait");
}

sub all_are_gone {
    my ($n, $files) = @_;

    ok(wait_until(sub { access_lines(qr/ 499 /) == $n }), "$n times 499");
    is(error_lines(qr/"never": call cancelled/), $n, "$n calls cancelled");
    ok(wait_until(sub { busy() == 0 }), 'none is left');
    ok(wait_until(sub { open_files() <= $files }), 'no file is left open');
}

run_tests();

__DATA__

=== a FIN, 200 times
--- http_config eval: $::Stores
--- user_files eval: $::UserFiles
--- config eval: $::Server
--- client
get('/status');
my $files = open_files();

for my $round (1 .. 4) {
    my @c = map { tcp() } 1 .. 50;
    $_->write($::Get) for @c;
    become_busy(50);
    $_->close for @c;
    all_are_gone(50 * $round, $files);
}



=== an RST, 200 times
--- http_config eval: $::Stores
--- user_files eval: $::UserFiles
--- config eval: $::Server
--- client
get('/status');
my $files = open_files();

for my $round (1 .. 4) {
    my @c = map { tcp() } 1 .. 50;
    $_->write($::Get) for @c;
    become_busy(50);
    $_->reset for @c;
    all_are_gone(50 * $round, $files);
}



=== a FIN that is there before the request is looked at
--- http_config eval: $::Stores
--- user_files eval: $::UserFiles
--- config eval: $::Server
--- client
get('/status');
my $files = open_files();
my $pid = nginx_pid();

for my $round (1 .. 2) {
    my @c = map { tcp() } 1 .. 25;

    kill STOP => $pid;
    $_->write($::Get) for @c;
    $_->close for @c;
    kill CONT => $pid;

    all_are_gone(25 * $round, $files);
}



=== a request that came before the FIN, on a connection that was used before
--- http_config eval: $::Stores
--- user_files eval: $::UserFiles
--- config eval: $::Server
--- client
get('/status');
my $files = open_files();
my @c = map { tcp() } 1 .. 20;

for my $c (@c) {
    $c->write("GET /free HTTP/1.1\r\nHost: a\r\n\r\n");
    $c->response;
    $c->write($::Get . $::Get);
}

become_busy(20);
$_->finish for @c;
all_are_gone(20, $files);



=== a client that leaves in the middle of its body
--- http_config eval: $::Stores
--- user_files eval: $::UserFiles
--- config eval: $::Server
--- client
get('/status');
my $files = open_files();
my @c = map { tcp() } 1 .. 20;

for my $c (@c) {
    $c->write("POST /file HTTP/1.1\r\nHost: a\r\nContent-Length: 10000\r\n\r\n");
}

become_busy(20);
$_->write('x' x 5000) for @c;
is(busy(), 20, 'they still wait');
$_->close for @c;
all_are_gone(20, $files);



=== proxy_ignore_client_abort does not keep one waiting
--- http_config eval: $::Stores
--- user_files eval: $::UserFiles
--- config eval: $::Server
--- client
get('/status');
my $files = open_files();
my $up = upstream(port(2));
my @c = map { tcp() } 1 .. 20;
$_->write("GET /up HTTP/1.1\r\nHost: a\r\n\r\n") for @c;

become_busy(20);
$_->close for @c;
all_are_gone(20, $files);
ok(!$up->called(0.1), 'the upstream knows of none');



=== the answer that would have come is not missed by those who stay
--- http_config eval: $::Stores
--- user_files eval: $::UserFiles
--- config eval: $::Server
--- client
for (1 .. 4) {
    my @c = map { tcp() } 1 .. 50;
    $_->write("GET /late HTTP/1.1\r\nHost: a\r\n\r\n") for @c;

    for my $i (0 .. 49) {
        my $leave = (qw(close reset finish stay))[$i % 4];
        $c[$i]->$leave if $leave ne 'stay';
    }

    my @stay = map { $c[$_ * 4 + 3]->response->{status} } 0 .. 11;
    is(join(' ', @stay), join(' ', (200) x 12), 'those who stay are served');
}

ok(wait_until(sub { busy() == 0 }), 'none is left');

my ($left) = get('/peek?key=127.0.0.1')->{body} =~ /^remaining (\d+),/;
my $cancelled = error_lines(qr/"late": call cancelled/);
cmp_ok($left, '<=', 1000 - 48, 'those who stay are counted');
is($left, 1000 - 200 + $cancelled, 'those who left in time are not');



=== HTTP/2: 1000 streams are reset
--- http_config eval: $::Stores
--- user_files eval: $::UserFiles
--- config eval: $::Server
--- client
get('/status');
my $files = open_files();

for (1 .. 10) {
    my $h2 = SlidewinHTTP2->new(port(1));

    for (1 .. 2) {
        my @ids = map { $h2->request('/file') } 1 .. 50;
        ok($h2->sync, 'they wait');
        $h2->cancel(@ids);
        ok($h2->sync, 'they are reset');
    }

    my ($r) = $h2->answers($h2->request('/free'));
    is($r->{status}, 200, 'the connection goes on');
}

all_are_gone(1000, $files);



=== HTTP/2: streams are reset at once, with bodies and without
--- http_config eval: $::Stores
--- user_files eval: $::UserFiles
--- config eval: $::Server
--- client
get('/status');
my $files = open_files();

for (1 .. 5) {
    my $h2 = SlidewinHTTP2->new(port(1));

    for my $i (1 .. 60) {
        my $id = $h2->request('/file', method => 'POST', open => $i % 2);
        $h2->data($id, 'x' x 1000) if $i % 3 == 1;
        $h2->cancel($id);
    }

    ok($h2->sync, 'the connection goes on');
}

all_are_gone(300, $files);



=== HTTP/2: the connection goes, with a word or without
--- http_config eval: $::Stores
--- user_files eval: $::UserFiles
--- config eval: $::Server
--- client
get('/status');
my $files = open_files();
my $n = 0;

for my $way (qw(close reset goaway)) {
    my $h2 = SlidewinHTTP2->new(port(1));
    $h2->request('/file') for 1 .. 100;
    ok($h2->sync, 'they wait');

    if ($way eq 'goaway') {
        $h2->goaway;
        $h2->{c}->close;

    } else {
        $h2->{c}->$way;
    }

    $n += 100;
    all_are_gone($n, $files);
}
