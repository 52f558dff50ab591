# nginx does not talk to a Redis that cannot prove its identity, or whose TLS is
# too old: one line says why, on_error decides, and nothing is sent that others
# could read.

use strict;
use warnings;

use SlidewinCerts;
use SlidewinFake;
use SlidewinFaults;
use SlidewinNginx;
use SlidewinProxy;
use SlidewinRedis;
use Test::More;

my $certs = SlidewinCerts->new;
my $all = 'IP:127.0.0.1,DNS:localhost';

my $ca = $certs->authority('ca');
my $other_ca = $certs->authority('other');

$certs->certificate('good', by => 'ca', for => $all);
$certs->certificate('expired', by => 'ca', for => $all, days => -1);
$certs->certificate('self', for => $all);
$certs->certificate('stranger', by => 'other', for => $all);
$certs->certificate('name', by => 'ca', for => 'DNS:redis.example');
$certs->certificate('address', by => 'ca', for => 'IP:127.0.0.2');
$certs->certificate('edge', by => 'ca');
$certs->certificate('impostor', by => 'other');

# how the server is verified, besides ssl_ca=
my $time = 'timeout=2s connect_timeout=5s';
my $secret = 'edge:s3cret@';

sub refuses {
    my ($name, %case) = @_;
    my $host = $case{host} // '127.0.0.1';
    my $proxy = SlidewinProxy->start($case{port});
    my $faults = SlidewinFaults->start(
        url => "rediss://$secret$host:" . $proxy->port,
        redis => ($case{redis} // "ssl_ca=$ca") . ' ' . ($case{time} // $time),
        main => $case{main} // '');
    my $nginx = $faults->nginx;

    ok(SlidewinNginx::until_true(
           sub { $faults->log_lines('cannot be reached') },
                                 30 * SlidewinNginx::patience()),
       "$name: refused");
    $faults->fails($name);

    my $attempts = $proxy->stats->{accepts};
    SlidewinNginx::until_true(sub { $proxy->stats->{accepts} > $attempts },
                              10 * SlidewinNginx::patience());

    note grep { /slidewin redis/ } $nginx->errors(qr/slidewin redis/);
    is($faults->log_lines($case{reason}), 1, "$name: one line says why")
        or diag $nginx->errors(qr/slidewin redis/);
    is($faults->log_lines('.'), 1, "$name: and it is the only one")
        or diag $nginx->errors(qr/slidewin redis/);
    unlike($proxy->stats->{heard}, qr/AUTH|EVALSHA|TIME|s3cret/,
           "$name: nothing was said in plain text");
    unlike($nginx->error_log, qr/s3cret/, "$name: no password in the log");

    $faults->client->close;
    $nginx->stop(name => $name);
    $proxy->stop;

    return;
}

sub redis {
    my ($name, @more) = @_;

    return SlidewinRedis->start(tls => $certs->server($name, @more));
}

my $refused = qr/cannot be reached: its certificate is refused, /;
my $failed = qr/cannot be reached: TLS failed, /;


# Certificates.

for (['expired', 'expired', qr/certificate has expired$/m],
     ['self-signed', 'self', qr/self[- ]signed certificate$/m],
     ['of an unknown authority', 'stranger',
      qr/unable to (?:get local issuer|verify the first) certificate$/m],
     ['with another name', 'name', qr/hostname mismatch$/m,
      host => 'localhost'],
     ['with a name, where an address is asked for', 'name',
      qr/IP address mismatch$/m],
     ['with another address', 'address', qr/IP address mismatch$/m],
     ['that is good, but not for ssl_name', 'good', qr/hostname mismatch$/m,
      redis => "ssl_ca=$ca ssl_name=redis.example"],
     ['that the system does not know', 'good',
      qr/unable to (?:get local issuer|verify the first) certificate$/m,
      redis => 'ssl_verify=on'])
{
    my ($name, $certificate, $reason, %case) = @$_;
    my $redis = redis($certificate);

    refuses("a certificate $name", port => $redis->port,
            reason => qr/$refused$reason/, %case);
    $redis->remove;
}


# The client certificate: none where one is required, and one of another
# authority.

my $redis = redis('good', '--tls-auth-clients', 'yes', '--tls-ca-cert-file',
                  $ca);

refuses('no certificate of ours', port => $redis->port,
        reason => qr/$failed.*certificate required$/m);
refuses('a certificate of ours that Redis does not know',
        port => $redis->port, redis => "ssl_ca=$ca ssl_cert="
        . $certs->pem('impostor') . ' ssl_key=' . $certs->key('impostor'),
        reason => qr/$failed.*(?:unknown ca|decrypt error)$/m);
$redis->remove;


# A protocol version that is too old.

my $conf = $certs->dir . '/openssl.cnf';

open my $file, '>', $conf or die "$conf: $!";
print $file <<'END';
openssl_conf = all
[all]
ssl_conf = ssl
[ssl]
system_default = default
[default]
MinProtocol = TLSv1
CipherString = ALL:@SECLEVEL=0
END
close $file;

for my $version ('TLSv1', 'TLSv1.1') {
    $redis = SlidewinRedis->start(
        env => { OPENSSL_CONF => $conf },
        tls => [@{$certs->server('good')}, '--tls-protocols', $version]);

    # whatever the system's configuration would allow
    local $ENV{OPENSSL_CONF} = $conf;

    refuses("only $version", port => $redis->port,
            reason => qr/$failed.*protocol/);
    $redis->remove;
}


# A server that does not speak TLS at all, sends something else first, is
# silent, or closes the connection.

$redis = SlidewinRedis->start;
refuses('plain text', port => $redis->port, time => 'connect_timeout=500ms',
        reason => qr/cannot be reached: (?:the TLS handshake took too long|TLS failed, wrong version number)$/m);
$redis->remove;

my $fake = SlidewinFake->start(modes => {
    smtp => { accept => sub { $_[0]->send("220 smtp.example ESMTP\r\n") } },
    ends => { accept => sub { $_[0]->fin } },
    mute => { accept => sub { $_[0]->mute } },
});

$fake->mode('smtp');
refuses('another protocol', port => $fake->port,
        reason => qr/${failed}wrong version number$/m);
$fake->mode('mute');
refuses('silence', port => $fake->port, time => 'connect_timeout=500ms',
        reason => qr/cannot be reached: the TLS handshake took too long$/m);
$fake->mode('ends');
refuses('an end at once', port => $fake->port,
        reason => qr/cannot be reached: /);
$fake->stop;


# The other way round: the server has TLS, and nginx is configured without.

$redis = redis('good');
my $faults = SlidewinFaults->start(
    url => 'redis://127.0.0.1:' . $redis->port, redis => $time);
my $name = 'plain text to a port of TLS';

ok(SlidewinNginx::until_true(sub { $faults->log_lines('cannot be reached') },
                             30 * SlidewinNginx::patience()),
   "$name: refused");
$faults->fails($name);
is($faults->log_lines('.'), 1, "$name: one line");
$faults->client->close;
$faults->nginx->stop(name => $name);
$redis->remove;

done_testing();
