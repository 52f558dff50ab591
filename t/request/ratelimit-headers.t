# slidewin_headers: every limited response has the RateLimit fields, whatever
# its status, and each field once.

use Test::Nginx::Socket 'no_plan';

add_block_preprocessor(sub {
    my $block = shift;

    $block->set_value(http_config => <<'END' . ($block->http_config // ''));
    slidewin_zone $arg_k zone=one:1m rate=3r/h algorithm=log;
    slidewin_zone $arg_j zone=two:1m rate=2r/d algorithm=log;
END

    if (!defined $block->user_files) {
        $block->set_value(user_files => <<'END');
>>> ok.txt 199801171935.33
0123456789
END
    }
});

no_long_string();
run_tests();

__DATA__

=== TEST 1: none by default, and Retry-After all the same
--- config
    location /t { slidewin zone=one; empty_gif; }
--- request eval
["GET /t?k=a", "GET /t?k=a", "GET /t?k=a", "GET /t?k=a"]
--- error_code eval
[200, 200, 200, 429]
--- raw_response_headers_unlike eval
["(?i)ratelimit|retry-after", "(?i)ratelimit|retry-after",
 "(?i)ratelimit|retry-after", "(?i)ratelimit"]
--- response_headers_like eval
["Server: .*", "Server: .*", "Server: .*", "Retry-After: 3[56]\\d\\d"]



=== TEST 2: off, below a level that has some
--- config
    slidewin_headers ietf legacy;
    location /t { slidewin zone=one cost=4; slidewin_headers off; empty_gif; }
--- request
GET /t?k=a
--- error_code: 429
--- raw_response_headers_unlike: (?i)ratelimit



=== TEST 3: ietf
--- config
    location /t { slidewin zone=one; slidewin_headers ietf; empty_gif; }
--- request eval
["GET /t?k=a", "GET /t?k=a", "GET /t?k=a", "GET /t?k=a", "GET /t?k=b"]
--- error_code eval
[200, 200, 200, 429, 200]
--- response_headers_like eval
["RateLimit: \"one\";r=2;t=3[56]\\d\\d", "RateLimit: \"one\";r=1;t=3[56]\\d\\d",
 "RateLimit: \"one\";r=0;t=3[56]\\d\\d", "RateLimit: \"one\";r=0;t=3[56]\\d\\d",
 "RateLimit: \"one\";r=2;t=3[56]\\d\\d"]
--- response_headers eval
[(qq{RateLimit-Policy: "one";q=3;w=3600
!X-RateLimit-Limit
!X-RateLimit-Remaining
!X-RateLimit-Reset}) x 5]



=== TEST 4: legacy counts seconds unless told
--- config
    location /t { slidewin zone=one; slidewin_headers legacy; empty_gif; }
    location /u { slidewin zone=one; slidewin_headers legacy=delta; empty_gif; }
--- request eval
["GET /t?k=a", "GET /u?k=a", "GET /t?k=a", "GET /u?k=a"]
--- error_code eval
[200, 200, 200, 429]
--- response_headers eval
["X-RateLimit-Limit: 3\nX-RateLimit-Remaining: 2\n!RateLimit\n!RateLimit-Policy",
 "X-RateLimit-Limit: 3\nX-RateLimit-Remaining: 1\n!RateLimit\n!RateLimit-Policy",
 "X-RateLimit-Limit: 3\nX-RateLimit-Remaining: 0\n!RateLimit\n!RateLimit-Policy",
 "X-RateLimit-Limit: 3\nX-RateLimit-Remaining: 0\n!RateLimit\n!RateLimit-Policy"]
--- response_headers_like eval
[("X-RateLimit-Reset: 3[56]\\d\\d") x 4]



=== TEST 5: legacy with the time of day
--- config
    location /t { slidewin zone=one; slidewin_headers legacy=epoch; empty_gif; }
--- request
GET /t?k=a
--- response_headers
X-RateLimit-Limit: 3
X-RateLimit-Remaining: 2
--- response_headers_like eval
"X-RateLimit-Reset: (?:"
. CORE::join('|', map { $^T + 3600 + $_ } 0 .. 300) . ")"



=== TEST 6: both forms, either first
--- config
    location /t { slidewin zone=one; slidewin_headers ietf legacy; empty_gif; }
    location /u { slidewin zone=one; slidewin_headers legacy=epoch ietf; empty_gif; }
--- request eval
["GET /t?k=a", "GET /u?k=a"]
--- response_headers_like eval
["RateLimit: \"one\";r=2;t=\\d{4}\nRateLimit-Policy: \"one\";q=3;w=3600
X-RateLimit-Limit: 3\nX-RateLimit-Remaining: 2\nX-RateLimit-Reset: \\d{4}",
 "RateLimit: \"one\";r=1;t=\\d{4}\nRateLimit-Policy: \"one\";q=3;w=3600
X-RateLimit-Limit: 3\nX-RateLimit-Remaining: 1\nX-RateLimit-Reset: \\d{10}"]



=== TEST 7: several policies in their order; legacy is of the one that decides
--- config
    slidewin_headers ietf legacy;
    location /t { slidewin zone=one; slidewin zone=two; empty_gif; }
    location /u { slidewin zone=two; slidewin zone=one; empty_gif; }
--- request eval
["GET /t?k=a&j=a", "GET /u?k=a&j=a", "GET /t?k=a&j=a", "GET /t?k=a&j=b"]
--- error_code eval
[200, 200, 429, 200]
--- response_headers_like eval
["RateLimit: \"one\";r=2;t=3\\d{3}, \"two\";r=1;t=8\\d{4}",
 "RateLimit: \"two\";r=0;t=8\\d{4}, \"one\";r=1;t=3\\d{3}",
 "RateLimit: \"one\";r=1;t=3\\d{3}, \"two\";r=0;t=8\\d{4}",
 "RateLimit: \"one\";r=0;t=3\\d{3}, \"two\";r=1;t=8\\d{4}"]
--- response_headers eval
["RateLimit-Policy: \"one\";q=3;w=3600, \"two\";q=2;w=86400
X-RateLimit-Limit: 2\nX-RateLimit-Remaining: 1",
 "RateLimit-Policy: \"two\";q=2;w=86400, \"one\";q=3;w=3600
X-RateLimit-Limit: 2\nX-RateLimit-Remaining: 0",
 "RateLimit-Policy: \"one\";q=3;w=3600, \"two\";q=2;w=86400
X-RateLimit-Limit: 2\nX-RateLimit-Remaining: 0",
 "RateLimit-Policy: \"one\";q=3;w=3600, \"two\";q=2;w=86400
X-RateLimit-Limit: 3\nX-RateLimit-Remaining: 0"]



=== TEST 8: a policy whose key is empty is not among them
--- config
    slidewin_headers ietf legacy;
    location /t { slidewin zone=one; slidewin zone=two; empty_gif; }
--- request eval
["GET /t?j=a", "GET /t?k=a", "GET /t"]
--- response_headers eval
["RateLimit-Policy: \"two\";q=2;w=86400\nX-RateLimit-Limit: 2",
 "RateLimit-Policy: \"one\";q=3;w=3600\nX-RateLimit-Limit: 3",
 "!RateLimit-Policy\n!RateLimit\n!X-RateLimit-Limit\n!X-RateLimit-Remaining
!X-RateLimit-Reset"]



=== TEST 9: windows that are not whole seconds
--- http_config
    slidewin_zone $remote_addr zone=ms:1m rate=5r/500ms algorithm=log;
    slidewin_zone $remote_addr zone=more:1m rate=5r/1500ms algorithm=log;
    slidewin_zone $remote_addr zone=second:1m rate=5r/1000ms algorithm=log;
--- config
    slidewin_headers ietf legacy;
    location /t {
        slidewin zone=ms;
        slidewin zone=more;
        slidewin zone=second;
        empty_gif;
    }
--- request
GET /t
--- response_headers
RateLimit-Policy: "ms";q=5, "more";q=5;w=2, "second";q=5;w=1
RateLimit: "ms";r=4;t=1, "more";r=4;t=2, "second";r=4;t=1
X-RateLimit-Limit: 5
X-RateLimit-Remaining: 4
X-RateLimit-Reset: 1



=== TEST 10: a client that has used nothing
--- config
    slidewin_headers ietf legacy;
    location /t { slidewin zone=one cost=0; empty_gif; }
--- request
GET /t?k=a
--- response_headers
RateLimit: "one";r=3;t=3600
X-RateLimit-Remaining: 3
X-RateLimit-Reset: 0



=== TEST 11: a file, a part of it, and no such part
--- config
    location /t {
        slidewin zone=one cost=0;
        slidewin_headers ietf legacy;
        try_files /ok.txt =404;
    }
--- request eval
["GET /t?k=a", "GET /t?k=a", "GET /t?k=a"]
--- more_headers eval
["", "Range: bytes=2-4", "Range: bytes=100-200"]
--- error_code eval
[200, 206, 416]
--- response_body_like eval
["^0123456789\$", "^234\$", "416"]
--- response_headers eval
[(qq{RateLimit: "one";r=3;t=3600
RateLimit-Policy: "one";q=3;w=3600
X-RateLimit-Limit: 3
X-RateLimit-Remaining: 3
X-RateLimit-Reset: 0}) x 3]



=== TEST 12: not modified, and a failed precondition
--- config
    location /t {
        slidewin zone=one cost=0;
        slidewin_headers ietf legacy;
        try_files /ok.txt =404;
    }
--- request eval
["GET /t?k=a", "GET /t?k=a"]
--- more_headers eval
["If-None-Match: *",
 "If-Match: \"other\""]
--- error_code eval
[304, 412]
--- response_headers eval
[(qq{RateLimit: "one";r=3;t=3600
RateLimit-Policy: "one";q=3;w=3600
X-RateLimit-Limit: 3
X-RateLimit-Remaining: 3
X-RateLimit-Reset: 0}) x 2]



=== TEST 13: no such file, a method that is not allowed, a bad gateway
--- config
    slidewin_headers ietf legacy;
    slidewin zone=one cost=0;
    location /missing { try_files /nosuch.txt =404; }
    location /gif { empty_gif; }
    location /gateway { proxy_pass http://127.0.0.1:$TEST_NGINX_RAND_PORT_1; }
--- request eval
["GET /missing?k=a", "DELETE /gif?k=a", "GET /gateway?k=a"]
--- error_code eval
[404, 405, 502]
--- response_headers eval
[(qq{RateLimit: "one";r=3;t=3600
RateLimit-Policy: "one";q=3;w=3600
X-RateLimit-Limit: 3
X-RateLimit-Remaining: 3
X-RateLimit-Reset: 0}) x 3]



=== TEST 14: HEAD
--- config
    location /t {
        slidewin zone=one cost=3;
        slidewin_headers ietf legacy;
        try_files /ok.txt =404;
    }
--- request eval
["HEAD /t?k=a", "HEAD /t?k=a"]
--- error_code eval
[200, 429]
--- response_body eval
["", ""]
--- response_headers_like eval
["RateLimit: \"one\";r=0;t=3\\d{3}\nX-RateLimit-Remaining: 0",
 "RateLimit: \"one\";r=0;t=3\\d{3}\nX-RateLimit-Remaining: 0
Retry-After: 3[56]\\d\\d"]



=== TEST 15: error pages, in a file, a named location and a location of its own
--- config
    slidewin_headers ietf;
    error_page 404 /ok.txt;
    location /file { slidewin zone=one cost=3; error_page 429 /ok.txt; empty_gif; }
    location /named { slidewin zone=one cost=3; error_page 429 @named; empty_gif; }
    location /own { slidewin zone=one cost=3; error_page 429 = /page; empty_gif; }
    location /missing { slidewin zone=two cost=0; try_files /nosuch.txt =404; }
    location @named { slidewin_headers off; empty_gif; }
    location /page { slidewin_headers legacy; empty_gif; }
    location /ok.txt { }
--- request eval
["GET /file?k=a", "GET /file?k=a", "GET /named?k=a", "GET /own?k=a",
 "GET /missing?j=a"]
--- error_code eval
[200, 429, 429, 200, 404]
--- response_headers_like eval
["RateLimit: \"one\";r=0;t=3\\d{3}",
 "RateLimit: \"one\";r=0;t=3\\d{3}\nRetry-After: 3[56]\\d\\d",
 "RateLimit: \"one\";r=0;t=3\\d{3}\nRetry-After: 3[56]\\d\\d",
 "RateLimit: \"one\";r=0;t=3\\d{3}\nRetry-After: 3[56]\\d\\d",
 "RateLimit: \"two\";r=2;t=86400"]



=== TEST 16: an error page that is limited too answers, and is not counted
--- config
    slidewin_headers ietf;
    location /t { slidewin zone=one cost=4; error_page 429 /ok.txt; empty_gif; }
    location /ok.txt { slidewin zone=two; }
    location /two { slidewin zone=two cost=0; empty_gif; }
--- request eval
["GET /t?k=a&j=a", "GET /two?j=a"]
--- error_code eval
[429, 200]
--- response_headers eval
["RateLimit: \"one\";r=3;t=3600", "RateLimit: \"two\";r=2;t=86400"]



=== TEST 17: a chain of filters: gzip, sub and addition
--- config
    location /t {
        slidewin zone=one cost=0;
        slidewin_headers ietf legacy;
        gzip on;
        gzip_min_length 1;
        gzip_types text/plain;
        sub_filter 0123 abcd;
        sub_filter_types text/plain;
        add_before_body /before.txt;
        addition_types text/plain;
        try_files /ok.txt =404;
    }
    location /before.txt { slidewin zone=two; }
--- user_files
>>> ok.txt
0123456789
>>> before.txt
before
--- request
GET /t?k=a&j=a
--- more_headers
Accept-Encoding: gzip
--- response_headers
Content-Encoding: gzip
RateLimit: "one";r=3;t=3600
RateLimit-Policy: "one";q=3;w=3600
X-RateLimit-Limit: 3
X-RateLimit-Remaining: 3
X-RateLimit-Reset: 0



=== TEST 18: a response of an upstream, with fields of its own beside them
--- http_config
    server {
        listen 127.0.0.1:$TEST_NGINX_RAND_PORT_1;
        location / { empty_gif; add_header X-Upstream yes; }
    }
--- config
    location /t {
        slidewin zone=one cost=0;
        slidewin_headers ietf;
        proxy_pass http://127.0.0.1:$TEST_NGINX_RAND_PORT_1;
    }
--- request
GET /t?k=a
--- response_headers
X-Upstream: yes
RateLimit: "one";r=3;t=3600
RateLimit-Policy: "one";q=3;w=3600



=== TEST 19: a dry run is in no field
--- http_config
    slidewin_zone $arg_k zone=rehearsed:1m rate=1r/h algorithm=log;
--- config
    slidewin_headers ietf legacy;
    location /one { slidewin zone=rehearsed dry_run; empty_gif; }
    location /all { slidewin_dry_run on; slidewin zone=rehearsed; empty_gif; }
--- request eval
["GET /one?k=a", "GET /one?k=a", "GET /all?k=b", "GET /all?k=b"]
--- error_code eval
[200, 200, 200, 200]
--- raw_response_headers_unlike eval
[("(?i)ratelimit|retry-after") x 4]



=== TEST 20: a dry run beside a limit: the fields are the limit's
--- http_config
    slidewin_zone $arg_k zone=rehearsed:1m rate=1r/d algorithm=log;
--- config
    slidewin_headers ietf legacy;
    location /t {
        slidewin zone=rehearsed dry_run;
        slidewin zone=one;
        empty_gif;
    }
--- request eval
["GET /t?k=a", "GET /t?k=a", "GET /t?k=a", "GET /t?k=a"]
--- error_code eval
[200, 200, 200, 429]
--- response_headers_like eval
[map { "RateLimit-Policy: \"one\";q=3;w=3600\nX-RateLimit-Limit: 3
RateLimit: \"one\";r=$_;t=3\\d{3}\nX-RateLimit-Remaining: $_
X-RateLimit-Reset: 3\\d{3}" } 2, 1, 0, 0]



=== TEST 21: headers=off keeps a limit out of them, but not out of Retry-After
--- http_config
    slidewin_zone all zone=cap:1m rate=2r/d algorithm=log;
--- config
    slidewin_headers ietf legacy;
    location /t {
        slidewin zone=one;
        slidewin zone=cap headers=off;
        empty_gif;
    }
    location /cap { slidewin zone=cap headers=off; empty_gif; }
--- request eval
["GET /t?k=a", "GET /t?k=a", "GET /t?k=a", "GET /cap"]
--- error_code eval
[200, 200, 429, 429]
--- response_headers_like eval
["RateLimit-Policy: \"one\";q=3;w=3600\nRateLimit: \"one\";r=2;t=3\\d{3}
X-RateLimit-Limit: 3\nX-RateLimit-Remaining: 2\nX-RateLimit-Reset: 3\\d{3}",
 "RateLimit-Policy: \"one\";q=3;w=3600\nRateLimit: \"one\";r=1;t=3\\d{3}
X-RateLimit-Limit: 3\nX-RateLimit-Remaining: 1\nX-RateLimit-Reset: 3\\d{3}",
 "RateLimit-Policy: \"one\";q=3;w=3600\nRateLimit: \"one\";r=1;t=3\\d{3}
X-RateLimit-Limit: 3\nX-RateLimit-Remaining: 1\nX-RateLimit-Reset: 8\\d{4}
Retry-After: 8\\d{4}",
 "Retry-After: 8\\d{4}"]
--- raw_response_headers_unlike eval
["cap", "cap", "cap", "(?i)ratelimit"]



=== TEST 22: the reset is when more comes back, not when all does
--- http_config
    slidewin_zone $arg_k zone=days:1m rate=2r/2d;
--- config
    slidewin_headers ietf legacy;
    location /t { slidewin zone=days cost=$arg_c; empty_gif; }
    location /variable {
        slidewin zone=days cost=0;
        add_header X-Reset "$slidewin_reset";
        empty_gif;
    }
--- request eval
["GET /t?k=a&c=2", "GET /t?k=a&c=1", "GET /variable?k=a"]
--- error_code eval
[200, 429, 200]
--- response_headers_like eval
["RateLimit: \"days\";r=0;t=(\\d+)\nX-RateLimit-Reset: \\d+",
 "RateLimit: \"days\";r=0;t=(\\d+)\nX-RateLimit-Reset: \\d+",
 "X-Reset: \\d+"]
--- raw_response_headers_like eval
["(?s)RateLimit: \"days\";r=0;t=(\\d+)\r\n.*X-RateLimit-Reset: \\1\r\n",
 "(?s)Retry-After: (\\d+)\r\n.*X-RateLimit-Reset: \\1\r\n",
 "(?s)X-RateLimit-Reset: (\\d+)\r\n.*X-Reset: (?!\\1\r\n)"]



=== TEST 23: on a rejection of more than one unit it is what Retry-After says
--- config
    slidewin_headers legacy;
    location /t { slidewin zone=one cost=$arg_c; empty_gif; }
--- request eval
["GET /t?k=a&c=2", "GET /t?k=a&c=3", "GET /t?k=a&c=4"]
--- error_code eval
[200, 429, 429]
--- raw_response_headers_like eval
["X-RateLimit-Remaining: 1\r\nX-RateLimit-Reset: 3\\d{3}\r\n",
 "(?s)Retry-After: (\\d+)\r\n.*X-RateLimit-Reset: \\1\r\n",
 "X-RateLimit-Remaining: 1\r\nX-RateLimit-Reset: 3\\d{3}\r\n"]



=== TEST 24: the same as a time of day
--- config
    slidewin_headers legacy=epoch;
    location /t { slidewin zone=one cost=3; empty_gif; }
--- request eval
["GET /t?k=a", "GET /t?k=a"]
--- error_code eval
[200, 429]
--- response_headers_like eval
[("X-RateLimit-Reset: (?:"
  . CORE::join('|', map { $^T + 3600 + $_ } -1 .. 300) . ")") x 2]



=== TEST 25: numbers of more than 15 digits are cut to what a field may have
--- http_config
    slidewin_zone $arg_k zone=most:1m rate=9007199254740991r/ms algorithm=fixed;
    slidewin_zone $arg_k zone=just:1m rate=999999999999999r/ms algorithm=fixed;
    slidewin_zone $arg_k zone=above:1m rate=1000000000000000r/ms algorithm=strict slices=1;
--- config
    slidewin_headers ietf legacy;
    location /t {
        slidewin zone=most cost=0;
        slidewin zone=just cost=0;
        slidewin zone=above cost=0;
        empty_gif;
    }
--- request
GET /t?k=a
--- response_headers
RateLimit-Policy: "most";q=999999999999999, "just";q=999999999999999, "above";q=999999999999999
RateLimit: "most";r=999999999999999;t=1, "just";r=999999999999999;t=1, "above";r=999999999999999;t=1
