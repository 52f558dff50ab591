# Each HTTP/2 stream is counted as one request.

use lib 't/lib';
use Test::Nginx::Socket 'no_plan';
use SlidewinClient;
use SlidewinHTTP2;

our $UserFiles = <<'END';
>>> file
content
END

our $Server = <<'END';
slidewin_zone $remote_addr zone=one:1m rate=5r/h algorithm=log;
server {
    listen 127.0.0.1:$TEST_NGINX_RAND_PORT_1 http2;
    root html;
    location = /file {
        slidewin zone=one;
    }
    location = /free {
        alias html/file;
    }
    location = /up {
        slidewin zone=one;
        proxy_pass http://127.0.0.1:$TEST_NGINX_RAND_PORT_2;
    }
}
END

sub count {
    my ($status, @answers) = @_;
    return scalar grep { ($_->{status} // '') eq $status } @answers;
}

run_tests();

__DATA__

=== 100 streams at once, limit 5: exactly five pass
--- http_config eval: $::Server
--- user_files eval: $::UserFiles
--- config
--- client
my $h2 = SlidewinHTTP2->new(port(1));
my (@ids, @frames);

for (1 .. 100) {
    my ($id, $frame) = $h2->compose('/file');
    push @ids, $id;
    push @frames, $frame;
}

$h2->send(@frames);
my @r = $h2->answers(@ids);

is(count(200, @r), 5, 'passed');
is(count(429, @r), 95, 'rejected');
is((grep { $_->{body} eq "content\n" } @r), 5, 'content for those that passed');

my $line = qr/limiting\ requests,\ excess:\ 1\.000\ by\ zone\ "one",\ client:
              \ 127\.0\.0\.1,\ rate:\ 5r\/h,\ retry\ after:\ \d+s,\ server:\ ,
              \ request:\ "GET\ \/file\ HTTP\/2\.0",/x;
ok(scalar error_lines($line), 'a line about a stream is as others');

my ($r) = $h2->answers($h2->request('/free'));
is($r->{status}, 200, 'the connection goes on');



=== several connections share the count
--- http_config eval: $::Server
--- user_files eval: $::UserFiles
--- config
--- client
my @h2 = map { SlidewinHTTP2->new(port(1)) } 1 .. 4;
my @ids = map { my $h2 = $_; [map { $h2->request('/file') } 1 .. 10] } @h2;
my @r = map { $h2[$_]->answers(@{ $ids[$_] }) } 0 .. 3;

is(count(200, @r), 5, 'passed');
is(count(429, @r), 35, 'rejected');



=== a client of another make agrees
--- http_config eval: $::Server
--- user_files eval: $::UserFiles
--- config
--- client
my $port = port(1);
my $out = `h2load -n 100 -c 1 -m 100 http://127.0.0.1:$port/file`;
like($out, qr/status codes: 5 2xx, 0 3xx, 95 4xx, 0 5xx/, 'h2load');



=== a rejection has its fields
--- http_config eval: $::Server
--- user_files eval: $::UserFiles
--- config
--- client
my $h2 = SlidewinHTTP2->new(port(1));
is(count(200, $h2->answers(map { $h2->request('/file') } 1 .. 5)), 5, 'spent');

my $url = 'http://127.0.0.1:' . port(1) . '/file';
my $curl = 'curl -s -i --http2-prior-knowledge';
like(`$curl $url`, qr{^HTTP/2 429 \r\n.*^retry-after: 3[56]\d\d\r\n.*<html>}ms,
     'GET');
like(`$curl -I $url`, qr{^HTTP/2 429 \r\n.*^retry-after: 3[56]\d\d\r\n\r\n$}ms,
     'HEAD');



=== the body of a stream that passed arrives, that of one rejected is dropped
--- http_config eval: $::Server
--- user_files eval: $::UserFiles
--- config
--- client
my $up = upstream(port(2));
my $h2 = SlidewinHTTP2->new(port(1));
my $body = join '', map { "line $_\n" } 1 .. 3000;

for (1 .. 5) {
    my $id = $h2->request('/up', method => 'POST', open => 1);
    $h2->data($id, substr $body, 0, 10000);
    $h2->sync;
    $h2->data($id, substr($body, 10000, 10000));
    $h2->data($id, substr($body, 20000), 1);

    my $u = $up->accept;
    is($u->request->{body}, $body, 'the body arrived');
    $u->write("HTTP/1.0 200 OK\r\n\r\nthanks");
    $u->close;

    my ($r) = $h2->answers($id);
    is($r->{status}, 200, 'passed');
    is($r->{body}, 'thanks', 'and answered');
}

my @ids = map { $h2->request('/up', method => 'POST', open => 1) } 1 .. 3;
$h2->data($ids[0], substr $body, 0, 10000);
$h2->data($ids[1], substr $body, 0, 10000);

my @r = map { $h2->answers($_) } @ids;
is(count(429, @r), 3, 'rejected before the body is whole');
ok(!$up->called(0.2), 'the upstream does not know of them');

$h2->data($ids[0], substr($body, 10000, 10000), 1);
my ($r) = $h2->answers($h2->request('/free'));
is($r->{body}, "content\n", 'the connection goes on');



=== streams that are reset are counted once at most
--- http_config
slidewin_zone $remote_addr zone=one:1m rate=1000r/h algorithm=log;
server {
    listen 127.0.0.1:$TEST_NGINX_RAND_PORT_1 http2;
    root html;
    location = /file {
        slidewin zone=one;
        add_header X-Remaining $slidewin_remaining always;
    }
}
--- user_files eval: $::UserFiles
--- config
--- client
my $h2 = SlidewinHTTP2->new(port(1));

for (1 .. 10) {
    my @ids = map { $h2->request('/file') } 1 .. 50;
    $h2->cancel(@ids);
    ok($h2->sync, 'the connection lives');
}

my $url = 'http://127.0.0.1:' . port(1) . '/file';
my ($remaining) = `curl -s -i --http2-prior-knowledge $url`
                  =~ /^x-remaining: (\d+)/m;
cmp_ok($remaining, '>=', 499, 'no more than 500 and this one');
cmp_ok($remaining, '<', 1000, 'and this one is counted');
