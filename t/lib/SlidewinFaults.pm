package SlidewinFaults;

# An nginx whose Redis fails: a zone for each on_error, and the assertions about
# what their requests get. /local, /open and /closed admit two requests an hour
# of the client in ?k=, /well_MODE any number. connect_timeout is long unless
# the suite sets it, so that a busy machine is not taken for a failure.

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

# start(url => URL, redis => PARAMETERS, apart => 1, ...): with apart each
# on_error has a slidewin_redis, a connection and a breaker of its own.
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

# a client that has made no request yet
sub fresh { return 'c' . ++$fresh }

# a request, on one connection for as long as that lasts
sub get {
    my ($self, $uri) = @_;

    $self->{client} = $self->{nginx}->client if !$self->{client}{socket};

    return $self->{client}->get($uri);
}

# summary ANSWER: "200 PASSED redis", and "retry" if it has Retry-After
sub summary {
    my ($answer) = @_;
    my $header = $answer->{header};

    return join ' ', $answer->{status}, $header->{'x-status'} // '-',
        $header->{'x-source'} // '-',
        defined $header->{'retry-after'} ? 'retry' : ();
}

# how many ms the checks took
sub latencies { return map { $_->{header}{'x-latency'} } @_ }

# ask MODE, CLIENT, N: the summaries of N answers
sub ask {
    my ($self, $mode, $client, $n) = @_;

    return join ', ', map { summary($self->get("/$mode?k=$client")) }
                      1 .. $n // 3;
}

# Asserts that on_error decides for a client in each mode; decides() that Redis
# does.
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

# whether Redis answers a check within some seconds, on every connection
sub redis_answers {
    my ($self, $seconds) = @_;

    for my $mode (@{$self->{wells}}) {
        SlidewinNginx::until_true(sub {
            ($self->get("/well_$mode?k=well")->{header}{'x-source'} // '')
                eq 'redis';
        }, ($seconds // 10) * SlidewinNginx::patience()) or return 0;
    }

    return 1;
}

# Asserts that Redis answers again, and decides in every mode.
sub recovers {
    my ($self, $name) = @_;

    Test::More::ok($self->redis_answers, "$name: Redis is asked again");
    $self->decides("$name, later");

    return;
}

# Remembers the workers and their descriptors, for ends_clean().
sub remember_workers {
    my ($self) = @_;
    my @workers = $self->{nginx}->workers;

    $self->{workers} = "@workers";
    $self->{fds} = { map { $_ => SlidewinNginx::fds($_) } @workers };

    return;
}

# Asserts that the workers are the same, hold no more descriptors, and that the
# log has no alert; ends nginx.
sub ends_clean {
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

# log_lines PATTERN: how many lines of the log say this about Redis
sub log_lines {
    my ($self, $pattern) = @_;

    return scalar $self->{nginx}->errors(qr/slidewin redis "[^"]+" $pattern/);
}

1;
