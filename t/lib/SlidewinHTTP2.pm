package SlidewinHTTP2;

# As much of an HTTP/2 client as the suites need: many streams, bodies sent
# when the test says so, and resets.

use strict;
use warnings;

use SlidewinClient ();

use constant {
    DATA => 0, HEADERS => 1, RST_STREAM => 3, SETTINGS => 4, PING => 6,
    GOAWAY => 7,
    END_STREAM => 1, ACK => 1, END_HEADERS => 4,
    CANCEL => 8,
};

sub new {
    my ($class, $port) = @_;

    my $self = bless { c => SlidewinClient::tcp($port), next => 1,
                       streams => {}, pings => 0 }, $class;

    $self->{c}->write("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"
                      . _frame(SETTINGS, 0, 0, ''));
    return $self;
}

sub _frame {
    my ($type, $flags, $id, $payload) = @_;

    return substr(pack('N', length $payload), 1)
           . pack('CCN', $type, $flags, $id) . $payload;
}

# literals without Huffman coding and without indexing
sub _field {
    my ($name, $value) = @_;
    return pack 'CC/a*C/a*', 0, $name, $value;
}

# the bytes of a request and the id of its stream
sub compose {
    my ($self, $path, %with) = @_;

    my $id = $self->{next};
    $self->{next} += 2;
    $self->{streams}{$id} = { body => '' };

    my $block = _field(':method', $with{method} // 'GET')
                . _field(':scheme', 'http') . _field(':path', $path)
                . _field(':authority', 'localhost');

    for my $name (sort keys %{ $with{headers} // {} }) {
        $block .= _field($name, $with{headers}{$name});
    }

    my $end = $with{open} ? 0 : END_STREAM;

    return $id, _frame(HEADERS, END_HEADERS | $end, $id, $block);
}

sub send {
    my ($self, @frames) = @_;
    return $self->{c}->write(join '', @frames);
}

sub request {
    my ($self, $path, %with) = @_;

    my ($id, $frame) = $self->compose($path, %with);
    $self->send($frame);
    return $id;
}

sub data {
    my ($self, $id, $bytes, $end) = @_;
    $self->send(_frame(DATA, $end ? END_STREAM : 0, $id, $bytes));
}

sub cancel {
    my ($self, @ids) = @_;
    $self->send(map { _frame(RST_STREAM, 0, $_, pack 'N', CANCEL) } @ids);
}

sub goaway {
    my $self = shift;
    $self->send(_frame(GOAWAY, 0, 0, pack 'NN', 0, 0));
}

# returns when the server has seen all that was sent so far
sub sync {
    my $self = shift;

    my $want = $self->{pings} + 1;
    $self->send(_frame(PING, 0, 0, 'slidewin'));

    while ($self->{pings} < $want) {
        $self->_receive or return;
    }

    return 1;
}

# the answers of these streams, each {status, body, reset}
sub answers {
    my ($self, @ids) = @_;

    for my $id (@ids) {
        while (!$self->{streams}{$id}{ended}) {
            $self->_receive or return map { $self->{streams}{$_} } @ids;
        }
    }

    return map { $self->{streams}{$_} } @ids;
}

sub _receive {
    my $self = shift;

    my $head = $self->{c}->read(9) // return;
    my ($high, $low, $type, $flags, $id) = unpack 'CnCCN', $head;
    my $length = $high << 16 | $low;
    my $payload = $length ? $self->{c}->read($length) : '';
    my $stream = $self->{streams}{$id};

    if ($type == PING && $flags & ACK) {
        $self->{pings}++;

    } elsif ($type == SETTINGS && !($flags & ACK)) {
        $self->send(_frame(SETTINGS, ACK, 0, ''));

    } elsif ($type == HEADERS) {
        $stream->{status} //= _status($payload);

    } elsif ($type == DATA) {
        $stream->{body} .= $payload;

    } elsif ($type == RST_STREAM) {
        $stream->{reset} = unpack 'N', $payload;
        $stream->{ended} = 1;
    }

    if (($type == HEADERS || $type == DATA) && $flags & END_STREAM) {
        $stream->{ended} = 1;
    }

    return 1;
}

# nginx sends it first: an entry of the static table, or three digits
sub _status {
    my $block = shift;

    my %static = (0x88 => 200, 0x89 => 204, 0x8a => 206, 0x8b => 304,
                  0x8c => 400, 0x8d => 404, 0x8e => 500);

    $block =~ s/^[\x20-\x3f]//;
    return $static{ord $block} // substr $block, 2, 3;
}

1;
