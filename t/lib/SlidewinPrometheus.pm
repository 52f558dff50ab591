package SlidewinPrometheus;

# A real Prometheus, which scrapes what a suite tells it to, and promtool; both
# as build.sh unpacked them. And the text that Prometheus reads, taken apart.

use strict;
use warnings;

use HTTP::Tiny ();
use IPC::Open3 ();
use JSON::PP ();
use POSIX ();
use SlidewinNginx ();
use SlidewinProcess ();

our @ISA = ('SlidewinProcess');

sub _program {
    my ($name) = @_;

    return ($ENV{SLIDEWIN_ROOT} // '.') . "/build/prometheus/usr/bin/$name";
}

# promtool INPUT, ARGUMENTS: its exit code, and all that it said
sub promtool {
    my ($input, @arguments) = @_;
    my $file = File::Temp->new;

    print $file $input;
    close $file;

    open my $stdin, '<', $file->filename or die "$file: $!";
    my $pid = IPC::Open3::open3('<&' . fileno $stdin, my $output, undef,
                                _program('promtool'), @arguments);
    my $said = do { local $/; readline $output };
    waitpid $pid, 0;

    return $? >> 8, $said // '';
}

# start(targets => [ADDRESS...], path => PATH, rules => FILE, interval => '1s'):
# it answers when this returns; its targets may not have been scraped yet
sub start {
    my ($class, %options) = @_;
    my $self = bless { path => '/metrics', interval => '1s', %options },
               $class;
    my $targets = join ', ', map { "'$_'" } @{$self->{targets}};
    my $rules = $self->{rules} ? "rule_files: ['$self->{rules}']" : '';

    $self->make_directories('prometheus');
    $self->{address} = SlidewinProcess::own_address();
    $self->{http} = HTTP::Tiny->new(timeout => 30);

    open my $file, '>', "$self->{root}/prometheus.yml"
        or die "prometheus.yml: $!";
    print $file <<"END";
global:
  scrape_interval: $self->{interval}
  evaluation_interval: $self->{interval}
$rules
scrape_configs:
  - job_name: slidewin
    metrics_path: $self->{path}
    static_configs:
      - targets: [$targets]
END
    close $file;

    $self->{pid} = SlidewinProcess::spawn(sub {
        delete @ENV{qw(ASAN_OPTIONS UBSAN_OPTIONS LSAN_OPTIONS)};
        open STDIN, '<', '/dev/null';
        open STDOUT, '>>', "$self->{root}/log";
        open STDERR, '>&', \*STDOUT;
        { no warnings; exec _program('prometheus'),
            "--config.file=$self->{root}/prometheus.yml",
            "--storage.tsdb.path=$self->{root}/data",
            "--web.listen-address=$self->{address}" }
        print "prometheus: $!\n";
        POSIX::_exit(127);
    });
    $self->register;

    SlidewinNginx::until_true(sub {
        $self->runs or die "Prometheus does not start:\n" . $self->log;
        return $self->{http}->get("http://$self->{address}/-/ready")->{success};
    }, 60) or die "Prometheus does not get ready:\n" . $self->log;

    return $self;
}

sub log { return SlidewinNginx::slurp("$_[0]{root}/log") }

# api PATH, PARAMETERS: the data of the answer
sub api {
    my ($self, $path, %parameters) = @_;
    my $query = $self->{http}->www_form_urlencode(\%parameters);
    my $answer = $self->{http}->get("http://$self->{address}/api/v1/$path"
                                    . "?$query");
    my $json = eval { JSON::PP::decode_json($answer->{content}) }
        or die "$path: $answer->{status} $answer->{content}\n";

    $json->{status} eq 'success' or die "$path $query: $json->{error}\n";

    return $json->{data};
}

# query EXPRESSION: the samples of an instant, [LABELS, VALUE] each
sub query {
    my ($self, $expression) = @_;
    my $data = $self->api('query', query => $expression);

    return map { [$_->{metric}, $_->{value}[1]] } @{$data->{result}};
}

# value EXPRESSION: of a single sample; undef if there is none, or more
sub value {
    my ($self, $expression) = @_;
    my @samples = $self->query($expression);

    return @samples == 1 ? $samples[0][1] : undef;
}

# comes EXPRESSION, VALUE: whether the single sample gets this value
sub comes {
    my ($self, $expression, $value) = @_;

    return SlidewinNginx::until_true(sub {
        my $is = $self->value($expression);
        return defined $is && $is == $value;
    }, 30 * SlidewinNginx::patience());
}

sub stop {
    my ($self) = @_;

    $self->SUPER::stop;
    $self->remove_directories;

    return;
}


# The text format, version 0.0.4.

# parse TEXT: { type => { METRIC => TYPE }, help => { METRIC => TEXT }, order =>
# [SERIES...], value => { SERIES => VALUE }, labels => { SERIES => { NAME =>
# VALUE } }, name => { SERIES => NAME }, bad => [LINE...] }. A series is told by
# its text.
sub parse {
    my ($text) = @_;
    my $m = { map { $_ => {} } qw(type help value labels name) };

    $m->{$_} = [] for qw(order bad);
    push @{$m->{bad}}, 'no newline at the end' if $text !~ /\n\z/;

    for my $line (split /\n/, $text) {
        if ($line =~ /^# (TYPE|HELP) (\w+) (.+)$/) {
            my $of = $m->{lc $1};

            push @{$m->{bad}}, "twice: $line" if exists $of->{$2};
            $of->{$2} = $3;

        } elsif ($line =~ /^((\w+)(?:\{(.*)\})?) (\S+)$/) {
            my ($series, $name, $labels, $value) = ($1, $2, $3 // '', $4);
            my %labels;

            while ($labels =~ /\G(\w+)="((?:[^"\\]|\\[\\"n])*)"(?:,(?=\w)|\z)/gc)
            {
                push @{$m->{bad}}, "a label twice: $line"
                    if exists $labels{$1};
                my ($label, $escaped) = ($1, $2);
                $labels{$label} = $escaped
                    =~ s/\\(.)/$1 eq 'n' ? "\n" : $1/ger;
            }

            push @{$m->{bad}}, "twice: $line" if exists $m->{value}{$series};
            push @{$m->{bad}}, $line if (pos $labels // 0) < length $labels
                || $value !~ /^[-+]?(?:\d+(?:\.\d+)?(?:e[-+]?\d+)?|Inf|NaN)$/i;
            push @{$m->{order}}, $series;
            $m->{value}{$series} = $value;
            $m->{labels}{$series} = \%labels;
            $m->{name}{$series} = $name;

        } elsif (length $line) {
            push @{$m->{bad}}, $line;
        }
    }

    return $m;
}

# metric PARSED, SERIES: the name that the TYPE line has
sub metric {
    my ($m, $series) = @_;
    my $name = $m->{name}{$series};
    my $base = $name =~ s/_(?:bucket|sum|count)$//r;

    return ($m->{type}{$base} // '') eq 'histogram' ? $base : $name;
}

# sum PARSED, NAME, LABELS: of all series of this name that have these labels;
# undef if there is none
sub sum {
    my ($m, $name, %labels) = @_;
    my $sum;

    for my $series (@{$m->{order}}) {
        next if $m->{name}{$series} ne $name;
        next if grep { ($m->{labels}{$series}{$_} // '') ne $labels{$_} }
                keys %labels;
        $sum = ($sum // 0) + $m->{value}{$series};
    }

    return $sum;
}

# counters PARSED: the series that never become less
sub counters {
    my ($m) = @_;

    return grep {
        my $type = $m->{type}{metric($m, $_)} // '';
        $type eq 'counter' || $type eq 'histogram';
    } @{$m->{order}};
}

# faults PARSED: what is wrong with its histograms
sub faults {
    my ($m) = @_;
    my (%buckets, @faults);

    for my $series (@{$m->{order}}) {
        my $name = $m->{name}{$series} =~ s/_bucket$//r;
        next if $name eq $m->{name}{$series};

        my %labels = %{$m->{labels}{$series}};
        my $le = delete $labels{le};
        push @{$buckets{join ',', $name, map { "$_=$labels{$_}" }
                                         sort keys %labels}},
             { le => $le, name => $name, labels => \%labels,
               n => $m->{value}{$series} };
    }

    for my $which (sort keys %buckets) {
        my @b = @{$buckets{$which}};

        push @faults, "$which: the last bucket is $b[-1]{le}"
            if $b[-1]{le} ne '+Inf';

        for my $i (1 .. $#b) {
            push @faults, "$which: le=$b[$i]{le} follows $b[$i - 1]{le}"
                if $b[$i]{le} ne '+Inf' && $b[$i]{le} <= $b[$i - 1]{le};
            push @faults, "$which: $b[$i]{n} of le=$b[$i]{le} after"
                          . " $b[$i - 1]{n}" if $b[$i]{n} < $b[$i - 1]{n};
        }

        my ($count, $sum) = map {
            sum($m, "$b[0]{name}_$_", %{$b[0]{labels}})
        } qw(count sum);

        push @faults, "$which: $b[-1]{n} of le=+Inf, but _count is "
                      . ($count // 'missing')
            if ($count // -1) != $b[-1]{n};
        push @faults, "$which: no _sum" if !defined $sum;
        push @faults, "$which: _sum is $sum, and nothing was counted"
            if !$count && $sum;
    }

    return @faults;
}

1;
