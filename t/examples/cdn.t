# examples/cdn.conf: the client behind the CDN is counted, grouped by network;
# only the CDN is trusted to name it.

use strict;
use warnings;

use SlidewinApp;
use SlidewinExample;
use Test::More;

my $app = SlidewinApp->start(sub {
    return 200, $_[0]{header}{'x-real-ip'};
});

# 127.0.0.9 is the CDN
my $nginx = SlidewinExample->start('cdn', app => $app->address, change => [
    'set_real_ip_from 203.0.113.0/24;' => 'set_real_ip_from 127.0.0.9;',
]);

sub behind { return { 'X-Forwarded-For' => join ', ', @_ } }

sub status { return $nginx->ask(9, '/', behind(@_))->{status} }

is($nginx->ask(9, '/', behind('198.51.100.1'))->{body}, '198.51.100.1',
   'the application is told who it is');
is($nginx->tallied(9, 200, '/', behind('198.51.100.1')), '200 x199, 429 x1',
   'a client behind the CDN has its limit');

my $late = $nginx->ask(9, '/', behind('198.51.100.1'));

is($late->{status}, 429, '... and no more');
is($late->{header}{'cache-control'}, 'no-store',
   '... which the CDN is told not to keep');
like($late->{header}{'retry-after'}, qr/^[1-9]\d*$/, '... with a time');
is(status('198.51.100.2'), 200, 'its neighbour is another');

# the address that the client claims stands before the one that the CDN has
# added

is(status('192.0.2.77', '198.51.100.1'), 429,
   'a claim in front of it changes nothing');
is(status('198.51.100.1', '198.51.100.3'), 200,
   'and does not make another client');

# an IPv6 network of a home

my @home = map {
    status(sprintf '2001:db8:1:2%02x:%x::%x', $_ % 256, $_, $_ * 7)
} 1 .. 210;

is(SlidewinNginx::tally(@home), '200 x200, 429 x10',
   'all addresses of a /56 are one client');
is(status('2001:db8:1:2ff:ffff:ffff:ffff:ffff'), 429, '... to the last');
is(status('2001:db8:1:300::1'), 200, 'the next /56 is another');
is(status('2001:db8:1:1ff::1'), 200, 'and so is the one before');
is(status('::ffff:198.51.100.1'), 429, 'an IPv4 address within IPv6 is itself');

# a client that bypasses the CDN

my @forged = map {
    $nginx->ask(2, '/', behind("203.0.113.$_"))->{status}
} 1 .. 210;

is(SlidewinNginx::tally(@forged), '200 x200, 429 x10',
   'a client that bypasses the CDN is not believed');
is($nginx->ask(3, '/')->{status}, 200, '... and is one among others');

$nginx->stop;
$app->stop;

done_testing();
