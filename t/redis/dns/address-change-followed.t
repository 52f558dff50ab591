# nginx's resolver looks up the name of a Redis again and again. A change of
# address is followed without a reload and without a failed request, whether the
# old server is still there or not.

use strict;
use warnings;

use File::Temp ();
use IO::Socket::IP;
use SlidewinDNS;
use SlidewinFaults;
use SlidewinNginx;
use SlidewinPreload;
use SlidewinRedis;
use Test::More;

my $dir = File::Temp::tempdir('slidewin.XXXXXX', TMPDIR => 1, CLEANUP => 1);
my $names = SlidewinPreload::library('names');
my $dns = SlidewinDNS->start;
my $port = SlidewinRedis::free_port();
my $patience = 10 * SlidewinNginx::patience();

# two servers that differ only in their address
my %redis = map {
    $_ => SlidewinRedis->start(args => ['--bind', $_], port => $port)
} qw(127.0.0.1 127.0.0.2);

# start(addresses => at the start, resolver => PARAMETERS): the resolver
# directive stands below slidewin_redis
sub start {
    my (%options) = @_;

    unlink "$dir/names";

    return SlidewinFaults->start(
        url => "redis://redis.example:$port",
        redis => 'timeout=5s connect_timeout=5s',
        http => "resolver @{[$dns->address]} "
                . ($options{resolver} // 'valid=1s') . ';',
        workers => $options{workers} // 1,
        env => { LD_PRELOAD => $names, SLIDEWIN_NAMES => "$dir/names",
                 SLIDEWIN_NAME => 'redis.example',
                 SLIDEWIN_ADDRESSES => $options{addresses} // '' });
}

sub connections {
    my ($address) = @_;

    return scalar grep { / addr=127\.0\.0\.1:/ }
           split /^/, $redis{$address}->command('CLIENT', 'LIST');
}

# once there are workers, only the resolver looks up names
sub looks_nothing_up {
    my ($faults, $name) = @_;
    my $workers = join '|', $faults->nginx->workers;
    my @asked = SlidewinNginx::slurp("$dir/names") =~ /^(?:$workers) (.*)$/mg;

    cmp_ok(scalar @asked, '>', 0, "$name: connections were made");
    is(join(' ', grep { !/^[\d.]+$/ && !/^[\da-f:]+$/ } @asked), '',
       '... by addresses alone, getaddrinfo() has no name to look up');

    return;
}


# Unknown at the start, known later.

my $faults = start();

like($faults->nginx->output, qr/\[warn\] .*host not found in slidewin_redis "redis\.example:$port"/,
     'a name that is not known at the start: a warning');
$faults->fails('not known');
is($faults->log_lines(
       qr/cannot be reached: its name was not resolved: Host not found$/),
   1, '... which is said once');
cmp_ok($dns->asked('redis.example'), '>', 0, '... as the resolver says');

$dns->has('redis.example', '127.0.0.1');
ok($faults->redis_answers, '... and when it is known, Redis is asked');
$faults->decides('known');
is($faults->log_lines(qr/is back/), 1, '... which is said once, too');
looks_nothing_up($faults, 'known');
$faults->remember_workers;


# A change while the old server answers and checks are in flight. Nothing is
# logged.

sub moves {
    my ($from, $to, $faults) = @_;
    my $n = 0;
    my $old;

    $_->command('FLUSHALL') for values %redis;
    $dns->has('redis.example', $to);

    my ($nginx, %seen) = ($faults->nginx);

    ok(SlidewinNginx::until_true(sub {
        my @clients = map { $faults->nginx->client } 1 .. 20;

        for (1 .. 5) {
            # checks of one client would be batched
            $clients[$_]->request("/well_local?k=moves$_") for 0 .. $#clients;
            $seen{SlidewinFaults::summary($_->answer)}++ for @clients;
            $n += @clients;
        }

        return connections($from) == 0 && connections($to) > 0;
    }, $patience), "from $from to $to: it is followed");

    is(join(', ', sort keys %seen), '200 PASSED redis',
       '... and every request was decided by Redis');
    is($redis{$from}->calls('evalsha') + $redis{$to}->calls('evalsha')
       + $redis{$from}->calls('eval') + $redis{$to}->calls('eval'), $n,
       '... by one of the two, once');
    is($faults->log_lines(qr/is no longer at \Q$from\E$/), 1,
       '... one line says it');
    $faults->decides("at $to");
    is($faults->log_lines(qr/(?:is lost|cannot be reached)/), 1,
       '... and nothing was lost');

    return;
}

$_->command('CONFIG', 'RESETSTAT') for values %redis;
moves('127.0.0.1', '127.0.0.2', $faults);
$_->command('CONFIG', 'RESETSTAT') for values %redis;
moves('127.0.0.2', '127.0.0.1', $faults);
looks_nothing_up($faults, 'moved twice');


# One more address, or another order, changes no connection.

my $asked = $dns->asked('redis.example');

$dns->has('redis.example', '127.0.0.2', '127.0.0.1');
ok(SlidewinNginx::until_true(sub {
    $dns->asked('redis.example') >= $asked + 4;
}, $patience), 'it is looked up more than once');
is(connections('127.0.0.1'), 1, '... and where it is it stays');
is(connections('127.0.0.2'), 0, '... as long as that is one of its addresses');


# The old server is down, and the name has a new address.

$redis{'127.0.0.1'}->kill;
ok($faults->redis_answers, 'the server is gone: another address is tried');
$faults->decides('the other address');
is(connections('127.0.0.2'), 1, '... over one connection');
ok($redis{'127.0.0.1'}->run, '... the server is back');
$faults->ends_clean('followed');


# The address that the name has at the start is used at once, until the resolver
# knows better.

$dns->has('redis.example', '127.0.0.2');
$faults = start(addresses => '127.0.0.1', workers => 2);
ok(SlidewinNginx::until_true(sub { connections('127.0.0.2') == 2 }, $patience),
   'another address than at the start: all workers go there');
$faults->remember_workers;
$faults->decides('not as at the start');
is(connections('127.0.0.1'), 0, '... and stay');
looks_nothing_up($faults, 'all workers');
$faults->ends_clean('not as at the start');


# IPv4 and IPv6.

my $six = IO::Socket::IP->new(LocalHost => '::1', LocalPort => 0, Listen => 1,
                              V6Only => 1);

if ($six) {
    my $third = SlidewinRedis->start(args => ['--bind', '::1'], port => $port);

    $dns->has('redis.example', '::1');
    $faults = start(resolver => '');
    ok($faults->redis_answers, 'an address of IPv6: Redis is asked');
    $faults->remember_workers;
    $faults->decides('IPv6');
    like($third->command('CLIENT', 'LIST'), qr/ addr=\[::1\]:/, '... there');

    $dns->has('redis.example', '127.0.0.2', '::1');
    $third->kill;
    ok($faults->redis_answers,
       'one of each, the second is dead: the first is asked');
    $faults->decides('IPv4');
    looks_nothing_up($faults, 'both families');
    $faults->ends_clean('both families');
    $third->remove;
}

done_testing();
