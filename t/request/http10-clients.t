# Clients that speak HTTP/1.0 and HTTP/0.9.

use lib 't/lib';
use Test::Nginx::Socket 'no_plan';
use SlidewinClient;

our $Zone = 'slidewin_zone $remote_addr zone=one:1m rate=2r/h algorithm=log;';

our $UserFiles = <<'END';
>>> file
content
END

run_tests();

__DATA__

=== HTTP/1.0: a rejection has a length, no chunks, and closes the connection
--- http_config eval: $::Zone
--- user_files eval: $::UserFiles
--- config
slidewin zone=one;
--- client
for my $status (200, 200, 429) {
    my $c = tcp();
    $c->write("GET /file HTTP/1.0\r\n\r\n");

    my $r = $c->response;
    is($r->{status}, $status, 'status');
    is($r->{headers}{connection}, 'close', 'Connection');
    is($r->{headers}{'transfer-encoding'}, undef, 'no chunks');
    is($r->{headers}{'content-length'}, length $r->{body}, 'length');
    ok($c->closed, 'closed');

    if ($status == 429) {
        like($r->{body}, qr{^<html>.*429 Too Many Requests.*</html>\s*$}s,
             'a whole page');
        like($r->{headers}{'retry-after'}, qr/^3[56]\d\d$/, 'Retry-After');
    }
}



=== HTTP/1.0 with keep-alive goes on after a rejection
--- http_config eval: $::Zone
--- user_files eval: $::UserFiles
--- config
slidewin zone=one;
location = /free {
    slidewin off;
    alias html/file;
}
--- client
my $c = tcp();

for (['/file', 200], ['/file', 200], ['/file', 429], ['/file', 429],
     ['/free', 200])
{
    my ($uri, $status) = @$_;
    $c->write("GET $uri HTTP/1.0\r\nConnection: keep-alive\r\n\r\n");

    my $r = $c->response;
    is($r->{status}, $status, "$uri is $status");
    is($r->{headers}{connection}, 'keep-alive', 'Connection');
}



=== HTTP/1.0 gets a rejection of a chunked upstream's location without chunks
--- http_config eval: $::Zone
--- user_files eval: $::UserFiles
--- config
location = /ssi {
    slidewin zone=one;
    error_page 429 /page;
    alias html/file;
}
location = /page {
    ssi on;
    ssi_types text/plain;
    alias html/file;
}
--- client
is(statuses(2, '/ssi'), '200 200', 'room for two');

my $c = tcp();
$c->write("GET /ssi HTTP/1.0\r\n\r\n");

my $r = $c->response;
is($r->{status}, 429, 'status');
is($r->{headers}{'transfer-encoding'}, undef, 'no chunks');
is($r->{body}, "content\n", 'body');

is(get('/ssi')->{headers}{'transfer-encoding'}, 'chunked', 'HTTP/1.1 has them');



=== HTTP/0.9: the body alone
--- http_config eval: $::Zone
--- user_files eval: $::UserFiles
--- config
slidewin zone=one;
--- client
for (1 .. 3) {
    my $c = tcp();
    $c->write("GET /file\r\n");

    if ($_ < 3) {
        is($c->rest, "content\n", 'content');

    } else {
        like($c->rest, qr{^<html>.*429 Too Many Requests}s, 'the page');
    }
}

is(get('/file')->{status}, 429, 'they were counted');
