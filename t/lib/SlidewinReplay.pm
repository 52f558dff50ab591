package SlidewinReplay;

# slidewin-replay, and logs for it to read. The program is that of
# `./build.sh build`, or what SLIDEWIN_REPLAY says.

use strict;
use warnings;

use Cwd ();
use File::Temp ();
use IO::Compress::Gzip ();
use IPC::Open3 ();
use JSON::PP ();
use POSIX ();
use SlidewinRedis ();
use Symbol ();
use Test::More ();

my @months = qw(Jan Feb Mar Apr May Jun Jul Aug Sep Oct Nov Dec);

# a sanitizer's report must not look like exit code 1, which has a meaning
my $sanitized = 99;

sub program {
    return $ENV{SLIDEWIN_REPLAY}
           // SlidewinRedis::root() . '/build/slidewin-replay';
}

# seed: of what a suite chooses at random, which prints it
sub seed {
    my $seed = srand($ENV{SLIDEWIN_SEED} // int rand 2 ** 31);

    Test::More::diag("SLIDEWIN_SEED=$seed");

    return $seed;
}

# directory: one that goes with the suite
sub directory {
    return File::Temp->newdir('replay.XXXXXX', TMPDIR => 1,
                              CLEANUP => !$ENV{KEEP});
}

# run [{ stdin => TEXT, env => {}, ulimit => ... },] ARGUMENT...: what it printed
# and how it ended, as { stdout, stderr, exit }. A signal is 128 and its number.
sub run {
    my %how = ref $_[0] eq 'HASH' ? %{+shift} : ();
    my @arguments = @_;
    my ($stdin, $stdout, $stderr) = map { scalar File::Temp::tempfile() } 1 .. 3;

    binmode $stdin;
    print $stdin $how{stdin} // '';
    seek $stdin, 0, 0;

    my $pid = fork // die "fork: $!";

    if (!$pid) {
        local %ENV = (%ENV, _sanitizers(), %{$how{env} // {}});
        chdir $how{in} if defined $how{in};
        open STDIN, '<&', $stdin;
        open STDOUT, '>&', $stdout;
        open STDERR, '>&', $stderr;
        { no warnings 'exec'; exec {program()} program(), @arguments }
        POSIX::_exit(127);
    }

    waitpid $pid, 0;
    my $exit = $? & 127 ? 128 + ($? & 127) : $? >> 8;

    Test::More::BAIL_OUT(program() . ': there is no such program')
        if $exit == 127;

    my %result = (exit => $exit, stdout => _all($stdout),
                  stderr => _all($stderr));

    Test::More::diag("@arguments\nended with $exit: $result{stderr}")
        if $exit > 2;

    return \%result;
}

sub _sanitizers {
    return map {
        $_ => join ',', grep { length } $ENV{$_} // '', "exitcode=$sanitized"
    } qw(ASAN_OPTIONS UBSAN_OPTIONS);
}

sub _all {
    my ($file) = @_;

    seek $file, 0, 0;
    local $/;

    return readline($file) // '';
}

# json [{...},] ARGUMENT...: what it says with --json, taken apart; undef and a
# diagnosis if it failed
sub json {
    my %how = ref $_[0] eq 'HASH' ? %{+shift} : ();
    my $said = run(\%how, '--json', @_);
    my $json = eval { JSON::PP->new->utf8->decode($said->{stdout}) };

    Test::More::diag("@_\nended with $said->{exit}: $said->{stderr}")
        if !defined $json;

    return $json;
}

# decisions FILE: what --decisions wrote, as [FILE, LINE, TIME, KEY, CANDIDATE,
# DECISION] for each of its lines
sub decisions {
    my ($path) = @_;

    open my $file, '<', $path or return;

    return map {
        chomp;
        my ($where, @rest) = split /\t/, $_, -1;
        my ($name, $line) = $where =~ /\A(.*):(\d+)\z/;
        [$name, $line, @rest];
    } readline $file;
}

# write PATH, TEXT [, gzip => 1 | members => N]: a log, in N members of gzip that
# may begin within a line
sub write {
    my ($path, $text, %how) = @_;
    my $members = $how{members} // ($how{gzip} ? 1 : 0);

    if ($members) {
        my $size = int(length($text) / $members) + 1;
        my @parts = unpack "(a$size)*", $text;

        $text = join '', map {
            IO::Compress::Gzip::gzip(\$_, \my $packed)
                or die "gzip: $IO::Compress::Gzip::GzipError";
            $packed;
        } @parts;
    }

    open my $file, '>:raw', $path or die "$path: $!";
    print $file $text;
    close $file or die "$path: $!";

    return $path;
}


# Lines of a log. A request is { time (ms), client, uri, method, status, bytes,
# took (ms), cost, zone (minutes east of UTC) }; what is missing has a default.

my %formats = (
    combined => \&_combined,
    common => sub { return _combined(@_) =~ s/ "[^"]*" "[^"]*"\z//r },
    json => \&_json,
    own => \&_own,
);

# what --format says of them
my %options = (
    combined => 'combined', common => 'common', json => 'json',
    own => '$remote_addr $msec $request_time "$request" $status'
           . ' cost=$upstream_http_x_cost',
);

sub format { return $options{$_[0]} // die "no format $_[0]" }

# line FORMAT, REQUEST
sub line {
    my ($format, $request) = @_;

    return $formats{$format}->({
        time => 1763300000000, client => '192.0.2.1', uri => '/',
        method => 'GET', status => 200, bytes => 612, took => 0, cost => 1,
        zone => 0, %$request,
    }) . "\n";
}

# resolution FORMAT: in ms
sub resolution { return $_[0] =~ /\Aco/ ? 1000 : 1 }

# local_time MS, ZONE: as in $time_local
sub local_time {
    my ($ms, $zone) = @_;
    my @t = gmtime(POSIX::floor($ms / 1000) + $zone * 60);

    return sprintf '%02d/%s/%d:%02d:%02d:%02d %s%02d%02d', $t[3],
                   $months[$t[4]], $t[5] + 1900, @t[2, 1, 0],
                   $zone < 0 ? '-' : '+', int(abs($zone) / 60),
                   abs($zone) % 60;
}

# iso MS, ZONE: ISO 8601 with milliseconds
sub iso {
    my ($ms, $zone) = @_;
    my @t = gmtime(POSIX::floor($ms / 1000) + $zone * 60);

    return sprintf '%d-%02d-%02dT%02d:%02d:%02d.%03d%s', $t[5] + 1900,
                   $t[4] + 1, @t[3, 2, 1, 0], $ms % 1000,
                   $zone == 0 ? 'Z'
                   : sprintf '%s%02d:%02d', $zone < 0 ? '-' : '+',
                             int(abs($zone) / 60), abs($zone) % 60;
}

sub _combined {
    my ($r) = @_;

    return sprintf '%s - %s [%s] "%s %s HTTP/1.1" %d %d "%s" "%s"',
                   $r->{client}, $r->{user} // '-',
                   local_time($r->{time}, $r->{zone}),
                   $r->{method}, $r->{uri}, $r->{status}, $r->{bytes},
                   $r->{referer} // '-', $r->{agent} // 'Mozilla/5.0 (X11)';
}

sub _json {
    my ($r) = @_;

    return JSON::PP->new->canonical->encode({
        time => iso($r->{time}, $r->{zone}), remote_addr => $r->{client},
        request => "$r->{method} $r->{uri} HTTP/1.1",
        status => $r->{time} % 2 ? $r->{status} : "$r->{status}",
        body_bytes_sent => $r->{bytes}, cost => $r->{cost},
        deep => { cost => "$r->{cost}" },
    });
}

# the time is that of the end, so that the program has to go back to the begin
sub _own {
    my ($r) = @_;
    my $end = $r->{time} + $r->{took};

    return sprintf '%s %d.%03d %d.%03d "%s %s HTTP/1.1" %d cost=%s',
                   $r->{client}, int($end / 1000), $end % 1000,
                   int($r->{took} / 1000), $r->{took} % 1000,
                   $r->{method}, $r->{uri}, $r->{status}, $r->{cost};
}

1;
