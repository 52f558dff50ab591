# The clock of Redis is set by two minutes while two edges count in it, of which
# one has been idle since before. Whatever time an edge believes, no client gets
# more than its limit in a window of Redis' own clock.

use strict;
use warnings;

use SlidewinNginx;
use SlidewinPreload;
use SlidewinRedis;
use Test::More;

my $limit = 5;
my @algorithms = qw(counter fixed strict log);
my %window = (minute => 60_000, long => 600_000, second => 1000);

my $clock = SlidewinPreload->clock;
my $redis = SlidewinRedis->start(env => $clock->env);

my @zones = map { my $a = $_; map { [$a, $_] } sort keys %window } @algorithms;

my ($busy, $idle) = map {
    SlidewinNginx->start(
        http => 'slidewin_redis ' . $redis->url . " timeout=20s"
                . " connect_timeout=20s;\n"
                . join('', map { <<"END" } @zones),
    slidewin_zone \$arg_k zone=$_->[0]_$_->[1]:1m algorithm=$_->[0]
                  rate=${limit}r/$window{$_->[1]}ms deny_cache=off
                  on_error=closed;
END
        server => join '', map { <<"END" } @zones);
    location = /$_->[0]_$_->[1] { slidewin zone=$_->[0]_$_->[1]; empty_gif; }
END
} 1, 2;

my %client = map { $_ => $_->client(timeout => 60) } $busy, $idle;

sub time_there {
    my ($s, $us) = @{$redis->command('TIME')};

    return $s * 1000 + int $us / 1000;
}

# When a request of a key was admitted, by Redis' clock: not before the first
# time and not after the second.
my %admitted;

sub ask {
    my ($edge, $uri, $n) = @_;

    for (1 .. $n) {
        my $before = time_there();
        my $status = $client{$edge}->get($uri)->{status};

        die "answer $status\n" if $status != 200 && $status != 429;
        push @{$admitted{$uri}}, [$before, time_there()] if $status == 200;
    }

    return;
}

# One request for each key, all in one turn of the worker, so that it believes
# the same time for all of them.
sub ask_at_once {
    my ($edge, @uris) = @_;
    my $before = time_there();
    my @answers = $edge->burst([map { $edge->client(timeout => 60) } @uris],
                               [map { [$_] } @uris]);
    my $after = time_there();

    for my $i (0 .. $#uris) {
        my $status = $answers[$i]{status};

        die "answer $status\n" if $status != 200 && $status != 429;
        push @{$admitted{$uris[$i]}}, [$before, $after] if $status == 200;
    }

    return;
}

# An edge reads the clock again and again.
sub warm {
    my ($seconds, @edges) = @_;
    my $end = SlidewinNginx::now() + $seconds;

    while (SlidewinNginx::now() < $end) {
        for my $edge (@edges) {
            my $status = $client{$edge}->get('/counter_long?k=' . rand)
                                       ->{status};
            die "answer $status\n" if $status != 200;
        }
        SlidewinNginx::nap(0.02);
    }

    return;
}

# The most requests that were certainly admitted in one window of the algorithm:
# a rolling one, or an aligned one that has not ended.
sub most {
    my ($algorithm, $window, @times) = @_;
    my $most = 0;

    for my $first (@times) {
        my $start = $first->[0];

        $start -= $start % $window if $algorithm =~ /^(?:counter|fixed)$/;

        my $n = grep { $_->[0] >= $start && $_->[1] < $start + $window } @times;

        $most = $n if $n > $most;
    }

    return $most;
}


# An idle edge. A client that was counted before, and a new one.

for my $jump (120, -120) {
    my @uris = map { my ($a, $w) = @$_;
                     map { ["/${a}_$w?k=$_$jump", $a, $w] } qw(old new) }
               grep { $_->[1] ne 'second' } @zones;

    %admitted = ();
    warm(3, $busy, $idle);
    ask($busy, $_->[0], $limit) for grep { $_->[0] =~ /old/ } @uris;

    my $before = time_there();

    $clock->set($jump > 0 ? $jump : 0);
    cmp_ok(abs(time_there() - $before), '>', 100_000,
           "$jump: the clock is set");

    warm(2.1, $busy);
    ask($busy, $_->[0], $limit + 1) for @uris;
    ask_at_once($idle, map { $_->[0] } @uris);
    ask($busy, $_->[0], $limit + 1) for @uris;
    ask($idle, $_->[0], $limit + 1) for @uris;

    for (@uris) {
        my ($uri, $algorithm, $name) = @$_;
        my @times = @{$admitted{$uri}};

        cmp_ok(most($algorithm, $window{$name}, @times), '<=', $limit,
               "$jump: $uri: no more than the limit is admitted in a window");
        cmp_ok(scalar @times, '>=', $limit, '... and it was used up');
    }
}


# Both edges are busy, with a window that is much shorter than the step.

for my $algorithm (qw(strict log)) {
    for my $jump (120, -120) {
        my $uri = "/${algorithm}_second?k=$jump";
        my $start = SlidewinNginx::now();
        my $set = 0;

        %admitted = ();

        while (SlidewinNginx::now() < $start + 4) {
            if (!$set && SlidewinNginx::now() > $start + 1.3) {
                $clock->set($jump > 0 ? $jump : 0);
                $set = 1;
            }
            ask($_, $uri, 1) for $busy, $idle;
        }

        my @times = @{$admitted{$uri}};

        cmp_ok(most($algorithm, $window{second}, @times), '<=', $limit,
               "$jump: $algorithm: of two that are busy no more than the limit"
               . ' is admitted in a window');
        cmp_ok(scalar @times, '>=', 2 * $limit,
               '... and windows went by: ' . @times);
    }
}

$_->stop for $busy, $idle;

done_testing();
