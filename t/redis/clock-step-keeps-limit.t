# The clock of Redis is set while clients are counted: no client is locked out
# for longer than a window or gets more than the limit again, and every key
# expires.

use strict;
use warnings;

use Test::More;

use SlidewinNginx;
use SlidewinOracle;
use SlidewinPreload;
use SlidewinRedis;

my %letter = (counter => 'c', fixed => 'f', strict => 's', log => 'l');
my @algorithms = sort keys %letter;
my $hour = 3_600_000;


# By the script, to the ms: a client has used up its limit, and the clock jumps.

my $redis = SlidewinRedis->start;
my $oracle = SlidewinOracle->new;
my $sha = $redis->command('SCRIPT', 'LOAD', SlidewinRedis::script_at('take'));
my $limit = 10;

sub take {
    my ($algorithm, $window, $now, $cost) = @_;
    my %policy = (algorithm => $algorithm, limit => $limit,
                  window => $window,
                  slices => $algorithm eq 'strict' ? 16 : 0);
    my $reply = $redis->call('EVALSHA', $sha, 1, 'k', SlidewinRedis::packed(
        1, $now, 1, $letter{$algorithm}, $limit, $window, $policy{slices},
        $cost, 0, 0));

    return {} if ref $reply;

    my ($number, $then, @numbers) = SlidewinRedis::numbers($reply);
    my ($answer) = $oracle->ask('P ' . SlidewinOracle::rule(\%policy)
                                . " $then 1 $cost 0 1 @numbers");
    my ($counted, $verdict) = SlidewinOracle::proven($answer) or return {};

    return $verdict;
}

for my $algorithm (@algorithms) {
    for my $window (10_000, 600_000, $hour, 24 * $hour) {

        # how long such a client waits for the next unit without a jump
        my $wait = $algorithm eq 'counter' ? $window + $window / $limit
                 : $algorithm eq 'strict' ? $window + $window / 16
                                          : $window;
        my @bad;

        for my $jump (-365 * 24 * $hour, -$hour, -1000, -1, 1, 1000, $hour,
                      365 * 24 * $hour, -$window - 1, -$window, 1 - $window,
                      int(-$window / 2), -2 * $window)
        {
            for my $into (0, 1, int($window / 2), $window - 1) {
                my $start = 1_700_000_000_000;
                $start += $into - $start % $window;
                my $now = $start + $jump;

                $redis->command('DEL', 'k');
                take($algorithm, $window, $start, 1) for 1 .. $limit;

                my $full = take($algorithm, $window, $start, 1);
                my $then = take($algorithm, $window, $now, 1);
                my $name = "$window, $jump at $into";

                push @bad, "$name: was not full" if $full->{admitted} // 1;
                push @bad, "$name: no answer" if !defined $then->{admitted};
                next if @bad;

                my $ttl = $redis->command('PTTL', 'k');
                push @bad, "$name: TTL $ttl"
                    if $ttl < 1 || $ttl > 2 * $window;

                # a small step back prolongs the wait, by a window at most
                my $most = $wait;
                $most += $jump < -$window ? $window : -$jump
                    if $jump < 0 && $jump > -2 * $window;
                push @bad, "$name: locked out for $then->{retry}"
                    if $then->{retry} > $most;

                # otherwise units that a jump back forgets could be taken again
                push @bad, "$name: admitted after a jump back"
                    if $jump < 0 && $then->{admitted};

                # Retry-After is exact: admitted then, and not before
                if (!$then->{admitted}) {
                    my $early = take($algorithm, $window,
                                     $now + $then->{retry} - 1, 1);
                    my $late = take($algorithm, $window,
                                    $now + $then->{retry}, 1);
                    push @bad, "$name: not after its retry time"
                        if $early->{admitted} || !$late->{admitted};
                }
            }
        }

        is(join("\n", @bad), '', "$algorithm, $window ms: jumps");
    }
}

$redis->remove;


# nginx with a Redis whose clock is set; nginx follows within a second.

my $clock = SlidewinPreload->clock;
my $set = SlidewinRedis->start(env => $clock->env);

my $nginx = SlidewinNginx->start(
    workers => 2,
    http => 'slidewin_redis ' . $set->url . " timeout=10s"
            . " connect_timeout=10s;\nslidewin_log_level info;\n"
            . join('', map { <<"END" } @algorithms),
    slidewin_zone \$arg_k zone=$_:1m rate=5r/10m algorithm=$_
                  on_error=closed;
    slidewin_zone \$arg_k zone=long_$_:1m rate=5r/40d algorithm=$_
                  on_error=closed;
END
    server => join '', map { <<"END" } @algorithms);
    location = /$_ { slidewin zone=$_; empty_gif; }
    location = /long_$_ { slidewin zone=long_$_; empty_gif; }
END

sub time_there { return $set->command('TIME')->[0] }

# Until all workers have the new time.
sub known {
    SlidewinNginx::nap(1.1);
    for (1, 2) {
        $_->get('/long_log?k=clock' . rand) for $nginx->clients(2);
        SlidewinNginx::nap(0.05);
    }
    return;
}

sub ends {
    my ($name) = @_;
    my @keys = @{$set->command('KEYS', '*')};
    my @endless = grep { $set->command('PTTL', $_) == -1 } @keys;

    cmp_ok(scalar @keys, '>', 0, "$name: there are keys");
    is("@endless", '', "$name: each has an end");

    return;
}

sub use_up {
    my ($k, $name) = @_;

    for my $algorithm (@algorithms) {
        my $client = $nginx->client;
        my @statuses = map { $client->get("/$algorithm?k=$k")->{status} }
                       1 .. 6;

        # the end of an aligned window, if there was one just now
        push @statuses, map { $client->get("/$algorithm?k=$k")->{status} }
                        1 .. 6 if $statuses[5] != 429;
        is($statuses[-1], 429, "$name: $algorithm is used up");
    }

    return;
}

jump($_) for 3600, 0, -3600, 0;

sub jump {
    my ($jump) = @_;
    my $client = $nginx->client;
    my $k = 'k' . rand;
    my $before = time_there();

    use_up($k, "before $jump");
    $client->get("/long_$_?k=$k") for @algorithms;

    $clock->set($jump);
    my $moved = time_there() - $before;
    cmp_ok(abs $moved, '>', 3000, "the clock jumped by $moved s");
    known();

    for my $algorithm (@algorithms) {
        my $answer = $nginx->client->get("/$algorithm?k=$k");
        my $name = "$jump: $algorithm";

        if ($moved > 0) {
            is($answer->{status}, 200, "$name: an hour later it is free");
            next;
        }

        is($answer->{status}, 429, "$name: an hour earlier it is full");

        my $retry = $answer->{header}{'retry-after'};
        # a second more: an edge knows the time of Redis to some ms
        cmp_ok($retry, '<=', 1 + ({ counter => 600 + 120, strict => 600 + 38 }
                                  ->{$algorithm} // 600),
               "$name: and not for longer than a window");

        # the other clients keep their counts
        is($nginx->client->get("/$algorithm?k=other$k")->{status}, 200,
           "$name: others pass");
        is($nginx->client->get("/long_$algorithm?k=$k")->{header}
           {'x-remaining'}, 3, "$name: a long window goes on");
    }

    ends($jump);

    return;
}

$nginx->stop;

done_testing();
