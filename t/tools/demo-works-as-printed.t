# ./build.sh run, as a new user meets it: the commands it prints work, the
# limits are as printed, Ctrl-C leaves nothing behind.

use strict;
use warnings;

use IO::Socket::INET ();
use POSIX ();
use Test::More;

use SlidewinNginx ();
use SlidewinRedis ();

my $root = $ENV{SLIDEWIN_ROOT} // '.';
my %demo;

END {
    my $rc = $?;
    kill 'KILL', -$demo{pid} if $demo{pid};
    $? = $rc;
}

# In a process group of its own, as in a terminal: Ctrl-C goes to the whole
# group.
sub demo {
    my ($port, @arguments) = @_;

    pipe my $reader, my $writer or die "pipe: $!";
    my $pid = fork // die "fork: $!";

    if ($pid == 0) {
        POSIX::setpgid(0, 0);
        $SIG{INT} = 'DEFAULT';
        open STDOUT, '>&', $writer;
        open STDERR, '>&', $writer;
        close $reader;
        $ENV{PORT} = $port;
        exec "$root/build.sh", 'run', @arguments or POSIX::_exit(127);
    }

    close $writer;
    $reader->blocking(0);
    %demo = (pid => $pid, reader => $reader, said => '', port => $port);

    return;
}

# until this was printed: a build may come first
sub said {
    my ($pattern, $seconds) = @_;

    return SlidewinNginx::until_true(sub {
        sysread $demo{reader}, $demo{said}, 65536, length $demo{said};
        return $demo{said} =~ $pattern;
    }, $seconds);
}

sub members {
    my ($group) = @_;

    return grep { ((stat_of($_))[2] // 0) == $group } pids();
}

sub pids {
    opendir my $dir, '/proc' or die "/proc: $!";
    return grep { /^\d+$/ } readdir $dir;
}

# state, parent, process group
sub stat_of {
    open my $file, '<', "/proc/$_[0]/stat" or return;
    return <$file> =~ /.*\) (\S) (\d+) (\d+)/ ? ($1, $2, $3) : ();
}

# the commands it prints, unchanged
sub commands { return $demo{said} =~ /^  ((?:curl|for|redis-cli) .*)$/mg }

sub shell { return scalar `$_[0] 2>/dev/null` }

sub ends {
    my ($name) = @_;
    my $group = $demo{pid};

    kill 'INT', -$group;
    my $rc;
    ok(SlidewinNginx::until_true(sub {
        my $done = waitpid $group, POSIX::WNOHANG();
        $rc = $? if $done == $group;
        return defined $rc;
    }, 30), "$name: Ctrl-C ends it");
    is($rc, 0, '... well');
    ok(said(qr/^stopped$/m, 5), '... it says so');

    is(join(' ', members($group)), '', '... no process is left');
    ok(defined IO::Socket::INET->new(LocalAddr => '127.0.0.1', Listen => 1,
                                     LocalPort => $demo{port}, ReuseAddr => 1),
       '... and the port is free');
    %demo = ();

    return;
}

for my $store ('', '--redis') {
    my $name = $store || 'shared memory';

    demo(SlidewinRedis::free_port(), $store || ());
    ok(said(qr/Ctrl-C stops it/, 240), "$name: it serves")
        or BAIL_OUT($demo{said});

    my ($login, $search, $free, $top, $reset, @redis) = commands();

    like($login, qr{^curl -i http://localhost:$demo{port}/login$},
         '... and says what to try');
    my @answers = map { shell($login) } 1 .. 6;
    is(join(' ', map { /^HTTP\S+ (\d+)/ } @answers), '200 200 200 200 200 429',
       '... five logins, and the sixth is refused');
    like($answers[5], qr/^Retry-After: ([1-9]|[1-5]\d|60)\r$/m,
         '... with Retry-After');
    like($answers[0], qr/^hello from \/login$/m, '... the application answers');
    like($answers[0], qr/^RateLimit: /m, '... and what is left is told');

    # two windows: the ten may lie in both, and leave room for more
    like(shell($search), qr/^(?:200 ){10}(?:200 ){0,1}(?:429 ){1,2}$/,
         '... ten searches');

    is(join(' ', map { shell($free) =~ /^HTTP\S+ (\d+)/ } 1 .. 20),
       join(' ', (200) x 20), '... and no limit elsewhere');

    my ($page) = $demo{said} =~ m{^  (http://\S+/slidewin/)$}m;

    like($page, qr{^http://localhost:$demo{port}/slidewin/$},
         '... it says where its dashboard is');
    like(shell("curl -s $page"), qr/^<!doctype html>/i, '... which is there');
    like(shell($top), qr/"key": "127\.0\.0\.1", .*"rejected": 1,/,
         '... it knows who was rejected');
    like(shell($reset), qr{^HTTP/1\.1 204 }, '... and lets the client in');
    like(shell($login), qr{^HTTP/1\.1 200 }, '... as the next login shows');

    my $source = $store ? 'redis' : 'local';
    ok(said(qr{429 REJECTED GET /login .*source=(?:$source|deny_cache)$}m, 10),
       '... its log shows them');

    if ($store) {
        is(scalar @redis, 1, '... Redis can be asked');
        like(shell($redis[0]), qr/^sw:\{\S+\}:login$/m, '... what it counts');

        my ($pid) = $demo{said} =~ /^Stop it \(kill (\d+)\)/m;
        ok($pid, '... and be stopped');
        kill 'TERM', $pid;
        ok(SlidewinNginx::until_true(sub { !SlidewinNginx::alive($pid) }, 10),
           '... it is gone');
        # a rejection by Redis is remembered for a second
        SlidewinNginx::nap(1.5);
        is(SlidewinNginx::tally(map { shell($login) =~ /^HTTP\S+ (\d+)/ }
                                1 .. 7),
           '200 x5, 429 x2', '... the limit holds all the same');
        ok(said(qr/source=fallback$/m, 10), '... as its log says');
    }

    ends($name);
}


# a port that is in use

my $taken = IO::Socket::INET->new(LocalAddr => '127.0.0.1', Listen => 1)
    or die "listen: $!";
my $port = $taken->sockport;

my $said = `PORT=$port $root/build.sh run 2>&1`;
isnt($?, 0, 'a taken port is an error');
like($said, qr/port $port is in use; choose another: PORT=/, '... it is named');

$said = `PORT=http $root/build.sh run 2>&1`;
isnt($?, 0, 'no port at all is an error');
like($said, qr/PORT=http is not a port/, '... it is named as well');

done_testing();
