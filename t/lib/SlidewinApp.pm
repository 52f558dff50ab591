package SlidewinApp;

# An application behind nginx: a process that answers each request by a function
# of the suite, and notes which requests reached it.

use strict;
use warnings;

use File::Temp ();
use IO::Socket::INET ();
use SlidewinNginx ();
use SlidewinProcess ();

our @ISA = ('SlidewinProcess');

# start CODE: the code gets { method, uri, header => {}, body } and returns a
# status, a body and fields, or nothing: then there is no answer until nginx
# closes the connection. Without code the answer is always 200. A body that is
# code itself is sent in parts: it gets a function that sends one, and returns
# the fields of a trailer.
sub start {
    my ($class, $code) = @_;
    my $address = SlidewinProcess::own_address();
    my $listener = IO::Socket::INET->new(LocalAddr => $address, Listen => 1024,
                                         ReuseAddr => 1)
        or die "listen on $address: $@";
    my $notes = File::Temp->new;
    my $self = bless { address => $address, notes => $notes }, $class;

    return $self->launch(sub {
        $notes->autoflush(1);
        _serve($listener, $notes, $code // sub { 200 });
    });
}

sub address { return $_[0]{address} }

# "METHOD URI" of each request that came
sub seen {
    my ($self) = @_;

    return split /\n/, SlidewinNginx::slurp($self->{notes}->filename);
}

sub _serve {
    my ($listener, $notes, $code) = @_;

    while (1) {
        my $socket = $listener->accept or next;
        my $request = _request($socket) or next;

        print $notes "$request->{method} $request->{uri}\n";

        my ($status, $body, %fields) = $code->($request);

        if (!defined $status) {
            1 while sysread $socket, $body, 1;
            next;
        }

        $body //= "$request->{method} $request->{uri}\n";

        my $parts = ref $body eq 'CODE';

        print $socket "HTTP/1.1 $status Said\r\n", _fields(%fields),
                      $parts ? "Transfer-Encoding: chunked\r\n"
                      : 'Content-Length: ' . length($body) . "\r\n",
                      "Connection: close\r\n\r\n", $parts ? '' : $body;
        _send_parts($socket, $body) if $parts;
        close $socket;
    }
}

sub _fields {
    my (%fields) = @_;

    return map { "$_: $fields{$_}\r\n" } sort keys %fields;
}

# who reads them may have left
sub _send_parts {
    my ($socket, $code) = @_;
    local $SIG{PIPE} = 'IGNORE';

    $socket->autoflush(1);

    my %trailer = $code->(sub {
        printf $socket "%x\r\n%s\r\n", length $_[0], $_[0];
    });

    print $socket "0\r\n", _fields(%trailer), "\r\n";

    return;
}

sub _request {
    my ($socket) = @_;
    my $text = '';

    while ($text !~ /\r\n\r\n/) {
        sysread $socket, $text, 65536, length $text or return;
    }

    my ($head, $body) = split /\r\n\r\n/, $text, 2;
    my ($line, @lines) = split /\r\n/, $head;
    my ($method, $uri) = split ' ', $line;
    my %header = map { /^([^:]+): *(.*)$/ ? (lc $1, $2) : () } @lines;

    while (length $body < ($header{'content-length'} // 0)) {
        sysread $socket, $body, 65536, length $body or return;
    }

    return { method => $method, uri => $uri, header => \%header,
             body => $body };
}

1;
