# Which time an edge sends to the scripts: its reading of Redis' clock, if that
# is fresh and as exact as a round trip of TIME; otherwise none, and the script
# asks the server. MONITOR shows when a check ran and which time it carried:
# that is never ahead by more than the error of the reading.

use strict;
use warnings;

use SlidewinCerts;
use SlidewinNginx;
use SlidewinProxy;
use SlidewinRedis;
use Test::More;

# the error that a reading may have, and a ms for rounding
my $error = 5 + 1;

my $certs = SlidewinCerts->new;
my $ca = $certs->authority('ca');

$certs->certificate('redis', by => 'ca', for => 'IP:127.0.0.1');

sub start {
    my ($url, $redis) = @_;

    return SlidewinNginx->start(http => <<"END", server => <<"END");
    slidewin_redis $url timeout=20s connect_timeout=20s $redis;
    slidewin_zone \$arg_k zone=z:1m rate=100000r/h on_error=closed;
END
    location = /t { slidewin zone=z; empty_gif; }
END
}

# asked(REDIS, CODE): for each check during CODE, how many ms its time was ahead
# of that of Redis, or none.
sub asked {
    my ($redis, $code) = @_;
    my $monitor = $redis->client;
    my $mark = 'end' . rand;

    $monitor->call('MONITOR');
    $code->();
    $redis->command('ECHO', $mark);

    my @ahead;

    while ((my $line = $monitor->reply) !~ /"\Q$mark\E"$/) {
        my ($at, $argument) = $line
            =~ /^([\d.]+) \[\d+ [\d.:]+\] "EVAL(?:SHA)?" .* "((?:[^"\\]|\\.)*)"$/
            or next;
        my %named = (n => "\n", r => "\r", t => "\t", a => "\a", b => "\b");

        $argument =~ s/\\(?:x([0-9a-f]{2})|(.))/
                       defined $1 ? chr hex $1 : $named{$2} \/\/ $2/gex;

        my (undef, $time) = SlidewinRedis::numbers(substr $argument, 0, 14);
        push @ahead, $time ? $time - int 1000 * $at : 'none';
    }

    return @ahead;
}

sub known { return grep { $_ ne 'none' } @_ }

# on a busy machine it may take a while to get an exact reading
sub gets_known {
    my ($redis, $nginx, $name) = @_;

    return ok(SlidewinNginx::until_true(sub {
        return scalar known(asked($redis, sub { checks($nginx, 0.2) }));
    }, 30), "$name: then the time is known");
}

sub too_far { return join ' ', grep { $_ > $error } known(@_) }

my $nth = 0;

# some checks, for a while
sub checks {
    my ($nginx, $seconds) = @_;
    my $client = $nginx->client(timeout => 30);
    my $end = SlidewinNginx::now() + $seconds;

    do {
        my $status = $client->get('/t?k=' . $nth++)->{status};
        die "answer $status\n" if $status != 200;
        SlidewinNginx::nap(0.01);
    } while SlidewinNginx::now() < $end;

    return;
}


# One flight of a TLS handshake is held up: it does not count into the reading.

{
    my $redis = SlidewinRedis->start(tls => $certs->server('redis'));
    my $proxy = SlidewinProxy->start($redis->port, down => { most => 100 });
    my $nginx = start('rediss://127.0.0.1:' . $proxy->port, "ssl_ca=$ca");

    my @ahead = asked($redis, sub {
        my $client = $nginx->client(timeout => 30);
        $client->write("GET /t?k=first HTTP/1.1\r\nHost: h\r\n\r\n");
        SlidewinNginx::nap(0.25);
        $proxy->down;
        is($client->answer->{status}, 200, 'TLS: the first is decided');
        checks($nginx, 0.5);
    });

    is(too_far(@ahead), '', 'TLS: a slow handshake does not move the clock');
    gets_known($redis, $nginx, 'TLS');
    $nginx->stop;
    $redis->remove;
}


# Redis is stopped while an edge connects: a reading that took so long is not
# used.

my $redis = SlidewinRedis->start(args => ['--enable-debug-command', 'yes']);
my $nginx = start($redis->url, '');

checks($nginx, 0.1);

my @ahead = asked($redis, sub {
    my @edges = $redis->command('CLIENT', 'LIST') =~ /^id=(\d+) addr=127/mg;
    is(scalar @edges, 1, 'an edge is connected');
    $redis->client->call_all(['CLIENT', 'KILL', 'ID', @edges],
                             ['DEBUG', 'SLEEP', 0.3]);
    checks($nginx, 0.5);
});

is(too_far(@ahead), '', 'a Redis that stood still does not move the clock');
gets_known($redis, $nginx, 'connected again');

# the same for a reading on a connection that exists already

@ahead = asked($redis, sub {
    for (1 .. 3) {
        my $client = $redis->client;

        SlidewinNginx::nap(0.5);
        $client->send('DEBUG', 'SLEEP', 0.2);
        checks($nginx, 0.3);
        $client->reply;
    }
});

is(too_far(@ahead), '', 'nor one that stands still now and then');


# A reading is not used for ever.

checks($nginx, 0.3);
SlidewinNginx::nap(2.2);

@ahead = asked($redis, sub { checks($nginx, 0) });
is("@ahead", 'none', 'after two seconds the time is not known any more');

$nginx->stop;

done_testing();
