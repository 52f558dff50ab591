# TLS to Redis and nginx's own TLS in one worker: errors of one do not affect
# the other.

use strict;
use warnings;

use SlidewinCerts;
use SlidewinFaults;
use SlidewinNginx;
use SlidewinPreload;
use SlidewinRedis;
use Test::More;

my $certs = SlidewinCerts->new;
my $ca = $certs->authority('ca');

$certs->certificate($_, by => 'ca', for => 'IP:127.0.0.1,DNS:localhost')
    for qw(redis site);
$certs->certificate('self');

my $redis = SlidewinRedis->start(tls => $certs->server('redis'));
my $bad = SlidewinRedis->start(tls => $certs->server('self'));
my $port = SlidewinRedis::free_port();
my $upstream = SlidewinRedis::free_port();
my $time = 'timeout=5s connect_timeout=10s';

# a healthy Redis, one whose certificate is refused again and again, and a site
# with TLS to its clients and to its upstream
my $faults = SlidewinFaults->start(
    url => $redis->url, redis => "ssl_ca=$ca $time",
    http => "slidewin_redis @{[$bad->url]} name=bad ssl_ca=$ca $time;
             slidewin_zone \$arg_k zone=bad:1m rate=1000r/h store=bad
                           on_error=open;
             ssl_certificate @{[$certs->pem('site')]};
             ssl_certificate_key @{[$certs->key('site')]};
             proxy_ssl_trusted_certificate $ca;
             proxy_ssl_verify on;
             proxy_ssl_name localhost;
             proxy_ssl_session_reuse off;
             server {
                 listen 127.0.0.1:$port ssl;
                 location = /free { empty_gif; }
                 location = /well { slidewin zone=well_local; empty_gif; }
                 location = /bad { slidewin zone=bad; empty_gif; }
                 location = /proxy { slidewin zone=well_local;
                                     proxy_pass https://127.0.0.1:$upstream/; }
             }
             server {
                 listen 127.0.0.1:$upstream ssl;
                 location / { empty_gif; }
             }",
    server => 'location = /bad { slidewin zone=bad; empty_gif; }');
my $nginx = $faults->nginx;

ok($faults->redis_answers, 'Redis is asked');
ok(SlidewinNginx::until_true(sub {
    $faults->log_lines('cannot be reached: its certificate is refused');
}, 10 * SlidewinNginx::patience()), 'the other one is refused');

sub curl {
    my (@arguments) = @_;
    my $statuses = `curl -s --cacert $ca -o /dev/null -w '%{http_code} ' @arguments`;

    return $statuses =~ s/ $//r;
}

sub s_client {
    my (@arguments) = @_;

    return `openssl s_client -connect 127.0.0.1:$port @arguments 2>&1 </dev/null`;
}

my $end = SlidewinNginx::now() + 3;
my $rounds = 0;

while ($rounds < 10 || SlidewinNginx::now() < $end) {
    my $name = 'round ' . ++$rounds;
    my @uris = map { "https://localhost:$port/$_?k=$rounds -o /dev/null" }
               qw(free well bad proxy);

    is(curl("--resolve localhost:$port:127.0.0.1", @uris), '200 200 200 200',
       "$name: nginx serves TLS");

    # clients whose handshake fails, or that give it up
    s_client('-tls1_1', '-cipher', 'ALL:@SECLEVEL=0');
    s_client('-verify_return_error', '-CAfile', $certs->pem('self'));
    my $plain = IO::Socket::INET->new("127.0.0.1:$port");
    print $plain "nonsense\r\n";
    close $plain;

    is($faults->ask('open', "neighbour$rounds", 2),
       '200 PASSED redis, 200 PASSED redis', "$name: Redis decides");
}

is(scalar($nginx->errors(qr/stale global SSL error/)), 0,
   'no error of one was taken for the other\'s');
is($faults->log_lines('is lost'), 0, 'the connection that is well stays');
is($faults->log_lines('cannot be reached'), 1, 'and one line says what is not');

$faults->client->close;
$nginx->stop;


# A write to Redis fails, and the error queue of OpenSSL has the reason: that
# must not be taken for an error of the site that is served next.
{
    my $spoil = $certs->dir . '/spoil';

    $port = SlidewinRedis::free_port();
    $nginx = SlidewinNginx->start(
        env => { LD_PRELOAD => SlidewinPreload::library('write'),
                 SLIDEWIN_PORT => $redis->port, SLIDEWIN_WRITE => $spoil },
        http => "slidewin_redis @{[$redis->url]} ssl_ca=$ca $time;
                 slidewin_zone \$arg_k zone=one:1m rate=1000r/h on_error=open;
                 add_header X-Source \$slidewin_source always;
                 ssl_certificate @{[$certs->pem('site')]};
                 ssl_certificate_key @{[$certs->key('site')]};
                 server {
                     listen 127.0.0.1:$port ssl;
                     location / { slidewin zone=one; empty_gif; }
                 }");

    my $asks = sub {
        my $head = `curl -s --cacert $ca -D - -o /dev/null --resolve localhost:$port:127.0.0.1 'https://localhost:$port/?k=1'`;

        return join ' ', $head =~ /^HTTP\S+ (\d+)/, $head =~ /^X-Source: (\S+)/m;
    };

    for my $round (1 .. 3) {
        ok(SlidewinNginx::until_true(sub { $asks->() eq '200 redis' },
                                     10 * SlidewinNginx::patience()),
           "round $round: Redis is asked");
        open my $file, '>', $spoil or die "$spoil: $!";
        close $file;
        is($asks->(), '200 fail_open', '... a write fails');
        unlink $spoil;
    }

    ok($nginx->logged(qr/slidewin redis "[^"]+" is lost: TLS failed, .*bad record mac/),
       '... and the log says why');
    is(scalar($nginx->errors(qr/stale global SSL error/)), 0,
       '... but the site hears nothing of it');
    $nginx->stop;
}

done_testing();
