# Sentinels that do not answer, or whose answers make no sense: the next one is
# asked.

use strict;
use warnings;

use SlidewinFake;
use SlidewinFaults;
use SlidewinNginx;
use SlidewinRedis;
use Test::More;

my $master = SlidewinRedis->start;

# replies to the commands of the module
sub says {
    my ($answer) = @_;

    return { command => sub {
        my ($c, $command) = @_;

        $c->send(uc $command->[0] eq 'PING' ? "+PONG\r\n" : $answer);
        return 1;
    } };
}

sub names {
    my ($host, $port) = @_;

    return says("*2\r\n" . SlidewinFake::bulk($host)
                . SlidewinFake::bulk($port));
}

my %bad = (
    'silent at once' => { command => sub { 1 } },
    'silent when asked' => { command => sub {
        uc $_[1][0] eq 'PING' and $_[0]->send("+PONG\r\n");
        return 1;
    } },
    'ended when asked' => { command => sub {
        uc $_[1][0] eq 'PING' ? $_[0]->send("+PONG\r\n") : $_[0]->fin;
        return 1;
    } },
    'no greeting' => { command => sub {
        $_[0]->send("-DENIED\r\n");
        return 1;
    } },
    'an error' => says("-NOPERM this user has no permissions\r\n"),
    'no master' => says("*-1\r\n"),
    'no answer in it' => says("*0\r\n"),
    'a number' => says(":1\r\n"),
    'a status' => says("+OK\r\n"),
    'arrays' => says("*2\r\n*1\r\n:1\r\n:2\r\n"),
    'a port too high' => names('127.0.0.1', 65536),
    'no port' => names('127.0.0.1', ''),
    'no host' => names('', 6379),
    'a long host' => names('x' x 256, 6379),
    'a host with CR LF' => names("127.0.0.1\r\n", 6379),
    'no protocol' => says("HTTP/1.1 400\r\n"),
);

my @guards = map {
    SlidewinFake->start(mode => 'good', modes => {
        %bad, good => names('127.0.0.1', $master->port) });
} 1 .. 2;

for my $name (sort keys %bad) {
    $guards[0]->mode($name);

    my $faults = SlidewinFaults->start(
        url => 'redis-sentinel://'
               . join(',', map { '127.0.0.1:' . $_->port } @guards)
               . '/mymaster',
        redis => 'timeout=2s connect_timeout=1500ms');

    ok($faults->redis_answers(20), "$name: the other knows the master");
    $faults->remember_workers;
    is($faults->ask('closed', SlidewinFaults::fresh()), $SlidewinFaults::DECIDED,
       '... which decides');
    is(scalar($faults->nginx->errors(qr/\[error\] .*sentinels of/)), 0,
       '... and nothing is logged');
    $faults->ends_clean($name);
}

done_testing();
