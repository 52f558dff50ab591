# The replay of a log decides as nginx decided when it wrote the log: random
# clients against enforced limits of every algorithm, with and without costs,
# count= and ban=, in shared memory of several workers.
#
# The log has the time of nginx's cached clock; a decision reads the clock anew.
# So a decision can be told from the log if it is the same wherever in a few
# milliseconds around their times the request and those before it were counted.
# The client knows the moments between which each was.

use strict;
use warnings;

use List::Util qw(max min sum0);
use SlidewinNginx;
use SlidewinReplay;
use Test::More;
use Time::HiRes ();

my $processes = 6;
my $sessions = 480;
my $seconds = 13;

# ms: of the clock's own digits, and of the truncated begin of the windows
my $least = 2;
# a request that took longer is not tried: its decision cannot be told
my $most = 60;

# What a session of a client does: a location, the limit in it, and the gaps.
my %zones = (
    log     => { rate => '5r/s', limit => 5, window => 1000,
                 algorithm => 'log' },
    counter => { rate => '8r/2s', limit => 8, window => 2000,
                 algorithm => 'counter', cost => 1 },
    fixed   => { rate => '6r/1500ms', limit => 6, window => 1500,
                 algorithm => 'fixed' },
    strict  => { rate => '7r/1s', limit => 7, window => 1000, slices => 10,
                 algorithm => 'strict', cost => 1 },
    missing => { rate => '3r/3s', limit => 3, window => 3000,
                 algorithm => 'log', count => '404' },
    forms   => { rate => '4r/s', limit => 4, window => 1000,
                 algorithm => 'counter', count => '404,405', cost => 1 },
    banned  => { rate => '4r/500ms', limit => 4, window => 500,
                 algorithm => 'log', cost => 1, ban => '400ms',
                 time => 400, longest => 0 },
    growing => { rate => '4r/500ms', limit => 4, window => 500,
                 algorithm => 'fixed', ban => '150ms..600ms',
                 time => 150, longest => 600 },
);
my @zones = sort keys %zones;

my $format = '$msec $request_time $arg_k $status $slidewin_status "$request"'
             . ' $remote_addr "$http_user_agent"';

my $seed = SlidewinReplay::seed();

# Static files are sent after the access phase; `return` would answer before it.
my $nginx = SlidewinNginx->start(
    workers => 3,
    http => "log_format replay '$format';\n"
            . join('', map {
                my $z = $zones{$_};
                "slidewin_zone \$arg_k zone=$_:2m rate=$z->{rate}"
                . " algorithm=$z->{algorithm}"
                . ($z->{slices} ? " slices=$z->{slices}" : '')
                . ($z->{ban} ? " ban=$z->{ban}" : '') . ";\n"
            } @zones),
    server => "root files;\naccess_log logs/replay.log replay;\n" . join '', map {
        "location /$_/ { slidewin zone=$_"
        . ($zones{$_}{cost} ? ' cost=$arg_c' : '')
        . ($zones{$_}{count} ? " count=$zones{$_}{count}" : '') . "; }\n"
    } @zones,
);

my $files = $nginx->root . '/files';

mkdir $files;
for (@zones) {
    mkdir "$files/$_";
    SlidewinReplay::write("$files/$_/page", "a page\n");
}

# session NUMBER: [SECOND, CLIENT, ZONE, COST, EXISTS] of every request of a session,
# which does more than it may, and pauses until nothing of it counts
sub session {
    my ($n) = @_;
    my $zone = $zones[$n % @zones];
    my $z = $zones{$zone};
    my $mean = $z->{window} / 1000 / $z->{limit} * (0.4 + rand 0.5)
               * ($z->{count} || $z->{cost} ? 0.8 : 1);
    my $at = rand(0.9) * $seconds;
    my @plan;

    for (1 .. 12 + int rand 10) {
        $at += rand() < 0.05 ? 2.2 * $z->{window} / 1000 : rand 2 * $mean;
        push @plan, [$at, "c$n", $zone,
                     $z->{cost} ? (0, 1, 1, 1, 2, 2, 30)[rand 7] : 1,
                     $z->{count} ? rand() < 0.3 : 1];
    }

    return grep { $_->[0] < $seconds } @plan;
}

my @plans = map { [session($_)] } 1 .. $sessions;

# A process has some clients, and one request at a time: what each client asks is
# in order. Of a limit with count= a client stays on one connection, so that the
# worker has given back a request before it reads the next.
my @all = $nginx->clients(3 * $processes);
my $begin = SlidewinNginx::now() + 0.3;

sub ask {
    my ($share) = @_;
    my @connections = @all[map { $share + $_ * $processes } 0 .. 2];
    my @plan = sort { $a->[0] <=> $b->[0] }
               map { @{$plans[$_]} } grep { $_ % $processes == $share }
               0 .. $#plans;
    my (@seen, $i);

    for my $request (@plan) {
        my ($at, $client, $zone, $cost, $exists) = @$request;
        my $uri = "/$zone/" . ($exists ? 'page' : 'none')
                  . "?k=$client&c=$cost&n=$share-" . $i++;
        my ($number) = $client =~ /(\d+)/;
        my $connection = $connections[$zones{$zone}{count}
                                      ? $number % @connections
                                      : rand @connections];

        Time::HiRes::sleep(max(0, $begin + $at - SlidewinNginx::now()));

        my $sent = Time::HiRes::time();
        my $answer = $connection->get($uri);
        push @seen, [$uri, $sent, Time::HiRes::time(), $answer->{status}];
    }

    return \@seen;
}

my %seen = map { $_->[0] => $_ } map { @$_ }
           $nginx->together(\&ask, 0 .. $processes - 1);


# The log, as nginx wrote it.

my $path = $nginx->root . '/logs/replay.log';
my @lines;

SlidewinNginx::until_true(sub {
    keys %seen <= (() = SlidewinNginx::slurp($path) =~ /\bk=c.*\n/g);
}, 5 * SlidewinNginx::patience());

open my $log, '<', $path or die "$path: $!";
while (my $line = <$log>) {
    my ($end, $took, $client, $status, $said, $uri, $zone, $cost) = $line =~
        m{^(\S+) (\S+) (\S+) (\d+) (\w+) "GET (/(\w+)/\S+c=(\d+)\S*) }
        or next;
    my (undef, $sent, $got) = @{$seen{$uri} // die "who asked $uri?"};
    my $time = int($end * 1000 + 0.5) - int($took * 1000 + 0.5);

    push @lines, {
        n => $., time => $time, client => $client, zone => $zone,
        cost => $cost, status => $status, said => $said, uri => $uri,
        from => min($time, int($sent * 1000)) - $least,
        to => max($time, int($got * 1000) + 1) + $least,
    };
}
close $log;

diag(scalar(@lines), ' requests');
is(scalar @lines, scalar keys %seen, '... all in the log');

my %answers;
$answers{"$_->{zone} $_->{said}"}++ for @lines;
for my $zone (@zones) {
    cmp_ok($answers{"$zone PASSED"} // 0, '>', 100, "$zone: many pass");
    cmp_ok($answers{"$zone REJECTED"} // 0, '>', 100, '... many are rejected')
        if !$zones{$zone}{ban};
    cmp_ok($answers{"$zone BANNED"} // 0, '>', 100, '... many are banned')
        if $zones{$zone}{ban};
}


# What can be told: a sum of what nginx itself has admitted.

# weight RULE, THEN, NOW: how much of a unit still counts
sub weight {
    my ($z, $then, $now) = @_;
    my $window = $z->{window};

    if ($z->{algorithm} eq 'log') {
        return $now - $then < $window;

    } elsif ($z->{algorithm} eq 'fixed') {
        return int($then / $window) == int($now / $window);

    } elsif ($z->{algorithm} eq 'strict') {
        return int($then * $z->{slices} / $window)
               >= int($now * $z->{slices} / $window) - $z->{slices};
    }

    my $age = int($now / $window) - int($then / $window);

    return $age > 1 ? 0 : $age == 0 ? 1 : 1 - $now % $window / $window;
}

# ended BANS, REQUEST: whether the ban is over, if it is known. Each of the bans
# may be the last one; it is of a length, and ended between two moments.
sub ended {
    my ($bans, $r) = @_;

    return 1 if !grep { $r->{from} < $_->{to} } @$bans;
    return 0 if !grep { $r->{to} >= $_->{from} } @$bans;

    return;
}

# bans RULE, BANS, REQUEST: the bans that its rejection may have begun
sub bans {
    my ($z, $bans, $r) = @_;
    my $longest = $z->{longest};
    my %lengths;

    $lengths{$z->{time}} = 1
        if !grep { $r->{to} - $_->{from} <= $longest } @$bans;

    for my $ban (@$bans) {
        $lengths{min($longest, 2 * $ban->{length})} = 1
            if $longest && $r->{from} - $ban->{to} <= $longest;
        $lengths{$z->{time}} = 1
            if !$longest || $r->{to} - $ban->{from} > $longest;
    }

    return [map { { length => $_, from => $r->{from} + $_,
                    to => $r->{to} + $_ } } keys %lengths];
}

# told RULE, COUNTED, BANS, REQUEST: the decision, if it is the same at every
# moment, with as much and with as little counted as may be
sub told {
    my ($z, $counted, $bans, $r) = @_;
    my %decisions;
    my $ended = ended($bans, $r) // return;

    return 'BANNED' if !$ended;
    return 'PASSED' if $r->{cost} == 0;
    return 'REJECTED' if $r->{cost} > $z->{limit};
    return if $r->{to} - $r->{from} > $most;

    for my $now ($r->{from} .. $r->{to}) {
        for my $side (qw(from to)) {
            my $used = sum0 map {
                $_->{cost} * weight($z, min($_->{$side}, $now), $now)
            } @$counted;
            # a sum of fractions
            for my $error ($z->{algorithm} eq 'counter' ? (-1e-6, 1e-6) : 0) {
                $decisions{$used + $r->{cost} + $error <= $z->{limit}
                           ? 'PASSED' : 'REJECTED'} = 1;
            }
        }
    }

    return keys %decisions == 1 ? (keys %decisions)[0] : undef;
}

my (%of, @untrue);
my $told = 0;

push @{$of{$_->{client}}}, $_ for sort { $a->{time} <=> $b->{time}
                                         || $a->{n} <=> $b->{n} } @lines;

for my $client (keys %of) {
    my (@counted, $last);
    my $bans = [];

    for my $r (@{$of{$client}}) {
        my $z = $zones{$r->{zone}};
        # after that nothing counts that was counted before
        my $idle = defined $last
                   && $r->{from} - $last > 2 * $z->{window} + 100
                                           + 2 * ($z->{longest} || $z->{time}
                                                  || 0);

        @counted = () if $idle;
        $bans = [] if $idle;
        $last = $r->{to};

        my $decision = told($z, \@counted, $bans, $r);

        @$r{qw(idle told)} = ($idle, defined $decision);

        if (defined $decision) {
            $told++;
            push @untrue, "$decision for line $r->{n}: $r->{said}"
                if $decision ne $r->{said};
        }

        push @counted, $r if $r->{said} eq 'PASSED'
            && (!$z->{count} || grep { $_ == $r->{status} }
                                split /,/, $z->{count});
        $bans = bans($z, $bans, $r) if $z->{ban} && $r->{said} eq 'REJECTED';
    }
}

is_deeply([@untrue[0 .. min(4, $#untrue)]], [],
          'nginx decided as its log can tell');
diag("$told of ", scalar(@lines), ' decisions can be told');


# The replay, by the configuration that nginx had, and by options.

my $dir = SlidewinReplay::directory();

my $compared = 0;

# comparable ZONE, DECIDED: the lines whose decision can be told, of clients for
# whom the replay has counted what nginx has counted: where it cannot be told,
# both may be right, and differ until the client counts nothing any more
sub comparable {
    my ($zone, $decided) = @_;
    my @comparable;

    for my $client (keys %of) {
        my $lost = 0;

        for my $r (@{$of{$client}}) {
            next if $r->{zone} ne $zone;

            $lost = 0 if $r->{idle};

            if ($r->{told}) {
                push @comparable, $r if !$lost;
            } elsif (($decided->{$r->{n}} // '') ne $r->{said}) {
                $lost = 1;
            }
        }
    }

    return @comparable;
}

# agrees NAME, CANDIDATE, ARGUMENT...: every decision on a zone that can be told
sub agrees {
    my ($name, $wanted, $zone, $decided) = @_;
    my @ours = comparable($zone, $decided->{$wanted} // {});
    $compared += @ours;
    my @differ = map {
        my $is = $decided->{$wanted}{$_->{n}} // 'missing';
        $is eq $_->{said} ? () : "$_->{n}: nginx $_->{said}, replay $is";
    } sort { $a->{n} <=> $b->{n} } @ours;

    is(scalar @differ, 0, "$name, $zone: " . @ours . ' decisions')
        or diag(map { "$_\n" } @differ[0 .. min(9, $#differ)]);
    is(scalar keys %{$decided->{$wanted} // {}},
       scalar(grep { $_->{zone} eq $zone } @lines),
       '... of this limit and no other');

    return;
}

sub decided {
    my (@arguments) = @_;
    my $json = SlidewinReplay::json('--decisions', "$dir/decisions",
                                    @arguments, $path);
    my %decided;

    is($json->{resolution}, 'millisecond', "$arguments[0]: the time is exact");
    is($json->{bad_lines}, 0, '... no line is bad');

    for (SlidewinReplay::decisions("$dir/decisions")) {
        my (undef, $line, undef, undef, $candidate, $decision) = @$_;
        $decided{$candidate}{$line} = $decision;
    }

    return \%decided;
}

my $decided = decided('--conf', $nginx->root . '/nginx.conf',
                      '--format', 'replay');

agrees('by the configuration', $_, $_, $decided) for @zones;

diag("$compared of ", scalar(@lines), ' decisions are compared');
cmp_ok($compared, '>=', 0.8 * @lines, 'four of five decisions are compared');

for my $zone (@zones) {
    my $z = $zones{$zone};
    my $decided = decided(
        '--key', '$arg_k', '--rate', $z->{rate},
        '--algorithm', $z->{algorithm}, '--format', $format,
        '--where', "uri ^~ /$zone/",
        $z->{slices} ? ('--slices', $z->{slices}) : (),
        $z->{cost} ? ('--cost', '$arg_c') : (),
        $z->{count} ? ('--count', $z->{count}) : (),
        $z->{ban} ? ('--ban', $z->{ban}) : (),
    );
    agrees('by options', "$z->{rate}/$z->{algorithm}", $zone, $decided);
}

$nginx->stop;

done_testing();
