# nginx refuses to start with a bad "slidewin_api" or "top=". One [emerg] line
# says what is wrong and where.

use Test::Nginx::Socket 'no_plan';
use SlidewinRefused;

no_long_string();
run_tests();

__DATA__

=== TEST 1: in a location by regular expression
--- config
    location ~ ^/slidewin/ { slidewin_api; }
--- emerg: "slidewin_api" directive must be in a location by prefix, such as "location /slidewin/", not in "^/slidewin/"



=== TEST 2: the same, in any case
--- config
    location ~* /slidewin/ { slidewin_api; }
--- emerg: "slidewin_api" directive must be in a location by prefix, such as "location /slidewin/", not in "/slidewin/"



=== TEST 3: in an exact location
--- config
    location = /slidewin/ { slidewin_api; }
--- emerg: "slidewin_api" directive must be in a location by prefix, such as "location /slidewin/", not in "/slidewin/"



=== TEST 4: in a named location
--- config
    location @slidewin { slidewin_api; }
--- emerg: "slidewin_api" directive must be in a location by prefix, such as "location /slidewin/", not in "@slidewin"



=== TEST 5: an unknown parameter
--- config
    location /slidewin/ { slidewin_api read=on; }
--- emerg: invalid parameter "read=on" in "slidewin_api" directive, it must be "write=on" or "from=any", each once



=== TEST 6: write=off
--- config
    location /slidewin/ { slidewin_api write=off; }
--- emerg: invalid parameter "write=off" in "slidewin_api" directive, it must be "write=on" or "from=any", each once



=== TEST 7: from an address
--- config
    location /slidewin/ { slidewin_api from=10.0.0.0/8; }
--- emerg: invalid parameter "from=10.0.0.0/8" in "slidewin_api" directive, it must be "write=on" or "from=any", each once



=== TEST 8: write=on twice
--- config
    location /slidewin/ { slidewin_api write=on write=on; }
--- emerg: invalid parameter "write=on" in "slidewin_api" directive, it must be "write=on" or "from=any", each once



=== TEST 9: from=any twice
--- config
    location /slidewin/ { slidewin_api from=any from=any; }
--- emerg: invalid parameter "from=any" in "slidewin_api" directive, it must be "write=on" or "from=any", each once



=== TEST 10: more than one character
--- config
    location /slidewin/ { slidewin_api write=only; }
--- emerg: invalid parameter "write=only" in "slidewin_api" directive, it must be "write=on" or "from=any", each once



=== TEST 11: an empty parameter
--- config
    location /slidewin/ { slidewin_api ""; }
--- emerg: invalid parameter "" in "slidewin_api" directive, it must be "write=on" or "from=any", each once



=== TEST 12: too many parameters
--- config
    location /slidewin/ { slidewin_api write=on from=any write=on; }
--- emerg: invalid number of arguments in "slidewin_api" directive



=== TEST 13: twice
--- config
    location /slidewin/ { slidewin_api; slidewin_api; }
--- emerg: "slidewin_api" directive is duplicate



=== TEST 14: twice, with other parameters
--- config
    location /slidewin/ { slidewin_api; slidewin_api write=on; }
--- emerg: "slidewin_api" directive is duplicate



=== TEST 15: outside of a location
--- config
    slidewin_api;
--- emerg: "slidewin_api" directive is not allowed here



=== TEST 16: outside of a server
--- http_config
    slidewin_api;
--- emerg: "slidewin_api" directive is not allowed here



=== TEST 17: in an if
--- config
    location /slidewin/ { if ($arg_a) { slidewin_api; } }
--- emerg: "slidewin_api" directive is not allowed here



=== TEST 18: in a limit_except
--- config
    location /slidewin/ { limit_except GET { slidewin_api; } }
--- emerg: "slidewin_api" directive is not allowed here



=== TEST 19: top=0
--- zone: $remote_addr zone=one:1m rate=5r/m top=0;
--- emerg: invalid top "top=0" in "slidewin_zone" directive, it must be from 1 to 10000, or off



=== TEST 20: top=10001
--- zone: $remote_addr zone=one:1m rate=5r/m top=10001;
--- emerg: invalid top "top=10001" in "slidewin_zone" directive, it must be from 1 to 10000, or off



=== TEST 21: top=-1
--- zone: $remote_addr zone=one:1m rate=5r/m top=-1;
--- emerg: invalid top "top=-1" in "slidewin_zone" directive, it must be from 1 to 10000, or off



=== TEST 22: top=1.5
--- zone: $remote_addr zone=one:1m rate=5r/m top=1.5;
--- emerg: invalid top "top=1.5" in "slidewin_zone" directive, it must be from 1 to 10000, or off



=== TEST 23: top=on
--- zone: $remote_addr zone=one:1m rate=5r/m top=on;
--- emerg: invalid top "top=on" in "slidewin_zone" directive, it must be from 1 to 10000, or off



=== TEST 24: top=
--- zone: $remote_addr zone=one:1m rate=5r/m top=;
--- emerg: invalid top "top=" in "slidewin_zone" directive, it must be from 1 to 10000, or off



=== TEST 25: top=128k
--- zone: $remote_addr zone=one:1m rate=5r/m top=128k;
--- emerg: invalid top "top=128k" in "slidewin_zone" directive, it must be from 1 to 10000, or off



=== TEST 26: top=99999999999999999999
--- zone: $remote_addr zone=one:1m rate=5r/m top=99999999999999999999;
--- emerg: invalid top "top=99999999999999999999" in "slidewin_zone" directive, it must be from 1 to 10000, or off



=== TEST 27: top=off twice
--- zone: $remote_addr zone=one:1m rate=5r/m top=off top=128;
--- emerg: duplicate parameter "top=128" in "slidewin_zone" directive
