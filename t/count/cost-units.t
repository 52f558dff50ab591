# cost= is how many units a request takes. 0 only looks, more than the limit
# never passes, however many digits it has. For a value that is no number
# on_error decides.

use Test::Nginx::Socket 'no_plan';

add_block_preprocessor(sub {
    my $block = shift;

    $block->set_value(http_config => <<'END' . ($block->http_config // ''));
    slidewin_zone $remote_addr zone=log:1m rate=5r/h algorithm=log;
    slidewin_zone $remote_addr zone=counter:1m rate=5r/d;
    slidewin_zone $remote_addr zone=strict:1m rate=5r/d algorithm=strict;
    slidewin_zone $remote_addr zone=fixed:1m rate=5r/49d algorithm=fixed;
    slidewin_zone $remote_addr zone=other:1m rate=100r/h algorithm=log;
    add_header X-Limit "$slidewin_status $slidewin_remaining" always;
END
});

no_long_string();
run_tests();

__DATA__

=== TEST 1: literals of every kind, on one limit
--- config
    location = /0 { slidewin zone=log cost=0; empty_gif; }
    location = /1 { slidewin zone=log cost=1; empty_gif; }
    location = /2 { slidewin zone=log cost=2; empty_gif; }
    location = /3 { slidewin zone=log cost=3; empty_gif; }
    location = /default { slidewin zone=log; empty_gif; }
--- request eval
["GET /0", "GET /2", "GET /0", "GET /default", "GET /3", "GET /0", "GET /1",
 "GET /2", "GET /1", "GET /1", "GET /0", "GET /2"]
--- error_code eval
[200, 200, 200, 200, 429, 200, 200, 429, 200, 429, 200, 429]
--- response_headers eval
["X-Limit: PASSED 5", "X-Limit: PASSED 3", "X-Limit: PASSED 3",
 "X-Limit: PASSED 2", "X-Limit: REJECTED 2", "X-Limit: PASSED 2",
 "X-Limit: PASSED 1", "X-Limit: REJECTED 1", "X-Limit: PASSED 0",
 "X-Limit: REJECTED 0", "X-Limit: PASSED 0", "X-Limit: REJECTED 0"]



=== TEST 2: the limit itself, then nothing is left: log
--- config
    location /t { slidewin zone=log cost=$arg_cost; empty_gif; }
--- request eval
["GET /t?cost=5", "GET /t?cost=1", "GET /t?cost=0"]
--- error_code eval
[200, 429, 200]
--- response_headers eval
["X-Limit: PASSED 0", "X-Limit: REJECTED 0", "X-Limit: PASSED 0"]



=== TEST 3: the limit itself: counter
--- config
    location /t { slidewin zone=counter cost=$arg_cost; empty_gif; }
--- request eval
["GET /t?cost=5", "GET /t?cost=1", "GET /t?cost=0"]
--- error_code eval
[200, 429, 200]
--- response_headers eval
["X-Limit: PASSED 0", "X-Limit: REJECTED 0", "X-Limit: PASSED 0"]



=== TEST 4: the limit itself: strict
--- config
    location /t { slidewin zone=strict cost=$arg_cost; empty_gif; }
--- request eval
["GET /t?cost=5", "GET /t?cost=1", "GET /t?cost=0"]
--- error_code eval
[200, 429, 200]
--- response_headers eval
["X-Limit: PASSED 0", "X-Limit: REJECTED 0", "X-Limit: PASSED 0"]



=== TEST 5: the limit itself: fixed
--- config
    location /t { slidewin zone=fixed cost=$arg_cost; empty_gif; }
--- request eval
["GET /t?cost=5", "GET /t?cost=1", "GET /t?cost=0"]
--- error_code eval
[200, 429, 200]
--- response_headers eval
["X-Limit: PASSED 0", "X-Limit: REJECTED 0", "X-Limit: PASSED 0"]



=== TEST 6: one above the limit never passes and takes nothing
--- config
    location = /log { slidewin zone=log cost=6; empty_gif; }
    location = /counter { slidewin zone=counter cost=6; empty_gif; }
    location = /strict { slidewin zone=strict cost=6; empty_gif; }
    location = /fixed { slidewin zone=fixed cost=6; empty_gif; }
--- request eval
["GET /log", "GET /counter", "GET /strict", "GET /fixed",
 "GET /log", "GET /counter", "GET /strict", "GET /fixed"]
--- error_code eval
[429, 429, 429, 429, 429, 429, 429, 429]
--- response_headers eval
[("X-Limit: REJECTED 5\n!Retry-After") x 8]
--- error_log
its cost 6 is above the limit 5: it can never pass



=== TEST 7: the largest number
--- config
    location /t { slidewin zone=log cost=$arg_cost; empty_gif; }
--- request
GET /t?cost=9007199254740991
--- error_code: 429
--- response_headers
X-Limit: REJECTED 5
!Retry-After
--- error_log
limiting requests, excess: 9007199254740986.000 by zone "log", client: 127.0.0.1, rate: 5r/h, its cost 9007199254740991 is above the limit 5: it can never pass, server: 



=== TEST 8: a variable, from the request
--- http_config
    map $request_method $cost {
        GET 1;
        HEAD 0;
        POST 3;
    }
--- config
    location /t {
        slidewin zone=log cost=$cost;
        try_files /ok.txt =404;
        error_page 405 =200 /ok.txt;
    }
--- user_files
>>> ok.txt
--- request eval
["GET /t", "HEAD /t", "POST /t
body", "HEAD /t", "POST /t
body", "GET /t", "GET /t"]
--- error_code eval
[200, 200, 200, 200, 429, 200, 429]
--- response_headers eval
["X-Limit: PASSED 4", "X-Limit: PASSED 4", "X-Limit: PASSED 1",
 "X-Limit: PASSED 1", "X-Limit: REJECTED 1", "X-Limit: PASSED 0",
 "X-Limit: REJECTED 0"]



=== TEST 9: text and variables together
--- config
    location /t { slidewin zone=other cost=1${arg_n}; empty_gif; }
--- request eval
["GET /t?n=0", "GET /t?n=5", "GET /t"]
--- response_headers eval
["X-Limit: PASSED 90", "X-Limit: PASSED 75", "X-Limit: PASSED 74"]



=== TEST 10: leading zeros
--- config
    location /t { slidewin zone=other cost=$arg_cost; empty_gif; }
--- request eval
["GET /t?cost=010", "GET /t?cost=00"]
--- response_headers eval
["X-Limit: PASSED 90", "X-Limit: PASSED 90"]



=== TEST 11: digits that fit no number can never pass and take nothing
--- config
    location /t { slidewin zone=log cost=$arg_cost; empty_gif; }
--- request eval
["GET /t?cost=9007199254740992", "GET /t?cost=9223372036854775808",
 "GET /t?cost=18446744073709551617", "GET /t?cost=99999999999999999999",
 "GET /t?cost=" . (9 x 1000)]
--- error_code eval
[429, 429, 429, 429, 429]
--- response_headers eval
[("X-Limit: REJECTED 5\n!Retry-After") x 5]
--- error_log
its cost 9007199254740992 is above the limit 5: it can never pass



=== TEST 12: they are above the largest limit there is
--- http_config
    slidewin_zone $remote_addr zone=most:1m rate=9007199254740991r/ms algorithm=fixed;
--- config
    location /t { slidewin zone=most cost=$arg_cost; empty_gif; }
--- request eval
["GET /t?cost=9007199254740992", "GET /t?cost=99999999999999999999"]
--- error_code eval
[429, 429]
--- response_headers eval
["!Retry-After", "!Retry-After"]



=== TEST 13: what is no number is refused as on_error=local has nothing to count
--- config
    location /t { slidewin zone=other cost=$arg_cost; empty_gif; }
--- request eval
["GET /t?cost=abc", "GET /t?cost=1e9", "GET /t?cost=2.5", "GET /t?cost=+100",
 "GET /t?cost=2x", "GET /t?cost=%202", "GET /t?cost=0x10",
 "GET /t?cost=%31%30%30", "GET /t?cost=-1", "GET /t?cost=-5"]
--- error_code eval
[(503) x 10]
--- response_headers_like eval
[("X-Limit: ERROR_REJECTED\\s*") x 10]
--- response_headers eval
[("!Retry-After") x 10]
--- error_log eval
qr/\[(?:error|debug)\] .*invalid cost "[^"]+" for slidewin zone "other", it must be a whole number/



=== TEST 14: an empty value, and one that is not there
--- config
    location /t { slidewin zone=log cost=$arg_cost; empty_gif; }
--- request eval
["GET /t?cost=", "GET /t"]
--- error_code eval
[503, 503]
--- error_log eval
qr/\[(?:error|debug)\] .*invalid cost "" for slidewin zone "log", it must be a whole number/



=== TEST 15: what is no number, and on_error=open
--- http_config
    slidewin_zone $remote_addr zone=open:1m rate=1r/h algorithm=log on_error=open;
    slidewin_zone $remote_addr zone=closed:1m rate=1r/h algorithm=log on_error=closed;
--- config
    location /open { slidewin zone=open cost=$arg_cost; empty_gif; }
    location /closed { slidewin zone=closed cost=$arg_cost; empty_gif; }
--- request eval
["GET /open?cost=abc", "GET /open?cost=-1", "GET /open?cost=1",
 "GET /open?cost=1", "GET /open?cost=", "GET /closed?cost=abc",
 "GET /closed?cost=1"]
--- error_code eval
[200, 200, 200, 429, 200, 503, 200]
--- response_headers_like eval
["X-Limit: ERROR_PASSED\\s*", "X-Limit: ERROR_PASSED\\s*",
 "X-Limit: PASSED 0", "X-Limit: REJECTED 0", "X-Limit: ERROR_PASSED\\s*",
 "X-Limit: ERROR_REJECTED\\s*", "X-Limit: PASSED 0"]



=== TEST 16: it takes nothing of the other limits
--- config
    location /t {
        slidewin zone=log;
        slidewin zone=other cost=$arg_cost;
        empty_gif;
    }
    location /log { slidewin zone=log cost=0; empty_gif; }
--- request eval
["GET /t?cost=abc", "GET /t?cost=99999999999999999999", "GET /log"]
--- error_code eval
[503, 429, 200]
--- response_headers_like eval
["X-Limit: ERROR_REJECTED\\s*", "X-Limit: REJECTED 100", "X-Limit: PASSED 5"]



=== TEST 17: a dry run of it rejects none
--- config
    location /t { slidewin zone=log cost=$arg_cost dry_run; empty_gif; }
--- request eval
["GET /t?cost=abc", "GET /t?cost=99999999999999999999"]
--- error_code eval
[200, 200]
--- response_headers_like eval
[("X-Limit: REJECTED_DRY_RUN.*") x 2]



=== TEST 18: of a long value the log has the beginning
--- config
    location /t { slidewin zone=log cost=$arg_cost; empty_gif; }
--- request eval
"GET /t?cost=" . ("x" x 3000)
--- error_code: 503
--- error_log eval
qr/invalid cost "x{64}" for slidewin zone "log"/



=== TEST 19: a good number says nothing
--- config
    location /t { slidewin zone=log cost=$arg_cost; empty_gif; }
--- request eval
["GET /t?cost=0", "GET /t?cost=2"]
--- response_headers eval
["X-Limit: PASSED 5", "X-Limit: PASSED 3"]
--- no_error_log
[error]
invalid cost



=== TEST 20: each limit has its own cost
--- config
    location /t {
        slidewin zone=log cost=2;
        slidewin zone=other cost=30;
        empty_gif;
    }
    location /log { slidewin zone=log cost=0; empty_gif; }
    location /other { slidewin zone=other cost=0; empty_gif; }
--- request eval
["GET /t", "GET /t", "GET /t", "GET /log", "GET /other"]
--- error_code eval
[200, 200, 429, 200, 200]
--- response_headers eval
["X-Limit: PASSED 3", "X-Limit: PASSED 1", "X-Limit: REJECTED 1",
 "X-Limit: PASSED 1", "X-Limit: PASSED 40"]
