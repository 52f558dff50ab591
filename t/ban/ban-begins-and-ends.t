# ban=TIME: the first rejection begins a ban, which that request and all later
# ones are told to the second. Hits do not prolong it. It ends when it said, and
# then the window decides.

use strict;
use warnings;

use SlidewinBan;
use SlidewinNginx;
use Test::More;

my @algorithms = @SlidewinBan::ALGORITHMS;
my $seconds = 2;

sub ask { return SlidewinBan::ask(@_) }

sub told { return SlidewinBan::told(@_) }

sub retry { return SlidewinBan::retry($_[0]) }

sub http {
    my ($cache) = @_;

    return "slidewin_log_level notice;\n" . join('', map { <<"ZONE" } @algorithms)
    slidewin_zone \$arg_k zone=$_:1m rate=1r/300ms algorithm=$_ ban=${seconds}s;
    slidewin_zone \$arg_k zone=long_$_:1m rate=5r/40d algorithm=$_ ban=1s
                  $cache;
ZONE
        . 'slidewin_zone $arg_k zone=trap:1m rate=1r/40d ban=2s;
           slidewin_zone $arg_k zone=loud:1m rate=1r/40d ban=300ms;
           slidewin_zone $arg_k zone=minutes:1m rate=5r/m algorithm=log
                         ban=600s;
           slidewin_zone $arg_k zone=fields:1m rate=1r/300ms algorithm=log
                         ban=10m;';
}

sub server {
    return join('', map { <<"LOCATION" } @algorithms)
    location = /$_ { slidewin zone=$_ cost=\$cost; empty_gif; }
    location = /long_$_ { slidewin zone=long_$_ cost=\$cost; empty_gif; }
LOCATION
        . 'location = /trap { slidewin zone=trap cost=2; empty_gif; }
           location = /site { slidewin zone=trap cost=0; empty_gif; }
           location = /loud {
               slidewin zone=loud; slidewin_log_level warn; empty_gif;
           }
           location = /minutes {
               slidewin zone=minutes; slidewin_log_level error; empty_gif;
           }
           location = /fields {
               slidewin zone=fields; slidewin_headers ietf legacy; empty_gif;
           }
           location = /epoch {
               slidewin zone=fields; slidewin_headers legacy=epoch; empty_gif;
           }
           location = /jitter {
               slidewin zone=fields; slidewin_retry_jitter 1h; empty_gif;
           }
           location = /status_403 {
               slidewin zone=fields; slidewin_status 403; empty_gif;
           }';
}

my @stores = SlidewinBan::stores();
my @waits;

for my $store (@stores) {
    my $nginx = $store->{nginx} = SlidewinBan::edge(
        store => $store, server => server(),
        http => 'map $arg_c $cost { default $arg_c; "" 1; }'
                . http($store->{redis} ? 'deny_cache=30s' : ''));
    my $client = $store->{client} = $nginx->client;
    my $where = $store->{name};

    $client->get('/site?k=warm');

    for my $algorithm (@algorithms) {
        my $name = "$where, $algorithm";
        my $uri = "/$algorithm?k=a";
        my $begin = SlidewinBan::until_rejected($client, $uri);

        is(told($begin), '429 REJECTED', "$name: a ban begins");
        is(retry($begin), $seconds, '... and is told with that rejection');

        my $hit = ask($client, $uri);

        is(told($hit), '429 BANNED', "$name: the next request is banned");
        SlidewinBan::is_left($begin, $hit, $seconds, '... for what is left');
        is($hit->{header}{'x-retry_after'}, retry($hit),
           '... which the variable says, too');
        is($hit->{header}{'x-remaining'}, 0, '... nothing remains');
        is($hit->{header}{'x-zone'}, $algorithm, '... by that policy');
        cmp_ok($hit->{header}{'x-reset'}, '>=', retry($hit),
               '... and not before the end the limit is back');

        my $look = ask($client, "$uri&c=0");

        is(told($look), '429 BANNED', "$name: a cost of 0 is banned, too");
        SlidewinBan::is_left($begin, $look, $seconds, '... for as long');

        my $above = ask($client, "$uri&c=2");

        is(told($above), '429 BANNED',
           "$name: a cost above the limit is banned, too");
        is(retry($above), undef, '... and can never pass');
        is(told(ask($client, "/$algorithm?k=other")), '200 PASSED',
           "$name: others are not banned");

        push @waits, { client => $client, uri => $uri, begin => $begin,
                       seconds => $seconds, name => $name };
    }
}

# the count goes down by a second
SlidewinNginx::nap(1.05);

for my $wait (@waits) {
    my $hit = ask($wait->{client}, $wait->{uri});

    is(told($hit), '429 BANNED', "$wait->{name}: a second later");
    SlidewinBan::is_left($wait->{begin}, $hit, $seconds,
                         '... a second less is left');
}

SlidewinBan::until_over(@waits);

for my $wait (@waits) {
    is(told($wait->{over}), '200 PASSED',
       "$wait->{name}: then the window decides");
}


# Nothing is counted during a ban. A window that is longer than the ban says
# when the request would pass; a request that would fit waits for the ban alone.
# The edge remembers neither for longer than the ban, however long it might.

@waits = ();

for my $store (@stores) {
    my $client = $store->{client};

    for my $algorithm (@algorithms) {
        my $name = "$store->{name}, $algorithm";
        my $uri = "/long_$algorithm?k=a";
        my @taken = map { ask($client, "$uri&c=2") } 1, 2;
        my $begin = ask($client, "$uri&c=2");
        my $small = ask($client, "$uri&c=1");
        my $large = ask($client, "$uri&c=2");

        is(told(@taken, $begin), '200 PASSED, 200 PASSED, 429 REJECTED',
           "$name: two of five units are too many for the rest");
        cmp_ok(retry($begin), '>', 1000,
               '... for longer than the ban: as the window says');
        is(told($small), '429 BANNED', "$name: one that would fit is banned");
        SlidewinBan::is_left($begin, $small, 1, '... for as long as the ban');
        is(told($large), '429 BANNED', "$name: and two as well");
        cmp_ok(retry($large), '>', 1000, '... for as long as the window');

        push @waits, { client => $client, uri => "$uri&c=0", begin => $begin,
                       seconds => 1, name => "$name, long" };
    }
}

SlidewinBan::until_over(@waits);

for my $wait (@waits) {
    my ($client, $uri, $name) = @$wait{qw(client uri name)};

    is(told($wait->{over}) . ", $wait->{over}{header}{'x-remaining'}",
       '200 PASSED, 1', "$name: then the window has what it had");
    is(told(ask($client, $uri =~ s/c=0/c=2/r)), '429 REJECTED',
       "$name: and begins another ban");
    is(told(ask($client, $uri =~ s/c=0/c=1/r)), '429 BANNED',
       '... for all costs');
}


for my $store (@stores) {
    my ($nginx, $client, $name) = @$store{qw(nginx client name)};

    # a trap: its cost is above the limit, and looks cost nothing

    is(told(map { ask($client, '/site?k=t') } 1 .. 3),
       join(', ', ('200 PASSED') x 3), "$name, trap: all look");

    my $begin = $store->{trap} = ask($client, '/trap?k=t');

    is(told($begin), '429 REJECTED', "$name, trap: a client walks into it");
    is(retry($begin), undef, '... which will never be allowed');

    my $hit = ask($client, '/site?k=t');

    is(told($hit), '429 BANNED', '... and is banned');
    SlidewinBan::is_left($begin, $hit, 2, '... for as long as the ban');
    is(told(ask($client, '/site?k=u')), '200 PASSED', '... others are not');
    is(told(ask($client, '/trap?k=t')), '429 BANNED',
       '... and the trap does not prolong it');

    # fields

    SlidewinBan::until_rejected($client, '/fields?k=f');
    $hit = ask($client, '/fields?k=f');
    is(told($hit), '429 BANNED', "$name, fields: banned");
    like($hit->{header}{ratelimit}, qr/^"fields";r=0;t=(?:600|59\d)$/,
         '... RateLimit has no unit and the end');
    is($hit->{header}{'x-ratelimit-remaining'}, 0, '... as the legacy ones');
    is($hit->{header}{'x-ratelimit-reset'}, retry($hit), '... in seconds');

    $hit = ask($client, '/epoch?k=f');
    cmp_ok(abs($hit->{header}{'x-ratelimit-reset'} - time - 600), '<=', 10,
           '... or as the time of day');

    my @spread = map { retry(ask($client, '/jitter?k=f')) } 1 .. 20;
    is(scalar(grep { $_ < 590 || $_ > 4200 } @spread), 0,
       "$name: jitter makes no Retry-After earlier");
    is(told(ask($client, '/status_403?k=f')), '403 BANNED',
       "$name: slidewin_status is the status of bans, too");

    # the log

    my @banned = map { ask($client, '/minutes?k=m') } 1 .. 8;
    is(told(@banned[5 .. 7]), '429 REJECTED, 429 BANNED, 429 BANNED',
       "$name, log: banned after five");
    is(retry($banned[5]), 600, '... for ten minutes');

    my @lines = grep { /zone "minutes"/ } SlidewinBan::lines($nginx);
    like(shift @lines, qr/^error:\ limiting\ requests,\ excess:\ 1\.000\ by
                           \ zone\ "minutes",\ client:\ unix:,
                           \ rate:\ 5r\/m,\ banned\ for\ 600s,
                           \ server:\ ,\ request:\ "GET\ \/minutes\?k=m/x,
         '... one line says so');
    is(scalar(grep { !/^error:\ limiting\ requests,\ excess:\ 1\.000\ by
                       \ zone\ "minutes",\ client:\ unix:,
                       \ rate:\ 5r\/m,\ banned,\ retry\ after:\ (?:600|59\d)s,
                       \ server:\ /x } @lines), 0,
       '... and others tell of hits') or diag(@lines);

    # each ban has a line, whatever was told in the same second

    my $since = SlidewinNginx::now();
    my ($begun, $hits) = (0, 0);

    $client->get('/loud?k=l');

    while (SlidewinNginx::now() < $since + 1.5) {
        my $answer = ask($client, '/loud?k=l');
        $begun++ if SlidewinBan::status($answer) eq 'REJECTED';
        $hits++ if SlidewinBan::status($answer) eq 'BANNED';
        SlidewinNginx::nap(0.002);
    }

    @lines = grep { /zone "loud"/ } SlidewinBan::lines($nginx);
    cmp_ok($begun, '>=', 3, "$name, log: $begun bans begin one after the other");
    is(scalar(grep { /, banned for 1s, / } @lines), $begun,
       '... each has a line');
    is(scalar(grep { !/^warn: / } @lines), 0, '... at the level of rejections');
    cmp_ok(scalar(grep { /, banned, retry after: / } @lines), '<=',
           2 + SlidewinNginx::now() - $since,
           "... and $hits hits have one a second");
}

for my $store (@stores) {
    # a slow machine may have passed the end by now
    SlidewinBan::until_over({ client => $store->{client}, uri => '/site?k=t',
                              begin => $store->{trap}, seconds => 2,
                              name => "$store->{name}, trap" })
        if SlidewinNginx::now() - $store->{trap}{to} < 1.5;
    ok(SlidewinNginx::until_true(sub {
        told(ask($store->{client}, '/site?k=t')) eq '200 PASSED';
    }, 5), "$store->{name}: who was in the trap comes back");
    $store->{client}->close;
    $store->{nginx}->stop(name => $store->{name});
}

done_testing();
