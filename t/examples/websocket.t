# examples/websocket.conf: handshakes are limited, open connections are not.

use strict;
use warnings;

use SlidewinApp;
use SlidewinExample;
use SlidewinPeer;
use Test::More;

my $server = SlidewinPeer->serve('websocket');
my $nginx = SlidewinExample->start('websocket', app => $server->address);
my $url = 'ws://' . $nginx->where . '/socket';

sub connections {
    my ($count, $messages, $n) = @_;
    my @results = SlidewinPeer::ask('websocket', $url, $count, $messages,
                                    "127.0.0.$n");
    my $echoes = pop(@results)->{echoes};

    return $echoes, @results;
}

my ($echoes, @handshakes) = connections(12, 20, 1);

is(SlidewinNginx::tally(map { $_->{status} } @handshakes), '101 x10, 429 x2',
   'ten handshakes pass');
is($handshakes[9]{status}, 101, '... the first ones');
is($echoes, 200, 'what is sent over them is not counted');

for my $rejected (@handshakes[10, 11]) {
    cmp_ok($rejected->{retry}, '>', 0, 'a rejection says when to come back');
    cmp_ok($rejected->{retry}, '<=', 60, '... within the minute');
}

($echoes, @handshakes) = connections(2, 1, 2);
is(SlidewinNginx::tally(map { $_->{status} } @handshakes), '101 x2',
   'another client passes');
is($echoes, 2, '... and is understood');

# a request that is no handshake

is($nginx->ask(3, '/socket')->{status}, 426,
   'a request without Upgrade gets what the application makes of it');
is($nginx->ask(1, '/socket')->{status}, 429, '... and is limited like others');

$nginx->stop;
$server->stop;

my $app = SlidewinApp->start(sub {
    return 200, join ' ', map { $_[0]{header}{$_} // '-' }
                          qw(connection upgrade);
});

$nginx = SlidewinExample->start('websocket', app => $app->address);
is($nginx->ask(1, '/socket')->{body}, 'close -', '... and passed on as it is');
is($nginx->ask(1, '/socket', { Connection => 'Upgrade',
                               Upgrade => 'websocket' })->{body},
   'upgrade websocket', '... which a handshake is, too');
$nginx->stop;
$app->stop;

done_testing();
