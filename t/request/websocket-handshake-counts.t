# A limit on a WebSocket location counts the handshake, and no message.

use lib 't/lib';
use Test::Nginx::Socket 'no_plan';
use SlidewinClient;

our $Handshake = join "\r\n", 'GET /socket HTTP/1.1', 'Host: a',
    'Connection: Upgrade', 'Upgrade: websocket', 'Sec-WebSocket-Version: 13',
    'Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==', '', '';

run_tests();

__DATA__

=== one that passes becomes a tunnel, one that is rejected reaches no upstream
--- http_config
slidewin_zone $remote_addr zone=one:1m rate=1r/h algorithm=log;
--- config
location = /socket {
    slidewin zone=one;
    proxy_pass http://127.0.0.1:$TEST_NGINX_RAND_PORT_1;
    proxy_http_version 1.1;
    proxy_set_header Upgrade $http_upgrade;
    proxy_set_header Connection Upgrade;
}
--- client
my $up = upstream(port(1));
my $c = tcp();
$c->write($::Handshake);

my $u = $up->accept;
is($u->request->{headers}{upgrade}, 'websocket', 'the handshake arrived');
$u->write("HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\n"
          . "Upgrade: websocket\r\n\r\nhello");

is($c->response->{status}, 101, 'switched');
is($c->read(5), 'hello', 'what the upstream sent with it');

my $late = tcp();
$late->write($::Handshake);

my $r = $late->response;
is($r->{status}, 429, 'the next one is rejected');
like($r->{headers}{'retry-after'}, qr/^3[56]\d\d$/, 'Retry-After');
is($r->{headers}{upgrade}, undef, 'no Upgrade');
ok(!$up->called(0.2), 'the upstream does not know of it');

for my $i (1 .. 20) {
    $c->write("to the server $i");
    is($u->read(length "to the server $i"), "to the server $i", 'there');
    $u->write("to the client $i");
    is($c->read(length "to the client $i"), "to the client $i", 'and back');
}

$u->close;
ok($c->closed, 'the tunnel ends');
