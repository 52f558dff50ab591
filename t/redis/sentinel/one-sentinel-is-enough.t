# Sentinels are down or wrong: as long as one of them knows the master it is
# found, and an established connection needs none.

use strict;
use warnings;

use SlidewinDNS;
use SlidewinFake;
use SlidewinFaults;
use SlidewinNginx;
use SlidewinPreload;
use SlidewinRedis;
use Test::More;

my $patience = 10 * SlidewinNginx::patience();
my $dead = SlidewinRedis::free_port();
my $master = SlidewinRedis->start;
my $other = SlidewinRedis->start;
my $replica = SlidewinRedis->start(
    args => ['--replicaof', '127.0.0.1 ' . $master->port]);

# A sentinel that replies as its mode is called; it is no store.
sub says {
    my ($answer) = @_;

    return { check => sub { die "a sentinel was asked to count\n" },
             command => sub {
                 my ($c, $command) = @_;
                 my $verb = uc $command->[0];

                 die "a sentinel was told @$command\n"
                     if $verb !~ /^(?:SENTINEL|PING|(?:UN)?SUBSCRIBE)$/;
                 $c->send($verb eq 'PING' ? "+PONG\r\n"
                          : $verb eq 'SENTINEL' ? $answer : "*0\r\n");
                 return 1;
             } };
}

sub names {
    my ($host, $port) = @_;

    return says("*2\r\n" . SlidewinFake::bulk($host)
                . SlidewinFake::bulk($port));
}

my %modes = (
    knows => names('127.0.0.1', $master->port),
    moved => names('127.0.0.1', $other->port),
    mistaken => names('127.0.0.1', $replica->port),
    late => names('127.0.0.1', $dead),
    name => names('master.example', $master->port),
    ignorant => says("*-1\r\n"),
);

my @guards = map { SlidewinFake->start(modes => \%modes, mode => 'knows') }
             1 .. 3;

# start(PORTS or sentinels..., parameters): an nginx that asks these
sub start {
    my ($guards, %options) = @_;

    return SlidewinFaults->start(
        url => 'redis-sentinel://'
               . join(',', map { '127.0.0.1:' . (ref $_ ? $_->port : $_) }
                      @$guards) . '/mymaster',
        redis => $options{redis} // 'timeout=2s connect_timeout=5s',
        http => $options{http} // '', env => $options{env} // {});
}

sub set { my ($mode, @of) = @_; $_->mode($mode) for @of; return }

sub finds {
    my ($faults, $name) = @_;

    ok($faults->redis_answers(20), "$name: the master is found");
    $faults->remember_workers;
    $faults->decides($name);

    return;
}


# One or two are down.

for (['the first is down', $dead, @guards[1, 2]],
     ['two are down', $dead, $dead, $guards[2]],
     ['the last is down', @guards[0, 1], $dead],
     ['one in all', $guards[0]])
{
    my ($name, @of) = @$_;
    my $faults = start(\@of);

    finds($faults, $name);
    is(scalar($faults->nginx->errors(qr/sentinels of mymaster/)), 0,
       '... and nothing is logged');
    $faults->ends_clean($name);
}


# One is wrong, and names a replica, or a server that is down: the majority is
# right. If two are wrong, the server that the first names is tried, and the log
# says that it is wrong.

for my $mode (qw(mistaken late)) {
    set($mode, $guards[0]);
    my $faults = start(\@guards);

    finds($faults, "$mode, one of three");
    is($faults->log_lines(qr/cannot be reached/), 0, '... without a word');
    $faults->ends_clean("$mode, one of three");

    $faults = start([@guards[0, 1]]);
    finds($faults, "$mode, one of two");
    is($faults->log_lines($mode eq 'late'
                      ? qr/cannot be reached: Connection refused/
                      : qr/cannot be reached: it is a replica/), 1,
       '... which is said once');
    $faults->ends_clean("$mode, one of two");
}

# All are wrong, and later right.

set('mistaken', @guards);
my $faults = start(\@guards);
$faults->fails('all name a replica');
SlidewinNginx::nap(1);
is($faults->log_lines(qr/cannot be reached: it is a replica/), 1,
   '... one line');
like(join('', $faults->nginx->errors(qr/it is a replica/)),
     qr/"mymaster at 127\.0\.0\.1:@{[$replica->port]}" cannot/, '... names it');
is($replica->calls('evalsha') + $replica->calls('eval'), 0,
   '... and nothing is counted there');
set('knows', @guards);
finds($faults, 'all have learnt');
$faults->ends_clean('all have learnt');


# No such master.

set('ignorant', @guards);
$faults = start(\@guards);
$faults->fails('none knows it');
SlidewinNginx::nap(1);
is($faults->log_lines(qr/cannot be reached: its sentinels do not know it$/), 1,
   '... one line says it');
is($faults->log_lines(qr/./), 1, '... and no other');
set('knows', @guards);
finds($faults, 'now they know it');
$faults->ends_clean('now they know it');


# All are down.

$faults = start([$dead, $dead, $dead]);
$faults->fails('no sentinel');
ok($faults->nginx->logged(qr/slidewin redis "mymaster" cannot be reached: its sentinels cannot be reached$/, 10),
   '... the master is not found');
ok($faults->nginx->logged(qr/slidewin redis "sentinels of mymaster" cannot be reached: Connection refused$/, 10),
   '... because of them');
SlidewinNginx::nap(1);
cmp_ok(scalar($faults->nginx->errors(qr/slidewin redis/)), '<=', 3,
       '... and little more');
$faults->client->close;
$faults->nginx->stop(name => 'no sentinel');


# All go down while the master is up: it is not disturbed. They return, and name
# another: that is followed, though the first one still answers.

my %ports = map { $_ => $guards[$_]->port } 0 .. 2;

$faults = start(\@guards);
finds($faults, 'all are there');
$_->stop for @guards;
ok($faults->nginx->logged(qr/slidewin redis "sentinels of mymaster" cannot be reached/, 20),
   'all go, which is said');
$faults->decides('all are gone');
is($faults->log_lines(qr/is lost/), 0, '... and changes nothing');
is(scalar($faults->nginx->errors(qr/\[error\] .*sentinels of mymaster/)), 1,
   '... once');

@guards = map { SlidewinFake->start(modes => \%modes, mode => 'knows',
                                    port => $ports{$_}) } 0 .. 2;
ok($faults->nginx->logged(qr/\[error\] .*"sentinels of mymaster" is back/, 20),
   '... they are back');

$other->command('CONFIG', 'RESETSTAT');
set('moved', @guards);
ok($faults->nginx->logged(qr/slidewin redis "mymaster at 127\.0\.0\.1:@{[$master->port]}" is at 127\.0\.0\.1:@{[$other->port]} now$/, 20),
   'they name another: it is noticed');
ok($faults->redis_answers, '... that one is asked');
cmp_ok($other->calls('evalsha') + $other->calls('eval'), '>', 0, '... indeed');
$faults->decides('another');
is(scalar($faults->nginx->errors(qr/"mymaster at.*(?:is lost|cannot be)/)), 0,
   '... and nothing was lost');
$faults->ends_clean('another');


# They name the master by a host name.

my $dns = SlidewinDNS->start;
my $env = { LD_PRELOAD => SlidewinPreload::library('names'),
            SLIDEWIN_NAME => 'guard.example' };

set('name', @guards);
$dns->has('master.example', '127.0.0.1');
$dns->has('guard.example', '127.0.0.1');

$faults = SlidewinFaults->start(
    url => "redis-sentinel://guard.example:$ports{0},127.0.0.1:$dead/mymaster",
    redis => 'timeout=2s connect_timeout=2s', env => $env,
    http => "resolver @{[$dns->address]} ipv6=off;");
finds($faults, 'names');
is($dns->asked('master.example') > 0 && $dns->asked('guard.example') > 0, 1,
   '... of the master and of a sentinel are looked up');
$faults->ends_clean('names');

$faults = start([$guards[0]]);
$faults->fails('a name, and no resolver');
ok($faults->nginx->logged(qr/slidewin redis "mymaster at master\.example:\d+" cannot be reached: its name was not resolved$/, 10),
   '... the log says why');
$faults->client->close;
$faults->nginx->stop(name => 'a name, and no resolver');

done_testing();
