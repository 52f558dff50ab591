# The scripts decide as sw_window does, not only in single steps: random traces
# of takes, looks, charges and refunds, with rules that change and, in half of the
# traces, a clock that steps. In the other half keys expire as they would on
# that clock, so that a time to live that is too short shows.
#
# SLIDEWIN_SEED repeats a run, SLIDEWIN_TRACES is the number of traces.

use strict;
use warnings;

use Test::More;

use SlidewinOracle;
use SlidewinRedis;

my %letter = (counter => 'c', fixed => 'f', strict => 's', log => 'l');
my @algorithms = sort keys %letter;

my $traces = $ENV{SLIDEWIN_TRACES} || 3000;
my $seed = $ENV{SLIDEWIN_SEED} // 20240607;

diag("SLIDEWIN_SEED=$seed");

# Prepended to the scripts: the times of a trace are not those of the server, so
# this keeps track of the expiry of keys.
my $shim = <<'END';
local redis = (function(real)
    local now, window = struct.unpack('<I7', ARGV[1], 8), tonumber(ARGV[2])
    local steps = ARGV[3] == 'steps'
    local ends = real.call('GET', 'ends')
    if ends and not steps and now >= tonumber(ends) then
        real.call('DEL', 'k', 'ends')
    end
    return { error_reply = real.error_reply, call = function(...)
        local verb, key, value, option, ttl = ...
        if verb == 'SET' and option == 'PX' then
            ttl = tonumber(ttl)
            if ttl < 1 or ttl > 2 * window then
                real.call('RPUSH', 'bad', 'TTL ' .. ttl)
            end
            real.call('SET', 'ends', string.format('%.0f', now + ttl))
            return real.call('SET', key, value)
        elseif verb == 'PEXPIRE' then
            real.call('SET', 'ends', string.format('%.0f', now + value))
            return 1
        elseif verb == 'SET' and option ~= 'KEEPTTL' then
            real.call('RPUSH', 'bad', 'SET without TTL')
        elseif verb == 'APPEND'
            and real.call('EXISTS', key, 'ends') ~= 2
        then
            real.call('RPUSH', 'bad', 'APPEND without TTL')
        end
        return real.call(...)
    end }
end)(redis)
END

my $oracle = SlidewinOracle->new;

sub pick { return $_[rand @_] }

sub between { my ($low, $high) = @_; return $low + int rand $high - $low + 1 }

my @small = (1, 2, 3, 4, 5, 7, 10, 12, 13, 16, 17, 24, 30, 41, 60, 64, 100);

sub policy {
    my $algorithm = pick(@algorithms);
    my $window = rand 10 < 8 ? pick(@small)
                             : pick(1000, 60000, 86400000, 4294967295,
                                    between(1, 4294967295));
    my $most = int 9007199254740991 / $window;
    $most = 100_000 if $most > 100_000 && $algorithm eq 'log';

    my $limit = rand 10 < 9 ? between(1, 12)
                            : pick($most, between(1, $most), 60);
    my $slices = 0;

    if ($algorithm eq 'strict') {
        $slices = $window < 100 ? $window : 100;
        $slices = pick(1, $slices, between(1, $slices), 16 < $slices ? 16 : 1);
    }

    return { algorithm => $algorithm, limit => $limit, window => $window,
             slices => $slices };
}

sub step {
    my ($p) = @_;
    my $w = $p->{window};

    return pick(0, 0, 0, 1, 1, $w - 1, $w, between(0, 3 * $w + 3),
                between(0, int($w / 4) + 1), between(0, int($w / 4) + 1),
                between(0, $w), between(0, $w));
}

sub cost {
    my ($p) = @_;
    my $l = $p->{limit};

    return pick(0, $l, between(1, $l), between(1, int($l / 2) + 1), 1, 1, 1,
                1, 1, rand 10 < 1 ? $l + 1 : 1);
}

# a true cost, small or huge
sub charge {
    my ($p) = @_;

    return pick(1, between(1, 3), 1 + cost($p), 1 + cost($p),
                between(1, 3 * $p->{limit}),
                rand 4 < 1 ? pick(4294967295, 9007199254740992,
                                  between(1, most($p))) : 1);
}

sub most {
    my ($p) = @_;

    return $p->{algorithm} eq 'log' ? 4294967295
                                    : int 9007199254740991 / $p->{window};
}

# A list of { verb, policy, now, cost, stamp }.
sub trace {
    my ($steps) = @_;
    my $p = policy();
    my @policies = $p;
    my $now = pick(1, between(1, 500), 1700000000000 + between(0, 1000),
                   between(1, 400) * 4294967296 - between(0, 200));
    my ($longest, @trace) = (0);

    for (1 .. 30) {
        $now += step($p);

        if ($steps && rand 10 < 2) {
            $now -= pick(step($p), 2 * step($p), 3 * step($p));
            $now = 1 if $now < 1;
        }

        # another rule, or an earlier one, or one with another window
        if (rand 20 < 1) {
            $p = policy();
            push @policies, $p;
        } elsif (rand 20 < 1) {
            $p = { %$p, window => between(1, 3 * $p->{window}) };
            $p->{window} = 4294967295 if $p->{window} > 4294967295;
            $p->{window} = $p->{slices} if $p->{window} < $p->{slices};
            my $most = int 9007199254740991 / $p->{window};
            $p->{limit} = $most if $p->{limit} > $most;
            push @policies, $p;
        } elsif (rand 8 < 1) {
            $p = pick(@policies);
        } elsif (rand 20 < 1) {
            $p = { %$p, limit => between(1, $p->{limit}) };
        }

        # The stamp of a refund is known when its take was answered. Where units
        # went if the clock stepped in between is not compared.
        $longest = $p->{window} if $p->{window} > $longest;
        my $verb = !$steps && rand 8 < 1 ? 'give'
                   : rand 12 < 1 ? 'charge' : 'take';

        push @trace, { verb => $verb, policy => $p, longest => $longest,
                       now => $now, cost => $verb eq 'charge' ? charge($p)
                                                              : cost($p) };
    }

    return @trace;
}

# What C decides; also fills in which take a refund belongs to.
sub expect {
    my ($trace, $steps) = @_;
    my @counted;
    my %windows = map { $_->{policy}{window} => 1 }
                  grep { $_->{policy}{algorithm} eq 'log' } @$trace;

    $oracle->ask('N');

    for my $op (@$trace) {
        if ($op->{verb} eq 'give') {
            my $take = @counted ? $counted[-1 - int rand(@counted) ** rand]
                                : $op;
            my $own = $take->{policy};
            my $logs = grep { $_->{algorithm} eq 'log' } $own, $op->{policy};
            my $stamp = $take == $op ? $op->{now} : $take->{after}{stamp};

            # C may have dropped what a clock that steps back, or a longer
            # window, brings back into the window when the newest entry is
            # refunded
            if ($logs && ($steps || keys %windows > 1 && @counted
                                    && $counted[-1]{after}{stamp} == $stamp))
            {
                $op->{verb} = 'take';

            } else {
                $op->{stamp} = $stamp;
                $op->{policy} = $own if rand 4 >= 1;
                $op->{cost} = $take->{cost} if rand 4 >= 1;
            }
        }

        my $line = SlidewinOracle::rule($op->{policy})
                   . " $op->{now} $op->{cost}";

        if ($op->{verb} eq 'give') {
            $oracle->ask("G $line $op->{stamp}");
            next;
        }

        my $take = $op->{verb} eq 'take' ? 'T' : 'C';
        my ($answer) = $oracle->ask("$take $line " . ($steps ? 0 : 1));
        @$op{qw(counted before after)} = SlidewinOracle::taken($answer);
        push @counted, $op if $op->{counted};
    }

    return;
}

sub command {
    my ($redis, $op, $number, $steps) = @_;
    my $p = $op->{policy};
    my @takes = SlidewinRedis::takes($letter{$p->{algorithm}});
    my $take = $op->{verb} ne 'give';
    my $script = $take ? $takes[$number % @takes] : 'give_back';

    # the highest limit, a unit and as many others as fit, by the script that the
    # module uses
    my $charge = $op->{verb} eq 'charge';
    my ($limit, $cost, $prefetch)
        = $charge ? (most($p), 1, $op->{cost} - 1)
                  : ($p->{limit}, $op->{cost}, 0);
    $script = $takes[-1] if $charge;

    return ['EVALSHA', $redis->{sha}{$script}, 1, 'k', SlidewinRedis::packed(
            $number, $op->{now}, $take ? 1 : (), $letter{$p->{algorithm}},
            $limit, $p->{window}, $p->{slices}, $cost,
            $take ? ($charge ? 2 : 0, $prefetch) : $op->{stamp}),
            $op->{longest}, $steps ? 'steps' : ''];
}

sub show {
    my ($op) = @_;

    return join ' ', $op->{verb},
                (map { "$_=$op->{policy}{$_}" } qw(algorithm limit window
                                                   slices)),
                map { defined $op->{$_} ? "$_=$op->{$_}" : () }
                    qw(now cost stamp);
}

sub show_verdict {
    my ($counted, $v) = @_;

    return "counted=$counted "
           . join ' ', map { "$_=$v->{$_}" } sort keys %$v;
}

# Nothing, or what is wrong.
sub disagree {
    my ($redis, $trace, $steps) = @_;
    my $number = 0;

    my @replies = $redis->{client}->call_all(
        ['FLUSHALL'],
        (map { command($redis, $_, ++$number, $steps) } @$trace),
        ['LRANGE', 'bad', 0, -1]);
    shift @replies;
    my $bad = pop @replies;

    return "@$bad" if @$bad;

    my @asked;

    for my $i (0 .. $#$trace) {
        my ($op, $reply) = ($trace->[$i], $replies[$i]);

        return "step $i: $reply" if ref $reply;

        my ($n, $now, @numbers) = SlidewinRedis::numbers($reply);

        return "step $i: another number" if $n != $i + 1;
        next if $op->{verb} ne 'take';

        push @asked, [$i, 'P ' . SlidewinOracle::rule($op->{policy})
                          . " $now 1 $op->{cost} 0 1 @numbers"];
    }

    my @answers = $oracle->ask(map { $_->[1] } @asked);

    for my $asked (@asked) {
        my ($i, $op) = ($asked->[0], $trace->[$asked->[0]]);
        my ($counted, $got) = SlidewinOracle::proven(shift @answers)
            or return "step $i: not taken for true: $asked->[1]";
        my $want = $op->{counted} ? $op->{after} : $op->{before};

        my ($was, $must) = (show_verdict($counted, $got),
                            show_verdict($op->{counted}, $want));
        return "step $i: $was, must be $must" if $was ne $must;
    }

    return;
}

my @engines = SlidewinRedis::engines();

for my $binary (@engines) {
    my $redis = SlidewinRedis->start(binary => $binary);
    my $engine = $redis->version;

    $redis->{client} = $redis->client;
    $redis->{sha}{$_} = $redis->command('SCRIPT', 'LOAD',
                                        $shim . SlidewinRedis::script_at($_))
        for SlidewinRedis::scripts();

    for my $steps (0, 1) {
        my ($n, %seen, @bad) = (0);

        srand $seed + $steps;

        for (1 .. $traces / 2 / @engines) {
            my @trace = trace($steps);
            expect(\@trace, $steps);
            my $bad = disagree($redis, \@trace, $steps);
            $n++;

            $seen{$_->{policy}{algorithm}}
                 {$_->{verb} eq 'take' ? $_->{before}{admitted} : $_->{verb}}++
                for @trace;

            if ($bad) {
                push @bad, $bad;
                if (@bad == 1) {
                    diag("$_: " . show($trace[$_])) for 0 .. $#trace;
                    diag($bad);
                }
                last if @bad == 20;
            }
        }

        is(scalar @bad, 0, "$engine: $n traces"
           . ($steps ? ', the clock steps' : ''));

        my @least = sort { $a <=> $b } map {
            @{$seen{$_}}{0, 1, 'charge', $steps ? () : 'give'}
        } @algorithms;
        cmp_ok($least[0], '>', $n / 10,
               "$engine: each algorithm admitted, rejected, charged and gave back");
    }

    $redis->remove;
}

done_testing();
