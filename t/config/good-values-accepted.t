# Every valid value is accepted, up to the last one before the first invalid
# one.

use Test::Nginx::Socket 'no_plan';

no_long_string();
run_tests();

__DATA__

=== TEST 1: zones: names, sizes, algorithms, stores, what to do on errors
--- http_config
    slidewin_zone $remote_addr zone=a:32k rate=5r/m;
    slidewin_zone $remote_addr zone=b:32768 rate=5r/m;
    slidewin_zone $remote_addr zone=c:1m rate=5r/m;
    slidewin_zone $remote_addr zone=A-Za-z_0.9:1M rate=5r/m;
    slidewin_zone $remote_addr rate=5r/m algorithm=counter zone=d:32k;
    slidewin_zone $remote_addr algorithm=fixed rate=5r/m zone=e:32k;
    slidewin_zone $remote_addr algorithm=log rate=5r/m zone=f:32k;
    slidewin_zone $remote_addr algorithm=strict rate=5r/m zone=g:32k;
    slidewin_zone $remote_addr algorithm=strict slices=1 rate=5r/m zone=h:32k;
    slidewin_zone $remote_addr slices=100 algorithm=strict rate=5r/m zone=i:32k;
    slidewin_zone $remote_addr zone=j:32k rate=5r/m store=local;
    slidewin_zone $remote_addr zone=k:32k rate=5r/m on_error=local;
    slidewin_zone $remote_addr zone=l:32k rate=5r/m on_error=local:1%;
    slidewin_zone $remote_addr zone=m:32k rate=5r/m on_error=local:100%;
    slidewin_zone $remote_addr zone=n:32k rate=5r/m on_error=open;
    slidewin_zone $remote_addr zone=o:32k rate=5r/m on_error=closed;
    slidewin_zone $arg_a$remote_addr-x-$arg_b zone=p:32k rate=5r/m;
    slidewin_zone all zone=q:32k rate=5r/m;
    slidewin_zone $remote_addr zone=r:32k rate=2048r/m algorithm=log;
    slidewin_zone $remote_addr zone=s:32k rate=5r/10ms algorithm=strict slices=10;
    slidewin_zone $remote_addr zone=t:32k rate=5r/10ms algorithm=strict;
    slidewin_zone $remote_addr zone=u:32k rate=5r/m ban=1ms;
    slidewin_zone $remote_addr zone=v:32k rate=5r/m ban=10m..10m;
    slidewin_zone $remote_addr zone=w:32k rate=5r/m ban=1m..7w;
--- config
    location /t {
        slidewin zone=a;
        slidewin zone=b;
        slidewin zone=c;
        slidewin zone=A-Za-z_0.9;
        slidewin zone=d;
        slidewin zone=e;
        slidewin zone=f;
        slidewin zone=g;
        slidewin zone=h;
        slidewin zone=i;
        slidewin zone=j;
        slidewin zone=k;
        slidewin zone=l;
        slidewin zone=m;
        slidewin zone=n;
        slidewin zone=o;
        slidewin zone=p;
        slidewin zone=q;
        slidewin zone=r;
        slidewin zone=s;
        slidewin zone=t;
        slidewin zone=u;
        slidewin zone=v;
        slidewin zone=w;
        empty_gif;
        add_header X-Limit "$slidewin_status $slidewin_remaining";
    }
--- request
GET /t
--- response_headers
X-Limit: PASSED 4
--- no_error_log
[error]
[warn]



=== TEST 2: rates
--- http_config
    slidewin_zone $remote_addr zone=a:32k rate=1r/ms;
    slidewin_zone $remote_addr zone=b:32k rate=1r/500ms;
    slidewin_zone $remote_addr zone=c:32k rate=100r/10s;
    slidewin_zone $remote_addr zone=d:32k rate=5r/m;
    slidewin_zone $remote_addr zone=e:32k rate=5r/1m;
    slidewin_zone $remote_addr zone=f:32k rate=1000r/h;
    slidewin_zone $remote_addr zone=g:32k rate=1r/d;
    slidewin_zone $remote_addr zone=h:32k rate=1r/7w;
    slidewin_zone $remote_addr zone=i:32k rate=1r/49d;
    slidewin_zone $remote_addr zone=j:32k rate=1r/4294967295ms;
    slidewin_zone $remote_addr zone=k:32k rate=005r/010s;
    slidewin_zone $remote_addr zone=l:32k rate=9007199254740r/s;
    slidewin_zone $remote_addr zone=m:32k rate=2097151r/4294967295ms;
    slidewin_zone $remote_addr zone=n:32k rate=9007199254740991r/ms algorithm=fixed;
    slidewin_zone $remote_addr zone=o:32k rate=9007199254740r/s algorithm=strict;
    slidewin_zone $remote_addr zone=p:32k rate=${arg_n}r/$arg_period;
--- config
    slidewin_headers ietf;
    location /t {
        slidewin zone=d;
        slidewin zone=e;
        slidewin zone=f;
        slidewin zone=g;
        slidewin zone=h;
        slidewin zone=i;
        slidewin zone=j;
        slidewin zone=k;
        slidewin zone=l;
        slidewin zone=m;
        slidewin zone=n;
        slidewin zone=o;
        slidewin zone=p;
        slidewin zone=a;
        slidewin zone=b;
        slidewin zone=c;
        empty_gif;
    }
--- request
GET /t?n=7&period=3s
--- response_headers
RateLimit-Policy: "d";q=5;w=60, "e";q=5;w=60, "f";q=1000;w=3600, "g";q=1;w=86400, "h";q=1;w=4233600, "i";q=1;w=4233600, "j";q=1;w=4294968, "k";q=5;w=10, "l";q=9007199254740;w=1, "m";q=2097151;w=4294968, "n";q=999999999999999, "o";q=9007199254740;w=1, "p";q=7;w=3, "a";q=1, "b";q=1, "c";q=100;w=10
--- no_error_log
[error]



=== TEST 3: as many limits as there may be
--- http_config eval
    CORE::join '', map {
        "slidewin_zone \$remote_addr zone=z$_:32k rate=${\($_ + 100)}r/h;\n"
    } 1 .. 32
--- config eval
    "location /t {\n"
    . (CORE::join '', map { "slidewin zone=z$_;\n" } CORE::reverse 1 .. 32)
    . 'empty_gif;
       add_header X-Limit "$slidewin_zone $slidewin_remaining";
       }'
--- request eval
["GET /t", "GET /t"]
--- response_headers eval
["X-Limit: z1 100", "X-Limit: z1 99"]



=== TEST 4: other directives at their bounds, in every place
--- http_config
    slidewin_status 400;
    slidewin_log_level info;
    slidewin_dry_run off;
    slidewin_headers ietf legacy;
    slidewin_client_prefix 0 0;
    slidewin_zone $remote_addr zone=a:32k rate=5r/h;
    slidewin zone=a;
--- config
    slidewin_status 599;
    slidewin_log_level notice;
    slidewin_dry_run on;
    slidewin_headers legacy=epoch ietf;
    slidewin_client_prefix 32 128;
    slidewin zone=a cost=0;
    location /t {
        slidewin_status 429;
        slidewin_log_level warn;
        slidewin_dry_run off;
        slidewin_headers legacy=delta;
        slidewin zone=a cost=9007199254740991;
        empty_gif;
        location /t/u {
            slidewin_log_level error;
            slidewin_headers off;
            slidewin off;
            empty_gif;
        }
    }
--- request eval
["GET /t", "GET /t/u"]
--- error_code eval
[429, 200]



=== TEST 5: a zone that is defined after it is used
--- http_config
    slidewin zone=a;
    server {
        listen 127.0.0.1:$TEST_NGINX_RAND_PORT_1;
        slidewin zone=b;
    }
    slidewin_zone $remote_addr zone=a:32k rate=1r/h algorithm=log;
    slidewin_zone $remote_addr zone=b:32k rate=1r/h algorithm=log;
--- config
    location /t {
        empty_gif;
    }
--- request eval
["GET /t", "GET /t"]
--- error_code eval
[200, 429]



=== TEST 6: the module without a directive of its own
--- config
    location /t {
        empty_gif;
        add_header X-Limit "<$slidewin_status$slidewin_zone$slidewin_remaining>";
    }
--- request eval
["GET /t", "GET /t"]
--- response_headers eval
["X-Limit: <>", "X-Limit: <>"]



=== TEST 7: a zone that is not used
--- http_config
    slidewin_zone $remote_addr zone=a:32k rate=1r/h;
    slidewin_headers ietf legacy;
--- config
    location /t {
        empty_gif;
    }
--- request eval
["GET /t", "GET /t"]
--- error_code eval
[200, 200]
--- response_headers eval
["!RateLimit\n!X-RateLimit-Limit", "!RateLimit\n!X-RateLimit-Limit"]



=== TEST 8: statuses, delays and jitters
--- http_config
    slidewin_zone $remote_addr zone=a:32k rate=5r/h;
    slidewin_zone $remote_addr zone=b:32k rate=5r/h;
    slidewin_zone $remote_addr zone=c:32k rate=5r/h;
    slidewin_zone $remote_addr zone=d:32k rate=5r/h;
    slidewin_zone $remote_addr zone=e:32k rate=5r/h;
    slidewin_zone $remote_addr zone=f:32k rate=5r/h;
    slidewin_retry_jitter 1ms;
--- config
    slidewin_retry_jitter 0;
    location /t {
        slidewin_retry_jitter 500ms;
        slidewin zone=a count=4xx;
        slidewin zone=b count=401,5xx;
        slidewin zone=c count=100,599,401,401 delay=1ms;
        slidewin zone=d count=1xx,2xx,3xx,4xx,5xx delay=1h;
        slidewin reset=302,2xx zone=e count=401,404 delay=3600s;
        slidewin reset=599,100 zone=f delay=3600000ms dry_run;
        empty_gif;
        add_header X-Limit "$slidewin_status $slidewin_remaining";
    }
--- request
GET /t
--- response_headers
X-Limit: PASSED 4
--- no_error_log
[error]
[warn]



=== TEST 9: charges
--- http_config
    slidewin_zone $remote_addr zone=a:32k rate=5r/h;
    slidewin_zone $remote_addr zone=b:32k rate=5r/h;
    slidewin_zone $remote_addr zone=c:32k rate=5r/h;
    slidewin_zone $remote_addr zone=d:32k rate=5r/h;
--- config
    location /t {
        slidewin zone=a charge=$upstream_http_x_cost;
        slidewin zone=b cost=0 charge=$bytes_sent;
        slidewin zone=c cost=$arg_c charge=$arg_a,$arg_b count=2xx reset=401;
        slidewin charge=${request_time}0 zone=d delay=1s dry_run;
        empty_gif;
        add_header X-Limit "$slidewin_status $slidewin_remaining";
    }
--- request
GET /t?c=1
--- response_headers
X-Limit: PASSED 4
--- no_error_log
[error]
[warn]
