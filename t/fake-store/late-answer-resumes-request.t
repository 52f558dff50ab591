# A store answers later: the request waits, and then goes on as if the store had
# answered at once.

use lib 't/lib';
use Test::Nginx::Socket 'no_plan';
use SlidewinClient;
use SlidewinHTTP2;

worker_connections(1024);

our $Store = <<'END';
slidewin_test_store late delay=50ms;
slidewin_zone $remote_addr zone=one:1m rate=5r/h algorithm=log store=late
              deny_cache=off;
slidewin_zone $remote_addr zone=other:1m rate=2r/h algorithm=log store=late
              deny_cache=off;
END

our $HTTP2 = $Store . <<'END';
server {
    listen 127.0.0.1:$TEST_NGINX_RAND_PORT_1 http2;
    root html;
    location = /file {
        slidewin zone=one;
    }
    location = /up {
        slidewin zone=one;
        proxy_pass http://127.0.0.1:$TEST_NGINX_RAND_PORT_2;
    }
}
END

our $Server = <<'END';
slidewin zone=one;
add_header X-N $arg_n always;
add_header X-Remaining $slidewin_remaining always;
add_header X-Latency $slidewin_latency always;
location = /free {
    slidewin off;
    alias html/file;
}
location = /up {
    proxy_pass http://127.0.0.1:$TEST_NGINX_RAND_PORT_2;
}
END

our $UserFiles = <<'END';
>>> file
content
>>> index.html
index
>>> page
<!--#include virtual="/file" --><!--#include virtual="/file" -->
END

our $Body = join '', map { "line $_\n" } 1 .. 3000;

our $Thanks = "HTTP/1.1 200 OK\r\nContent-Length: 6\r\nConnection: close\r\n\r\n"
              . 'thanks';

sub count {
    my ($status, @answers) = @_;
    return scalar grep { ($_->{status} // '') eq $status } @answers;
}

run_tests();

__DATA__

=== it admits and rejects exactly, after the time the store takes
--- http_config eval: $::Store
--- user_files eval: $::UserFiles
--- config eval: $::Server
--- client
my @r = map { get('/file') } 1 .. 8;

is(join(' ', map { $_->{status} } @r), '200 200 200 200 200 429 429 429',
   'statuses');
is(join(' ', map { $_->{headers}{'x-remaining'} } @r), '4 3 2 1 0 0 0 0',
   'remaining');
is((grep { $_->{headers}{'x-latency'} >= 25 } @r), 8, 'each has waited');
is((grep { $_->{body} eq "content\n" } @r), 5, 'content for those that passed');
is((grep { ($_->{headers}{'retry-after'} // '') =~ /^3[56]\d\d$/ } @r), 3,
   'Retry-After for those that did not');



=== one that waits holds up no other
--- http_config
slidewin_test_store never silent;
slidewin_zone $remote_addr zone=one:1m rate=5r/h store=never;
--- user_files eval: $::UserFiles
--- config eval: $::Server
--- client
my @c = map { tcp() } 1 .. 10;
$_->write("GET /file HTTP/1.1\r\nHost: a\r\n\r\n") for @c;

is(get('/free')->{status}, 200, 'another is served');
ok($c[0]->quiet(0.1), 'the first still waits');
$_->close for @c;

ok(wait_until(sub { error_lines(qr/call cancelled/) == 10 }), 'until they go');



=== 40 at once, limit 5: exactly five pass
--- http_config eval: $::Store
--- user_files eval: $::UserFiles
--- config eval: $::Server
--- client
my @c = map { tcp() } 1 .. 40;
$_->write("GET /file HTTP/1.1\r\nHost: a\r\n\r\n") for @c;

my @r = map { $_->response } @c;
is(count(200, @r), 5, 'passed');
is(count(429, @r), 35, 'rejected');



=== events of the connection do not wake it up, nor count it twice
--- http_config eval: $::Store
--- user_files eval: $::UserFiles
--- config eval: $::Server
--- client
my $c = tcp();
my $next = "GET /free HTTP/1.1\r\nHost: a\r\n\r\n";

for my $remaining (4, 3, 2, 1, 0, 0) {
    $c->write("GET /file HTTP/1.1\r\nHost: a\r\n\r\n");

    # each makes the socket readable, and with it writable, anew
    for (split //, $next) {
        $c->write($_);
        select undef, undef, undef, 0.001;
    }

    my $r = $c->response;
    is($r->{headers}{'x-remaining'}, $remaining, 'counted once');
    cmp_ok($r->{headers}{'x-latency'}, '>=', 25, 'after its time');
    is($c->response->{body}, "content\n", 'then the next');
}

ok($c->quiet(0.1), 'and nothing else is sent');



=== keepalive
--- http_config eval: $::Store
--- user_files eval: $::UserFiles
--- config eval: $::Server
--- client
my $c = tcp();

for my $status ((200) x 5, (429) x 3) {
    $c->write("GET /file HTTP/1.1\r\nHost: a\r\n\r\n");

    my $r = $c->response;
    is($r->{status}, $status, 'status');
    is($r->{headers}{connection}, 'keep-alive', 'kept');
}



=== pipelined
--- http_config eval: $::Store
--- user_files eval: $::UserFiles
--- config eval: $::Server
--- client
my $c = tcp();
$c->write(join '',
          map { "GET /file?n=$_ HTTP/1.1\r\nHost: a\r\n\r\n" } 1 .. 20);

my @r = map { $c->response } 1 .. 20;

is(join(' ', map { $_->{status} } @r),
   join(' ', (200) x 5, (429) x 15), 'statuses');
is(join(' ', map { $_->{headers}{'x-n'} } @r), join(' ', 1 .. 20), 'order');



=== HTTP/1.0
--- http_config eval: $::Store
--- user_files eval: $::UserFiles
--- config eval: $::Server
--- client
for my $status ((200) x 5, 429) {
    my $c = tcp();
    $c->write("GET /file HTTP/1.0\r\n\r\n");
    is($c->response->{status}, $status, 'status');
    ok($c->closed, 'closed');
}



=== HTTP/2: 100 streams at once, limit 5: exactly five pass
--- http_config eval: $::HTTP2
--- user_files eval: $::UserFiles
--- config
--- client
my $h2 = SlidewinHTTP2->new(port(1));
my (@ids, @frames);

for (1 .. 100) {
    my ($id, $frame) = $h2->compose('/file');
    push @ids, $id;
    push @frames, $frame;
}

$h2->send(@frames);
ok($h2->sync, 'the connection is not held up');

my @r = $h2->answers(@ids);
is(count(200, @r), 5, 'passed');
is(count(429, @r), 95, 'rejected');
is((grep { $_->{body} eq "content\n" } @r), 5, 'content for those that passed');



=== a body that came before and while it waited is whole
--- http_config eval: $::Store
--- user_files eval: $::UserFiles
--- config eval: $::Server
--- client
my $up = upstream(port(2));
my $head = "POST /up HTTP/1.1\r\nHost: a\r\nContent-Length: "
           . length($::Body) . "\r\n\r\n";
my $c = tcp();

for my $first (0, 1, 100, 10000, length $::Body) {
    $c->write($head . substr $::Body, 0, $first);

    for (my $i = $first; $i < length $::Body; $i += 9000) {
        select undef, undef, undef, 0.005;
        $c->write(substr $::Body, $i, 9000);
    }

    my $u = $up->accept;
    is($u->request->{body}, $::Body, "the body arrived ($first at first)");
    $u->write($::Thanks);
    is($c->response->{body}, 'thanks', 'and is answered');
}

$c->write($head . substr $::Body, 0, 9000);
select undef, undef, undef, 0.005;
$c->write(substr $::Body, 9000);
is($c->response->{status}, 429, 'rejected');

$c->write("GET /free HTTP/1.1\r\nHost: a\r\n\r\n");
is($c->response->{status}, 200, 'the next request is understood');
ok(!$up->called(0.1), 'the upstream knows of none');



=== a body in chunks is whole
--- http_config eval: $::Store
--- user_files eval: $::UserFiles
--- config eval: $::Server
--- client
my $up = upstream(port(2));
my $c = tcp();
my $text = sprintf "%x\r\n%s\r\n0\r\n\r\n", length $::Body, $::Body;

$c->write("POST /up HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n"
          . substr $text, 0, 2);

for (my $i = 2; $i < length $text; $i += 5000) {
    select undef, undef, undef, 0.005;
    $c->write(substr $text, $i, 5000);
}

my $u = $up->accept;
is($u->request->{body}, $::Body, 'the body arrived');
$u->write($::Thanks);
is($c->response->{body}, 'thanks', 'and is answered');



=== HTTP/2: a body in DATA frames before, while and after it waited is whole
--- http_config eval: $::HTTP2
--- user_files eval: $::UserFiles
--- config
--- client
my $up = upstream(port(2));
my $h2 = SlidewinHTTP2->new(port(1));

for my $wait (0, 0.005, 0.08) {
    my $id = $h2->request('/up', method => 'POST', open => 1);

    for (my $i = 0; $i < length $::Body; $i += 9000) {
        $h2->data($id, substr($::Body, $i, 9000),
                  $i + 9000 >= length $::Body);
        select undef, undef, undef, $wait;
    }

    my $u = $up->accept;
    is($u->request->{body}, $::Body, "the body arrived ($wait s apart)");
    $u->write($::Thanks);

    my ($r) = $h2->answers($id);
    is($r->{status}, 200, 'passed');
    is($r->{body}, 'thanks', 'and is answered');
}

is(count(200, $h2->answers(map { $h2->request('/file') } 1 .. 2)), 2, 'spent');

my $id = $h2->request('/up', method => 'POST', open => 1);
$h2->data($id, substr $::Body, 0, 9000);
$h2->data($id, substr($::Body, 9000, 9000), 1);

my ($r) = $h2->answers($id);
is($r->{status}, 429, 'rejected');
ok($h2->sync, 'the connection goes on');
ok(!$up->called(0.1), 'the upstream knows of none');



=== HTTP/2: a body whose length is told is whole
--- http_config eval: $::HTTP2
--- user_files eval: $::UserFiles
--- config
--- client
my $up = upstream(port(2));
my $h2 = SlidewinHTTP2->new(port(1));
my $id = $h2->request('/up', method => 'POST', open => 1,
                      headers => { 'content-length' => length $::Body });

for (my $i = 0; $i < length $::Body; $i += 5000) {
    $h2->data($id, substr($::Body, $i, 5000), $i + 5000 >= length $::Body);
    select undef, undef, undef, 0.01;
}

my $u = $up->accept;
is($u->request->{body}, $::Body, 'the body arrived');
$u->write($::Thanks);

my ($r) = $h2->answers($id);
is($r->{body}, 'thanks', 'and is answered');



=== a redirect inside afterwards is not counted, and does not wait
--- http_config eval: $::Store
--- user_files eval: $::UserFiles
--- config eval
$::Server . <<'END'
error_page 404 =200 /file;
location = /try {
    try_files /missing @named;
}
location @named {
    rewrite ^ /file break;
    root html;
}
location = /page {
    ssi on;
    ssi_types text/plain;
}
END
--- client
my @r = map { get($_) } qw(/missing /try / /page);

is(join('|', map { $_->{body} } @r),
   "content\n|content\n|index\n|content\ncontent\n\n", 'bodies');
is(join(' ', map { $_->{headers}{'x-remaining'} } @r), '4 3 2 1', 'remaining');



=== a redirect inside to a further policy waits again, for that alone
--- http_config eval: $::Store
--- user_files eval: $::UserFiles
--- config
slidewin_headers ietf;
location = /missing {
    slidewin zone=one;
    error_page 404 =200 /file;
}
location = /file {
    slidewin zone=one;
    slidewin zone=other;
    add_header X-Latency $slidewin_latency always;
}
location = /peek {
    slidewin zone=one cost=0;
    alias html/file;
}
--- client
my @r = map { get('/missing') } 1 .. 4;

is(join(' ', map { $_->{status} } @r), '200 200 429 429', 'statuses');
like($r[1]{headers}{ratelimit}, qr/^"one";r=3;t=\d+, "other";r=0;t=\d+$/,
     'each is charged once');
cmp_ok($r[0]{headers}{'x-latency'}, '>=', 60, 'both times are told');
like(get('/peek')->{headers}{ratelimit}, qr/^"one";r=1;/,
     'what an earlier pass was charged stays counted');



=== the page of a rejection is served at once
--- http_config eval: $::Store
--- user_files eval: $::UserFiles
--- config
slidewin zone=other;
error_page 429 /file;
--- client
is(statuses(3, '/page'), '200 200 429', 'statuses');

my $r = get('/page');
is($r->{body}, "content\n", 'the page');
like($r->{headers}{'retry-after'}, qr/^3[56]\d\d$/, 'Retry-After');
