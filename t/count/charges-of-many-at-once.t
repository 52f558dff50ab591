# Very many requests end in one turn of the event loop: each is charged, however
# far Redis is. Those of one client go together, and no other client waits for
# them.

use strict;
use warnings;

use File::Temp ();
use SlidewinFake;
use SlidewinHTTP2;
use SlidewinNginx;
use SlidewinRedis;
use SlidewinStats;
use Test::More;

my $patience = SlidewinNginx::patience();
my $streams = 128;
my $limit = 1_000_000_000;

# Redis is far while requests end, and near while they come: those are to pass
# however slow the machine is. The timeout is many times what a check takes.
my $dir = File::Temp::tempdir('slidewin.XXXXXX', TMPDIR => 1, CLEANUP => 1);
my $delay = SlidewinNginx::asan() ? 1 : 0.5;
my $timeout = 6 * $delay;
my $redis = SlidewinRedis->start;
my $far = SlidewinFake->start(relay => $redis->path,
                              delay => sub { -e "$dir/far" ? $delay : 0 });
my $port = SlidewinRedis::free_port();

my $locations = <<'END';
    location = /free2 { empty_gif; }
    location = /file {
        slidewin zone=bytes charge=$bytes_sent;
        access_log logs/bytes.log bytes;
        root html;
    }
    location = /other { slidewin zone=bytes; empty_gif; }
END

my $nginx = SlidewinNginx->start(
    http => "slidewin_redis @{[$far->url]}
                 timeout=${timeout}s connect_timeout=20s;
             slidewin_log_level info;
             slidewin_zone \$arg_k zone=bytes:16m rate=${limit}r/h;
             log_format bytes '\$arg_k \$bytes_sent';
             server { listen 127.0.0.1:$port http2; $locations }",
    server => "add_header X-Source \$slidewin_source always;
               location = /status { stub_status; }
               $locations" . SlidewinStats::location(),
);

mkdir $nginx->root . '/html';
open my $file, '>', $nginx->root . '/html/file' or die "file: $!";
print $file 'x' x 1_000_000;
close $file;

sub well {
    return ok(SlidewinNginx::until_true(sub {
        $nginx->get('/other?k=well' . rand)->{header}{'x-source'} eq 'redis';
    }, 20 * $patience), $_[0]);
}

sub passed { return SlidewinStats::zone($nginx, 'bytes')->{outcomes}{passed} }

sub charges {
    my $charges = SlidewinStats::zone($nginx, 'bytes')->{charges};

    return "$charges->{settled} settled, $charges->{estimated} estimated";
}

# the last N requests of all in the log: bytes of each client
sub sent {
    my ($n, $all) = @_;
    my @lines;

    ok(SlidewinNginx::until_true(sub {
        @lines = split /\n/, SlidewinNginx::slurp($nginx->root
                                                  . '/logs/bytes.log');
        return @lines == $all;
    }, 60 * $patience), '... all end');

    my %sent;

    for (@lines[-$n .. -1]) {
        my ($client, $bytes) = split ' ';
        $sent{$client} += $bytes;
    }

    return \%sent;
}

# Streams that wait for a window are answered in part, and end together when
# their connections do. They come a connection at a time. Returns how many there
# were.
sub crowd {
    my ($connections, $uri) = @_;
    my $n = 0;
    my $passed = passed();
    my @clients = map { SlidewinHTTP2->new($port) } 1 .. $connections;

    unlink "$dir/far";

    for my $client (@clients) {
        my @frames = map { ($client->compose($uri->($n++)))[1] } 1 .. $streams;
        $client->send(@frames);
        SlidewinNginx::until_true(sub { passed() == $passed + $n },
                                  20 * $patience) or last;
    }

    is(passed(), $passed + $connections * $streams, "$n requests pass");

    open my $file, '>', "$dir/far" or die "far: $!";
    close $file;

    SlidewinNginx::halt(my ($worker) = $nginx->workers);
    $_->{c}->close for @clients;
    kill 'CONT', $worker;

    return $n;
}

sub counted {
    my ($client) = @_;
    my $look = SlidewinStats::look($nginx, 'bytes', $client);

    return $limit - $look->{remaining};
}

well('Redis is asked');

my $one = crowd(60, sub { '/file?k=one' });
is($nginx->get('/other?k=after')->{header}{'x-source'}, 'redis',
   'those of one client end: another client is decided by Redis');

my $sent = sent($one, $one);

is(SlidewinStats::becomes(sub { counted('one') }, $sent->{one}, 60),
   $sent->{one}, '... each byte is charged');
is(charges(), "$one settled, 0 estimated", '... as the statistics tell');

# more than may be on their way to Redis at once
my $many = crowd(60, sub { "/file?k=$_[0]" });
my $since = SlidewinNginx::now();
is($nginx->get('/other?k=later')->{header}{'x-source'}, 'redis',
   'those of many clients end: another one is decided by Redis');

$sent = sent($many, $one + $many);

my $all = $one + $many . ' settled, 0 estimated';

is(SlidewinStats::becomes(\&charges, $all, 60), $all, '... all are settled');
cmp_ok(SlidewinNginx::now() - $since, '>', $timeout,
       '... which takes longer than the timeout of a check');

my @wrong = grep { counted($_) != $sent->{$_} }
            map { int $many / 20 * $_ } 0 .. 19;
is("@wrong", '', '... each to what it was sent');

$nginx->stop;
done_testing();
