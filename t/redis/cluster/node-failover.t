# Nodes of a cluster die: only clients in their own slots are affected, until
# the cluster has promoted a replica.

use strict;
use warnings;

use SlidewinCluster;
use SlidewinNginx;
use SlidewinRedis;
use Test::More;

my $patience = SlidewinNginx::patience();
my $cluster = SlidewinCluster->start;

my %conf = (
    workers => 2,
    server => 'add_header X-Source $slidewin_source always;
               location = /a { slidewin zone=a; empty_gif; }
               location = /closed { slidewin zone=closed; empty_gif; }',
);

sub http {
    my ($url, $params) = @_;

    $params //= 'timeout=2s connect_timeout=2s';

    return "slidewin_redis $url $params;
            slidewin_zone \$arg_k zone=a:1m rate=100000r/h algorithm=fixed;
            slidewin_zone \$arg_k zone=closed:1m rate=2r/h algorithm=log
                          on_error=closed;";
}

sub told {
    my ($answer) = @_;

    return "$answer->{status} " . ($answer->{header}{'x-source'} // '-');
}

# until all these clients are decided by Redis, on each worker
sub decided {
    my ($nginx, $seconds, @keys) = @_;
    my @clients = $nginx->clients(scalar $nginx->workers);

    my $decided = SlidewinNginx::until_true(sub {
        for my $client (@clients) {
            return 0 if grep {
                told($client->get("/a?k=$_")) ne '200 redis'
            } @keys;
        }
        return 1;
    }, $seconds * $patience);

    $_->close for @clients;

    return $decided;
}


# Nodes of the URL: some may be down, or be no cluster at all.

my ($one, $two, $three) = $cluster->masters;
my ($replica) = $cluster->replicas;
my @keys = map { ($cluster->clients_of($_, 3)) } $one, $two, $three;
my $dead = '127.0.0.1:' . SlidewinRedis::free_port();

for (['a replica', $cluster->url($replica)],
     ['one of three', "redis-cluster://$dead,$dead,"
                      . SlidewinCluster::address($two)],
     ['a name', 'redis-cluster://localhost:' . $two->port])
{
    my ($name, $url) = @$_;
    my $nginx = SlidewinNginx->start(
        %conf, http => http($url, 'timeout=20s connect_timeout=20s'));

    # the first requests wait for the slots, and none is lost
    my @answers = map { told($_->answer) }
                  map { $nginx->asks("/closed?k=$name-$_" =~ tr/ /-/r) }
                  1 .. 20;

    is(join(' ', grep { $_ ne '200 redis' } @answers), '',
       "seeds: $name is enough, from the first request on");
    $nginx->stop(name => $name);
}

my $alone = SlidewinRedis->start;
my $nginx = SlidewinNginx->start(
    %conf, http => http('redis-cluster://127.0.0.1:' . $alone->port,
                        'timeout=20s connect_timeout=5s'));

is(told($nginx->get('/closed?k=alone')), '503 fail_closed',
   'a Redis that is no cluster: on_error decides');
ok($nginx->logged(qr/slidewin redis "127\.0\.0\.1:\d+" does not tell the slots of its cluster: "ERR This instance has cluster support disabled"/),
   '... and the log says why');
SlidewinNginx::nap(1);
cmp_ok(scalar($nginx->errors(qr/slidewin redis/)), '<=', 2,
       '... once for each worker');
cmp_ok($alone->calls('cluster|slots') + $alone->calls('cluster'), '<=', 24,
       '... which do not ask all the time');
$nginx->stop(name => 'no cluster');
$alone->remove;

$nginx = SlidewinNginx->start(
    %conf, http => http("redis-cluster://$dead",
                        'timeout=20s connect_timeout=5s'));
ok($nginx->logged(qr/slidewin redis "\Q$dead\E" cannot be reached/),
   'no server: the log says so');
is(told($nginx->get('/closed?k=nobody')), '503 fail_closed',
   '... and no request waits');
$nginx->stop(name => 'no server');


# A master is killed under traffic.

$nginx = SlidewinNginx->start(%conf, http => http($cluster->url));
ok(decided($nginx, 20, @keys), 'all slots are decided by Redis');

my %fds = map { $_ => SlidewinNginx::fds($_) } $nginx->workers;
my @its = $cluster->clients_of($one, 4);
my @others = map { $cluster->clients_of($_, 2) } $two, $three;
my $flag = $nginx->root . '/promoted';
my @clients = $nginx->clients(4);

my ($killed, @results) = $nginx->together(sub {
    my ($i) = @_;
    my (%answers, $slowest);

    if ($i < 0) {
        SlidewinNginx::nap(0.3);
        kill 'KILL', $one->pid;
        my $start = SlidewinNginx::now();
        # as the cluster itself reports it
        my $promoted = SlidewinNginx::until_true(sub {
            $cluster->slot_ranges($two) !~ /:@{[$one->port]}\b/
            && $cluster->slot_ranges($three) !~ /:@{[$one->port]}\b/
        }, 30);
        my $took = SlidewinNginx::now() - $start;
        SlidewinNginx::nap(2.5 * $patience);
        open my $file, '>', $flag;
        return [$promoted, $took];
    }

    my @mine = $i % 2 ? @its : @others;

    for (my $n = $i; !-e $flag; $n++) {
        my $answer = $clients[$i]->get("/a?k=$mine[$n % @mine]");

        $answers{told($answer)}++;
        $answers{last} = told($answer);
        SlidewinNginx::nap(0.002);
    }

    return \%answers;
}, -1, 0 .. 3);

ok($killed->[0], 'a master is killed, and a replica promoted')
    and note("after $killed->[1] s");

for my $i (0 .. 3) {
    my %answers = %{$results[$i]};
    my $last = delete $answers{last};

    note(join ', ', map { "$_: $answers{$_}" } sort keys %answers);

    if ($i % 2 == 0) {
        is(join(', ', sort keys %answers), '200 redis',
           'the slots of others: all decided by Redis');
        next;
    }

    is(join(', ', grep { !/^200 (?:redis|fallback)$/ } keys %answers), '',
       'its slots: decided by Redis or on_error');
    cmp_ok($answers{'200 fallback'} // 0, '>', 0,
           '... by on_error for a while');
    is($last, '200 redis', '... and by Redis again in the end');
}

$_->close for @clients;
$one->kill;

is(scalar(grep { !/:@{[$one->port]}"/ }
          $nginx->errors(qr/is lost|is not asked|cannot be reached/)), 0,
   'no other node was lost');
ok($nginx->logged(qr/slidewin redis "127\.0\.0\.1:@{[$one->port]}" has no slots any more/),
   '... and the dead one is given up');

# The old master comes back as a replica, which changes nothing.

$one->run or die 'it does not start again';
$cluster->wait_until_agreed;
ok(decided($nginx, 20, @keys), 'it comes back: all are decided by Redis');
ok(SlidewinNginx::until_true(sub {
    !grep { SlidewinNginx::fds($_) > $fds{$_} } $nginx->workers
}, 10 * $patience), '... and no descriptor is left over');

# A failover by hand, agreed with the master: nothing is lost.

is(told($nginx->get("/closed?k=$its[0]")), '200 redis', 'a unit is taken');
$cluster->master_of($cluster->slot($its[0]))->command('WAIT', 1, 5000);

# the other nodes may need some time between two elections
my $promoted;

for (1 .. 5) {
    $one->call('CLUSTER', 'FAILOVER');
    $promoted = SlidewinNginx::until_true(sub {
        $one->command('INFO', 'replication') =~ /^role:master/m
    }, 6) and last;
}

ok($promoted, 'it is promoted by hand');
$cluster->wait_until_agreed;
is(told($nginx->get("/closed?k=$its[0]")), '200 redis',
   '... the second one is taken')
    or diag(join '', $nginx->errors(qr/slidewin/));
is(told($nginx->get("/closed?k=$its[0]")), '429 redis',
   '... and there is no third');

# A master that does not answer.

my ($frozen) = $cluster->clients_of($two, 1);
my ($other) = $cluster->clients_of($three, 1);

$two->signal('STOP');

my $waits = $nginx->asks("/a?k=$frozen");

is(told($nginx->get("/a?k=$other")), '200 redis',
   'a master is frozen: the slots of others are decided');
is(told($waits->answer), '200 fallback', '... its own by on_error');
ok(decided($nginx, 30, $frozen), '... and its own by the one in its place');
$two->signal('CONT');
$cluster->wait_until_agreed;
ok(decided($nginx, 20, @keys), '... and all when it is back');


# All nodes.

$_->signal('KILL') for $cluster->nodes;
$_->kill for $cluster->nodes;
ok(SlidewinNginx::until_true(sub {
    told($nginx->get("/closed?k=$its[1]")) eq '503 fail_closed'
}, 10 * $patience), 'all are dead: on_error decides');
$nginx->reload;
is(told($nginx->get("/closed?k=$its[1]")), '503 fail_closed',
   '... and after a reload, with no map');
ok(!(grep { !$_->run } $cluster->nodes), 'all are started again');
$cluster->wait_until_agreed;
ok(decided($nginx, 20, @keys), '... and decide');

my ($most) = sort { $b <=> $a } values %fds;

ok(SlidewinNginx::until_true(sub {
    !grep { SlidewinNginx::fds($_) > $most } $nginx->workers
}, 10 * $patience), '... and no descriptor is left over');
$nginx->stop;

done_testing();
