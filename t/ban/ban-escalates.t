# ban=TIME..MAX: a ban that begins within MAX of the last one's end is twice as
# long, up to MAX; later it is as long as the first. Another TIME after a reload
# is that of new bans. Every key has an end.

use strict;
use warnings;

use SlidewinBan;
use SlidewinNginx;
use Test::More;

my ($first, $max) = (0.3, 1.2);

# 40 days: each ban but the first begins when the one before has ended
sub zones {
    my ($steps, $plain, $off) = @_;

    return (http => "slidewin_log_level notice;
        slidewin_zone \$arg_k zone=steps:1m rate=1r/40d $steps;
        slidewin_zone \$arg_k zone=hours:1m rate=1r/40d ban=300ms..1h;
        slidewin_zone \$arg_k zone=plain:1m rate=1r/40d algorithm=log $plain;
        slidewin_zone \$arg_k zone=off:1m rate=1r/300ms algorithm=log $off;");
}

my @zones = zones("ban=300ms..1200ms", "ban=400ms", 'ban=1h');
my $server = join '', map { "location = /$_ { slidewin zone=$_; empty_gif; }\n" }
             qw(steps hours plain off);

my @stores = SlidewinBan::stores();

# next_ban STORE, URI: hits until a ban begins; the answer that began it
sub next_ban {
    my ($store, $uri) = @_;
    my ($answer, $end) = (undef, SlidewinNginx::now() + 60);

    while (SlidewinNginx::now() < $end) {
        $answer = SlidewinBan::ask($store->{client}, $uri);
        return $answer if SlidewinBan::status($answer) eq 'REJECTED';
        SlidewinNginx::nap(0.003);
    }

    die "$uri: no ban begins\n";
}

# lasts STORE, URI, BEGIN, SECONDS, NAME: the answer that begins the next ban,
# when this one is over
sub lasts {
    my ($store, $uri, $begin, $seconds, $name) = @_;
    my $wait = { client => $store->{client}, uri => $uri, begin => $begin,
                 seconds => $seconds, name => "$store->{name}, $name" };

    SlidewinBan::until_over($wait);
    is(SlidewinBan::told($wait->{over}), '429 REJECTED',
       "$store->{name}, $name: then the next begins");

    return $wait->{over};
}

sub kept {
    my ($store, $zone, $ms, $most, $name) = @_;
    my $redis = $store->{redis} // return;
    my ($end, $length, $ttl) = SlidewinBan::ban_of($redis, $zone, 'a');

    is($length, $ms, "$store->{name}, $name: its length is in Redis");
    cmp_ok($ttl, '>', 0, '... until some time');
    cmp_ok($ttl, '<=', $ms + $most, '... but not for long');

    my ($s, $us) = @{$redis->command('TIME')};
    my $now = 1000 * $s + $us / 1000;

    cmp_ok($end - $now, '<=', $ms, '... with its end');
    cmp_ok($end - $now, '>=', -$most, '... not long ago');

    return;
}

for my $store (@stores) {
    my $nginx = $store->{nginx} = SlidewinBan::edge(
        store => $store, @zones, server => $server);

    $store->{client} = $nginx->client;
    $store->{client}->get('/steps?k=warm');
    SlidewinBan::ask($store->{client}, '/steps?k=a');

    my $begin = next_ban($store, '/steps?k=a');
    my $n = 0;

    for my $seconds ($first, 2 * $first, 4 * $first, $max) {
        kept($store, 'steps', 1000 * $seconds, 1000 * $max, "ban @{[++$n]}");
        $begin = lasts($store, '/steps?k=a', $begin, $seconds,
                       "ban $n of $seconds s");
    }

    is(join(' ', map { /, banned for (\d+)s, / } SlidewinBan::begun($nginx)),
       '1 1 2 2 2', "$store->{name}: as the log says, in seconds");

    $store->{begin} = $begin;
}

# The fifth is of MAX, too. Nothing is asked for MAX after its end.

my ($latest) = sort { $b <=> $a } map { $_->{begin}{to} } @stores;

SlidewinNginx::until_true(sub {
    SlidewinNginx::now() > $latest + 2 * $max + 2 * $SlidewinBan::SLACK;
}, 60);

for my $store (@stores) {
    my $name = "$store->{name}, later";
    my $begin = next_ban($store, '/steps?k=a');

    kept($store, 'steps', 1000 * $first, 1000 * $max, $name);
    lasts($store, '/steps?k=a', $begin, $first, 'later, as the first');
}

# With a MAX of an hour a ban is remembered for long after its end.

for my $store (@stores) {
    SlidewinBan::ask($store->{client}, '/hours?k=a');

    my $begin = next_ban($store, '/hours?k=a');

    kept($store, 'hours', 1000 * $first, 3_600_000, 'MAX of an hour');
    SlidewinNginx::nap($first + 1);

    my $after = next_ban($store, '/hours?k=a');

    cmp_ok($after->{from} - $begin->{to}, '>', $first + 0.9,
           "$store->{name}, MAX of an hour: a while after the end of a ban");
    kept($store, 'hours', 2000 * $first, 3_600_000, 'MAX of an hour');
    lasts($store, '/hours?k=a', $after, 2 * $first,
          'MAX of an hour: the next is twice as long');
}

# without MAX all are as long as the first

for my $store (@stores) {
    my $name = "$store->{name}, no MAX";

    SlidewinBan::ask($store->{client}, '/plain?k=a');

    my $begin = next_ban($store, '/plain?k=a');

    for my $n (1 .. 3) {
        kept($store, 'plain', 400, 0, "no MAX, ban $n");
        $begin = lasts($store, '/plain?k=a', $begin, 0.4, "no MAX, ban $n");
    }
}

# A reload with other times, while clients are banned: a running ban ends when
# it said.

for my $store (@stores) {
    my ($nginx, $name) = @$store{qw(nginx name)};
    my $client = $store->{client};

    SlidewinBan::ask($client, '/plain?k=b');
    SlidewinBan::until_rejected($client, '/off?k=b');

    my $begin = next_ban($store, '/plain?k=b');

    $client->close;
    $nginx->reload(SlidewinBan::conf(
        store => $store, zones('ban=300ms..1200ms', 'ban=1h', ''),
        server => $server));
    $client = $store->{client} = $nginx->client;

    my $next = lasts($store, '/plain?k=b', $begin, 0.4,
                     'reload, the ban there was');
    my $hit = SlidewinBan::ask($client, '/plain?k=b');

    is(SlidewinBan::told($hit), '429 BANNED', "$name: the next is banned");
    like((SlidewinBan::begun($nginx))[-1], qr/, banned for 3600s, /,
         '... by the new time');

    # one edge may remember for a second that it was banned
    ok(SlidewinNginx::until_true(sub {
        SlidewinBan::told(SlidewinBan::ask($client, '/off?k=b'))
            eq '200 PASSED';
    }, 5), "$name: without ban= who was banned passes");
    SlidewinBan::until_rejected($client, '/off?k=b');
    ok(SlidewinNginx::until_true(sub {
        SlidewinBan::told(SlidewinBan::ask($client, '/off?k=b'))
            eq '200 PASSED';
    }, 5), '... and is not banned again');
    is(scalar(grep { /zone "off".*banned for/ } SlidewinBan::begun($nginx)), 1,
       '... as the log says');

    # MAX of a longer ban that was: none is longer than MAX
    $client->close;
    $nginx->reload(SlidewinBan::conf(
        store => $store, zones('ban=100ms..200ms', 'ban=200ms', ''),
        server => $server));
    $client = $store->{client} = $nginx->client;
    SlidewinBan::ask($client, '/steps?k=a');
    $begin = next_ban($store, '/steps?k=a');
    lasts($store, '/steps?k=a', $begin, 0.2, 'reload, no longer than MAX')
        if $begin;

    $client->close;
    $nginx->stop(name => $name);
}

for my $redis (grep { defined } map { $_->{redis} } @stores) {
    my @endless = grep { $redis->command('PTTL', $_) == -1 }
                  @{$redis->command('KEYS', '*')};

    is("@endless", '', 'all keys have an end');
}

done_testing();
