# slidewin_status is the status of a rejection, 429 by default.

use Test::Nginx::Socket 'no_plan';

add_block_preprocessor(sub {
    my $block = shift;

    $block->set_value(http_config => <<'END' . ($block->http_config // ''));
    slidewin_zone $remote_addr zone=one:32k rate=1r/h algorithm=log;
END
});

no_long_string();
run_tests();

__DATA__

=== TEST 1: the default
--- config
    location /t {
        slidewin zone=one;
        empty_gif;
    }
--- request eval
["GET /t", "GET /t"]
--- error_code eval
[200, 429]
--- response_body_like eval
["GIF89a", "429 Too Many Requests"]



=== TEST 2: every kind of code
--- config eval
    CORE::join '', map {
        "location = /$_ {
             slidewin zone=one cost=2;
             slidewin_status $_;
             empty_gif;
         }
        "
    } 400, 401, 403, 404, 405, 418, 429, 451, 500, 502, 503, 504, 507, 599
--- request eval
[map { "GET /$_" }
    400, 401, 403, 404, 405, 418, 429, 451, 500, 502, 503, 504, 507, 599]
--- error_code eval
[400, 401, 403, 404, 405, 418, 429, 451, 500, 502, 503, 504, 507, 599]



=== TEST 3: one for the server, another for a location
--- config
    slidewin zone=one;
    slidewin_status 503;
    location /t {
        empty_gif;
    }
    location /u {
        slidewin_status 420;
        empty_gif;
    }
--- request eval
["GET /t", "GET /t", "GET /u"]
--- error_code eval
[200, 503, 420]



=== TEST 4: an error page for it
--- config
    location /t {
        slidewin zone=one;
        slidewin_status 420;
        error_page 420 /slow.txt;
        empty_gif;
    }
    location /slow.txt {
        internal;
    }
--- user_files
>>> slow.txt
slow down
--- request eval
["GET /t", "GET /t"]
--- error_code eval
[200, 420]
--- response_body_like eval
["GIF89a", "^slow down\$"]
--- response_headers_like eval
["Server: .*", "Retry-After: 3[56]\\d\\d"]



=== TEST 5: an error page that changes the code
--- config
    location /t {
        slidewin zone=one;
        error_page 429 =200 /slow.txt;
        empty_gif;
    }
    location /slow.txt {
        internal;
    }
--- user_files
>>> slow.txt
slow down
--- request eval
["GET /t", "GET /t"]
--- error_code eval
[200, 200]
--- response_body_like eval
["GIF89a", "^slow down\$"]



=== TEST 6: 444 closes the connection, as return 444 does
--- config
    location /t {
        slidewin zone=one cost=2;
        slidewin_status 444;
        empty_gif;
        log_not_found off;
    }
--- request
GET /t
--- ignore_response
--- access_log eval
qr/GET \/t HTTP\/1.1" 444 0/
