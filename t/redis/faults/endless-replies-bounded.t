# Replies without end, whose parts are each of a valid size: the memory for one
# reply is bounded, whatever the command was.

use strict;
use warnings;

use SlidewinFake;
use SlidewinNginx;
use Test::More;

# arrays in arrays, or strings: gigabytes of either
sub arrays {
    my ($c, $n) = @_;

    $c->send("*16384\r\n*16384\r\n");
    $c->repeat("*16384\r\n" . ":1\r\n" x 16384, 65536);

    return 1;
}

sub texts {
    my ($c, $n) = @_;

    $c->send("*4096\r\n");
    $c->repeat(SlidewinFake::bulk('x' x 60000), 4096);

    return 1;
}

sub named { return '*' . @_ . "\r\n" . join '', map { SlidewinFake::bulk($_) } @_ }

# all slots are on the fake itself
sub map_of {
    my ($c) = @_;

    return "*1\r\n*3\r\n:0\r\n:16383\r\n*2\r\n\$0\r\n\r\n:"
           . $c->{server}{listener}->sockport . "\r\n";
}

# the replies to such a command go on for ever
sub endless {
    my ($answer, $verb, %others) = @_;

    return { command => sub {
        my ($c, $command) = @_;
        my $asked = uc $command->[0];

        return $answer->($c) if $asked eq $verb;
        return 0 if !$others{$asked};
        $c->send($others{$asked}->($c));
        return 1;
    }, check => sub {
        return $verb eq 'EVALSHA' ? $answer->($_[0]) : $_[0]->honest($_[1]);
    } };
}

# a sanitizer keeps freed memory, so that this says less
my $most = 80 * 1024 * SlidewinNginx::patience();

# the most memory a worker ever had, in KB
sub peak { return SlidewinNginx::memory($_[0], 'VmHWM') }

for (['redis-cluster', 'CLUSTER', \&arrays],
     ['redis-cluster', 'CLUSTER', \&texts],
     ['redis-cluster', 'TIME', \&arrays],
     ['redis-cluster', 'EVALSHA', \&arrays, CLUSTER => \&map_of],
     ['redis', 'TIME', \&texts],
     ['redis', 'EVALSHA', \&texts],
     ['redis-sentinel', 'SENTINEL', \&texts],
     ['redis-sentinel', 'ROLE', \&texts,
      SENTINEL => sub { named('127.0.0.1',
                              $_[0]{server}{listener}->sockport) }])
{
    my ($scheme, $verb, $answer, %others) = @$_;
    my $fake = SlidewinFake->start(
        mode => 'endless',
        modes => { endless => endless($answer, $verb, %others) });
    my $nginx = SlidewinNginx->start(
        http => "slidewin_redis $scheme://127.0.0.1:" . $fake->port
                . ($scheme eq 'redis-sentinel' ? '/mymaster' : '')
                . ' timeout=3s connect_timeout=3s;
                slidewin_zone $arg_k zone=one:1m rate=2r/h on_error=closed;',
        server => 'location = /t { slidewin zone=one; empty_gif; }');
    my ($worker) = $nginx->workers;
    my $name = "$scheme $verb " . ($answer == \&arrays ? 'arrays' : 'texts');

    $nginx->get('/free');
    my $before = peak($worker);

    is(join(' ', $nginx->status('/t?k=a')), '503', "$name: no decision");
    ok($nginx->logged(qr/(?:is lost|cannot be reached|failed|next address): "?its answer is too long/, 20),
       '... because it is too long');
    cmp_ok(peak($worker) - $before, '<', $most, '... at little cost');
    $nginx->stop(name => $name);
    $fake->stop;
}

done_testing();
