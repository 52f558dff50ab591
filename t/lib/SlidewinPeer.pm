package SlidewinPeer;

# The programs of t/lib/peers: real servers and clients of the protocols that
# nginx proxies, in Python, with libraries that Debian packages. A server ends
# when its standard input does, so that none outlives its suite.

use strict;
use warnings;

use JSON::PP ();
use POSIX ();
use SlidewinNginx ();
use SlidewinProcess ();

our @ISA = ('SlidewinProcess');

sub _command {
    my ($program, @arguments) = @_;
    my $root = $ENV{SLIDEWIN_ROOT} // '.';

    return ('/usr/bin/python3', '-I', "$root/t/lib/peers/$program.py",
            @arguments);
}

# serve PROGRAM, ARGUMENTS: a server that listens when this returns
sub serve {
    my ($class, $program, @arguments) = @_;
    my $address = SlidewinProcess::own_address();
    my $self = bless { address => $address }, $class;

    pipe my $input, $self->{input} or die "pipe: $!";
    pipe $self->{output}, my $output or die "pipe: $!";

    $self->{pid} = SlidewinProcess::spawn(sub {
        close $self->{input};
        open STDIN, '<&', $input;
        open STDOUT, '>&', $output;
        exec _command($program, 'server', $address, @arguments)
            or POSIX::_exit(127);
    });
    $self->register;
    close $input;
    close $output;

    my $line = readline $self->{output};
    defined $line && $line eq "ready\n"
        or die "the server $program.py does not start\n";

    return $self;
}

sub address { return $_[0]{address} }

# tell LINE: the JSON that the server answers, decoded
sub tell {
    my ($self, $line) = @_;

    syswrite $self->{input}, "$line\n";
    my $answer = readline $self->{output} // die "the server is gone\n";

    return JSON::PP::decode_json($answer);
}

# ends the server; returns the lines that it has printed
sub stop {
    my ($self) = @_;
    my $pid = delete $self->{pid} // return;

    close $self->{input};
    SlidewinNginx::gone($pid, 10) or kill 'KILL', $pid;
    waitpid $pid, 0;
    $self->forget;

    my @lines = readline $self->{output};
    chomp @lines;

    return @lines;
}

# ask PROGRAM, ARGUMENTS: runs a client; the JSON of each line it prints,
# decoded
sub ask {
    my ($program, @arguments) = @_;

    open my $client, '-|', _command($program, 'client', @arguments)
        or die "$program.py: $!";
    my @lines = <$client>;
    close $client or die "the client $program.py has failed: $?\n";

    return map { JSON::PP::decode_json($_) } @lines;
}

1;
