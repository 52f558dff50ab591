# nginx refuses to start with a bad slidewin_zone. One [emerg] line says what is
# wrong and where.

use Test::Nginx::Socket 'no_plan';
use SlidewinRefused;

no_long_string();
run_tests();

__DATA__

=== TEST 1: no zone
--- zone: $remote_addr rate=5r/m;
--- emerg: invalid number of arguments in "slidewin_zone" directive



=== TEST 2: no arguments
--- http_config: slidewin_zone;
--- emerg: invalid number of arguments in "slidewin_zone" directive



=== TEST 3: only a key
--- zone: $remote_addr;
--- emerg: invalid number of arguments in "slidewin_zone" directive



=== TEST 4: no rate
--- zone: $remote_addr zone=one:1m;
--- emerg: invalid number of arguments in "slidewin_zone" directive



=== TEST 5: no rate, but as many parameters
--- zone: $remote_addr zone=one:1m algorithm=log;
--- emerg: "slidewin_zone" must have "rate" parameter



=== TEST 6: no zone, but as many parameters
--- zone: $remote_addr rate=5r/m algorithm=log;
--- emerg: "slidewin_zone" must have "zone" parameter



=== TEST 7: zone without a size
--- zone: $remote_addr zone=one rate=5r/m;
--- emerg: invalid zone size "zone=one" in "slidewin_zone" directive, it must be zone=<name>:<size>, such as zone=login:10m



=== TEST 8: zone with no number for a size
--- zone: $remote_addr zone=one:foo rate=5r/m;
--- emerg: invalid zone size "zone=one:foo" in "slidewin_zone" directive, it must be zone=<name>:<size>, such as zone=login:10m



=== TEST 9: zone with an empty size
--- zone: $remote_addr zone=one: rate=5r/m;
--- emerg: invalid zone size "zone=one:" in "slidewin_zone" directive, it must be zone=<name>:<size>, such as zone=login:10m



=== TEST 10: zone with a negative size
--- zone: $remote_addr zone=one:-1m rate=5r/m;
--- emerg: invalid zone size "zone=one:-1m" in "slidewin_zone" directive, it must be zone=<name>:<size>, such as zone=login:10m



=== TEST 11: zone with a size too large for a number
--- zone: $remote_addr zone=one:99999999999999999999m rate=5r/m;
--- emerg: invalid zone size "zone=one:99999999999999999999m" in "slidewin_zone" directive, it must be zone=<name>:<size>, such as zone=login:10m



=== TEST 12: zone with nothing
--- zone: $remote_addr zone= rate=5r/m;
--- emerg: invalid zone size "zone=" in "slidewin_zone" directive, it must be zone=<name>:<size>, such as zone=login:10m



=== TEST 13: zone without a name
--- zone: $remote_addr zone=:10m rate=5r/m;
--- emerg: invalid zone name "zone=:10m" in "slidewin_zone" directive, it must be up to 64 letters, digits, "_", "-" and "."



=== TEST 14: zone named with what a header field cannot hold
--- zone: $remote_addr "zone=o\"ne:1m" rate=5r/m;
--- emerg: invalid zone name "zone=o"ne:1m" in "slidewin_zone" directive, it must be up to 64 letters, digits, "_", "-" and "."



=== TEST 15: zone named with a space
--- zone: $remote_addr "zone=o ne:1m" rate=5r/m;
--- emerg: invalid zone name "zone=o ne:1m" in "slidewin_zone" directive, it must be up to 64 letters, digits, "_", "-" and "."



=== TEST 16: zone named with a colon
--- zone: $remote_addr zone=a:b:1m rate=5r/m;
--- emerg: invalid zone size "zone=a:b:1m" in "slidewin_zone" directive, it must be zone=<name>:<size>, such as zone=login:10m



=== TEST 17: zone too small for anything
--- zone: $remote_addr zone=one:1k rate=5r/m;
--- emerg: zone "zone=one:1k" is too small, it must be at least 32k



=== TEST 18: zone one byte too small
--- zone: $remote_addr zone=one:32767 rate=5r/m;
--- emerg: zone "zone=one:32767" is too small, it must be at least 32k



=== TEST 19: unknown algorithm
--- zone: $remote_addr zone=one:1m rate=5r/m algorithm=foo;
--- emerg: invalid algorithm "algorithm=foo" in "slidewin_zone" directive, it must be counter, log, strict or fixed



=== TEST 20: empty algorithm
--- zone: $remote_addr zone=one:1m rate=5r/m algorithm=;
--- emerg: invalid algorithm "algorithm=" in "slidewin_zone" directive, it must be counter, log, strict or fixed



=== TEST 21: the beginning of an algorithm
--- zone: $remote_addr zone=one:1m rate=5r/m algorithm=lo;
--- emerg: invalid algorithm "algorithm=lo" in "slidewin_zone" directive, it must be counter, log, strict or fixed



=== TEST 22: more than an algorithm
--- zone: $remote_addr zone=one:1m rate=5r/m algorithm=logs;
--- emerg: invalid algorithm "algorithm=logs" in "slidewin_zone" directive, it must be counter, log, strict or fixed



=== TEST 23: unknown parameter
--- zone: $remote_addr zone=one:1m rate=5r/m foo=bar;
--- emerg: invalid parameter "foo=bar" in "slidewin_zone" directive, it must be one of zone=, rate=, algorithm=, slices=, store=, on_error=, lease=, deny_cache=, ban=, top=



=== TEST 24: a parameter that stands alone
--- zone: $remote_addr zone=one:1m rate=5r/m sync;
--- emerg: invalid parameter "sync" in "slidewin_zone" directive, it must be one of zone=, rate=, algorithm=, slices=, store=, on_error=, lease=, deny_cache=, ban=, top=



=== TEST 25: a parameter of slidewin
--- zone: $remote_addr zone=one:1m rate=5r/m dry_run;
--- emerg: invalid parameter "dry_run" in "slidewin_zone" directive, it must be one of zone=, rate=, algorithm=, slices=, store=, on_error=, lease=, deny_cache=, ban=, top=



=== TEST 26: unknown variable in the key
--- zone: $nosuch zone=one:1m rate=5r/m;
--- emerg: unknown "nosuch" variable
--- nowhere



=== TEST 27: no slices at all
--- zone: $remote_addr zone=one:1m rate=5r/m algorithm=strict slices=0;
--- emerg: invalid slices "slices=0" in "slidewin_zone" directive, it must be from 1 to 100



=== TEST 28: too many slices
--- zone: $remote_addr zone=one:1m rate=5r/m algorithm=strict slices=101;
--- emerg: invalid slices "slices=101" in "slidewin_zone" directive, it must be from 1 to 100



=== TEST 29: slices that are no number
--- zone: $remote_addr zone=one:1m rate=5r/m algorithm=strict slices=4x;
--- emerg: invalid slices "slices=4x" in "slidewin_zone" directive, it must be from 1 to 100



=== TEST 30: empty slices
--- zone: $remote_addr zone=one:1m rate=5r/m algorithm=strict slices=;
--- emerg: invalid slices "slices=" in "slidewin_zone" directive, it must be from 1 to 100



=== TEST 31: slices of the default algorithm
--- zone: $remote_addr zone=one:1m rate=5r/m slices=4;
--- emerg: invalid parameter "slices=4" in "slidewin_zone" directive, only algorithm=strict has slices



=== TEST 32: slices of a log, said before the algorithm
--- zone: $remote_addr zone=one:1m slices=4 rate=5r/m algorithm=log;
--- emerg: invalid parameter "slices=4" in "slidewin_zone" directive, only algorithm=strict has slices



=== TEST 33: slices of a fixed window with a variable rate
--- zone: $remote_addr zone=one:1m slices=4 rate=$arg_rate algorithm=fixed;
--- emerg: invalid parameter "slices=4" in "slidewin_zone" directive, only algorithm=strict has slices



=== TEST 34: empty store
--- zone: $remote_addr zone=one:1m rate=5r/m store=;
--- emerg: invalid store "store=" in "slidewin_zone" directive, it must be "local" or the name of a store



=== TEST 35: unknown store
--- zone: $remote_addr zone=one:1m rate=5r/m store=redis;
--- emerg: unknown slidewin store "redis"



=== TEST 36: more than a store's name
--- zone: $remote_addr zone=one:1m rate=5r/m store=locally;
--- emerg: unknown slidewin store "locally"



=== TEST 37: unknown on_error
--- zone: $remote_addr zone=one:1m rate=5r/m on_error=foo;
--- emerg: invalid on_error "on_error=foo" in "slidewin_zone" directive, it must be local, local:<share>%, open or closed



=== TEST 38: empty on_error
--- zone: $remote_addr zone=one:1m rate=5r/m on_error=;
--- emerg: invalid on_error "on_error=" in "slidewin_zone" directive, it must be local, local:<share>%, open or closed



=== TEST 39: the beginning of on_error
--- zone: $remote_addr zone=one:1m rate=5r/m on_error=clos;
--- emerg: invalid on_error "on_error=clos" in "slidewin_zone" directive, it must be local, local:<share>%, open or closed



=== TEST 40: a share without a percent sign
--- zone: $remote_addr zone=one:1m rate=5r/m on_error=local:50;
--- emerg: invalid on_error "on_error=local:50" in "slidewin_zone" directive, it must be local, local:<share>%, open or closed



=== TEST 41: a share of nothing
--- zone: $remote_addr zone=one:1m rate=5r/m on_error=local:0%;
--- emerg: invalid on_error "on_error=local:0%" in "slidewin_zone" directive, it must be local, local:<share>%, open or closed



=== TEST 42: a share above all
--- zone: $remote_addr zone=one:1m rate=5r/m on_error=local:101%;
--- emerg: invalid on_error "on_error=local:101%" in "slidewin_zone" directive, it must be local, local:<share>%, open or closed



=== TEST 43: an empty share
--- zone: $remote_addr zone=one:1m rate=5r/m on_error=local:;
--- emerg: invalid on_error "on_error=local:" in "slidewin_zone" directive, it must be local, local:<share>%, open or closed



=== TEST 44: a share of what has none
--- zone: $remote_addr zone=one:1m rate=5r/m on_error=open:50%;
--- emerg: invalid on_error "on_error=open:50%" in "slidewin_zone" directive, it must be local, local:<share>%, open or closed



=== TEST 45: the same zone twice
--- http_config
    slidewin_zone $remote_addr zone=one:1m rate=5r/m;
    slidewin_zone $remote_addr zone=one:1m rate=5r/m;
--- emerg: slidewin_zone "one" is already bound to key "$remote_addr"



=== TEST 46: the same zone twice, with another key
--- http_config
    slidewin_zone $uri zone=one:1m rate=5r/m;
    slidewin_zone $remote_addr zone=one:1m rate=5r/m;
--- emerg: slidewin_zone "one" is already bound to key "$uri"



=== TEST 47: the same zone twice, with another size
--- http_config
    slidewin_zone $uri zone=one:1m rate=5r/m;
    slidewin_zone $uri zone=one:2m rate=5r/m;
--- emerg: the size 2097152 of shared memory zone "one" conflicts with already declared size 1048576



=== TEST 48: a name that limit_conn_zone has
--- http_config
    limit_conn_zone $remote_addr zone=one:1m;
    slidewin_zone $remote_addr zone=one:1m rate=5r/m;
--- emerg: the shared memory zone "one" is already declared for a different use



=== TEST 49: a name that proxy_cache_path takes later
--- http_config
    slidewin_zone $remote_addr zone=one:1m rate=5r/m;
    proxy_cache_path cache keys_zone=one:1m;
--- emerg: the shared memory zone "one" is already declared for a different use



=== TEST 50: in a server
--- config
    slidewin_zone $remote_addr zone=one:1m rate=5r/m;
--- emerg: "slidewin_zone" directive is not allowed here



=== TEST 51: in a location
--- config
    location /t {
        slidewin_zone $remote_addr zone=one:1m rate=5r/m;
    }
--- emerg: "slidewin_zone" directive is not allowed here



=== TEST 52: a zone twice
--- zone: $remote_addr zone=one:1m zone=two:1m rate=5r/m;
--- emerg: duplicate parameter "zone=two:1m" in "slidewin_zone" directive



=== TEST 53: a rate twice
--- zone: $remote_addr zone=one:1m rate=5r/m rate=5r/m;
--- emerg: duplicate parameter "rate=5r/m" in "slidewin_zone" directive



=== TEST 54: a rate twice, one of them a variable
--- zone: $remote_addr zone=one:1m rate=5r/m rate=$arg_rate;
--- emerg: duplicate parameter "rate=$arg_rate" in "slidewin_zone" directive



=== TEST 55: an algorithm twice
--- zone: $remote_addr algorithm=log zone=one:1m rate=5r/m algorithm=log;
--- emerg: duplicate parameter "algorithm=log" in "slidewin_zone" directive



=== TEST 56: slices twice
--- zone: $remote_addr zone=one:1m rate=5r/m algorithm=strict slices=4 slices=8;
--- emerg: duplicate parameter "slices=8" in "slidewin_zone" directive



=== TEST 57: a store twice
--- zone: $remote_addr zone=one:1m rate=5r/m store=local store=local;
--- emerg: duplicate parameter "store=local" in "slidewin_zone" directive



=== TEST 58: on_error twice
--- zone: $remote_addr zone=one:1m rate=5r/m on_error=open on_error=closed;
--- emerg: duplicate parameter "on_error=closed" in "slidewin_zone" directive



=== TEST 59: a lease of nothing
--- http_config: slidewin_redis redis://127.0.0.1:1; slidewin_zone $remote_addr zone=one:1m rate=5r/m lease=0%;
--- emerg: invalid lease "lease=0%" in "slidewin_zone" directive, it must be from 1% to 100%



=== TEST 60: a lease of more than all
--- http_config: slidewin_redis redis://127.0.0.1:1; slidewin_zone $remote_addr zone=one:1m rate=5r/m lease=101%;
--- emerg: invalid lease "lease=101%" in "slidewin_zone" directive, it must be from 1% to 100%



=== TEST 61: a lease without a percent sign
--- http_config: slidewin_redis redis://127.0.0.1:1; slidewin_zone $remote_addr zone=one:1m rate=5r/m lease=10;
--- emerg: invalid lease "lease=10" in "slidewin_zone" directive, it must be from 1% to 100%



=== TEST 62: a lease that is no number
--- http_config: slidewin_redis redis://127.0.0.1:1; slidewin_zone $remote_addr zone=one:1m rate=5r/m lease=much%;
--- emerg: invalid lease "lease=much%" in "slidewin_zone" directive, it must be from 1% to 100%



=== TEST 63: an empty lease
--- http_config: slidewin_redis redis://127.0.0.1:1; slidewin_zone $remote_addr zone=one:1m rate=5r/m lease=;
--- emerg: invalid lease "lease=" in "slidewin_zone" directive, it must be from 1% to 100%



=== TEST 64: a lease of a part of a percent
--- http_config: slidewin_redis redis://127.0.0.1:1; slidewin_zone $remote_addr zone=one:1m rate=5r/m lease=0.5%;
--- emerg: invalid lease "lease=0.5%" in "slidewin_zone" directive, it must be from 1% to 100%



=== TEST 65: a lease below nothing
--- http_config: slidewin_redis redis://127.0.0.1:1; slidewin_zone $remote_addr zone=one:1m rate=5r/m lease=-1%;
--- emerg: invalid lease "lease=-1%" in "slidewin_zone" directive, it must be from 1% to 100%



=== TEST 66: a deny_cache that is no time
--- http_config: slidewin_redis redis://127.0.0.1:1; slidewin_zone $remote_addr zone=one:1m rate=5r/m deny_cache=5x;
--- emerg: invalid deny_cache "deny_cache=5x" in "slidewin_zone" directive, it must be a time from 1ms to 1m, or off



=== TEST 67: a deny_cache of nothing
--- http_config: slidewin_redis redis://127.0.0.1:1; slidewin_zone $remote_addr zone=one:1m rate=5r/m deny_cache=0;
--- emerg: invalid deny_cache "deny_cache=0" in "slidewin_zone" directive, it must be a time from 1ms to 1m, or off



=== TEST 68: a deny_cache of more than a minute
--- http_config: slidewin_redis redis://127.0.0.1:1; slidewin_zone $remote_addr zone=one:1m rate=5r/m deny_cache=61s;
--- emerg: invalid deny_cache "deny_cache=61s" in "slidewin_zone" directive, it must be a time from 1ms to 1m, or off



=== TEST 69: an empty deny_cache
--- http_config: slidewin_redis redis://127.0.0.1:1; slidewin_zone $remote_addr zone=one:1m rate=5r/m deny_cache=;
--- emerg: invalid deny_cache "deny_cache=" in "slidewin_zone" directive, it must be a time from 1ms to 1m, or off



=== TEST 70: a deny_cache without a unit
--- http_config: slidewin_redis redis://127.0.0.1:1; slidewin_zone $remote_addr zone=one:1m rate=5r/m deny_cache=5;
--- emerg: invalid deny_cache "deny_cache=5" in "slidewin_zone" directive, it must be a time from 1ms to 1m, or off



=== TEST 71: a deny_cache that is nearly off
--- http_config: slidewin_redis redis://127.0.0.1:1; slidewin_zone $remote_addr zone=one:1m rate=5r/m deny_cache=Off;
--- emerg: invalid deny_cache "deny_cache=Off" in "slidewin_zone" directive, it must be a time from 1ms to 1m, or off



=== TEST 72: a lease twice
--- http_config: slidewin_redis redis://127.0.0.1:1; slidewin_zone $remote_addr zone=one:1m rate=5r/m lease=5% lease=5%;
--- emerg: duplicate parameter "lease=5%" in "slidewin_zone" directive



=== TEST 73: a deny_cache twice
--- http_config: slidewin_redis redis://127.0.0.1:1; slidewin_zone $remote_addr zone=one:1m rate=5r/m deny_cache=1s deny_cache=off;
--- emerg: duplicate parameter "deny_cache=off" in "slidewin_zone" directive



=== TEST 74: a lease of what is here
--- zone: $remote_addr zone=one:1m rate=5r/m lease=5%;
--- emerg: invalid parameter "lease=5%" in "slidewin_zone" directive, zone "one" counts in shared memory



=== TEST 75: a lease of what is here, with a Redis
--- http_config: slidewin_redis redis://127.0.0.1:1; slidewin_zone $remote_addr zone=one:1m rate=5r/m lease=5% store=local;
--- emerg: invalid parameter "lease=5%" in "slidewin_zone" directive, zone "one" counts in shared memory



=== TEST 76: a deny cache of what is here
--- zone: $remote_addr zone=one:1m rate=5r/m deny_cache=1s;
--- emerg: invalid parameter "deny_cache=1s" in "slidewin_zone" directive, zone "one" counts in shared memory



=== TEST 77: no deny cache of what is here
--- zone: $remote_addr zone=one:1m rate=5r/m deny_cache=off;
--- emerg: invalid parameter "deny_cache=off" in "slidewin_zone" directive, zone "one" counts in shared memory



=== TEST 78: the burst of limit_req
--- zone: $remote_addr zone=one:1m rate=5r/m burst=5;
--- emerg: invalid parameter "burst=5" in "slidewin_zone" directive, there is no burst: all of the limit may be used at once, and delay=<time> of "slidewin" lets a request above it wait



=== TEST 79: zone larger than its links can tell
--- zone: $remote_addr zone=one:32769m rate=5r/m;
--- emerg: zone "one" is too large, it must be at most 32768m



=== TEST 80: a ban: no time
--- zone: $remote_addr zone=one:1m rate=5r/m ban=;
--- emerg: invalid ban "ban=" in "slidewin_zone" directive, it must be a time, or the first and the longest, such as 1m..1d



=== TEST 81: a ban: a time without a unit
--- zone: $remote_addr zone=one:1m rate=5r/m ban=5;
--- emerg: invalid ban "ban=5" in "slidewin_zone" directive, it must be a time, or the first and the longest, such as 1m..1d



=== TEST 82: a ban: no time at all
--- zone: $remote_addr zone=one:1m rate=5r/m ban=0s;
--- emerg: invalid ban "ban=0s" in "slidewin_zone" directive, it must be a time, or the first and the longest, such as 1m..1d



=== TEST 83: a ban: a negative time
--- zone: $remote_addr zone=one:1m rate=5r/m ban=-1m;
--- emerg: invalid ban "ban=-1m" in "slidewin_zone" directive, it must be a time, or the first and the longest, such as 1m..1d



=== TEST 84: a ban: a word
--- zone: $remote_addr zone=one:1m rate=5r/m ban=off;
--- emerg: invalid ban "ban=off" in "slidewin_zone" directive, it must be a time, or the first and the longest, such as 1m..1d



=== TEST 85: a ban: a range without an end
--- zone: $remote_addr zone=one:1m rate=5r/m ban=1m..;
--- emerg: invalid ban "ban=1m.." in "slidewin_zone" directive, it must be a time, or the first and the longest, such as 1m..1d



=== TEST 86: a ban: a range without a beginning
--- zone: $remote_addr zone=one:1m rate=5r/m ban=..1d;
--- emerg: invalid ban "ban=..1d" in "slidewin_zone" directive, it must be a time, or the first and the longest, such as 1m..1d



=== TEST 87: a ban: a range that shrinks
--- zone: $remote_addr zone=one:1m rate=5r/m ban=1d..1m;
--- emerg: invalid ban "ban=1d..1m" in "slidewin_zone" directive, it must be a time, or the first and the longest, such as 1m..1d



=== TEST 88: a ban: a range of one point
--- zone: $remote_addr zone=one:1m rate=5r/m ban=1m.1d;
--- emerg: invalid ban "ban=1m.1d" in "slidewin_zone" directive, it must be a time, or the first and the longest, such as 1m..1d



=== TEST 89: a ban: a range of three points
--- zone: $remote_addr zone=one:1m rate=5r/m ban=1m...1d;
--- emerg: invalid ban "ban=1m...1d" in "slidewin_zone" directive, it must be a time, or the first and the longest, such as 1m..1d



=== TEST 90: a ban: two ranges
--- zone: $remote_addr zone=one:1m rate=5r/m ban=1m..1d..1w;
--- emerg: invalid ban "ban=1m..1d..1w" in "slidewin_zone" directive, it must be a time, or the first and the longest, such as 1m..1d



=== TEST 91: a ban: a time of more than seven weeks
--- zone: $remote_addr zone=one:1m rate=5r/m ban=8w;
--- emerg: invalid ban "ban=8w" in "slidewin_zone" directive, it must be a time, or the first and the longest, such as 1m..1d



=== TEST 92: a ban: a range of more than seven weeks
--- zone: $remote_addr zone=one:1m rate=5r/m ban=1m..8w;
--- emerg: invalid ban "ban=1m..8w" in "slidewin_zone" directive, it must be a time, or the first and the longest, such as 1m..1d



=== TEST 93: a ban: a fraction
--- zone: $remote_addr zone=one:1m rate=5r/m ban=1.5h;
--- emerg: invalid ban "ban=1.5h" in "slidewin_zone" directive, it must be a time, or the first and the longest, such as 1m..1d



=== TEST 94: two bans
--- zone: $remote_addr zone=one:1m rate=5r/m ban=1m ban=1m..1d;
--- emerg: duplicate parameter "ban=1m..1d" in "slidewin_zone" directive
