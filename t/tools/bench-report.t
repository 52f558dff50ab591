# The report of ./build.sh bench: from made-up figures come medians, ratios
# within the same round, and verdicts.

use strict;
use warnings;

use File::Temp ();
use JSON::PP ();
use Test::More;

my $root = $ENV{SLIDEWIN_ROOT} // '.';
my $dir = File::Temp->newdir;

sub python {
    my ($code, @arguments) = @_;
    local $ENV{PYTHONPATH} = "$root/bench";

    open my $pipe, '-|', 'python3', '-B', '-c', $code, @arguments
        or die "python3: $!";
    local $/;
    my $said = <$pipe>;
    ok(close $pipe, 'python3 ends well');

    return $said;
}

sub spill {
    my ($name, $text) = @_;

    open my $file, '>', "$dir/$name" or die "$name: $!";
    print $file $text;
    close $file or die "$name: $!";

    return "$dir/$name";
}

sub slurp {
    open my $file, '<', "$dir/$_[0]" or die "$_[0]: $!";
    local $/;
    return <$file>;
}

# rows SCENARIO, VARIANT, [REQUESTS A SECOND...], MORE: one of each round
sub rows {
    my ($scenario, $variant, $rps, %more) = @_;

    return map { {
        scenario => $scenario, variant => $variant, round => $_,
        rps => $rps->[$_], p50 => 1, p99 => 2, cpu => 10, redis_cpu => 0,
        redis_calls => 0, %more
    } } 0 .. $#$rps;
}

my %results = (
    machine => { cpu => 'A & B <C>', cores => 2, memory => 4, kernel => '6.1',
                 nginx => '1.22.1', redis => '7.0.15', haproxy => '2.6',
                 goaccess => '1.7' },
    rounds => 3, seconds => 1, entries => 1000, resident => 161, zone => 129,
    denied => 0.5,
    limiters => [
        rows('hot', 'none', [1000, 2000, 500]),
        # the ratio of the medians would be 0.5
        rows('hot', 'local', [500, 1900, 465]),
        rows('hot', 'redis', [800, 1600, 400], cpu => 13, redis_cpu => 5,
             redis_calls => 0.05),
        rows('hot-reject', 'none', [1000, 2000, 500]),
        rows('hot-reject', 'redis', [990, 1990, 490], redis_calls => 0.001),
    ],
    instructions => [map { {
        case => $_->[0], round => 0, handler => $_->[1], whole => $_->[2],
        statistics => $_->[3]
    } } ['none', undef, 8000], ['limit_req', 800, 9000],
        ['local', 960, 9100, 51], ['redis', 3000, 15000, 61]],
    algorithms => [
        { algorithm => 'counter', bytes => 104, usec => [7, 9, 8] },
        { algorithm => 'log', bytes => 14408, usec => [10] },
    ],
    clients => [map {
        my $round = $_;
        map { my $n = $_; map { {
            store => $_, clients => $n, round => $round,
            cpu => $n == 1000 ? 10 : 12, redis_cpu => 8
        } } qw(limit_req local redis plain) } 1000, 1000000
    } 0 .. 2],
    policies => [map { {
        policies => $_, round => 0, cpu => 10, redis_cpu => 8, calls => 1
    } } 1, 2, 4, 8],
    latency => [map { {
        round => $_, none => 0.02, redis => 0.05, bare => 0.03
    } } 0 .. 2],
    replay => {
        lines => 10_000_000, bytes => 2e9, twice => 1.15, client => 170,
        runs => [
            (map { {
                tool => 'plain', round => $_, seconds => 9, cpu => 4 + $_,
                memory => 3e7
            }, {
                tool => 'gzip', round => $_, seconds => 12 + $_, cpu => 15,
                memory => 3e7
            }, {
                tool => 'zcat', round => $_, seconds => 8 + $_, cpu => 9,
                memory => 1e6
            } } 0 .. 2),
            # it is not run in every round
            { tool => 'goaccess', round => 0, seconds => 99, cpu => 48,
              memory => 2e9 },
        ],
    },
);

my $said = python('import report, sys; report.main(*sys.argv[1:])',
                  spill('results.json', JSON::PP::encode_json(\%results)),
                  $dir);

sub verdict {
    my ($target, $expected) = @_;
    my ($line) = grep { /\Q$target\E/ } split /\n/, $said;

    like($line // '', $expected, $target);
}

verdict('shared memory, one hot key: throughput to no limiter',
        qr/^reached .* 0\.930 ≥ 0\.93 +0\.500 – 0\.950$/);
verdict('shared memory, admitting: instructions',
        qr/^reached .* 1\.20 ≤ 1\.2$/);
verdict('statistics of a request', qr/^missed .* 61\.00 ≤ 60$/);
verdict('Redis, one hot key: throughput', qr/^missed .* 0\.800 ≥ 0\.85/);
verdict('Redis, one hot key: Redis calls', qr/^reached .* 0\.050 ≤ 0\.1/);
verdict('deny cache, one hot key: Redis calls', qr/^reached .* 0\.50 ≤ 1$/);
verdict('lease=10%, one hot key: throughput', qr/^not measured .* – ≥ 0\.93$/);
verdict('what a check adds', qr/^reached .* 1\.00 ≤ 1\.15/);
verdict('bytes of an entry, log', qr/^reached .* 14\.41 ≤ 59/);
verdict('counter, all in', qr/^missed .* 129\.00 ≤ 128$/);
verdict('clients, shared memory: worker CPU', qr/^missed .* 1\.20 ≤ 1\.15/);
verdict('clients, Redis: Redis CPU', qr/^reached .* 1\.00 ≤ 1\.15/);
verdict('slidewin-replay: million lines', qr/^reached .* 2\.00 ≥ 1 +1\.67 – 2\.50$/);
verdict('slidewin-replay, compressed log', qr/^missed .* 1\.44 ≤ 1\.3/);
verdict("slidewin-replay: GoAccess' CPU", qr/^reached .* 12\.00 ≥ 10$/);
verdict('slidewin-replay: memory', qr/^missed .* 1\.15 ≤ 1\.1$/);
verdict('slidewin-replay: bytes of a client', qr/^reached .* 170\.00 ≤ 200$/);

my $table = slurp('table.md');

like($table, qr{^\| nginx, no limiter \| 1,000/s \|.*\| 10\.0 µs \|}m,
     'a server without a limiter has its own figures');
like($table, qr{^\| nginx, `return 429` \| 1,000/s}m, '... or a bare 429');
like($table, qr{^\| Redis alone, .*, 1,000,000 \| – \| 8\.0 \|}m,
     '... and so does Redis without the module');
like($table, qr{^\| slidewin, Redis \| 0\.80 \|.*\| 1\.30 \| 5\.0 \| 0\.050}m,
     'a limiter has ratios');
like($table, qr{^\| shared memory \| 960 \| 9,100 \| 1,100 \| 51 \|$}m,
     'instructions');
like($table, qr{^\| `limit_req` \| 800 \| 9,000 \| 1,000 \| – \|$}m,
     '... of which statistics are ours alone');
like($table, qr{^\| `counter` \| 104 \| 8\.0 \|$}m, 'an algorithm');
like($table, qr{^\| `slidewin-replay` \| 9\.0 \| 5\.0 \| 2,000,000 \| 30\.0 \|$}m,
     'a replay');
unlike($table, qr/\bNone\b|lease/, 'what was not measured is not there');

for my $block (split /\n\n/, $table) {
    my %columns = map { tr/|// => 1 } grep { /^\|/ } split /\n/, $block;
    cmp_ok(scalar keys %columns, '<=', 1, 'a table has rows of one length');
}

is(python(<<'END_OF_CODE', "$dir/chart.svg"), "3\n6\n", 'a chart has its bars');
import sys
import xml.dom.minidom
svg = xml.dom.minidom.parse(sys.argv[1])
rects = svg.getElementsByTagName('rect')
print(len([r for r in rects if r.getAttribute('class') == 'ours']) // 2)
print(len([r for r in rects if r.getAttribute('class')]))
END_OF_CODE

# a handler that calls and sends, and a function of nginx that calls it
is(python(<<'END_OF_CODE'), <<'END_OF_TEXT', 'a profile of callgrind');
import callgrind
profile = """version: 1
events: Ir
summary: 171

fn=ngx_http_core_access_phase
10 5
cfn=ngx_http_slidewin_handler
calls=2 30
11 141

fn=ngx_http_slidewin_handler
30 20
cfn=ngx_http_slidewin_claim
calls=2 50
31 21
cfn=ngx_http_finalize_request
calls=1 70
32 100

fn=ngx_http_slidewin_claim
50 21

fn=ngx_http_slidewin_header_filter
55 3
cfn=ngx_http_slidewin_record
calls=1 60
56 25

fn=ngx_http_slidewin_record
60 8
cfn=ngx_http_slidewin_top_add
calls=1 80
61 17

fn=ngx_http_slidewin_top_add
80 17

fn=ngx_http_finalize_request
70 97
""".splitlines(True)
print(*callgrind.parse(profile, callgrind.SLIDEWIN))
for name, lines in ((callgrind.LIMIT_REQ, profile),
                    (callgrind.SLIDEWIN, profile[:19])):
    try:
        callgrind.parse(lines, name)
    except SystemExit as error:
        print(error)
END_OF_CODE
171 41 8
callgrind has not seen ngx_http_limit_req_handler
callgrind has not seen ngx_http_slidewin_record
END_OF_TEXT

# a command as MONITOR prints it
is(python(<<'END_OF_CODE'), <<'END_OF_TEXT', 'a line of MONITOR');
import latency
print(latency.words(r'1.5 [0 127.0.0.1:9] "GET" "a\"\x00\xff\n\\ b" ""'))
END_OF_CODE
[b'GET', b'a"\x00\xff\n\\ b', b'']
END_OF_TEXT

# replies that arrive in pieces
is(python(<<'END_OF_CODE'), "[80]\n", 'answers are whole at their end');
import load
two = b'HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nab' * 2
print([n for n in range(len(two) + 1) if load.whole(two[:n], 2)])
END_OF_CODE

done_testing();
