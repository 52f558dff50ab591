# Waiting for a store does not change the order of checks: limit_req before it;
# allow, deny, auth_basic and auth_request after it. With "satisfy any" it does
# not stand in for a password.

use lib 't/lib';
use Test::Nginx::Socket 'no_plan';
use SlidewinClient;

our $Store = <<'END';
slidewin_test_store late delay=30ms;
slidewin_zone $remote_addr zone=one:1m rate=2r/h algorithm=log store=late;
limit_req_zone $arg_a zone=req:1m rate=1r/m;
END

our $UserFiles = <<'END';
>>> file
content
>>> users
user:{PLAIN}secret
END

run_tests();

__DATA__

=== deny comes after it
--- http_config eval: $::Store
--- user_files eval: $::UserFiles
--- config
location = /file {
    slidewin zone=one;
    deny all;
}
--- request eval
["GET /file", "GET /file", "GET /file"]
--- error_code eval
[403, 403, 429]



=== auth_basic comes after it
--- http_config eval: $::Store
--- user_files eval: $::UserFiles
--- config
location = /file {
    slidewin zone=one;
    auth_basic realm;
    auth_basic_user_file ../html/users;
}
--- request eval
["GET /file", "GET /file", "GET /file"]
--- more_headers eval
["", "Authorization: Basic dXNlcjpzZWNyZXQ=",
 "Authorization: Basic dXNlcjpzZWNyZXQ="]
--- error_code eval
[401, 200, 429]



=== auth_request comes after it, and is not asked about a rejection
--- http_config eval: $::Store
--- user_files eval: $::UserFiles
--- config
log_subrequest on;
location = /file {
    slidewin zone=one;
    auth_request /auth;
}
location = /auth {
    internal;
    alias html/file;
}
--- client
is(statuses(4, '/file'), '200 200 429 429', 'statuses');
ok(wait_until(sub { access_lines(qr{ 200 }) == 4 }),
   'two, and two asked for');



=== limit_req comes before it
--- http_config eval: $::Store
--- user_files eval: $::UserFiles
--- config
location = /file {
    limit_req zone=req;
    slidewin zone=one;
}
--- request eval
["GET /file?a=1", "GET /file?a=1", "GET /file?a=2", "GET /file?a=3"]
--- error_code eval
[200, 503, 200, 429]



=== satisfy any: neither a wait nor a pass is a password
--- http_config eval: $::Store
--- user_files eval: $::UserFiles
--- config
location = /file {
    satisfy any;
    slidewin zone=one;
    deny all;
    auth_basic realm;
    auth_basic_user_file ../html/users;
}
--- request eval
["GET /file", "GET /file", "GET /file"]
--- more_headers eval
["", "Authorization: Basic dXNlcjpzZWNyZXQ=",
 "Authorization: Basic dXNlcjpzZWNyZXQ="]
--- error_code eval
[401, 200, 429]



=== satisfy any: an address that is allowed waits and is limited still
--- http_config eval: $::Store
--- user_files eval: $::UserFiles
--- config
location = /file {
    satisfy any;
    slidewin zone=one;
    slidewin_status 403;
    allow all;
    add_header X-Latency $slidewin_latency always;
}
--- client
my @r = map { get('/file') } 1 .. 3;

is(join(' ', map { $_->{status} } @r), '200 200 403', 'statuses');
is((grep { $_->{headers}{'x-latency'} >= 15 } @r), 3, 'each has waited');
like($r[2]{headers}{'retry-after'}, qr/^3[56]\d\d$/, 'Retry-After');
