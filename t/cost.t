# cost= is how many units a request takes: 0 peeks, what is no number costs 1,
# and more than the limit can never pass.

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
rejecting request by zone "log", its cost 9007199254740991 is above the limit 5: it can never pass



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



=== TEST 11: a negative number costs 1 and gives no credit
--- config
    location /t { slidewin zone=log cost=$arg_cost; empty_gif; }
--- request eval
["GET /t?cost=-1", "GET /t?cost=-5"]
--- response_headers eval
["X-Limit: PASSED 4", "X-Limit: PASSED 3"]
--- error_log eval
qr/\[error\] .*invalid cost "-[15]" for slidewin zone "log", it must be a whole number: 1 is taken/



=== TEST 12: what is no number costs 1
--- config
    location /t { slidewin zone=other cost=$arg_cost; empty_gif; }
--- request eval
["GET /t?cost=abc", "GET /t?cost=1e9", "GET /t?cost=2.5", "GET /t?cost=+2",
 "GET /t?cost=2x", "GET /t?cost=%202", "GET /t?cost=0x10",
 "GET /t?cost=99999999999999999999", "GET /t?cost=9007199254740992"]
--- response_headers eval
[map { "X-Limit: PASSED $_" } 99, 98, 97, 96, 95, 94, 93, 92, 91]
--- error_log eval
qr/\[error\] .*invalid cost "[^"]+" for slidewin zone "other", it must be a whole number: 1 is taken/



=== TEST 13: an empty value costs 1
--- config
    location /t { slidewin zone=log cost=$arg_cost; empty_gif; }
--- request eval
["GET /t?cost=", "GET /t"]
--- response_headers eval
["X-Limit: PASSED 4", "X-Limit: PASSED 3"]
--- error_log eval
qr/\[error\] .*invalid cost "" for slidewin zone "log", it must be a whole number: 1 is taken/



=== TEST 14: of a long value the log has the beginning
--- config
    location /t { slidewin zone=log cost=$arg_cost; empty_gif; }
--- request eval
"GET /t?cost=" . ("x" x 3000)
--- response_headers
X-Limit: PASSED 4
--- error_log eval
qr/invalid cost "x{64}" for slidewin zone "log"/



=== TEST 15: a good number says nothing
--- config
    location /t { slidewin zone=log cost=$arg_cost; empty_gif; }
--- request eval
["GET /t?cost=0", "GET /t?cost=2"]
--- response_headers eval
["X-Limit: PASSED 5", "X-Limit: PASSED 3"]
--- no_error_log
[error]
invalid cost



=== TEST 16: each limit has its own cost
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
