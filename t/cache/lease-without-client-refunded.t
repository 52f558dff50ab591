# Units were prefetched for a client that has left, or for which there is no
# memory: they go to the next request in the batch, or back to Redis.

use strict;
use warnings;

use File::Temp ();
use SlidewinFake;
use SlidewinNginx;
use SlidewinPreload;
use SlidewinRedis;
use Test::More;

my $limit = 100;
my $patience = SlidewinNginx::patience();
my $redis = SlidewinRedis->start;
my $memory = SlidewinPreload->memory;
my $dir = File::Temp::tempdir('slidewin.XXXXXX', TMPDIR => 1, CLEANUP => 1);
my $fresh = 0;

# how long each reply takes, in seconds
sub slow {
    my ($seconds) = @_;

    open my $file, '>', "$dir/new" or die "slow: $!";
    print $file $seconds;
    close $file;
    rename "$dir/new", "$dir/slow" or die "slow: $!";

    return;
}

slow(0);

my $way = SlidewinFake->start(relay => $redis->path, delay => sub {
    return SlidewinNginx::slurp("$dir/slow");
});

sub edge {
    my ($url, %options) = @_;
    my $timeout = $options{timeout} // '20s';

    return SlidewinNginx->start(
        env => $options{env} // {},
        http => "slidewin_redis $url timeout=$timeout connect_timeout=20s;
                 slidewin_zone \$arg_k zone=one:1m rate=${limit}r/40d
                               algorithm=log on_error=closed deny_cache=off
                               lease=50%;",
        server => 'add_header X-Source $slidewin_source always;
                   location = /status { stub_status; }
                   location = /t { slidewin zone=one; empty_gif; }
                   location = /peek { slidewin zone=one cost=0; empty_gif; }');
}

sub told {
    my ($answer) = @_;

    return "$answer->{status} " . ($answer->{header}{'x-source'} // '-');
}

my $nginx = edge($way->url, env => $memory->env);
my $client = $nginx->client;

# asks Redis itself, and takes no leases
my $peeks = edge($redis->url);

sub used {
    my ($edge, $k) = @_;
    my $answer = $edge->get("/peek?k=$k");

    return told($answer) eq '200 redis'
        ? $limit - $answer->{header}{'x-remaining'} : -1;
}

sub becomes {
    my ($what, $want, $name) = @_;
    my $is;

    SlidewinNginx::until_true(sub { ($is = $what->()) == $want },
                              20 * $patience);

    return is($is, $want, $name);
}

# Requests in progress, without the one that asks.
sub busy {
    my ($edge, $n, $name) = @_;

    return becomes(sub {
        $edge->get('/status')->{body} =~ /Writing: (\d+)/ ? $1 - 1 : -1;
    }, $n, $name);
}

ok(SlidewinNginx::until_true(sub {
    told($_->get('/t?k=' . ++$fresh)) eq '200 redis';
}, 20 * $patience), 'Redis is asked') for $nginx, $peeks;

# A second request soon after the first prefetches a unit. On a busy machine it
# may come too late: then with another client. Returns its connection, which
# waits, and the client.
sub takes_ahead {
    my (%options) = @_;

    for (1 .. 20) {
        my $k = 'k' . ++$fresh;
        my $before = $options{before};

        slow(0);
        $client->get("/t?k=$k");
        slow($options{slow} // 1);

        my @others = $before ? $before->() : ();
        my $second = $nginx->asks("/t?k=$k");
        my $used;

        SlidewinNginx::until_true(sub { ($used = used($peeks, $k)) > 1 },
                                  20 * $patience);
        return ($second, $k, @others) if $used == 3;
        $_->answer for $second, @others;
    }

    die "no unit was taken ahead\n";
}


# It leaves before it is answered.
{
    my ($second, $k) = takes_ahead();

    $second->close;
    becomes(sub { used($peeks, $k) }, 2,
            'one that takes a unit ahead and leaves: the unit comes back');
    SlidewinNginx::nap(1.5);
    is(used($peeks, $k), 2, '... once');
}


# There is no memory for the lease: eviction does not free enough, and the lease
# is dropped.
{
    my ($second, $k, $other) = takes_ahead(slow => 3, before => sub {
        my $asked = $redis->calls('evalsha');
        my $other = $nginx->asks('/t?k=other' . $fresh);

        SlidewinNginx::until_true(sub { $redis->calls('evalsha') > $asked },
                                  20 * $patience);
        return $other;
    });

    $memory->fail(3, 1, 1);
    is(told($_->answer), '200 redis', 'no memory: decided all the same')
        for $other, $second;
    cmp_ok($memory->failed, '>', 1, '... and there was none');
    becomes(sub { used($peeks, $k) }, 2, '... what is ahead comes back');
    $memory->fail(0);
    ok($nginx->logged(qr/slidewin zone "one" is full/), '... the log tells');
    slow(0);
    is(told($client->get("/t?k=$k")), '200 redis', '... and there is no lease');
}

$client->close;
$_->stop for $nginx, $peeks;
$way->stop;


# The first request of a batch times out. What was prefetched for it goes to the
# next one, which times out, too, and refunds it.
{
    my $fake = SlidewinFake->start(modes => {
        # does not even complete the handshake
        hold => { check => sub { $_[0]->hold($_[1]) },
                  command => sub { $_[0]->hold($_[1]); return 1 } },
    });
    my $returned = 0;

    $nginx = edge($fake->url, timeout => '4s');
    $client = $nginx->client;

    for my $attempt (1 .. 5) {
        my $k = "group$attempt";

        ok(SlidewinNginx::until_true(sub {
            told($client->get('/t?k=' . ++$fresh)) eq '200 redis';
        }, 20 * $patience), 'the fake is asked');

        my $accepts = $fake->accepts;

        is(told($client->get("/t?k=$k")), '200 redis', 'one is decided');
        $fake->mode('hold');
        $fake->cut;
        SlidewinNginx::until_true(sub { $fake->accepts > $accepts },
                                  20 * $patience);
        my $first = $nginx->asks("/t?k=$k");
        busy($nginx, 1, '... another one waits for a connection');
        SlidewinNginx::nap(2.5);
        my $second = $nginx->asks("/t?k=$k");
        busy($nginx, 2, '... and a third one behind it');
        my $checks = $fake->checks($k);

        $fake->release;
        becomes(sub { $fake->checks($k) }, $checks + 1, '... they go together');
        is(told($first->answer), '503 fail_closed', '... the first is late');
        $fake->mode('well');
        $fake->release;
        is(told($second->answer), '200 redis', '... the other one is not');

        becomes(sub { used($nginx, $k) }, 3,
                '... and what was asked for is counted') or last;
        $_->close for $first, $second;
        $returned = $fake->stats->{refunds} // 0 and last;
    }

    is($returned, 1, 'what was taken ahead came back');
    $client->close;
    $nginx->stop;
}

done_testing();
