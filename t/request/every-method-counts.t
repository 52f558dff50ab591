# Every method counts like GET.

use Test::Nginx::Socket 'no_plan';

no_long_string();
run_tests();

__DATA__

=== TEST 1: methods that nginx knows, and those it does not
--- http_config
    slidewin_zone $remote_addr zone=one:1m rate=20r/h algorithm=log;
--- config
    location /t {
        slidewin zone=one;
        add_header X-Left $slidewin_remaining always;
        try_files /ok.txt =404;
    }
--- user_files
>>> ok.txt
--- request eval
["GET /t", "HEAD /t", "POST /t
body", "PUT /t
body", "DELETE /t", "OPTIONS /t", "PATCH /t
body", "PROPFIND /t", "PURGE /t", "FOO /t", "M-SEARCH /t"]
--- error_code eval
[200, 200, 405, 405, 405, 405, 405, 405, 405, 405, 405]
--- response_headers eval
[map { "X-Left: $_" } 19, 18, 17, 16, 15, 14, 13, 12, 11, 10, 9]



=== TEST 2: when the limit is used up, all are rejected
--- http_config
    slidewin_zone $remote_addr zone=one:1m rate=1r/h algorithm=log;
--- config
    location /t {
        slidewin zone=one;
        try_files /ok.txt =404;
    }
--- user_files
>>> ok.txt
--- request eval
["OPTIONS /t", "GET /t", "HEAD /t", "POST /t
body", "PUT /t
body", "DELETE /t", "OPTIONS /t", "PATCH /t
body", "PROPFIND /t", "PURGE /t", "FOO /t"]
--- error_code eval
[405, (429) x 10]
--- response_headers_like eval
["Server: .*", ("Retry-After: 3[56]\\d\\d") x 10]



=== TEST 3: a method may be left out by its key
--- http_config
    map $request_method $limited {
        OPTIONS "";
        default $remote_addr;
    }
    slidewin_zone $limited zone=one:1m rate=1r/h algorithm=log;
--- config
    location /t {
        slidewin zone=one;
        try_files /ok.txt =404;
    }
--- user_files
>>> ok.txt
--- request eval
["OPTIONS /t", "OPTIONS /t", "GET /t", "GET /t", "OPTIONS /t"]
--- error_code eval
[405, 405, 200, 429, 405]
