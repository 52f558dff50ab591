# A reset in Redis gives one client its whole limit back on every edge, and
# changes nothing for others.

use strict;
use warnings;

use Test::More;

use SlidewinNginx;
use SlidewinRedis;

my @algorithms = qw(counter fixed strict log);
my $redis = SlidewinRedis->start;

my @edges = map {
    SlidewinNginx->start(
        http => 'slidewin_redis ' . $redis->unix_url . ' timeout=10s'
                . " connect_timeout=10s;\n" . join('', map { <<"END" }
    slidewin_zone \$arg_key zone=$_:1m rate=3r/40d algorithm=$_ deny_cache=off
                  on_error=closed;
END
                @algorithms),
        server => join('', map { <<"END" } @algorithms))
    location = /$_ { slidewin zone=$_; empty_gif; }
    location = /$_/key { slidewin_test_key $_; }
END
} 1, 2;

my @clients = map { $_->client } @edges;

sub statuses {
    my ($edge, $uri, $times) = @_;

    return join ' ', map { $clients[$edge]->get($uri)->{status} } 1 .. $times;
}

sub peek { my ($edge, $uri) = @_; return $clients[$edge]->get($uri)->{body} }

sub reset_key {
    my ($edge, $uri) = @_;

    $clients[$edge]->write("DELETE $uri HTTP/1.1\r\nHost: localhost\r\n\r\n");

    return $clients[$edge]->answer->{body};
}

for my $name (@algorithms) {

    is(statuses(0, "/$name?key=a", 4), '200 200 200 429', "$name: used up");
    is(statuses(1, "/$name?key=a", 1), '429', "$name: on the other edge, too");
    is(statuses(0, "/$name?key=b", 1), '200', "$name: another client");

    like(peek(1, "/$name/key?key=a"), qr/^remaining 0, reset [1-9]\d*, rc 0$/,
         "$name: nothing is left");
    like(peek(1, "/$name/key?key=b"), qr/^remaining 2, /,
         "$name: the other has");

    is(reset_key(1, "/$name/key?key=a"), "reset 0\n", "$name: a reset");
    is($redis->command('EXISTS', "sw:{a}:$name"), 0, "$name: the key is gone");

    is(peek($_, "/$name/key?key=a"), "remaining 3, reset 0, rc 0\n",
       "$name: all of it is back on edge $_") for 0, 1;
    is($redis->command('EXISTS', "sw:{a}:$name"), 0,
       "$name: to look makes no key");
    like(peek(0, "/$name/key?key=b"), qr/^remaining 2, /,
         "$name: the other is as it was");

    is(statuses(0, "/$name?key=a", 4), '200 200 200 429',
       "$name: the limit holds again");

    is(reset_key(0, "/$name/key?key=nobody"), "reset 0\n",
       "$name: a client never seen");
}

$_->close for @clients;
$_->stop for @edges;

done_testing();
