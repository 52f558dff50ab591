# A name server that fails, is silent or slow holds up no request: the last
# known address is used, and without one on_error decides.

use strict;
use warnings;

use SlidewinDNS;
use SlidewinFaults;
use SlidewinNginx;
use SlidewinPreload;
use SlidewinRedis;
use Test::More;

my $names = SlidewinPreload::library('names');
my $dns = SlidewinDNS->start;
my $redis = SlidewinRedis->start;
my $port = $redis->port;

sub start {
    my (%options) = @_;

    return SlidewinFaults->start(
        url => "redis://redis.example:$port",
        redis => $options{redis} // 'timeout=2s connect_timeout=1s',
        http => "resolver @{[$options{server} // $dns->address]} valid=1s;
                 resolver_timeout @{[$options{timeout} // '1h']};",
        env => { LD_PRELOAD => $names, SLIDEWIN_NAME => 'redis.example',
                 SLIDEWIN_ADDRESSES => $options{addresses} // '' });
}

# a request that waits for the resolver would wait for an hour
sub within {
    my ($seconds, $name, $code) = @_;
    my $since = SlidewinNginx::now();

    $code->();
    cmp_ok(SlidewinNginx::now() - $since, '<',
           $seconds * SlidewinNginx::patience(), "$name: no request waits");

    return;
}


# Silent from the start, and no address is known.

$dns->ignores('redis.example');
my $faults = start();

within(15, 'silent', sub {
    is($faults->get('/free')->{status}, 200, 'silent: others are served');
    $faults->fails('silent');
});
ok($faults->nginx->logged(qr/slidewin redis "redis\.example:$port" cannot be reached: where it is was not heard in time$/),
   '... which is said');
SlidewinNginx::nap(1);
is($faults->log_lines(qr/cannot be reached/), 1, '... once');
cmp_ok($dns->asked('redis.example'), '<=', 4, '... and it is not asked often');

$dns->has('redis.example', '127.0.0.1');
ok($faults->redis_answers(20), '... until it answers');
$faults->remember_workers;
$faults->decides('no longer silent');
$faults->ends_clean('no longer silent');


# A client that leaves meanwhile leaves nothing behind.

$dns->ignores('redis.example');

for my $signal (qw(QUIT TERM)) {
    $faults = start();
    my $asked = $dns->asked('redis.example');
    $faults->get('/local?k=1');
    my @old = $faults->nginx->reload;
    ok(SlidewinNginx::until_true(sub {
        !grep { SlidewinNginx::alive($_) } @old;
    }, 20 * SlidewinNginx::patience()), "$signal: a reload does not wait for it");
    $faults->get('/local?k=1');
    $faults->client->close;
    $faults->nginx->stop(signal => $signal, name => $signal);
}


# Silent, but the address was known at the start: it is used at once.

$faults = start(addresses => '127.0.0.1');
within(15, 'known at the start', sub {
    ok($faults->redis_answers, 'known at the start: Redis is asked');
    $faults->decides('known at the start');
});
$faults->remember_workers;
$redis->kill;
ok(SlidewinNginx::until_true(sub {
    $faults->get('/well_local?k=x')->{status} == 503;
}, 10 * SlidewinNginx::patience()), '... it is gone');
$redis->run;
$faults->recovers('known at the start');
$faults->ends_clean('known at the start');


# The address was known, and then the name server fails: the last address is
# used, the connection stays, and a new one can be made.

for (['NXDOMAIN', 3, 'Host not found'], ['SERVFAIL', 2, 'Server failure'],
     ['silence', undef, 'Operation timed out'])
{
    my ($name, $code, $reason) = @$_;

    $dns->has('redis.example', '127.0.0.1');
    $faults = start(timeout => '1s',
                    redis => 'timeout=5s connect_timeout=10s');
    ok($faults->redis_answers, "$name: Redis is asked");
    $faults->remember_workers;

    defined $code ? $dns->fails('redis.example', $code)
                  : $dns->ignores('redis.example');

    ok($faults->nginx->logged(qr/\[warn\] .*slidewin redis "redis\.example:$port" is where it was last, its name was not resolved: $reason$/, 20),
       '... its name is lost, which is said');
    $faults->decides($name);
    is($faults->log_lines(qr/is lost/), 0, '... but not the connection');

    $redis->command('CLIENT', 'KILL', 'TYPE', 'normal', 'SKIPME', 'yes');
    ok($faults->redis_answers, '... and another one is made');
    $faults->decides("$name, anew");
    is(scalar($faults->nginx->errors(qr/is where it was last/)), 1,
       '... with one line');
    is($faults->log_lines(qr/cannot be reached/), 0, '... at once');
    $faults->ends_clean($name);
}


# Slower than connect_timeout: the answer is used for the next connection.

$dns->has('redis.example', '127.0.0.1');
$dns->delay(1);
$faults = start(redis => 'timeout=2s connect_timeout=100ms');
$faults->fails('slow');
ok($faults->redis_answers(20), 'a slow name server: Redis is asked, later');
$faults->remember_workers;
$faults->decides('slow');
$faults->ends_clean('slow');
$dns->delay(0);


# No name server at all.

$faults = start(server => '127.0.0.1:' . SlidewinRedis::free_port());
within(15, 'no name server', sub { $faults->fails('no name server') });
is($faults->log_lines(qr/cannot be reached/), 1, '... one line');
$faults->client->close;
$faults->nginx->stop(name => 'no name server');

done_testing();
