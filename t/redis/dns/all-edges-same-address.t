# A name with several addresses: those without a server are skipped before a
# request fails, and all edges count in the same Redis, in whatever order they
# get the addresses.

use strict;
use warnings;

use SlidewinFake;
use SlidewinNginx;
use SlidewinPreload;
use SlidewinRedis;
use Test::More;

my $names = SlidewinPreload::library('names');
my $port = SlidewinRedis::free_port();
my $patience = 10 * SlidewinNginx::patience();

# start(URL, ADDRESSES of several.example, at the start and for ever)
sub start {
    my ($url, $addresses) = @_;

    return SlidewinNginx->start(
        env => { LD_PRELOAD => $names, SLIDEWIN_NAME => 'several.example',
                 SLIDEWIN_ADDRESSES => $addresses },
        http => "slidewin_redis $url timeout=5s connect_timeout=20s;"
                . 'slidewin_zone $arg_k zone=one:1m rate=2r/h algorithm=log
                                 deny_cache=off on_error=closed;',
        server => 'location = /t { slidewin zone=one; empty_gif; }');
}


# The very first request is decided, by a Redis at the second or third address.

my $second = SlidewinRedis->start(args => ['--bind', '127.0.0.2'],
                                  port => $port);
my $sentinel = SlidewinFake->start(address => '127.0.0.3', mode => 'names', modes => {
    names => { command => sub {
        my ($c, $command) = @_;

        return 0 if uc $command->[0] ne 'SENTINEL';
        $c->send(uc $command->[1] eq 'MASTER' ? "*0\r\n"
                 : "*2\r\n" . SlidewinFake::bulk('127.0.0.2')
                   . SlidewinFake::bulk($port));
        return 1;
    } },
});
my $cluster = SlidewinFake->start(address => '127.0.0.2', mode => 'maps', modes => {
    maps => { command => sub {
        my ($c, $command) = @_;

        return 0 if uc $command->[0] ne 'CLUSTER';
        $c->send("*1\r\n*3\r\n:0\r\n:16383\r\n*2\r\n"
                 . SlidewinFake::bulk('several.example')
                 . ":@{[$c->{server}{listener}->sockport]}\r\n");
        return 1;
    } },
}, port => SlidewinRedis::free_port());

for (['one Redis', "redis://several.example:$port", '127.0.0.2'],
     ['sentinels', 'redis-sentinel://several.example:' . $sentinel->port
                   . '/mymaster', '127.0.0.3'],
     ['a cluster', 'redis-cluster://several.example:' . $cluster->port,
      '127.0.0.2'])
{
    my ($kind, $url, $there) = @$_;

    for my $addresses ($there, "127.0.0.1,$there", "$there,127.0.0.1",
                       "::1,$there,127.0.0.1", "::1,$there")
    {
        my $nginx = start($url, $addresses);

        is(join(' ', $nginx->status("/t?k=$kind$addresses" =~ s/ //gr, 3)),
           '200 200 429', "$kind at $addresses: the first one is decided");
        is(scalar($nginx->errors(qr/slidewin redis/)), 0, '... in silence');
        $nginx->stop(name => "$kind at $addresses");
    }
}


# All edges use the first address that has a server, and go back to it.

my %redis = (
    '127.0.0.1' => SlidewinRedis->start(args => ['--bind', '127.0.0.1'],
                                        port => $port),
    '127.0.0.2' => $second,
);
my @orders = ('127.0.0.2,127.0.0.1', '127.0.0.1,127.0.0.2');
my @edges = map { start("redis://several.example:$port", $_) } @orders;

sub connections {
    my ($address) = @_;

    return scalar grep { / addr=127\.0\.0\.1:/ }
           split /^/, $redis{$address}->command('CLIENT', 'LIST');
}

sub one_limit {
    my ($name, $key) = @_;

    is(join(' ', map { ($_->status("/t?k=$key", 2)) } @edges),
       '200 200 429 429', "$name: they share the limit");
    return;
}

one_limit('two edges, two orders', 'started');
is(join(' ', map { connections($_) } sort keys %redis), '2 0',
   '... at the first address');

$redis{'127.0.0.1'}->kill;
ok(SlidewinNginx::until_true(sub { connections('127.0.0.2') == 2 }, $patience),
   'the first is gone: both are at the second');
my $n = 0;
for my $edge (@edges) {
    SlidewinNginx::until_true(sub { ($edge->status('/t?k=w' . ++$n))[0] == 200 },
                              $patience);
}
one_limit('the second', 'second');

ok($redis{'127.0.0.1'}->run, 'the first is back');
my %told;
ok(SlidewinNginx::until_true(sub {
    $told{$_}++ for map { $_->status('/t?k=b' . ++$n) } @edges;
    return connections('127.0.0.1') == 2 && connections('127.0.0.2') == 0;
}, 2 * $patience), '... and both go there again');
is(join(' ', sort keys %told), '200', '... which no request notices');
is(scalar($edges[0]->errors(qr/"several\.example:$port" goes back from 127\.0\.0\.2 to 127\.0\.0\.1$/)),
   1, '... and a line says');
one_limit('back', 'back');

$_->stop(name => 'an edge') for @edges;

done_testing();
