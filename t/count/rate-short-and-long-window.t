# A rate from a variable with a short window here and a long one there, for the
# same client: each counts all units of the client, in both stores and for every
# algorithm. The short one erases nothing of the long one, also when it has ended
# itself, and is not starved by it; and it is not kept for longer than the long
# one counts.

use strict;
use warnings;

use Test::More;

use SlidewinNginx;
use SlidewinRedis;

my @stores = qw(local redis);
my @algorithms = qw(counter fixed strict log);
my $redis = SlidewinRedis->start;

# 40 days: an aligned window that does not end meanwhile
my $long = 40 * 86_400;
my ($zones, $locations) = ('', '');

for my $store (@stores) {
    my $where = $store eq 'local' ? ' store=local' : ' deny_cache=off';

    for my $algorithm (@algorithms) {
        my $name = "${store}_$algorithm";

        $zones .= "slidewin_zone \$arg_k zone=$name:1m rate=\$rate"
                  . " algorithm=$algorithm on_error=closed$where;\n";
        $locations .= "location /a/$name { slidewin zone=$name; empty_gif; }\n"
            . "location /b/$name { slidewin zone=$name; empty_gif; }\n"
            . "location /c/$name { slidewin zone=$name; empty_gif; }\n"
            . "location /d/$name { slidewin zone=$name; empty_gif; }\n"
            . "location /e/$name { slidewin zone=$name; empty_gif; }\n"
            . "location /reset/$name { slidewin zone=$name reset=200;"
            . " empty_gif; }\n";
    }
}

for my $algorithm (@algorithms) {
    my $name = "room_$algorithm";

    $zones .= "slidewin_zone \$arg_k zone=$name:64k rate=\$rate"
              . " store=local algorithm=$algorithm;\n";
    $locations .= "location /$_/$name { slidewin zone=$name; empty_gif; }\n"
        for qw(a b);
}

my $nginx = SlidewinNginx->start(
    workers => 2, http => <<"END", server => $locations);
    slidewin_redis @{[$redis->url]} timeout=20s connect_timeout=20s;
    slidewin_log_level info;
    map \$uri \$rate {
        ~^/a/ 3r/40d;
        ~^/b/ 100r/1s;
        ~^/c/ 50r/2s;
        ~^/d/ 2r/1s;
        ~^/e/ 20r/40d;
        default 100r/1s;
    }
    $zones
END

my $client = $nginx->client;

sub statuses {
    my ($uri, $n) = @_;

    return join ' ', map { $client->get($uri)->{status} } 1 .. $n;
}

my @names = map { my $store = $_; map { "${store}_$_" } @algorithms } @stores;
my %wait;

for my $name (@names) {
    is(statuses("/a/$name?k=k", 4), '200 200 200 429', "$name: three");

    $wait{$name} = $client->get("/a/$name?k=k")->{header}{'retry-after'};
    is(statuses("/b/$name?k=k", 2), '200 200', "$name: the short one passes");
    is(statuses("/a/$name?k=k", 2), '429 429', "$name: and erases nothing");

    is(statuses("/b/$name?k=k", 1), '200', "$name: the short one once more");
}

# when nothing is left of the short one

SlidewinNginx::nap(2.5);

for my $name (@names) {
    is(statuses("/b/$name?k=k", 1), '200', "$name: later the short one passes");
    is(statuses("/c/$name?k=k", 1), '200', "$name: so does another");

    my $answer = $client->get("/a/$name?k=k");

    is($answer->{status}, 429, "$name: and the long one knows all");

    # what it has counted is as old as it is: it was not counted anew; of a
    # counter what was let through meanwhile has to fade as well
    my $retry = $answer->{header}{'retry-after'};
    cmp_ok($retry, '>=', $wait{$name} - 20, "$name: no sooner than it was");
    cmp_ok($retry, '<=', $wait{$name} + 20, "$name: nor much later")
        if $name !~ /counter/;
}

# the key of Redis lives as long as the long window needs it, and has an end

for my $algorithm (@algorithms) {
    my $key = "sw:{k}:redis_$algorithm";

    $client->get("/b/redis_$algorithm?k=k");

    my $ttl = $redis->command('PTTL', $key) / 1000;
    my $needed = $algorithm =~ /counter|fixed/
        ? $long - $redis->command('TIME')->[0] % $long : $long - 20;

    cmp_ok($ttl, '>=', $needed - 5, "$algorithm: the key lives long enough");
    cmp_ok($ttl, '<=', 2 * $long, "$algorithm: and has an end");
    cmp_ok($redis->command('STRLEN', $key), '<=', 300,
           "$algorithm: and is no larger than two states");
}

# what clears a client clears all of it

for my $name (@names) {
    is(statuses("/reset/$name?k=k", 1), '200', "$name: reset");
    is(statuses("/a/$name?k=k", 4), '200 200 200 429', "$name: three again");
}

# a client that is counted with the short one all the time

for my $name (@names) {
    is(statuses("/a/$name?k=busy", 1), '200', "$name: one of three");
    is(statuses("/b/$name?k=busy", 60), join(' ', ('200') x 60),
       "$name: many of the short one");
    is(statuses("/b/$name?k=busy", 60) =~ s/429/200/gr,
       join(' ', ('200') x 60), "$name: and more");
}

# Each of two windows counts what the other has admitted, and when the short one
# is over it is open again, however full the long one is. (When it is asked for
# the first time, what the long one holds is taken to be of now.)

for my $name (@names) {
    is(statuses("/e/$name?k=all", 1), '200', "$name: one of twenty");
    is(statuses("/d/$name?k=all", 1), '200', "$name: one of two in a second");
}

for my $round (1 .. 3) {
    SlidewinNginx::nap(2.1);
    is(statuses("/d/$_?k=all", 2), '200 200', "$_: two in a second")
        for @names;
}

for my $name (@names) {
    is(statuses("/e/$name?k=all", 13), join(' ', ('200') x 12, '429'),
       "$name: the long one has counted them, and is full");
}

for my $round (1 .. 2) {
    SlidewinNginx::nap(2.1);
    for my $name (@names) {
        is(statuses("/e/$name?k=all", 1), '429', "$name: it still is");
        is(statuses("/d/$name?k=all", 1), '200', "$name: the short one is not");
        is(statuses("/e/$name?k=all", 1), '429', "$name: and changes nothing");
    }
}


# In a zone where others make those go that count nothing, a client whose short
# window is over still counts in the long one.

for my $algorithm (@algorithms) {
    my $name = "room_$algorithm";

    is(statuses("/a/$name?k=k", 4), '200 200 200 429', "$name: three");
    is(statuses("/b/$name?k=k", 1), '200', "$name: and a short one");
}

SlidewinNginx::nap(2.1);

for my $algorithm (@algorithms) {
    my $name = "room_$algorithm";

    $client->get("/b/$name?k=other$_") for 1 .. 100;
    is(statuses("/a/$name?k=k", 1), '429',
       "$name: after others came the long one is still known");
}

$nginx->stop;

done_testing();
