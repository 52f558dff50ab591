# --where takes the requests that its expression says. What is wrong in one is
# named.

use strict;
use warnings;

use SlidewinReplay;
use Test::More;

my $dir = SlidewinReplay::directory();
my $begin = 1763300000000;      # 2025-11-16T13:33:20Z

my @lines = (
    { method => 'POST', uri => '/login', status => 401 },               # 1
    { method => 'GET', uri => '/login?next=/a', status => 200 },        # 2
    { method => 'POST', uri => '/login/', status => 302 },              # 3
    { method => 'GET', uri => '/%6cogin', status => 200 },              # 4
    { method => 'GET', uri => '/Login', status => 404 },                # 5
    { method => 'GET', uri => '/img/a.png', status => 200 },            # 6
    { method => 'HEAD', uri => '/img/b.PNG?x=1&y=2', status => 304 },   # 7
    { method => 'PUT', uri => '/a%20b', status => 503 },                # 8
    { method => 'GET', uri => '/?q=or', status => 200 },                # 9
    { method => 'GET', uri => '/q?x=and', status => 429 },              # 10
);

$lines[$_]{time} = $begin + 1000 * $_ for 0 .. $#lines;
$lines[$_]{client} = '192.0.2.' . $_ % 3 for 0 .. $#lines;

my $path = SlidewinReplay::write("$dir/log", join '', map {
    SlidewinReplay::line('combined', { %$_, agent => 'curl/7.88 "x' =~ tr/"//dr })
} @lines);

sub chosen {
    my ($expression, @expected) = @_;
    my $said = SlidewinReplay::run('--where', $expression, '--rate', '5r/m',
                                   '--key', '$remote_addr', '--json',
                                   '--decisions', "$dir/decisions", $path);
    my @lines = map { $_->[1] } SlidewinReplay::decisions("$dir/decisions");

    unlink "$dir/decisions";
    is("@lines", "@expected", $expression) or diag($said->{stderr});

    return;
}

chosen('uri = /login', 1, 2, 4);
chosen("uri = '/login'", 1, 2, 4);
chosen('uri = "/login"', 1, 2, 4);
chosen('uri=/login', 1, 2, 4);
chosen('uri ^~ /login', 1 .. 4);
chosen('uri ~ ^/login$', 1, 2, 4);
chosen('uri ~* ^/login', 1 .. 5);
chosen('uri ~ \.png$', 6);
chosen("uri ~* '\\.(png|jpg)\$'", 6, 7);
chosen('uri ~* \.(png|jpg)$', 6, 7);
chosen('(uri ~* \.(png|jpg)$)', 6, 7);
chosen('uri !~ ^/login', 5 .. 10);
chosen('uri !~* ^/login', 6 .. 10);
chosen("uri = '/a b'", 8);
chosen('request_uri ^~ /a%20', 8);
chosen('request_uri = /login?next=/a', 2);
chosen('args = x=and', 10);
chosen("args = ''", 1, 3, 4, 5, 6, 8);
chosen('args ~ x=', 7, 10);
chosen('method = POST', 1, 3);
chosen('method != GET', 1, 3, 7, 8);
chosen('status = 200', 2, 4, 6, 9);
chosen('status >= 400', 1, 5, 8, 10);
chosen('status > 404 and status < 503', 10);
chosen('status <= 302', 2, 3, 4, 6, 9);
chosen('client = 192.0.2.1', 2, 5, 8);
chosen('client ^~ 192.0.2. and status = 429', 10);
chosen('$remote_addr = 192.0.2.0', 1, 4, 7, 10);
chosen('$http_user_agent ~ curl', 1 .. 10);
chosen('$request_method = PUT', 8);
chosen('$arg_y = 2', 7);
chosen('time >= 2025-11-16T13:33:27Z', 8 .. 10);
chosen('time < 2025-11-16T14:33:21+01:00', 1);
chosen('time > 1763300007', 9, 10);
chosen('time >= 1763300001 and time <= 1763300003', 2 .. 4);

chosen('uri ^~ /login and method = POST', 1, 3);
chosen('uri = /login or uri ^~ /img', 1, 2, 4, 6, 7);
chosen('not uri ^~ /login', 5 .. 10);
chosen('not not method = POST', 1, 3);
# and binds more than or, not more than both
chosen('method = POST or method = GET and status = 404', 1, 3, 5);
chosen('(method = POST or method = GET) and status = 404', 5);
chosen('not method = POST and uri ^~ /login', 2, 4);
chosen('not (method = POST and uri ^~ /login)', 2, 4 .. 10);
chosen('method=POST and(uri=/login or(status=302))', 1, 3);
chosen("  uri   =   '/login'   and\tmethod = POST ", 1);

my $deep = 40;
chosen('(' x $deep . 'method = POST' . ')' x $deep, 1, 3);

my $json = SlidewinReplay::json('--where', 'method = POST', '--rate', '1r/m',
                                '--key', '$remote_addr', $path);
is_deeply([@$json{qw(lines requests left_out where)}],
          [10, 2, 8, 'method = POST'], 'what is not chosen is left out');


# what is wrong

for my $case (
    ['', qr/expected|empty/], ['uri', qr/uri|end/], ['uri =', qr/=|end/],
    ['= /login', qr/=/],
    ['uri == /login', qr/==/], ['url = /login', qr/url/],
    ['uri = /login and', qr/and/], ['and uri = /login', qr/and/],
    ['uri = /a uri = /b', qr/uri/], ['(uri = /a', qr/\)/],
    ['uri = /a)', qr/\)/], ['()', qr/\)/], ['not', qr/not/],
    ["uri = '/login", qr/'|quote/], ['uri = "/login', qr/"|quote/],
    ['uri ~ (a', qr/\(a/], ['uri ~ [a', qr/\[a/], ['status > many', qr/many/],
    ['time > yesterday', qr/yesterday/], ['status => 400', qr/=>/],
    ['$ = 1', qr/\$/], ['uri > 1 or status', qr/status|end/],
    ['uri = /a; method = GET', qr/;|method/],
    ['(' x 100000 . 'uri = /a', qr/deep|nest|parenthes/],
) {
    my ($expression, $named) = @$case;
    my $said = SlidewinReplay::run('--where', $expression, '--rate', '5r/m',
                                   '--key', '$remote_addr', $path);

    is($said->{exit}, 2, 'refused: ' . substr $expression, 0, 40);
    like($said->{stderr}, qr/\Aslidewin-replay: .*where/, '... names --where');
    like($said->{stderr} =~ s/\A.*?where//sr, $named, '... and the place');
    is($said->{stdout}, '', '... and replays nothing');
}

done_testing();
