package SlidewinNginx;

# A real nginx, master and workers, for suites that reload it, signal it, kill
# its workers or have many clients at once. It listens on a unix socket, so that
# suites which run side by side cannot use the same port.

use strict;
use warnings;

use IO::Socket::UNIX ();
use POSIX ();
use SlidewinProcess ();
use Storable ();
use Test::More ();
use Time::HiRes ();

# Errors no suite expects unless it says so.
my $bad = qr/\[(?:alert|crit|emerg)\]|open socket.* left/;

our @ISA = ('SlidewinProcess');

sub binary { return $ENV{TEST_NGINX_BINARY} || 'nginx' }

my $options;

sub _options {
    if (!defined $options) {
        my $nginx = binary();
        $options = `$nginx -V 2>&1`;
    }
    return $options;
}

sub asan { return _options() =~ /-fsanitize=\S*address/ }

# By how much the sanitizers slow things down: a factor for time limits.
sub patience { return asan() ? 5 : 1 }

sub now { return Time::HiRes::clock_gettime(Time::HiRes::CLOCK_MONOTONIC()) }

sub nap { Time::HiRes::sleep($_[0]); return }

# until_true CODE, SECONDS: whether it became true.
sub until_true {
    my ($code, $seconds) = @_;
    my $end = now() + $seconds;

    while (!$code->()) {
        return 0 if now() > $end;
        nap(0.005);
    }

    return 1;
}

# start(http => TEXT, server => TEXT, ...): http goes into http{}, server into
# the only server{}, where /free is a location without a limit. Every response
# has the worker and the module's variables in X-... fields. Instead of both,
# http_block => TEXT is a whole http{}, and rest => TEXT that with its events{}.
sub start {
    my ($class, %conf) = @_;

    my $self = bless {
        conf => {
            workers => 1, connections => 1024, daemon => 'on',
            master => 'on', main => '', http => '', server => '',
            module => 1, %conf,
        },
    }, $class;

    $self->make_directories('servroot');
    mkdir "$self->{root}/logs";
    $self->register;

    $self->configure;
    $self->_spawn;

    until_true(sub { $self->_ready }, 10 * patience())
        or die "nginx did not start:\n" . $self->output . $self->error_log;

    return $self;
}

sub root { return $_[0]{root} }

sub path { return "$_[0]{sockets}/http" }

sub configure {
    my ($self, %conf) = @_;
    my $c = $self->{conf} = { %{$self->{conf}}, %conf };

    my $load = $c->{module} ? $ENV{TEST_NGINX_LOAD_MODULES} || '' : '';
    my $main = join '', map { "load_module $_;\n" } split ' ', $load;

    $main .= "user root;\n" if $> == 0;
    # a new binary is started with nothing but these
    $main .= join '', map { "env $_;\n" }
             grep { defined $ENV{$_} } qw(ASAN_OPTIONS UBSAN_OPTIONS
                                          LSAN_OPTIONS);

    my @fields = ('X-Pid $pid');
    push @fields, map { "X-\u$_ \$slidewin_$_" }
                  qw(status remaining estimate limit) if $c->{module};
    my $fields = join '', map { "add_header $_ always;\n" } @fields;

    my $http = $c->{http_block} // <<"END";
http {
    access_log off;
    keepalive_requests 10000000;
    keepalive_timeout 1h;
    client_body_temp_path body;
    proxy_temp_path proxy;
    fastcgi_temp_path fastcgi;
    uwsgi_temp_path uwsgi;
    scgi_temp_path scgi;

    $c->{http}

    server {
        listen unix:@{[$self->path]};
        $fields
        location = /free { empty_gif; }
        $c->{server}
    }
}
END

    my $rest = $c->{rest} // <<"END";
events { worker_connections $c->{connections}; }
$http
END

    open my $file, '>', "$self->{root}/nginx.conf" or die "nginx.conf: $!";
    print $file <<"END";
${main}daemon $c->{daemon};
master_process $c->{master};
worker_processes $c->{workers};
pid logs/nginx.pid;
error_log logs/error.log notice;
$c->{main}
$rest
END
    close $file;

    return;
}

sub _spawn {
    my ($self) = @_;
    my $root = $self->{root};
    my $pid = SlidewinProcess::spawn(sub {
        $ENV{$_} = $self->{conf}{env}{$_} for keys %{$self->{conf}{env}};
        open STDOUT, '>>', "$root/logs/output";
        open STDERR, '>&', \*STDOUT;
        exec binary(), '-p', "$root/", '-c', "$root/nginx.conf",
             '-e', "$root/logs/error.log"
            or POSIX::_exit(127);
    });

    if ($self->{conf}{daemon} eq 'on') {
        gone($pid, 30 * patience()) and return;
        kill 'KILL', $pid;
        die "nginx hangs while it starts:\n" . $self->error_log;
    }

    $self->{child} = $pid;

    return;
}

sub _ready {
    my ($self) = @_;

    defined $self->master or return 0;
    return 0 if $self->{conf}{master} eq 'on'
                && $self->workers < $self->{conf}{workers};
    return 1 if defined($self->{conf}{http_block} // $self->{conf}{rest});

    return defined IO::Socket::UNIX->new(Peer => $self->path);
}

# start_again: after it has ended, in the same directory
sub start_again {
    my ($self) = @_;

    $self->_spawn;

    return until_true(sub { $self->_ready }, 10 * patience());
}

# The pid in the pid file, if that process lives; after USR2 that is the new
# one.
sub master {
    my ($self) = @_;
    my $pid = slurp("$self->{root}/logs/nginx.pid");

    return $pid =~ /^(\d+)\n/ && alive($1) ? $1 : undef;
}

sub alive {
    my ($pid) = @_;

    return slurp("/proc/$pid/stat") =~ /.*\) [^ZX]/s;
}

sub gone {
    my ($pid, $seconds) = @_;

    return until_true(sub {
        waitpid $pid, POSIX::WNOHANG();
        return !alive($pid);
    }, $seconds);
}

# all_gone PID...: whether all of them end soon
sub all_gone { return !grep { !gone($_, 5 * patience()) } @_ }

# idle PID: whether it comes about that the process waits for events: what it has
# read it has dealt with, and what it asks is sent.
sub idle {
    my ($pid) = @_;

    return until_true(sub { slurp("/proc/$pid/stat") =~ /.*\) S/s },
                      20 * patience());
}

# halt PID...: stops processes, which kill 'CONT' wakes; they have stopped when
# this returns.
sub halt {
    my (@pids) = @_;

    kill 'STOP', @pids;

    return until_true(sub {
        !grep { slurp("/proc/$_/stat") !~ /.*\) T/s } @pids;
    }, 5 * patience());
}

# Workers that take requests, not those that are leaving.
sub workers {
    my ($self, $master) = @_;

    return grep {
        slurp("/proc/$_/cmdline") =~ /^nginx: worker process(?! is)/
    } children($master // $self->master // return);
}

sub children {
    my ($parent) = @_;
    my $list = "/proc/$parent/task/$parent/children";

    return split ' ', slurp($list) if -e $list;

    opendir my $dir, '/proc' or die "/proc: $!";
    return grep {
        /^\d+$/ && slurp("/proc/$_/stat") =~ /.*\) \S $parent /s
    } readdir $dir;
}

sub signal {
    my ($self, $signal, $pid) = @_;

    return kill $signal, $pid // $self->master // return 0;
}

# reload(%conf): returns the pids of the workers there were.
sub reload {
    my ($self, %conf) = @_;
    my @old = $self->workers;
    my %old = map { $_ => 1 } @old;

    $self->configure(%conf);
    $self->signal('HUP');

    until_true(sub {
        my @workers = $self->workers;
        return @workers == $self->{conf}{workers}
               && !grep { $old{$_} } @workers;
    }, 20 * patience())
        or die "nginx did not reload:\n" . $self->error_log;

    return @old;
}

sub error_log { return slurp("$_[0]{root}/logs/error.log") }

# What nginx or a sanitizer wrote to stdout and stderr.
sub output { return slurp("$_[0]{root}/logs/output") }

sub errors {
    my ($self, $pattern) = @_;

    return grep { /$pattern/ } split /^/, $self->error_log;
}

# logged PATTERN, SECONDS: whether such a line comes to the log
sub logged {
    my ($self, $pattern, $seconds) = @_;

    return until_true(sub { $self->errors($pattern) },
                      ($seconds // 5) * patience());
}

sub rss {
    my ($pid) = @_;

    return (split ' ', slurp("/proc/$pid/statm"))[1]
           * POSIX::sysconf(POSIX::_SC_PAGESIZE()) / 1024;
}

# memory PID, NAME: in KB; VmHWM is the most that was ever resident, VmSize what
# is mapped
sub memory {
    my ($pid, $name) = @_;
    my ($kb) = slurp("/proc/$pid/status") =~ /^\Q$name\E:\s+(\d+) kB/m
        or die "no $name of $pid";

    return $kb;
}

sub fds {
    my ($pid) = @_;

    opendir my $dir, "/proc/$pid/fd" or return;
    return scalar grep { !/^\./ } readdir $dir;
}

# stop(signal => NAME, allow => PATTERN): ends nginx, and asserts that it ends
# and that its log has no unexpected error.
sub stop {
    my ($self, %how) = @_;
    my $master = $self->master;
    my $name = $how{name} ? "$how{name}: " : '';

    if (defined $master) {
        kill $how{signal} // 'QUIT', $master;
        Test::More::ok(gone($master, 10 * patience()), "${name}nginx ends");
    }

    my $allow = $how{allow} // qr/(?!)/;
    my @bad = grep { !/$allow/ } $self->errors($bad);
    Test::More::is(join('', @bad), '', "${name}the error log is clean");

    $self->_kill;

    return;
}

sub _kill {
    my ($self) = @_;
    my $master = $self->master // $self->{child};

    if (defined $master && alive($master)) {
        my @workers = children($master);

        kill 'TERM', $master;

        for my $pid ($master, @workers) {
            gone($pid, 5) or kill 'KILL', $pid;
        }
    }

    $self->forget;
    $self->remove_directories;

    return;
}

sub finish {
    my ($self, $rc) = @_;

    # a suite that ends early has not looked at them
    Test::More::diag($self->errors(qr/\[alert\]/)) if $rc;
    $self->_kill;

    return;
}

# slurp PATH: what is in a file, '' if there is none
sub slurp {
    open my $file, '<', $_[0] or return '';
    local $/;
    return <$file> // '';
}


# Clients. An answer is { status, header => {}, body }. Status 0: the connection
# was closed before an answer; -1: no answer came in time.

sub client {
    my ($self, %options) = @_;

    return SlidewinNginx::Client->new($self->path, %options);
}

sub get {
    my ($self, @request) = @_;

    return $self->client->get(@request);
}

# asks URI: a client that has sent the request, and waits a minute for the
# answer
sub asks {
    my ($self, $uri) = @_;
    my $client = $self->client(timeout => 60);

    $client->request($uri);

    return $client;
}

# busy N: whether it comes about that N requests are in progress, besides the
# one to /status, a location of stub_status, that asks
sub busy {
    my ($self, $n) = @_;

    return until_true(sub {
        $self->get('/status')->{body} =~ /Writing: (\d+)/ && $1 == $n + 1;
    }, 20 * patience());
}

sub status {
    my ($self, $uri, $times) = @_;
    my $client = $self->client;

    return map { $client->get($uri)->{status} } 1 .. $times // 1;
}

# client_of PID: a kept-alive connection to that worker. The other workers are
# stopped meanwhile, so that they do not accept it.
sub client_of {
    my ($self, $pid) = @_;

    return ($self->clients_of($pid, 1))[0];
}

sub clients_of {
    my ($self, $pid, $n) = @_;
    my @others = grep { $_ != $pid } $self->workers;

    halt(@others);

    my @clients = map {
        my $client = $self->client;
        my $answer = $client->get('/free');
        ($answer->{header}{'x-pid'} // '') eq $pid
            or $client = undef;
        $client;
    } 1 .. $n;

    kill 'CONT', @others;

    die "no connection to worker $pid" if grep { !defined } @clients;

    return @clients;
}

# clients N: that many, evenly over the workers.
sub clients {
    my ($self, $n) = @_;
    my @workers = $self->workers;
    my @clients;

    for my $i (0 .. $#workers) {
        my $share = int($n / @workers) + ($i < $n % @workers ? 1 : 0);
        push @clients, $self->clients_of($workers[$i], $share) if $share;
    }

    return @clients;
}

# together CODE, ARGUMENTS...: runs the code in a process for each argument, all
# from the same moment on; returns what the code returned, in their order.
sub together {
    my ($self, $code, @arguments) = @_;
    my (@readers, @processes);

    pipe my $wait, my $go or die "pipe: $!";

    for my $argument (@arguments) {
        pipe my $reader, my $writer or die "pipe: $!";

        push @processes, SlidewinProcess->start(sub {
            close $reader;
            close $go;
            sysread $wait, my $byte, 1;
            my $result = $code->($argument);
            print $writer Storable::freeze(ref $result ? $result : \$result);
            close $writer;
        });

        close $writer;
        push @readers, $reader;
    }

    close $wait;
    close $go;

    my @results = map {
        local $/;
        my $frozen = readline $_;
        my $result = length $frozen // '' ? Storable::thaw($frozen) : undef;
        ref $result eq 'SCALAR' ? $$result : $result;
    } @readers;

    $_->wait for @processes;

    return @results;
}

# burst CLIENTS, URIS: all requests are in the sockets before the workers, which
# are stopped meanwhile, read the first. Returns the answers.
sub burst {
    my ($self, $clients, $uris) = @_;
    my @workers = $self->workers;

    kill 'STOP', @workers;

    for my $i (0 .. $#$clients) {
        $clients->[$i]->write(join '', map {
            SlidewinNginx::Client::_text($_)
        } @{$uris->[$i % @$uris]});
    }

    kill 'CONT', @workers;

    return map {
        my $client = $clients->[$_];
        map { $client->answer } @{$uris->[$_ % @$uris]};
    } 0 .. $#$clients;
}

# tally STATUS...: "200 x5, 429 x3"
sub tally {
    my %count;

    $count{$_}++ for @_;

    return join ', ', map { "$_ x$count{$_}" } sort { $a <=> $b } keys %count;
}


package SlidewinNginx::Client;

use strict;
use warnings;

use IO::Socket::UNIX ();
use Time::HiRes ();

sub new {
    my ($class, $path, %options) = @_;

    return bless {
        path => $path,
        socket => IO::Socket::UNIX->new(Peer => $path),
        buffer => '',
        timeout => 30,
        %options,
    }, $class;
}

sub get {
    my ($self, $uri, %fields) = @_;

    $self->request($uri, %fields);

    return $self->answer;
}

sub request {
    my ($self, @request) = @_;

    return $self->write(_text(@request));
}

sub write {
    my ($self, $text) = @_;
    my $done = 0;

    return 0 if !$self->{socket};

    while ($done < length $text) {
        my $n = syswrite $self->{socket}, $text, length($text) - $done, $done;
        return 0 if !$n;
        $done += $n;
    }

    return 1;
}

# statuses URI...: pipelined, in batches that fit the socket.
sub statuses {
    my ($self, @uris) = @_;
    my @statuses;

    while (my @batch = splice @uris, 0, 250) {
        $self->write(join '', map { _text($_) } @batch);
        push @statuses, map { $self->answer->{status} } @batch;
    }

    return @statuses;
}

# flood URI...: as statuses, but the answers are only counted, so that the
# worker has more to do than the client; for batches that fit the socket.
# Whether all were answered.
sub flood {
    my ($self, @uris) = @_;
    my $text = $self->{texts}{"@uris"} //= join '', map { _text($_) } @uris;
    my $missing = @uris;

    $self->write($text) or return 0;

    while ($missing > 0) {
        my $bits = '';
        vec($bits, fileno $self->{socket}, 1) = 1;
        select $bits, undef, undef, $self->{timeout} or return 0;

        sysread $self->{socket}, $self->{buffer}, 65536,
                length $self->{buffer} or return 0;

        # all but a status line that may be cut
        $missing -= () = $self->{buffer} =~ m{HTTP/1\.1 \d\d\d}g;
        $self->{buffer} =~ s{.*HTTP/1\.1 \d\d\d}{}s;
        $self->{buffer} = substr $self->{buffer}, -12
            if length $self->{buffer} > 12 && $missing > 0;
    }

    # the rest of the last answer
    select undef, undef, undef, 0.001;
    $self->{socket}->blocking(0);
    1 while sysread $self->{socket}, $self->{buffer}, 65536;
    $self->{socket}->blocking(1);
    $self->{buffer} = '';

    return 1;
}

sub answer {
    my ($self) = @_;
    my $end;

    return { status => 0, header => {}, body => '' } if !$self->{socket};

    while (1) {
        if ($self->{buffer} =~ m{\AHTTP/1\.\d (\d+)[^\r]*\r\n(.*?)\r\n\r\n}s) {
            my ($status, $head, $start) = ($1, $2, $+[0]);
            my ($length) = $head =~ /^content-length: (\d+)/im;
            my $stop = $start + ($length // 0);
            my $body = $head =~ /^transfer-encoding: chunked/im
                       ? _chunked($self->{buffer}, $start, \$stop)
                       : length $self->{buffer} < $stop ? undef
                       : substr $self->{buffer}, $start, $stop - $start;

            if (defined $body) {
                substr $self->{buffer}, 0, $stop, '';

                my %header = map { /^([^:]+): *(.*?)\r?$/ ? (lc $1, $2) : () }
                             split /\n/, $head;

                $self->close if ($header{connection} // '') eq 'close';

                return { status => $status, header => \%header,
                         body => $body };
            }
        }

        $end //= Time::HiRes::time() + $self->{timeout};
        my $left = $end - Time::HiRes::time();
        my $bits = '';
        vec($bits, fileno $self->{socket}, 1) = 1;

        if ($left <= 0 || !select $bits, undef, undef, $left) {
            $self->close;
            return { status => -1, header => {}, body => '' };
        }

        if (!sysread $self->{socket}, $self->{buffer}, 65536,
                     length $self->{buffer})
        {
            $self->close;
            return { status => 0, header => {}, body => '' };
        }
    }
}

# _chunked TEXT, START, END: the body that is there in chunks, from START on; undef
# while there is more to come. Sets END to where it ends.
sub _chunked {
    my ($text, $start, $end) = @_;
    my $body = '';

    pos($text) = $start;

    while ($text =~ /\G([0-9a-f]+)\r\n/gci) {
        my $length = hex $1;

        return if length $text < pos($text) + $length + 2;

        $body .= substr $text, pos $text, $length;
        pos($text) = pos($text) + $length + 2;

        if ($length == 0) {
            $$end = pos $text;
            return $body;
        }
    }

    return;
}

# whether there is something to read, or the end
sub answered {
    my ($self) = @_;
    my $bits = '';

    vec($bits, fileno $self->{socket}, 1) = 1;

    return scalar select $bits, undef, undef, 0;
}

sub close {
    my ($self) = @_;

    close delete $self->{socket} if $self->{socket};
    $self->{buffer} = '';

    return;
}

sub _text {
    my ($uri, %fields) = @_;
    my $fields = join '', map { "$_: $fields{$_}\r\n" } sort keys %fields;

    return "GET $uri HTTP/1.1\r\nHost: localhost\r\n$fields\r\n";
}

1;
