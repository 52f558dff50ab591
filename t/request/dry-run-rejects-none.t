# A dry run counts requests and reports the outcome, and rejects none.

use Test::Nginx::Socket 'no_plan';

add_block_preprocessor(sub {
    my $block = shift;

    $block->set_value(http_config => <<'END' . ($block->http_config // ''));
    slidewin_zone $arg_k zone=one:32k rate=1r/h algorithm=log;
    slidewin_zone $arg_k zone=two:32k rate=2r/h algorithm=log;
    slidewin_zone $arg_k zone=three:32k rate=3r/h algorithm=log;
    add_header X-Limit
        "$slidewin_status $slidewin_zone $slidewin_source $slidewin_remaining"
        always;
    add_header X-Retry "<$slidewin_retry_after>" always;
END
});

no_long_string();
run_tests();

__DATA__

=== TEST 1: slidewin_dry_run
--- config
    slidewin_dry_run on;
    location /t {
        slidewin zone=two;
        empty_gif;
    }
--- request eval
["GET /t?k=a", "GET /t?k=a", "GET /t?k=a", "GET /t?k=a", "GET /t?k=b"]
--- error_code eval
[200, 200, 200, 200, 200]
--- response_headers eval
["X-Limit: PASSED two local 1\n!Retry-After",
 "X-Limit: PASSED two local 0\n!Retry-After",
 "X-Limit: REJECTED_DRY_RUN two local 0\n!Retry-After",
 "X-Limit: REJECTED_DRY_RUN two local 0\n!Retry-After",
 "X-Limit: PASSED two local 1\n!Retry-After"]
--- response_headers_like eval
["X-Retry: <>", "X-Retry: <>", "X-Retry: <3[56]\\d\\d>",
 "X-Retry: <3[56]\\d\\d>", "X-Retry: <>"]



=== TEST 2: dry_run of a limit
--- config
    location /t {
        slidewin zone=two dry_run;
        empty_gif;
    }
    location /u {
        slidewin zone=two;
        empty_gif;
    }
--- request eval
["GET /t?k=a", "GET /t?k=a", "GET /t?k=a", "GET /u?k=a", "GET /u?k=b"]
--- error_code eval
[200, 200, 200, 429, 200]
--- response_headers eval
["X-Limit: PASSED two local 1",
 "X-Limit: PASSED two local 0",
 "X-Limit: REJECTED_DRY_RUN two local 0",
 "X-Limit: REJECTED two local 0",
 "X-Limit: PASSED two local 1"]



=== TEST 3: what is not rejected is not counted all the same
--- config
    location /t {
        slidewin zone=three cost=2 dry_run;
        empty_gif;
    }
    location /u {
        slidewin zone=three;
        empty_gif;
    }
--- request eval
["GET /t?k=a", "GET /t?k=a", "GET /t?k=a", "GET /u?k=a", "GET /u?k=a"]
--- error_code eval
[200, 200, 200, 200, 429]
--- response_headers eval
["X-Limit: PASSED three local 1",
 "X-Limit: REJECTED_DRY_RUN three local 1",
 "X-Limit: REJECTED_DRY_RUN three local 1",
 "X-Limit: PASSED three local 0",
 "X-Limit: REJECTED three local 0"]



=== TEST 4: an enforced limit beside one in a dry run that is used up first
--- config
    location /t {
        slidewin zone=one dry_run;
        slidewin zone=two;
        empty_gif;
    }
    location /one {
        slidewin zone=one cost=0;
        empty_gif;
    }
--- request eval
["GET /t?k=a", "GET /t?k=a", "GET /t?k=a", "GET /one?k=a", "GET /t?k=b"]
--- error_code eval
[200, 200, 429, 200, 200]
--- response_headers eval
["X-Limit: PASSED one local 0",
 "X-Limit: REJECTED_DRY_RUN one local 0",
 "X-Limit: REJECTED two local 0",
 "X-Limit: PASSED one local 0",
 "X-Limit: PASSED one local 0"]
--- response_headers_like eval
["X-Retry: <>", "X-Retry: <3[56]\\d\\d>", "Retry-After: 3[56]\\d\\d",
 "X-Retry: <>", "X-Retry: <>"]



=== TEST 5: an enforced limit that is used up first charges the dry run nothing
--- config
    location /t {
        slidewin zone=one;
        slidewin zone=two dry_run;
        empty_gif;
    }
    location /two {
        slidewin zone=two cost=0;
        empty_gif;
    }
--- request eval
["GET /t?k=a", "GET /t?k=a", "GET /t?k=a", "GET /two?k=a"]
--- error_code eval
[200, 429, 429, 200]
--- response_headers eval
["X-Limit: PASSED one local 0",
 "X-Limit: REJECTED one local 0",
 "X-Limit: REJECTED one local 0",
 "X-Limit: PASSED two local 1"]



=== TEST 6: two limits in a dry run are all or nothing among themselves
--- config
    location /t {
        slidewin zone=one dry_run;
        slidewin zone=two dry_run;
        slidewin zone=three;
        empty_gif;
    }
    location /two {
        slidewin zone=two cost=0;
        empty_gif;
    }
    location /three {
        slidewin zone=three cost=0;
        empty_gif;
    }
--- request eval
["GET /t?k=a", "GET /t?k=a", "GET /two?k=a", "GET /three?k=a"]
--- error_code eval
[200, 200, 200, 200]
--- response_headers eval
["X-Limit: PASSED one local 0",
 "X-Limit: REJECTED_DRY_RUN one local 0",
 "X-Limit: PASSED two local 1",
 "X-Limit: PASSED three local 1"]



=== TEST 7: slidewin_dry_run off leaves the limit's own dry_run
--- config
    slidewin_dry_run off;
    location /t {
        slidewin zone=one dry_run;
        empty_gif;
    }
--- request eval
["GET /t?k=a", "GET /t?k=a"]
--- error_code eval
[200, 200]
--- response_headers eval
["X-Limit: PASSED one local 0", "X-Limit: REJECTED_DRY_RUN one local 0"]



=== TEST 8: a cost above the limit
--- config
    location /t {
        slidewin zone=one cost=2 dry_run;
        empty_gif;
    }
--- request
GET /t?k=a
--- error_code: 200
--- response_headers
X-Limit: REJECTED_DRY_RUN one local 1
X-Retry: <>
!Retry-After
--- error_log
dry run: would limit request, excess: 1.000 by zone "one", client: 127.0.0.1, rate: 1r/h, its cost 2 is above the limit 1: it can never pass, server: localhost
--- no_error_log
limiting requests
rejecting



=== TEST 9: a rate that is none and on_error=closed
--- http_config
    slidewin_zone $arg_k zone=bad:32k rate=$arg_rate on_error=closed;
--- config
    location /t {
        slidewin zone=bad dry_run;
        empty_gif;
    }
--- request
GET /t?k=a&rate=fast
--- error_code: 200
--- response_headers_like
X-Limit: REJECTED_DRY_RUN bad fail_closed\s
--- error_log
invalid rate "fast" of slidewin zone "bad"
dry run: would reject request uncounted by zone "bad", client: 127.0.0.1, server: localhost
--- no_error_log
limiting requests
rejecting



=== TEST 10: no field tells of a dry run
--- config
    slidewin_dry_run on;
    slidewin_headers ietf legacy;
    location /t {
        slidewin zone=one;
        empty_gif;
    }
--- request eval
["GET /t?k=a", "GET /t?k=a"]
--- error_code eval
[200, 200]
--- response_headers_like eval
["X-Limit: PASSED one .*", "X-Limit: REJECTED_DRY_RUN one .*"]
--- raw_response_headers_unlike eval
[("(?i)ratelimit|retry-after") x 2]
