package SlidewinFaults;

# An nginx whose Redis is not well: a policy for each on_error, and what a suite
# says of their answers. /local, /open and /closed take two requests an hour of
# the client in ?k=, /well takes any number. A connection may take its time to
# be made, unless the suite says how long.

use strict;
use warnings;

use SlidewinNginx ();
use Test::More ();

our @MODES = qw(local open closed);

# what three requests of one client get when Redis does not answer ...
our %FAILED = (
    local => '200 PASSED fallback, 200 PASSED fallback,'
             . ' 429 REJECTED fallback retry',
    open => join(', ', ('200 ERROR_PASSED fail_open') x 3),
    closed => join(', ', ('503 ERROR_REJECTED fail_closed') x 3),
);

# ... and when it does
our $DECIDED = '200 PASSED redis, 200 PASSED redis, 429 REJECTED redis retry';

my $fresh = 0;

# start(url => URL, redis => PARAMETERS, apart => 1, ...): apart gives each
# on_error a connection of its own, so that one's failures are not another's.
sub start {
    my ($class, %options) = @_;
    my $params = $options{redis} // 'timeout=2s';
    my ($stores, $zones, $locations) = ('') x 3;

    $params .= ' connect_timeout=10s' if $params !~ /connect_timeout=/;
    $stores = "slidewin_redis $options{url} $params;\n" if !$options{apart};

    for my $mode (@MODES) {
        my $store = $options{apart} ? " store=of_$mode" : '';

        $stores .= "slidewin_redis $options{url} name=of_$mode $params;\n"
            if $options{apart};
        $zones .= "slidewin_zone \$arg_k zone=$mode:1m rate=2r/h algorithm=log"
                  . "$store on_error=$mode deny_cache=off;\n"
                  . "slidewin_zone \$arg_k zone=well_$mode:1m"
                  . " rate=1000000r/h algorithm=fixed$store"
                  . " on_error=closed;\n";
        $locations .= "location = /$mode { slidewin zone=$mode; empty_gif; }\n"
                      . "location = /well_$mode { slidewin zone=well_$mode;"
                      . " empty_gif; }\n";
    }

    my $self = bless {
        wells => $options{apart} ? [@MODES] : ['local'],
        nginx => SlidewinNginx->start(
            workers => $options{workers} // 1,
            connections => $options{connections} // 1024,
            main => $options{main} // '',
            env => $options{env} // {},
            http => $stores . $zones . ($options{http} // ''),
            server => 'add_header X-Source $slidewin_source always;
                       add_header X-Latency $slidewin_latency always;
                       location = /status { stub_status; }
                       ' . $locations . ($options{server} // '')),
    }, $class;

    $self->{client} = $self->{nginx}->client;
    $self->{client}->get('/free');

    return $self;
}

sub nginx { return $_[0]{nginx} }

sub client { return $_[0]{client} }

# a client nobody has seen
sub fresh { return 'c' . ++$fresh }

# on one connection, for as long as it lasts
sub get {
    my ($self, $uri) = @_;

    $self->{client} = $self->{nginx}->client if !$self->{client}{socket};

    return $self->{client}->get($uri);
}

# "200 PASSED redis", and "retry" if the answer says when
sub told {
    my ($answer) = @_;
    my $header = $answer->{header};

    return join ' ', $answer->{status}, $header->{'x-status'} // '-',
        $header->{'x-source'} // '-',
        defined $header->{'retry-after'} ? 'retry' : ();
}

# ms the checks took
sub latencies { return map { $_->{header}{'x-latency'} } @_ }

# ask MODE, CLIENT, N: the answers, told
sub ask {
    my ($self, $mode, $client, $n) = @_;

    return join ', ', map { told($self->get("/$mode?k=$client")) } 1 .. $n // 3;
}

# What a client of each on_error gets: by on_error, or by Redis.
sub fails {
    my ($self, $name, $client) = @_;

    $client //= fresh();

    for my $mode (@MODES) {
        Test::More::is($self->ask($mode, $client), $FAILED{$mode},
                       "$name: on_error=$mode decides");
    }

    return;
}

sub decides {
    my ($self, $name, $client) = @_;

    $client //= fresh();

    for my $mode (@MODES) {
        Test::More::is($self->ask($mode, $client), $DECIDED,
                       "$name: Redis decides for on_error=$mode");
    }

    return;
}

# until Redis is asked and answers, on all connections there are
sub well {
    my ($self, $seconds) = @_;

    for my $mode (@{$self->{wells}}) {
        SlidewinNginx::until_true(sub {
            ($self->get("/well_$mode?k=well")->{header}{'x-source'} // '')
                eq 'redis';
        }, ($seconds // 10) * SlidewinNginx::patience()) or return 0;
    }

    return 1;
}

# It is well again, and that shows in every mode.
sub recovers {
    my ($self, $name) = @_;

    Test::More::ok($self->well, "$name: Redis is asked again");
    $self->decides("$name, later");

    return;
}

# Takes down what must not change; while all is well.
sub note {
    my ($self) = @_;
    my @workers = $self->{nginx}->workers;

    $self->{workers} = "@workers";
    $self->{fds} = { map { $_ => SlidewinNginx::fds($_) } @workers };

    return;
}

# Same workers, no descriptor more, a log without alerts; ends it.
sub clean {
    my ($self, $name) = @_;
    my $nginx = $self->{nginx};
    my @workers = $nginx->workers;

    $name = $name ? "$name: " : '';

    Test::More::is("@workers", $self->{workers}, "${name}the workers live on");

    for my $pid (@workers) {
        Test::More::ok(SlidewinNginx::until_true(sub {
            SlidewinNginx::fds($pid) <= $self->{fds}{$pid};
        }, 5 * SlidewinNginx::patience()), "${name}no descriptor is left over");
    }

    $self->{client}->close;
    $nginx->stop($name ? (name => $name =~ s/: $//r) : ());

    return;
}

# lines of the log about Redis, from the worker or from all
sub lines {
    my ($self, $pattern) = @_;

    return scalar $self->{nginx}->errors(qr/slidewin redis "[^"]+" $pattern/);
}

1;
