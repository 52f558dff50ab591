# A limit is checked after limit_req and the whole rewrite phase, and before
# allow, deny, auth_basic and auth_request. The order is the same for a static
# and a dynamic module.

use lib 't/lib';
use Test::Nginx::Socket 'no_plan';
use SlidewinClient;

our $UserFiles = <<'END';
>>> file
content
>>> users
user:{PLAIN}secret
END

our $Zone = 'slidewin_zone $remote_addr zone=one:1m rate=2r/h algorithm=log;';

run_tests();

__DATA__

=== a request that is denied has been counted
--- http_config eval: $::Zone
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



=== guesses at a password are counted, and the right one comes too late
--- http_config eval: $::Zone
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
["", "Authorization: Basic dXNlcjp3cm9uZw==",
 "Authorization: Basic dXNlcjpzZWNyZXQ="]
--- error_code eval
[401, 401, 429]
--- response_headers eval
["WWW-Authenticate: Basic realm=\"realm\"",
 "WWW-Authenticate: Basic realm=\"realm\"", "WWW-Authenticate: "]



=== the right password passes while there is room
--- http_config eval: $::Zone
--- user_files eval: $::UserFiles
--- config
location = /file {
    slidewin zone=one;
    auth_basic realm;
    auth_basic_user_file ../html/users;
}
--- request
GET /file
--- more_headers
Authorization: Basic dXNlcjpzZWNyZXQ=
--- response_body
content



=== what auth_request refuses has been counted, what is rejected is not asked
--- http_config eval: $::Zone
--- user_files eval: $::UserFiles
--- config
log_subrequest on;
location = /file {
    slidewin zone=one;
    auth_request /auth;
}
location = /auth {
    return 403;
}
--- client
is(statuses(4, '/file'), '403 403 429 429', 'statuses');
ok(wait_until(sub { access_lines(qr{"GET /file HTTP/1.1" 403}) == 4 }),
   'two, and two asked for');



=== a limit of the location that auth_request asks is not asked itself
--- http_config eval: $::Zone
--- user_files eval: $::UserFiles
--- config
location = /file {
    auth_request /auth;
}
location = /auth {
    internal;
    slidewin zone=one;
    empty_gif;
}
--- client
is(statuses(4, '/file'), '200 200 200 200', 'statuses');



=== what limit_req refuses is not counted
--- http_config
slidewin_zone $remote_addr zone=one:1m rate=2r/h algorithm=log;
limit_req_zone $arg_a zone=req:1m rate=1r/m;
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



=== satisfy any: room in the window is no password
--- http_config eval: $::Zone
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



=== satisfy any with auth_basic alone: room in the window is no password
--- http_config eval: $::Zone
--- user_files eval: $::UserFiles
--- config
location = /file {
    satisfy any;
    slidewin zone=one;
    auth_basic realm;
    auth_basic_user_file ../html/users;
}
--- request eval
["GET /file", "GET /file", "GET /file"]
--- error_code eval
[401, 401, 429]



=== satisfy any with auth_request: room in the window is no permission
--- http_config eval: $::Zone
--- user_files eval: $::UserFiles
--- config
location = /file {
    satisfy any;
    slidewin zone=one;
    auth_request /auth;
}
location = /auth {
    return 403;
}
--- request eval
["GET /file", "GET /file", "GET /file"]
--- error_code eval
[403, 403, 429]



=== satisfy any: an address that is allowed is limited still
--- http_config eval: $::Zone
--- user_files eval: $::UserFiles
--- config
location = /file {
    satisfy any;
    slidewin zone=one;
    allow all;
    auth_basic realm;
    auth_basic_user_file ../html/users;
}
--- request eval
["GET /file", "GET /file", "GET /file"]
--- error_code eval
[200, 200, 429]



=== satisfy any: a rejection by 403 is not outvoted by an allowed address
--- http_config eval: $::Zone
--- user_files eval: $::UserFiles
--- config
location = /file {
    satisfy any;
    slidewin zone=one;
    slidewin_status 403;
    allow all;
}
--- request eval
["GET /file", "GET /file", "GET /file"]
--- error_code eval
[200, 200, 403]
--- response_headers_like eval
["", "", 'Retry-After: 3[56]\d\d']



=== satisfy any: a rejection by 401 is not outvoted by the right password
--- http_config eval: $::Zone
--- user_files eval: $::UserFiles
--- config
location = /file {
    satisfy any;
    slidewin zone=one;
    slidewin_status 401;
    deny all;
    auth_basic realm;
    auth_basic_user_file ../html/users;
}
--- request eval
["GET /file", "GET /file", "GET /file"]
--- more_headers
Authorization: Basic dXNlcjpzZWNyZXQ=
--- error_code eval
[200, 200, 401]
--- response_headers_like eval
["", "", 'Retry-After: 3[56]\d\d']



=== return answers before anything is judged
--- http_config eval: $::Zone
--- config
location = /return {
    slidewin zone=one;
    return 200 "returned";
}
location = /moved {
    slidewin zone=one;
    rewrite ^ /file redirect;
}
--- request eval
["GET /return", "GET /return", "GET /return", "GET /moved"]
--- error_code eval
[200, 200, 200, 302]
--- response_body_like eval
["^returned", "^returned", "^returned", "302 Found"]



=== what return answered was not counted
--- http_config eval: $::Zone
--- user_files eval: $::UserFiles
--- config
location = /file {
    slidewin zone=one;
    if ($arg_no) {
        return 410;
    }
}
--- request eval
["GET /file?no=1", "GET /file?no=1", "GET /file?no=1", "GET /file", "GET /file",
 "GET /file", "GET /file?no=1"]
--- error_code eval
[410, 410, 410, 200, 200, 429, 410]



=== a rejected request does not reach try_files, the upstream or the body
--- http_config eval: $::Zone
--- config
location = /up {
    slidewin zone=one;
    mirror /mirror;
    proxy_pass http://127.0.0.1:$TEST_NGINX_RAND_PORT_1;
}
location = /mirror {
    internal;
    proxy_pass http://127.0.0.1:$TEST_NGINX_RAND_PORT_1;
}
--- client
my $up = upstream(port(1));

for (1 .. 2) {
    my $c = tcp();
    $c->write("GET /up HTTP/1.0\r\n\r\n");

    my @both = map { my $u = $up->accept; [$u, $u->request->{line}] } 1 .. 2;
    is_deeply([sort map { $_->[1] } @both],
              ['GET /mirror HTTP/1.0', 'GET /up HTTP/1.0'], 'asked');

    for my $u (map { $_->[0] } @both) {
        $u->write("HTTP/1.0 200 OK\r\n\r\n");
        $u->close;
    }

    is($c->response->{status}, 200, 'passed');
}

is(get('/up')->{status}, 429, 'rejected');
ok(!$up->called(0.2), 'no upstream was asked');
