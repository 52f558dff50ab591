# TLS records without data are handled by OpenSSL: new keys may come while no
# reply is pending. Data without a pending check ends the connection.

use strict;
use warnings;

use IO::Handle;
use IO::Socket::UNIX;
use IPC::Open2;
use POSIX ();
use SlidewinCerts;
use SlidewinFaults;
use SlidewinNginx;
use SlidewinRedis;
use Test::More;

my $certs = SlidewinCerts->new;
my $ca = $certs->authority('ca');

$certs->certificate('redis', by => 'ca', for => 'IP:127.0.0.1');

my $redis = SlidewinRedis->start;
my $port = SlidewinRedis::free_port();

# TLS by openssl s_server, which reads commands from its standard input: a line
# that begins with K changes the keys. Its data goes on to a real Redis. What
# the suite writes to $orders goes to the standard input as well.

pipe my $asked, my $orders or die "pipe: $!";
my $bridge = fork // die "fork: $!";

if ($bridge == 0) {
    $SIG{$_} = 'DEFAULT' for qw(TERM INT HUP);
    close $orders;
    eval { bridge(); 1 } or print {*STDERR} $@;
    POSIX::_exit(0);
}

close $asked;
$orders->autoflush(1);

sub bridge {
    my $pid = open2(my $out, my $in, 'openssl', 's_server',
                    '-accept', "127.0.0.1:$port", '-tls1_3',
                    '-cert', $certs->pem('redis'), '-key', $certs->key('redis'));
    my ($server, $text) = (undef, '');

    $SIG{TERM} = sub { kill 'KILL', $pid; POSIX::_exit(0) };

    while (1) {
        my $read = '';

        vec($read, fileno $_, 1) = 1 for $out, $asked, $server // ();
        select $read, undef, undef, undef or next;

        if (vec $read, fileno $asked, 1) {
            sysread $asked, my $typed, 4096 or last;
            syswrite $in, $typed;
            # so that it is not read together with data
            SlidewinNginx::nap(0.5);
        }

        if ($server && vec $read, fileno $server, 1) {
            sysread $server, my $reply, 4096 or last;
            syswrite $in, $reply;
        }

        next if !vec $read, fileno $out, 1;
        sysread $out, $text, 65536, length $text or last;

        $server //= IO::Socket::UNIX->new(Peer => $redis->path)
            // die "redis: $!";
        while (defined(my $command = command(\$text))) {
            syswrite $server, $command;
        }
    }

    kill 'KILL', $pid;
}

# the next whole command, without openssl's own messages in between
sub command {
    my ($text) = @_;

    $$text =~ s/\A.*?(?=\*\d+\r\n)//s;
    $$text =~ /\A\*(\d+)\r\n/g or return;

    for (1 .. $1) {
        $$text =~ /\G\$(\d+)\r\n/g or return;
        my $end = pos($$text) + $1 + 2;
        return if length $$text < $end;
        pos($$text) = $end;
    }

    return substr $$text, 0, pos $$text, '';
}

my $faults = SlidewinFaults->start(
    url => "rediss://127.0.0.1:$port",
    redis => "ssl_ca=$ca timeout=5s connect_timeout=10s");
my $nginx = $faults->nginx;

ok($faults->redis_answers, 'Redis is asked');
$faults->decides('at first');

for my $round (1 .. 5) {
    print $orders "K\n";
    SlidewinNginx::nap(0.1);
    $faults->decides("new keys, $round");
}

is($faults->log_lines('is lost'), 0, 'new keys are no reason to end it')
    or diag $nginx->errors(qr/slidewin redis/);

print $orders "+more\r\n";
ok(SlidewinNginx::until_true(sub {
    $faults->log_lines('is lost: it said more than was asked') == 1;
}, 10 * SlidewinNginx::patience()), 'more than was asked is noticed');
is($nginx->get('/free')->{status}, 200, '... and survived');

$faults->client->close;
$nginx->stop;
kill 'TERM', $bridge;
waitpid $bridge, 0;

done_testing();
