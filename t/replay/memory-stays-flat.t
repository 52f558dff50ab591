# Memory does not grow with the lines, and little with the clients.

use strict;
use warnings;

use Fcntl qw(F_GETFL F_SETFL O_NONBLOCK);
use SlidewinReplay;
use Test::More;

my $dir = SlidewinReplay::directory();
my $program = SlidewinReplay::program();
my $asan = slurp($program) =~ /__asan_init/;

# AddressSanitizer's quarantine would grow until it has its full size
$ENV{ASAN_OPTIONS} = join ',', grep { length } $ENV{ASAN_OPTIONS} // '',
                     'quarantine_size_mb=1,thread_local_quarantine_size_kb=64';

sub slurp {
    open my $file, '<:raw', $_[0] or die "$_[0]: $!";
    local $/;
    return readline $file;
}

# make LINES, CLIENTS: a log in which each client comes in its turn; a minute of
# its lines is kept to be sorted, so that its rate is always the same
sub make {
    my ($lines, $clients) = @_;
    my $path = "$dir/$lines-$clients";
    my $rest = 'HTTP/1.1" 200 612 "-" "Mozilla/5.0"';

    open my $file, '>', $path or die "$path: $!";
    for my $n (0 .. $lines - 1) {
        my $second = int($n / 300);
        my $client = $n * 7919 % $clients;
        printf $file '10.%d.%d.%d - - [16/Nov/2025:%02d:%02d:%02d +0000] '
                     . qq("GET /page/%d %s\n), $client >> 16,
                     $client >> 8 & 255, $client & 255, $second / 3600,
                     $second / 60 % 60, $second % 60, $n, $rest;
    }
    close $file;

    return $path;
}

# full: both ends of a pipe that takes nothing more
sub full {
    pipe my $out, my $in or die "pipe: $!";
    my $flags = fcntl $in, F_GETFL, 0;

    fcntl $in, F_SETFL, $flags | O_NONBLOCK;
    1 while syswrite $in, 'x' x 4096;
    1 while syswrite $in, 'x';
    fcntl $in, F_SETFL, $flags;

    return ($out, $in);
}

# peak LOG: the most memory that was resident, in bytes. The program can write
# nothing, and so it waits with all its memory when it has come to its end. Not
# what wait4() says: that of Perl, before it becomes the program, is in it.
sub peak {
    my ($path) = @_;
    my ($out, $in) = full();
    my $pid = fork // die "fork: $!";

    if (!$pid) {
        open STDOUT, '>&', $in or die "stdout: $!";
        close $in;
        exec {$program} $program, '--key', '$remote_addr', '--rate', '100r/m',
             $path;
        exit 127;
    }

    close $in;

    my ($asleep, $most) = (0, 0);

    while ($asleep < 20) {
        my $status = slurp("/proc/$pid/status");

        last if $status =~ /^State:\s+Z/m;
        $asleep = $status =~ /^State:\s+S/m ? $asleep + 1 : 0;
        ($most) = $status =~ /^VmHWM:\s+(\d+) kB/m;
        select undef, undef, undef, 0.01;
    }

    1 while sysread $out, my $text, 65536;
    waitpid $pid, 0;
    is($?, 0, "$path is replayed");

    return 1024 * ($most // 0);
}

my $few = peak(make(200_000, 2000));
my $many = peak(make(1_000_000, 2000));

cmp_ok($many, '<', ($asan ? 2 : 1.1) * $few, 'five times the lines take no more memory');
diag(sprintf '%d kB for 200,000 lines, %d kB for 1,000,000', $few / 1024,
     $many / 1024);

my ($less, $more) = (peak(make(300_000, 50_000)), peak(make(300_000, 250_000)));
my $bytes = ($more - $less) / 200_000;

diag(sprintf '%.0f bytes a client', $bytes);
cmp_ok($bytes, '<=', $asan ? 1000 : 200,
       'a client takes at most 200 bytes, or what a sanitizer makes of them');

done_testing();
