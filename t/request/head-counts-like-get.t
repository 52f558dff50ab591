# HEAD counts like GET, and a rejected HEAD has no body.

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

=== the header of a rejection, and nothing after it
--- http_config eval: $::Zone
--- user_files eval: $::UserFiles
--- config
slidewin zone=one;
slidewin_headers ietf legacy;
--- client
my $c = tcp();
my (%head, %get);

for my $status (200, 200, 429) {
    $c->write("HEAD /file HTTP/1.1\r\nHost: a\r\n\r\n");

    my $r = $c->response(head => 1);
    is($r->{status}, $status, 'status');
    %head = %{ $r->{headers} };
}

like($head{'retry-after'}, qr/^3[56]\d\d$/, 'Retry-After');
like($head{'ratelimit'}, qr/^"one";r=0;t=3[56]\d\d$/, 'RateLimit');
is($head{'x-ratelimit-remaining'}, 0, 'X-RateLimit-Remaining');

$c->write("GET /file HTTP/1.1\r\nHost: a\r\n\r\n");

my $r = $c->response;
is($r->{status}, 429, 'GET is rejected by the same count');
is($head{'content-length'}, length $r->{body}, 'the length is that of GET');
is_deeply([sort keys %head], [sort keys %{ $r->{headers} }],
          'so are the fields');
ok($c->quiet(0.1), 'and nothing else is sent');
