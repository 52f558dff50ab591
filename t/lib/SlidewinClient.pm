package SlidewinClient;

# Raw clients for Test::Nginx blocks.  A "--- client" section holds Perl that
# runs in place of "--- request" once the block's nginx is up; error_log and
# access_log sections are checked afterwards, as ever.  An [alert] or worse,
# then or at shutdown, fails the block.

use strict;
use warnings;

use Exporter 'import';
use IO::Select;
use IO::Socket::INET;
use Socket qw(SOL_SOCKET SO_LINGER IPPROTO_TCP TCP_NODELAY);
use Test::More ();
use Test::Nginx::Socket ();
use Test::Nginx::Util ();
use Time::HiRes qw(sleep time);

our @EXPORT = qw(
    access_lines error_lines get nginx_pid open_files port statuses tcp
    upstream wait_until
);

# how long a slow machine may take; nothing waits for it when all is well
our $PATIENCE = 20;

my $GRAVE = qr/\[(?:alert|crit|emerg)\]/;

Test::Nginx::Util::timeout($PATIENCE);

Test::Nginx::Util::add_block_preprocessor(sub {
    my $block = shift;

    for my $section (qw(no_error_log no_shutdown_error_log)) {
        if (!defined $block->$section) {
            $block->set_value($section, $GRAVE);
        }
    }
});

my $helper = $Test::Nginx::Util::RunTestHelper;

$Test::Nginx::Util::RunTestHelper = sub {
    my ($block, $dry_run, $repeated) = @_;

    return $helper->(@_) if !defined $block->client;

    my $code = eval "package main; use strict; use warnings; sub {\n#line 1 \""
                    . $block->name . "\"\n" . $block->client . "\n}";

    local $Test::Builder::Level = $Test::Builder::Level + 1;

    # Test::Nginx loses the exit code of a suite that dies
    $code && eval {
        wait_until(sub { tcp() }) or die "nginx does not answer\n";
        $code->($block);
        1;
    } or Test::More::fail($block->name . ": died: $@");

    &Test::Nginx::Socket::check_error_log($block, undef, $dry_run, $repeated,
                                          0);
    &Test::Nginx::Socket::check_access_log($block, $dry_run, $repeated);
};


# the block's own port, or that of $TEST_NGINX_RAND_PORT_<n>
sub port {
    my $n = shift;

    return $n ? $Test::Nginx::Util::RandPorts->{"TEST_NGINX_RAND_PORT_$n"}
              : $Test::Nginx::Util::ServerPortForClient;
}

sub nginx_pid {
    my ($pid) = _lines($Test::Nginx::Util::PidFile);
    chomp $pid;
    return $pid;
}

sub open_files {
    my @files = glob '/proc/' . nginx_pid() . '/fd/*';
    return scalar @files;
}

sub access_lines {
    my $pattern = shift;
    return grep { /$pattern/ } _lines($Test::Nginx::Util::AccLogFile);
}

sub error_lines {
    my $pattern = shift;
    return grep { /$pattern/ } _lines($Test::Nginx::Util::ErrLogFile);
}

sub _lines {
    open my $in, '<', shift or return;
    return <$in>;
}

sub wait_until {
    my ($done, $result) = @_;

    for (my $end = time + $PATIENCE; time < $end; sleep 0.01) {
        return $result if $result = $done->();
    }

    return;
}


# one request on a connection of its own
sub get {
    my ($uri, @headers) = @_;

    my $c = tcp();
    $c->write(join "\r\n", "GET $uri HTTP/1.1", 'Host: localhost',
              'Connection: close', @headers, '', '');
    return $c->response;
}

# "200 200 429"
sub statuses {
    my ($n, $uri) = @_;
    return join ' ', map { get($uri)->{status} } 1 .. $n;
}


# ReuseAddr: or the port that a client leaves behind could not be listened on
# for a minute, and an nginx may have been given that very port
sub tcp {
    my $sock = IO::Socket::INET->new(PeerAddr => '127.0.0.1',
                                     PeerPort => shift || port(),
                                     ReuseAddr => 1, Timeout => $PATIENCE)
        or return;

    return SlidewinClient::Connection->new($sock);
}


# an upstream that answers when the test says so: accept, read, write
sub upstream {
    my $sock = IO::Socket::INET->new(LocalAddr => '127.0.0.1',
                                     LocalPort => shift, Listen => 64,
                                     ReuseAddr => 1)
        or die "listen: $!";

    return SlidewinClient::Upstream->new($sock);
}


package SlidewinClient::Upstream;

sub new {
    my ($class, $sock) = @_;
    return bless { sock => $sock }, $class;
}

# called SECONDS: whether nginx connects within so many seconds
sub called {
    my ($self, $within) = @_;
    return IO::Select->new($self->{sock})->can_read($within) ? 1 : 0;
}

sub accept {
    my $self = shift;

    $self->called($SlidewinClient::PATIENCE) or die 'nginx does not connect';
    return SlidewinClient::Connection->new(scalar $self->{sock}->accept);
}


package SlidewinClient::Connection;

sub new {
    my ($class, $sock) = @_;

    $sock->setsockopt(Socket::IPPROTO_TCP, Socket::TCP_NODELAY, 1);
    return bless { sock => $sock, buf => '' }, $class;
}

sub write {
    my ($self, $bytes) = @_;

    local $SIG{PIPE} = 'IGNORE';

    while (length $bytes) {
        my $n = syswrite $self->{sock}, $bytes;
        return if !defined $n;
        substr($bytes, 0, $n) = '';
    }

    return 1;
}

# appends what comes next to the buffer; 0 at the end, undef if nothing came
sub more {
    my ($self, $within) = @_;

    $within //= $SlidewinClient::PATIENCE;
    return if !IO::Select->new($self->{sock})->can_read($within);

    my $n = sysread $self->{sock}, $self->{buf}, 65536, length $self->{buf};
    return $n // 0;
}

# exactly so many bytes
sub read {
    my ($self, $n) = @_;

    while (length $self->{buf} < $n) {
        $self->more or return;
    }

    return substr $self->{buf}, 0, $n, '';
}

# up to and with the text
sub read_to {
    my ($self, $text) = @_;
    my $i;

    while (($i = index $self->{buf}, $text) < 0) {
        $self->more or return;
    }

    return substr $self->{buf}, 0, $i + length $text, '';
}

# all there is until the other side closes
sub rest {
    my $self = shift;

    1 while $self->more;
    return $self->{buf};
}

sub quiet {
    my ($self, $seconds) = @_;
    return $self->{buf} eq '' && !defined $self->more($seconds);
}

sub closed {
    my $self = shift;

    my $n = $self->more;
    return defined $n && $n == 0 && $self->{buf} eq '';
}

# a request or a response: {line, status, headers, body}
sub message {
    my ($self, %is) = @_;

    my $head = $self->read_to("\r\n\r\n");
    return { line => '', status => 'none', headers => {}, body => '' }
        if !defined $head;

    my ($line, @fields) = split /\r\n/, $head;
    my %headers;

    for my $field (@fields) {
        my ($name, $value) = $field =~ /^([^:]+):\s*(.*)$/ or next;
        push @{ $headers{lc $name} }, $value;
    }

    $_ = join ', ', @$_ for values %headers;

    my ($status) = $line =~ m{^HTTP/1\.[01] (\d+)};

    my $m = { line => $line, status => $status, headers => \%headers,
              head => $head, body => '' };

    return $m if $is{head}
                 || defined $status && $status =~ /^(?:1..|204|304)$/;

    if (($headers{'transfer-encoding'} // '') eq 'chunked') {
        while ($self->read_to("\r\n") =~ /^([1-9a-f][0-9a-f]*)\r/i) {
            $m->{body} .= $self->read(hex $1);
            $self->read(2);
        }

        $self->read_to("\r\n");

    } elsif (defined $headers{'content-length'}) {
        $m->{body} = $self->read($headers{'content-length'});

    } elsif (defined $status) {
        $m->{body} = $self->rest;
        $self->{buf} = '';
    }

    return $m;
}

sub response { goto &message }

sub request { goto &message }

sub finish {
    my $self = shift;
    shutdown $self->{sock}, 1;
}

sub close {
    my $self = shift;
    close delete $self->{sock};
}

sub reset {
    my $self = shift;

    $self->{sock}->setsockopt(Socket::SOL_SOCKET, Socket::SO_LINGER,
                              pack 'ii', 1, 0);
    $self->close;
}

1;
