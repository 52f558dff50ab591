# With an address from the resolver, the certificate must still have the name in
# the URL.

use strict;
use warnings;

use SlidewinCerts;
use SlidewinDNS;
use SlidewinFaults;
use SlidewinNginx;
use SlidewinPreload;
use SlidewinRedis;
use Test::More;

my $dns = SlidewinDNS->start;
my $certs = SlidewinCerts->new;
my $ca = $certs->authority('ca');

$certs->certificate('redis', by => 'ca', for => 'DNS:redis.example');

my $redis = SlidewinRedis->start(tls => $certs->server('redis'));

sub start {
    my ($name) = @_;

    $dns->has($name, '127.0.0.1');

    return SlidewinFaults->start(
        url => "rediss://$name:" . $redis->port,
        redis => "ssl_ca=$ca timeout=5s connect_timeout=5s",
        http => "resolver @{[$dns->address]} ipv6=off;",
        env => { LD_PRELOAD => SlidewinPreload::library('names'),
                 SLIDEWIN_NAME => $name });
}

my $faults = start('redis.example');
ok($faults->redis_answers, 'the name of the certificate: Redis is asked');
$faults->remember_workers;
$faults->decides('its name');
$faults->ends_clean('its name');

$faults = start('other.example');
$faults->fails('another name');
ok($faults->nginx->logged(qr/slidewin redis "other\.example:\d+" cannot be reached: its certificate is refused, /, 10),
   '... the log says why');
$faults->client->close;
$faults->nginx->stop(name => 'another name');

done_testing();
