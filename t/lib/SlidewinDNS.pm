package SlidewinDNS;

# A name server on the loopback for nginx's resolver. The suite sets what it
# answers.

use strict;
use warnings;

use IO::Select ();
use IO::Socket::INET ();
use SlidewinNginx ();
use SlidewinProcess ();
use Socket ();

my %type = (1 => Socket::AF_INET(), 28 => Socket::AF_INET6());

our @ISA = ('SlidewinProcess');

# Names that the suite does not set get NXDOMAIN.
sub start {
    my ($class) = @_;

    my $socket = IO::Socket::INET->new(LocalAddr => '127.0.0.1',
                                       Proto => 'udp')
        or die "no port for a name server: $!";

    my $self = bless { port => $socket->sockport }, $class;

    return $self->launch(sub { _serve($socket, $_[0]) });
}

sub address { return "127.0.0.1:$_[0]{port}" }

# has NAME, ADDRESS...: of both families, in this order; without an address the
# name exists and has none
sub has {
    my ($self, $name, @addresses) = @_;

    return $self->order(set => $name, { addresses => \@addresses });
}

# fails NAME, CODE: 2 is SERVFAIL, 3 NXDOMAIN
sub fails {
    my ($self, $name, $code) = @_;

    return $self->order(set => $name, { code => $code });
}

# ignores NAME: queries for it get no answer
sub ignores {
    my ($self, $name) = @_;

    return $self->order(set => $name, { silent => 1 });
}

# for all answers from now on: their time to live, and how long each takes
sub ttl { return $_[0]->order(ttl => $_[1]) }

sub delay { return $_[0]->order(delay => $_[1]) }

# asked NAME: how many queries came for it, A and AAAA together
sub asked { return $_[0]->order(asked => $_[1]) }

sub _serve {
    my ($socket, $control) = @_;
    my %state = (names => {}, asked => {}, ttl => 1, delay => 0);
    my $select = IO::Select->new($socket, $control);
    my @due;

    while (1) {
        my $wait = @due ? $due[0][0] - SlidewinNginx::now() : undef;

        for my $ready ($select->can_read(defined $wait && $wait < 0 ? 0
                                                                    : $wait))
        {
            if ($ready == $control) {
                my $order = SlidewinProcess::next_order($control) // return;
                SlidewinProcess::answer($control, _obey(\%state, @$order));
                next;
            }

            my $peer = recv $socket, my $query, 4096, 0;
            my $answer = _answer(\%state, $query) // next;

            push @due, [SlidewinNginx::now() + $state{delay}, $peer, $answer];
        }

        while (@due && $due[0][0] <= SlidewinNginx::now()) {
            my (undef, $peer, $answer) = @{shift @due};
            send $socket, $answer, 0, $peer;
        }
    }
}

sub _obey {
    my ($state, $verb, @value) = @_;

    return $state->{asked}{$value[0]} // 0 if $verb eq 'asked';

    if ($verb eq 'set') {
        $state->{names}{$value[0]} = $value[1];
    } else {
        $state->{$verb} = $value[0];
    }

    return 1;
}

sub _answer {
    my ($state, $query) = @_;
    my ($id) = unpack 'n', $query;
    my ($at, @labels) = (12);

    while (my $length = ord substr $query, $at, 1) {
        push @labels, substr $query, $at + 1, $length;
        $at += 1 + $length;
    }

    my $question = substr $query, 12, $at + 5 - 12;
    my $asked = unpack 'n', substr $query, $at + 1, 2;
    my $name = lc join '.', @labels;
    my $said = $state->{names}{$name} // { code => 3 };

    $state->{asked}{$name}++;
    return if $said->{silent};

    my $family = $type{$asked} // return;
    my @records = map {
        my $bytes = Socket::inet_pton($family, $_);
        defined $bytes
            ? pack 'n n n N n/a*', 0xc00c, $asked, 1, $state->{ttl}, $bytes
            : ();
    } @{$said->{addresses} // []};

    return pack('n6', $id, 0x8180 | ($said->{code} // 0), 1,
                scalar @records, 0, 0) . $question . join '', @records;
}

1;
