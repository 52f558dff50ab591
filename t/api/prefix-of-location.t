# Pages follow the prefix of the location, whatever it is, and whatever way
# leads to it.

use strict;
use warnings;

use SlidewinApi;
use SlidewinNginx;
use Test::More;

my $app = SlidewinNginx->start(
    server => 'location / { add_header X-Accel-Redirect $arg_to; return 200; }',
);

my $server = <<'END';
        location /slidewin/ { slidewin_api write=on; }
        location /sw { slidewin_api; }
        location "/a b%" { slidewin_api; }
        location = /a { slidewin zone=one; empty_gif; }

        location = /metrics { rewrite ^ /slidewin/metrics last; }
        location /rewritten/ { rewrite ^/rewritten/(.*) /slidewin/$1 last; }
        location /broken/ { slidewin_api; rewrite ^ $arg_to? break; }
        location /error { error_page 404 = /slidewin/zones/one; return 404; }
        location /status { error_page 418 /slidewin/info; return 418; }
        location /tried { root /nonexistent; try_files /x /slidewin/stores; }
        location /named { error_page 404 = @named; return 404; }
        location @named { rewrite ^ /slidewin/info last; }
        location /accel { proxy_pass APPLICATION; }

        location /ssi {
            ssi on;
            ssi_types *;
            default_type text/html;
            return 200 '<!--#include virtual="/slidewin/$arg_page" -->|<!--#include virtual="/slidewin/info" -->';
        }
        location /added {
            default_type text/html;
            addition_types *;
            add_before_body /slidewin/zones;
            add_after_body /slidewin/zones/nosuch;
            return 200 "\n---\n";
        }
        location /mirror { mirror /slidewin/zones/one/keys/m; empty_gif; }
        location /auth { auth_request /slidewin/info; empty_gif; }
        location /noauth { auth_request /slidewin/zones/nosuch; empty_gif; }

        location /nested/ {
            slidewin_api;
            location /nested/inner/ { return 200 inner; }
            location /nested/zones/one/keys/ { return 200 forbidden; }
        }
        location /except/ {
            slidewin_api write=on;
            limit_except GET { deny all; }
        }
        location /excepted/ {
            slidewin_api write=on;
            limit_except GET { allow all; }
        }
        location /if/ {
            slidewin_api write=on;
            if ($arg_x) { add_header X-If yes always; }
            if ($arg_r) { return 418; }
        }
END

$server =~ s{APPLICATION}{"http://unix:" . $app->path}e;

my $nginx = SlidewinNginx->start(
    http => 'slidewin_zone $arg_k zone=one:1m rate=2r/40d algorithm=log;',
    server => $server,
);

sub ask { return SlidewinApi::ask($nginx, @_) }
sub get { return ask('GET', @_) }
sub status { return get(@_)->{status} }
sub json { return SlidewinApi::decode(get(@_)->{body}) // {} }

# without a slash

my $got = get('/sw');
is("$got->{status} $got->{header}{location}", '301 /sw/',
   'the prefix without its slash leads to that with it');
is($got->{header}{'content-length'}, 0, '... without a body');
is(get('/sw?a=b')->{status}, 301, '... also with arguments');
is(ask('HEAD', '/sw')->{status}, 301, '... also for HEAD');
is(ask('POST', '/sw')->{header}{allow}, 'GET, HEAD', '... not for POST');

my $client = SlidewinApi->connect($nginx);
$client->ask_here('GET', '/sw');
is($client->ask_here('GET', '/sw/info')->{status}, 200,
   'the connection is kept after a redirect');

is(status('/swx'), 404, 'what only begins like the prefix is not found');
is(status('/swx/info'), 404, '... nor are pages below it');
is(status('/sw/info'), 200, 'pages are below the prefix');
is(status('/sw//info'), 404, '... below one slash');

is(get('/a%20b%25')->{header}{location}, '/a%20b%25/',
   'a redirect is encoded');
is(status('/a%20b%25/info'), 200, 'the prefix may be encoded');
is(status('/%73w/info'), 200, '... more than it must be');
is(status('//sw/info'), 200, '... or have more slashes');
is(status('/x/../sw/info'), 200, '... or a way to it');

# the same page for all

for my $target ('http://localhost/slidewin/info',
                'http://localhost/slidewin/zones/one/keys/x%2Fy',
                '/slidewin/info#x', '/slidewin/info#x?y',
                '/slidewin/./info')
{
    my $want = $target =~ m{/\./} ? 404 : 200;
    is(status($target), $want, "GET $target is $want");
}

is(json('/slidewin/zones/one/keys/a#b')->{key}, 'a', 'a fragment is no key');

is(SlidewinApi->connect($nginx)->ask_here('GET', '/slidewin/zones',
                                          version => '1.0')->{status},
   200, 'HTTP/1.0');

# what nginx sees as another page is another page

is(status('/nested/inner/x'), 200, 'a location inside has its own handler');
is(status('/nested/info'), 200, 'the outer one is the endpoint');
is(get('/nested/zones/one/keys/a')->{body}, 'forbidden',
   'a location inside replaces a page');

for my $key ('x/../../../../info', '..', '../..', 'x%2F..%2F..%2F..%2Finfo',
             '%2e%2e', 'a/../..')
{
    my $got = get("/nested/zones/one/keys/$key");
    isnt($got->{status}, 200, "keys/$key does not lead past a location inside");
    $got = ask('DELETE', "/slidewin/zones/one/keys/$key");
    isnt($got->{status}, 204, '... nor does it reset anyone');
}

# internal redirects

like(get('/metrics')->{body}, qr/^slidewin_build_info/m, 'a rewrite');
like(get('/metrics?zones')->{body}, qr/^slidewin_build_info/m,
     '... with arguments');
is(json('/rewritten/zones/one/keys/a%2Fb%252F')->{key}, 'a/b%2F',
   'a key of a rewrite is decoded once');
is(json('/rewritten/zones/one/keys?key=a%2Fb%252F')->{key}, 'a/b%2F',
   '... in the arguments as well');
for my $way ('//slidewin', '/%73lidewin', '/rewritten') {
    is(json("$way/zones/one/keys/a")->{key}, 'a', "a key by $way")
        if $way ne '//slidewin';

    for my $key ('https://x', 'a/%2Fb', 'a%2f%2Fb') {
        is(status("$way/zones/one/keys/$key"), 400,
           "$way: slashes that nginx merges are not taken for one: $key");
        is(ask('DELETE', "$way/zones/one/keys/$key")->{status}, 400,
           '... and no other client is reset');
    }

    is(json("$way/zones/one/keys?key=https%3A%2F%2Fx")->{key}, 'https://x',
       '... in the arguments they are whole');
}
is(json('/slidewin/zones/one/keys/https://x')->{key}, 'https://x',
   'slashes that the client wrote behind the prefix are kept');
is(status('/broken/x?to=/broken/info'), 200, 'a rewrite inside the location');
is(status('/broken/x?to=/other//info'), 404, '... to a URI outside of it');
is(status('/broken/x?to=/x'), 404, '... to a short one');
is(json('/error')->{rate}, '2r/40d', 'an error page');
is(status('/status'), 418, 'an error page may keep its status');
is(get('/tried')->{body}, "{}\n", 'try_files');
ok(json('/named')->{version}, 'a named location');
is(ask('HEAD', '/error')->{status}, 200, 'HEAD of an error page');

# X-Accel-Redirect of an application

ok(json('/accel?to=/slidewin/info')->{version}, 'X-Accel-Redirect');
is(json('/accel?to=/slidewin/zones/one/keys/a%2Fb')->{key}, 'a/b',
   '... to a key');
$app->stop(name => 'application');

# subrequests

my ($first, $second) = split /\|/, get('/ssi?page=zones')->{body};
ok(SlidewinApi::decode($first)->{one}, 'SSI includes a page');
ok(SlidewinApi::decode($second)->{version}, '... and another');
($first, $second) = split /\|/, get('/ssi?page=zones/one/keys/a')->{body};
is(SlidewinApi::decode($first)->{key}, 'a', '... and a key');
is(get('/ssi?page=x')->{status}, 200, '... and a page that is not there');
ok(ask('HEAD', '/ssi?page=zones')->{status} == 200, '... HEAD');

($first, $second) = split /\n---\n/, get('/added')->{body};
ok(SlidewinApi::decode($first)->{one}, 'a page before a body');
ok(SlidewinApi::decode($second)->{error}, 'an error behind it');

is(status('/auth'), 200, 'auth_request: a page that is there admits');
is(status('/noauth'), 500, '... one that is not there does not');

is(join(' ', $nginx->status('/a?k=m', 3)), '200 200 429', 'a client is limited');
is(ask('DELETE', '/mirror')->{status}, 405, 'empty_gif refuses DELETE');
is(status('/mirror'), 200, 'a mirrored request');

# parts of the location

is(status('/except/zones'), 200, 'limit_except admits GET');
is(ask('DELETE', '/except/zones/one/keys/m')->{status}, 403,
   '... and denies DELETE');
is(ask('DELETE', '/excepted/zones/one/keys/m')->{status}, 204,
   'a limit_except that allows is still the endpoint');
is(status('/if/info'), 200, 'a location with an if');
$got = get('/if/info?x=1');
is("$got->{status} $got->{header}{'x-if'}", '200 yes',
   '... is the endpoint inside of it');
is(ask('DELETE', '/if/zones/one/keys/m?x=1')->{status}, 204,
   '... with its parameters');
is(status('/if/info?r=1'), 418, '... unless the if answers');

$nginx->stop;

# the whole site

my $whole = SlidewinNginx->start(
    http => 'slidewin_zone $arg_k zone=one:1m rate=2r/40d algorithm=log;',
    server => 'location / { slidewin_api write=on; }',
);

for (['/', 200], ['/info', 200], ['/zones/one', 200], ['/x', 404],
     ['/zones/one/keys/a', 200], ['//info', 404], ['/../info', 400],
     ['http://localhost', 200], ['http://localhost?x', 200], ['*', 400])
{
    my ($target, $want) = @$_;
    is(SlidewinApi::ask($whole, 'GET', $target)->{status}, $want,
       "GET $target of location / is $want");
}

$whole->stop(name => 'location /');
done_testing();
