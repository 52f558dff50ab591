# The files of contrib/ for Prometheus and Grafana: promtool accepts them and
# runs the tests of the alerts. They use metrics that docs/operating.md lists,
# which t/api/metrics-scraped.t compares with what nginx prints, and the
# dashboard shows all of these.

use strict;
use warnings;

use File::Temp ();
use JSON::PP ();
use SlidewinDocs;
use SlidewinNginx;
use SlidewinPrometheus;
use Test::More;

my $contrib = SlidewinDocs::root() . '/contrib';
my $page = SlidewinDocs::page('docs/operating.md')->{text};

# Metrics that the dashboard does not need, with the reason.
my %not_needed = ();

sub promtool_ok {
    my ($name, @arguments) = @_;
    my ($rc, $said) = SlidewinPrometheus::promtool('', @arguments);

    ok($rc == 0, $name) or diag($said);

    return $said;
}

promtool_ok('promtool accepts the configuration and its rules',
            'check', 'config', "$contrib/prometheus/prometheus.yml");
promtool_ok('... has nothing to say about the rules',
            'check', 'rules', '--lint=all', '--lint-fatal',
            "$contrib/prometheus/rules.yml");
promtool_ok('... and their tests pass',
            'test', 'rules', "$contrib/prometheus/rules_test.yml");

# Rules: a list of { record or alert => NAME, text => TEXT }

my $rules = SlidewinNginx::slurp("$contrib/prometheus/rules.yml");
my $tests = SlidewinNginx::slurp("$contrib/prometheus/rules_test.yml");
my @rules = map { /^(record|alert): (\S+)\n/ ? { $1 => $2, text => $_ } : () }
            split /^ +- (?=(?:record|alert): )/m, $rules;
my @alerts = grep { $_->{alert} } @rules;

cmp_ok(scalar @alerts, '>', 10, 'there are alerts');

my ($job) = SlidewinNginx::slurp("$contrib/prometheus/prometheus.yml")
            =~ /^ +- job_name: (\S+)$/m;
is_deeply([grep { $_ ne $job } $rules =~ /\bjob="([^"]*)"/g], [],
          "the rules know the job as $job");
unlike($rules, qr{://}, '... and need no link');

# what the tests expect to fire, and not to
my (%fires, %silent);

while ($tests =~ /^ +- alertname: (\w+)\n +eval_time: \S+\n +exp_alerts:(.*)\n/mg)
{
    $2 eq ' []' ? $silent{$1}++ : $fires{$1}++;
}

# the rows of the page: the name and the severity
my %told = $page =~ /^\| `(Slidewin\w+)` \| (\w+) \|/mg;

for my $alert (@alerts) {
    my ($name, $text) = @$alert{qw(alert text)};
    my ($severity) = $text =~ /^ +severity: (\w+)$/m;

    like($text, qr/^ +for: [1-9]\d*m$/m, "$name: it has to last");
    like($severity, qr/^(?:critical|warning|info)$/, '... has a severity');
    like($text, qr/^ +summary: >-\n +\S.*?^ +description: >-\n +\S/ms,
         '... says what it means and what to do');
    ok($fires{$name}, '... a test lets it fire');
    ok($silent{$name}, '... a test lets it be silent');
    is($told{$name}, $severity, '... and docs/operating.md has it');
}

is(join(' ', sort keys %told), join(' ', sort map { $_->{alert} } @alerts),
   'docs/operating.md has no other alert');

for my $record (grep { $_->{record} } @rules) {
    like($page, qr/`\Q$record->{record}\E`/,
         "docs/operating.md has $record->{record}");
    like($tests, qr/expr: \Q$record->{record}\E\b/, '... a test looks at it');
}

# The page shows the job as the file has it.

my ($yaml) = map { $_->{text} } SlidewinDocs::fences(
    SlidewinDocs::page('docs/operating.md'), 'yaml');
my $file = File::Temp->new(SUFFIX => '.yml');

print $file $yaml;
close $file;
promtool_ok('promtool accepts what docs/operating.md shows', 'check', 'config',
            $file->filename);
is_deeply([$yaml =~ /(?:job_name|metrics_path): (\S+)/g],
          [SlidewinNginx::slurp("$contrib/prometheus/prometheus.yml")
           =~ /(?:job_name|metrics_path): (\S+)/g],
          '... which is what the file has');

# Dashboard

my $path = "$contrib/grafana/slidewin.json";
my $dashboard = JSON::PP::decode_json(SlidewinNginx::slurp($path));
my @panels = grep { $_->{type} ne 'row' } @{$dashboard->{panels}};
my @variables = @{$dashboard->{templating}{list}};

cmp_ok($dashboard->{schemaVersion}, '>=', 36, 'a dashboard of Grafana 9');
ok(!exists $dashboard->{id}, '... which is in no Grafana yet');
ok(!exists $dashboard->{__inputs}, '... and asks nothing on import');
is($dashboard->{uid}, 'slidewin', '... its address is stable');
is(join(' ', map { $_->{name} } @variables), 'DS_PROMETHEUS instance zone',
   '... its variables');
is($variables[0]{type}, 'datasource', '... the first is the Prometheus');

my (%id, %title, @taken, @wrong);

for my $panel (@{$dashboard->{panels}}) {
    my ($x, $y, $w, $h) = @{$panel->{gridPos}}{qw(x y w h)};

    push @wrong, "$panel->{title}: the id is that of another"
        if $id{$panel->{id}}++;
    push @wrong, "$panel->{title}: is too wide" if $x + $w > 24;

    for my $place (map { my $row = $_; map { [$row, $_] } $x .. $x + $w - 1 }
                   $y .. $y + $h - 1)
    {
        push @wrong, "$panel->{title}: lies on another"
            if $taken[$place->[0]][$place->[1]]++;
    }
}

for my $panel (@panels) {
    my $title = $panel->{title};

    push @wrong, "$title: has no description" if !$panel->{description};
    push @wrong, "$title: has no expression" if !@{$panel->{targets} // []};
    push @wrong, "$title: two expressions have one name"
        if keys %{{map { $_->{refId} => 1 } @{$panel->{targets}}}}
           != @{$panel->{targets}};
}

push @wrong, map { "the data are of $_" } grep { $_ ne '${DS_PROMETHEUS}' }
             SlidewinNginx::slurp($path) =~ /"uid": "([^"]*)"(?!,\n  "title")/g;

is(join("\n", @wrong), '', 'its panels have their place, words and data');

# what jq finds anywhere in the file
my @exprs = map { JSON::PP->new->allow_nonref->decode($_) }
            `jq -c '.. | objects | .expr // empty' '$path'`;

is(scalar @exprs, scalar(map { @{$_->{targets}} } @panels),
   'all expressions are in panels');

my @queries = map { $_->{definition} } grep { $_->{type} eq 'query' }
              @variables;

is_deeply([map { $_->{query}{query} } grep { $_->{type} eq 'query' }
           @variables], \@queries, 'variables are what they say');

# Grafana puts values for these
my $generated = File::Temp->new(SUFFIX => '.yml');

print $generated "groups:\n  - name: dashboard\n    rules:\n", map {
    my $expr = $exprs[$_] =~ s/\$__rate_interval/1m/gr;
    "      - record: dashboard:$_\n        expr: "
        . JSON::PP->new->allow_nonref->encode($expr) . "\n";
} 0 .. $#exprs;
close $generated;

like(promtool_ok('promtool accepts every expression', 'check', 'rules',
                 $generated->filename),
     qr/SUCCESS: ${\scalar @exprs} rules found/, '... it has seen all');

my %known_variable = map { $_ => 1 }
                     qw(instance zone DS_PROMETHEUS __rate_interval);
is(join(' ', grep { !$known_variable{$_} }
             map { /\$\{?(\w+)/g } @exprs, @queries), '',
   '... no other variable is in there');

# a division by what may be 0 has a guard
is(join("\n", grep { m{/} && m{/ (?!\(sum[ (].* > 0\)|2$|slidewin_zone_size)} }
              @exprs), '', '... and none divides by 0');

# Metrics: the table of the page is the truth

my %type = $page =~ /^\| `(slidewin_\w+)` \| (gauge|counter|histogram) \|/mg;
my %known = map {
    $type{$_} eq 'histogram' ? ("${_}_bucket" => $_, "${_}_sum" => $_,
                                "${_}_count" => $_) : ($_ => $_)
} keys %type;
my %recorded = map { $_->{record} => 1 } grep { $_->{record} } @rules;

cmp_ok(scalar keys %type, '>', 20, 'docs/operating.md lists the metrics');

# names of metrics in an expression, without what is in quotes
sub names {
    my ($text) = @_;

    $text =~ s/"[^"]*"//g;

    return $text =~ /(?<![\w:])((?:\w+:)?slidewin_\w+(?::\w+)?)/g;
}

my @exprs_of_rules = map { $_->{text} =~ /^ +expr:(.*?)^ +(?:for:|\z)/ms
                           ? $1 : $_->{text} =~ /^ +expr:(.*)/ms } @rules;

is(join(' ', grep { !$known{$_} && !$recorded{$_} }
             map { names($_) } @exprs_of_rules), '',
   'the rules use no other metric');
is(join(' ', grep { !$known{$_} }
             map { names($_) } $tests =~ /^ +(?:- series: (?:>-\n +)?)(.*)$/mg),
   '', 'nor do their tests');

my @used = map { names($_) } @exprs, @queries;

is(join(' ', grep { !$known{$_} } @used), '',
   'the dashboard uses no other metric, and needs no rule');

my %shown = map { ($known{$_} // '') => 1 } @used;

is(join(' ', grep { !$shown{$_} && !$not_needed{$_} } sort keys %type), '',
   '... and every metric is in it');
is(join(' ', grep { $shown{$_} || !$type{$_} } sort keys %not_needed), '',
   '... but for those that it does not need');

# counters are read by rate or increase alone, and gauges never
my @misread;

for my $expr (@exprs, @exprs_of_rules) {
    my $text = $expr =~ s/"[^"]*"//gr;

    while ($text =~ /(\w+)?\(?\s*(?<![\w:])(slidewin_\w+)(?![\w:])(?:\{[^}]*\})?(\[)?/g)
    {
        my ($function, $name, $range) = ($1 // '', $2, $3);
        my $of = $known{$name} // next;
        my $read = $range && $function =~ /^(?:rate|increase)$/ ? 'counter'
                 : $range ? 'a range' : 'gauge';

        push @misread, "$name as $read: $expr"
            if $read ne ($type{$of} eq 'gauge' ? 'gauge' : 'counter');
    }
}

is(join("\n", @misread), '', 'counters are read as counters, gauges as gauges');

done_testing();
