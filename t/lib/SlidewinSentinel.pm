package SlidewinSentinel;

# A real master with its replicas, and real sentinels that watch them.

use strict;
use warnings;

use SlidewinNginx ();
use SlidewinRedis ();

# start(replicas => N, sentinels => N, password => TEXT, conf => TEXT, as =>
# [USER, PASSWORD], tls => [...]): password is that of the Redis servers, conf
# is for the sentinels, the suite logs in to them as "as", tls is for all
# servers. Returns when all servers know each other.
sub start {
    my ($class, %options) = @_;
    my $self = bless {
        replicas => 2, sentinels => 3, conf => '', as => [], %options,
    }, $class;
    my $password = $self->{password};
    my @args = ('--repl-diskless-sync-delay', 0, '--repl-timeout', 10);

    push @args, '--requirepass', $password, '--masterauth', $password
        if defined $password;

    my @common = $self->{tls} ? (tls => $self->{tls}) : ();
    my $master = SlidewinRedis->start(args => \@args, @common);

    $self->{nodes} = [$master, map {
        SlidewinRedis->start(
            args => [@args, '--replicaof', '127.0.0.1 ' . $master->port],
            @common)
    } 1 .. $self->{replicas}];

    my $conf = 'sentinel monitor mymaster 127.0.0.1 ' . $master->port . ' '
               . (int($self->{sentinels} / 2) + 1) . "\n"
               . "sentinel down-after-milliseconds mymaster 1500\n"
               . "sentinel failover-timeout mymaster 4000\n"
               . "sentinel parallel-syncs mymaster 2\n";

    $conf .= "sentinel auth-pass mymaster $password\n" if defined $password;

    $self->{servers} = [map {
        SlidewinRedis->start(args => ['--sentinel'],
                             conf => $conf . $self->{conf}, @common)
    } 1 .. $self->{sentinels}];

    $self->agreed or die "the sentinels do not find each other:\n"
                          . join "\n", map { $_->log } $self->sentinels;

    return $self;
}

sub sentinels { return @{$_[0]{servers}} }

sub nodes { return @{$_[0]{nodes}} }

# freeze N, thaw N: stops the Nth sentinel, which then neither ends nor answers
sub freeze {
    my ($self, $n) = @_;

    $self->{servers}[$n]{frozen} = 1;
    return $self->{servers}[$n]->signal('STOP');
}

sub thaw {
    my ($self, $n) = @_;

    $self->{servers}[$n]{frozen} = 0;
    return $self->{servers}[$n]->signal('CONT');
}

# url(sentinels...): with all sentinels unless some are given, and the name of
# the master
sub url {
    my ($self, @sentinels) = @_;

    @sentinels = $self->sentinels if !@sentinels;

    return ($self->{tls} ? 'rediss' : 'redis') . '-sentinel://'
           . join(',', map { '127.0.0.1:' . $_->port } @sentinels)
           . '/mymaster';
}

# ask SERVER, COMMAND: the reply of a node or a sentinel, on a new connection;
# undef if there is none
sub ask {
    my ($self, $server, @command) = @_;
    my $is_sentinel = grep { $_ == $server } $self->sentinels;
    my @auth = $is_sentinel ? @{$self->{as}} : $self->{password} // ();

    return scalar eval {
        my $client = $server->client;
        $client->call('AUTH', @auth) if @auth;
        $client->call(@command);
    };
}

# the node that all sentinels which answer call the master, if they agree
sub master {
    my ($self) = @_;
    my %ports;

    for my $sentinel ($self->sentinels) {
        next if !defined $sentinel->pid || $sentinel->{frozen};
        my $said = $self->ask($sentinel, 'SENTINEL', 'GET-MASTER-ADDR-BY-NAME',
                              'mymaster');
        $ports{ref $said eq 'ARRAY' ? $said->[1] : 0}++;
    }

    return if keys %ports != 1;

    return (grep { $_->port == (keys %ports)[0] } $self->nodes)[0];
}

# Whether it comes about that one node says itself that it is the master, all
# other running nodes follow it, and the sentinels could replace it.
sub agreed {
    my ($self) = @_;

    return SlidewinNginx::until_true(sub {
        my $master = $self->master // return 0;
        my @nodes = grep { defined $_->pid } $self->nodes;

        return 0 if !$self->_is($master, 'master', @nodes - 1);

        for my $node (grep { $_ != $master } @nodes) {
            my $text = $self->ask($node, 'INFO', 'replication') // return 0;
            return 0 if $text !~ /^master_link_status:up/m
                        || $text !~ /^master_port:@{[$master->port]}\r/m;
        }

        for my $sentinel ($self->sentinels) {
            next if !defined $sentinel->pid;
            my $said = $self->ask($sentinel, 'SENTINEL', 'CKQUORUM',
                                  'mymaster');
            return 0 if ($said // '') !~ /^OK \Q$self->{sentinels}\E /;
            my $known = $self->ask($sentinel, 'SENTINEL', 'REPLICAS',
                                   'mymaster');
            return 0 if ref $known ne 'ARRAY' || @$known < $self->{replicas};
        }

        return 1;
    }, 60);
}

sub _is {
    my ($self, $node, $role, $replicas) = @_;
    my $text = $self->ask($node, 'INFO', 'replication') // return 0;

    return $text =~ /^role:$role\r/m
           && $text =~ /^connected_slaves:$replicas\r/m;
}

# whether the replicas have all that the master has: WAIT is about what its own
# connection has written
sub replicated {
    my ($self) = @_;
    my $client = $self->master->client;

    $client->call('AUTH', $self->{password}) if defined $self->{password};
    $client->call('SET', 'replicated', 1, 'PX', 1000);

    return $client->call('WAIT', $self->{replicas}, 20000)
           == $self->{replicas};
}

# Orders a failover. On a busy machine a sentinel may give up, or find no
# replica to promote.
sub fail_over {
    my ($self, $old) = @_;

    for (1 .. 10) {
        $self->ask(($self->sentinels)[0], 'SENTINEL', 'FAILOVER', 'mymaster');
        return 1 if $self->replaced($old, 6);
    }

    return 0;
}

# replaced NODE, SECONDS: whether another node becomes the master
sub replaced {
    my ($self, $old, $seconds) = @_;

    return SlidewinNginx::until_true(sub {
        my $master = $self->master;
        return defined $master && $master != $old
               && ($self->ask($master, 'ROLE') // [''])->[0] eq 'master';
    }, $seconds // 60);
}

sub stop {
    my ($self) = @_;

    $_->remove for $self->sentinels, $self->nodes;

    return;
}

1;
