# One client has a rate with a short window in some requests and with a long one
# in others. Each window counts all units of the client, in both stores and for
# every algorithm. The short window erases nothing of the long one, not even
# when it has ended, and is not blocked by it; its units are kept no longer than
# the long window counts.

use strict;
use warnings;

use Test::More;

use SlidewinNginx;
use SlidewinRedis;

my @stores = qw(local redis);
my @algorithms = qw(counter fixed strict log);
my $redis = SlidewinRedis->start;

# 40 days: an aligned window that does not end during the suite
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

# when the short window has ended

SlidewinNginx::nap(2.5);

for my $name (@names) {
    is(statuses("/b/$name?k=k", 1), '200', "$name: later the short one passes");
    is(statuses("/c/$name?k=k", 1), '200', "$name: so does another");

    my $answer = $client->get("/a/$name?k=k");

    is($answer->{status}, 429, "$name: and the long one knows all");

    # units keep the time at which they were taken; with a counter, units
    # admitted meanwhile have to fade as well
    my $retry = $answer->{header}{'retry-after'};
    cmp_ok($retry, '>=', $wait{$name} - 20, "$name: no sooner than it was");
    cmp_ok($retry, '<=', $wait{$name} + 20, "$name: nor much later")
        if $name !~ /counter/;
}

# the key in Redis lives for as long as the long window needs it, and expires

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

# clearing a client clears both windows

for my $name (@names) {
    is(statuses("/reset/$name?k=k", 1), '200', "$name: reset");
    is(statuses("/a/$name?k=k", 4), '200 200 200 429', "$name: three again");
}

# a client that keeps being counted with the short window

for my $name (@names) {
    is(statuses("/a/$name?k=busy", 1), '200', "$name: one of three");
    is(statuses("/b/$name?k=busy", 60), join(' ', ('200') x 60),
       "$name: many of the short one");
    is(statuses("/b/$name?k=busy", 60) =~ s/429/200/gr,
       join(' ', ('200') x 60), "$name: and more");
}

# Each window counts what the other has admitted. When the short one has ended
# it admits again, however full the long one is. (On its first request it takes
# all units of the long one as taken now.)

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


# In a zone that drops expired clients for others, a client whose short window
# has ended still counts in the long one.

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
