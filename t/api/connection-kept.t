# After any answer the connection serves the next request; a body that nobody
# reads is discarded, however it comes.

use strict;
use warnings;

use SlidewinApi;
use SlidewinNginx;
use SlidewinRedis;
use Test::More;

my $port = SlidewinRedis::free_port();
my $redis = SlidewinRedis->start;

my $nginx = SlidewinNginx->start(
    http => 'slidewin_zone $arg_k zone=one:1m rate=2r/40d store=local;'
            . 'slidewin_zone $arg_k zone=remote:1m rate=2r/40d;'
            . 'slidewin_redis ' . $redis->url . ' timeout=5s;',
    server => <<"END",
        listen 127.0.0.1:$port http2;
        slidewin zone=one;
        location /slidewin/ { slidewin_api write=on; }
        location /mine/ { slidewin_api; slidewin zone=one; }
        location = /a { empty_gif; }
        location = /r { slidewin zone=remote; empty_gif; }
END
);

my @requests = (
    [GET => '', 200], [GET => 'info', 200], [HEAD => 'info', 200],
    [GET => 'zones', 200], [GET => 'nosuch', 404], [POST => 'info', 405],
    [HEAD => 'nosuch', 404], [GET => 'zones/one/keys/', 400],
    [GET => 'zones/one/keys/a', 200], [DELETE => 'zones/one/keys/a', 204],
    [GET => 'zones/remote/keys/a', 200], [HEAD => 'zones/remote/keys/a', 200],
    [DELETE => 'zones/remote/keys/a', 204], [GET => 'metrics', 200],
    [GET => 'stores', 200], [DELETE => 'info', 405],
);

my $chunked = "5\r\nhello\r\n0\r\n\r\n";

for my $request (@requests) {
    my ($method, $page, $want) = @$request;
    my $client = SlidewinApi->connect($nginx);

    is($client->ask_here($method, "/slidewin/$page")->{status}, $want,
       "$method '$page'");

    is($client->ask_here($method, "/slidewin/$page", body => 'GET / HTTP/1.1')
              ->{status}, $want, '... with a body');

    is($client->ask_here($method, "/slidewin/$page", body => 'x' x 100_000)
              ->{status}, $want, '... with a long one');

    $client->write(SlidewinApi::text($method, "/slidewin/$page", fields =>
                       { 'Transfer-Encoding' => 'chunked' }) . $chunked);
    is($client->answer($method)->{status}, $want, '... in chunks');

    my $text = SlidewinApi::text($method, "/slidewin/$page",
                                 fields => { 'Content-Length' => 30 });
    $client->write($text . '0123456789');
    is($client->answer($method)->{status}, $want, '... that comes late');
    $client->write('0123456789');
    $client->write('0123456789'
                   . SlidewinApi::text('GET', '/slidewin/info'));
    is($client->answer('GET')->{status}, 200,
       '... and the next request is answered');

    # all at once

    $client->write(join '', map {
        SlidewinApi::text($method, "/slidewin/$page", body => $_)
    } '', 'body', '');
    is(join(' ', map { $client->answer($method)->{status} } 1 .. 3),
       join(' ', ($want) x 3), '... pipelined');

    my $last = $client->ask_here($method, "/slidewin/$page",
                                 fields => { Connection => 'close' });
    is($last->{status}, $want, '... and the last one');
    ok($client->at_end, '... ends the connection');
}

# a client that waits for 100

my $client = SlidewinApi->connect($nginx);
$client->write(SlidewinApi::text('DELETE', '/slidewin/zones/one/keys/a',
                                 fields => { Expect => '100-continue',
                                             'Content-Length' => 3 }));
is($client->answer('DELETE')->{status}, 100, 'a client may send its body');
is($client->answer('DELETE')->{status}, 204, '... has its answer');
$client->write('abc' . SlidewinApi::text('GET', '/slidewin/info'));
is($client->answer('GET')->{status}, 200, '... and the next one');

# a client that leaves inside its body

for my $page (qw(info zones/remote/keys/a zones/one/keys/a)) {
    my $client = SlidewinApi->connect($nginx);
    $client->write(SlidewinApi::text('GET', "/slidewin/$page",
                                     fields => { 'Content-Length' => 30 }));
    close $client->{socket};
}

# HTTP/2

# statuses METHOD, PAGE, OPTIONS: of two streams of one connection, and how that
# ended if not well
sub statuses {
    my ($method, $page, $options) = @_;
    my $uris = join ' ', map { "'http://127.0.0.1:$port/slidewin/$page?$_'" }
                         1, 2;
    my $said = `nghttp -nv --no-dep -H':method: $method' $options $uris 2>&1`;

    return join ' ', $said =~ /:status: (\d+)/g,
                     grep { !/NO_ERROR/ } $said =~ /error_code=(\w+)/g;
}

for my $request (@requests) {
    my ($method, $page, $want) = @$request;

    is(statuses($method, $page, ''), "$want $want",
       "HTTP/2: $method '$page' twice");
    is(statuses($method, $page, "-d $0"), "$want $want", '... with a body');
}

# a limit of the server does not apply

is(join(' ', $nginx->status('/a?k=full', 3)), '200 200 429',
   'the server has a limit');

for my $prefix (qw(slidewin mine)) {
    is(SlidewinNginx::tally(map {
        SlidewinApi::ask($nginx, 'GET', "/$prefix/info?k=full")->{status}
    } 1 .. 5), '200 x5', "/$prefix/ has none");
}

is(SlidewinApi::decode(SlidewinApi::ask($nginx, 'GET',
    '/slidewin/zones/one/keys/full')->{body})->{remaining}, 0,
   '... and counted nothing');

$nginx->stop;
done_testing();
