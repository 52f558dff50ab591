# nginx refuses to start with a bad value of any directive but slidewin,
# slidewin_zone and slidewin_redis, and with a good one in a wrong context.

use Test::Nginx::Socket 'no_plan';
use SlidewinRefused;

no_long_string();
run_tests();

__DATA__

=== TEST 1: slidewin_status 399
--- config
    slidewin_status 399;
--- emerg: value must be between 400 and 599 in "slidewin_status" directive, not 399



=== TEST 2: slidewin_status 200
--- config
    slidewin_status 200;
--- emerg: value must be between 400 and 599 in "slidewin_status" directive, not 200



=== TEST 3: slidewin_status 700
--- config
    slidewin_status 700;
--- emerg: value must be between 400 and 599 in "slidewin_status" directive, not 700



=== TEST 4: slidewin_status 600
--- config
    slidewin_status 600;
--- emerg: value must be between 400 and 599 in "slidewin_status" directive, not 600



=== TEST 5: slidewin_status 0
--- config
    slidewin_status 0;
--- emerg: value must be between 400 and 599 in "slidewin_status" directive, not 0



=== TEST 6: slidewin_status abc
--- config
    slidewin_status abc;
--- emerg: "slidewin_status" directive invalid number



=== TEST 7: slidewin_status -1
--- config
    slidewin_status -1;
--- emerg: "slidewin_status" directive invalid number



=== TEST 8: slidewin_status 429x
--- config
    slidewin_status 429x;
--- emerg: "slidewin_status" directive invalid number



=== TEST 9: slidewin_status 4.29e2
--- config
    slidewin_status 4.29e2;
--- emerg: "slidewin_status" directive invalid number



=== TEST 10: slidewin_status ""
--- config
    slidewin_status "";
--- emerg: "slidewin_status" directive invalid number



=== TEST 11: slidewin_status 99999999999999999999
--- config
    slidewin_status 99999999999999999999;
--- emerg: "slidewin_status" directive invalid number



=== TEST 12: slidewin_status without a value
--- config
    slidewin_status;
--- emerg: invalid number of arguments in "slidewin_status" directive



=== TEST 13: slidewin_status with two
--- config
    slidewin_status 429 503;
--- emerg: invalid number of arguments in "slidewin_status" directive



=== TEST 14: slidewin_status twice
--- config
    slidewin_status 429;
    slidewin_status 503;
--- emerg: "slidewin_status" directive is duplicate



=== TEST 15: slidewin_log_level debug
--- config
    slidewin_log_level debug;
--- emerg: invalid value "debug" in "slidewin_log_level" directive, it must be "off", "info", "notice", "warn" or "error"



=== TEST 16: slidewin_log_level crit
--- config
    slidewin_log_level crit;
--- emerg: invalid value "crit" in "slidewin_log_level" directive, it must be "off", "info", "notice", "warn" or "error"



=== TEST 17: slidewin_log_level alert
--- config
    slidewin_log_level alert;
--- emerg: invalid value "alert" in "slidewin_log_level" directive, it must be "off", "info", "notice", "warn" or "error"



=== TEST 18: slidewin_log_level emerg
--- config
    slidewin_log_level emerg;
--- emerg: invalid value "emerg" in "slidewin_log_level" directive, it must be "off", "info", "notice", "warn" or "error"



=== TEST 19: slidewin_log_level off, with a key
--- config
    slidewin_log_level off key=on;
--- emerg: invalid parameter "key=on" after "off" in "slidewin_log_level" directive



=== TEST 20: slidewin_log_level errors
--- config
    slidewin_log_level errors;
--- emerg: invalid value "errors" in "slidewin_log_level" directive, it must be "off", "info", "notice", "warn" or "error"



=== TEST 21: slidewin_log_level err
--- config
    slidewin_log_level err;
--- emerg: invalid value "err" in "slidewin_log_level" directive, it must be "off", "info", "notice", "warn" or "error"



=== TEST 22: slidewin_log_level without a value
--- config
    slidewin_log_level;
--- emerg: invalid number of arguments in "slidewin_log_level" directive



=== TEST 23: slidewin_log_level with two
--- config
    slidewin_log_level info warn;
--- emerg: invalid parameter "warn" in "slidewin_log_level" directive, it must be "key=on"



=== TEST 24: slidewin_log_level with a key that is maybe
--- config
    slidewin_log_level info key=maybe;
--- emerg: invalid parameter "key=maybe" in "slidewin_log_level" directive, it must be "key=on"



=== TEST 25: slidewin_log_level with three
--- config
    slidewin_log_level info key=on key=on;
--- emerg: invalid number of arguments in "slidewin_log_level" directive



=== TEST 26: slidewin_log_level twice
--- config
    slidewin_log_level info;
    slidewin_log_level info;
--- emerg: "slidewin_log_level" directive is duplicate



=== TEST 27: slidewin_dry_run maybe
--- config
    slidewin_dry_run maybe;
--- emerg: invalid value "maybe" in "slidewin_dry_run" directive, it must be "on" or "off"



=== TEST 28: slidewin_dry_run 1
--- config
    slidewin_dry_run 1;
--- emerg: invalid value "1" in "slidewin_dry_run" directive, it must be "on" or "off"



=== TEST 29: slidewin_dry_run yes
--- config
    slidewin_dry_run yes;
--- emerg: invalid value "yes" in "slidewin_dry_run" directive, it must be "on" or "off"



=== TEST 30: slidewin_dry_run dry_run
--- config
    slidewin_dry_run dry_run;
--- emerg: invalid value "dry_run" in "slidewin_dry_run" directive, it must be "on" or "off"



=== TEST 31: slidewin_dry_run without a value
--- config
    slidewin_dry_run;
--- emerg: invalid number of arguments in "slidewin_dry_run" directive



=== TEST 32: slidewin_dry_run with two
--- config
    slidewin_dry_run on off;
--- emerg: invalid number of arguments in "slidewin_dry_run" directive



=== TEST 33: slidewin_dry_run twice
--- config
    slidewin_dry_run on;
    slidewin_dry_run on;
--- emerg: "slidewin_dry_run" directive is duplicate



=== TEST 34: slidewin_headers on
--- config
    slidewin_headers on;
--- emerg: invalid value "on" in "slidewin_headers" directive, it must be "off", or "ietf" and "legacy", "legacy=delta" or "legacy=epoch"



=== TEST 35: slidewin_headers ""
--- config
    slidewin_headers "";
--- emerg: invalid value "" in "slidewin_headers" directive, it must be "off", or "ietf" and "legacy", "legacy=delta" or "legacy=epoch"



=== TEST 36: slidewin_headers draft
--- config
    slidewin_headers draft;
--- emerg: invalid value "draft" in "slidewin_headers" directive, it must be "off", or "ietf" and "legacy", "legacy=delta" or "legacy=epoch"



=== TEST 37: slidewin_headers ietf=
--- config
    slidewin_headers ietf=;
--- emerg: invalid value "ietf=" in "slidewin_headers" directive, it must be "off", or "ietf" and "legacy", "legacy=delta" or "legacy=epoch"



=== TEST 38: slidewin_headers IETF
--- config
    slidewin_headers IETF;
--- emerg: invalid value "IETF" in "slidewin_headers" directive, it must be "off", or "ietf" and "legacy", "legacy=delta" or "legacy=epoch"



=== TEST 39: slidewin_headers legacy=
--- config
    slidewin_headers legacy=;
--- emerg: invalid value "legacy=" in "slidewin_headers" directive, it must be "off", or "ietf" and "legacy", "legacy=delta" or "legacy=epoch"



=== TEST 40: slidewin_headers legacy=unix
--- config
    slidewin_headers legacy=unix;
--- emerg: invalid value "legacy=unix" in "slidewin_headers" directive, it must be "off", or "ietf" and "legacy", "legacy=delta" or "legacy=epoch"



=== TEST 41: slidewin_headers off off
--- config
    slidewin_headers off off;
--- emerg: invalid value "off" in "slidewin_headers" directive, it must be "off", or "ietf" and "legacy", "legacy=delta" or "legacy=epoch"



=== TEST 42: slidewin_headers off ietf
--- config
    slidewin_headers off ietf;
--- emerg: invalid value "ietf" in "slidewin_headers" directive, it must be "off", or "ietf" and "legacy", "legacy=delta" or "legacy=epoch"



=== TEST 43: slidewin_headers ietf off
--- config
    slidewin_headers ietf off;
--- emerg: invalid value "off" in "slidewin_headers" directive, it must be "off", or "ietf" and "legacy", "legacy=delta" or "legacy=epoch"



=== TEST 44: slidewin_headers legacy off
--- config
    slidewin_headers legacy off;
--- emerg: invalid value "off" in "slidewin_headers" directive, it must be "off", or "ietf" and "legacy", "legacy=delta" or "legacy=epoch"



=== TEST 45: slidewin_headers ietf ietf
--- config
    slidewin_headers ietf ietf;
--- emerg: invalid value "ietf" in "slidewin_headers" directive, it must be "off", or "ietf" and "legacy", "legacy=delta" or "legacy=epoch"



=== TEST 46: slidewin_headers legacy legacy
--- config
    slidewin_headers legacy legacy;
--- emerg: invalid value "legacy" in "slidewin_headers" directive, it must be "off", or "ietf" and "legacy", "legacy=delta" or "legacy=epoch"



=== TEST 47: slidewin_headers legacy=delta legacy=epoch
--- config
    slidewin_headers legacy=delta legacy=epoch;
--- emerg: invalid value "legacy=epoch" in "slidewin_headers" directive, it must be "off", or "ietf" and "legacy", "legacy=delta" or "legacy=epoch"



=== TEST 48: slidewin_headers legacy=epoch legacy
--- config
    slidewin_headers legacy=epoch legacy;
--- emerg: invalid value "legacy" in "slidewin_headers" directive, it must be "off", or "ietf" and "legacy", "legacy=delta" or "legacy=epoch"



=== TEST 49: slidewin_headers ietf foo
--- config
    slidewin_headers ietf foo;
--- emerg: invalid value "foo" in "slidewin_headers" directive, it must be "off", or "ietf" and "legacy", "legacy=delta" or "legacy=epoch"



=== TEST 50: slidewin_headers without a value
--- config
    slidewin_headers;
--- emerg: invalid number of arguments in "slidewin_headers" directive



=== TEST 51: slidewin_headers with three
--- config
    slidewin_headers ietf legacy=delta legacy=epoch;
--- emerg: invalid number of arguments in "slidewin_headers" directive



=== TEST 52: slidewin_headers twice
--- config
    slidewin_headers ietf;
    slidewin_headers legacy;
--- emerg: "slidewin_headers" directive is duplicate



=== TEST 53: slidewin_headers twice, off first
--- config
    slidewin_headers off;
    slidewin_headers legacy;
--- emerg: "slidewin_headers" directive is duplicate



=== TEST 54: slidewin_client_prefix 33 64
--- config
    slidewin_client_prefix 33 64;
--- emerg: invalid prefix "33" in "slidewin_client_prefix" directive, it must be from 0 to 32



=== TEST 55: slidewin_client_prefix -1 64
--- config
    slidewin_client_prefix -1 64;
--- emerg: invalid prefix "-1" in "slidewin_client_prefix" directive, it must be from 0 to 32



=== TEST 56: slidewin_client_prefix 24x 64
--- config
    slidewin_client_prefix 24x 64;
--- emerg: invalid prefix "24x" in "slidewin_client_prefix" directive, it must be from 0 to 32



=== TEST 57: slidewin_client_prefix /24 /64
--- config
    slidewin_client_prefix /24 /64;
--- emerg: invalid prefix "/24" in "slidewin_client_prefix" directive, it must be from 0 to 32



=== TEST 58: slidewin_client_prefix "" 64
--- config
    slidewin_client_prefix "" 64;
--- emerg: invalid prefix "" in "slidewin_client_prefix" directive, it must be from 0 to 32



=== TEST 59: slidewin_client_prefix 255.255.255.0 64
--- config
    slidewin_client_prefix 255.255.255.0 64;
--- emerg: invalid prefix "255.255.255.0" in "slidewin_client_prefix" directive, it must be from 0 to 32



=== TEST 60: slidewin_client_prefix 32 129
--- config
    slidewin_client_prefix 32 129;
--- emerg: invalid prefix "129" in "slidewin_client_prefix" directive, it must be from 0 to 128



=== TEST 61: slidewin_client_prefix 32 -1
--- config
    slidewin_client_prefix 32 -1;
--- emerg: invalid prefix "-1" in "slidewin_client_prefix" directive, it must be from 0 to 128



=== TEST 62: slidewin_client_prefix 32 abc
--- config
    slidewin_client_prefix 32 abc;
--- emerg: invalid prefix "abc" in "slidewin_client_prefix" directive, it must be from 0 to 128



=== TEST 63: slidewin_client_prefix 32 ""
--- config
    slidewin_client_prefix 32 "";
--- emerg: invalid prefix "" in "slidewin_client_prefix" directive, it must be from 0 to 128



=== TEST 64: slidewin_client_prefix 128 32
--- config
    slidewin_client_prefix 128 32;
--- emerg: invalid prefix "128" in "slidewin_client_prefix" directive, it must be from 0 to 32



=== TEST 65: slidewin_client_prefix 32 99999999999999999999
--- config
    slidewin_client_prefix 32 99999999999999999999;
--- emerg: invalid prefix "99999999999999999999" in "slidewin_client_prefix" directive, it must be from 0 to 128



=== TEST 66: slidewin_client_prefix with 0 values
--- config
    slidewin_client_prefix;
--- emerg: invalid number of arguments in "slidewin_client_prefix" directive



=== TEST 67: slidewin_client_prefix with 1 values
--- config
    slidewin_client_prefix 24;
--- emerg: invalid number of arguments in "slidewin_client_prefix" directive



=== TEST 68: slidewin_client_prefix with 3 values
--- config
    slidewin_client_prefix 24 64 1;
--- emerg: invalid number of arguments in "slidewin_client_prefix" directive



=== TEST 69: slidewin_client_prefix twice
--- config
    slidewin_client_prefix 24 64;
    slidewin_client_prefix 24 64;
--- emerg: "slidewin_client_prefix" directive is duplicate



=== TEST 70: slidewin_client_prefix in a location
--- config
    location /t {
        slidewin_client_prefix 24 64;
    }
--- emerg: "slidewin_client_prefix" directive is not allowed here



=== TEST 71: slidewin_status in an if
--- config
    location /t {
        if ($arg_a) {
            slidewin_status 429;
        }
    }
--- emerg: "slidewin_status" directive is not allowed here



=== TEST 72: slidewin_status in main
--- main_config: slidewin_status 429;
--- emerg: "slidewin_status" directive is not allowed here



=== TEST 73: slidewin_log_level in an if
--- config
    location /t {
        if ($arg_a) {
            slidewin_log_level info;
        }
    }
--- emerg: "slidewin_log_level" directive is not allowed here



=== TEST 74: slidewin_log_level in main
--- main_config: slidewin_log_level info;
--- emerg: "slidewin_log_level" directive is not allowed here



=== TEST 75: slidewin_dry_run in an if
--- config
    location /t {
        if ($arg_a) {
            slidewin_dry_run on;
        }
    }
--- emerg: "slidewin_dry_run" directive is not allowed here



=== TEST 76: slidewin_dry_run in main
--- main_config: slidewin_dry_run on;
--- emerg: "slidewin_dry_run" directive is not allowed here



=== TEST 77: slidewin_headers in an if
--- config
    location /t {
        if ($arg_a) {
            slidewin_headers ietf;
        }
    }
--- emerg: "slidewin_headers" directive is not allowed here



=== TEST 78: slidewin_headers in main
--- main_config: slidewin_headers ietf;
--- emerg: "slidewin_headers" directive is not allowed here



=== TEST 79: slidewin_client_prefix in an if
--- config
    location /t {
        if ($arg_a) {
            slidewin_client_prefix 24 64;
        }
    }
--- emerg: "slidewin_client_prefix" directive is not allowed here



=== TEST 80: slidewin_client_prefix in main
--- main_config: slidewin_client_prefix 24 64;
--- emerg: "slidewin_client_prefix" directive is not allowed here



=== TEST 81: an unknown directive of the family
--- config
    slidewin_foo on;
--- emerg: unknown directive "slidewin_foo"



=== TEST 82: slidewin_retry_jitter abc
--- config
    slidewin_retry_jitter abc;
--- emerg: invalid value "abc" in "slidewin_retry_jitter" directive, it must be a time, or 0 for none



=== TEST 83: slidewin_retry_jitter -1s
--- config
    slidewin_retry_jitter -1s;
--- emerg: invalid value "-1s" in "slidewin_retry_jitter" directive, it must be a time, or 0 for none



=== TEST 84: slidewin_retry_jitter 1.5s
--- config
    slidewin_retry_jitter 1.5s;
--- emerg: invalid value "1.5s" in "slidewin_retry_jitter" directive, it must be a time, or 0 for none



=== TEST 85: slidewin_retry_jitter 10x
--- config
    slidewin_retry_jitter 10x;
--- emerg: invalid value "10x" in "slidewin_retry_jitter" directive, it must be a time, or 0 for none



=== TEST 86: slidewin_retry_jitter 50d
--- config
    slidewin_retry_jitter 50d;
--- emerg: invalid value "50d" in "slidewin_retry_jitter" directive, it must be a time, or 0 for none



=== TEST 87: slidewin_retry_jitter 10s5s
--- config
    slidewin_retry_jitter 10s5s;
--- emerg: invalid value "10s5s" in "slidewin_retry_jitter" directive, it must be a time, or 0 for none



=== TEST 88: slidewin_retry_jitter ""
--- config
    slidewin_retry_jitter "";
--- emerg: invalid value "" in "slidewin_retry_jitter" directive, it must be a time, or 0 for none



=== TEST 89: slidewin_retry_jitter +1s
--- config
    slidewin_retry_jitter +1s;
--- emerg: invalid value "+1s" in "slidewin_retry_jitter" directive, it must be a time, or 0 for none



=== TEST 90: slidewin_retry_jitter with no value
--- config
    slidewin_retry_jitter;
--- emerg: invalid number of arguments in "slidewin_retry_jitter" directive



=== TEST 91: slidewin_retry_jitter with two values
--- config
    slidewin_retry_jitter 1s 2s;
--- emerg: invalid number of arguments in "slidewin_retry_jitter" directive



=== TEST 92: slidewin_retry_jitter twice
--- config
    slidewin_retry_jitter 0;
    slidewin_retry_jitter 1s;
--- emerg: "slidewin_retry_jitter" directive is duplicate



=== TEST 93: slidewin_retry_jitter in an if
--- config
    location /t {
        if ($arg_a) {
            slidewin_retry_jitter 1s;
        }
    }
--- emerg: "slidewin_retry_jitter" directive is not allowed here



=== TEST 94: slidewin_retry_jitter in main
--- main_config: slidewin_retry_jitter 1s;
--- emerg: "slidewin_retry_jitter" directive is not allowed here
