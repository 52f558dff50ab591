# The client behind proxies: the PROXY protocol of both versions,
# X-Forwarded-For through several proxies, listeners of all address families. A
# proxy that is not trusted is itself the client.

use strict;
use warnings;

use File::Temp ();
use IO::Socket::UNIX ();
use Socket ();
use Test::More;

use SlidewinNginx;
use SlidewinRedis;

my %any = (4 => Socket::inet_aton('127.0.0.1'),
           6 => Socket::inet_pton(Socket::AF_INET6(), '::1'));

my $v6 = socket(PROBE, Socket::AF_INET6(), Socket::SOCK_STREAM(), 0)
         && bind(PROBE, Socket::pack_sockaddr_in6(0, $any{6}));
close PROBE;

my $dir = File::Temp::tempdir('slidewin.XXXXXX', TMPDIR => 1, CLEANUP => 1);
chmod 0755, $dir;

my (%port, $servers);

# server NAME, PARAMETERS, TEXT: on IPv4, IPv6 and a unix socket
sub server {
    my ($name, $parameters, $text) = @_;

    $port{$name} = SlidewinRedis::free_port();

    $servers .= "server {\n"
                . "listen 127.0.0.1:$port{$name} $parameters;\n"
                . ($v6 ? "listen [::1]:$port{$name} $parameters;\n" : '')
                . "listen unix:$dir/$name $parameters;\n"
                . $text . <<'END';
    add_header X-Who $slidewin_client always;
    location = /who { empty_gif; }
    location = /limited { slidewin zone=client; empty_gif; }
}
END

    return;
}

my $near = "set_real_ip_from 127.0.0.1;\nset_real_ip_from ::1;\n"
           . "set_real_ip_from unix:;\n";
my $far = $near . "set_real_ip_from 10.0.0.0/8;\n"
          . "set_real_ip_from 2001:db8:ffff::/48;\n";
my $strangers = "set_real_ip_from 192.0.2.0/24;\n"
                . "set_real_ip_from 2001:db8::/32;\n";

server('proxy', 'proxy_protocol', "${near}real_ip_header proxy_protocol;\n");
server('grouped', 'proxy_protocol', "${near}real_ip_header proxy_protocol;\n"
                                    . "slidewin_client_prefix 24 48;\n");
server('untrusted', 'proxy_protocol',
       "${strangers}real_ip_header proxy_protocol;\n");
server('spoken', 'proxy_protocol', '');
server('behind', 'proxy_protocol', "${near}real_ip_header X-Forwarded-For;\n");

server('last', '', "${far}real_ip_header X-Forwarded-For;\n");
server('recursive', '', "${far}real_ip_header X-Forwarded-For;\n"
                        . "real_ip_recursive on;\n"
                        . "slidewin_client_prefix 32 56;\n");
server('stranger', '', "${strangers}real_ip_header X-Forwarded-For;\n"
                       . "real_ip_recursive on;\n");

my $nginx = SlidewinNginx->start(http => <<"END");
    slidewin_zone \$slidewin_client zone=client:1m rate=3r/h algorithm=log;
    $servers
END

# connected NAME, FAMILY: 4, 6 or unix
sub connected {
    my ($name, $family) = @_;
    my $socket;

    if ($family eq 'unix') {
        $socket = IO::Socket::UNIX->new(Peer => "$dir/$name")
            or die "connect: $!";
    } else {
        my $address = $family == 4
                    ? Socket::pack_sockaddr_in($port{$name}, $any{4})
                    : Socket::pack_sockaddr_in6($port{$name}, $any{6});

        socket $socket, Socket::sockaddr_family($address),
               Socket::SOCK_STREAM(), 0 or die "socket: $!";
        connect $socket, $address or die "connect: $!";
    }

    return bless { socket => $socket, buffer => '', timeout => 30 },
                 'SlidewinNginx::Client';
}

# ask CLIENT, URI, X-Forwarded-For...
sub ask {
    my ($client, $uri, @forwarded) = @_;

    $client->write("GET $uri HTTP/1.1\r\nHost: localhost\r\n"
                   . join('', map { "X-Forwarded-For: $_\r\n" } @forwarded)
                   . "\r\n");

    return $client->answer;
}

# who NAME, FAMILY, HEADER, X-Forwarded-For...
sub who {
    my ($name, $family, $header, @forwarded) = @_;
    my $client = connected($name, $family);

    $client->write($header);

    return ask($client, '/who', @forwarded)->{header}{'x-who'} // 'none';
}

sub v1 {
    my ($address) = @_;

    return $address =~ /:/ ? "PROXY TCP6 $address 2001:db8::80 40000 80\r\n"
                           : "PROXY TCP4 $address 192.0.2.80 40000 80\r\n";
}

sub v2_header {
    my ($command, $family, $rest) = @_;

    return "\r\n\r\n\0\r\nQUIT\n"
           . pack 'CCn/a*', 0x20 | $command, $family, $rest;
}

# v2 ADDRESS, MORE: more are further fields of the proxy, as type, length, value
sub v2 {
    my ($address, $more) = @_;
    my $is6 = $address =~ /:/;
    my ($family, $to) = $is6 ? (Socket::AF_INET6(), '2001:db8::80')
                             : (Socket::AF_INET(), '192.0.2.80');

    return v2_header(1, $is6 ? 0x21 : 0x11,
                     join('', map { Socket::inet_pton($family, $_) }
                              $address, $to)
                     . pack('nn', 40000, 80) . ($more // ''));
}

my %self = (4 => '127.0.0.1', 6 => '::/64', unix => 'unix:');
my @families = (4, ($v6 ? 6 : ()), 'unix');


# The PROXY protocol.

my %proxied = (
    '192.0.2.1' => ['192.0.2.1', '192.0.2.0/24'],
    '2001:db8:1:2:3:4:5:6' => ['2001:db8:1:2::/64', '2001:db8:1::/48'],
    '::ffff:192.0.2.9' => ['192.0.2.9', '192.0.2.0/24'],
    '::1' => ['::/64', '::/48'],
);

my @versions = (['1', \&v1], ['2', \&v2],
                ['2 with more', sub { v2($_[0], pack 'Cn/a*', 4, 'x' x 9) }]);

for my $family (@families) {
    for (@versions) {
        my ($version, $header) = @$_;
        my $way = "PROXY protocol $version, over $family";

        for my $address (sort keys %proxied) {
            my ($client, $group) = @{$proxied{$address}};
            my $text = $header->($address);

            is(who('proxy', $family, $text), $client, "$way: $address");
            is(who('grouped', $family, $text), $group, '... grouped');
            is(who('proxy', $family, $text, '203.0.113.1'), $client,
               '... whatever the request claims');
            is(who('untrusted', $family, $text), $self{$family},
               '... not from one that is not trusted');
            is(who('spoken', $family, $text), $self{$family},
               '... nor where realip is not asked for');
            is(who('behind', $family, $text), $self{$family},
               '... nor where it takes another field');
            is(who('behind', $family, $text, '203.0.113.1'), '203.0.113.1',
               '... and then it is that');
        }
    }

    is(who('proxy', $family, "PROXY UNKNOWN\r\n"), $self{$family},
       "over $family: a proxy that does not know whom it speaks for");
    is(who('proxy', $family, v2_header(0, 0, '')), $self{$family},
       "over $family: a proxy that speaks for itself");
    is(who('proxy', $family, v2_header(1, 0x31, "\0" x 216)), $self{$family},
       "over $family: a proxy with a client on a unix socket");
}


# X-Forwarded-For: back through all trusted addresses to the first that is not.

my @chains = (
    # X-Forwarded-For, the client with real_ip_recursive, the client without
    ['203.0.113.9, 192.0.2.1', '192.0.2.1', '192.0.2.1'],
    ['203.0.113.9, 192.0.2.1, 10.1.2.3', '192.0.2.1', '10.1.2.3'],
    ['203.0.113.9, 192.0.2.1, 10.1.2.3, 10.3.2.1', '192.0.2.1', '10.3.2.1'],
    ['10.9.9.9, 10.1.2.3', '10.9.9.9', '10.1.2.3'],
    ['203.0.113.9, 2001:db8:1:2ff::1, 2001:db8:ffff::1',
     '2001:db8:1:200::/56', '2001:db8:ffff::/64'],
    ['2001:db8:1:2ff::1, 10.1.2.3', '2001:db8:1:200::/56', '10.1.2.3'],
    ['::ffff:192.0.2.1', '192.0.2.1', '192.0.2.1'],
    ['::1', '::/56', '::/64'],
    ['[2001:db8:1:2ff::1]:4711', '2001:db8:1:200::/56', '2001:db8:1:2ff::/64'],
    ['192.0.2.1:4711', '192.0.2.1', '192.0.2.1'],
    ['192.0.2.1, nobody, 10.1.2.3', '10.1.2.3', '10.1.2.3'],
);

for my $family (@families) {
    for my $chain (@chains) {
        my ($chain, $recursive, $last) = @$chain;

        is(who('recursive', $family, '', $chain), $recursive,
           "over $family, recursive: $chain");
        is(who('last', $family, '', $chain), $last, '... the last alone');
        is(who('stranger', $family, '', $chain), $self{$family},
           '... not from one that is not trusted');
    }

    is(who('recursive', $family, '', '192.0.2.1', '10.1.2.3, 10.3.2.1'),
       '192.0.2.1', "over $family, recursive: through two lines");

    my $self = $self{$family} =~ s/64/56/r;

    is(who('recursive', $family, '', $_), $self, "over $family: '$_'")
        for '', 'nobody', 'unix:', '192.0.2.256', '2001:db8::1::2';
}


# The same client is counted as one by whatever protocol its address arrives.

my @ways = (
    sub {
        my $client = connected('proxy', 4);
        $client->write(v1($_[0]));
        return ask($client, '/limited');
    },
    sub {
        my $client = connected('proxy', 'unix');
        $client->write(v2($_[0]));
        return ask($client, '/limited');
    },
    sub { ask(connected('last', 4), '/limited', $_[0]) },
    sub { ask(connected('last', 'unix'), '/limited', $_[0]) },
    sub { ask(connected('last', 4), '/limited', "192.0.2.$_, $_[0]") },
);

for ([map { '198.51.100.7' } @ways], [map { "2001:db8:7:7:$_\::1" } 1 .. @ways],
     ['198.51.100.8', '::ffff:198.51.100.8', '198.51.100.8',
      '::ffff:198.51.100.8', '198.51.100.8'])
{
    my @addresses = @$_;

    is(join(' ', map { $ways[$_]->($addresses[$_])->{status} } 0 .. $#ways),
       '200 200 200 429 429', "one client: $addresses[1] and the others");
}

# all requests of a connection are of the same client
my $kept = connected('proxy', 4);
$kept->write(v1('198.51.100.9'));

is(join(' ', map { ask($kept, '/limited', "203.0.113.$_")->{status} } 1 .. 4),
   '200 200 200 429', 'requests of one connection are of one client');

# no request was counted for the proxy
is(join(' ', map {
       my $client = connected('spoken', 4);
       $client->write(v1("198.51.100.1$_"));
       ask($client, '/limited')->{status};
   } 1 .. 4), '200 200 200 429', 'who is not asked about is the proxy');

$kept->close;
$nginx->stop;

done_testing();
