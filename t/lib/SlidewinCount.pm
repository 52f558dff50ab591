package SlidewinCount;

# For suites of count=, reset= and charge=: the same scenario in each store.
# edge() is an nginx with a zone for each algorithm, 5r/40d of the client in ?k=,
# and locations /peek_ZONE that tell what is left of it. Its upstreams: "origin"
# answers /STATUS with that status, "held" when the suite says so, "down" never;
# "told", of told(), tells what a request has cost.

use strict;
use warnings;

use File::Temp ();
use SlidewinNginx ();
use SlidewinRedis ();
use Test::More ();

our @ALGORITHMS = qw(counter fixed strict log);
our $LIMIT = 5;

my $fresh = 0;

# Both stores. An edge has one worker and one connection to Redis: its requests
# reach the store in their order, and no suite has to wait for an earlier one.
sub stores { return map { SlidewinCount->new($_) } qw(local redis) }

sub new {
    my ($class, $name, %options) = @_;

    my $self = bless {
        name => $name,
        sockets => File::Temp::tempdir('slidewin.XXXXXX', TMPDIR => 1,
                                       CLEANUP => 1),
        %options,
    }, $class;

    # the worker may be another user
    chmod 0755, $self->{sockets};

    $self->{redis} //= SlidewinRedis->start if $name eq 'redis';
    $self->{held} = SlidewinCount::Upstream->new("$self->{sockets}/held");
    # a socket on which no process listens any more
    SlidewinCount::Upstream->new("$self->{sockets}/down");

    return $self;
}

sub name { return $_[0]{name} }

sub redis { return $_[0]{redis} }

sub held { return $_[0]{held} }

# edge(http => TEXT, server => TEXT, redis => PARAMETERS, rate => RATE,
# on_error => MODE, url => URL, workers => N, main => TEXT)
sub edge {
    my ($self, %conf) = @_;
    my $n = ++$self->{edges};
    my $on_error = $conf{on_error} // 'closed';
    my $rate = $conf{rate} // "${LIMIT}r/40d";
    my $url = $conf{url} // ($self->{redis} && $self->{redis}->url);
    my $wait = $conf{redis} // 'timeout=20s connect_timeout=20s';

    my $http = $url ? "slidewin_redis $url $wait;\n" : '';
    my $server = 'add_header X-Source $slidewin_source always;'
                 . "\nlocation = /status { stub_status; }\n"
                 . ($conf{server} // '');

    for my $zone (@ALGORITHMS) {
        $http .= "slidewin_zone \$arg_k zone=$zone:1m rate=$rate"
                 . " algorithm=$zone on_error=$on_error;\n";
        $server .= "location = /peek_$zone { slidewin zone=$zone cost=0;"
                   . " empty_gif; }\n";
    }

    my $origin = join '', map { "location = /$_ { return $_; }\n" }
                 qw(200 204 302 401 403 404 429 500 503);

    $http .= ($conf{http} // '') . <<"END";
    slidewin_log_level info;
    upstream origin { server unix:$self->{sockets}/origin$n; }
    upstream held { server unix:$self->{sockets}/held; }
    upstream down { server unix:$self->{sockets}/down; }
    server {
        listen unix:$self->{sockets}/origin$n;
        $origin
    }
END

    return SlidewinNginx->start(workers => $conf{workers} // 1,
                                main => $conf{main} // '', http => $http,
                                server => $server);
}

# told TEXT: for the http of an edge; its upstream "told" answers 200, and has
# in X-Cost what the request has in ?c=. TEXT goes into its server, which
# listens on the socket told1 of the first edge, told2 of the second.
sub told {
    my ($self, $more) = @_;
    my $socket = "unix:$self->{sockets}/told" . ++$self->{told};

    return <<"END";
    upstream told { server $socket; }
    server {
        listen $socket;
        add_header X-Cost \$arg_c always;
        location / { return 200; }
        @{[$more // '']}
    }
END
}

# a client that has made no request yet
sub fresh { return 'k' . ++$fresh }

# left NGINX, ZONE, KEY: the units left for a client, '-' if not known
sub left {
    my ($nginx, $zone, $key) = @_;

    return $nginx->get("/peek_$zone?k=$key")->{header}{'x-remaining'} // '-';
}

# becomes NGINX, ZONE, KEY, WANT, NAME: asserts that left() becomes this, by
# what another worker or edge does
sub becomes {
    my ($nginx, $zone, $key, $want, $name) = @_;
    my $left;

    SlidewinNginx::until_true(sub {
        ($left = left($nginx, $zone, $key)) eq $want;
    }, 10 * SlidewinNginx::patience());

    return Test::More::is($left, $want, $name);
}

sub idle {
    my ($nginx, $name) = @_;

    return Test::More::ok($nginx->busy(0), $name);
}

sub statuses { return join ' ', map { $_->{status} } @_ }


# An upstream that holds requests until the suite answers them.

package SlidewinCount::Upstream;

use strict;
use warnings;

use IO::Socket::UNIX ();

sub new {
    my ($class, $path) = @_;
    my $socket = IO::Socket::UNIX->new(Local => $path, Listen => 128)
        or die "listen: $!";

    chmod 0777, $path;
    $socket->blocking(0);

    return bless { socket => $socket, requests => [] }, $class;
}

# has N: waits for N requests; returns how many there are
sub has {
    my ($self, $n) = @_;

    SlidewinNginx::until_true(sub {
        while (my $c = $self->{socket}->accept) {
            $c->blocking(1);
            my $head = '';
            1 while $head !~ /\r\n\r\n/
                    && sysread $c, $head, 4096, length $head;
            push @{$self->{requests}}, $c;
        }
        return @{$self->{requests}} >= $n;
    }, 10 * SlidewinNginx::patience());

    return scalar @{$self->{requests}};
}

# answer STATUS, N: answers the first N requests, or all
sub answer {
    my ($self, $status, $n) = @_;

    $self->_send($status) for 1 .. $n // @{$self->{requests}};

    return;
}

# tell COST...: answers the first requests with 200, and these in X-Cost
sub tell {
    my ($self, @costs) = @_;

    $self->_send(200, "X-Cost: $_\r\n") for @costs;

    return;
}

sub _send {
    my ($self, $status, $fields) = @_;
    my $c = shift @{$self->{requests}} // die "no request is held\n";

    syswrite $c, "HTTP/1.1 $status X\r\nContent-Length: 0\r\n"
                 . ($fields // '') . "Connection: close\r\n\r\n";
    close $c;

    return;
}

1;
