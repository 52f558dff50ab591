# if= of slidewin: an empty value or "0" exempts the request from this limit, in
# this location.

use Test::Nginx::Socket 'no_plan';

add_block_preprocessor(sub {
    my $block = shift;

    $block->set_value(http_config => <<'END' . ($block->http_config // ''));
    slidewin_zone $arg_k zone=one:1m rate=1r/h algorithm=log;
    slidewin_zone $arg_k zone=two:1m rate=2r/h algorithm=log;
    add_header X-Limit "$slidewin_status/$slidewin_zone" always;
END

    $block->set_value(user_files => ">>> ok.txt\nok\n");
});

no_long_string();
run_tests();

__DATA__

=== TEST 1: empty, not there and 0 exempt, and nothing is counted
--- config
    location /t { slidewin zone=one if=$arg_if; empty_gif; }
--- request eval
["GET /t?k=a&if=0", "GET /t?k=a&if=", "GET /t?k=a", "GET /t?k=a&if=0",
 "GET /t?k=a&if=1", "GET /t?k=a&if=1", "GET /t?k=a&if=0"]
--- error_code eval
[200, 200, 200, 200, 200, 429, 200]
--- response_headers eval
["X-Limit: BYPASSED/", "X-Limit: BYPASSED/", "X-Limit: BYPASSED/",
 "X-Limit: BYPASSED/", "X-Limit: PASSED/one", "X-Limit: REJECTED/one",
 "X-Limit: BYPASSED/"]



=== TEST 2: everything else does not
--- config
    location /t { slidewin zone=one if=$arg_if; empty_gif; }
--- request eval
[map { "GET /t?k=$_&if=$_" } qw(00 no off false -0 0.0 x), "%20"]
--- response_headers eval
[("X-Limit: PASSED/one") x 8]



=== TEST 3: text and variables together
--- config
    location /t { slidewin zone=one if=$arg_a$arg_b; empty_gif; }
    location /u { slidewin zone=one if=x$arg_a; empty_gif; }
--- request eval
["GET /t?k=a", "GET /t?k=a&b=0", "GET /t?k=a&a=0&b=0", "GET /t?k=b&b=1",
 "GET /u?k=c"]
--- response_headers eval
["X-Limit: BYPASSED/", "X-Limit: BYPASSED/", "X-Limit: PASSED/one",
 "X-Limit: PASSED/one", "X-Limit: PASSED/one"]



=== TEST 4: a list of those who are not limited
--- http_config
    geo $arg_from $limited {
        default 1;
        127.0.0.0/8 0;
        192.0.2.0/24 "";
    }
--- config
    location /t { slidewin zone=one if=$limited; empty_gif; }
--- request eval
["GET /t?k=a&from=127.0.0.1", "GET /t?k=a&from=192.0.2.7",
 "GET /t?k=a&from=198.51.100.1", "GET /t?k=a&from=198.51.100.1",
 "GET /t?k=a&from=127.0.0.1"]
--- error_code eval
[200, 200, 200, 429, 200]
--- response_headers eval
["X-Limit: BYPASSED/", "X-Limit: BYPASSED/", "X-Limit: PASSED/one",
 "X-Limit: REJECTED/one", "X-Limit: BYPASSED/"]



=== TEST 5: each limit has its own
--- config
    slidewin_headers ietf;
    location /t {
        slidewin zone=one if=$arg_one;
        slidewin zone=two if=$arg_two;
        empty_gif;
    }
--- request eval
["GET /t?k=a&one=1", "GET /t?k=a&two=1", "GET /t?k=a&one=1&two=1",
 "GET /t?k=a&two=1", "GET /t?k=a&two=1", "GET /t?k=a"]
--- error_code eval
[200, 200, 429, 200, 429, 200]
--- response_headers eval
["X-Limit: PASSED/one\nRateLimit-Policy: \"one\";q=1;w=3600",
 "X-Limit: PASSED/two\nRateLimit-Policy: \"two\";q=2;w=3600",
 "X-Limit: REJECTED/one",
 "X-Limit: PASSED/two\nRateLimit-Policy: \"two\";q=2;w=3600",
 "X-Limit: REJECTED/two\nRateLimit-Policy: \"two\";q=2;w=3600",
 "X-Limit: BYPASSED/\n!RateLimit-Policy\n!RateLimit"]



=== TEST 6: inherited with the limit
--- config
    slidewin zone=one if=$arg_if;
    location /t { empty_gif; }
    location /own { slidewin zone=one; empty_gif; }
--- request eval
["GET /t?k=a", "GET /own?k=a", "GET /t?k=a&if=1", "GET /t?k=a"]
--- error_code eval
[200, 200, 429, 200]



=== TEST 7: exempt where it came from, counted where it is sent to
--- config
    location /t { slidewin zone=one if=$arg_if; try_files /nosuch /limited?$args; }
    location /limited { slidewin zone=one; try_files /ok.txt =404; }
--- request eval
["GET /t?k=a", "GET /t?k=a", "GET /t?k=b&if=1", "GET /t?k=b&if=1"]
--- error_code eval
[200, 429, 200, 429]



=== TEST 8: counted where it came from, exempt where it is sent to
--- config
    location /t { slidewin zone=one; try_files /nosuch /exempt?$args; }
    location /exempt { slidewin zone=one if=$arg_if; slidewin zone=two if=$arg_if;
                       try_files /ok.txt =404; }
--- request eval
["GET /t?k=a", "GET /t?k=a", "GET /exempt?k=a", "GET /exempt?k=a&if=1"]
--- error_code eval
[200, 429, 200, 429]
--- response_headers eval
["X-Limit: PASSED/one", "X-Limit: REJECTED/one", "X-Limit: BYPASSED/",
 "X-Limit: REJECTED/one"]



=== TEST 9: read anew where it is met
--- config
    location /t {
        set $limited "";
        slidewin zone=one if=$limited;
        try_files /nosuch /next?$args;
    }
    location /next {
        set $limited 1;
        slidewin zone=one if=$limited;
        try_files /ok.txt =404;
    }
--- request eval
["GET /t?k=a", "GET /t?k=a"]
--- error_code eval
[200, 429]



=== TEST 10: an error page
--- config
    location /t { slidewin zone=one if=$arg_if; error_page 404 /page; try_files /nosuch =404; }
    location /page { slidewin zone=two if=$arg_if; try_files /ok.txt =404; }
--- request eval
["GET /t?k=a", "GET /t?k=a", "GET /t?k=a", "GET /t?k=a&if=1", "GET /t?k=a&if=1"]
--- error_code eval
[404, 404, 404, 404, 429]
--- response_headers eval
["X-Limit: BYPASSED/", "X-Limit: BYPASSED/", "X-Limit: BYPASSED/",
 "X-Limit: PASSED/one", "X-Limit: REJECTED/one"]



=== TEST 11: with reset= and count= there is nothing to give back or to clear
--- config
    location /t { slidewin zone=one; empty_gif; }
    location /login { slidewin zone=one if=$arg_if reset=200; empty_gif; }
    location /free { slidewin zone=two if=$arg_if count=401; empty_gif; }
--- request eval
["GET /t?k=a", "GET /login?k=a", "GET /t?k=a", "GET /free?k=a", "GET /free?k=a",
 "GET /free?k=a"]
--- error_code eval
[200, 200, 429, 200, 200, 200]



=== TEST 12: with a bad cost and a bad rate, which are not evaluated
--- http_config
    slidewin_zone $remote_addr zone=rate:1m rate=$arg_r;
--- config
    location /cost { slidewin zone=one cost=$arg_c if=$arg_if; empty_gif; }
    location /rate { slidewin zone=rate if=$arg_if; empty_gif; }
--- request eval
["GET /cost?k=a&c=abc", "GET /rate?k=a&r=abc"]
--- response_headers eval
[("X-Limit: BYPASSED/") x 2]
--- no_error_log
[error]
