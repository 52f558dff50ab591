# The scripts decide as sw_window does: every vector of t/vectors, on every
# engine installed, with the state as Redis stores it before and after.

use strict;
use warnings;

use Test::More;

use SlidewinOracle;
use SlidewinRedis;

my @algorithms = qw(counter fixed strict log);
my %letter = (counter => 'c', fixed => 'f', strict => 's', log => 'l');
my $root = SlidewinRedis::root();
my $oracle = SlidewinOracle->new;


# Time 0 means "now" to the scripts: the times of a vector at time 0 are moved
# by some windows.

sub vectors {
    my ($algorithm) = @_;
    my @vectors;

    open my $file, '<', "$root/t/vectors/$algorithm.txt" or die $!;

    while (my $line = <$file>) {
        next if $line =~ /^(?:#|$)/;

        my ($verb, $given, $wanted, $note)
            = $line =~ /^(take|give|charge) (.*) -> (.*?) +# (.*)/
            or die "$algorithm.txt:$.: $line";

        my %vector = (algorithm => $algorithm, slices => 0, verb => $verb,
                      note => "$algorithm.txt:$.: $note",
                      map { split /=/, $_, 2 } split ' ', "$given $wanted");

        later(\%vector, 7 * $vector{window}) if $vector{now} == 0;
        push @vectors, \%vector;
    }

    return @vectors;
}

sub later {
    my ($v, $ms) = @_;
    my $windows = $ms / $v->{window};

    $v->{$_} += $ms for grep { defined $v->{$_} } qw(now stamp);

    for my $state (grep { $_ ne '-' } @$v{qw(state after)}) {
        if ($v->{algorithm} eq 'log') {
            $state =~ s/(\d+)\*/$1 + $ms . '*'/ge;
        } else {
            $state =~ s/^(\d+)/$1 + $windows * ($v->{slices} || 1)/e;
        }
    }

    return;
}


# A state of a vector as the value of a key, and back. A log may have entries
# that have expired and sums that do not begin at 0 (worn), or sums so large
# that they have to start anew (worn twice).

sub int_of { my ($bytes, $n) = @_; return substr pack('Q<', $n), 0, $bytes }

sub encode {
    my ($v, $worn) = @_;
    my ($algorithm, $window) = @$v{qw(algorithm window)};

    return if $v->{state} eq '-';

    my $value = pack 'aV', $letter{$algorithm}, $window;

    if ($algorithm eq 'log') {
        my @entries = map { [split /\*/] } split /,/, $v->{state};
        my ($first, $sum) = ($entries[0][0], $worn ? 2 ** 46 * $worn : 0);
        my $since = $worn ? $first - 3 * $window : $first;

        $value .= int_of(6, $since < 0 ? 0 : $since) . int_of(6, $sum);

        if ($worn && $first > $window) {
            for my $left (2 * $window, $window) {
                next if $first < $left;
                $sum += 3;
                $value .= int_of(6, $first - $left) . int_of(6, $sum);
            }
        }

        for (@entries) {
            my ($time, $units) = @$_;
            # one ms may be several entries
            for my $part ($worn && $units > 1 ? (1, $units - 1) : $units) {
                $sum += $part;
                $value .= int_of(6, $time) . int_of(6, $sum);
            }
        }
        return $value;
    }

    my ($index, $rest) = split /:/, $v->{state}, 2;

    if ($algorithm eq 'strict') {
        my $n = $v->{slices};
        my @units = split /,/, $rest;
        my @slots = (0) x ($n + 1);

        for my $j (0 .. $n) {
            my $slice = $index - $n + $j;
            $slots[$slice % ($n + 1)] = $units[$j] if $slice >= 0;
        }
        return $value . pack('C', $n) . int_of(6, $index)
               . join '', map { int_of(7, $_) } @slots;
    }

    # fixed does not use the previous window: make sure that it has none
    my ($prev, $curr) = $algorithm eq 'fixed' ? (777, $rest)
                                              : split /:/, $rest;

    return $value . int_of(6, $index) . int_of(7, $prev) . int_of(7, $curr);
}

sub int_at {
    my ($text, $at, $bytes) = @_;

    return unpack 'Q<', substr($text, $at, $bytes) . "\0" x (8 - $bytes);
}

# The text of a state, without what has expired at that time.
sub decode {
    my ($v, $value, $now) = @_;
    my ($algorithm, $window, $n) = @$v{qw(algorithm window slices)};

    return $algorithm eq 'log' ? '-' : 'none' if !defined $value;

    if ($algorithm eq 'log') {
        my $sum = int_at($value, 11, 6);
        my (@times, %units);

        for (my $at = 17; $at < length $value; $at += 12) {
            my ($time, $total) = (int_at($value, $at, 6),
                                  int_at($value, $at + 6, 6));
            # a refund may have left an entry without units
            next if $total == $sum;
            push @times, $time if !$units{$time};
            $units{$time} += $total - $sum;
            $sum = $total;
        }

        my $end = @times && $times[-1] > $now ? $times[-1] : $now;
        return join(',', map { "$_*$units{$_}" }
                         grep { $_ > $end - $window } @times) || '-';
    }

    if ($algorithm eq 'strict') {
        my $index = int_at($value, 6, 6);
        my @slots = map { int_at($value, 12 + 7 * $_, 7) } 0 .. $n;

        # nothing was counted since it was written
        my $then = int($now * $n / $window);
        for (; $index < $then; $index++) {
            $slots[($index + 1) % ($n + 1)] = 0;
        }
        return "$index:" . join ',', map { $_ < 0 ? 0 : $slots[$_ % ($n + 1)] }
                                     $index - $n .. $index;
    }

    my ($index, $prev, $curr) = (int_at($value, 5, 6), int_at($value, 11, 7),
                                 int_at($value, 18, 7));
    my $then = int($now / $window);

    if ($then > $index) {
        ($prev, $curr) = ($then == $index + 1 ? $curr : 0, 0);
        $index = $then;
    }

    return $algorithm eq 'fixed' ? "$index:$curr" : "$index:$prev:$curr";
}


# Whether the state is more than a window ahead of the time.
sub stale {
    my ($v) = @_;
    my $n = $v->{slices} || 1;

    return 0 if $v->{state} eq '-';
    return $v->{state} =~ /(\d+)\*\d+$/ && $1 - $v->{now} > $v->{window}
        if $v->{algorithm} eq 'log';

    my ($index) = split /:/, $v->{state};
    return int($v->{now} * $n / $v->{window}) < $index - $n;
}


# One transaction, in which keys do not expire.

sub run {
    my ($redis, $v, $value, @calls) = @_;
    my $client = $redis->{client} //= $redis->client;
    my $ttl = 2 * $v->{window};

    my @replies = $client->call_all(
        ['MULTI'], ['DEL', 'k'],
        defined $value ? ['SET', 'k', $value, 'PX', $ttl] : ['PING'],
        (map { $_, ['GET', 'k'], ['PTTL', 'k'] } @calls), ['EXEC']);

    return @{$replies[-1]}[2 .. 1 + 3 * @calls];
}

sub call_of {
    my ($redis, $script, $v, $cost, @last) = @_;

    return ['EVALSHA', $redis->{sha}{$script}, 1, 'k', SlidewinRedis::packed(
            9007199254740991, $v->{now}, $script eq 'give_back' ? () : 1,
            $letter{$v->{algorithm}}, $v->{limit}, $v->{window}, $v->{slices},
            $cost, @last)];
}

sub verdict_of {
    my ($v, $cost, $reply) = @_;

    return 'error: ' . ($reply // 'nil') if ref($reply // \0);

    my ($number, $now, @numbers) = SlidewinRedis::numbers($reply);
    return "number $number" if $number != 9007199254740991;
    return "time $now" if $now != $v->{now};

    my ($answer) = $oracle->ask("P " . SlidewinOracle::rule($v)
                                . " $v->{now} 1 $cost 0 1 @numbers");
    my ($counted, $verdict) = SlidewinOracle::proven($answer)
        or return "not taken for true: @numbers";

    $verdict->{counted} = $counted;

    return $verdict;
}

sub differs {
    my ($verdict, $v, @names) = @_;

    return $verdict if !ref $verdict;

    return map {
        my $got = $_ eq 'level' ? "$verdict->{level}/$verdict->{scale}"
                                : $verdict->{$_};
        $got eq $v->{$_} ? () : "$_ is $got, must be $v->{$_}";
    } @names;
}

sub ttl_differs {
    my ($v, $value, $ttl) = @_;

    return if !defined $value && $ttl == -2;
    return if defined $value && $ttl >= 0 && $ttl <= 2 * $v->{window};
    return "TTL $ttl";
}

sub take {
    my ($redis, $v, $value, $script) = @_;
    my @bad;

    my ($peek, $same, $ttl, $take, $after, $after_ttl)
        = run($redis, $v, $value, call_of($redis, $script, $v, 0, 0, 0),
              call_of($redis, $script, $v, $v->{cost}, 0, 0));

    my $peeked = verdict_of($v, 0, $peek);
    my $taken = verdict_of($v, $v->{cost}, $take);

    push @bad, differs($peeked, $v, qw(remaining reset level stamp));
    push @bad, 'a peek changed the key'
        if ($same // '') ne ($value // '') && !stale($v);

    push @bad, differs($taken, $v, qw(admitted retry));
    push @bad, differs($taken, $v, qw(remaining more reset level stamp))
        if !$v->{admitted};

    my $counted = $v->{admitted} && $v->{cost} ? 1 : 0;
    push @bad, "counted is $taken->{counted}"
        if ref $taken && $taken->{counted} != $counted;

    # a state in the future is brought back in any case
    my $written = $counted || stale($v);

    push @bad, 'it was written without being counted'
        if !$written && ($after // '') ne ($value // '');

    if (defined $after) {
        my $state = decode($v, $after, $v->{now});
        push @bad, "after is $state, must be $v->{after}"
            if $state ne $v->{after};
    } elsif ($counted) {
        push @bad, 'nothing was written';
    }

    push @bad, ttl_differs($v, $after, $after_ttl);
    push @bad, 'its sums grow for ever'
        if $counted && $v->{algorithm} eq 'log'
           && int_at($after, 11, 6) >= 2 ** 47;

    return @bad;
}

sub give {
    my ($redis, $v, $value) = @_;
    my @bad;

    my ($reply, $after, $ttl)
        = run($redis, $v, $value,
              call_of($redis, 'give_back', $v, $v->{cost}, $v->{stamp}));

    my @numbers = ref $reply ? $reply : SlidewinRedis::numbers($reply);
    push @bad, "reply @numbers"
        if "@numbers" ne "9007199254740991 $v->{now}";

    my $state = decode($v, $after, $v->{now});
    push @bad, "after is $state, must be $v->{after}"
        if $state ne $v->{after} && !(!defined $value && !defined $after);
    push @bad, ttl_differs($v, $after, $ttl);

    return @bad;
}

# As the module charges: a take with the highest limit there may be, of a unit
# and of the others as far as they fit, by the script for one policy.

sub charge {
    my ($redis, $v, $value, $script) = @_;
    my @bad;

    my $limit = $v->{algorithm} eq 'log' ? 4294967295
                                         : int 9007199254740991 / $v->{window};

    my ($reply, $after, $ttl)
        = run($redis, $v, $value,
              call_of($redis, $script, { %$v, limit => $limit }, 1, 2,
                      $v->{cost} - 1));

    my ($number, $now, $admitted, $counted)
        = ref $reply ? $reply : SlidewinRedis::numbers($reply);

    push @bad, "reply $number" if $number ne 9007199254740991;
    push @bad, "counted is $counted, must be $v->{counted}"
        if $counted ne $v->{counted};

    my $state = decode($v, $after, $v->{now});
    push @bad, "after is $state, must be $v->{after}"
        if $state ne $v->{after};
    push @bad, ttl_differs($v, $after, $ttl);

    return @bad;
}

my @engines;

for my $binary (SlidewinRedis::engines()) {
    my $redis = SlidewinRedis->start(binary => $binary);
    my $engine = $redis->version;

    push @engines, $engine;

    $redis->{sha}{$_} = $redis->command('SCRIPT', 'LOAD',
                                        SlidewinRedis::script_at($_))
        for SlidewinRedis::scripts();

    for my $algorithm (@algorithms) {
        my @vectors = vectors($algorithm);

        cmp_ok(scalar @vectors, '>=', 50,
               "$engine: $algorithm has " . @vectors . ' vectors');

        for my $v (@vectors) {
            for my $worn ($algorithm eq 'log' && $v->{state} ne '-'
                          ? (0, 1, 2) : 0)
            {
                my $value = encode($v, $worn);
                my $note = "$engine: $v->{note}"
                           . ($worn ? " (worn $worn)" : '');

                if ($v->{verb} eq 'give') {
                    is(join('; ', give($redis, $v, $value)), '', $note);
                    next;
                }

                if ($v->{verb} eq 'charge') {
                    # of nothing there is no call
                    next if $v->{cost} == 0;

                    my $script = (SlidewinRedis::takes(substr $algorithm, 0, 1))
                                 [-1];

                    is(join('; ', charge($redis, $v, $value, $script)), '',
                       "$note, $script");
                    next;
                }

                is(join('; ', take($redis, $v, $value, $_)), '', "$note, $_")
                    for SlidewinRedis::takes(substr $algorithm, 0, 1);
            }
        }
    }

    $redis->remove;
}

diag('ran on ' . join ', ', @engines);
like("@engines", qr/^Redis [7-9]/, 'Redis is among the engines');

done_testing();
