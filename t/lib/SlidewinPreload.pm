package SlidewinPreload;

# Libraries of t/preload, compiled for this machine, that change what a process
# is told about the world.

use strict;
use warnings;

use File::Temp ();
use SlidewinRedis ();

# library(NAME): the path of the library made from t/preload/NAME.c
sub library {
    my ($name) = @_;
    my $dir = _dir();

    system('gcc', '-O1', '-Wall', '-Wextra', '-Werror', '-shared', '-fPIC',
           '-o', "$dir/$name.so",
           SlidewinRedis::root() . "/t/preload/$name.c", '-ldl') == 0
        or die "t/preload/$name.c cannot be compiled\n";

    return "$dir/$name.so";
}

# A wall clock that can be set: for the environment of a process, and
# set(SECONDS) is how far it is from true time.
sub clock {
    my ($class) = @_;
    my $dir = _dir();
    my $self = bless {
        dir => $dir,
        env => { LD_PRELOAD => library('clock'),
                 SLIDEWIN_CLOCK => "$dir/offset" },
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

sub _dir {
    return File::Temp::tempdir('slidewin.XXXXXX', TMPDIR => 1, CLEANUP => 1);
}

1;
