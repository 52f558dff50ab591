# nginx refuses to start with a bad "slidewin". One [emerg] line says what is
# wrong and where.

use Test::Nginx::Socket 'no_plan';
use SlidewinRefused;

no_long_string();
run_tests();

__DATA__

=== TEST 1: an unknown zone
--- zone: $remote_addr zone=one:1m rate=5r/m;
--- config
    location /t {
        slidewin zone=two;
    }
--- emerg: unknown slidewin zone "two"



=== TEST 2: no zone at all
--- config
    location /t {
        slidewin zone=one;
    }
--- emerg: unknown slidewin zone "one"



=== TEST 3: the beginning of a zone's name
--- zone: $remote_addr zone=one:1m rate=5r/m;
--- config
    location /t {
        slidewin zone=on;
    }
--- emerg: unknown slidewin zone "on"



=== TEST 4: more than a zone's name
--- zone: $remote_addr zone=one:1m rate=5r/m;
--- config
    location /t {
        slidewin zone=ones;
    }
--- emerg: unknown slidewin zone "ones"



=== TEST 5: a zone in other letters
--- zone: $remote_addr zone=one:1m rate=5r/m;
--- config
    location /t {
        slidewin zone=One;
    }
--- emerg: unknown slidewin zone "One"



=== TEST 6: a size belongs to slidewin_zone
--- zone: $remote_addr zone=one:1m rate=5r/m;
--- config
    location /t {
        slidewin zone=one:1m;
    }
--- emerg: unknown slidewin zone "one:1m"



=== TEST 7: the zone of another module
--- http_config: limit_conn_zone $remote_addr zone=conn:1m;
--- config
    location /t {
        slidewin zone=conn;
    }
--- emerg: unknown slidewin zone "conn"



=== TEST 8: a zone that is unknown in an included file
--- zone: $remote_addr zone=one:1m rate=5r/m;
--- user_files
>>> limits.conf
# two lines before it

slidewin zone=two;
--- config
    location /t {
        include ../html/limits.conf;
    }
--- emerg: unknown slidewin zone "two"
--- place: limits.conf:3



=== TEST 9: nothing
--- zone: $remote_addr zone=one:1m rate=5r/m;
--- config
    location /t {
        slidewin;
    }
--- emerg: invalid number of arguments in "slidewin" directive



=== TEST 10: an empty zone
--- zone: $remote_addr zone=one:1m rate=5r/m;
--- config
    location /t {
        slidewin zone=;
    }
--- emerg: invalid zone name "zone=" in "slidewin" directive



=== TEST 11: a name alone
--- zone: $remote_addr zone=one:1m rate=5r/m;
--- config
    location /t {
        slidewin one;
    }
--- emerg: invalid parameter "one" in "slidewin" directive, it must be one of zone=, cost=, charge=, count=, reset=, delay=, if=, headers=, dry_run



=== TEST 12: no zone
--- zone: $remote_addr zone=one:1m rate=5r/m;
--- config
    location /t {
        slidewin cost=2;
    }
--- emerg: "slidewin" must have "zone" parameter



=== TEST 13: only dry_run
--- zone: $remote_addr zone=one:1m rate=5r/m;
--- config
    location /t {
        slidewin dry_run;
    }
--- emerg: "slidewin" must have "zone" parameter



=== TEST 14: an unknown parameter
--- zone: $remote_addr zone=one:1m rate=5r/m;
--- config
    location /t {
        slidewin zone=one foo=bar;
    }
--- emerg: invalid parameter "foo=bar" in "slidewin" directive, it must be one of zone=, cost=, charge=, count=, reset=, delay=, if=, headers=, dry_run



=== TEST 15: a parameter of limit_req
--- zone: $remote_addr zone=one:1m rate=5r/m;
--- config
    location /t {
        slidewin zone=one nodelay;
    }
--- emerg: invalid parameter "nodelay" in "slidewin" directive, it is not needed: no request waits without delay=<time> of "slidewin"



=== TEST 16: a value where none belongs
--- zone: $remote_addr zone=one:1m rate=5r/m;
--- config
    location /t {
        slidewin zone=one dry_run=on;
    }
--- emerg: invalid parameter "dry_run=on" in "slidewin" directive, it must be one of zone=, cost=, charge=, count=, reset=, delay=, if=, headers=, dry_run



=== TEST 17: the same zone twice
--- zone: $remote_addr zone=one:1m rate=5r/m;
--- config
    location /t {
        slidewin zone=one;
        slidewin zone=one;
    }
--- emerg: "slidewin" directive is duplicate



=== TEST 18: the same zone twice, at another cost
--- zone: $remote_addr zone=one:1m rate=5r/m;
--- config
    location /t {
        slidewin zone=one;
        slidewin zone=one cost=2;
    }
--- emerg: "slidewin" directive is duplicate



=== TEST 19: the same zone again after another
--- http_config
    slidewin_zone $remote_addr zone=one:1m rate=5r/m;
    slidewin_zone $remote_addr zone=two:1m rate=5r/m;
--- config
    location /t {
        slidewin zone=one;
        slidewin zone=two;
        slidewin zone=one;
    }
--- emerg: "slidewin" directive is duplicate



=== TEST 20: the same zone twice in http
--- http_config
    slidewin_zone $remote_addr zone=one:1m rate=5r/m;
    slidewin zone=one;
    slidewin zone=one;
--- emerg: "slidewin" directive is duplicate



=== TEST 21: the same zone twice in a server
--- zone: $remote_addr zone=one:1m rate=5r/m;
--- config
    slidewin zone=one;
    slidewin zone=one;
--- emerg: "slidewin" directive is duplicate



=== TEST 22: the same zone twice in an if
--- zone: $remote_addr zone=one:1m rate=5r/m;
--- config
    location /t {
        if ($arg_a) {
            slidewin zone=one;
            slidewin zone=one;
        }
    }
--- emerg: "slidewin" directive is duplicate



=== TEST 23: off after a zone
--- zone: $remote_addr zone=one:1m rate=5r/m;
--- config
    location /t {
        slidewin zone=one;
        slidewin off;
    }
--- emerg: "slidewin" directive is duplicate



=== TEST 24: a zone after off
--- zone: $remote_addr zone=one:1m rate=5r/m;
--- config
    location /t {
        slidewin off;
        slidewin zone=one;
    }
--- emerg: "slidewin" directive is duplicate



=== TEST 25: off twice
--- zone: $remote_addr zone=one:1m rate=5r/m;
--- config
    location /t {
        slidewin off;
        slidewin off;
    }
--- emerg: "slidewin" directive is duplicate



=== TEST 26: off with a zone
--- zone: $remote_addr zone=one:1m rate=5r/m;
--- config
    location /t {
        slidewin off zone=one;
    }
--- emerg: invalid parameter "zone=one" after "off" in "slidewin" directive



=== TEST 27: a zone with off
--- zone: $remote_addr zone=one:1m rate=5r/m;
--- config
    location /t {
        slidewin zone=one off;
    }
--- emerg: invalid parameter "off" in "slidewin" directive, it must be one of zone=, cost=, charge=, count=, reset=, delay=, if=, headers=, dry_run



=== TEST 28: on
--- zone: $remote_addr zone=one:1m rate=5r/m;
--- config
    location /t {
        slidewin on;
    }
--- emerg: invalid parameter "on" in "slidewin" directive, it must be one of zone=, cost=, charge=, count=, reset=, delay=, if=, headers=, dry_run



=== TEST 29: a cost that is empty
--- zone: $remote_addr zone=one:1m rate=5r/m;
--- config
    location /t {
        slidewin zone=one cost=;
    }
--- emerg: invalid cost "cost=" in "slidewin" directive, it must be a whole number or a variable



=== TEST 30: a cost that is negative
--- zone: $remote_addr zone=one:1m rate=5r/m;
--- config
    location /t {
        slidewin zone=one cost=-1;
    }
--- emerg: invalid cost "cost=-1" in "slidewin" directive, it must be a whole number or a variable



=== TEST 31: a cost that is signed
--- zone: $remote_addr zone=one:1m rate=5r/m;
--- config
    location /t {
        slidewin zone=one cost=+1;
    }
--- emerg: invalid cost "cost=+1" in "slidewin" directive, it must be a whole number or a variable



=== TEST 32: a cost that is broken
--- zone: $remote_addr zone=one:1m rate=5r/m;
--- config
    location /t {
        slidewin zone=one cost=1.5;
    }
--- emerg: invalid cost "cost=1.5" in "slidewin" directive, it must be a whole number or a variable



=== TEST 33: a cost that is no number
--- zone: $remote_addr zone=one:1m rate=5r/m;
--- config
    location /t {
        slidewin zone=one cost=abc;
    }
--- emerg: invalid cost "cost=abc" in "slidewin" directive, it must be a whole number or a variable



=== TEST 34: a cost that is a number and more
--- zone: $remote_addr zone=one:1m rate=5r/m;
--- config
    location /t {
        slidewin zone=one cost=5x;
    }
--- emerg: invalid cost "cost=5x" in "slidewin" directive, it must be a whole number or a variable



=== TEST 35: a cost that is hexadecimal
--- zone: $remote_addr zone=one:1m rate=5r/m;
--- config
    location /t {
        slidewin zone=one cost=0x10;
    }
--- emerg: invalid cost "cost=0x10" in "slidewin" directive, it must be a whole number or a variable



=== TEST 36: a cost that is 2^53
--- zone: $remote_addr zone=one:1m rate=5r/m;
--- config
    location /t {
        slidewin zone=one cost=9007199254740992;
    }
--- emerg: invalid cost "cost=9007199254740992" in "slidewin" directive, it must be a whole number or a variable



=== TEST 37: a cost that is beyond any number
--- zone: $remote_addr zone=one:1m rate=5r/m;
--- config
    location /t {
        slidewin zone=one cost=99999999999999999999;
    }
--- emerg: invalid cost "cost=99999999999999999999" in "slidewin" directive, it must be a whole number or a variable



=== TEST 38: a cost that is a percentage
--- zone: $remote_addr zone=one:1m rate=5r/m;
--- config
    location /t {
        slidewin zone=one cost=5%;
    }
--- emerg: invalid cost "cost=5%" in "slidewin" directive, it must be a whole number or a variable



=== TEST 39: a cost with spaces
--- zone: $remote_addr zone=one:1m rate=5r/m;
--- config
    location /t {
        slidewin zone=one "cost= 1";
    }
--- emerg: invalid cost "cost= 1" in "slidewin" directive, it must be a whole number or a variable



=== TEST 40: an unknown variable as cost
--- zone: $remote_addr zone=one:1m rate=5r/m;
--- config
    location /t {
        slidewin zone=one cost=$nosuch;
    }
--- emerg: unknown "nosuch" variable
--- nowhere



=== TEST 41: one limit too many
--- http_config eval
    CORE::join '', map { "slidewin_zone \$remote_addr zone=z$_:32k rate=5r/m;\n" } 1 .. 33
--- config eval
    CORE::join '', map { "slidewin zone=z$_;\n" } 1 .. 33
--- emerg: too many "slidewin" directives, at most 32 may apply together



=== TEST 42: in main
--- zone: $remote_addr zone=one:1m rate=5r/m;
--- main_config: slidewin zone=one;
--- emerg: "slidewin" directive is not allowed here



=== TEST 43: in an if of a server
--- zone: $remote_addr zone=one:1m rate=5r/m;
--- config
    if ($arg_a) {
        slidewin zone=one;
    }
--- emerg: "slidewin" directive is not allowed here



=== TEST 44: in limit_except
--- zone: $remote_addr zone=one:1m rate=5r/m;
--- config
    location /t {
        limit_except GET {
            slidewin zone=one;
        }
    }
--- emerg: "slidewin" directive is not allowed here



=== TEST 45: two zones in one
--- zone: $remote_addr zone=one:1m rate=5r/m;
--- config
    location /t {
        slidewin zone=one zone=two;
    }
--- emerg: duplicate parameter "zone=two" in "slidewin" directive



=== TEST 46: a cost twice
--- zone: $remote_addr zone=one:1m rate=5r/m;
--- config
    location /t {
        slidewin zone=one cost=1 cost=2;
    }
--- emerg: duplicate parameter "cost=2" in "slidewin" directive



=== TEST 47: dry_run twice
--- zone: $remote_addr zone=one:1m rate=5r/m;
--- config
    location /t {
        slidewin dry_run zone=one dry_run;
    }
--- emerg: duplicate parameter "dry_run" in "slidewin" directive



=== TEST 48: count: empty
--- zone: $remote_addr zone=one:1m rate=5r/m;
--- config
    location /t {
        slidewin zone=one count=;
    }
--- emerg: invalid statuses "count=" in "slidewin" directive, they must be from 100 to 599 or classes as 4xx, with commas between them



=== TEST 49: count: two digits
--- zone: $remote_addr zone=one:1m rate=5r/m;
--- config
    location /t {
        slidewin zone=one count=40;
    }
--- emerg: invalid statuses "count=40" in "slidewin" directive, they must be from 100 to 599 or classes as 4xx, with commas between them



=== TEST 50: count: four digits
--- zone: $remote_addr zone=one:1m rate=5r/m;
--- config
    location /t {
        slidewin zone=one count=4010;
    }
--- emerg: invalid statuses "count=4010" in "slidewin" directive, they must be from 100 to 599 or classes as 4xx, with commas between them



=== TEST 51: count: above 599
--- zone: $remote_addr zone=one:1m rate=5r/m;
--- config
    location /t {
        slidewin zone=one count=600;
    }
--- emerg: invalid statuses "count=600" in "slidewin" directive, they must be from 100 to 599 or classes as 4xx, with commas between them



=== TEST 52: count: below 100
--- zone: $remote_addr zone=one:1m rate=5r/m;
--- config
    location /t {
        slidewin zone=one count=099;
    }
--- emerg: invalid statuses "count=099" in "slidewin" directive, they must be from 100 to 599 or classes as 4xx, with commas between them



=== TEST 53: count: zero
--- zone: $remote_addr zone=one:1m rate=5r/m;
--- config
    location /t {
        slidewin zone=one count=000;
    }
--- emerg: invalid statuses "count=000" in "slidewin" directive, they must be from 100 to 599 or classes as 4xx, with commas between them



=== TEST 54: count: a class above them
--- zone: $remote_addr zone=one:1m rate=5r/m;
--- config
    location /t {
        slidewin zone=one count=6xx;
    }
--- emerg: invalid statuses "count=6xx" in "slidewin" directive, they must be from 100 to 599 or classes as 4xx, with commas between them



=== TEST 55: count: a class below them
--- zone: $remote_addr zone=one:1m rate=5r/m;
--- config
    location /t {
        slidewin zone=one count=0xx;
    }
--- emerg: invalid statuses "count=0xx" in "slidewin" directive, they must be from 100 to 599 or classes as 4xx, with commas between them



=== TEST 56: count: a class in capitals
--- zone: $remote_addr zone=one:1m rate=5r/m;
--- config
    location /t {
        slidewin zone=one count=4XX;
    }
--- emerg: invalid statuses "count=4XX" in "slidewin" directive, they must be from 100 to 599 or classes as 4xx, with commas between them



=== TEST 57: count: half a class
--- zone: $remote_addr zone=one:1m rate=5r/m;
--- config
    location /t {
        slidewin zone=one count=40x;
    }
--- emerg: invalid statuses "count=40x" in "slidewin" directive, they must be from 100 to 599 or classes as 4xx, with commas between them



=== TEST 58: count: no digit of a class
--- zone: $remote_addr zone=one:1m rate=5r/m;
--- config
    location /t {
        slidewin zone=one count=xxx;
    }
--- emerg: invalid statuses "count=xxx" in "slidewin" directive, they must be from 100 to 599 or classes as 4xx, with commas between them



=== TEST 59: count: a comma at the end
--- zone: $remote_addr zone=one:1m rate=5r/m;
--- config
    location /t {
        slidewin zone=one count=401,;
    }
--- emerg: invalid statuses "count=401," in "slidewin" directive, they must be from 100 to 599 or classes as 4xx, with commas between them



=== TEST 60: count: a comma at the beginning
--- zone: $remote_addr zone=one:1m rate=5r/m;
--- config
    location /t {
        slidewin zone=one count=,401;
    }
--- emerg: invalid statuses "count=,401" in "slidewin" directive, they must be from 100 to 599 or classes as 4xx, with commas between them



=== TEST 61: count: two commas
--- zone: $remote_addr zone=one:1m rate=5r/m;
--- config
    location /t {
        slidewin zone=one count=401,,403;
    }
--- emerg: invalid statuses "count=401,,403" in "slidewin" directive, they must be from 100 to 599 or classes as 4xx, with commas between them



=== TEST 62: count: a comma alone
--- zone: $remote_addr zone=one:1m rate=5r/m;
--- config
    location /t {
        slidewin zone=one count=,;
    }
--- emerg: invalid statuses "count=," in "slidewin" directive, they must be from 100 to 599 or classes as 4xx, with commas between them



=== TEST 63: count: a space between
--- zone: $remote_addr zone=one:1m rate=5r/m;
--- config
    location /t {
        slidewin zone=one "count=401, 403";
    }
--- emerg: invalid statuses "count=401, 403" in "slidewin" directive, they must be from 100 to 599 or classes as 4xx, with commas between them



=== TEST 64: count: another separator
--- zone: $remote_addr zone=one:1m rate=5r/m;
--- config
    location /t {
        slidewin zone=one "count=401;403";
    }
--- emerg: invalid statuses "count=401;403" in "slidewin" directive, they must be from 100 to 599 or classes as 4xx, with commas between them



=== TEST 65: count: signed
--- zone: $remote_addr zone=one:1m rate=5r/m;
--- config
    location /t {
        slidewin zone=one count=+01;
    }
--- emerg: invalid statuses "count=+01" in "slidewin" directive, they must be from 100 to 599 or classes as 4xx, with commas between them



=== TEST 66: count: a word
--- zone: $remote_addr zone=one:1m rate=5r/m;
--- config
    location /t {
        slidewin zone=one count=any;
    }
--- emerg: invalid statuses "count=any" in "slidewin" directive, they must be from 100 to 599 or classes as 4xx, with commas between them



=== TEST 67: count: a variable
--- zone: $remote_addr zone=one:1m rate=5r/m;
--- config
    location /t {
        slidewin zone=one count=$arg_s;
    }
--- emerg: invalid statuses "count=$arg_s" in "slidewin" directive, they must be from 100 to 599 or classes as 4xx, with commas between them



=== TEST 68: count: a bad one behind a good one
--- zone: $remote_addr zone=one:1m rate=5r/m;
--- config
    location /t {
        slidewin zone=one count=401,600;
    }
--- emerg: invalid statuses "count=401,600" in "slidewin" directive, they must be from 100 to 599 or classes as 4xx, with commas between them



=== TEST 69: count: a range
--- zone: $remote_addr zone=one:1m rate=5r/m;
--- config
    location /t {
        slidewin zone=one count=401-403;
    }
--- emerg: invalid statuses "count=401-403" in "slidewin" directive, they must be from 100 to 599 or classes as 4xx, with commas between them



=== TEST 70: count without a value
--- zone: $remote_addr zone=one:1m rate=5r/m;
--- config
    location /t {
        slidewin zone=one count;
    }
--- emerg: invalid parameter "count" in "slidewin" directive, it must be one of zone=, cost=, charge=, count=, reset=, delay=, if=, headers=, dry_run



=== TEST 71: count twice
--- zone: $remote_addr zone=one:1m rate=5r/m;
--- config
    location /t {
        slidewin zone=one count=401 count=403;
    }
--- emerg: duplicate parameter "count=403" in "slidewin" directive



=== TEST 72: reset: empty
--- zone: $remote_addr zone=one:1m rate=5r/m;
--- config
    location /t {
        slidewin zone=one reset=;
    }
--- emerg: invalid statuses "reset=" in "slidewin" directive, they must be from 100 to 599 or classes as 4xx, with commas between them



=== TEST 73: reset: above 599
--- zone: $remote_addr zone=one:1m rate=5r/m;
--- config
    location /t {
        slidewin zone=one reset=600;
    }
--- emerg: invalid statuses "reset=600" in "slidewin" directive, they must be from 100 to 599 or classes as 4xx, with commas between them



=== TEST 74: reset: a class above them
--- zone: $remote_addr zone=one:1m rate=5r/m;
--- config
    location /t {
        slidewin zone=one reset=6xx;
    }
--- emerg: invalid statuses "reset=6xx" in "slidewin" directive, they must be from 100 to 599 or classes as 4xx, with commas between them



=== TEST 75: reset: a comma at the end
--- zone: $remote_addr zone=one:1m rate=5r/m;
--- config
    location /t {
        slidewin zone=one reset=401,;
    }
--- emerg: invalid statuses "reset=401," in "slidewin" directive, they must be from 100 to 599 or classes as 4xx, with commas between them



=== TEST 76: reset: two commas
--- zone: $remote_addr zone=one:1m rate=5r/m;
--- config
    location /t {
        slidewin zone=one reset=401,,403;
    }
--- emerg: invalid statuses "reset=401,,403" in "slidewin" directive, they must be from 100 to 599 or classes as 4xx, with commas between them



=== TEST 77: reset without a value
--- zone: $remote_addr zone=one:1m rate=5r/m;
--- config
    location /t {
        slidewin zone=one reset;
    }
--- emerg: invalid parameter "reset" in "slidewin" directive, it must be one of zone=, cost=, charge=, count=, reset=, delay=, if=, headers=, dry_run



=== TEST 78: reset twice
--- zone: $remote_addr zone=one:1m rate=5r/m;
--- config
    location /t {
        slidewin zone=one reset=401 reset=403;
    }
--- emerg: duplicate parameter "reset=403" in "slidewin" directive



=== TEST 79: a status in both lists
--- zone: $remote_addr zone=one:1m rate=5r/m;
--- config
    location /t {
        slidewin zone=one count=401,403 reset=200,401;
    }
--- emerg: status 401 is in both "count" and "reset" of "slidewin" directive



=== TEST 80: a status in both lists, the other way round
--- zone: $remote_addr zone=one:1m rate=5r/m;
--- config
    location /t {
        slidewin zone=one reset=200,403 count=401,403;
    }
--- emerg: status 403 is in both "count" and "reset" of "slidewin" directive



=== TEST 81: a status in a class of the other list
--- zone: $remote_addr zone=one:1m rate=5r/m;
--- config
    location /t {
        slidewin zone=one count=4xx reset=404;
    }
--- emerg: status 404 is in both "count" and "reset" of "slidewin" directive



=== TEST 82: a class in both lists
--- zone: $remote_addr zone=one:1m rate=5r/m;
--- config
    location /t {
        slidewin zone=one count=401,5xx reset=5xx;
    }
--- emerg: status 500 is in both "count" and "reset" of "slidewin" directive



=== TEST 83: delay: empty
--- zone: $remote_addr zone=one:1m rate=5r/m;
--- config
    location /t {
        slidewin zone=one delay=;
    }
--- emerg: invalid delay "delay=" in "slidewin" directive, it must be a time from 1ms to 1h



=== TEST 84: delay: zero
--- zone: $remote_addr zone=one:1m rate=5r/m;
--- config
    location /t {
        slidewin zone=one delay=0;
    }
--- emerg: invalid delay "delay=0" in "slidewin" directive, it must be a time from 1ms to 1h that a request may wait, such as delay=2s, and not a number of requests



=== TEST 85: delay: zero seconds
--- zone: $remote_addr zone=one:1m rate=5r/m;
--- config
    location /t {
        slidewin zone=one delay=0s;
    }
--- emerg: invalid delay "delay=0s" in "slidewin" directive, it must be a time from 1ms to 1h



=== TEST 86: delay: negative
--- zone: $remote_addr zone=one:1m rate=5r/m;
--- config
    location /t {
        slidewin zone=one delay=-1;
    }
--- emerg: invalid delay "delay=-1" in "slidewin" directive, it must be a time from 1ms to 1h



=== TEST 87: delay: negative seconds
--- zone: $remote_addr zone=one:1m rate=5r/m;
--- config
    location /t {
        slidewin zone=one delay=-1s;
    }
--- emerg: invalid delay "delay=-1s" in "slidewin" directive, it must be a time from 1ms to 1h



=== TEST 88: delay: an unknown unit
--- zone: $remote_addr zone=one:1m rate=5r/m;
--- config
    location /t {
        slidewin zone=one delay=1x;
    }
--- emerg: invalid delay "delay=1x" in "slidewin" directive, it must be a time from 1ms to 1h



=== TEST 89: delay: above an hour
--- zone: $remote_addr zone=one:1m rate=5r/m;
--- config
    location /t {
        slidewin zone=one delay=2h;
    }
--- emerg: invalid delay "delay=2h" in "slidewin" directive, it must be a time from 1ms to 1h



=== TEST 90: delay: a little above an hour
--- zone: $remote_addr zone=one:1m rate=5r/m;
--- config
    location /t {
        slidewin zone=one delay=3600001ms;
    }
--- emerg: invalid delay "delay=3600001ms" in "slidewin" directive, it must be a time from 1ms to 1h



=== TEST 91: delay: without a unit
--- zone: $remote_addr zone=one:1m rate=5r/m;
--- config
    location /t {
        slidewin zone=one delay=5;
    }
--- emerg: invalid delay "delay=5" in "slidewin" directive, it must be a time from 1ms to 1h that a request may wait, such as delay=2s, and not a number of requests



=== TEST 92: delay: broken
--- zone: $remote_addr zone=one:1m rate=5r/m;
--- config
    location /t {
        slidewin zone=one delay=1.5s;
    }
--- emerg: invalid delay "delay=1.5s" in "slidewin" directive, it must be a time from 1ms to 1h



=== TEST 93: delay: a word
--- zone: $remote_addr zone=one:1m rate=5r/m;
--- config
    location /t {
        slidewin zone=one delay=nodelay;
    }
--- emerg: invalid delay "delay=nodelay" in "slidewin" directive, it must be a time from 1ms to 1h



=== TEST 94: delay: a variable
--- zone: $remote_addr zone=one:1m rate=5r/m;
--- config
    location /t {
        slidewin zone=one delay=$arg_d;
    }
--- emerg: invalid delay "delay=$arg_d" in "slidewin" directive, it must be a time from 1ms to 1h



=== TEST 95: delay: beyond any number
--- zone: $remote_addr zone=one:1m rate=5r/m;
--- config
    location /t {
        slidewin zone=one delay=99999999999999999999s;
    }
--- emerg: invalid delay "delay=99999999999999999999s" in "slidewin" directive, it must be a time from 1ms to 1h



=== TEST 96: delay without a value
--- zone: $remote_addr zone=one:1m rate=5r/m;
--- config
    location /t {
        slidewin zone=one delay;
    }
--- emerg: invalid parameter "delay" in "slidewin" directive, it must be one of zone=, cost=, charge=, count=, reset=, delay=, if=, headers=, dry_run



=== TEST 97: delay twice
--- zone: $remote_addr zone=one:1m rate=5r/m;
--- config
    location /t {
        slidewin zone=one delay=1s delay=2s;
    }
--- emerg: duplicate parameter "delay=2s" in "slidewin" directive



=== TEST 98: the burst of limit_req
--- zone: $remote_addr zone=one:1m rate=5r/m;
--- config
    location /t {
        slidewin zone=one burst=20;
    }
--- emerg: invalid parameter "burst=20" in "slidewin" directive, there is no burst: all of the limit may be used at once, and delay=<time> of "slidewin" lets a request above it wait



=== TEST 99: burst and nodelay
--- zone: $remote_addr zone=one:1m rate=5r/m;
--- config
    location /t {
        slidewin zone=one burst=20 nodelay;
    }
--- emerg: invalid parameter "burst=20" in "slidewin" directive, there is no burst: all of the limit may be used at once, and delay=<time> of "slidewin" lets a request above it wait



=== TEST 100: if: nothing
--- zone: $remote_addr zone=one:1m rate=5r/m;
--- config
    location /t {
        slidewin zone=one if=;
    }
--- emerg: invalid condition "if=" in "slidewin" directive, it must have a variable



=== TEST 101: if: no variable
--- zone: $remote_addr zone=one:1m rate=5r/m;
--- config
    location /t {
        slidewin zone=one if=limited;
    }
--- emerg: invalid condition "if=limited" in "slidewin" directive, it must have a variable



=== TEST 102: if: an unknown variable
--- zone: $remote_addr zone=one:1m rate=5r/m;
--- config
    location /t {
        slidewin zone=one if=$nosuch;
    }
--- emerg: unknown "nosuch" variable
--- nowhere



=== TEST 103: if: half a variable
--- zone: $remote_addr zone=one:1m rate=5r/m;
--- config
    location /t {
        slidewin zone=one if=$;
    }
--- emerg: invalid variable name



=== TEST 104: if twice
--- zone: $remote_addr zone=one:1m rate=5r/m;
--- config
    location /t {
        slidewin zone=one if=$arg_a if=$arg_a;
    }
--- emerg: duplicate parameter "if=$arg_a" in "slidewin" directive



=== TEST 105: if without a value
--- zone: $remote_addr zone=one:1m rate=5r/m;
--- config
    location /t {
        slidewin zone=one if;
    }
--- emerg: invalid parameter "if" in "slidewin" directive, it must be one of zone=, cost=, charge=, count=, reset=, delay=, if=, headers=, dry_run



=== TEST 106: headers: on
--- zone: $remote_addr zone=one:1m rate=5r/m;
--- config
    location /t {
        slidewin zone=one headers=on;
    }
--- emerg: invalid headers "headers=on" in "slidewin" directive, it must be "headers=off"



=== TEST 107: headers: nothing
--- zone: $remote_addr zone=one:1m rate=5r/m;
--- config
    location /t {
        slidewin zone=one headers=;
    }
--- emerg: invalid headers "headers=" in "slidewin" directive, it must be "headers=off"



=== TEST 108: headers: a form
--- zone: $remote_addr zone=one:1m rate=5r/m;
--- config
    location /t {
        slidewin zone=one headers=ietf;
    }
--- emerg: invalid headers "headers=ietf" in "slidewin" directive, it must be "headers=off"



=== TEST 109: headers: more than off
--- zone: $remote_addr zone=one:1m rate=5r/m;
--- config
    location /t {
        slidewin zone=one headers=offline;
    }
--- emerg: invalid headers "headers=offline" in "slidewin" directive, it must be "headers=off"



=== TEST 110: headers twice
--- zone: $remote_addr zone=one:1m rate=5r/m;
--- config
    location /t {
        slidewin zone=one headers=off headers=off;
    }
--- emerg: duplicate parameter "headers=off" in "slidewin" directive



=== TEST 111: headers without a value
--- zone: $remote_addr zone=one:1m rate=5r/m;
--- config
    location /t {
        slidewin zone=one headers;
    }
--- emerg: invalid parameter "headers" in "slidewin" directive, it must be one of zone=, cost=, charge=, count=, reset=, delay=, if=, headers=, dry_run



=== TEST 112: a secret is not for the log
--- zone: $remote_addr zone=one:1m rate=5r/m;
--- config
    location /t {
        slidewin zone=one password=s3cret;
    }
--- emerg: invalid parameter "password=..." in "slidewin" directive, it must be one of zone=, cost=, charge=, count=, reset=, delay=, if=, headers=, dry_run



=== TEST 113: charge: nothing
--- zone: $remote_addr zone=one:1m rate=5r/m;
--- config
    location /t {
        slidewin zone=one charge=;
    }
--- emerg: invalid charge "charge=" in "slidewin" directive, it must have a variable



=== TEST 114: charge: a number is what cost= takes
--- zone: $remote_addr zone=one:1m rate=5r/m;
--- config
    location /t {
        slidewin zone=one charge=5;
    }
--- emerg: invalid charge "charge=5" in "slidewin" directive, it must have a variable



=== TEST 115: charge: an unknown variable
--- zone: $remote_addr zone=one:1m rate=5r/m;
--- config
    location /t {
        slidewin zone=one charge=$no_such_variable;
    }
--- emerg: unknown "no_such_variable" variable
--- nowhere



=== TEST 116: charge: twice
--- zone: $remote_addr zone=one:1m rate=5r/m;
--- config
    location /t {
        slidewin zone=one charge=$bytes_sent charge=$bytes_sent;
    }
--- emerg: duplicate parameter "charge=$bytes_sent" in "slidewin" directive



=== TEST 117: a log with charges that is too large for its zone
--- zone: $remote_addr zone=one:32k rate=2048r/m algorithm=log;
--- config
    location /t {
        slidewin zone=one charge=$bytes_sent;
    }
--- emerg: zone "zone=one:32k" is too small, the log of one client may take 33K
