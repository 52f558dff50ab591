package SlidewinCluster;

# A real Redis Cluster: masters and replicas, on free ports of the loopback,
# ended with the suite.

use strict;
use warnings;

use POSIX ();
use SlidewinNginx ();
use SlidewinRedis ();

# start(masters => 3, replicas => 3, args => [...], binary => PATH, tls =>
# [...], cli => [...]): args are options of redis-server, tls those of nodes
# that speak TLS alone, cli those of redis-cli. Returns when all slots are
# served, all nodes agree on that and the replicas follow.
sub start {
    my ($class, %options) = @_;
    my $self = bless {
        masters => 3, replicas => 3, args => [],
        binary => 'redis-server', cli => [], %options,
        nodes => [],
    }, $class;

    $self->add for 1 .. $self->{masters} + $self->{replicas};

    $self->cli('--cluster', 'create', (map { address($_) } $self->nodes),
               '--cluster-replicas',
               int($self->{replicas} / $self->{masters}), '--cluster-yes');
    $self->wait_until_agreed;

    return $self;
}

# another node, which knows no other yet; its bus is 10000 above its port
sub add {
    my ($self) = @_;
    my $node = SlidewinRedis->start(
        binary => $self->{binary}, port => SlidewinRedis::free_port(10000),
        tls => $self->{tls},
        args => ['--cluster-enabled', 'yes', '--cluster-node-timeout', 2000,
                 '--cluster-require-full-coverage', 'no',
                 '--cluster-replica-validity-factor', 0,
                 '--repl-diskless-sync-delay', 0, @{$self->{args}}]);

    push @{$self->{nodes}}, $node;

    return $node;
}

sub nodes { return @{$_[0]{nodes}} }

# the nodes that run
sub alive { return grep { defined $_->pid } $_[0]->nodes }

sub address { return '127.0.0.1:' . $_[0]->port }

sub url {
    my ($self, @nodes) = @_;

    return ($self->{tls} ? 'rediss' : 'redis') . '-cluster://'
           . join ',', map { address($_) } @nodes ? @nodes : $self->nodes;
}

sub cli {
    my ($self, @args) = @_;
    my $pid = open my $out, '-|' // die "fork: $!";

    if ($pid == 0) {
        open STDERR, '>&', \*STDOUT;
        exec 'redis-cli', @{$self->{cli}}, @args or POSIX::_exit(127);
    }

    my $said = do { local $/; <$out> } // '';

    close $out or die "redis-cli @args:\n$said";

    return $said;
}

# Until all nodes that run agree: every slot is served, no node is missed,
# replicas follow.
sub wait_until_agreed {
    my ($self, $seconds) = @_;

    SlidewinNginx::until_true(sub { $self->agreed }, $seconds // 60)
        or die "no cluster:\n"
               . join '', map { $_->call('CLUSTER', 'NODES') . "\n" }
                          $self->alive;

    return;
}

sub agreed {
    my ($self) = @_;
    my $size = $self->alive;

    for my $node ($self->alive) {
        my $info = $node->call('CLUSTER', 'INFO');

        return 0 if $info !~ /^cluster_state:ok/m
                    || $info !~ /^cluster_slots_ok:16384/m;
        return 0 if (grep { !/fail|handshake|noaddr/ }
                     split /\n/, $node->call('CLUSTER', 'NODES')) < $size;

        my $role = $node->call('INFO', 'replication');
        return 0 if $role =~ /^role:slave/m
                    && $role !~ /^master_link_status:up/m;
    }

    # all nodes see the same
    my %maps = map { $self->slot_ranges($_) => 1 } $self->alive;

    return keys %maps == 1;
}

# slot_ranges NODE: "first-last:port" of each range, as this node sees them
sub slot_ranges {
    my ($self, $node) = @_;

    return join ' ', sort map { "$_->[0]-$_->[1]:$_->[2][1]" }
                     @{$node->command('CLUSTER', 'SLOTS')};
}

# the masters that have slots
sub masters {
    my ($self) = @_;
    my ($any) = $self->alive;
    my %port = map { $_->[2][1] => 1 } @{$any->command('CLUSTER', 'SLOTS')};

    return grep { $port{$_->port} } $self->nodes;
}

sub replicas {
    my ($self) = @_;
    my %master = map { $_->port => 1 } $self->masters;

    return grep { !$master{$_->port} } $self->alive;
}

sub id { return $_[1]->command('CLUSTER', 'MYID') }

# slot CLIENT: that of its key
sub slot {
    my ($self, $client) = @_;
    my ($any) = $self->alive;

    return $any->command('CLUSTER', 'KEYSLOT', "{$client}");
}

# the master of a slot
sub master_of {
    my ($self, $slot) = @_;
    my ($any) = $self->alive;
    my ($range) = grep { $_->[0] <= $slot && $slot <= $_->[1] }
                  @{$any->command('CLUSTER', 'SLOTS')};

    return (grep { $_->port == $range->[2][1] } $self->nodes)[0];
}

# clients_of NODE, N: clients whose slots the node has
sub clients_of {
    my ($self, $node, $n) = @_;
    my @ranges = grep { $_->[2][1] == $node->port }
                 @{$node->command('CLUSTER', 'SLOTS')};
    my @clients;

    for (my $i = 0; @clients < $n; $i++) {
        my $slot = $self->slot("of-$i");
        push @clients, "of-$i"
            if grep { $_->[0] <= $slot && $slot <= $_->[1] } @ranges;
    }

    return @clients;
}

# Moving a slot by hand, in three steps; move() takes all of them.
sub move_begin {
    my ($self, $slot, $from, $to) = @_;

    $to->command('CLUSTER', 'SETSLOT', $slot, 'IMPORTING', $self->id($from));
    $from->command('CLUSTER', 'SETSLOT', $slot, 'MIGRATING', $self->id($to));

    return;
}

sub move_keys {
    my ($self, $slot, $from, $to) = @_;
    my $keys = $from->command('CLUSTER', 'GETKEYSINSLOT', $slot, 1000);

    $from->command('MIGRATE', '127.0.0.1', $to->port, '', 0, 5000, 'KEYS',
                   @$keys) if @$keys;

    return;
}

sub move_end {
    my ($self, $slot, $from, $to) = @_;

    $_->command('CLUSTER', 'SETSLOT', $slot, 'NODE', $self->id($to))
        for $to, $from;

    return;
}

sub move {
    my ($self, @move) = @_;

    $self->move_begin(@move);
    $self->move_keys(@move);
    $self->move_end(@move);

    return;
}

# calls COMMAND: how often all nodes together were asked
sub calls {
    my ($self, $command) = @_;
    my $sum = 0;

    $sum += $_->calls($command) for $self->alive;

    return $sum;
}

sub stop {
    my ($self) = @_;

    $_->remove for $self->nodes;
    $self->{nodes} = [];

    return;
}

1;
