# A connection stays usable after a rejection.

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

=== passed and rejected requests share a connection
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

for (['/file', 200], ['/free', 200], ['/file', 200], ['/file', 429],
     ['/free', 200], ['/file', 429], ['/file', 429], ['/free', 200])
{
    my ($uri, $status) = @$_;
    $c->write("GET $uri HTTP/1.1\r\nHost: a\r\n\r\n");

    my $r = $c->response;
    is($r->{status}, $status, "$uri is $status");
    is($r->{headers}{connection}, 'keep-alive', 'kept');

    if ($status == 200) {
        is($r->{body}, "content\n", 'body');
    }
}

ok($c->quiet(0.1), 'and nothing else is sent');



=== a rejection with a page of its own keeps the connection too
--- http_config eval: $::Zone
--- user_files eval: $::UserFiles
--- config
slidewin zone=one;
error_page 429 /file;
--- client
my $c = tcp();

for my $status (200, 200, 429, 429) {
    $c->write("GET /file HTTP/1.1\r\nHost: a\r\n\r\n");

    my $r = $c->response;
    is($r->{status}, $status, 'status');
    is($r->{body}, "content\n", 'body');
    is($r->{headers}{connection}, 'keep-alive', 'kept');
}



=== a client that wants the connection closed has it closed
--- http_config eval: $::Zone
--- user_files eval: $::UserFiles
--- config
slidewin zone=one;
--- client
is(statuses(2, '/file'), '200 200', 'room for two');

my $c = tcp();
$c->write("GET /file HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n");

my $r = $c->response;
is($r->{status}, 429, 'status');
is($r->{headers}{connection}, 'close', 'Connection');
ok($c->closed, 'closed');
