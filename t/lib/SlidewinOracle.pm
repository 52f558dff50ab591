package SlidewinOracle;

# The C side of what C and Lua must agree on: t/lib/oracle/oracle.c, compiled
# with sw_*.c when it is first asked for.

use strict;
use warnings;

use File::Temp ();
use IPC::Open2 ();
use SlidewinRedis ();

my @names = qw(admitted remaining retry more reset level scale stamp);
my %number = (counter => 0, fixed => 1, strict => 2, log => 3);

sub new {
    my ($class) = @_;
    my $root = SlidewinRedis::root();
    my $source = "$root/ngx_http_slidewin_module/sw";
    my $dir = File::Temp::tempdir('slidewin.XXXXXX', TMPDIR => 1,
                                  CLEANUP => 1);
    my @command = (
        'gcc', '-std=gnu11', '-O1', '-g', '-Wall', '-Wextra', '-Werror',
        '-fsanitize=undefined', '-fno-sanitize-recover=all',
        "-I$source", "-I$root/t/unit", '-o', "$dir/oracle",
        "$root/t/lib/oracle/oracle.c", glob "$source/sw_*.c"
    );

    system(@command) == 0 or die "the oracle cannot be compiled\n";

    my $self = bless { dir => $dir }, $class;
    $self->{pid} = IPC::Open2::open2($self->{out}, $self->{in},
                                     "$dir/oracle");

    return $self;
}

# ask LINE...: the answers
sub ask {
    my ($self, @lines) = @_;
    my @answers;

    # few at a time: neither pipe may fill
    while (my @batch = splice @lines, 0, 100) {
        syswrite $self->{in}, join '', map { "$_\n" } @batch;
        for (@batch) {
            my $answer = readline $self->{out};
            die "the oracle failed\n" if !defined $answer;
            chomp $answer;
            push @answers, $answer;
        }
    }

    return @answers;
}

# rule { algorithm, limit, window, slices }: the words of a line
sub rule {
    my ($p) = @_;

    return "$number{$p->{algorithm}} $p->{limit} $p->{window} "
           . ($p->{slices} // 0);
}

sub verdict {
    my (@numbers) = @_;
    my %verdict;

    @verdict{@names} = @numbers;

    return \%verdict;
}

# of the answer to a take: counted, before, after
sub taken {
    my @n = split ' ', $_[0];

    return ($n[0], verdict(@n[1 .. 8]), verdict(@n[9 .. 16]));
}

# of the answer to a script's numbers: how many were counted, the verdict, and
# the prefetched units, or nothing
sub proven {
    my ($good, $counted, $prefetch, @n) = split ' ', $_[0];

    return $good ? ($counted, verdict(@n), $prefetch) : ();
}

1;
