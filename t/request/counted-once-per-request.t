# Each zone counts a request once, whatever subrequests and internal redirects
# nginx makes of it. A request that is rejected on its way is counted by none of
# the zones it met in that pass.

use lib 't/lib';
use Test::Nginx::Socket 'no_plan';
use SlidewinClient;

our $Zones = <<'END';
slidewin_zone $remote_addr zone=one:1m rate=9r/h algorithm=log;
slidewin_zone $remote_addr zone=two:1m rate=5r/h algorithm=log;
slidewin_zone $remote_addr zone=last:1m rate=1r/h algorithm=log;
slidewin_zone $remote_addr zone=other:1m rate=9r/h algorithm=log;
END

our $Server = <<'END';
slidewin zone=one;
add_header X-Remaining $slidewin_remaining always;
END

our $Backend = <<'END';
slidewin_zone $remote_addr zone=one:1m rate=9r/h algorithm=log;
server {
    listen 127.0.0.1:$TEST_NGINX_RAND_PORT_1;
    location = /accel {
        add_header X-Accel-Redirect /inside;
        empty_gif;
    }
    location = /named {
        add_header X-Accel-Redirect @named;
        empty_gif;
    }
    location / {
        root html;
    }
}
END

our $UserFiles = <<'END';
>>> file
content
>>> index.html
index
>>> dir/index.html
index of dir
>>> page
<!--#include virtual="/part?1" --><!--#include virtual="/part?2" --><!--#include virtual="/part?3" -->
>>> part
part
>>> long
0123456789abcdefghijABCDEFGHIJ-----
END

our $Twice = ['X-Remaining: 8', 'X-Remaining: 7'];

run_tests();

__DATA__

=== error_page to another location
--- http_config eval: $::Zones
--- user_files eval: $::UserFiles
--- config eval
$::Server . <<'END'
error_page 404 /file;
END
--- request eval
["GET /missing", "GET /missing"]
--- error_code eval
[404, 404]
--- response_body eval
["content\n", "content\n"]
--- response_headers eval: $::Twice



=== error_page to a named location, and from there to another page
--- http_config eval: $::Zones
--- user_files eval: $::UserFiles
--- config eval
$::Server . <<'END'
recursive_error_pages on;
error_page 404 = @named;
location @named {
    error_page 405 =200 /file;
    rewrite ^ /refuse break;
    proxy_pass http://127.0.0.1:$TEST_NGINX_SERVER_PORT;
    proxy_intercept_errors on;
}
location = /refuse {
    slidewin off;
    return 405;
}
END
--- request eval
["GET /missing", "GET /missing"]
--- error_code eval
[200, 200]
--- response_body eval
["content\n", "content\n"]
--- response_headers eval: $::Twice



=== try_files to another location
--- http_config eval: $::Zones
--- user_files eval: $::UserFiles
--- config eval
$::Server . <<'END'
location /try/ {
    try_files $uri /file;
}
END
--- request eval
["GET /try/x", "GET /try/x"]
--- response_body eval
["content\n", "content\n"]
--- response_headers eval: $::Twice



=== try_files to a named location
--- http_config eval: $::Backend
--- user_files eval: $::UserFiles
--- config eval
$::Server . <<'END'
location /try/ {
    try_files $uri @named;
}
location @named {
    rewrite ^ /file break;
    proxy_pass http://127.0.0.1:$TEST_NGINX_RAND_PORT_1;
}
END
--- request eval
["GET /try/x", "GET /try/x"]
--- response_body eval
["content\n", "content\n"]
--- response_headers eval: $::Twice



=== index
--- http_config eval: $::Zones
--- user_files eval: $::UserFiles
--- config eval: $::Server
--- request eval
["GET /dir/", "GET /"]
--- response_body eval
["index of dir\n", "index\n"]
--- response_headers eval: $::Twice



=== X-Accel-Redirect
--- http_config eval: $::Backend
--- user_files eval: $::UserFiles
--- config eval
$::Server . <<'END'
location = /accel {
    proxy_pass http://127.0.0.1:$TEST_NGINX_RAND_PORT_1;
}
location = /inside {
    internal;
    alias html/file;
}
location = /named {
    proxy_pass http://127.0.0.1:$TEST_NGINX_RAND_PORT_1;
}
location @named {
    rewrite ^ /file break;
    root html;
}
END
--- request eval
["GET /accel", "GET /named"]
--- response_body eval
["content\n", "content\n"]
--- response_headers eval: $::Twice



=== rewrite
--- http_config eval: $::Zones
--- user_files eval: $::UserFiles
--- config eval
$::Server . <<'END'
rewrite ^/one$ /two;
location = /two {
    rewrite ^ /three last;
}
location = /three {
    rewrite ^ /file break;
}
END
--- request eval
["GET /one", "GET /two"]
--- response_body eval
["content\n", "content\n"]
--- response_headers eval: $::Twice



=== three includes of ssi
--- http_config eval: $::Zones
--- user_files eval: $::UserFiles
--- config eval
$::Server . <<'END'
ssi on;
ssi_types text/plain;
END
--- request eval
["GET /page", "GET /page"]
--- response_body eval
["part\npart\npart\n\n", "part\npart\npart\n\n"]
--- response_headers eval: $::Twice



=== addition
--- http_config eval: $::Zones
--- user_files eval: $::UserFiles
--- config eval
$::Server . <<'END'
location = /file {
    addition_types text/plain;
    add_before_body /part;
    add_after_body /part;
}
END
--- request eval
["GET /file", "GET /file"]
--- response_body eval
["part\ncontent\npart\n", "part\ncontent\npart\n"]
--- response_headers eval: $::Twice



=== mirror
--- http_config eval: $::Zones
--- user_files eval: $::UserFiles
--- config eval
$::Server . <<'END'
log_subrequest on;
location = /file {
    mirror /mirror;
    mirror /mirror;
}
location = /mirror {
    internal;
    alias html/part;
}
END
--- client
is(get('/file')->{headers}{'x-remaining'}, 8, 'counted once');
is(get('/file')->{headers}{'x-remaining'}, 7, 'and once more');
# a mirror is still at work when the answer has been sent
ok(wait_until(sub { access_lines(qr{ 200 }) == 6 }), 'both mirrors were there');



=== auth_request
--- http_config eval: $::Zones
--- user_files eval: $::UserFiles
--- config eval
$::Server . <<'END'
location = /file {
    auth_request /auth;
}
location = /auth {
    internal;
    alias html/part;
}
END
--- request eval
["GET /file", "GET /file"]
--- response_body eval
["content\n", "content\n"]
--- response_headers eval: $::Twice



=== slice
--- http_config eval: $::Backend
--- user_files eval: $::UserFiles
--- config eval
$::Server . <<'END'
location = /long {
    slice 10;
    proxy_set_header Range $slice_range;
    proxy_pass http://127.0.0.1:$TEST_NGINX_RAND_PORT_1;
}
END
--- request eval
["GET /long", "GET /long"]
--- response_body eval
["0123456789abcdefghijABCDEFGHIJ-----\n",
 "0123456789abcdefghijABCDEFGHIJ-----\n"]
--- response_headers eval: $::Twice
--- access_log eval
qr{"GET /long HTTP/1.0" 206 6 }



=== another location with a further policy charges only that
--- http_config eval: $::Zones
--- user_files eval: $::UserFiles
--- config
slidewin_headers ietf;
location = /missing {
    slidewin zone=one;
    error_page 404 =200 /file;
}
location = /file {
    slidewin zone=one;
    slidewin zone=two;
}
--- request eval
["GET /missing", "GET /missing", "GET /file"]
--- response_headers_like eval
['RateLimit: "one";r=8;t=\d+, "two";r=4;t=\d+',
 'RateLimit: "one";r=7;t=\d+, "two";r=3;t=\d+',
 'RateLimit: "one";r=6;t=\d+, "two";r=2;t=\d+']



=== a rejection further on gives back nothing that was charged before
--- http_config eval: $::Zones
--- user_files eval: $::UserFiles
--- config
slidewin_headers ietf;
add_header X-Zone $slidewin_zone always;
location = /missing {
    slidewin zone=one;
    slidewin zone=two;
    error_page 404 =200 /file;
}
location = /file {
    slidewin zone=last;
    slidewin zone=other;
}
location = /part {
    slidewin zone=one cost=0;
    slidewin zone=two cost=0;
    slidewin zone=other cost=0;
}
--- request eval
["GET /missing", "GET /missing", "GET /missing", "GET /part"]
--- error_code eval
[200, 429, 429, 200]
--- response_headers_like eval
["X-Zone: last\nRateLimit: \"one\";r=8;.*, \"two\";r=4;.*, \"last\";r=0;.*, \"other\";r=8;.*",
 "X-Zone: last\nRetry-After: 3[56]\\d\\d",
 "X-Zone: last\nRetry-After: 3[56]\\d\\d",
 "RateLimit: \"one\";r=6;.*, \"two\";r=2;.*, \"other\";r=8;.*"]



=== the page of a rejection is served, from a limited location too
--- http_config eval: $::Zones
--- user_files eval: $::UserFiles
--- config
slidewin zone=last;
error_page 429 /file;
--- request eval
["GET /part", "GET /part", "GET /part"]
--- error_code eval
[200, 429, 429]
--- response_body eval
["part\n", "content\n", "content\n"]
--- response_headers_like eval
["", 'Retry-After: 3[56]\d\d', 'Retry-After: 3[56]\d\d']



=== the page of a rejection is served when error pages are recursive
--- http_config eval: $::Zones
--- user_files eval: $::UserFiles
--- config
slidewin zone=last;
recursive_error_pages on;
error_page 429 /file;
--- request eval
["GET /part", "GET /part"]
--- error_code eval
[200, 429]
--- response_body eval
["part\n", "content\n"]
--- response_headers_like eval
["", 'Retry-After: 3[56]\d\d']



=== the page of a rejection may come from a named location and be a 200
--- http_config eval
$::Backend . <<'END'
slidewin_zone $remote_addr zone=last:1m rate=1r/h algorithm=log;
END
--- user_files eval: $::UserFiles
--- config
slidewin zone=last;
error_page 429 =200 @sorry;
location @sorry {
    rewrite ^ /file break;
    proxy_pass http://127.0.0.1:$TEST_NGINX_RAND_PORT_1;
}
--- request eval
["GET /part", "GET /part"]
--- error_code eval
[200, 200]
--- response_body eval
["part\n", "content\n"]
--- response_headers_like eval
["", 'Retry-After: 3[56]\d\d']



=== the page of a rejection charges no other policy
--- http_config eval: $::Zones
--- user_files eval: $::UserFiles
--- config
error_page 429 /file;
location = /part {
    slidewin zone=last;
}
location = /file {
    slidewin zone=two;
    add_header X-Zone $slidewin_zone always;
}
location = /page {
    slidewin zone=two cost=0;
    add_header X-Remaining $slidewin_remaining;
}
--- request eval
["GET /part", "GET /part", "GET /part", "GET /page"]
--- error_code eval
[200, 429, 429, 200]
--- response_headers eval
["", "X-Zone: last", "X-Zone: last", "X-Remaining: 5"]
