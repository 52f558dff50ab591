# A policy bans for its own rejections alone: not if the request waits in it, or
# could wait, and another policy rejects it, nor if it was only asked how long
# the wait would be.

use strict;
use warnings;

use SlidewinBan;
use SlidewinNginx;
use SlidewinStats;
use Test::More;

my $http = 'slidewin_log_level notice;
    slidewin_zone $arg_k zone=p1:1m rate=1r/2s algorithm=log ban=1h;
    slidewin_zone $arg_k zone=p2:1m rate=1r/40d;
    slidewin_zone $arg_k zone=bans:1m rate=1r/40d ban=1h;
    slidewin_zone $arg_k zone=far:1m rate=1r/40d ban=1h;
    slidewin_zone $arg_k zone=line:1m rate=1r/1s algorithm=log ban=1h;
    slidewin_zone $arg_k zone=Q2:1m rate=1r/40d;
    slidewin_zone $arg_q zone=Q:1m rate=1r/40d store=local;
    slidewin_zone $arg_k zone=here:1m rate=1r/40d store=local;
' . join '', map { <<"ZONE" } qw(P P_now p3 p3_now);
    slidewin_zone \$arg_k zone=$_:1m rate=2r/40d ban=1h;
ZONE

# P and p3 have delay= in some location, P_now and p3_now in none
my $server = SlidewinStats::location() . '
    location = /both {
        slidewin zone=p1 delay=10s; slidewin zone=p2; empty_gif;
    }
    location = /both_ban {
        slidewin zone=p1 delay=10s; slidewin zone=bans; empty_gif;
    }
    location = /both_far {
        slidewin zone=far delay=1s; slidewin zone=p2; empty_gif;
    }
    location = /line { slidewin zone=line delay=20s; empty_gif; }
    location = /line_Q2 {
        slidewin zone=line delay=20s; slidewin zone=Q2; empty_gif;
    }
    location = /P_wait { slidewin zone=P delay=1s; empty_gif; }
    location = /p3_wait { slidewin zone=p3 delay=1s; empty_gif; }
    location = /Q { slidewin zone=Q; empty_gif; }
' . join('', map { <<"LOCATION" } qw(P P_now))
    location = /$_ {
        slidewin zone=$_;
        error_page 404 = /${_}_2?k=\$arg_k&q=\$arg_q;
        root /nonexistent;
    }
    location = /${_}_2 {
        slidewin zone=Q; slidewin zone=$_ cost=2; empty_gif;
    }
LOCATION
    . join('', map { <<"LOCATION" } qw(p3 p3_now))
    location = /x_$_ { slidewin zone=here; slidewin zone=$_; empty_gif; }
LOCATION
    . join '', map { "location = /look_$_ { slidewin zone=$_ cost=0;"
                     . " empty_gif; }\n"
                     . "location = /use_$_ { slidewin zone=$_; empty_gif; }\n" }
               qw(p1 p2 bans far line Q2 P P_now p3 p3_now here);

sub told { return SlidewinBan::told(@_) }

for my $store (SlidewinBan::stores()) {
    my $name = $store->{name};
    my $nginx = SlidewinBan::edge(store => $store, http => $http,
                                  server => $server);
    my $client = $nginx->client;

    my $ask = sub { return SlidewinBan::ask($client, @_) };

    # none ZONE, K: asserts that the policy has banned nobody
    my $none = sub {
        my ($zone, $k) = @_;

        is(told($ask->("/look_$zone?k=$k")), '200 PASSED',
           "... $zone bans nobody");
        is(scalar(grep { /zone "$zone"/ } SlidewinBan::begun($nginx)), 0,
           '... says the log');
        is(SlidewinStats::zone($nginx, $zone)->{bans_total}, 0,
           '... say the statistics');
    };

    $ask->('/look_P?k=warm');

    # the request could wait in p1

    is(told(map { $ask->('/both?k=a') } 1, 2), '200 PASSED, 429 REJECTED',
       "$name, delay=: another policy rejects");
    $none->(p1 => 'a');

    # ... and the other one has ban=

    is(told(map { $ask->('/both_ban?k=b') } 1, 2), '200 PASSED, 429 REJECTED',
       "$name, delay=: another policy rejects and bans");
    $none->(p1 => 'b');
    is(told($ask->('/look_bans?k=b')), '429 BANNED', '... but the other does');
    is(SlidewinStats::zone($nginx, 'bans')->{bans_total}, 1, '... once');

    # it would have to wait too long: that is a rejection

    is(told(map { $ask->('/both_far?k=c') } 1, 2), '200 PASSED, 429 REJECTED',
       "$name, delay=: both reject, one after too short a wait");
    is(told($ask->('/look_far?k=c')), '429 BANNED', '... which bans');
    is(SlidewinStats::zone($nginx, 'far')->{bans_total}, 1, '... once');

    # a queue of others of the client

    is(told($ask->('/use_Q2?k=d')), '200 PASSED',
       "$name, queue: Q2 is used up");
    $ask->('/line?k=d');

    my @waiting = map { $nginx->asks('/line?k=d') } 1 .. 3;

    ok($nginx->busy(3), '... three wait');
    is(told($ask->('/line_Q2?k=d')), '429 REJECTED', '... Q2 rejects another');
    is(told(map { $_->answer } @waiting), join(', ', ('200 DELAYED') x 3),
       '... and the three pass');
    $none->(line => 'd');

    # P has room for what it was asked, or was not asked at all

    for my $zone (qw(P P_now)) {
        my $keys = "k=$zone&q=$zone";

        is(told($ask->("/Q?$keys")), '200 PASSED',
           "$name, $zone: another is used up");
        is(told($ask->("/$zone?$keys")), '429 REJECTED',
           '... and rejects the second pass of a request');
        $none->($zone => $zone);
        is($ask->("/look_$zone?k=$zone")->{header}{'x-remaining'}, 1,
           '... which has counted its first pass');
    }

    # shared memory rejects: Redis is asked no more than how long it would take

    for my $zone ($store->{redis} ? qw(p3 p3_now) : ()) {
        is(told(map { $ask->("/use_$_?k=$zone") } 'here', $zone, $zone),
           join(', ', ('200 PASSED') x 3),
           "$name, $zone: all is used up");
        is(told($ask->("/x_$zone?k=$zone")), '429 REJECTED',
           '... shared memory rejects');
        $none->($zone => $zone);
        is($store->{redis}->command('EXISTS', "sw:{$zone}:$zone:ban"), 0,
           '... nor is there one in Redis');
        is(told(map { $ask->("/use_$zone?k=$zone") } 1, 2),
           '429 REJECTED, 429 BANNED', '... before it rejects itself');
    }

    $_->close for $client, @waiting;
    $nginx->stop(name => $name);
}

done_testing();
