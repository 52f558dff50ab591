# The client is the address of the connection, or the one that a proxy trusted
# by realip sends; never one that the request itself claims.

use strict;
use warnings;

use Socket ();
use Test::More;

use SlidewinNginx;
use SlidewinRedis;

sub tcp {
    my ($address) = @_;

    socket my $socket, Socket::sockaddr_family($address),
           Socket::SOCK_STREAM(), 0 or die "socket: $!";
    connect $socket, $address or die "connect: $!";

    return bless { socket => $socket, buffer => '', timeout => 30 },
                 'SlidewinNginx::Client';
}

my $loopback6 = Socket::inet_pton(Socket::AF_INET6(), '::1');
my $loopback = Socket::inet_aton('127.0.0.1');

my $v6 = socket(PROBE, Socket::AF_INET6(), Socket::SOCK_STREAM(), 0)
         && bind(PROBE, Socket::pack_sockaddr_in6(0, $loopback6));
close PROBE;

my ($port, $both) = map { SlidewinRedis::free_port() } 1, 2;

my $nginx = SlidewinNginx->start(http => <<'END', server => <<"END");
    slidewin_zone $slidewin_client zone=client:1m rate=2r/h algorithm=log;
    slidewin_zone $remote_addr zone=address:1m rate=2r/h algorithm=log;
    slidewin_zone $http_x_forwarded_for zone=forwarded:1m rate=1r/h algorithm=log;
    slidewin_zone $http_x_key zone=key:1m rate=1r/h algorithm=log;
END
    listen 127.0.0.1:$port;
    @{[$v6 ? "listen [::]:$both ipv6only=off;" : "listen $both;"]}
    real_ip_header X-Forwarded-For;

    location = /who { empty_gif; add_header X-Who \$slidewin_client; }
    location = /client { slidewin zone=client; empty_gif; }
    location = /address { slidewin zone=address; empty_gif; }
    location = /forwarded { slidewin zone=forwarded; empty_gif; }
    location = /key { slidewin zone=key; empty_gif; }

    location /trusted/ {
        set_real_ip_from unix:;
        location = /trusted/who { empty_gif; add_header X-Who \$slidewin_client; }
        location = /trusted/client { slidewin zone=client; empty_gif; }
        location = /trusted/address { slidewin zone=address; empty_gif; }
    }

    location /stranger/ {
        set_real_ip_from 192.0.2.0/24;
        set_real_ip_from 2001:db8::/32;
        location = /stranger/address { slidewin zone=address; empty_gif; }
    }
END

sub who { return $_[0]->get('/who')->{header}{'x-who'} }

is(who(tcp(Socket::pack_sockaddr_in($port, $loopback))), '127.0.0.1', 'IPv4');
is(who(tcp(Socket::pack_sockaddr_in($both, $loopback))), '127.0.0.1',
   'IPv4 on a socket for both families');
is(who($nginx->client), 'unix:', 'a unix socket');

if ($v6) {
    is(who(tcp(Socket::pack_sockaddr_in6($both, $loopback6))), '::/64',
       'IPv6');
}

is(join(' ', $nginx->status('/client', 3)), '200 200 429',
   'all of a unix socket are one client');
is(tcp(Socket::pack_sockaddr_in($port, $loopback))->get('/client')->{status},
   200, 'and IPv4 is another');
is(tcp(Socket::pack_sockaddr_in($both, $loopback))->get('/client')->{status},
   200, 'an IPv4 address mapped into IPv6');
is(tcp(Socket::pack_sockaddr_in($port, $loopback))->get('/client')->{status},
   429, 'is the IPv4 client');


my $client = $nginx->client;

# ask URI, FIELD...: sends each field as a line of its own
sub ask {
    my ($uri, @fields) = @_;

    $client->write("GET $uri HTTP/1.1\r\nHost: localhost\r\n"
                   . join('', map { "$_\r\n" } @fields) . "\r\n");

    return $client->answer;
}

my @network = map {
    ask('/trusted/client',
        sprintf('X-Forwarded-For: 2001:db8:1:2:%x::%x', $_, $_ * 7))->{status}
} 1 .. 1000;

is(SlidewinNginx::tally(@network), '200 x2, 429 x998',
   'a thousand addresses of one network are one client');
is(ask('/trusted/who', 'X-Forwarded-For: 2001:db8:1:2:3:4:5:6')
   ->{header}{'x-who'}, '2001:db8:1:2::/64', 'by its prefix');
is(ask('/trusted/client', 'X-Forwarded-For: 2001:db8:1:3::1')->{status}, 200,
   'the next network is another');


# Addresses that a request claims.

my @rotated = map {
    ask('/address', "X-Forwarded-For: 192.0.2.$_", "X-Real-IP: 192.0.2.$_",
        "Forwarded: for=192.0.2.$_", "Client-IP: 192.0.2.$_")->{status}
} 1 .. 20;

is(SlidewinNginx::tally(@rotated), '200 x2, 429 x18',
   'a forged address has no effect without realip');

@rotated = map {
    ask('/stranger/address', "X-Forwarded-For: 192.0.2.$_")->{status}
} 1 .. 20;

is(SlidewinNginx::tally(@rotated), '429 x20',
   'nor where realip does not trust the connection');

@rotated = map {
    ask('/trusted/address', "X-Forwarded-For: 192.0.2.$_")->{status}
} 1 .. 20;

is(SlidewinNginx::tally(@rotated), '200 x20', 'where it does, it is the client');

@rotated = map {
    ask('/trusted/address', "X-Forwarded-For: 198.51.100.$_, 203.0.113.1")
        ->{status}
} 1 .. 20;

is(SlidewinNginx::tally(@rotated), '200 x2, 429 x18',
   'and only the last address of the field');


# The same field twice.

my @twice = ('X-Forwarded-For: 192.0.2.1', 'X-Forwarded-For: 192.0.2.2');

is(ask('/forwarded', @twice)->{status}, 200, 'two lines are a key');
is(ask('/forwarded', @twice)->{status}, 429, 'and the same one again');
is(ask('/forwarded', 'X-Forwarded-For: 192.0.2.1, 192.0.2.2')->{status}, 429,
   'which is that of one line with both');
is(ask('/forwarded', reverse @twice)->{status}, 200,
   'in another order they are another');

my @keys = ('X-Key: a', 'X-Key: b');

is(ask('/key', @keys)->{status}, 200, 'two lines of any field are a key');
is(ask('/key', @keys)->{status}, 429, 'and the same one again');
is(ask('/key', 'X-Key: c')->{status}, 200, 'another line is another');

$client->close;
$nginx->stop;

done_testing();
