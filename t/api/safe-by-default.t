# The endpoint answers clients of its own machine alone, unless from=any leaves
# that to nginx; pages of other sites reset no client; answers say how a browser
# must treat them.

use strict;
use warnings;

use Digest::SHA ();
use SlidewinApi;
use SlidewinNginx;
use SlidewinRedis;
use Test::More;

my $port = SlidewinRedis::free_port();
my $proxied = SlidewinRedis::free_port();
my $named = SlidewinRedis::free_port();

my $nginx = SlidewinNginx->start(
    http => <<"END",
        slidewin_zone \$arg_k zone=one:1m rate=2r/40d algorithm=log;
        set_real_ip_from unix:;
        real_ip_header X-Client;
        server {
            listen 127.0.0.1:$named;
            server_name edge.example;
            location /slidewin/ { slidewin_api; }
        }
END
    server => <<"END",
        listen 127.0.0.1:$port;
        listen [::1]:$port;
        listen 127.0.0.1:$proxied proxy_protocol;
        location /slidewin/ { slidewin_api write=on; }
        location /any/ { slidewin_api write=on from=any; }
        location /denied/ { slidewin_api from=any; allow 192.0.2.1; deny all; }
        location /open/ { slidewin_api; allow all; }
        location /login/ {
            slidewin_api from=any;
            auth_basic x;
            auth_basic_user_file users;
        }
        location /either/ {
            slidewin_api from=any;
            satisfy any;
            allow 192.0.2.1;
            deny all;
            auth_basic x;
            auth_basic_user_file users;
        }
        location /both/ {
            slidewin_api from=any;
            satisfy all;
            allow 192.0.2.1;
            deny all;
            auth_basic x;
            auth_basic_user_file users;
        }
END
);

open my $users, '>', $nginx->root . '/users' or die "users: $!";
print $users "me:{PLAIN}secret\n";
close $users;

sub status {
    my ($page, %fields) = @_;
    return SlidewinApi::ask($nginx, 'GET', $page, fields => \%fields)->{status};
}

my @pages = ('', qw(info zones metrics stores zones/one zones/one/top
                    zones/one/keys/a nosuch));

# who asks

my %fields = (
    'another machine' => { 'X-Client' => '192.0.2.7' },
    'one of IPv6' => { 'X-Client' => '2001:db8::1' },
    'a neighbour' => { 'X-Client' => '10.0.0.1' },
    'nearly this machine' => { 'X-Client' => '128.0.0.1' },
    'any address' => { 'X-Client' => '0.0.0.0' },
    'no address' => { 'X-Client' => '::' },
    'a mapped address' => { 'X-Client' => '::ffff:192.0.2.1' },
    'a compatible address' => { 'X-Client' => '::127.0.0.1' },
    'a proxy' => { 'X-Forwarded-For' => '192.0.2.7' },
    'a proxy with another case' => { 'x-forwarded-FOR' => '' },
    'a proxy that says this machine' => { 'X-Forwarded-For' => '127.0.0.1' },
    'a proxy by RFC 7239' => { Forwarded => 'for=192.0.2.7' },
    'a proxy by X-Real-IP' => { 'X-Real-IP' => '192.0.2.7' },
    'a site whose name leads here' => { Host => 'rebound.example' },
    'the same with a port' => { Host => 'rebound.example:8080' },
    'a name that begins as ours' => { Host => 'localhost.example' },
);

for my $name (sort keys %fields) {
    for my $page (@pages) {
        my $got = SlidewinApi::ask($nginx, 'GET', "/slidewin/$page",
                                   fields => $fields{$name});
        is($got->{status}, 403, "$name: '$page' is forbidden");
        ok(SlidewinApi::decode($got->{body})->{error}, '... in JSON');
    }

    is(SlidewinApi::ask($nginx, 'DELETE', '/slidewin/zones/one/keys/a',
                        fields => $fields{$name})->{status},
       403, '... and so is a reset');
    is(status('/open/info', %{$fields{$name}}), 403,
       '... whatever "allow" says');
    is(status('/any/info', %{$fields{$name}}), 200, '... but not from=any');
    is(SlidewinApi::ask($nginx, 'DELETE', '/any/zones/one/keys/a',
                        fields => $fields{$name})->{status},
       204, '... where it can reset');
}

# a field that a client may have written does not make it local

for my $client (qw(127.0.0.1 127.255.255.254 ::1 ::ffff:127.0.0.1)) {
    is(status('/slidewin/info', 'X-Client' => $client), 403,
       "$client in a field is not this machine");
    is(status('/any/info', 'X-Client' => $client), 200, '... but for any');
}

for my $client (qw(127.0.0.1 127.255.255.254)) {
    my $url = "http://127.0.0.1:$port/slidewin/info";

    is(`curl -s -o /dev/null -w '%{http_code}' --interface $client $url`, 200,
       "$client is");
}

for my $host (qw(localhost LOCALHOST localhost:8080 127.0.0.1 192.0.2.1:80
                 [::1] [::1]:8080))
{
    is(status('/slidewin/info', Host => $host), 200, "$host is asked for here");
}

is(SlidewinApi::ask($named, 'GET', '/slidewin/info',
                    fields => { Host => 'edge.example' })->{status}, 200,
   '... and the name of the server');
is(SlidewinApi::ask($named, 'GET', '/slidewin/info',
                    fields => { Host => 'other.example' })->{status}, 403,
   '... no other name');

is(status('/slidewin/info'), 200, 'a client on a unix socket is');
is(SlidewinApi::ask($port, 'GET', '/slidewin/info')->{status}, 200,
   '... and one on 127.0.0.1');
is(`curl -sg -o /dev/null -w '%{http_code}' http://[::1]:$port/slidewin/info`,
   200, '... and one on ::1');

for my $line ('PROXY TCP4 192.0.2.7 127.0.0.1 1 2',
              'PROXY TCP4 127.0.0.1 127.0.0.1 1 2')
{
    my $client = SlidewinApi->connect($proxied);
    $client->write("$line\r\n");
    is($client->ask_here('GET', '/slidewin/info')->{status}, 403, "$line: not");
}

# whom nginx lets in

my %allowed = ('X-Client' => '192.0.2.1');
my %login = (Authorization => 'Basic bWU6c2VjcmV0');

is(status('/denied/info'), 403, 'deny');
is(status('/denied/info', %allowed), 200, 'allow');
is(status('/login/info'), 401, 'without a password');
is(status('/login/info', %login), 200, 'with a password');
is(status('/either/info'), 401, 'satisfy any: neither');
is(status('/either/info', %allowed), 200, '... the address');
is(status('/either/info', %login), 200, '... the password');
is(status('/both/info', %allowed), 401, 'satisfy all: the address alone');
is(status('/both/info', %login), 403, '... the password alone');
is(status('/both/info', %allowed, %login), 200, '... both');

# pages of other sites

for (
    [204],
    [204, 'Sec-Fetch-Site' => 'same-origin'],
    [403, 'Sec-Fetch-Site' => 'cross-site'],
    [403, 'Sec-Fetch-Site' => 'same-site'],
    [403, 'Sec-Fetch-Site' => 'none'],
    [403, 'Sec-Fetch-Site' => ''],
    [403, 'Sec-Fetch-Site' => 'same-origin, cross-site'],
    [403, 'SEC-FETCH-SITE' => 'cross-site'],
    [204, Origin => 'http://localhost'],
    [204, Origin => 'http://LOCALHOST'],
    [204, Origin => 'https://localhost'],
    [403, Origin => 'http://localhost:81'],
    [403, Origin => 'http://localhost.example.com'],
    [403, Origin => 'http://localhos'],
    [403, Origin => 'http://evil.example://localhost'],
    [403, Origin => 'http://evil@localhost'],
    [403, Origin => 'localhost'],
    [403, Origin => 'http://'],
    [403, Origin => '://'],
    [403, Origin => 'null'],
    [403, Origin => ''],
    [204, Origin => 'http://127.0.0.1:8080', Host => '127.0.0.1:8080'],
    [403, Origin => 'http://127.0.0.1', Host => '127.0.0.1:8080'],
    [204, Origin => 'http://localhost', 'Sec-Fetch-Site' => 'same-origin'],
    [403, Origin => 'http://localhost', 'Sec-Fetch-Site' => 'cross-site'],
    [403, Origin => 'http://evil.example', 'Sec-Fetch-Site' => 'same-origin'],
) {
    my ($want, %fields) = @$_;
    my $name = join(', ', map { "$_: $fields{$_}" } sort keys %fields)
               || 'a program';

    for my $prefix (qw(slidewin any)) {
        $nginx->status('/slidewin/info');
        my $got = SlidewinApi::ask($nginx, 'DELETE',
                                   "/$prefix/zones/one/keys/a",
                                   fields => \%fields);
        is($got->{status}, $want, "/$prefix/: $name: $want");
    }

    is(SlidewinApi::ask($nginx, 'GET', '/slidewin/zones/one/keys/a',
                        fields => \%fields)->{status}, 200,
       '... but all may look');
}

my $client = SlidewinApi->connect($nginx);
$client->write("DELETE /slidewin/zones/one/keys/a HTTP/1.0\r\n"
               . "Origin: http://localhost\r\n\r\n");
is($client->answer('DELETE')->{status}, 403, 'an origin without a host');

for my $twice ("Origin: http://localhost\r\nOrigin: http://evil.example",
               "Origin: http://localhost\r\nOrigin: http://localhost",
               "Sec-Fetch-Site: same-origin\r\nSec-Fetch-Site: cross-site")
{
    $client = SlidewinApi->connect($nginx);
    $client->write("DELETE /slidewin/zones/one/keys/a HTTP/1.1\r\n"
                   . "Host: localhost\r\n$twice\r\n\r\n");
    is($client->answer('DELETE')->{status}, 403,
       'more than one: ' . $twice =~ s/\r\n/, /r);
}

# what a browser must know

my %all = (
    'cache-control' => 'no-store',
    'x-content-type-options' => 'nosniff',
    'referrer-policy' => 'no-referrer',
    'cross-origin-resource-policy' => 'same-origin',
);

for (map({ [GET => $_] } @pages), [DELETE => 'zones/one/keys/a'],
     [POST => 'info'], [GET => 'zones/one/keys/'], [HEAD => 'zones'])
{
    my ($method, $page) = @$_;
    my $got = SlidewinApi::ask($nginx, $method, "/slidewin/$page");

    is_deeply({ map { $_ => $got->{header}{$_} } keys %all }, \%all,
              "$method '$page' has each field once");
    is(defined $got->{header}{'content-security-policy'} ? 'yes' : 'no',
       $page eq '' ? 'yes' : 'no', '... and a policy if it is HTML');
    ok(!exists $got->{header}{'access-control-allow-origin'},
       '... and is of no other origin');
}

my $page = SlidewinApi::ask($nginx, 'GET', '/slidewin/');
my $policy = $page->{header}{'content-security-policy'};

for my $tag (qw(script style)) {
    my @texts = $page->{body} =~ m{<$tag[^>]*>(.*?)</$tag>}gs;
    is(scalar @texts, 1, "the page has one $tag");
    my $hash = Digest::SHA::sha256_base64($texts[0]);
    $hash .= '=' while length($hash) % 4;
    like($policy, qr/(?:^|; )$tag-src 'sha256-\Q$hash\E'(?:;|$)/,
         '... and its hash');
}

like($policy, qr/^default-src 'none';/, 'nothing else is allowed');
unlike($policy, qr/unsafe|\*|https?:/, '... from anywhere');
like($policy, qr/frame-ancestors 'none'/, '... nor in a frame');
unlike($page->{body}, qr/ on[a-z]+=| style="/,
       'the page has no code or style in its attributes');

$nginx->stop;
done_testing();
