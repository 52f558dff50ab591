# What `metrics` of slidewin_api tells is what Prometheus expects, what
# docs/operating.md lists and what has really happened: promtool finds nothing
# wrong with it, a real Prometheus scrapes it, and any worker tells of all.

use strict;
use warnings;

use IO::Uncompress::Gunzip ();
use JSON::PP ();
use SlidewinCluster;
use SlidewinDocs;
use SlidewinNginx;
use SlidewinPrometheus;
use SlidewinProcess;
use SlidewinRedis;
use Test::More;

my $patience = SlidewinNginx::patience();
my $contrib = SlidewinDocs::root() . '/contrib';
my $redis = SlidewinRedis->start;
my $cluster = SlidewinCluster->start(masters => 3, replicas => 0);
my $address = SlidewinProcess::own_address();
my $dead = SlidewinRedis::free_port();
my $metrics = '/slidewin/metrics';

# as nginx writes a quote, a backslash and the end of a line
my $odd = "odd\"\\\n";

my $nginx = SlidewinNginx->start(
    workers => 2,
    http => "slidewin_redis @{[$redis->url]} timeout=2s;
             slidewin_redis @{[$redis->url]}/1 \"name=odd\\\"\\\\\\n\"
                            timeout=5500ms;
             slidewin_redis @{[$cluster->url]} name=cluster timeout=2s;
             slidewin_redis redis://127.0.0.1:$dead name=dead;
             slidewin_zone \$arg_k zone=a:2m rate=5r/40d store=local;
             slidewin_zone \$arg_k zone=b:1m rate=5r/40d;
             slidewin_zone \$arg_k zone=half:1m rate=9000r/500ms store=local;
             slidewin_zone \$arg_k zone=odd:1m rate=1000r/40d
                           \"store=odd\\\"\\\\\\n\" deny_cache=off;
             slidewin_zone \$arg_k zone=cluster:1m rate=5r/40d store=cluster;
             slidewin_zone \$arg_k zone=dry:1m rate=5r/40d;
             slidewin_zone \$arg_k zone=open:1m rate=5r/40d store=dead
                           on_error=open;
             slidewin_zone \$arg_k zone=closed:1m rate=5r/40d store=dead
                           on_error=closed;
             slidewin_zone \$arg_k zone=fallback:1m rate=5r/40d store=dead;
             slidewin_zone \$arg_k zone=lease:1m rate=100r/40d lease=10%;
             slidewin_zone \$arg_k zone=plan:1m rate=\$arg_r store=local;
             gzip_types text/plain;",
    server => "listen $address;
               location = /a { slidewin zone=a; empty_gif; }
               location = /b { slidewin zone=b; empty_gif; }
               location = /both { slidewin zone=a; slidewin zone=b;
                                  empty_gif; }
               location = /half { slidewin zone=half; empty_gif; }
               location = /odd { slidewin zone=odd; empty_gif; }
               location = /cluster { slidewin zone=cluster; empty_gif; }
               location = /dry { slidewin zone=dry dry_run; empty_gif; }
               location = /open { slidewin zone=open; empty_gif; }
               location = /closed { slidewin zone=closed; empty_gif; }
               location = /fallback { slidewin zone=fallback; empty_gif; }
               location = /lease { slidewin zone=lease; empty_gif; }
               location = /plan { slidewin zone=plan; empty_gif; }
               location /slidewin/ { slidewin_api; gzip on; }");

my @workers = $nginx->workers;
my %worker = map { $_ => $nginx->client_of($_) } @workers;

sub scrape {
    my ($pid) = @_;
    my $answer = $worker{$pid // $workers[rand @workers]}->get($metrics);

    return SlidewinPrometheus::parse($answer->{body});
}

sub sum { return SlidewinPrometheus::sum(@_) // 'absent' }

# evaluations PARSED, ZONE, OUTCOME, SOURCE
sub evaluations {
    my ($m, $zone, $outcome, $source) = @_;

    return sum($m, 'slidewin_evaluations_total', zone => $zone,
               outcome => $outcome, $source ? (source => $source) : ());
}

# differs PARSED, PARSED: the series that do
sub differs {
    my ($one, $other) = @_;
    my %all = (%{$one->{value}}, %{$other->{value}});

    return map { "$_: " . ($one->{value}{$_} // 'absent') . ', '
                 . ($other->{value}{$_} // 'absent') }
           grep { ($one->{value}{$_} // '') ne ($other->{value}{$_} // '') }
           sort keys %all;
}

sub lint {
    my ($text, $name) = @_;
    my ($rc, $said) = SlidewinPrometheus::promtool($text, 'check', 'metrics');

    is("$rc $said", '0 ', "$name: promtool has nothing to say");

    return;
}

# The workers connect by themselves.

ok(SlidewinNginx::until_true(sub {
    my $m = scrape();
    return sum($m, 'slidewin_store_connections', store => 'default') == 2
           && sum($m, 'slidewin_store_connections', store => $odd) == 2
           && sum($m, 'slidewin_store_slots_covered') == 16384
           && sum($m, 'slidewin_store_connections', store => 'cluster')
              == sum($m, 'slidewin_store_connections_needed',
                     store => 'cluster');
}, 30 * $patience), 'all stores are connected') or diag($nginx->error_log);


# Before any request: all series are there, and nothing was counted.

my $answer = $worker{$workers[0]}->get($metrics);
my $fresh = SlidewinPrometheus::parse($answer->{body});

is($answer->{status}, 200, 'a scrape');
is($answer->{header}{'content-type'},
   'text/plain; version=0.0.4; charset=utf-8', '... of this type');
is(join("\n", @{$fresh->{bad}}), '', '... every line is as it should be');
is(join("\n", SlidewinPrometheus::faults($fresh)), '',
   '... and every histogram');
lint($answer->{body}, 'before any request');

# what may have happened without a request
my $may = qr/^slidewin_store_(?:errors|reconnects|scripts_loaded)_total\{/;

is(join("\n", grep { !/$may/ && $fresh->{value}{$_} != 0 }
              SlidewinPrometheus::counters($fresh)), '',
   'nothing was counted before any request');

my %every = (
    redis => [qw(passed delayed rejected banned dry_run_rejected)],
    local => [qw(passed delayed rejected banned dry_run_rejected)],
    lease => [qw(passed delayed)],
    deny_cache => [qw(rejected banned)],
    fallback => [qw(passed delayed rejected banned dry_run_rejected)],
    fail_open => ['error_passed'],
    fail_closed => [qw(error_rejected dry_run_rejected)],
    none => ['bypassed'],
);
my @always = qw(fail_open fail_closed none);
my %sources = (
    a => ['local'], half => ['local'], plan => ['local'],
    (map { $_ => [qw(redis deny_cache fallback)] }
     qw(b cluster dry fallback)),
    odd => [qw(redis fallback)],
    open => [qw(redis deny_cache)], closed => [qw(redis deny_cache)],
    lease => [qw(redis deny_cache fallback lease)],
);

for my $zone (sort keys %sources) {
    my @expected = map {
        my $source = $_;
        map { "$_ $source" } @{$every{$source}};
    } @{$sources{$zone}}, @always;
    my @found = map { "$_->{outcome} $_->{source}" }
                map { $fresh->{labels}{$_} }
                grep { $fresh->{name}{$_} eq 'slidewin_evaluations_total'
                       && $fresh->{labels}{$_}{zone} eq $zone }
                @{$fresh->{order}};

    is(join(', ', sort @found), join(', ', sort @expected),
       "zone $zone has a series for all that may happen in it");
}

my @outcomes = qw(passed delayed rejected banned dry_run_rejected bypassed
                  error_passed error_rejected);

is(sum($fresh, 'slidewin_decisions_total', outcome => $_), 0,
   "decisions: $_ are 0") for @outcomes;

for my $store ('default', 'cluster', 'dead', $odd) {
    my $name = $store =~ s/\W+//gr;

    is(join(' ', map { sum($fresh, 'slidewin_store_errors_total',
                           store => $store, kind => $_) }
                 qw(timeout lost error_reply bad_reply foreign_key overload)),
       '0 0 0 0 0 0', "store $name: no error yet");
}

is(join(' ', map { sum($fresh, "slidewin_$_", zone => 'half') }
             qw(limit window_seconds zone_size_bytes zone_entries bans_active
                bans_overflow bans_total top_overflow
                shared_key_suspected)),
   '9000 0.5 1048576 0 0 0 0 0 0', 'gauges of a zone');
is(sum($fresh, 'slidewin_window_seconds', zone => 'a'), 40 * 86400,
   'a window in seconds');
is(join(' ', map { sum($fresh, "slidewin_$_", zone => 'plan') }
             qw(limit window_seconds)), 'absent absent',
   'a rate from a variable has no limit');
cmp_ok(sum($fresh, 'slidewin_zone_free_bytes', zone => 'a'), '<=', 2 << 20,
       'a zone has no more free than it has');
is(join(' ', map { sum($fresh, "slidewin_store_$_", store => 'default') }
             qw(timeout_seconds workers connections connections_needed
                in_flight)), '2 2 2 2 0', 'gauges of a store');
is(sum($fresh, 'slidewin_store_timeout_seconds', store => $odd), 5.5,
   'a timeout in seconds, and a name that needs escapes');
is(join(' ', map { sum($fresh, "slidewin_store_$_", store => 'dead') }
             qw(timeout_seconds workers connections connections_needed)),
   '0.05 2 0 2', '... of one that is down');
is(join(' ', map { $_->{store} }
             map { $fresh->{labels}{$_} }
             grep { $fresh->{name}{$_} eq 'slidewin_store_slots_covered' }
             @{$fresh->{order}}), 'cluster', 'slots are those of a cluster');
is(sum($fresh, 'slidewin_build_info'), 1, 'the version is there');

# docs/operating.md has all of them, with these types and labels

my (%told, %found);

for (split /\n/, SlidewinDocs::page('docs/operating.md')->{text}) {
    my ($name, $type, $labels)
        = /^\| `(slidewin_\w+)` \| (\w+) \| ([^|]*?) \| \S/ or next;

    $told{$name} = join ' ', $type, sort $labels =~ /`(\w+)`/g;
}

for my $series (@{$fresh->{order}}) {
    my $metric = SlidewinPrometheus::metric($fresh, $series);
    my $text = join ' ', $fresh->{type}{$metric} // 'untyped',
               grep { $_ ne 'le' } sort keys %{$fresh->{labels}{$series}};

    $found{$metric} //= $text;
    $found{$metric} = "$found{$metric} or $text" if $found{$metric} ne $text;
}

is_deeply(\%found, \%told, 'docs/operating.md lists these metrics');

my @values = SlidewinDocs::page('docs/operating.md')->{text}
             =~ /^\| `(outcome|source|kind)` \| (`.*)/mg;
my %values = @values;

is_deeply([sort keys %values], [qw(kind outcome source)],
          '... and the values of labels');

for my $label (sort keys %values) {
    my %real = map { $_->{$label} => 1 } grep { defined $_->{$label} }
               values %{$fresh->{labels}};

    is(join(' ', sort grep { !/[\$]/ } $values{$label} =~ /`([^`]+)`/g),
       join(' ', sort keys %real), "... of $label");
}


# HEAD, gzip

my $curl = "curl --silent --unix-socket '@{[$nginx->path]}'";
my $url = "http://localhost$metrics";
my ($head, $rest) = split /\r\n\r\n/, `$curl --head '$url'`, 2;

like($head, qr{^HTTP/1\.1 200 }, 'HEAD');
is(join(' ', $head =~ /^Content-Type: (.*?)\r?$/mg),
   $answer->{header}{'content-type'}, '... has the same type');
is($rest, '', '... and no body');

($head, $rest) = split /\r\n\r\n/,
                 `$curl --include --header 'Accept-Encoding: gzip' '$url'`, 2;

like($head, qr/^Content-Encoding: gzip\r?$/m, 'gzip is as configured');

IO::Uncompress::Gunzip::gunzip(\$rest => \my $text);
my $zipped = SlidewinPrometheus::parse($text);

is_deeply($zipped->{order}, $fresh->{order}, '... and has all of it');
is(join("\n", @{$zipped->{bad}}), '', '... as it should be');


# Requests: each is counted once for itself, and once for each of its zones.

my @requests = (
    ['/a?k=1', 12], ['/b?k=1', 9], ['/both?k=2', 3], ['/both?k=1', 2],
    ['/dry?k=1', 8], ['/open?k=1', 6], ['/closed?k=1', 4], ['/a', 3],
    ['/fallback?k=1', 7], ['/plan?k=1&r=none', 2], ['/plan?k=1&r=2r/h', 3],
    ['/cluster?k=1', 6], ['/odd?k=1', 4], ['/lease?k=1', 30],
);
my $total = 0;

for (@requests) {
    my ($uri, $times) = @$_;
    $nginx->status($uri, $times);
    $total += $times;
}

my $after = scrape();

is(join(' ', map { "$_=" . sum($after, 'slidewin_decisions_total',
                               outcome => $_) } @outcomes),
   'passed=' . (5 + 5 + 3 + 5 + 5 + 2 + 5 + 4 + 30)
   . ' delayed=0 rejected=' . (7 + 4 + 2 + 2 + 1 + 1)
   . ' banned=0 dry_run_rejected=3 bypassed=3 error_passed=6 error_rejected='
   . (4 + 2), 'decisions, by their outcome');
is(sum($after, 'slidewin_decisions_total'), $total, '... are all requests');

my %expected = (
    'a passed local' => 8, 'a rejected local' => 9, 'a bypassed none' => 3,
    'b passed redis' => 8,
    'dry passed redis' => 5,
    'open error_passed fail_open' => 6,
    'closed error_rejected fail_closed' => 4,
    'fallback passed fallback' => 5, 'fallback rejected fallback' => 2,
    'plan error_rejected fail_closed' => 2,
    'plan passed local' => 2, 'plan rejected local' => 1,
    'cluster passed redis' => 5, 'odd passed redis' => 4,
);

is(evaluations($after, split / /), $expected{$_}, "evaluations: $_")
    for sort keys %expected;

# a rejection that Redis told is remembered, for a second
is(evaluations($after, 'cluster', 'rejected'), 1,
   'evaluations: cluster rejected');
is(evaluations($after, 'dry', 'dry_run_rejected'), 3,
   'evaluations: dry dry_run_rejected');
cmp_ok(evaluations($after, 'lease', 'passed', 'lease'), '>', 0,
       'evaluations: some of a lease');
is(evaluations($after, 'lease', 'passed'), 30, '... and all that passed');

# series that were not there before a request have lost their first increase
is(join(' ', grep { !exists $fresh->{value}{$_} } @{$after->{order}}), '',
   'no series has come with the requests');

# 20%, 40%, 60%, 80%, 100% of each client, then 100% again
is(join(' ', map { sum($after, 'slidewin_utilization_ratio_bucket',
                       zone => 'fallback', le => $_) }
             qw(0.25 0.5 0.75 0.9 1 +Inf)), '1 2 3 4 7 7',
   'utilisation, in buckets');
is(sum($after, 'slidewin_utilization_ratio_sum', zone => 'fallback'), 5,
   '... and its sum');
is(sum($after, 'slidewin_zone_entries', zone => 'a'), 2, 'clients in a zone');
is(join("\n", SlidewinPrometheus::faults($after)), '',
   'histograms are as they should be');

for my $store ('default', 'cluster', $odd) {
    my ($calls, $checks, $count, $seconds) = map {
        sum($after, "slidewin_store_$_", store => $store)
    } qw(calls_total checks_total request_duration_seconds_count
         request_duration_seconds_sum);
    my $name = $store =~ s/\W+//gr;

    is($count, $calls, "store $name: every call has its time");
    cmp_ok($checks, '>=', $calls, '... and decides a request, or more');
    cmp_ok($seconds, '>', 0, '... in more than no time');
    cmp_ok($seconds, '<', 2 * $calls, '... and less than the timeout');
}


# Seconds: Redis is stopped for some time.

my @before = map { sum($after, "slidewin_store_request_duration_seconds_$_",
                       store => $odd) } qw(sum count);
my $slow = $nginx->client;

$redis->signal('STOP');
$slow->request('/odd?k=slow');
ok(SlidewinNginx::until_true(sub {
    # a worker tells of itself when it is asked
    grep { sum(scrape($_), 'slidewin_store_in_flight', store => $odd) == 1 }
         @workers;
}, 3), 'a request that waits for Redis is in flight');
SlidewinNginx::nap(0.3);
$redis->signal('CONT');
is($slow->answer->{status}, 200, '... passes when Redis runs again');

my $late = scrape();
my ($seconds, $calls) = map {
    sum($late, "slidewin_store_request_duration_seconds_$_", store => $odd)
} qw(sum count);

is($calls - $before[1], 1, '... is one call');
cmp_ok($seconds - $before[0], '>=', 0.29, '... as long as it has waited');
cmp_ok($seconds - $before[0], '<', 5.5, '... in seconds');
is(join(' ', map {
    sum($late, 'slidewin_store_request_duration_seconds_bucket',
        store => $odd, le => $_)
    - sum($after, 'slidewin_store_request_duration_seconds_bucket',
          store => $odd, le => $_)
} qw(0.05 0.1 0.25 +Inf)), '0 0 0 1', '... in the bucket of its time');


# Prometheus, with the rules and the dashboard of contrib/.

my $prometheus = SlidewinPrometheus->start(
    targets => [$address], path => $metrics,
    rules => "$contrib/prometheus/rules.yml");

ok($prometheus->comes('up{job="slidewin"}', 1), 'Prometheus scrapes nginx')
    or diag($prometheus->log);
ok($prometheus->comes('slidewin_evaluations_total{zone="a",'
                      . 'outcome="rejected"}', 9),
   '... and knows what was rejected');
ok($prometheus->comes('sum(slidewin_decisions_total)', $total + 1),
   '... and the number of all requests');

my ($sample) = $prometheus->query('slidewin_store_timeout_seconds == 5.5');

is($sample->[0]{store}, $odd, '... and a name as it is written');


# Under load, while both workers are scraped: no counter goes back, whichever
# worker tells it, and every histogram adds up.

my $stop = $nginx->root . '/stop';

my ($scraped, @loaded) = $nginx->together(sub {
    my ($who) = @_;
    my %done;

    if ($who) {
        my @uris = map {
            my $k = $who . $_;
            ("/a?k=$k", "/b?k=$k", "/both?k=$k", "/half?k=$k", "/odd?k=$who",
             "/cluster?k=$k", "/fallback?k=$k", "/dry?k=$who", "/open?k=$k",
             "/lease?k=$who");
        } 1 .. 40;
        my $client = $nginx->client;

        until (-e $stop) {
            $done{$_}++ for $client->statuses(@uris);
        }

        return \%done;
    }

    my ($last, @wrong, %asked);

    for my $i (1 .. 200) {
        my $pid = $workers[$i > 2 ? rand 2 : $i - 1];
        my $m = scrape($pid);

        $asked{$pid}++;
        push @wrong, @{$m->{bad}}, SlidewinPrometheus::faults($m);

        if ($last) {
            push @wrong, map {
                "$_: $m->{value}{$_} after $last->{value}{$_}"
            } grep {
                ($m->{value}{$_} // -1) < $last->{value}{$_}
            } SlidewinPrometheus::counters($last);
        }

        $last = $m;
    }

    open my $flag, '>', $stop or die "$stop: $!";
    close $flag;

    return { wrong => \@wrong, asked => scalar keys %asked,
             decisions => sum($last, 'slidewin_decisions_total') };
}, '', 'x', 'y', 'z');

my %done;

for my $load (@loaded) {
    $done{$_} += $load->{$_} for keys %$load;
}

my $load = 0;
$load += $_ for values %done;
note("$load requests: ", join ', ', map { "$_ x$done{$_}" } sort keys %done);

is(join(' ', sort keys %done), '200 429', 'the load gets its answers');
is($scraped->{asked}, 2, '... while both workers are scraped');
is(join("\n", splice @{$scraped->{wrong}}, 0, 20), '',
   '... 200 times, and all is right');
cmp_ok($scraped->{decisions}, '>', $total + 1, '... in the middle of it');

is(join(' ', grep { !exists $fresh->{value}{$_} } @{scrape()->{order}}), '',
   '... and no series is new');

# Then there is one truth.

my ($calm, @others);

ok(SlidewinNginx::until_true(sub {
    ($calm, @others) = map { scrape($_) } (@workers) x 3;
    # a store that is down is tried
    return !grep { !/^slidewin_store_errors_total\{store="dead"/ }
           map { differs($calm, $_) } @others;
}, 20 * $patience), 'all workers tell the same')
    or diag(map { "$_\n" } map { differs($calm, $_) } @others);

is(sum($calm, 'slidewin_decisions_total'), $total + 1 + $load,
   '... and have counted every request');
ok(SlidewinNginx::until_true(sub {
    !grep { sum(scrape($_), 'slidewin_store_in_flight') } @workers;
}, 20 * $patience), '... of which none waits');
is(sum($calm, 'slidewin_decisions_total', outcome => 'rejected')
   - sum($after, 'slidewin_decisions_total', outcome => 'rejected'),
   $done{429}, '... and every rejection');

ok($prometheus->comes('slidewin_decisions_total{outcome="rejected"}',
                      sum($calm, 'slidewin_decisions_total',
                          outcome => 'rejected')),
   'Prometheus knows all of them');

# What the dashboard and the rules ask has an answer; how often it is rejected
# depends on time.

my @rules = map { @{$_->{rules}} } @{$prometheus->api('rules')->{groups}};

cmp_ok(scalar @rules, '>', 10, 'Prometheus has the rules');
ok(SlidewinNginx::until_true(sub {
    @rules = map { @{$_->{rules}} } @{$prometheus->api('rules')->{groups}};
    return !grep { $_->{health} ne 'ok' } @rules;
}, 30 * $patience), '... and can evaluate all')
    or diag(map { "$_->{name}: $_->{health} " . ($_->{lastError} // '')
                  . "\n" } @rules);

my $dashboard = JSON::PP::decode_json(
    SlidewinNginx::slurp("$contrib/grafana/slidewin.json"));
my @empty;

for my $panel (@{$dashboard->{panels}}) {
    for my $target (@{$panel->{targets} // []}) {
        my $expr = $target->{expr};

        $expr =~ s/\$__rate_interval/1m/g;
        $expr =~ s/\$(?:instance|zone)\b/.*/g;
        SlidewinNginx::until_true(sub { $prometheus->query($expr) },
                                  10 * $patience)
            or push @empty, "$panel->{title}: $expr";
    }
}

is(join("\n", @empty), '', 'every panel of the dashboard has something to show');

lint($worker{$workers[1]}->get($metrics)->{body}, 'after the load');

# A reload keeps what was counted, and what Prometheus has of it.

$_->close for values %worker;
$nginx->reload;
@workers = $nginx->workers;
%worker = map { $_ => $nginx->client_of($_) } @workers;

my $reloaded = scrape();

is(join("\n", map {
    "$_: " . ($reloaded->{value}{$_} // 'absent') . " after $calm->{value}{$_}"
} grep { ($reloaded->{value}{$_} // -1) < $calm->{value}{$_} }
  SlidewinPrometheus::counters($calm)), '', 'a reload resets no counter');

$prometheus->stop;
$_->close for values %worker;
$nginx->stop;


# Shared memory alone, and so many zones that the answer goes in parts.

my @zones = ('a', map { sprintf '%s%03d', 'z' x 61, $_ } 1 .. 100);

$nginx = SlidewinNginx->start(
    http => join('', map { "slidewin_zone \$arg_k zone=$_:64k rate=5r/m;\n" }
                     @zones),
    server => 'location = /a { slidewin zone=a; empty_gif; }
               location /slidewin/ { slidewin_api; }');

$nginx->status('/a?k=1', 7);
$answer = $nginx->get($metrics);

my $alone = SlidewinPrometheus::parse($answer->{body});

is($answer->{header}{'transfer-encoding'}, 'chunked', 'an answer in parts');
lint($answer->{body}, 'shared memory alone');
is(join("\n", @{$alone->{bad}}, SlidewinPrometheus::faults($alone)), '',
   '... as it should be');
is(evaluations($alone, 'a', 'rejected', 'local'), 2, '... and counts');
is(join(' ', map { $_->{zone} }
             map { $alone->{labels}{$_} }
             grep { $alone->{name}{$_} eq 'slidewin_limit' }
             @{$alone->{order}}), "@zones", '... every zone is in it');
is(join(' ', grep { /store_|breaker/ } @{$alone->{order}}), '',
   '... and no store');

$nginx->stop;

done_testing();
