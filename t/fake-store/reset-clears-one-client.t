# A reset gives one client its whole limit back, and changes nothing for others.

use strict;
use warnings;

use Test::More;

use SlidewinNginx;

my @algorithms = qw(counter fixed strict log);

my $nginx = SlidewinNginx->start(
    http => join('', map { <<"END" } @algorithms) . <<'END',
    slidewin_zone \$arg_key zone=$_:1m rate=3r/40d algorithm=$_;
END
    slidewin_test_store later delay=20ms;
    slidewin_zone $arg_key zone=later:1m rate=3r/40d algorithm=log store=later
                  deny_cache=off;
    slidewin_zone $arg_key zone=large:1m rate=1000r/40d algorithm=log;
END
    server => join('', map { <<"END" } @algorithms, 'later', 'large'));
    location = /$_ { slidewin zone=$_; empty_gif; }
    location = /$_/key { slidewin_test_key $_; }
END

my $client = $nginx->client;

sub statuses {
    my ($uri, $times) = @_;

    return join ' ', map { $client->get($uri)->{status} } 1 .. $times;
}

sub peek { return $client->get(@_)->{body} }

sub reset_key {
    my ($uri) = @_;

    $client->write("DELETE $uri HTTP/1.1\r\nHost: localhost\r\n\r\n");

    return $client->answer->{body};
}

for my $name (@algorithms, 'later') {

    is(statuses("/$name?key=a", 4), '200 200 200 429', "$name: used up");
    is(statuses("/$name?key=b", 1), '200', "$name: another client");

    like(peek("/$name/key?key=a"), qr/^remaining 0, reset [1-9]\d*, rc 0$/,
         "$name: nothing is left");
    like(peek("/$name/key?key=b"), qr/^remaining 2, /, "$name: the other has");

    is(reset_key("/$name/key?key=a"), "reset 0\n", "$name: a reset");

    is(peek("/$name/key?key=a"), "remaining 3, reset 0, rc 0\n",
       "$name: all of it is back");
    like(peek("/$name/key?key=b"), qr/^remaining 2, /,
         "$name: the other is as it was");

    is(statuses("/$name?key=a", 4), '200 200 200 429',
       "$name: the limit holds again");

    is(reset_key("/$name/key?key=nobody"), "reset 0\n",
       "$name: a client never seen");
    is(peek("/$name/key?key=nobody"), "remaining 3, reset 0, rc 0\n",
       "$name: has all of it");
}


# The memory of a log that has grown is freed completely, again and again.

for my $round (1 .. 3) {
    my @statuses = $client->statuses(('/large?key=a') x 1001);

    is(SlidewinNginx::tally(@statuses), '200 x1000, 429 x1',
       "a large log, round $round");
    is(reset_key('/large/key?key=a'), "reset 0\n", "reset, round $round");
}

is(scalar $nginx->errors(qr/is full/), 0, 'the zone is not full');

$client->close;
$nginx->stop;

done_testing();
