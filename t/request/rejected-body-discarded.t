# The body of a rejected request is discarded, and nothing in it is taken for a
# request. The body of an admitted request reaches the upstream.

use lib 't/lib';
use Test::Nginx::Socket 'no_plan';
use SlidewinClient;

our $Zone = 'slidewin_zone $remote_addr zone=one:1m rate=1r/h algorithm=log;';

our $UserFiles = <<'END';
>>> file
content
END

our $Config = <<'END';
location = /limited {
    slidewin zone=one;
    proxy_pass http://127.0.0.1:$TEST_NGINX_RAND_PORT_1;
}
END

# looks like a request, so that it would be logged if it were taken for one
our $Body = "GET /smuggled HTTP/1.1\r\nHost: a\r\n\r\n" x 30;

sub post {
    my (@headers) = @_;
    return join "\r\n", 'POST /limited HTTP/1.1', 'Host: a', @headers, '', '';
}

sub chunked {
    my ($body, $size) = @_;

    my $text = '';
    while (length $body) {
        my $chunk = substr $body, 0, $size, '';
        $text .= sprintf "%x\r\n%s\r\n", length $chunk, $chunk;
    }
    return $text . "0\r\n\r\n";
}

# sends one request with this body that passes; returns what the upstream got
sub pass {
    my ($c, $bytes) = @_;

    my $up = upstream(port(1));
    $c->write($bytes);

    my $u = $up->accept;
    my $q = $u->request;
    $u->write("HTTP/1.1 200 OK\r\nContent-Length: 0\r\nConnection: close\r\n\r\n");

    is($c->response->{status}, 200, 'passed');
    return $q->{body};
}

# the next request on the same connection is understood
sub next_is_fine {
    my $c = shift;

    $c->write("GET /file HTTP/1.1\r\nHost: a\r\n\r\n");
    is($c->response->{body}, "content\n", 'the next request is understood');
    ok($c->quiet(0.1), 'and nothing else is sent');
    is(access_lines(qr/smuggled/), 0, 'nothing was taken for a request');
}

run_tests();

__DATA__

=== Content-Length
--- http_config eval: $::Zone
--- user_files eval: $::UserFiles
--- config eval: $::Config
--- client
my $c = tcp();
my $request = post('Content-Length: ' . length $::Body) . $::Body;

is(pass($c, $request), $::Body, 'the body arrived');

for (1 .. 3) {
    $c->write($request);
    is($c->response->{status}, 429, 'rejected');
}

next_is_fine($c);



=== chunks
--- http_config eval: $::Zone
--- user_files eval: $::UserFiles
--- config eval: $::Config
--- client
my $c = tcp();
my $request = post('Transfer-Encoding: chunked') . chunked($::Body, 100);

is(pass($c, $request), $::Body, 'the body arrived');

for (1 .. 3) {
    $c->write($request);
    is($c->response->{status}, 429, 'rejected');
}

next_is_fine($c);



=== pipelined with what comes after it
--- http_config eval: $::Zone
--- user_files eval: $::UserFiles
--- config eval: $::Config
--- client
my $c = tcp();
my $length = post('Content-Length: ' . length $::Body) . $::Body;
my $chunks = post('Transfer-Encoding: chunked') . chunked($::Body, 7);

pass($c, $length);

$c->write(join '', ($length, $chunks) x 3);
is(join(' ', map { $c->response->{status} } 1 .. 6),
   '429 429 429 429 429 429', 'rejected');

next_is_fine($c);



=== the rejection does not wait for the body
--- http_config eval: $::Zone
--- user_files eval: $::UserFiles
--- config eval: $::Config
--- client
my $c = tcp();
pass($c, post('Content-Length: 0'));

$c->write(post('Content-Length: ' . length $::Body));
is($c->response->{status}, 429, 'rejected');
$c->write(substr $::Body, 0, 100);
ok($c->quiet(0.1), 'silence');
$c->write(substr $::Body, 100);
next_is_fine($c);

$c->write(post('Transfer-Encoding: chunked'));
is($c->response->{status}, 429, 'rejected');

my $rest = chunked($::Body, 50);
$c->write(substr $rest, 0, 125, '');
ok($c->quiet(0.1), 'silence');
$c->write($rest);
next_is_fine($c);



=== a large body after a rejection is read and thrown away
--- http_config eval: $::Zone
--- user_files eval: $::UserFiles
--- config eval: $::Config
--- client
my $c = tcp();
my $large = $::Body x 1000;
pass($c, post('Content-Length: 0'));

$c->write(post('Content-Length: ' . length $large) . $large);
is($c->response->{status}, 429, 'rejected');
next_is_fine($c);



=== a client that closes is heard out before the connection goes
--- http_config eval: $::Zone
--- user_files eval: $::UserFiles
--- config eval: $::Config
--- client
my $c = tcp();
my $large = $::Body x 1000;
pass($c, post('Content-Length: 0'));

$c->write(post('Content-Length: ' . length $large, 'Connection: close'));
is($c->response->{status}, 429, 'rejected');

my $sent = 1;
$sent &&= $c->write(substr $large, 0, 10000, '') while length $large;
ok($sent, 'no reset while the body is sent');
ok($c->closed, 'then it is closed');



=== Expect: a rejection comes without a 100 before it
--- http_config eval: $::Zone
--- user_files eval: $::UserFiles
--- config eval: $::Config
--- client
my $up = upstream(port(1));
my $c = tcp();
my $expect = post('Content-Length: ' . length $::Body, 'Expect: 100-continue');

$c->write($expect);
is($c->response->{status}, 100, 'a request that passed is told to go on');
$c->write($::Body);

my $u = $up->accept;
is($u->request->{body}, $::Body, 'the body arrived');
$u->write("HTTP/1.1 200 OK\r\nContent-Length: 0\r\nConnection: close\r\n\r\n");
is($c->response->{status}, 200, 'passed');

$c->write($expect);
is($c->response->{status}, 429, 'rejected at once');
