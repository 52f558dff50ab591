# A rate may be a variable. A new value applies to the next request. A value
# that is no rate is logged, and on_error decides.

use Test::Nginx::Socket 'no_plan';

add_block_preprocessor(sub {
    my $block = shift;

    $block->set_value(http_config => <<'END' . ($block->http_config // ''));
    add_header X-Limit
        "$slidewin_status $slidewin_limit $slidewin_remaining" always;
    add_header X-Source "$slidewin_zone/$slidewin_source" always;
END
});

no_long_string();
run_tests();

__DATA__

=== TEST 1: a plan for each client, from a map
--- http_config
    map $http_x_plan $plan_rate {
        gold 3r/h;
        silver 2r/h;
        default 1r/h;
    }
    slidewin_zone $arg_user zone=plan:1m rate=$plan_rate algorithm=log;
--- config
    location /t { slidewin zone=plan; empty_gif; }
--- more_headers eval
["X-Plan: gold", "X-Plan: silver", "", "X-Plan: gold", "X-Plan: silver", "",
 "X-Plan: gold", "X-Plan: silver", "X-Plan: gold"]
--- request eval
["GET /t?user=g", "GET /t?user=s", "GET /t?user=n",
 "GET /t?user=g", "GET /t?user=s", "GET /t?user=n",
 "GET /t?user=g", "GET /t?user=s", "GET /t?user=g"]
--- error_code eval
[200, 200, 200, 200, 200, 429, 200, 429, 429]
--- response_headers eval
["X-Limit: PASSED 3 2", "X-Limit: PASSED 2 1", "X-Limit: PASSED 1 0",
 "X-Limit: PASSED 3 1", "X-Limit: PASSED 2 0", "X-Limit: REJECTED 1 0",
 "X-Limit: PASSED 3 0", "X-Limit: REJECTED 2 0", "X-Limit: REJECTED 3 0"]



=== TEST 2: another limit applies to a client that has been counted: log
--- http_config
    slidewin_zone $remote_addr zone=a:1m rate=$arg_rate algorithm=log;
--- config
    location /t { slidewin zone=a; empty_gif; }
--- request eval
["GET /t?rate=2r/h", "GET /t?rate=2r/h", "GET /t?rate=2r/h",
 "GET /t?rate=4r/h", "GET /t?rate=4r/h", "GET /t?rate=4r/h",
 "GET /t?rate=1r/h", "GET /t?rate=10r/h"]
--- error_code eval
[200, 200, 429, 200, 200, 429, 429, 200]
--- response_headers eval
["X-Limit: PASSED 2 1", "X-Limit: PASSED 2 0", "X-Limit: REJECTED 2 0",
 "X-Limit: PASSED 4 1", "X-Limit: PASSED 4 0", "X-Limit: REJECTED 4 0",
 "X-Limit: REJECTED 1 0", "X-Limit: PASSED 10 5"]



=== TEST 3: another limit: counter
--- http_config
    slidewin_zone $remote_addr zone=a:1m rate=$arg_rate;
--- config
    location /t { slidewin zone=a; empty_gif; }
--- request eval
["GET /t?rate=2r/40d", "GET /t?rate=2r/40d", "GET /t?rate=2r/40d",
 "GET /t?rate=4r/40d", "GET /t?rate=4r/40d", "GET /t?rate=4r/40d",
 "GET /t?rate=1r/40d", "GET /t?rate=10r/40d"]
--- error_code eval
[200, 200, 429, 200, 200, 429, 429, 200]
--- response_headers eval
["X-Limit: PASSED 2 1", "X-Limit: PASSED 2 0", "X-Limit: REJECTED 2 0",
 "X-Limit: PASSED 4 1", "X-Limit: PASSED 4 0", "X-Limit: REJECTED 4 0",
 "X-Limit: REJECTED 1 0", "X-Limit: PASSED 10 5"]



=== TEST 4: another limit: strict
--- http_config
    slidewin_zone $remote_addr zone=a:1m rate=$arg_rate algorithm=strict slices=4;
--- config
    location /t { slidewin zone=a; empty_gif; }
--- request eval
["GET /t?rate=2r/40d", "GET /t?rate=2r/40d", "GET /t?rate=2r/40d",
 "GET /t?rate=4r/40d", "GET /t?rate=4r/40d", "GET /t?rate=4r/40d",
 "GET /t?rate=1r/40d", "GET /t?rate=10r/40d"]
--- error_code eval
[200, 200, 429, 200, 200, 429, 429, 200]
--- response_headers eval
["X-Limit: PASSED 2 1", "X-Limit: PASSED 2 0", "X-Limit: REJECTED 2 0",
 "X-Limit: PASSED 4 1", "X-Limit: PASSED 4 0", "X-Limit: REJECTED 4 0",
 "X-Limit: REJECTED 1 0", "X-Limit: PASSED 10 5"]



=== TEST 5: another limit: fixed
--- http_config
    slidewin_zone $remote_addr zone=a:1m rate=$arg_rate algorithm=fixed;
--- config
    location /t { slidewin zone=a; empty_gif; }
--- request eval
["GET /t?rate=2r/40d", "GET /t?rate=2r/40d", "GET /t?rate=2r/40d",
 "GET /t?rate=4r/40d", "GET /t?rate=4r/40d", "GET /t?rate=4r/40d",
 "GET /t?rate=1r/40d", "GET /t?rate=10r/40d"]
--- error_code eval
[200, 200, 429, 200, 200, 429, 429, 200]
--- response_headers eval
["X-Limit: PASSED 2 1", "X-Limit: PASSED 2 0", "X-Limit: REJECTED 2 0",
 "X-Limit: PASSED 4 1", "X-Limit: PASSED 4 0", "X-Limit: REJECTED 4 0",
 "X-Limit: REJECTED 1 0", "X-Limit: PASSED 10 5"]



=== TEST 6: another period forgets nothing: log
--- http_config
    slidewin_zone $remote_addr zone=a:1m rate=$arg_rate algorithm=log;
--- config
    location /t { slidewin zone=a; empty_gif; }
--- request eval
["GET /t?rate=3r/h", "GET /t?rate=3r/h", "GET /t?rate=3r/d",
 "GET /t?rate=3r/d", "GET /t?rate=3r/h"]
--- error_code eval
[200, 200, 200, 429, 429]
--- response_headers eval
["X-Limit: PASSED 3 2", "X-Limit: PASSED 3 1", "X-Limit: PASSED 3 0",
 "X-Limit: REJECTED 3 0", "X-Limit: REJECTED 3 0"]



=== TEST 7: another period forgets nothing: counter
--- http_config
    slidewin_zone $remote_addr zone=a:1m rate=$arg_rate algorithm=counter;
--- config
    location /t { slidewin zone=a; empty_gif; }
--- request eval
["GET /t?rate=3r/40d", "GET /t?rate=3r/40d", "GET /t?rate=3r/45d",
 "GET /t?rate=3r/45d", "GET /t?rate=3r/40d"]
--- error_code eval
[200, 200, 200, 429, 429]
--- response_headers eval
["X-Limit: PASSED 3 2", "X-Limit: PASSED 3 1", "X-Limit: PASSED 3 0",
 "X-Limit: REJECTED 3 0", "X-Limit: REJECTED 3 0"]



=== TEST 8: another period forgets nothing: strict
--- http_config
    slidewin_zone $remote_addr zone=a:1m rate=$arg_rate algorithm=strict;
--- config
    location /t { slidewin zone=a; empty_gif; }
--- request eval
["GET /t?rate=3r/40d", "GET /t?rate=3r/40d", "GET /t?rate=3r/45d",
 "GET /t?rate=3r/45d", "GET /t?rate=3r/40d"]
--- error_code eval
[200, 200, 200, 429, 429]



=== TEST 9: another period forgets nothing: fixed
--- http_config
    slidewin_zone $remote_addr zone=a:1m rate=$arg_rate algorithm=fixed;
--- config
    location /t { slidewin zone=a; empty_gif; }
--- request eval
["GET /t?rate=3r/40d", "GET /t?rate=3r/40d", "GET /t?rate=3r/45d",
 "GET /t?rate=3r/45d", "GET /t?rate=3r/40d"]
--- error_code eval
[200, 200, 200, 429, 429]



=== TEST 10: slices of a window shorter than their number
--- http_config
    slidewin_zone $remote_addr zone=a:1m rate=$arg_rate algorithm=strict;
--- config
    location /t { slidewin zone=a; empty_gif; }
--- request eval
["GET /t?rate=3r/1ms", "GET /t?rate=3r/40d"]
--- error_code eval
[200, 200]
--- no_error_log
[error]



=== TEST 11: no rate, and on_error=open
--- http_config
    slidewin_zone $remote_addr zone=a:1m rate=$arg_rate on_error=open;
--- config
    location /t { slidewin zone=a; slidewin_headers ietf legacy; empty_gif; }
--- request eval
["GET /t?rate=fast", "GET /t?rate=5", "GET /t?rate=0r/s", "GET /t?rate=-1r/s"]
--- error_code eval
[200, 200, 200, 200]
--- response_headers_like eval
[("X-Limit: ERROR_PASSED\\s*") x 4]
--- response_headers eval
[("X-Source: a/fail_open\n!Retry-After\n!RateLimit\n!X-RateLimit-Limit") x 4]
--- error_log eval
qr/\[(?:error|debug)\] .*invalid rate "(?:fast|5|0r\/s|-1r\/s)" of slidewin zone "a", it must be <count>r\/<period>/



=== TEST 12: no rate, and on_error=closed
--- http_config
    slidewin_zone $remote_addr zone=a:1m rate=$arg_rate on_error=closed;
--- config
    location /t { slidewin zone=a; slidewin_headers ietf legacy; empty_gif; }
--- request eval
["GET /t?rate=fast", "GET /t?rate=5r", "GET /t?rate=99999999999999999999r/s"]
--- error_code eval
[503, 503, 503]
--- response_headers_like eval
[("X-Limit: ERROR_REJECTED\\s*") x 3]
--- response_headers eval
[("X-Source: a/fail_closed\n!Retry-After\n!RateLimit\n!X-RateLimit-Limit") x 3]
--- error_log eval
[qr/\[(?:error|debug)\] .*invalid rate "(?:fast|5r|9+r\/s)" of slidewin zone "a", it must be <count>r\/<period>/,
 # at debug, where the lines left out are, there is no client
 qr/(?:\[error\] .*rejecting request uncounted by zone "a", client: 127\.0\.0\.1, server: |\[debug\] .*rejecting request uncounted by zone "a"$)/]



=== TEST 13: no rate, and on_error=local: nothing to count with is closed
--- http_config
    slidewin_zone $remote_addr zone=a:1m rate=$arg_rate on_error=local;
    slidewin_zone $remote_addr zone=b:1m rate=$arg_rate;
    slidewin_zone $remote_addr zone=c:1m rate=$arg_rate on_error=local:50%;
--- config
    location /a { slidewin zone=a; empty_gif; }
    location /b { slidewin zone=b; empty_gif; }
    location /c { slidewin zone=c; empty_gif; }
--- request eval
["GET /a?rate=fast", "GET /b?rate=fast", "GET /c?rate=fast"]
--- error_code eval
[503, 503, 503]
--- response_headers eval
["X-Source: a/fail_closed\n!Retry-After",
 "X-Source: b/fail_closed\n!Retry-After",
 "X-Source: c/fail_closed\n!Retry-After"]
--- error_log eval
qr/\[(?:error|debug)\] .*invalid rate "fast" of slidewin zone "[abc]"/



=== TEST 14: 503 whatever slidewin_status says, which is for rejections
--- http_config
    slidewin_zone $remote_addr zone=a:1m rate=$arg_rate algorithm=log;
--- config
    location /t { slidewin zone=a; slidewin_status 420; empty_gif; }
--- request eval
["GET /t?rate=1r/h", "GET /t?rate=1r/h", "GET /t?rate=fast"]
--- error_code eval
[200, 420, 503]



=== TEST 15: an empty value, and a variable that is not there
--- http_config
    slidewin_zone $remote_addr zone=open:1m rate=$arg_rate on_error=open;
    slidewin_zone $remote_addr zone=closed:1m rate=$arg_rate on_error=closed;
--- config
    location /open { slidewin zone=open; empty_gif; }
    location /closed { slidewin zone=closed; empty_gif; }
--- request eval
["GET /open?rate=", "GET /open", "GET /closed?rate=", "GET /closed"]
--- error_code eval
[200, 200, 503, 503]
--- error_log eval
qr/\[(?:error|debug)\] .*invalid rate "" of slidewin zone "(?:open|closed)"/



=== TEST 16: a rate that cannot be counted exactly
--- http_config
    slidewin_zone $remote_addr zone=a:1m rate=$arg_rate on_error=open;
--- config
    location /t { slidewin zone=a; empty_gif; }
--- request
GET /t?rate=9007199254741r/s
--- response_headers_like
X-Limit: ERROR_PASSED\s*
--- error_log
invalid rate "9007199254741r/s" of slidewin zone "a", the limit times the period in ms must be below 2^53



=== TEST 17: a limit that no log may have
--- http_config
    slidewin_zone $remote_addr zone=log:10m rate=$arg_rate algorithm=log;
    slidewin_zone $remote_addr zone=open:10m rate=$arg_rate algorithm=log on_error=open;
--- config
    location /log { slidewin zone=log; empty_gif; }
    location /open { slidewin zone=open; empty_gif; }
--- request eval
["GET /log?rate=100001r/h", "GET /open?rate=100001r/h"]
--- error_code eval
[503, 200]
--- response_headers_like eval
["X-Limit: ERROR_REJECTED\\s*", "X-Limit: ERROR_PASSED\\s*"]
--- error_log eval
qr/\[(?:error|debug)\] .*invalid rate "100001r\/h" of slidewin zone "\w+", the limit of a log must be at most 100000, algorithm=strict has no such bound/



=== TEST 18: of a long value the log has the beginning
--- http_config
    slidewin_zone $remote_addr zone=a:1m rate=$arg_rate on_error=open;
--- config
    location /t { slidewin zone=a; empty_gif; }
--- request eval
"GET /t?rate=" . ("5" x 3000)
--- error_log eval
qr/invalid rate "5{64}" of slidewin zone "a"/



=== TEST 19: a bad value leaves the counts alone
--- http_config
    slidewin_zone $remote_addr zone=a:1m rate=$arg_rate algorithm=log on_error=open;
--- config
    location /t { slidewin zone=a; empty_gif; }
--- request eval
["GET /t?rate=2r/h", "GET /t?rate=fast", "GET /t?rate=2r/h", "GET /t?rate=2r/h"]
--- error_code eval
[200, 200, 200, 429]



=== TEST 20: a bad rate that closes charges the other limits nothing
--- http_config
    slidewin_zone $remote_addr zone=good:1m rate=1r/h algorithm=log;
    slidewin_zone $remote_addr zone=bad:1m rate=$arg_rate algorithm=log on_error=closed;
--- config
    location /t { slidewin zone=good; slidewin zone=bad; empty_gif; }
--- request eval
["GET /t?rate=fast", "GET /t?rate=fast", "GET /t?rate=9r/h", "GET /t?rate=9r/h"]
--- error_code eval
[503, 503, 200, 429]
--- response_headers eval
["X-Source: bad/fail_closed", "X-Source: bad/fail_closed",
 "X-Source: good/local", "X-Source: good/local"]



=== TEST 21: a bad rate that opens leaves the other limits in force
--- http_config
    slidewin_zone $remote_addr zone=good:1m rate=1r/h algorithm=log;
    slidewin_zone $remote_addr zone=bad:1m rate=$arg_rate algorithm=log on_error=open;
--- config
    location /t { slidewin zone=bad; slidewin zone=good; empty_gif; }
--- request eval
["GET /t?rate=fast", "GET /t?rate=fast"]
--- error_code eval
[200, 429]
--- response_headers eval
["X-Source: bad/fail_open", "X-Source: good/local"]



=== TEST 22: an empty key needs no rate
--- http_config
    slidewin_zone $arg_k zone=a:1m rate=$arg_rate on_error=closed;
--- config
    location /t { slidewin zone=a; empty_gif; }
--- request
GET /t?rate=fast
--- error_code: 200
--- response_headers_like
X-Limit: BYPASSED\s*
--- no_error_log
[error]
