package SlidewinRedis;

# A real Redis (or Valkey): on a free port of the loopback and on a unix socket,
# without persistence, ended with the suite. Without a redis-server on the
# machine the suite fails.

use strict;
use warnings;

use Cwd ();
use Fcntl ();
use File::Basename ();
use File::Spec ();
use IO::Socket::INET ();
use POSIX ();
use SlidewinNginx ();
use SlidewinProcess ();

our @ISA = ('SlidewinProcess');

# start(args => [...], conf => TEXT, binary => PATH, env => {}, port => N, tls
# => [...], unready => 1): args are options of redis-server, as "--maxmemory",
# "2mb"; conf is the text of a configuration file, which Redis may change; tls
# has options that make the port one of TLS. Returns when Redis answers or, with
# unready, when it has its socket.
sub start {
    my ($class, %options) = @_;

    my $self = bless {
        binary => 'redis-server', args => [], env => {}, %options,
    }, $class;

    $self->make_directories('redis');
    $self->register;

    if (defined $self->{conf}) {
        open my $file, '>', "$self->{root}/conf" or die "conf: $!";
        print $file $self->{conf};
        close $file;
    }

    # another process may take the port first
    for (1 .. 5) {
        $self->{port} = $options{port} // free_port();
        return $self if $self->run;
    }

    die "$self->{binary} did not start:\n" . $self->log;
}

# the directory of the project
sub root { return Cwd::realpath(File::Basename::dirname(__FILE__) . '/../..') }

# The servers the scripts must run on: Redis always, Valkey where there is one.
sub engines {
    my $valkey = root() . '/build/valkey/usr/bin/valkey-server';

    return ('redis-server', -x $valkey ? $valkey : ());
}

# All scripts; and those that can take from a single zone of an algorithm, given
# by its letter: they must agree, the last is the one the module uses.
sub scripts { return qw(take take_pair take_log take_strict give_back) }

sub takes {
    my ($letter) = @_;

    return ('take', { c => 'take_pair', f => 'take_pair', l => 'take_log',
                      s => 'take_strict' }
                    ->{$letter} // ());
}

# script(NAME): the text as the module sends it
my %scripts;

sub script {
    my ($name) = @_;

    if (!%scripts) {
        my $lua = root() . '/lua';
        for (split /^#define /m, `sh '$lua/embed.sh' '$lua'`) {
            my ($name) = /\ANGX_HTTP_SLIDEWIN_LUA_(\w+)/ or next;
            $scripts{lc $name} = join '',
                map { s/\\(.)/$1 eq 'n' ? "\n" : $1/ger } /^ +"(.*)" \\$/mg;
        }
    }

    return $scripts{$name} // die "no script $name\n";
}

# script_at(NAME): the same, with the time that the caller sends instead of the
# clock of the server
sub script_at {
    my ($name) = @_;

    return <<'END' . script($name) =~ s/(?:redis\.)?call\('TIME'\)/clock()/gr;
local function clock()
    local _, ms = struct.unpack('<I7I7', ARGV[1])
    return ms == 0 and redis.call('TIME')
           or { math.floor(ms / 1000), ms % 1000 * 1000 }
end
END
}

# numbers, and the letters of algorithms, as the scripts take them
sub packed {
    return join '', map { /^[a-z]$/ ? $_ : substr pack('q<', $_), 0, 7 } @_;
}

# and as they return them
sub numbers { return map { unpack 'Q<', "$_\0" } unpack '(a7)*', $_[0] }

# free_port(OFFSET...): a port on which no process listens, and which has such
# ports at these offsets above it. It stays with this suite to its end, also
# while its server is down: it is none of those that the system gives away, and
# is locked as Test::Nginx locks its own.
my @locks;
my $turn = $$;

sub free_port {
    my (@offsets) = @_;
    my $dir = File::Spec->tmpdir . "/test-nginx-port-locks-$<";

    mkdir $dir;

    for (1 .. 5000) {
        my $port = 1988 + 4 * ($turn++ * 37 % 5000);
        my @ports = map { $port + $_ } 0, @offsets;
        my @held = map { _lock("$dir/port-$_.lock") } @ports;

        next if @held < @ports || grep { !_is_free($_) } @ports;

        push @locks, @held;
        return $port;
    }

    die "no free port\n";
}

sub _lock {
    my ($path) = @_;

    open my $lock, '>>', $path or return;

    return flock($lock, Fcntl::LOCK_EX() | Fcntl::LOCK_NB()) ? $lock : ();
}

sub _is_free {
    my ($port) = @_;

    return IO::Socket::INET->new(LocalAddr => '0.0.0.0', LocalPort => $port,
                                 Listen => 1, ReuseAddr => 1);
}

# run(args...): starts the server, also again after kill() or stop(), on the
# same port and socket; whether it answers.
sub run {
    my ($self, @more) = @_;
    my @command = (
        $self->{binary}, defined $self->{conf} ? "$self->{root}/conf" : (),
        '--bind', '127.0.0.1',
        $self->{tls} ? ('--port', 0, '--tls-port', $self->{port},
                        @{$self->{tls}})
                     : ('--port', $self->{port}),
        '--unixsocket', $self->path, '--unixsocketperm', '777',
        '--dir', $self->{root}, '--logfile', "$self->{root}/log",
        '--save', '', '--appendonly', 'no', '--protected-mode', 'no',
        '--daemonize', 'no', @{$self->{args}}, @more
    );

    delete $self->{client};
    unlink $self->path;

    my $pid = $self->{pid} = SlidewinProcess::spawn(sub {
        $ENV{$_} = $self->{env}{$_} for keys %{$self->{env}};
        # those are for nginx
        delete @ENV{qw(ASAN_OPTIONS UBSAN_OPTIONS LSAN_OPTIONS)};
        open STDIN, '<', '/dev/null';
        open STDOUT, '>>', "$self->{root}/log";
        open STDERR, '>&', \*STDOUT;
        { no warnings; exec @command }
        print "$command[0]: $!\n";
        POSIX::_exit(127);
    });

    my $end = SlidewinNginx::now() + 20;
    while (SlidewinNginx::now() < $end) {
        if (waitpid($pid, POSIX::WNOHANG()) == $pid) {
            delete $self->{pid};
            die $self->log if $? == 127 << 8;
            return 0;
        }
        return 1 if $self->{unready} ? -S $self->path
                                     : eval { $self->call('PING'); 1 };
        SlidewinNginx::nap(0.01);
    }

    return 0;
}

sub pid { return $_[0]{pid} }

sub port { return $_[0]{port} }

sub path { return "$_[0]{sockets}/redis" }

sub url {
    my ($self) = @_;

    return ($self->{tls} ? 'rediss' : 'redis') . "://127.0.0.1:$self->{port}";
}

sub unix_url { return 'unix:' . $_[0]->path }

sub log { return SlidewinNginx::slurp("$_[0]{root}/log") }

sub version {
    my ($self) = @_;
    my $text = $self->command('INFO', 'server');

    return $text =~ /^valkey_version:(\S+)/m ? "Valkey $1"
         : $text =~ /^redis_version:(\S+)/m ? "Redis $1" : 'unknown';
}

# a new connection
sub client { return SlidewinRedis::Client->new($_[0]->path) }

# A status or bulk string and a number are scalars, nil is undef, an array is a
# reference, an error a SlidewinRedis::Error that reads as its text. Dies when
# there is no connection.
sub call {
    my ($self, @command) = @_;

    $self->{client} //= $self->client;
    my $reply = eval { $self->{client}->call(@command) };

    if (my $error = $@) {
        delete $self->{client};
        die $error;
    }

    return $reply;
}

# the same, and an error reply is fatal
sub command {
    my ($self, @command) = @_;
    my $reply = $self->call(@command);

    die "$command[0]: $reply\n" if is_error($reply);

    return $reply;
}

sub is_error { return ref $_[0] eq 'SlidewinRedis::Error' }

# calls COMMAND: how often it was called and the microseconds that took, by INFO
# commandstats
sub calls {
    my ($self, $command) = @_;
    my $text = $self->command('INFO', 'commandstats');

    $text =~ /^cmdstat_\Q$command\E:calls=(\d+),usec=(\d+)/mi
        or return wantarray ? (0, 0) : 0;

    return wantarray ? ($1, $2) : $1;
}

# signal NAME: after STOP the server has stopped when this returns
sub signal {
    my ($self, $signal) = @_;
    my $pid = $self->{pid} // return 0;

    return SlidewinNginx::halt($pid) if $signal eq 'STOP';
    return kill $signal, $pid;
}

# kill SIGNAL: ends the server; run() starts it again
sub kill {
    my ($self, $signal) = @_;
    my $pid = delete $self->{pid} // return;

    delete $self->{client};
    kill $signal // 'KILL', $pid;
    kill 'CONT', $pid;
    SlidewinNginx::gone($pid, 10) or kill 'KILL', $pid;
    waitpid $pid, 0;

    return;
}

sub stop { return $_[0]->kill('TERM') }

sub finish { $_[0]->remove; return }

sub remove {
    my ($self) = @_;

    $self->kill('KILL');
    $self->forget;
    $self->remove_directories;

    return;
}


package SlidewinRedis::Error;

use overload '""' => sub { ${$_[0]} }, fallback => 1;


package SlidewinRedis::Client;

use strict;
use warnings;

use IO::Socket::UNIX ();

sub new {
    my ($class, $path) = @_;

    return bless {
        socket => IO::Socket::UNIX->new(Peer => $path)
                  // die("no connection to redis: $!\n"),
        buffer => '',
        timeout => 30,
    }, $class;
}

sub call {
    my ($self, @command) = @_;

    $self->send(@command);

    return $self->reply;
}

sub send {
    my ($self, @command) = @_;

    return $self->write(encode(@command));
}

# call_all [COMMAND...]...: one pipeline; the replies
sub call_all {
    my ($self, @commands) = @_;
    my @replies;

    while (my @batch = splice @commands, 0, 500) {
        $self->write(join '', map { encode(@$_) } @batch);
        push @replies, map { $self->reply } @batch;
    }

    return @replies;
}

sub encode {
    return join '', '*' . @_ . "\r\n", map {
        my $bytes = $_;
        utf8::encode($bytes) if utf8::is_utf8($bytes);
        '$' . length($bytes) . "\r\n$bytes\r\n";
    } @_;
}

sub write {
    my ($self, $text) = @_;
    my $done = 0;

    while ($done < length $text) {
        my $n = syswrite $self->{socket}, $text, length($text) - $done, $done;
        die "redis: $!\n" if !$n;
        $done += $n;
    }

    return;
}

sub reply {
    my ($self) = @_;
    my $line = $self->_line;
    my $type = substr $line, 0, 1, '';

    return $line if $type eq '+' || $type eq ':';
    return bless \$line, 'SlidewinRedis::Error' if $type eq '-';

    if ($type eq '$') {
        return if $line < 0;
        my $text = $self->_bytes($line + 2);
        return substr $text, 0, $line;
    }

    if ($type eq '*') {
        return if $line < 0;
        return [map { scalar $self->reply } 1 .. $line];
    }

    die "redis said $type$line\n";
}

sub _line {
    my ($self) = @_;
    my $end;

    $self->_more while ($end = index $self->{buffer}, "\r\n") < 0;

    return substr $self->_bytes($end + 2), 0, $end;
}

sub _bytes {
    my ($self, $n) = @_;

    $self->_more while length $self->{buffer} < $n;

    return substr $self->{buffer}, 0, $n, '';
}

sub _more {
    my ($self) = @_;
    my $bits = '';

    vec($bits, fileno $self->{socket}, 1) = 1;
    select $bits, undef, undef, $self->{timeout}
        or die "redis said nothing in time\n";
    sysread $self->{socket}, $self->{buffer}, 65536, length $self->{buffer}
        or die "redis closed the connection\n";

    return;
}

1;
