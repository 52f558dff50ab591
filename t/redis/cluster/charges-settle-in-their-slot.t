# charge= in a Redis Cluster: what a request has cost is settled where its slot
# is by then, also while that moves. A debt rejects the client at every edge.

use strict;
use warnings;

use SlidewinCluster;
use SlidewinCount;
use SlidewinNginx;
use SlidewinStats;
use Test::More;

my @algorithms = @SlidewinCount::ALGORITHMS;
my $limit = 100;
my $patience = SlidewinNginx::patience();
my $cluster = SlidewinCluster->start(replicas => 0);
my $place = SlidewinCount->new('cluster');
my $held = $place->held;
my $charge = 'cost=10 charge=$upstream_http_x_cost';

my ($near, $far) = my @edges = map {
    $place->edge(
        url => $cluster->url, rate => "${limit}r/40d", http => $place->told,
        server => SlidewinStats::location()
            . join('', map { <<"END" } @algorithms) . <<"END")
    location = /held_$_ { slidewin zone=$_ $charge; proxy_pass http://held; }
    location = /told_$_ { slidewin zone=$_ $charge; proxy_pass http://told; }
END
    location = /held_both {
        slidewin zone=log $charge;
        slidewin zone=fixed $charge;
        proxy_pass http://held;
    }
END
} 1, 2;

sub hold {
    my ($uri) = @_;
    my $client = $near->asks($uri);

    is($held->has(1), 1, "$uri is under way");

    return $client;
}

# settles CLIENT, COST: the upstream tells it
sub settles {
    my ($client, $cost) = @_;

    $held->tell($cost);

    return is($client->answer->{status}, 200, '... it is answered');
}

# said NODE, ERROR: how often
sub said {
    my ($node, $error) = @_;

    return $node->command('INFO', 'errorstats')
           =~ /^errorstat_$error:count=(\d+)/m ? $1 : 0;
}

sub charges {
    my ($zone) = @_;
    my $charges = SlidewinStats::zone($near, $zone)->{charges};

    return "$charges->{settled} settled, $charges->{estimated} estimated";
}

my @masters = $cluster->masters;

# an edge knows all slots, and its connections have the scripts
ok(SlidewinNginx::until_true(sub {
    for my $edge (@edges) {
        for my $key (map { $cluster->clients_of($_, 1) } @masters) {
            for my $algorithm (@algorithms) {
                return 0 if $edge->get("/told_$algorithm?k=$key&c=11")
                                 ->{header}{'x-source'} ne 'redis';
            }
        }
    }
    return 1;
}, 20 * $patience), 'all nodes decide');


# Clients of all nodes: settled, and another edge knows of a debt.

for my $node (@masters) {
    # the first one has been used above
    my (undef, @keys) = $cluster->clients_of($node, 1 + @algorithms);

    for my $algorithm (@algorithms) {
        my $key = shift @keys;
        my $uri = "/told_$algorithm?k=$key";

        $near->get("$uri&c=30");
        SlidewinCount::becomes($far, $algorithm, $key, $limit - 30,
                               "$algorithm: settled, as another edge sees");
        $near->get("$uri&c=999");
        SlidewinCount::becomes($far, $algorithm, $key, 0, '... a debt');

        my $answer = $far->get("$uri&c=1");
        is("$answer->{status} $answer->{header}{'x-source'}", '429 redis',
           '... for which it rejects');
        cmp_ok($answer->{header}{'retry-after'}, '>', 86400, '... for long');
    }
}


# The slot is somewhere else when the upstream has answered.

my ($from, $to) = @masters;
my @keys = $cluster->clients_of($from, 14);

# those that have been used
splice @keys, 0, 1 + @algorithms;

for my $algorithm (@algorithms) {
    my $key = shift @keys;
    my $slot = $cluster->slot($key);
    my $client = hold("/held_$algorithm?k=$key");
    my $moved = said($from, 'MOVED');

    $cluster->move($slot, $from, $to);
    settles($client, 30);
    SlidewinCount::becomes($far, $algorithm, $key, $limit - 30,
                           "$algorithm: settled where the slot is now");
    # one edge for this, and the other for the look
    cmp_ok(said($from, 'MOVED'), '>=', $moved + 2,
           '... as the first node has told both edges');
    is(SlidewinCount::left($near, $algorithm, $key), $limit - 30,
       '... once, for both');
}


# It is half moved: the key is there already, or still here.

for my $algorithm (@algorithms) {
    my $key = shift @keys;
    my $slot = $cluster->slot($key);
    my $client = hold("/held_$algorithm?k=$key");
    my $asked = said($from, 'ASK');

    $cluster->move_begin($slot, $from, $to);
    settles($client, 30);
    SlidewinCount::becomes($near, $algorithm, $key, $limit - 30,
                           "$algorithm, half moved: settled where the key is");

    $client = hold("/held_$algorithm?k=$key");
    $cluster->move_keys($slot, $from, $to);
    settles($client, 20);
    SlidewinCount::becomes($near, $algorithm, $key, $limit - 50,
                           '... and after the key has moved');
    cmp_ok(said($from, 'ASK'), '>=', $asked + 2, '... as the node has told');
    $cluster->move_end($slot, $from, $to);
    SlidewinCount::becomes($far, $algorithm, $key, $limit - 50,
                           '... and in the end');
}


# Two policies of a client, one of whose keys has moved.

{
    my $key = shift @keys;
    my $slot = $cluster->slot($key);
    my $client = hold("/held_both?k=$key");

    $cluster->move_begin($slot, $from, $to);
    $from->command('MIGRATE', '127.0.0.1', $to->port, '', 0, 5000, 'KEYS',
                   "sw:{$key}:log");
    settles($client, 30);
    SlidewinCount::becomes($near, $_, $key, $limit - 30,
                           "two policies, half moved: settled where it is, $_")
        for qw(log fixed);
    $cluster->move_keys($slot, $from, $to);
    $cluster->move_end($slot, $from, $to);
    SlidewinCount::becomes($far, $_, $key, $limit - 30, "... in the end, $_")
        for qw(log fixed);
}

# none of them was given up
is(join(' ', map { (split ' ', charges($_))[2] } @algorithms), '0 0 0 0',
   'no estimate stands');

$_->stop(name => 'edge') for @edges;

done_testing();
