# examples/grpc.conf: a call over the limit ends with RESOURCE_EXHAUSTED, in
# real gRPC clients.

use strict;
use warnings;

use SlidewinExample;
use SlidewinPeer;
use Test::More;

my $server = SlidewinPeer->serve('grpc_echo');
my $nginx = SlidewinExample->start('grpc', listen => 'listen 50051 http2;',
    change => [
        'server 127.0.0.1:50051;' => 'server ' . $server->address . ';',
    ]);

sub calls { return SlidewinPeer::ask('grpc_echo', $nginx->where, @_) }

sub codes {
    my %count;

    $count{$_->{code}}++ for @_;

    return join ', ', map { "$_ x$count{$_}" } sort keys %count;
}

# a method with two limits

my @calls = calls('/shop.Orders/Report', 5);

is(codes(@calls), 'OK x3, RESOURCE_EXHAUSTED x2', 'three reports an hour');
is($calls[2]{reply}, 'hello', '... pass through');

for my $call (@calls[3, 4]) {
    my $metadata = $call->{metadata};

    is($call->{details}, 'over the limit of report',
       'a rejection has a message');
    like($metadata->{'grpc-retry-pushback-ms'}, qr/^3[56]\d\d000$/,
         '... and says when to come back');
    is($metadata->{'grpc-retry-pushback-ms'},
       $metadata->{'retry-after'} . '000', '... as Retry-After does');
}

# streams; the reports that passed count here as well

@calls = calls('/shop.Files/Upload', 2, 50);
is(codes(@calls), 'OK x2', 'a stream');
is($calls[0]{reply}, 50, '... has all of its messages');

@calls = calls('/shop.Catalog/Search', 100);

my $passed = grep { $_->{code} eq 'OK' } @calls;

# one more for each six seconds since a window ended
cmp_ok($passed, '>=', 95, 'a stream is one call, and so is a report');
cmp_ok($passed, '<', 100, '... and there are no more than a hundred');
is(codes(@calls), "OK x$passed, RESOURCE_EXHAUSTED x" . (100 - $passed),
   '... rejections are nothing else');

@calls = calls('/shop.Files/Upload', 20, 50);
cmp_ok(scalar(grep { $_->{code} eq 'RESOURCE_EXHAUSTED' } @calls), '>', 0,
       'a stream is rejected while it is being sent');
is(scalar(grep { $_->{code} !~ /^(?:OK|RESOURCE_EXHAUSTED)$/ } @calls), 0,
   '... without any other failure');

# the bytes of the response

sub curl {
    my ($n, @arguments) = @_;
    my $where = 'http://' . $nginx->where;

    open my $curl, '-|', qw(curl -sS -i --http2-prior-knowledge --max-time 60),
         '--interface', "127.0.0.$n", '-H', 'Content-Type: application/grpc',
         '-H', 'TE: trailers', @arguments, "$where/shop.Orders/Report"
        or die "curl: $!";
    local $/;

    return readline $curl;
}

# no message: this curl mishandles a response that comes before the request has
# ended
my $text = curl(1, '-X', 'POST');

like($text, qr{^HTTP/2 200 }, 'a rejection is an answer of gRPC');
like($text, qr{^content-type: application/grpc\r$}m, '... by its type');
like($text, qr{^grpc-status: 8\r$}m, '... with its status');
like($text, qr{^cache-control: no-store\r$}m, '... not to be stored');
like($text, qr{\r\n\r\n\z}, '... and has no body');

my $empty = $nginx->root . '/empty';

open my $file, '>', $empty or die "$empty: $!";
print $file pack 'CN', 0, 0;
close $file;

like(curl(2, '--data-binary', "\@$empty"),
     qr{^HTTP/2 200 .*grpc-status: 0\r$}ms, 'another client passes');

$nginx->stop;

my %seen;

$seen{$_}++ for $server->stop;
is($seen{'/shop.Orders/Report'}, 4, 'the server has seen no rejected report');

done_testing();
