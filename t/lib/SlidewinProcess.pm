package SlidewinProcess;

# A process that a suite starts. It ends with the suite, however that ends: the
# process that was started last is ended first.
#
# The base of all helpers that start one. A helper whose server is Perl code
# (SlidewinFake, SlidewinProxy, SlidewinDNS, SlidewinApp) hands the code to
# launch(), and speaks with it through order(). A helper that starts a program
# (SlidewinNginx, SlidewinRedis, SlidewinPeer) calls spawn() and register(), and
# says in finish() how its process ends when the suite does.

use strict;
use warnings;

use Cwd ();
use File::Path ();
# before END: blocks of this kind run in the reverse order of loading, and
# the processes must end before their directories and the plan are looked at
use File::Temp ();
use POSIX ();
use Socket ();
use Storable ();
use Test::More ();

my @running;

$SIG{TERM} = $SIG{INT} = $SIG{HUP} = sub { exit 1 };
$SIG{PIPE} = 'IGNORE';

END {
    my $rc = $?;
    local ($@, $!);
    # a second signal must not cut this short
    local $SIG{TERM} = local $SIG{INT} = local $SIG{HUP} = 'IGNORE';
    # a process that the suite has forked ends only what it has started itself
    my @mine = reverse grep { $_->{owner} == $$ } @running;
    $_->finish($rc) for @mine;
    $? = $rc;
}

# start CODE: a process that runs it
sub start {
    my ($class, $code) = @_;
    my $self = bless {}, $class;

    $self->{pid} = spawn(sub { _limit_life(); $code->() });

    return $self->register;
}

# launch CODE: the same for an object that is there. The code gets a socket, on
# which next_order() and answer() find what the suite says by order().
sub launch {
    my ($self, $code) = @_;

    socketpair my $ours, my $theirs, Socket::AF_UNIX(),
               Socket::SOCK_STREAM(), Socket::PF_UNSPEC()
        or die "socketpair: $!";

    $self->{control} = $ours;
    $self->{pid} = spawn(sub {
        close $ours;
        _limit_life();
        $code->($theirs);
    });

    return $self->register;
}

# should the suite be gone
sub _limit_life { alarm 900; return }

# spawn CODE: the pid of a child that runs it. It is not registered.
sub spawn {
    my ($code) = @_;
    my $pid = fork // die "fork: $!";

    return $pid if $pid;

    $SIG{$_} = 'DEFAULT' for qw(TERM INT HUP);
    my $done = eval { $code->(); 1 };
    print {*STDERR} $@ if !$done;
    POSIX::_exit($done ? 0 : 1);
}

# From now on finish() is called when the suite ends, ...
sub register {
    my ($self) = @_;

    $self->{owner} = $$;
    push @running, $self;

    return $self;
}

# ... and from now on it is not.
sub forget {
    my ($self) = @_;

    @running = grep { $_ != $self } @running;

    return;
}

# finish EXIT_CODE: of the suite, which ends
sub finish { $_[0]->stop; return }

sub stop {
    my ($self) = @_;
    my $pid = delete $self->{pid} // return;

    kill 'KILL', $pid;
    waitpid $pid, 0;
    close delete $self->{control} if $self->{control};
    $self->forget;

    return;
}

# whether it has not ended by itself yet
sub runs {
    my ($self) = @_;

    return 0 if !defined $self->{pid};
    return 1 if waitpid($self->{pid}, POSIX::WNOHANG()) == 0;

    delete $self->{pid};
    $self->forget;

    return 0;
}

# until it ends by itself
sub wait {
    my ($self) = @_;
    my $pid = delete $self->{pid} // return;

    waitpid $pid, 0;
    $self->forget;

    return;
}


# Orders. The process has carried out an order when order() returns.

sub order {
    my ($self, @order) = @_;

    _write($self->{control}, \@order);
    my $answer = _read($self->{control}) // die ref $self, " has died\n";

    return $answer->[0];
}

# next_order SOCKET: a reference to what order() was called with; undef when the
# suite is gone
sub next_order { return _read($_[0]) }

# answer SOCKET, VALUE: what order() returns
sub answer { return _write($_[0], [$_[1]]) }

sub _write {
    my ($socket, $value) = @_;

    syswrite $socket, pack 'N/a*', Storable::freeze($value);

    return;
}

sub _read {
    my ($socket) = @_;
    my $length = _bytes($socket, 4) // return;
    my $frozen = _bytes($socket, unpack 'N', $length) // return;

    return Storable::thaw($frozen);
}

sub _bytes {
    my ($socket, $n) = @_;
    my $bytes = '';

    while (length $bytes < $n) {
        sysread $socket, $bytes, $n - length $bytes, length $bytes or return;
    }

    return $bytes;
}


# make_directories NAME: one for the files of a program, where build.sh finds
# the processes that a suite left behind when it was cut short, and one for its
# sockets, whose paths must be short.
sub make_directories {
    my ($self, $name) = @_;

    mkdir 't' unless -d 't';
    $self->{root} = File::Temp::tempdir("${name}_XXXXXX",
                                        DIR => Cwd::getcwd() . '/t');
    $self->{sockets} = File::Temp::tempdir('slidewin.XXXXXX', TMPDIR => 1);
    # a worker of nginx may be another user
    chmod 0755, $self->{root}, $self->{sockets};

    return;
}

sub remove_directories {
    my ($self) = @_;

    # KEEP=1 ./build.sh test: to look at its files
    File::Path::remove_tree($ENV{KEEP} ? () : $self->{root}, $self->{sockets});

    return;
}

# An address of the loopback, with a port, that no other suite uses.
my $port = 20000;

sub own_address {
    return join('.', 127, 64 + ($$ >> 16 & 63), $$ >> 8 & 255, $$ & 255) . ':'
           . $port++;
}

1;
