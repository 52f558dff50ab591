# nginx refuses to start with a rate that is malformed or cannot be counted
# exactly.

use Test::Nginx::Socket 'no_plan';
use SlidewinRefused;

no_long_string();
run_tests();

__DATA__

=== TEST 1: nothing
--- zone: $remote_addr zone=one:1m rate=;
--- emerg: invalid rate "rate=" in "slidewin_zone" directive, it must be <count>r/<period>, such as 5r/m or 100r/10s



=== TEST 2: a count alone
--- zone: $remote_addr zone=one:1m rate=5;
--- emerg: invalid rate "rate=5" in "slidewin_zone" directive, it must be <count>r/<period>, such as 5r/m or 100r/10s



=== TEST 3: no count
--- zone: $remote_addr zone=one:1m rate=r/s;
--- emerg: invalid rate "rate=r/s" in "slidewin_zone" directive, it must be <count>r/<period>, such as 5r/m or 100r/10s



=== TEST 4: no count and no r
--- zone: $remote_addr zone=one:1m rate=/s;
--- emerg: invalid rate "rate=/s" in "slidewin_zone" directive, it must be <count>r/<period>, such as 5r/m or 100r/10s



=== TEST 5: no period
--- zone: $remote_addr zone=one:1m rate=5r/;
--- emerg: invalid rate "rate=5r/" in "slidewin_zone" directive, it must be <count>r/<period>, such as 5r/m or 100r/10s



=== TEST 6: no slash
--- zone: $remote_addr zone=one:1m rate=5r;
--- emerg: invalid rate "rate=5r" in "slidewin_zone" directive, it must be <count>r/<period>, such as 5r/m or 100r/10s



=== TEST 7: no r
--- zone: $remote_addr zone=one:1m rate=5/s;
--- emerg: invalid rate "rate=5/s" in "slidewin_zone" directive, it must be <count>r/<period>, such as 5r/m or 100r/10s



=== TEST 8: no r, but a letter
--- zone: $remote_addr zone=one:1m rate=5x/s;
--- emerg: invalid rate "rate=5x/s" in "slidewin_zone" directive, it must be <count>r/<period>, such as 5r/m or 100r/10s



=== TEST 9: an unknown unit
--- zone: $remote_addr zone=one:1m rate=5r/x;
--- emerg: invalid rate "rate=5r/x" in "slidewin_zone" directive, it must be <count>r/<period>, such as 5r/m or 100r/10s



=== TEST 10: a period without a unit
--- zone: $remote_addr zone=one:1m rate=5r/5;
--- emerg: invalid rate "rate=5r/5" in "slidewin_zone" directive, it must be <count>r/<period>, such as 5r/m or 100r/10s



=== TEST 11: a count of 0
--- zone: $remote_addr zone=one:1m rate=0r/s;
--- emerg: invalid rate "rate=0r/s" in "slidewin_zone" directive, the count must be at least 1, "deny all" refuses everybody



=== TEST 12: a negative count
--- zone: $remote_addr zone=one:1m rate=-1r/s;
--- emerg: invalid rate "rate=-1r/s" in "slidewin_zone" directive, it must be <count>r/<period>, such as 5r/m or 100r/10s



=== TEST 13: a signed count
--- zone: $remote_addr zone=one:1m rate=+5r/s;
--- emerg: invalid rate "rate=+5r/s" in "slidewin_zone" directive, it must be <count>r/<period>, such as 5r/m or 100r/10s



=== TEST 14: half a request
--- zone: $remote_addr zone=one:1m rate=1.5r/s;
--- emerg: invalid rate "rate=1.5r/s" in "slidewin_zone" directive, the count must be a whole number, the period may have one too: 1.5r/s is 3r/2s



=== TEST 15: a hexadecimal count
--- zone: $remote_addr zone=one:1m rate=0x5r/s;
--- emerg: invalid rate "rate=0x5r/s" in "slidewin_zone" directive, it must be <count>r/<period>, such as 5r/m or 100r/10s



=== TEST 16: a period of 0
--- zone: $remote_addr zone=one:1m rate=5r/0s;
--- emerg: invalid rate "rate=5r/0s" in "slidewin_zone" directive, it must be <count>r/<period>, such as 5r/m or 100r/10s



=== TEST 17: a negative period
--- zone: $remote_addr zone=one:1m rate=5r/-1s;
--- emerg: invalid rate "rate=5r/-1s" in "slidewin_zone" directive, it must be <count>r/<period>, such as 5r/m or 100r/10s



=== TEST 18: half a second with a point
--- zone: $remote_addr zone=one:1m rate=5r/0.5s;
--- emerg: invalid rate "rate=5r/0.5s" in "slidewin_zone" directive, it must be <count>r/<period>, such as 5r/m or 100r/10s



=== TEST 19: a capital R
--- zone: $remote_addr zone=one:1m rate=5R/s;
--- emerg: invalid rate "rate=5R/s" in "slidewin_zone" directive, it must be <count>r/<period>, such as 5r/m or 100r/10s



=== TEST 20: a capital unit
--- zone: $remote_addr zone=one:1m rate=5r/S;
--- emerg: invalid rate "rate=5r/S" in "slidewin_zone" directive, it must be <count>r/<period>, such as 5r/m or 100r/10s



=== TEST 21: months
--- zone: $remote_addr zone=one:1m rate=5r/M;
--- emerg: invalid rate "rate=5r/M" in "slidewin_zone" directive, it must be <count>r/<period>, such as 5r/m or 100r/10s



=== TEST 22: years
--- zone: $remote_addr zone=one:1m rate=5r/y;
--- emerg: invalid rate "rate=5r/y" in "slidewin_zone" directive, it must be <count>r/<period>, such as 5r/m or 100r/10s



=== TEST 23: two units
--- zone: $remote_addr zone=one:1m rate=5r/1m30s;
--- emerg: invalid rate "rate=5r/1m30s" in "slidewin_zone" directive, it must be <count>r/<period>, such as 5r/m or 100r/10s



=== TEST 24: a unit and more
--- zone: $remote_addr zone=one:1m rate=5r/s5;
--- emerg: invalid rate "rate=5r/s5" in "slidewin_zone" directive, it must be <count>r/<period>, such as 5r/m or 100r/10s



=== TEST 25: a unit twice
--- zone: $remote_addr zone=one:1m rate=5r/ss;
--- emerg: invalid rate "rate=5r/ss" in "slidewin_zone" directive, it must be <count>r/<period>, such as 5r/m or 100r/10s



=== TEST 26: two slashes
--- zone: $remote_addr zone=one:1m rate=5r//s;
--- emerg: invalid rate "rate=5r//s" in "slidewin_zone" directive, it must be <count>r/<period>, such as 5r/m or 100r/10s



=== TEST 27: two rates
--- zone: $remote_addr zone=one:1m rate=5r/s,5r/m;
--- emerg: invalid rate "rate=5r/s,5r/m" in "slidewin_zone" directive, it must be <count>r/<period>, such as 5r/m or 100r/10s



=== TEST 28: a period above 49 days
--- zone: $remote_addr zone=one:1m rate=5r/50d;
--- emerg: invalid rate "rate=5r/50d" in "slidewin_zone" directive, it must be <count>r/<period>, such as 5r/m or 100r/10s



=== TEST 29: a period of 2^32 ms
--- zone: $remote_addr zone=one:1m rate=5r/4294967296ms;
--- emerg: invalid rate "rate=5r/4294967296ms" in "slidewin_zone" directive, it must be <count>r/<period>, such as 5r/m or 100r/10s



=== TEST 30: a period beyond any number
--- zone: $remote_addr zone=one:1m rate=5r/99999999999999999999s;
--- emerg: invalid rate "rate=5r/99999999999999999999s" in "slidewin_zone" directive, it must be <count>r/<period>, such as 5r/m or 100r/10s



=== TEST 31: a count beyond any number
--- zone: $remote_addr zone=one:1m rate=99999999999999999999r/s;
--- emerg: invalid rate "rate=99999999999999999999r/s" in "slidewin_zone" directive, it must be <count>r/<period>, such as 5r/m or 100r/10s



=== TEST 32: a count of 2^53
--- zone: $remote_addr zone=one:1m rate=9007199254740992r/ms;
--- emerg: invalid rate "rate=9007199254740992r/ms" in "slidewin_zone" directive, it must be <count>r/<period>, such as 5r/m or 100r/10s



=== TEST 33: a percent sign, which is no format
--- zone: $remote_addr zone=one:1m rate=%s%nr/s;
--- emerg: invalid rate "rate=%s%nr/s" in "slidewin_zone" directive, it must be <count>r/<period>, such as 5r/m or 100r/10s



=== TEST 34: a space before
--- zone: $remote_addr zone=one:1m "rate= 5r/s";
--- emerg: invalid rate "rate= 5r/s" in "slidewin_zone" directive, it must be <count>r/<period>, such as 5r/m or 100r/10s



=== TEST 35: a space after
--- zone: $remote_addr zone=one:1m "rate=5r/s ";
--- emerg: invalid rate "rate=5r/s " in "slidewin_zone" directive, it must be <count>r/<period>, such as 5r/m or 100r/10s



=== TEST 36: a space inside
--- zone: $remote_addr zone=one:1m "rate=5 r/s";
--- emerg: invalid rate "rate=5 r/s" in "slidewin_zone" directive, it must be <count>r/<period>, such as 5r/m or 100r/10s



=== TEST 37: products of 2^53 and above
--- zone: $remote_addr zone=one:1m rate=9007199254740991r/2ms;
--- emerg: invalid rate "rate=9007199254740991r/2ms" in "slidewin_zone" directive, the limit times the period in ms must be below 2^53



=== TEST 38: products above 2^53, counter
--- zone: $remote_addr zone=one:1m algorithm=counter rate=9007199254741r/s;
--- emerg: invalid rate "rate=9007199254741r/s" in "slidewin_zone" directive, the limit times the period in ms must be below 2^53



=== TEST 39: products above 2^53, fixed
--- zone: $remote_addr zone=one:1m algorithm=fixed rate=9007199254741r/s;
--- emerg: invalid rate "rate=9007199254741r/s" in "slidewin_zone" directive, the limit times the period in ms must be below 2^53



=== TEST 40: products above 2^53, strict
--- zone: $remote_addr zone=one:1m algorithm=strict rate=9007199254741r/s;
--- emerg: invalid rate "rate=9007199254741r/s" in "slidewin_zone" directive, the limit times the period in ms must be below 2^53



=== TEST 41: products above 2^53, log
--- zone: $remote_addr zone=one:1m algorithm=log rate=9007199254741r/s;
--- emerg: invalid rate "rate=9007199254741r/s" in "slidewin_zone" directive, the limit times the period in ms must be below 2^53



=== TEST 42: products above 2^53 with the longest period
--- zone: $remote_addr zone=one:1m rate=2097153r/4294967295ms;
--- emerg: invalid rate "rate=2097153r/4294967295ms" in "slidewin_zone" directive, the limit times the period in ms must be below 2^53



=== TEST 43: a log of more than it may have
--- zone: $remote_addr zone=one:10m rate=100001r/s algorithm=log;
--- emerg: invalid rate "rate=100001r/s" in "slidewin_zone" directive, the limit of a log must be at most 100000, algorithm=strict has no such bound



=== TEST 44: slices shorter than a millisecond
--- zone: $remote_addr zone=one:1m slices=11 rate=5r/10ms algorithm=strict;
--- emerg: invalid rate "rate=5r/10ms" in "slidewin_zone" directive, a slice must be at least 1ms



=== TEST 45: a log too large for its zone
--- zone: $remote_addr zone=one:32k rate=2049r/m algorithm=log;
--- emerg: zone "zone=one:32k" is too small, the log of one client may take 17K



=== TEST 46: a log too large for a larger zone, said before the zone
--- zone: $remote_addr algorithm=log rate=100000r/h zone=one:1m;
--- emerg: zone "zone=one:1m" is too small, the log of one client may take 782K



=== TEST 47: an unknown variable
--- zone: $remote_addr zone=one:1m rate=$nosuch;
--- emerg: unknown "nosuch" variable
--- nowhere



=== TEST 48: a variable without a name
--- zone: $remote_addr zone=one:1m rate=$;
--- emerg: invalid variable name



=== TEST 49: less than one
--- zone: $remote_addr zone=one:1m rate=0.5r/m;
--- emerg: invalid rate "rate=0.5r/m" in "slidewin_zone" directive, the count must be a whole number, the period may have one too: 1.5r/s is 3r/2s



=== TEST 50: no whole part
--- zone: $remote_addr zone=one:1m rate=.5r/s;
--- emerg: invalid rate "rate=.5r/s" in "slidewin_zone" directive, the count must be a whole number, the period may have one too: 1.5r/s is 3r/2s



=== TEST 51: no decimals
--- zone: $remote_addr zone=one:1m rate=5.r/s;
--- emerg: invalid rate "rate=5.r/s" in "slidewin_zone" directive, the count must be a whole number, the period may have one too: 1.5r/s is 3r/2s



=== TEST 52: zeros
--- zone: $remote_addr zone=one:1m rate=000r/m;
--- emerg: invalid rate "rate=000r/m" in "slidewin_zone" directive, the count must be at least 1, "deny all" refuses everybody



=== TEST 53: half a request in no period
--- zone: $remote_addr zone=one:1m rate=1.5;
--- emerg: invalid rate "rate=1.5" in "slidewin_zone" directive, it must be <count>r/<period>, such as 5r/m or 100r/10s



=== TEST 54: half a second
--- zone: $remote_addr zone=one:1m rate=5r/0.5s;
--- emerg: invalid rate "rate=5r/0.5s" in "slidewin_zone" directive, it must be <count>r/<period>, such as 5r/m or 100r/10s



=== TEST 55: a log of more than it may have, in a Redis
--- http_config
    slidewin_redis redis://127.0.0.1:1;
    slidewin_zone $remote_addr zone=one:10m rate=1000000r/d algorithm=log;
--- emerg: invalid rate "rate=1000000r/d" in "slidewin_zone" directive, the limit of a log must be at most 100000, algorithm=strict has no such bound
