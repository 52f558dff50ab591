# With the key $uri, all spellings of a path are one client. With $request_uri,
# each spelling is a client of its own.

use Test::Nginx::Socket 'no_plan';

add_block_preprocessor(sub {
    my $block = shift;

    $block->set_value(http_config => <<'END');
    slidewin_zone $uri zone=uri:1m rate=2r/h algorithm=log;
    slidewin_zone $request_uri zone=request:1m rate=2r/h algorithm=log;
    slidewin_zone $remote_addr zone=address:1m rate=2r/h algorithm=log;
    add_header X-Left $slidewin_remaining always;
END
});

no_long_string();
run_tests();

__DATA__

=== TEST 1: $uri is one client however it is spelled
--- config
    location = /login { slidewin zone=uri; empty_gif; }
--- request eval
["GET /login", "GET /%6cogin", "GET //login", "GET /./login", "GET /a/../login",
 "GET /login?a=1", "GET /%6C%6F%67%69%6E", "GET /login#x"]
--- error_code eval
[200, 200, 429, 429, 429, 429, 429, 429]



=== TEST 2: $request_uri is a client for each spelling
--- config
    location = /login { slidewin zone=request; empty_gif; }
--- request eval
["GET /login", "GET /%6cogin", "GET //login", "GET /a/../login",
 "GET /login?a=1", "GET /login", "GET /login", "GET /%6Cogin"]
--- error_code eval
[200, 200, 200, 200, 200, 200, 429, 200]
--- response_headers eval
["X-Left: 1", "X-Left: 1", "X-Left: 1", "X-Left: 1", "X-Left: 1", "X-Left: 0",
 "X-Left: 0", "X-Left: 1"]



=== TEST 3: no spelling goes round a location's limit
--- config
    location /login { slidewin zone=address; empty_gif; }
--- request eval
["GET /login", "GET /%6cogin", "GET //login", "GET /./login", "GET /a/../login",
 "GET /login/", "GET /login/..%2flogin", "GET ///login", "GET /login%2f",
 "GET /login?/../"]
--- error_code eval
[200, 200, 429, 429, 429, 429, 429, 429, 429, 429]



=== TEST 4: another path is another location
--- config
    location = /login { slidewin zone=address cost=3; empty_gif; }
    location = /LOGIN { empty_gif; }
--- request eval
["GET /login", "GET /LOGIN", "GET /login/.."]
--- error_code eval
[429, 200, 200]



=== TEST 5: the key is that of the request as it came to the location
--- config
    location = /old {
        slidewin zone=uri;
        empty_gif;
    }
    location = /moved {
        rewrite ^ /old last;
    }
    location = /in-place {
        rewrite ^ /old break;
        slidewin zone=uri;
        empty_gif;
    }
--- request eval
["GET /old", "GET /moved", "GET /old", "GET /in-place"]
--- error_code eval
[200, 200, 429, 429]
