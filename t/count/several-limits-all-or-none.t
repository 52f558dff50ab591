# Several limits on a request: all admit it, or none counts it.

use lib 't/lib';
use Test::Nginx::Socket 'no_plan';
use SlidewinClient;

our $UserFiles = <<'END';
>>> file
content
END

our $Zones = <<'END';
slidewin_zone $remote_addr zone=three:1m rate=3r/h algorithm=log;
slidewin_zone $arg_k zone=each:1m rate=1r/h algorithm=log;
END

run_tests();

__DATA__

=== a rejection by one charges none
--- http_config eval: $::Zones
--- user_files eval: $::UserFiles
--- config
add_header X-Zone $slidewin_zone always;
location = /file {
    slidewin zone=three;
    slidewin zone=each;
}
--- request eval
["GET /file?k=1", "GET /file?k=1", "GET /file?k=1", "GET /file?k=2",
 "GET /file?k=3", "GET /file?k=4"]
--- error_code eval
[200, 429, 429, 200, 200, 429]
--- response_headers eval
["X-Zone: each", "X-Zone: each", "X-Zone: each", "X-Zone: each",
 "X-Zone: three", "X-Zone: three"]



=== nor in the other order
--- http_config eval: $::Zones
--- user_files eval: $::UserFiles
--- config
location = /file {
    slidewin zone=each;
    slidewin zone=three;
}
location = /peek {
    slidewin zone=each cost=0;
    add_header X-Remaining $slidewin_remaining;
    alias html/file;
}
--- request eval
["GET /file?k=1", "GET /file?k=1", "GET /file?k=2", "GET /file?k=3",
 "GET /file?k=4", "GET /peek?k=4"]
--- error_code eval
[200, 429, 200, 200, 429, 200]
--- response_headers eval
["", "", "", "", "", "X-Remaining: 1"]



=== four policies of four algorithms, each with its cost
--- http_config
slidewin_zone $remote_addr zone=a:1m rate=100r/h algorithm=log;
slidewin_zone $remote_addr zone=b:1m rate=100r/40d algorithm=counter;
slidewin_zone $remote_addr zone=c:1m rate=100r/40d algorithm=strict;
slidewin_zone $remote_addr zone=d:1m rate=10r/40d algorithm=fixed;
--- user_files eval: $::UserFiles
--- config
slidewin_headers ietf;
location = /file {
    slidewin zone=a cost=1;
    slidewin zone=b cost=2;
    slidewin zone=c cost=3;
    slidewin zone=d cost=4;
}
--- request eval
["GET /file", "GET /file", "GET /file", "GET /file"]
--- error_code eval
[200, 200, 429, 429]
--- response_headers_like eval
['RateLimit: "a";r=99;.*, "b";r=98;.*, "c";r=97;.*, "d";r=6;.*',
 'RateLimit: "a";r=98;.*, "b";r=96;.*, "c";r=94;.*, "d";r=2;.*',
 'RateLimit: "a";r=98;.*, "b";r=96;.*, "c";r=94;.*, "d";r=2;.*',
 'RateLimit: "a";r=98;.*, "b";r=96;.*, "c";r=94;.*, "d";r=2;.*']



=== a policy without a key takes no part
--- http_config eval: $::Zones
--- user_files eval: $::UserFiles
--- config
add_header X-Zone $slidewin_zone always;
location = /file {
    slidewin zone=each;
    slidewin zone=three;
}
--- request eval
["GET /file", "GET /file", "GET /file", "GET /file"]
--- error_code eval
[200, 200, 200, 429]
--- response_headers eval
["X-Zone: three", "X-Zone: three", "X-Zone: three", "X-Zone: three"]



=== of two rejections the longer one speaks
--- http_config
slidewin_zone $remote_addr zone=minute:1m rate=1r/10m algorithm=log;
slidewin_zone $remote_addr zone=hour:1m rate=1r/h algorithm=log;
--- user_files eval: $::UserFiles
--- config
add_header X-Zone $slidewin_zone always;
location = /file {
    slidewin zone=minute;
    slidewin zone=hour;
}
location = /other {
    slidewin zone=hour;
    slidewin zone=minute;
    alias html/file;
}
location = /minute {
    slidewin zone=minute;
    alias html/file;
}
--- request eval
["GET /file", "GET /file", "GET /other", "GET /minute"]
--- error_code eval
[200, 429, 429, 429]
--- response_headers_like eval
["", "X-Zone: hour\nRetry-After: 3[56]\\d\\d",
 "X-Zone: hour\nRetry-After: 3[56]\\d\\d",
 "X-Zone: minute\nRetry-After: (?:600|5\\d\\d)"]



=== a cost that can never pass speaks before one that can
--- http_config eval: $::Zones
--- user_files eval: $::UserFiles
--- config
add_header X-Zone $slidewin_zone always;
location = /file {
    slidewin zone=each;
    slidewin zone=three cost=$arg_cost;
}
--- request eval
["GET /file?k=1&cost=1", "GET /file?k=1&cost=4", "GET /file?k=2&cost=4",
 "GET /file?k=2&cost=2"]
--- error_code eval
[200, 429, 429, 200]
--- response_headers eval
["", "X-Zone: three\nRetry-After: ", "X-Zone: three\nRetry-After: ", ""]



=== a rejection charges the policies on trial neither
--- http_config eval: $::Zones
--- user_files eval: $::UserFiles
--- config
slidewin_headers ietf;
location = /file {
    slidewin zone=three dry_run;
    slidewin zone=each;
}
location = /left {
    slidewin zone=three cost=0;
    slidewin zone=each cost=0;
    try_files /file =404;
}
--- request eval
["GET /file?k=1", "GET /left?k=1", "GET /file?k=1", "GET /file?k=1",
 "GET /left?k=1", "GET /file?k=2", "GET /left?k=2"]
--- error_code eval
[200, 200, 429, 429, 200, 200, 200]
--- response_headers_like eval
['RateLimit: "each";r=0;.*', 'RateLimit: "three";r=2;.*, "each";r=0;.*',
 'RateLimit: "each";r=0;.*', 'RateLimit: "each";r=0;.*',
 'RateLimit: "three";r=2;.*, "each";r=0;.*',
 'RateLimit: "each";r=0;.*', 'RateLimit: "three";r=1;.*, "each";r=0;.*']



=== a policy on trial that would reject does not keep the others from counting
--- http_config eval: $::Zones
--- user_files eval: $::UserFiles
--- config
slidewin_headers ietf;
add_header X-Status "$slidewin_status $slidewin_zone" always;
location = /file {
    slidewin zone=each dry_run;
    slidewin zone=three;
}
--- request eval
["GET /file?k=1", "GET /file?k=1", "GET /file?k=1", "GET /file?k=1"]
--- error_code eval
[200, 200, 200, 429]
--- response_headers_like eval
["X-Status: PASSED each\nRateLimit: \"three\";r=2;.*",
 "X-Status: REJECTED_DRY_RUN each\nRateLimit: \"three\";r=1;.*",
 "X-Status: REJECTED_DRY_RUN each\nRateLimit: \"three\";r=0;.*",
 "X-Status: REJECTED three\nRateLimit: \"three\";r=0;.*"]



=== on trial together, a rejection by one charges none of them
--- http_config eval: $::Zones
--- user_files eval: $::UserFiles
--- config
slidewin_headers ietf;
location = /file {
    slidewin_dry_run on;
    slidewin zone=three;
    slidewin zone=each;
}
location = /left {
    slidewin zone=three cost=0;
    slidewin zone=each cost=0;
    try_files /file =404;
}
--- request eval
["GET /file?k=1", "GET /left?k=1", "GET /file?k=1", "GET /left?k=1",
 "GET /file?k=1", "GET /left?k=1", "GET /file?k=2", "GET /left?k=2"]
--- error_code eval
[(200) x 8]
--- response_headers_like eval
[map { ('Server: .*', $_) } ('RateLimit: "three";r=2;.*, "each";r=0;.*') x 3,
                            'RateLimit: "three";r=1;.*, "each";r=0;.*']
