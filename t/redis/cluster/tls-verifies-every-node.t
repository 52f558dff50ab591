# A cluster with TLS only: the certificate of every node is verified.

use strict;
use warnings;

use SlidewinCerts;
use SlidewinCluster;
use SlidewinNginx;
use Test::More;

my $certs = SlidewinCerts->new;
my $ca = $certs->authority('ca');
my $other = $certs->authority('other');

$certs->certificate('redis', by => 'ca', for => 'IP:127.0.0.1');

my $cluster = SlidewinCluster->start(
    replicas => 0, cli => ['--tls', '--cacert', $ca],
    tls => $certs->server('redis', '--tls-cluster', 'yes', '--tls-ca-cert-file',
                          $ca, '--tls-auth-clients', 'no'));

sub start {
    my ($params) = @_;

    return SlidewinNginx->start(
        workers => 2,
        http => "slidewin_redis @{[$cluster->url]} timeout=20s
                                connect_timeout=20s $params;
                 slidewin_zone \$arg_k zone=log:1m rate=2r/h algorithm=log
                               on_error=closed;",
        server => 'add_header X-Source $slidewin_source always;
                   location = /log { slidewin zone=log; empty_gif; }',
    );
}

sub tally { return SlidewinNginx::tally(map { $_->{status} } @_) }

my $nginx = start("ssl_ca=$ca");
my ($from, $to) = $cluster->masters;
my @keys = map { $cluster->clients_of($_, 4) } $cluster->masters;
my @answers = map { $nginx->get("/log?k=$_") } (@keys) x 3;

is(tally(@answers), '200 x24, 429 x12', 'on every node: exact');
is(scalar(grep { ($_->{header}{'x-source'} // '') ne 'redis' } @answers), 0,
   '... by Redis');

# A redirect to another node, which is reached with TLS as well.

my $new = ($cluster->clients_of($from, 5))[4];
my $slot = $cluster->slot($new);

$cluster->move_begin($slot, $from, $to);
is(tally(map { $nginx->get("/log?k=$new") } 1 .. 3), '200 x2, 429 x1',
   'half moved: exact');
cmp_ok($to->calls('asking'), '>', 2, '... and asked for at the other node');
$nginx->stop(name => 'verified');

$nginx = start("ssl_ca=$other");
is(tally($nginx->get('/log?k=1')), '503 x1', 'an unknown authority');
ok($nginx->logged(qr/slidewin redis "127\.0\.0\.1:\d+" cannot be reached: its certificate is refused/),
   '... and the log says so');
$nginx->stop(name => 'refused');

done_testing();
