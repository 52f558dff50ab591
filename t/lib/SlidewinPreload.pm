package SlidewinPreload;

# Libraries of t/lib/preload, compiled for this machine, that change what a
# process is told about the world.

use strict;
use warnings;

use File::Temp ();
use SlidewinRedis ();

# library(NAME): the path of the library made from t/lib/preload/NAME.c
sub library {
    my ($name) = @_;
    my $dir = _dir();

    system('gcc', '-O1', '-Wall', '-Wextra', '-Werror', '-shared', '-fPIC',
           '-o', "$dir/$name.so",
           SlidewinRedis::root() . "/t/lib/preload/$name.c", '-ldl') == 0
        or die "t/lib/preload/$name.c cannot be compiled\n";

    return "$dir/$name.so";
}

# A wall clock that can be set: for the environment of a process, and
# set(SECONDS) is how far it is from true time. monotonic is the other clock,
# which a process takes for the time that goes by.
sub clock { return $_[0]->_clock('SLIDEWIN_CLOCK') }

sub monotonic { return $_[0]->_clock('SLIDEWIN_MONOTONIC') }

sub _clock {
    my ($class, $name) = @_;
    my $dir = _dir();
    my $self = bless {
        dir => $dir,
        env => { LD_PRELOAD => library('clock'), $name => "$dir/offset" },
    }, $class;

    $self->set(0);

    return $self;
}

sub env { return $_[0]{env} }

sub set {
    my ($self, $seconds) = @_;
    my $path = "$self->{dir}/offset";

    # in one piece: it is read whenever the clock is
    open my $file, '>', "$path.new" or die "$path.new: $!";
    print $file $seconds;
    close $file;
    rename "$path.new", $path or die "$path: $!";

    return;
}

# Memory that runs out: for the environment of an nginx, and fail(KIND, FIRST,
# THEN) fails the first or a later allocation of a kind, as
# t/lib/preload/memory.c has it, and each so many then; fail(0) none any more.
sub memory {
    my ($class) = @_;
    my $dir = _dir();
    my $path = "$dir/memory";

    open my $file, '+>', $path or die "$path: $!";
    binmode $file;
    syswrite $file, "\0" x 4096;

    return bless {
        file => $file,
        env => { LD_PRELOAD => library('memory'), SLIDEWIN_MEMORY => $path },
    }, $class;
}

sub fail {
    my ($self, $kind, $first, $then) = @_;

    sysseek $self->{file}, 0, 0;
    syswrite $self->{file}, pack 'i4', $kind, $first // 0, $then // 0, 0;

    return;
}

# how many have failed since, how many functions can, whether a worker is busy
sub failed { return ($_[0]->_memory)[3] }

sub found { return ($_[0]->_memory)[4] }

sub at_work { return ($_[0]->_memory)[5] }

sub _memory {
    my ($self) = @_;

    sysseek $self->{file}, 0, 0;
    sysread $self->{file}, my $bytes, 24;

    return unpack 'i6', $bytes;
}

sub _dir {
    return File::Temp::tempdir('slidewin.XXXXXX', TMPDIR => 1, CLEANUP => 1);
}

1;
