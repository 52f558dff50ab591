# Bans in a Redis Cluster: the ban of a client is in the slot of its counter, so
# that one script begins it; it holds in whatever slot the client is, at every
# edge, moves with the slot, and is there when a replica takes over. reset= and
# an operator lift it at any edge.

use strict;
use warnings;

use SlidewinBan;
use SlidewinCluster;
use SlidewinCount;
use SlidewinNginx;
use SlidewinStats;
use Test::More;

my $patience = SlidewinNginx::patience();
my $cluster = SlidewinCluster->start;
my $place = SlidewinCount->new('cluster');

my @edges = map {
    SlidewinBan::edge(
        url => $cluster->url, workers => 2,
        http => "upstream held { server unix:$place->{sockets}/held; }"
              . 'slidewin_log_level notice;
                 slidewin_zone $arg_k zone=one:1m rate=2r/40d algorithm=log
                               ban=1h on_error=closed;
                 slidewin_zone $arg_k zone=two:1m rate=9r/40d ban=1h..1d
                               on_error=closed deny_cache=off;
                 slidewin_zone $arg_k zone=lift:1m rate=3r/40d ban=1h
                               on_error=closed;
                 slidewin_zone $arg_j zone=other:1m rate=5r/40d ban=1h
                               on_error=closed;',
        server => SlidewinStats::location()
                . 'location = /one { slidewin zone=one; empty_gif; }
                   location = /both { slidewin zone=one; slidewin zone=two;
                                      empty_gif; }
                   location = /apart { slidewin zone=two; slidewin zone=other;
                                       empty_gif; }
                   location = /held { slidewin zone=lift reset=302;
                                      proxy_pass http://held; }
                   location = /lift { slidewin zone=lift; empty_gif; }
                   location = /two { slidewin zone=two; empty_gif; }')
} 1, 2;
my @clients = map { $_->client } @edges;

sub told { return SlidewinBan::told(@_) }

# by_redis EDGE, URI: the answer when the edge asks again, and does not go by
# what it remembers
sub by_redis {
    my ($n, $uri) = @_;
    my $answer;

    SlidewinNginx::until_true(sub {
        $answer = $clients[$n]->get($uri);
        return ($answer->{header}{'x-source'} // '') eq 'redis';
    }, 20 * $patience);

    return told($answer);
}

# passes EDGE, URI: the first answer that is no rejection
sub passes {
    my ($n, $uri) = @_;
    my $answer;

    SlidewinNginx::until_true(sub {
        $answer = $clients[$n]->get($uri);
        return told($answer) eq '200 PASSED';
    }, 20 * $patience);

    return $answer;
}

ok(SlidewinNginx::until_true(sub {
    !grep { my $edge = $_; grep { $_->get('/one?k=warm' . rand)->{status} != 200 }
                                $edge->clients(4) } @edges;
}, 20 * $patience), 'the cluster decides');

# clients of many slots, with keys that need a digest among them

my @keys = ((map { "client-$_" } 1 .. 20), '%7Bbrace%7D', 'x' x 300);
my (%told, $begun);

for my $k (@keys) {
    my $said = told((map { $clients[0]->get("/both?k=$k") } 1 .. 4),
                    $clients[1]->get("/both?k=$k"));
    $told{$said}++;
}
is_deeply(\%told, { '200 PASSED, 200 PASSED, 429 REJECTED, 429 BANNED, '
                    . '429 BANNED' => scalar @keys },
          'one edge begins a ban, and the other knows');

my (@wrong, $bans);

for my $node ($cluster->masters) {
    for my $key (grep { /:ban$/ } @{$node->command('KEYS', '*')}) {
        my $counter = $key =~ s/:ban$//r;

        $bans++;
        push @wrong, $key if $node->call('EXISTS', $counter) ne '1';
        push @wrong, "$key forever" if $node->command('PTTL', $key) < 1;
    }
}
is($bans, scalar @keys, 'each has one');
is("@wrong", '', '... where its counter is, and with an end');

# policies of other slots: both bans are told, the longest wait

$clients[0]->get('/apart?k=p&j=q') for 1 .. 5;
my $begin = $clients[0]->get('/apart?k=p&j=q');
is(told($begin), '429 REJECTED', 'policies in two slots: one begins a ban');
is(told($clients[1]->get('/apart?k=p&j=q')), '429 BANNED',
   '... which the other edge knows');
is(told($clients[1]->get('/two?k=p')), '200 PASSED',
   '... and the other policy bans nobody');

# a slot that moves takes the bans along

my ($from, $to) = $cluster->masters;
my ($k) = $cluster->clients_of($from, 1);

is(told(map { $clients[0]->get("/one?k=$k") } 1 .. 4),
   '200 PASSED, 200 PASSED, 429 REJECTED, 429 BANNED', 'a slot: a ban');
$cluster->move($cluster->slot($k), $from, $to);
is(by_redis($_, "/one?k=$k"), '429 BANNED', '... holds where the slot is now')
    for 0, 1;
is(scalar(grep { /zone "one"/ && /k=\Q$k\E / }
          map { SlidewinBan::begun($_) } @edges), 1, '... and began once');

# a client of each node: lifted by a request of the other edge that was under
# way when the ban began, and by an operator there

for my $node ($cluster->masters) {
    my ($k) = $cluster->clients_of($node, 1);
    my $holds = $edges[0]->asks("/held?k=$k");

    is($place->held->has(1), 1, 'reset=: a request is under way');
    is(told(map { $clients[1]->get("/lift?k=$k") } 1 .. 4),
       '200 PASSED, 200 PASSED, 429 REJECTED, 429 BANNED', '... and a ban');
    is(told($clients[0]->get("/lift?k=$k")), '429 BANNED', '... at both edges');
    $place->held->answer(302);
    is($holds->answer->{status}, 302, '... it succeeds');
    is(passes(1, "/lift?k=$k")->{header}{'x-remaining'}, 2,
       '... which lifts the ban and clears the count');
    is(passes(0, "/lift?k=$k")->{header}{'x-remaining'}, 1, '... at both');

    is(told(map { $clients[1]->get("/lift?k=$k") } 1 .. 3),
       '200 PASSED, 429 REJECTED, 429 BANNED', 'an operator: another ban');
    cmp_ok(SlidewinStats::look($edges[0], 'lift', $k)->{banned}, '>', 3000,
           '... is seen at the other edge');
    is(SlidewinStats::forget($edges[0], 'lift', $k), 204, '... and lifted');
    is(SlidewinStats::look($edges[1], 'lift', $k)->{banned}, 0, '... for both');
    is(passes(1, "/lift?k=$k")->{header}{'x-remaining'}, 2,
       '... where it began, too');
}

# a replica takes over: by hand, so that the master waits until it has all

my $master = $cluster->master_of($cluster->slot($k));
my ($replica) = grep {
    $_->command('INFO', 'replication') =~ /^master_port:@{[$master->port]}\r/m
} $cluster->replicas;
my @kept = SlidewinBan::ban_of($master, 'one', $k);

ok($replica, 'a replica of the node');

# the others may need some time between two elections
my $promoted;

for (1 .. 5) {
    $replica->call('CLUSTER', 'FAILOVER');
    $promoted = SlidewinNginx::until_true(sub {
        $replica->command('INFO', 'replication') =~ /^role:master/m
    }, 6) and last;
}

ok($promoted, '... takes over');
$cluster->wait_until_agreed;
is_deeply([(SlidewinBan::ban_of($replica, 'one', $k))[0, 1]], [@kept[0, 1]],
          '... and has the ban');
is(by_redis($_, "/one?k=$k"), '429 BANNED', '... by which an edge rejects')
    for 0, 1;

$_->close for @clients;
$_->stop for @edges;

done_testing();
