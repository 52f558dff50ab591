# A failover between the requests of a client: a ban that was replicated holds
# at the new master, to the same end, and what the upstream tells after it is
# settled there. Without a master the estimate stays, and the ban is not lost.

use strict;
use warnings;

use SlidewinBan;
use SlidewinCount;
use SlidewinNginx;
use SlidewinSentinel;
use SlidewinStats;
use Test::More;

my @algorithms = @SlidewinCount::ALGORITHMS;
my $limit = 100;
my $patience = SlidewinNginx::patience();
my $group = SlidewinSentinel->start;
my $place = SlidewinCount->new('sentinel');
my $held = $place->held;

my $charge = 'cost=10 charge=$upstream_http_x_cost';

my ($near, $far) = my @edges = map {
    $place->edge(
        url => $group->url, redis => 'timeout=3s connect_timeout=3s',
        rate => "${limit}r/40d",
        http => $place->told . join('', map { <<"END" } @algorithms) . <<'END',
    slidewin_zone \$arg_k zone=ban_$_:1m rate=2r/40d algorithm=$_
                  ban=1h..1d deny_cache=off on_error=closed;
END
    slidewin_zone $arg_k zone=lift:1m rate=2r/40d ban=1h on_error=closed;
END
        server => SlidewinStats::location()
            . join('', map { <<"END" } @algorithms) . <<'END')
    location = /ban_$_ { slidewin zone=ban_$_; empty_gif; }
    location = /held_$_ { slidewin zone=$_ $charge; proxy_pass http://held; }
    location = /told_$_ { slidewin zone=$_ $charge; proxy_pass http://told; }
END
    location = /lift { slidewin zone=lift; empty_gif; }
    location = /lift_look { slidewin zone=lift cost=0; empty_gif; }
    location = /held_lift {
        slidewin zone=lift reset=302; proxy_pass http://held;
    }
END
} 1, 2;

sub ask {
    my ($edge, $uri) = @_;

    return SlidewinBan::ask($edge->client, $uri);
}

sub told { return SlidewinBan::told(@_) }

sub source { return $_[0]{header}{'x-source'} // '-' }

# connections of the edges to a server
sub connections {
    my ($server) = @_;

    return scalar grep { / addr=127\.0\.0\.1:.* cmd=(?:evalsha|eval|time)/ }
           split /^/, $group->ask($server, 'CLIENT', 'LIST') // '';
}

# Asserts that all edges have left this master, if any, and ask another.
sub decides {
    my ($name, $old) = @_;

    return ok(SlidewinNginx::until_true(sub {
        return 0 if defined $old && connections($old);
        return !grep {
            source($_->get('/peek_log?k=well')) ne 'redis'
        } @edges;
    }, 40 * $patience), "$name: the master decides for both edges");
}

# the end and the length of a ban, as the master has them; a new master closes
# the connections it had
sub kept {
    my ($zone, $k) = @_;
    my $text = $group->ask($group->master, 'GET', "sw:{$k}:$zone:ban");

    return [SlidewinRedis::numbers($text // '')];
}

my $waits = 0;

# a client whose request the upstream has, when this returns
sub hold {
    my ($uri) = @_;
    my $client = $near->asks($uri);

    is($held->has(++$waits), $waits, "$uri is under way");

    return $client;
}

# the upstream answers the first of them
sub answered {
    my ($name, @clients) = @_;

    $waits -= @clients;

    return is(SlidewinNginx::tally(map { $_->answer->{status} } @clients),
              '200 x' . @clients, "$name: they are answered");
}

sub charges { return SlidewinStats::zone($near, $_[0])->{charges} }

# ban NAME, CLIENT: begins a ban of each algorithm; what Redis has of them
sub ban {
    my ($name, $k) = @_;

    return map {
        my @answers = map { ask($near, $_) } ("/ban_$_?k=$k") x 3;

        is(told(@answers), '200 PASSED, 200 PASSED, 429 REJECTED',
           "$name, $_: a ban begins");
        { zone => "ban_$_", k => $k, kept => kept("ban_$_", $k) };
    } @algorithms;
}

# Asserts that all of these hold at each edge, as long as they said.
sub banned {
    my ($name, @bans) = @_;

    for my $ban (@bans) {
        my ($zone, $k) = @$ban{qw(zone k)};

        is_deeply(kept($zone, $k), $ban->{kept},
                  "$name, $zone: the ban of $k is there");

        for my $edge (@edges) {
            my $hit = ask($edge, "/$zone?k=$k");

            is(told($hit) . ' ' . source($hit), '429 BANNED redis',
               '... and holds');
            cmp_ok(SlidewinBan::retry($hit), '>', 86400,
                   '... until the window has room');
        }
    }

    return;
}


# Before: a ban of each algorithm, requests whose costs are not known yet, and
# one that will lift a ban.

decides('at first');

my $first = $group->master;
my @bans = ban('the first master', 'a');
my @held = map { hold("/held_$_?k=a") } @algorithms;
my $debtor = hold('/held_log?k=debtor');
my $lifts = hold('/held_lift?k=a');

is(told(map { ask($near, '/lift?k=a') } 1, 2), '200 PASSED, 429 REJECTED',
   'a client is banned while a request of it is under way');
ok($group->replicated, '... and all that is replicated');


# By hand, so that nothing is lost.

ok($group->fail_over($first), 'a failover: there is another master');
ok($group->agreed, '... and the first one is its replica');
decides('a failover', $first);
isnt($group->master, $first, '... which is not the first one');
banned('a failover', @bans);
is(told(ask($far, '/lift_look?k=a')), '429 BANNED',
   '... and that of the other policy');

for my $algorithm (@algorithms) {
    is(SlidewinCount::left($far, $algorithm, 'a'), $limit - 10,
       "$algorithm: the estimate is reserved there");
}

$held->tell((30) x @algorithms, 5000);
answered('a failover', @held, $debtor);
SlidewinCount::becomes($far, $_, 'a', $limit - 30,
                       "$_: the true cost is counted at the new master")
    for @algorithms;
SlidewinCount::becomes($far, 'log', 'debtor', 0, '... and a debt');

my $answer = $far->get('/told_log?k=debtor&c=1');
is("$answer->{status} " . source($answer), '429 redis',
   '... for which another edge rejects');

$held->answer(302);
$waits--;
is($lifts->answer->{status}, 302, 'reset= after a failover');
ok(SlidewinNginx::until_true(sub {
    told(ask($far, '/lift_look?k=a')) eq '200 PASSED';
}, 10 * $patience), '... lifts a ban that began before it');
banned('... and no other', @bans);


# Killed, with requests under way that end before there is another.

my $second = $group->master;

push @bans, ban('the second master', 'b');
@held = map { hold("/held_$_?k=b") } @algorithms;
ok($group->replicated, '... replicated');

my $lines = () = $near->errors(qr/is lost|cannot be reached/);
my %before = map { $_ => charges($_) } @algorithms;

$second->kill('KILL');
ok(SlidewinNginx::until_true(sub {
    $near->errors(qr/is lost|cannot be reached/) > $lines;
}, 10 * $patience), 'killed: the edge knows');
$held->tell((30) x @algorithms);
answered('killed', @held);
ok($group->replaced($second), '... there is another master');
decides('killed');
banned('killed', @bans);

# a master may have been there by then
for my $algorithm (@algorithms) {
    my $told;

    ok(SlidewinNginx::until_true(sub {
        $told = charges($algorithm);
        return $told->{settled} + $told->{estimated}
               > $before{$algorithm}{settled} + $before{$algorithm}{estimated};
    }, 20 * $patience), "$algorithm: the charge is over");

    my $settled = $told->{settled} - $before{$algorithm}{settled};

    SlidewinCount::becomes($far, $algorithm, 'b', $limit - ($settled ? 30 : 10),
                           '... the master has what the statistics tell, '
                           . ($settled ? 'the true cost' : 'the estimate'));
}

my $client = $group->master->client;
my @endless = grep { $client->call('PTTL', $_) == -1 }
              @{$client->call('KEYS', 'sw:*')};

is("@endless", '', 'all keys have an end');

$_->stop(name => 'edge') for @edges;

done_testing();
