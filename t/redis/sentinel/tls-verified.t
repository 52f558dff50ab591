# rediss-sentinel://: nginx speaks only TLS with the sentinels and the servers
# that they name, and verifies their certificates.

use strict;
use warnings;

use SlidewinCerts;
use SlidewinFaults;
use SlidewinNginx;
use SlidewinSentinel;
use Test::More;

my $certs = SlidewinCerts->new;
my $ca = $certs->authority('ca');
my $other = $certs->authority('other');
my $time = 'timeout=5s connect_timeout=5s';

$certs->certificate('redis', by => 'ca', for => 'IP:127.0.0.1');

my $group = SlidewinSentinel->start(
    replicas => 1, sentinels => 1,
    tls => $certs->server('redis', '--tls-auth-clients', 'no',
                          '--tls-ca-cert-file', $ca,
                          '--tls-replication', 'yes'));

my $faults = SlidewinFaults->start(url => $group->url,
                                   redis => "ssl_ca=$ca $time");

ok($faults->redis_answers, 'the master is found');
$faults->decides('found');
is(scalar($faults->nginx->errors(qr/slidewin redis/)), 0, '... without a word');
$faults->remember_workers;

my $first = $group->master;

ok($group->fail_over($first), 'it is replaced');
ok($faults->redis_answers(30), '... which is followed');
$faults->decides('replaced');
$faults->ends_clean('found');

# An authority that did not sign them, and a server without TLS.

for (['another authority', $group->url, "ssl_ca=$other",
      qr/its certificate is refused, /],
     ['no TLS', $group->url =~ s/^rediss/redis/r, '', qr/./])
{
    my ($name, $url, $parameters, $reason) = @$_;

    $faults = SlidewinFaults->start(url => $url, redis => "$parameters $time");
    $faults->fails($name);
    ok($faults->nginx->logged(qr/slidewin redis "sentinels of mymaster" cannot be reached: $reason/, 10),
       '... the log says why');
    $faults->client->close;
    $faults->nginx->stop(name => $name);
}

done_testing();
