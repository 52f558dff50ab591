package SlidewinSentinel;

# A real master with its replicas, and real sentinels that watch them.

use strict;
use warnings;

use SlidewinNginx ();
use SlidewinRedis ();

# start(replicas => N, sentinels => N, password => of the Redis servers, conf =>
# TEXT for the sentinels, as => [USER, PASSWORD] that the suite asks them by, tls
# => [...] for all): returns when all of them know each other.
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

    $self->{guards} = [map {
        SlidewinRedis->start(args => ['--sentinel'],
                             conf => $conf . $self->{conf}, @common)
    } 1 .. $self->{sentinels}];

    $self->settled or die "the sentinels do not find each other:\n"
                          . join "\n", map { $_->log } $self->guards;

    return $self;
}

# the sentinels
sub guards { return @{$_[0]{guards}} }

sub nodes { return @{$_[0]{nodes}} }

# freeze N, thaw N: a sentinel that neither dies nor answers
sub freeze {
    my ($self, $n) = @_;

    $self->{guards}[$n]{frozen} = 1;
    return $self->{guards}[$n]->signal('STOP');
}

sub thaw {
    my ($self, $n) = @_;

    $self->{guards}[$n]{frozen} = 0;
    return $self->{guards}[$n]->signal('CONT');
}

# url(sentinels...): of all unless told, with a master's name
sub url {
    my ($self, @guards) = @_;

    @guards = $self->guards if !@guards;

    return ($self->{tls} ? 'rediss' : 'redis') . '-sentinel://'
           . join(',', map { '127.0.0.1:' . $_->port } @guards) . '/mymaster';
}

# to a node or a sentinel, on a connection of its own; undef if it is not there
sub ask {
    my ($self, $server, @command) = @_;
    my $sentinel = grep { $_ == $server } $self->guards;
    my @auth = $sentinel ? @{$self->{as}} : $self->{password} // ();

    return scalar eval {
        my $client = $server->client;
        $client->call('AUTH', @auth) if @auth;
        $client->call(@command);
    };
}

# the node that all the sentinels who answer name, if they agree
sub master {
    my ($self) = @_;
    my %ports;

    for my $guard ($self->guards) {
        next if !defined $guard->pid || $guard->{frozen};
        my $said = $self->ask($guard, 'SENTINEL', 'GET-MASTER-ADDR-BY-NAME',
                              'mymaster');
        $ports{ref $said eq 'ARRAY' ? $said->[1] : 0}++;
    }

    return if keys %ports != 1;

    return (grep { $_->port == (keys %ports)[0] } $self->nodes)[0];
}

# one master that says so itself, all other nodes that are there follow it, and
# the sentinels could replace it
sub settled {
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

        for my $guard ($self->guards) {
            next if !defined $guard->pid;
            my $said = $self->ask($guard, 'SENTINEL', 'CKQUORUM', 'mymaster');
            return 0 if ($said // '') !~ /^OK \Q$self->{sentinels}\E /;
            my $known = $self->ask($guard, 'SENTINEL', 'REPLICAS', 'mymaster');
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

# whether the replicas know all that the master knows: it waits for what is
# written by who asks
sub replicated {
    my ($self) = @_;
    my $client = $self->master->client;

    $client->call('AUTH', $self->{password}) if defined $self->{password};
    $client->call('SET', 'replicated', 1, 'PX', 1000);

    return $client->call('WAIT', $self->{replicas}, 20000)
           == $self->{replicas};
}

# by hand; a sentinel on a busy machine may give up, or find nobody to promote
sub fail_over {
    my ($self, $old) = @_;

    for (1 .. 10) {
        $self->ask(($self->guards)[0], 'SENTINEL', 'FAILOVER', 'mymaster');
        return 1 if $self->replaced($old, 6);
    }

    return 0;
}

# another node than this becomes the master
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

    $_->remove for $self->guards, $self->nodes;

    return;
}

1;
