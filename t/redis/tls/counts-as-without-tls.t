# TLS to Redis: counts as without, verified by name or by address, with a client
# certificate if required; and restarts, kills and stops have the same effect as
# without TLS.

use strict;
use warnings;

use IO::Socket::IP;
use SlidewinCerts;
use SlidewinFaults;
use SlidewinNginx;
use SlidewinProxy;
use SlidewinRedis;
use Test::More;

my $certs = SlidewinCerts->new;
my $ca = $certs->authority('ca');
my $time = 'timeout=5s connect_timeout=10s';

$certs->certificate('redis', by => 'ca',
                    for => 'IP:127.0.0.1,DNS:localhost,DNS:*.redis.example');
$certs->certificate('name', by => 'ca', for => 'DNS:one.redis.example');
$certs->certificate('edge', by => 'ca');
$certs->certificate('self');

my $mine = 'ssl_cert=' . $certs->pem('edge') . ' ssl_key='
           . $certs->key('edge');

my $redis = SlidewinRedis->start(tls => $certs->server('redis'));
my $named = SlidewinRedis->start(tls => $certs->server('name'));
my $unknown = SlidewinRedis->start(tls => $certs->server('self'));
my $mutual = SlidewinRedis->start(
    tls => $certs->server('redis', '--tls-ca-cert-file', $ca));

sub decides {
    my ($name, $url, $parameters, %more) = @_;
    my $faults = SlidewinFaults->start(url => $url,
                                       redis => "$parameters $time", %more);

    ok($faults->redis_answers, "$name: Redis is asked");
    $faults->decides($name);
    is($faults->log_lines('.'), 0, "$name: there is nothing to log");
    $faults->client->close;
    $faults->nginx->stop(name => $name);

    return;
}

sub at { my ($host, $of) = @_; return "rediss://$host:" . $of->port }


# Which certificate is accepted.

my $proxy = SlidewinProxy->start($redis->port);

decides('an address', 'rediss://127.0.0.1:' . $proxy->port, "ssl_ca=$ca");
cmp_ok($proxy->stats->{up}, '>', 1000, '... which was told something');
unlike($proxy->stats->{heard}, qr/EVALSHA|SCRIPT|TIME|sw:/,
       '... encrypted');
unlike($proxy->stats->{heard}, qr/127\.0\.0\.1/,
       '... and is not called by its address');
$proxy->stop;

$proxy = SlidewinProxy->start($named->port);
decides('ssl_name, a name', 'rediss://127.0.0.1:' . $proxy->port,
        "ssl_ca=$ca ssl_name=one.redis.example");
like($proxy->stats->{heard}, qr/one\.redis\.example/,
     '... which it is called by');
$proxy->stop;

decides('a name', at('localhost', $redis), "ssl_ca=$ca");
decides('a database', at('127.0.0.1', $redis) . '/3', "ssl_ca=$ca");
decides('ssl_name, of a wildcard', at('127.0.0.1', $redis),
        "ssl_ca=$ca ssl_name=two.redis.example");
decides('ssl_name, an address', at('localhost', $redis),
        "ssl_ca=$ca ssl_name=127.0.0.1");
decides('ssl_verify=on', at('127.0.0.1', $redis), "ssl_ca=$ca ssl_verify=on");
decides('ssl_verify=off', at('127.0.0.1', $unknown), 'ssl_verify=off');
decides('ssl_verify=off, of another name', at('127.0.0.1', $named),
        "ssl_verify=off ssl_ca=$ca");
decides('a certificate of ours', at('127.0.0.1', $mutual),
        "ssl_ca=$ca $mine");
decides('a client certificate that is not required', at('127.0.0.1', $redis),
        "ssl_ca=$ca $mine");

for my $version ('TLSv1.2', 'TLSv1.3') {
    $redis->command('CONFIG', 'SET', 'tls-protocols', $version);
    decides("only $version", at('127.0.0.1', $redis), "ssl_ca=$ca");
}

$redis->command('CONFIG', 'SET', 'tls-protocols', '');

# the authorities of the system: here there is one

{
    local $ENV{SSL_CERT_FILE} = $ca;

    decides('no ssl_ca', at('127.0.0.1', $redis), '',
            main => 'env SSL_CERT_FILE;');
}

$_->remove for $named, $unknown, $mutual;

# IPv6: where the machine has it

my $six = IO::Socket::IP->new(LocalHost => '::1', LocalPort => 0, Listen => 1,
                              V6Only => 1);

if ($six) {
    my $free = SlidewinRedis::free_port();

    $certs->certificate('six', by => 'ca', for => 'IP:::1');
    my $third = SlidewinRedis->start(args => ['--bind', '::1'], port => $free,
                                     tls => $certs->server('six'));

    decides('an address of IPv6', "rediss://[::1]:$free", "ssl_ca=$ca");
    $third->remove;
}


# A hundred at once, on two workers.

my $faults = SlidewinFaults->start(
    url => $redis->url, redis => "ssl_ca=$ca $time", workers => 2,
    http => 'slidewin_zone $arg_k zone=many:1m rate=60r/h algorithm=log
                           on_error=closed;',
    server => 'location = /many { slidewin zone=many; empty_gif; }');
my $nginx = $faults->nginx;
my @clients = $nginx->clients(100);

SlidewinNginx::until_true(sub {
    !grep { SlidewinFaults::summary($_->get('/well_local?k=w')) !~ /redis/ }
          @clients;
}, 10 * SlidewinNginx::patience());

is(SlidewinNginx::tally(map { $_->{status} }
                        $nginx->burst(\@clients, [['/many?k=hot']])),
   '200 x60, 429 x40', '100 at once: exactly the limit is admitted');

my @told = map { SlidewinFaults::summary($_) }
           $nginx->burst(\@clients, [map { ["/many?k=$_"] } 1 .. 100]);

is(SlidewinNginx::tally(map { /^200 PASSED redis$/ ? 1 : 0 } @told), '1 x100',
   '100 clients at once: each is counted for itself');
$_->close for @clients;
$faults->client->close;
$nginx->stop(name => 'a hundred');


# Restarted, killed with checks in flight, stopped, idle: as without TLS.

$faults = SlidewinFaults->start(
    url => $redis->url, redis => "ssl_ca=$ca timeout=2s connect_timeout=5s");
$nginx = $faults->nginx;

ok($faults->redis_answers, 'Redis is asked');
$faults->remember_workers;

$redis->stop;
$faults->fails('restarted');
ok($redis->run, 'restarted: it runs again');
$faults->recovers('restarted');

@clients = map { $nginx->client } 1 .. 20;
$redis->signal('STOP');
$_->request('/open?k=killed') for @clients;
ok($nginx->busy(20), 'twenty wait');
$redis->kill('KILL');
is(SlidewinNginx::tally(map { SlidewinFaults::summary($_->answer)
                              eq '200 ERROR_PASSED fail_open' ? 1 : 0 }
                        @clients), '1 x20',
   'killed: those under way are on_error\'s');
$_->close for @clients;
ok($redis->run, 'killed: it runs again');
$faults->recovers('killed');

$redis->signal('STOP');
is($faults->ask('open', 'stopped', 1), '200 ERROR_PASSED fail_open',
   'stopped: on_error decides');
ok(SlidewinNginx::until_true(
       sub { $faults->log_lines('is lost: no answer') }, 5),
   'stopped: and it is said');
$faults->fails('stopped');
$redis->signal('CONT');
$faults->recovers('stopped');

$redis->command('CLIENT', 'KILL', 'TYPE', 'normal', 'SKIPME', 'yes');
$faults->recovers('an idle connection ended');

for (1 .. 20) {
    $redis->command('CLIENT', 'KILL', 'TYPE', 'normal', 'SKIPME', 'yes');
    $faults->redis_answers;
}

note grep { !/notice/ } $nginx->errors(qr/slidewin redis/);
$faults->ends_clean;

done_testing();
