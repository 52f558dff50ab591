package SlidewinProxy;

# A way to a server on the loopback that can be made narrow or closed. Bytes
# that may not pass are not read, so that the buffers of the sender fill up.

use strict;
use warnings;

use IO::Socket::INET ();
use SlidewinProcess ();
use Socket ();

our @ISA = ('SlidewinProcess');

# start(PORT, up => {}, down => {}): up is from the client to the server. Each
# direction has chunk, how many bytes pass at a time, and most, how many may
# still pass.
sub start {
    my ($class, $port, %ways) = @_;

    my $listener = IO::Socket::INET->new(
        LocalAddr => '127.0.0.1', Listen => 128)
        or die "listen: $!";

    # or the system would buffer megabytes on the loopback
    $listener->setsockopt(Socket::SOL_SOCKET(), Socket::SO_RCVBUF(), 4096);
    $listener->setsockopt(Socket::IPPROTO_TCP(), Socket::TCP_MAXSEG(), 536);

    my $self = bless { port => $listener->sockport }, $class;

    return $self->launch(sub {
        _run({ listener => $listener, control => $_[0], port => $port,
               up => {}, down => {}, %ways, ends => [],
               stats => { accepts => 0, up => 0, down => 0, heard => '' } });
    });
}

sub port { return $_[0]{port} }

# new values for a direction, in force when this returns
sub up { my ($self, %way) = @_; $self->order(up => \%way); return }

sub down { my ($self, %way) = @_; $self->order(down => \%way); return }

# { accepts, up, down, heard }: bytes that went up and down, and the first of
# those that went up
sub stats { return $_[0]->order('stats') }

sub _run {
    my ($self) = @_;

    while (1) {
        my ($read, $write) = ('', '');

        vec($read, fileno $self->{control}, 1) = 1;
        vec($read, fileno $self->{listener}, 1) = 1;

        for my $end (@{$self->{ends}}) {
            my $way = $self->{$end->{way}};

            if (length $end->{buffer}) {
                vec($write, fileno $end->{to}, 1) = 1;
            } elsif (!defined $way->{most} || $way->{most} > 0) {
                vec($read, fileno $end->{from}, 1) = 1;
            }
        }

        select $read, $write, undef, undef;

        if (vec $read, fileno $self->{control}, 1) {
            my $order = SlidewinProcess::next_order($self->{control})
                        // return;
            my ($verb, $value) = @$order;

            $self->{$verb} = $value if $value;
            SlidewinProcess::answer($self->{control}, $self->{stats});
        }

        _accept($self) if vec $read, fileno $self->{listener}, 1;

        for my $end (@{$self->{ends}}) {
            next if !$end->{from}->opened || !$end->{to}->opened;
            _read($self, $end) if vec $read, fileno $end->{from}, 1;
            _write($self, $end)
                if $end->{to}->opened && vec $write, fileno $end->{to}, 1;
        }

        @{$self->{ends}} = grep { $_->{from}->opened && $_->{to}->opened }
                           @{$self->{ends}};
    }
}

sub _accept {
    my ($self) = @_;
    my $client = $self->{listener}->accept // return;
    my $server = IO::Socket::INET->new(PeerAddr => '127.0.0.1',
                                       PeerPort => $self->{port}) // return;

    $self->{stats}{accepts}++;

    for ($client, $server) {
        $_->blocking(0);
        $_->setsockopt(Socket::IPPROTO_TCP(), Socket::TCP_NODELAY(), 1);
    }

    push @{$self->{ends}},
        { way => 'up', from => $client, to => $server, buffer => '' },
        { way => 'down', from => $server, to => $client, buffer => '' };

    return;
}

sub _read {
    my ($self, $end) = @_;
    my $way = $self->{$end->{way}};
    my $n = $way->{chunk} // 65536;

    $n = $way->{most} if defined $way->{most} && $way->{most} < $n;
    return if $n == 0;

    my $got = sysread $end->{from}, $end->{buffer}, $n;

    return if !defined $got && $!{EAGAIN};
    return _close($end) if !$got;

    $way->{most} -= $got if defined $way->{most};

    my $stats = $self->{stats};
    $stats->{heard} .= $end->{buffer}
        if $end->{way} eq 'up' && length $stats->{heard} < 65536;

    return;
}

sub _write {
    my ($self, $end) = @_;
    my $n = syswrite $end->{to}, $end->{buffer};

    return if !defined $n && $!{EAGAIN};

    # the receiver has closed; what it sent before is still passed on
    $n //= length $end->{buffer};

    $self->{stats}{$end->{way}} += $n;
    substr $end->{buffer}, 0, $n, '';

    return;
}

sub _close {
    my ($end) = @_;

    close $end->{from};
    close $end->{to};

    return;
}

1;
