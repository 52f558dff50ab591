# What the program decides for every request, and the figures it makes of that,
# are those of a second writing of the algorithms: for random requests in every
# format, compressed or not, in one file or several, in order or not.

use strict;
use warnings;

use JSON::PP ();
use List::Util qw(any first max min shuffle sum0);
use POSIX ();
use SlidewinRedis;
use SlidewinReplay;
use Test::More;

my $rounds = 24;
my $lines = 500;

my $root = SlidewinRedis::root();
my @algorithms = qw(counter fixed strict log);
my %windows = (
    '500ms' => 500, '997ms' => 997, s => 1000, '1500ms' => 1500,
    '7s' => 7000, '10s' => 10000, m => 60000, h => 3600000,
);
my @filters = (
    ['method = POST', sub { $_[0]{method} eq 'POST' }],
    ['uri ^~ /login', sub { $_[0]{path} =~ m{\A/login} }],
    ['status >= 400 and not method=GET',
     sub { $_[0]{status} >= 400 && $_[0]{method} ne 'GET' }],
    ["uri = '/' or (uri ~ ^/l.*2\$ and method != HEAD)",
     sub { $_[0]{path} eq '/'
           || $_[0]{path} =~ m{^/l.*2$} && $_[0]{method} ne 'HEAD' }],
);
my %costs = (
    combined => ['$arg_c'], common => ['$arg_c'], json => ['.cost', '.deep.cost'],
    own => ['$upstream_http_x_cost'],
);

my $seed = SlidewinReplay::seed();
my $dir = SlidewinReplay::directory();

sub pick { return $_[rand @_] }

sub address {
    my ($n) = @_;

    return $n % 4 ? "198.51.100.$n" : sprintf '2001:db8:0:%x::1', $n;
}

# requests SETTING: as they come in
sub requests {
    my ($s) = @_;
    my $now = 1763300000000 + int rand 1e7;
    # so that about half of them find no room
    my $gap = $s->{window} / $s->{limit} / $s->{clients}
              / ($s->{cost} ? 2 : 1);
    # of lines of one time that are in several files none is the first
    my $least = $s->{input} eq 'files'
                ? SlidewinReplay::resolution($s->{format}) : 0;

    return map {
        # pauses, in which windows end
        $now += $least
                + int(rand() < 0.01 ? rand 3 * $s->{window} : rand $gap);
        my $cost = !defined $s->{cost} ? 1
                   : rand() < 0.02 ? pick('x', '1x', '-1', '1.5')
                   : rand() < 0.03 ? $s->{limit} + 1 : pick(0, 1, 1, 2, 3);
        my $path = pick('/', '/login', '/login/2', '/logout2');

        {
            time => $now, client => address(int $s->{clients} * rand() ** 2),
            method => pick(qw(GET GET POST HEAD)), path => $path, cost => $cost,
            uri => $path . ($s->{format} =~ /\Aco/ ? "?a=1&c=$cost" : ''),
            status => pick(200, 200, 304, 401, 403, 404, 502),
            took => pick(0, 3, 1200), zone => pick(0, 0, 120, -450),
        }
    } 1 .. $lines;
}

sub setting {
    my ($n) = @_;
    my $format = (sort keys %costs)[$n % 4];
    my $window = pick(sort keys %windows);
    my %s = (
        format => $format, window => $windows{$window},
        limit => 1 + int rand pick(3, 20), clients => pick(3, 12, 30),
        input => pick(qw(plain gzip members stdin gzip-stdin files shuffled)),
        top => pick(1, 3, 10, 100),
    );

    $s{rate} = "$s{limit}r/$window";
    $s{cost} = pick(@{$costs{$format}}) if rand() < 0.4;
    $s{count} = pick('401,403', '4xx', '404,5xx') if rand() < 0.3;
    $s{ban} = pick([2000, 2000, '2s'], [500, 4000, '500ms..4s'],
                   [60000, 600000, '1m..10m']) if rand() < 0.3;
    $s{where} = pick(@filters) if rand() < 0.4;

    return \%s;
}

# files SETTING, REQUESTS: gives each the file and the line that it is in; returns
# the names, and what else to run with
sub files {
    my ($s, @requests) = @_;
    my $n = $s->{input} eq 'files' ? 3 : 1;
    my @order = @requests;
    my @parts = map { [] } 1 .. $n;

    if ($s->{input} eq 'shuffled') {
        my %moved = map { $_ => $_->{time} + int rand 50000 } @order;
        @order = sort { $moved{$a} <=> $moved{$b} } @order;
    }

    for my $request (@order) {
        my $i = int rand $n;
        push @{$parts[$i]}, SlidewinReplay::line($s->{format}, $request);
        @$request{qw(file line)} = ($i, scalar @{$parts[$i]});
    }

    my @text = map { join '', @$_ } @parts;

    return {}, map {
        SlidewinReplay::write("$dir/$_.log", $text[$_],
                              gzip => scalar(rand() < 0.3));
    } 0 .. $n - 1 if $n > 1;

    my $path = SlidewinReplay::write(
        "$dir/0.log", $text[0], gzip => scalar($s->{input} =~ /gzip/),
        members => $s->{input} eq 'members' ? 5 : undef);

    return {}, $path if $s->{input} !~ /stdin/;

    open my $file, '<:raw', $path or die "$path: $!";
    local $/;

    return { stdin => readline $file }, '-';
}

# model QUESTION...: for each an array of decisions
sub model {
    my $path = SlidewinReplay::write("$dir/question",
                                     JSON::PP::encode_json([@_]));

    return map { [split] } `python3 $root/t/replay/model.py <$path`;
}

# peaks SETTING, REQUESTS: of each client, of what would be charged
sub peaks {
    my ($s, @requests) = @_;
    my (%units, %peak);

    for my $r (@requests) {
        my $units = $units{$r->{client}} //= [];
        push @$units, [$r->{at}, charged($s, $r) ? $r->{cost} : 0];
        shift @$units while $units->[0][0] <= $r->{at} - $s->{window};
        $peak{$r->{client}} = max($peak{$r->{client}} // 0,
                                  sum0 map { $_->[1] } @$units);
    }

    return %peak;
}

sub charged {
    my ($s, $r) = @_;

    return !$s->{count} || grep {
        $r->{status} =~ /\A@{[s{xx}{..}r]}\z/
    } split /,/, $s->{count};
}

sub percentile {
    my ($percent, @sorted) = @_;

    return $sorted[max(0, POSIX::ceil($percent / 100 * @sorted - 1e-9) - 1)];
}

# expected SETTING, REQUESTS, PEAKS, DECISIONS: the figures of a candidate
sub expected {
    my ($s, $requests, $peaks, $decisions) = @_;
    my (%rejected, %first, %count, $first);

    for my $i (0 .. $#$requests) {
        my $r = $requests->[$i];

        $count{$r->{client}}++;
        next if $decisions->[$i] eq 'PASSED';
        $first //= $r;
        $first{$r->{client}} //= $r;
        $rejected{$r->{client}}++;
    }

    my $n = sum0 values %rejected;

    return {
        requests => scalar @$requests, rejected => $n,
        banned => scalar(grep { $_ eq 'BANNED' } @$decisions),
        clients => scalar keys %count,
        clients_rejected => scalar keys %rejected,
        first => story($first),
        most => [(sort { $b <=> $a } values %rejected)
                 [0 .. min($s->{top}, scalar keys %rejected) - 1]],
        worst => { map {
            $_ => [$rejected{$_}, $count{$_}, story($first{$_}), $peaks->{$_}]
        } keys %rejected },
    };
}

sub story {
    my ($r) = @_;

    return defined $r ? sprintf('%s %.3f %s', $r->{client}, $r->{at} / 1000,
                                $r->{path}) : undef;
}

# said CANDIDATE: the same figures as the program says them
sub said {
    my ($c) = @_;
    my $first = $c->{first};

    return {
        (map { $_ => $c->{$_} }
         qw(requests rejected banned clients clients_rejected)),
        first => $first && sprintf('%s %.3f %s', @$first{qw(key time path)}),
        most => [map { $_->{rejected} } @{$c->{worst}}],
    };
}

sub decided {
    my ($path) = @_;
    my %decided;

    for (SlidewinReplay::decisions($path)) {
        my ($file, $line, $time, $key, $candidate, $decision) = @$_;
        my ($n) = $file =~ /(\d)\.log\z/;
        $decided{$candidate}{$n // 0}{$line} = "$time $key $decision";
    }

    return \%decided;
}

sub compare {
    my ($n) = @_;
    my $s = setting($n);
    my @all = requests($s);
    my ($how, @files) = files($s, @all);
    my $resolution = SlidewinReplay::resolution($s->{format});

    $_->{at} = $_->{time} - $_->{time} % $resolution for @all;

    my @requests = grep { !$s->{where} || $s->{where}[1]->($_) }
                   sort { $a->{at} <=> $b->{at} || $a->{file} <=> $b->{file}
                          || $a->{line} <=> $b->{line} } @all;
    my $bad = grep { $_->{cost} !~ /\A\d+\z/ } @requests;

    @requests = grep { $_->{cost} =~ /\A\d+\z/ } @requests;

    my $key = $s->{format} eq 'json' && rand() < 0.5 ? '.remote_addr'
              : '$remote_addr';
    my @wanted = rand() < 0.5 ? 'all' : shuffle(@algorithms);
    my $slices = pick(1, 4, 16, 100);
    my @arguments = (
        '--format', SlidewinReplay::format($s->{format}), '--key', $key,
        '--rate', $s->{rate}, '--algorithm', join(',', @wanted),
        '--slices', $slices, '--top', $s->{top},
        '--decisions', "$dir/decisions",
        (map { ("--$_" => $s->{$_}) } grep { defined $s->{$_} }
         qw(cost count)),
        $s->{ban} ? ('--ban', $s->{ban}[2]) : (),
        $s->{where} ? ('--where', $s->{where}[0]) : (),
    );
    my $name = join ' ', $s->{input}, map { /\s|\$/ ? "'$_'" : $_ }
               grep { !/decisions/ } @arguments;
    my $json = SlidewinReplay::json($how, @arguments, @files);
    my $decided = decided("$dir/decisions");

    unlink "$dir/decisions";
    ok($json, $name) or return;

    my %question = (
        limit => $s->{limit}, window => $s->{window}, slices => $slices,
        count => $s->{count} && [split /,/, $s->{count}],
        ban => $s->{ban} && [map { $_ + 0 } @{$s->{ban}}[0, 1]],
        lines => [map { [$_->{at}, $_->{client}, $_->{cost} + 0,
                         $_->{status}] } @requests],
    );
    my @plain = (count => undef, ban => undef, lines => [
        map { [$_->{at}, $_->{client}, 1, $_->{status}] } @requests,
    ]);
    my @model = model(map { my $q = { %question, algorithm => $_ };
                            ($q, { %$q, @plain }) } @algorithms);
    my %peaks = peaks($s, @requests);
    my @peaks = sort { $a <=> $b } values %peaks;

    is_deeply([@$json{qw(lines bad_lines bad_costs requests out_of_order
                         empty_keys resolution)}],
              [$lines, 0, $bad, scalar @requests, 0, 0,
               $resolution == 1 ? 'millisecond' : 'second'],
              '... what was read');

    for my $algorithm (@algorithms) {
        my $label = "$s->{rate}/$algorithm";
        my ($c) = grep { $_->{algorithm} eq $algorithm }
                  @{$json->{candidates}};
        my ($decisions, $plain) = splice @model, 0, 2;
        my $expected = expected($s, \@requests, \%peaks, $decisions);
        my $worst = delete $expected->{worst};
        my %wrong;

        for my $i (0 .. $#requests) {
            my $r = $requests[$i];
            my $is = $decided->{$label}{$r->{file}}{$r->{line}} // 'missing';
            my $want = "$r->{at} $r->{client} $decisions->[$i]";
            $wrong{"$r->{file}:$r->{line}"} = "is $is, wanted $want"
                if $is ne $want;
        }

        is_deeply([keys %wrong], [], "$label: every decision")
            or diag(map { "$_ $wrong{$_}\n" } (sort keys %wrong)[0 .. 4]);
        is(scalar(map { keys %$_ } values %{$decided->{$label} // {}}),
           scalar @requests, '... and no other');

        is_deeply(said($c), $expected, '... the figures');
        cmp_ok(abs($c->{rejected_share}
                   - $expected->{rejected} / max(1, scalar @requests)), '<',
               0.0001, '... the share');
        is_deeply({ map { $_->{key} => [
                      @$_{qw(rejected requests)},
                      sprintf('%s %.3f %s', $_->{key}, @$_{qw(first path)}),
                      $_->{peak},
                  ] } @{$c->{worst}} },
                  { map { $_->{key} => $worst->{$_->{key}} } @{$c->{worst}} },
                  '... the worst clients');
        is_deeply($c->{peaks}, @requests ? {
            window => $s->{window} / 1000, max => $peaks[-1],
            map { +"p$_" => percentile($_, @peaks) } 50, 90, 99, 99.9,
        } : $c->{peaks}, '... the peaks');

        if (any { defined $s->{$_} } qw(cost count ban)) {
            my $e = expected($s, \@requests, \%peaks, $plain);
            is_deeply($c->{plain},
                      { map { $_ => $e->{$_} } qw(rejected clients_rejected) },
                      '... without cost, count and ban');
        } else {
            is($c->{plain}, undef, '... no other figures without them');
        }

        if ($resolution == 1) {
            is_deeply([@$c{qw(rejected_at_least rejected_at_most)}],
                      [($expected->{rejected}) x 2],
                      '... bounds of an exact log are that');
        } else {
            cmp_ok($c->{rejected_at_least}, '<=', $expected->{rejected},
                   '... the lower bound');
            cmp_ok($c->{rejected_at_most}, '>=', $expected->{rejected},
                   '... the upper bound');
        }
    }

    return;
}

compare($_) for 0 .. $rounds - 1;

done_testing();
