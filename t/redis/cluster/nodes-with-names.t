# A cluster whose nodes announce host names: nginx's resolver looks them up,
# also those that are not in the URL, and a node may go while its name is looked
# up.

use strict;
use warnings;

use SlidewinCluster;
use SlidewinDNS;
use SlidewinNginx;
use Test::More;

my $patience = SlidewinNginx::patience();
my $dns = SlidewinDNS->start;
my $cluster = SlidewinCluster->start(
    replicas => 0,
    args => ['--cluster-preferred-endpoint-type', 'hostname',
             '--cluster-announce-hostname', 'node.example']);
my @masters = $cluster->masters;
my @keys = map { $cluster->clients_of($_, 3) } @masters;

$dns->has('node.example', '127.0.0.1');

my $nginx = SlidewinNginx->start(
    workers => 2,
    http => "resolver @{[$dns->address]} ipv6=off valid=1s;
             slidewin_redis @{[$cluster->url($masters[0])]} timeout=5s
                            connect_timeout=5s;
             slidewin_zone \$arg_k zone=log:1m rate=2r/h algorithm=log
                           on_error=closed;",
    server => 'add_header X-Source $slidewin_source always;
               location = /t { slidewin zone=log; empty_gif; }',
);

sub told {
    my ($key) = @_;

    return join ' ', map {
        "$_->{status} " . ($_->{header}{'x-source'} // '-')
    } map { $nginx->get("/t?k=$key") } 1 .. 3;
}

ok(SlidewinNginx::until_true(sub {
    $nginx->get('/t?k=first')->{header}{'x-source'} =~ /redis|deny/
}, 20 * $patience), 'a worker finds them');

for my $key (@keys) {
    like(told($key), qr/^200 redis 200 redis 429 (?:redis|deny_cache)$/,
         "$key: decided, and counted once");
}

cmp_ok($dns->asked('node.example'), '>', 0, 'their name was looked up');

# the name server does not answer any more: the last addresses are used

$dns->ignores('node.example');
like(told('later'), qr/^200 redis 200 redis 429/, 'a silent name server: decided');

# A node leaves while its name is looked up.

my ($from, $to) = @masters[2, 0];
my $n = 0;

$cluster->cli('--cluster', 'reshard', SlidewinCluster::address($to),
              '--cluster-from', $cluster->id($from),
              '--cluster-to', $cluster->id($to),
              '--cluster-slots', 16384, '--cluster-yes');

ok(SlidewinNginx::until_true(sub {
    told('more' . $n++);
    $nginx->errors(qr/has no slots any more/)
}, 30 * $patience), 'a node without slots is left');
like(told('end'), qr/^200 redis 200 redis 429/, '... and the others decide');

$nginx->stop;

done_testing();
