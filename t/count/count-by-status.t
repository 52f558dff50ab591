# count= lists the statuses that are counted. A request is charged when it
# arrives, and refunded when it ends with another status, from whatever source.
# The same in both stores.

use strict;
use warnings;

use MIME::Base64 ();
use SlidewinCount;
use Test::More;

my $limit = $SlidewinCount::LIMIT;

# name; location; path, fields and method of the request; status; how many units
# stay counted
my @cases = (
    ['one that is listed', 'count=401,403', 'up?s=401', 401, 1],
    ['another that is listed', 'count=401,403', 'up?s=403', 403, 1],
    ['one that is not', 'count=401,403', 'up?s=404', 404, 0],
    ['200', 'count=401,403', 'up?s=200', 200, 0],
    ['200 is listed', 'count=200', 'up?s=200', 200, 1],
    ['one of a class', 'count=4xx', 'up?s=404', 404, 1],
    ['one of another class', 'count=4xx', 'up?s=500', 500, 0],
    ['a class beside a status', 'count=401,5xx', 'up?s=503', 503, 1],
    ['a status beside a class', 'count=401,5xx', 'up?s=401', 401, 1],
    ['none of both', 'count=401,5xx', 'up?s=403', 403, 0],
    ['a redirect', 'count=3xx', 'up?s=302', 302, 1],
    ['no content', 'count=204', 'up?s=204', 204, 1],
    ['429 of the upstream is a status like any', 'count=429', 'up?s=429',
     429, 1],
    ['... and given back if it is not listed', 'count=401', 'up?s=429', 429, 0],

    ['a file', 'count=404', 'file', 200, 0],
    ['a file that is not there', 'count=404', 'missing', 404, 1],
    ['a directory', 'count=403', 'dir/', 403, 1],
    ['a directory without its slash', 'count=301', 'dir', 301, 1],
    ['a method that is not allowed', 'count=405', 'file', 405, 1,
     method => 'PUT'],
    ['304', 'count=304', 'file', 304, 1, fields => ['If-None-Match: *']],
    ['304 is not 200', 'count=200', 'file', 304, 0,
     fields => ['If-None-Match: *']],
    ['206', 'count=206', 'file', 206, 1, fields => ['Range: bytes=0-1']],
    ['206 is not 200', 'count=200', 'file', 206, 0,
     fields => ['Range: bytes=0-1']],
    ['416', 'count=416', 'file', 416, 1, fields => ['Range: bytes=99-']],
    ['HEAD', 'count=401', 'up?s=401', 401, 1, method => 'HEAD'],
    ['HEAD, not listed', 'count=401', 'up?s=200', 200, 0, method => 'HEAD'],
    ['HEAD of a file', 'count=404', 'file', 200, 0, method => 'HEAD'],
    ['POST', 'count=401', 'up?s=401', 401, 1, method => 'POST',
     body => 'name=x'],
    ['POST, not listed', 'count=401', 'up?s=200', 200, 0, method => 'POST',
     body => 'name=x'],
    ['HTTP/1.0', 'count=401', 'up?s=401', 401, 1, version => '1.0'],
    ['HTTP/1.0, not listed', 'count=401', 'up?s=200', 200, 0,
     version => '1.0'],

    ['auth_basic', 'count=401', 'basic', 401, 1],
    ['auth_basic, a wrong password', 'count=401', 'basic', 401, 1,
     user => 'joe:wrong'],
    ['auth_basic, the right one', 'count=401', 'basic', 200, 0,
     user => 'joe:secret'],
    ['deny', 'count=403', 'deny', 403, 1],
    ['deny, not listed', 'count=401', 'deny', 403, 0],
    ['satisfy any, one of both', 'count=401,403', 'any', 200, 0,
     user => 'joe:secret'],
    ['satisfy any, none of both', 'count=401,403', 'any', 401, 1],
    ['auth_request', 'count=401', 'auth?s=401', 401, 1],
    ['auth_request, the other', 'count=401', 'auth?s=403', 403, 0],
    ['auth_request, allowed', 'count=401', 'auth?s=200', 200, 0],
    ['auth_request that fails', 'count=401', 'auth?s=404', 500, 0],

    ['error_page', 'count=401', 'page?s=401', 401, 1],
    ['error_page that names another status', 'count=401', 'page200?s=401',
     200, 0],
    ['... which is listed', 'count=403', 'page403?s=401', 403, 1],
    ['... and the first is not any more', 'count=401', 'page403?s=401',
     403, 0],
    ['error_page that has its own status', 'count=401', 'own?s=401', 200, 0],
    ['error_page to a named location', 'count=401', 'named?s=401', 401, 1],
    ['error_page of nginx itself', 'count=404', 'page/missing', 404, 1],
    ['X-Accel-Redirect to a file', 'count=404', 'accel?to=file', 200, 0],
    ['X-Accel-Redirect to nothing', 'count=404', 'accel?to=missing', 404, 1],
    ['try_files, found', 'count=404', 'try/file', 200, 0],
    ['try_files, not found', 'count=404', 'try/missing', 404, 1],
    ['index', 'count=404', 'index/', 200, 0],
    ['to a limit of the same zone: the first one speaks', 'count=401',
     'again?s=401', 401, 1],
    ['... for the other status as well', 'count=200', 'again?s=401', 401, 0],

    ['the upstream is down', 'count=401', 'gone', 502, 0],
    ['502 is listed', 'count=5xx', 'gone', 502, 1],
    ['the upstream does not answer', 'count=401', 'slow', 504, 0],
    ['504 is listed', 'count=504', 'slow', 504, 1],

    ['parts of a page are not the page', 'count=401', 'parts', 200, 0],
    ['... and the page is counted once', 'count=200', 'parts', 200, 1],
    ['a mirror is not the page', 'count=401', 'mirror', 200, 0],
    ['a post_action is not the page', 'count=401', 'after?s=200&after=401',
     200, 0],
    ['... whatever it ends with', 'count=401', 'after?s=401&after=200',
     401, 1],

    ['a cost', 'count=401 cost=3', 'up?s=401', 401, 3],
    ['all of a cost is given back', 'count=401 cost=3', 'up?s=200', 200, 0],
    ['a cost in a variable', 'count=401 cost=$arg_c', 'up?s=401&c=4', 401, 4],
    ['... is given back', 'count=401 cost=$arg_c', 'up?s=200&c=4', 200, 0],
    ['a peek', 'count=200 cost=0', 'up?s=200', 200, 0],
    ['a peek, not listed', 'count=401 cost=0', 'up?s=200', 200, 0],
    ['a dry run', 'count=401 dry_run', 'up?s=401', 401, 1],
    ['a dry run, not listed', 'count=401 dry_run', 'up?s=200', 200, 0],
);

# a directory of locations for each list of statuses
my %number;
my $locations = '';

for my $list (map { $_->[1] } @cases) {
    next if $number{$list};
    $number{$list} = 1 + keys %number;
    $locations .= locations($number{$list}, "slidewin zone=log $list;");
}

sub locations {
    my ($n, $limit) = @_;

    return <<"END";
location /$n/ {
    $limit
    location = /$n/up { proxy_pass http://origin/\$arg_s; }
    location = /$n/gone { proxy_pass http://down; }
    location = /$n/slow { proxy_read_timeout 200ms; proxy_pass http://held; }
    location = /$n/basic {
        auth_basic x; auth_basic_user_file html/passwd; alias html/file;
    }
    location = /$n/deny { deny all; alias html/file; }
    location = /$n/any {
        satisfy any; deny all;
        auth_basic x; auth_basic_user_file html/passwd; alias html/file;
    }
    location = /$n/auth { auth_request /auth; alias html/file; }
    location = /$n/page {
        proxy_intercept_errors on; error_page 401 /page;
        proxy_pass http://origin/\$arg_s;
    }
    location = /$n/page200 {
        proxy_intercept_errors on; error_page 401 =200 /page;
        proxy_pass http://origin/\$arg_s;
    }
    location = /$n/page403 {
        proxy_intercept_errors on; error_page 401 =403 /page;
        proxy_pass http://origin/\$arg_s;
    }
    location = /$n/own {
        proxy_intercept_errors on; error_page 401 = /page;
        proxy_pass http://origin/\$arg_s;
    }
    location = /$n/named {
        proxy_intercept_errors on; error_page 401 \@named;
        proxy_pass http://origin/\$arg_s;
    }
    location /$n/page/ { error_page 404 /page; alias html/; }
    location = /$n/accel { proxy_pass http://elsewhere/accel?\$args; }
    location /$n/try/ { root html; try_files /\$sub =404; }
    location = /$n/again {
        proxy_intercept_errors on; error_page 401 /again;
        proxy_pass http://origin/\$arg_s;
    }
    location = /$n/parts { ssi on; ssi_types *; alias html/parts; }
    location = /$n/mirror { mirror /401; alias html/file; }
    location = /$n/after {
        post_action /after; proxy_pass http://origin/\$arg_s;
    }
    location /$n/index/ { index missing index.html; alias html/dir/index/; }
    location /$n/ { alias html/; }
}
END
}

my $server = $locations . <<'END';
log_subrequest on;
set $sub "";
if ($uri ~ ^/\d+/try/(.*)) { set $sub $1; }
location = /page { alias html/file; }
location = /again { slidewin zone=log count=200; alias html/file; }
location @named { root html; try_files /file =404; }
location = /auth { internal; proxy_pass http://origin/$s; }
location = /401 { proxy_pass http://origin/401; }
location = /after { proxy_pass http://origin/$arg_after; }
location = /in/file { alias html/file; }
location = /in/missing { alias html/missing; }

location = /several {
    slidewin zone=log count=401;
    slidewin zone=fixed count=401,5xx;
    slidewin zone=strict count=200 cost=2;
    slidewin zone=counter;
    proxy_pass http://origin/$arg_s;
}
location = /both {
    slidewin zone=log count=401;
    slidewin zone=fixed count=401 cost=$arg_c;
    proxy_pass http://origin/$arg_s;
}
location = /rejected {
    slidewin zone=log count=401;
    error_page 429 =200 /page;
    proxy_pass http://origin/$arg_s;
}
location = /listed {
    slidewin zone=log count=4xx;
    proxy_pass http://origin/$arg_s;
}
location = /cached {
    slidewin zone=log count=401;
    proxy_cache cache;
    proxy_cache_key $arg_s;
    proxy_cache_valid any 1h;
    add_header X-Cache $upstream_cache_status always;
    proxy_pass http://origin/$arg_s;
}
location /inherited {
    slidewin zone=log count=401;
    location = /inherited/up { proxy_pass http://origin/$arg_s; }
}
location = /if {
    if ($arg_k) { slidewin zone=log count=401; }
    error_page 404 /401;
    recursive_error_pages on;
    alias html/$arg_f;
}
END

for my $algorithm (@SlidewinCount::ALGORITHMS) {
    $server .= "location = /login_$algorithm { slidewin zone=$algorithm"
               . ' count=401,403; proxy_pass http://origin/$arg_s; }' . "\n"
               . "location = /dry_$algorithm { slidewin zone=$algorithm"
               . ' count=401 dry_run; proxy_pass http://origin/$arg_s; }'
               . "\n";
}

# Sends a request on a new connection. Only the status matters: the response to
# HEAD has no body.
sub ask {
    my ($nginx, $uri, %how) = @_;
    my $client = $nginx->client;
    my @fields = ('Host: a', 'Connection: close', @{$how{fields} // []});

    push @fields, 'Authorization: Basic '
                  . MIME::Base64::encode($how{user}, '') if $how{user};
    push @fields, 'Content-Length: ' . length $how{body} if $how{body};

    $client->write(join "\r\n",
                   ($how{method} // 'GET') . " $uri HTTP/"
                   . ($how{version} // '1.1'), @fields, '', $how{body} // '');

    my $text = '';
    my $select = '';
    vec($select, fileno $client->{socket}, 1) = 1;

    while (select my $bits = $select, undef, undef, 30) {
        sysread $client->{socket}, $text, 65536, length $text or last;
    }

    return $text =~ m{\AHTTP/1\.\d (\d+)} ? $1 : 'none';
}

for my $place (SlidewinCount::stores()) {
    my $name = $place->name;
    my $nginx = $place->edge(server => $server, http => <<"END");
    proxy_cache_path cache keys_zone=cache:1m;
    map \$request_uri \$s { ~[?&]s=(\\d+) \$1; }
    upstream elsewhere { server unix:$place->{sockets}/elsewhere; }
    server {
        listen unix:$place->{sockets}/elsewhere;
        location = /accel {
            add_header X-Accel-Redirect /in/\$arg_to;
            empty_gif;
        }
    }
END

    my $html = $nginx->root . '/html';
    my %files = (
        'file' => 'content', 'passwd' => 'joe:{PLAIN}secret',
        'dir/x' => 'x', 'dir/index/index.html' => 'index',
        'parts' => '<!--#include virtual="/401" -->'
                   . '<!--#include virtual="/401?2" -->',
    );

    mkdir $_ for $html, "$html/dir", "$html/dir/index";
    for my $file (keys %files) {
        open my $out, '>', "$html/$file" or die "$file: $!";
        print $out $files{$file};
        close $out;
    }

    # ten good requests, five bad ones, and what the next ones get

    for my $algorithm (@SlidewinCount::ALGORITHMS) {
        my $key = SlidewinCount::fresh();
        my $uri = "/login_$algorithm?k=$key&s=";

        is(join(' ', $nginx->status("${uri}200", 10)), join(' ', (200) x 10),
           "$name, $algorithm: ten good ones");
        is(SlidewinCount::left($nginx, $algorithm, $key), $limit,
           '... cost nothing');
        is(join(' ', map { $nginx->status("$uri$_") }
                     401, 200, 403, 401, 200, 403, 401),
           '401 200 403 401 200 403 401', '... five bad ones among good ones');
        is(SlidewinCount::left($nginx, $algorithm, $key), 0, '... cost five');
        is(join(' ', map { $nginx->status("$uri$_") } 401, 200),
           '429 429', '... then none passes');
        is(SlidewinCount::left($nginx, $algorithm, $key), 0,
           '... which changes nothing');
        is($nginx->get("/login_$algorithm?k=other$key&s=200")->{status}, 200,
           '... but others do');
    }

    # each status, from each source

    for my $case (@cases) {
        my ($what, $list, $path, $status, $stays, %how) = @$case;
        my $key = SlidewinCount::fresh();
        my $uri = "/$number{$list}/$path" . ($path =~ /\?/ ? '&' : '?')
                  . "k=$key";

        is(ask($nginx, $uri, %how), $status, "$name: $what, status");
        is(SlidewinCount::left($nginx, 'log', $key), $limit - $stays,
           "$name: $what, $list " . ($stays ? 'counts' : 'does not'));
    }

    $place->held->has(0);
    $place->held->answer(200);

    # several limits, each with its own list

    for my $case ([401, '4 4 5 4'], [503, '5 4 5 4'], [200, '5 5 3 4'],
                  [404, '5 5 5 4'])
    {
        my ($status, $want) = @$case;
        my $key = SlidewinCount::fresh();

        is($nginx->get("/several?k=$key&s=$status")->{status}, $status,
           "$name: four limits, $status");
        is(join(' ', map { SlidewinCount::left($nginx, $_, $key) }
                     qw(log fixed strict counter)), $want,
           '... each counts its own');
    }

    # a limit that was not charged, because another one rejected, refunds
    # nothing

    my $key = SlidewinCount::fresh();

    is(join(' ', map { $nginx->status("/both?k=$key&s=401&c=$_") } 1, 4),
       '401 401', "$name: two limits, the second is used up");
    is(join(' ', $nginx->status("/both?k=$key&s=200&c=1", 3)), '429 429 429',
       '... rejected');
    is(SlidewinCount::left($nginx, 'log', $key), 3,
       '... and the first has what it had');

    # rejections are neither counted nor refunded

    for my $where (qw(rejected listed)) {
        $key = SlidewinCount::fresh();
        $nginx->status("/$where?k=$key&s=401", $limit);
        is(join(' ', $nginx->status("/$where?k=$key&s=200", 3)),
           join(' ', ($where eq 'listed' ? 429 : 200) x 3),
           "$name: $where, none comes through");
        is(SlidewinCount::left($nginx, 'log', $key), 0,
           '... and nothing is given back');
    }

    # a request that a dry run would have rejected has nothing to refund

    for my $algorithm (@SlidewinCount::ALGORITHMS) {
        my $uri = "/dry_$algorithm?k=" . ($key = SlidewinCount::fresh())
                  . '&s=';

        is(join(' ', $nginx->status("${uri}200", 7)),
           join(' ', (200) x 7), "$name, $algorithm: dry run, good ones");
        is(join(' ', $nginx->status("${uri}401", 7)),
           join(' ', (401) x 7), '... bad ones, none is rejected');
        is($nginx->get("${uri}200")->{header}{'x-status'},
           'REJECTED_DRY_RUN', '... but for show');
        is(SlidewinCount::left($nginx, $algorithm, $key), 0,
           '... and what was counted stays');
    }

    # a response from the proxy cache counts like any other

    $key = SlidewinCount::fresh();
    my @answers = map { $nginx->get("/cached?k=$key&s=$_") } (401, 200) x 2;
    is(join(' ', map { "$_->{status} $_->{header}{'x-cache'}" } @answers),
       '401 MISS 200 MISS 401 HIT 200 HIT', "$name: from a cache");
    is(SlidewinCount::left($nginx, 'log', $key), $limit - 2,
       '... both bad ones count');

    # inherited, and set inside an if

    $key = SlidewinCount::fresh();
    is(join(' ', map { $nginx->status("/inherited/up?k=$key&s=$_") }
                 401, 200), '401 200', "$name: inherited");
    is(SlidewinCount::left($nginx, 'log', $key), $limit - 1, '... counts one');
    is(join(' ', map { $nginx->status("/if?k=$key&f=$_") } qw(file missing)),
       '200 404', '... in an if');
    is(SlidewinCount::left($nginx, 'log', $key), $limit - 1,
       '... counts none');

    # without a key nothing is counted

    is(join(' ', $nginx->status('/login_log?s=401', 2 * $limit)),
       join(' ', (401) x (2 * $limit)), "$name: without a key none counts");

    # on one connection, one after the other and pipelined

    $key = SlidewinCount::fresh();
    my $client = $nginx->client;
    is(join(' ', map { $client->get("/login_log?k=$key&s=$_")->{status} }
                 (200, 401) x 2), '200 401 200 401', "$name: kept alive");
    is(SlidewinCount::left($nginx, 'log', $key), $limit - 2,
       '... two are counted');

    is(join(' ', $client->statuses(map { "/login_log?k=$key&s=$_" }
                                   (200, 401) x 4)),
       '200 401 200 401 200 401 429 429', '... pipelined');
    is(SlidewinCount::left($nginx, 'log', $key), 0, '... five are counted');

    $client->close;
    $nginx->stop(name => $name);
}

done_testing();
