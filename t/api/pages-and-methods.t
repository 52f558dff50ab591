# Every page has one address and its methods. All else is 404 or 405, as JSON.

use strict;
use warnings;

use SlidewinApi;
use SlidewinNginx;
use Test::More;

my $nginx = SlidewinNginx->start(
    http => 'slidewin_zone $arg_k zone=one:1m rate=2r/40d algorithm=log;'
            . 'slidewin_zone $arg_k zone=two.a-b_c:1m rate=$arg_r;',
    server => <<'END',
        location /slidewin/ { slidewin_api write=on; }
        location /read/ { slidewin_api; }
        location = /a { slidewin zone=one; empty_gif; }
END
);

sub ask { return SlidewinApi::ask($nginx, @_) }

my %types = (
    '' => 'text/html; charset=utf-8',
    metrics => 'text/plain; version=0.0.4; charset=utf-8',
);

my @pages = ('', qw(info zones stores metrics zones/one zones/two.a-b_c
                    zones/one/top zones/one/bans zones/one/keys/a
                    zones/one/keys?key=a
                    zones/two.a-b_c/keys/a), 'zones/two.a-b_c/keys/a?rate=5r/m');

# every page, GET and HEAD

for my $page (@pages) {
    for my $suffix ('', $page =~ /\?/ ? '&x=1' : '?x=1') {
        my $got = ask('GET', "/slidewin/$page$suffix");
        is($got->{status}, 200, "GET '$page$suffix'");
        is($got->{header}{'content-type'},
           $types{$page} // 'application/json; charset=utf-8',
           '... has its type');
        ok(defined SlidewinApi::decode($got->{body}), '... is JSON')
            if !$types{$page};
    }

    my $client = SlidewinApi->connect($nginx);
    my $get = $client->ask_here('GET', "/slidewin/$page");
    my $head = $client->ask_here('HEAD', "/slidewin/$page");
    my $after = $client->ask_here('GET', '/slidewin/info');

    is($head->{status}, 200, "HEAD '$page'");
    is($after->{status}, 200, '... has no body');

    # free memory and the time may have another length
    s/^(?:Date|Content-Length):.*?\r\n//mg for $head->{raw}, $get->{raw};
    is($head->{raw}, $get->{raw}, '... has the header of GET');
}

# nothing else is there

for my $page (qw(x info/ info/x infox /info zones/ zones// zones/nosuch zones/on
                 zones/onee zones/one/ zones/one/topx zones/one/top/
                 zones/one/bansx zones/one/bans/ zones/one/bans/x
                 zones/one/top/x zones/one/key zones/one/keysx zones/one/keys
                 zones/one/keys?k=a zones/One ZONES metrics/ stores/x zone
                 zones%2Fone zones/one%2Ftop zones/nosuch/keys/a),
              'zones/one/keys?Xkey=a')
{
    for my $method (qw(GET HEAD)) {
        my $got = ask($method, "/slidewin/$page");
        is($got->{status}, 404, "$method '$page' is not found");

        next if $method eq 'HEAD';
        is($got->{header}{'content-type'}, 'application/json; charset=utf-8',
           '... in JSON');
        ok(length(SlidewinApi::decode($got->{body})->{error}), '... says so');
    }
}

# what a page allows

my $read = 'GET, HEAD';

for my $method (qw(POST PUT OPTIONS PATCH DELETE PROPFIND MKCOL FOO)) {
    for my $page ('', qw(info zones stores metrics zones/one zones/one/top
                       zones/one/bans)) {
        my $got = ask($method, "/slidewin/$page");
        is("$got->{status} $got->{header}{allow}", "405 $read",
           "$method '$page' is not allowed");
        ok(length(SlidewinApi::decode($got->{body})->{error}), '... in JSON');
    }

    for my $page (qw(zones/one/keys/a zones/one/keys?key=a)) {
        my $got = ask($method, "/read/$page");
        is("$got->{status} $got->{header}{allow}", "405 $read",
           "$method '$page' is not allowed without write=on");

        next if $method eq 'DELETE';
        $got = ask($method, "/slidewin/$page");
        is("$got->{status} $got->{header}{allow}", "405 $read, DELETE",
           "$method '$page' is not allowed with it");
    }
}

for my $method (qw(TRACE CONNECT)) {
    my $got = ask($method, '/slidewin/info');
    is($got->{status}, 405, "nginx itself refuses $method");
}

# DELETE

is(join(' ', $nginx->status('/a?k=a', 3)), '200 200 429', 'a client is limited');

for my $page (qw(zones/one/keys/a zones/one/keys?key=a)) {
    my $client = SlidewinApi->connect($nginx);
    my $got = $client->ask_here('DELETE', "/slidewin/$page");
    is($got->{status}, 204, "DELETE '$page'");
    ok(!exists $got->{header}{'content-length'}, '... has no length');
    ok(!exists $got->{header}{'transfer-encoding'}, '... and no chunks');
    ok(!exists $got->{header}{'content-type'}, '... and no type');
    is($client->ask_here('GET', '/slidewin/info')->{status}, 200,
       '... and no body');
    is(join(' ', $nginx->status('/a?k=a', 3)), '200 200 429',
       '... resets the client');
}

is(ask('DELETE', '/slidewin/zones/one/keys/never-seen')->{status}, 204,
   'a client that is not counted can be reset');
is(ask('DELETE', '/slidewin/zones/nosuch/keys/a')->{status}, 404,
   'but not in a zone that is not there');

$nginx->stop;
done_testing();
