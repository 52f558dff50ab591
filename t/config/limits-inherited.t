# A level without a slidewin directive inherits the limits of the level above. A
# level with at least one has only its own. "slidewin off" has none.

use Test::Nginx::Socket 'no_plan';

add_block_preprocessor(sub {
    my $block = shift;

    $block->set_value(http_config => <<'END' . ($block->http_config // ''));
    slidewin_zone $remote_addr zone=one:32k rate=1r/h algorithm=log;
    slidewin_zone $remote_addr zone=two:32k rate=2r/h algorithm=log;
    slidewin_zone $remote_addr zone=three:32k rate=3r/h algorithm=log;
    add_header X-Limit "$slidewin_status/$slidewin_zone" always;
END
});

no_long_string();
run_tests();

__DATA__

=== TEST 1: a limit of http applies everywhere, and is one limit
--- http_config
    slidewin zone=two;
--- config
    location /a {
        empty_gif;
        location /a/b {
            empty_gif;
        }
    }
    location /c {
        empty_gif;
    }
--- request eval
["GET /a", "GET /a/b", "GET /c", "GET /a"]
--- error_code eval
[200, 200, 429, 429]
--- response_headers eval
["X-Limit: PASSED/two", "X-Limit: PASSED/two", "X-Limit: REJECTED/two",
 "X-Limit: REJECTED/two"]



=== TEST 2: a server's limit replaces that of http
--- http_config
    slidewin zone=one;
    server {
        listen 127.0.0.1:$TEST_NGINX_RAND_PORT_1;
        location / {
            empty_gif;
        }
    }
--- config
    slidewin zone=two;
    location /t {
        empty_gif;
    }
    location /other {
        slidewin off;
        proxy_pass http://127.0.0.1:$TEST_NGINX_RAND_PORT_1;
        proxy_hide_header X-Limit;
        add_header X-Limit $upstream_http_x_limit always;
    }
--- request eval
["GET /t", "GET /t", "GET /t", "GET /other", "GET /other"]
--- error_code eval
[200, 200, 429, 200, 429]
--- response_headers eval
["X-Limit: PASSED/two", "X-Limit: PASSED/two", "X-Limit: REJECTED/two",
 "X-Limit: PASSED/one", "X-Limit: REJECTED/one"]



=== TEST 3: a location's limit replaces that of the server, only there
--- http_config
    slidewin zone=one;
--- config
    slidewin zone=two;
    location /t {
        slidewin zone=three;
        empty_gif;
    }
    location /u {
        empty_gif;
    }
--- request eval
["GET /t", "GET /t", "GET /t", "GET /t", "GET /u", "GET /u", "GET /u"]
--- error_code eval
[200, 200, 200, 429, 200, 200, 429]
--- response_headers eval
["X-Limit: PASSED/three", "X-Limit: PASSED/three", "X-Limit: PASSED/three",
 "X-Limit: REJECTED/three",
 "X-Limit: PASSED/two", "X-Limit: PASSED/two", "X-Limit: REJECTED/two"]



=== TEST 4: a location inside of a location
--- config
    slidewin zone=one;
    location /t {
        slidewin zone=two;
        empty_gif;
        location /t/own {
            slidewin zone=three;
            empty_gif;
        }
        location /t/same {
            empty_gif;
        }
    }
--- request eval
["GET /t/own", "GET /t/same", "GET /t/same", "GET /t/same", "GET /t/own"]
--- error_code eval
[200, 200, 200, 429, 200]
--- response_headers eval
["X-Limit: PASSED/three", "X-Limit: PASSED/two", "X-Limit: PASSED/two",
 "X-Limit: REJECTED/two", "X-Limit: PASSED/three"]



=== TEST 5: an if in a location, with a limit of its own and without
--- config
    location /t {
        slidewin zone=two;
        empty_gif;
        if ($arg_own) {
            slidewin zone=one;
        }
        if ($arg_same) {
            set $same 1;
        }
    }
--- request eval
["GET /t?own=1", "GET /t?own=1", "GET /t", "GET /t?same=1", "GET /t?same=1",
 "GET /t"]
--- error_code eval
[200, 429, 200, 200, 429, 429]
--- response_headers eval
["X-Limit: PASSED/one", "X-Limit: REJECTED/one", "X-Limit: PASSED/two",
 "X-Limit: PASSED/two", "X-Limit: REJECTED/two", "X-Limit: REJECTED/two"]



=== TEST 6: a list is replaced whole, not added to
--- http_config
    slidewin zone=one;
    slidewin zone=two;
--- config
    location /t {
        slidewin zone=three;
        empty_gif;
    }
    location /u {
        empty_gif;
    }
--- request eval
["GET /t", "GET /t", "GET /t", "GET /u", "GET /u", "GET /t"]
--- error_code eval
[200, 200, 200, 200, 429, 429]
--- response_headers eval
["X-Limit: PASSED/three", "X-Limit: PASSED/three", "X-Limit: PASSED/three",
 "X-Limit: PASSED/one", "X-Limit: REJECTED/one", "X-Limit: REJECTED/three"]



=== TEST 7: one zone in two locations is one limit
--- config
    location /t {
        slidewin zone=two;
        empty_gif;
    }
    location /u {
        slidewin zone=two;
        empty_gif;
    }
--- request eval
["GET /t", "GET /u", "GET /t", "GET /u"]
--- error_code eval
[200, 200, 429, 429]



=== TEST 8: off in a location, and in one below it
--- http_config
    slidewin zone=one;
--- config
    location /t {
        empty_gif;
    }
    location /off {
        slidewin off;
        empty_gif;
        location /off/below {
            empty_gif;
        }
        location /off/own {
            slidewin zone=two;
            empty_gif;
        }
    }
--- request eval
["GET /off", "GET /off", "GET /off/below", "GET /off/below",
 "GET /off/own", "GET /t", "GET /t", "GET /off"]
--- error_code eval
[200, 200, 200, 200, 200, 200, 429, 200]
--- response_headers eval
["X-Limit: /", "X-Limit: /", "X-Limit: /", "X-Limit: /",
 "X-Limit: PASSED/two", "X-Limit: PASSED/one", "X-Limit: REJECTED/one",
 "X-Limit: /"]



=== TEST 9: off in a server
--- http_config
    slidewin zone=one;
--- config
    slidewin off;
    location /t {
        empty_gif;
    }
    location /own {
        slidewin zone=one;
        empty_gif;
    }
--- request eval
["GET /t", "GET /t", "GET /own", "GET /own", "GET /t"]
--- error_code eval
[200, 200, 200, 429, 200]



=== TEST 10: off in an if
--- config
    location /t {
        slidewin zone=one;
        empty_gif;
        if ($arg_free) {
            slidewin off;
        }
    }
--- request eval
["GET /t?free=1", "GET /t?free=1", "GET /t", "GET /t", "GET /t?free=1"]
--- error_code eval
[200, 200, 200, 429, 200]



=== TEST 11: off in http, where nothing is above
--- http_config
    slidewin off;
--- config
    location /t {
        empty_gif;
    }
    location /own {
        slidewin zone=one;
        empty_gif;
    }
--- request eval
["GET /t", "GET /t", "GET /own", "GET /own"]
--- error_code eval
[200, 200, 200, 429]



=== TEST 12: the other directives are inherited on their own
--- http_config
    slidewin zone=one;
    slidewin_status 503;
    slidewin_headers legacy;
--- config
    location /t {
        empty_gif;
    }
    location /own {
        slidewin zone=two cost=3;
        empty_gif;
    }
    location /all {
        slidewin_status 403;
        slidewin_headers off;
        empty_gif;
    }
    location /dry {
        slidewin_dry_run on;
        empty_gif;
        location /dry/not {
            slidewin_dry_run off;
            empty_gif;
        }
    }
--- request eval
["GET /t", "GET /t", "GET /own", "GET /all", "GET /dry", "GET /dry/not"]
--- error_code eval
[200, 503, 503, 403, 200, 503]
--- response_headers eval
["X-RateLimit-Limit: 1", "X-RateLimit-Limit: 1", "X-RateLimit-Limit: 2",
 "!X-RateLimit-Limit", "!X-RateLimit-Limit", "X-RateLimit-Limit: 1"]



=== TEST 13: slidewin_dry_run of http and of a server
--- http_config
    slidewin zone=one;
    slidewin_dry_run on;
    server {
        listen 127.0.0.1:$TEST_NGINX_RAND_PORT_1;
        location / {
            empty_gif;
        }
    }
--- config
    slidewin_dry_run off;
    location /t {
        empty_gif;
    }
    location /other {
        slidewin off;
        proxy_pass http://127.0.0.1:$TEST_NGINX_RAND_PORT_1;
    }
--- request eval
["GET /other", "GET /other", "GET /t"]
--- error_code eval
[200, 200, 429]
