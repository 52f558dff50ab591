# The page of slidewin-replay --html in a real browser: it has the figures of
# --json, its slider and its legend do what they say, it asks nothing of any
# server, shows what a client sent as text, and is for everyone.

use strict;
use warnings;
use utf8;

use Encode ();
use File::Temp ();
use JSON::PP ();
use List::Util ();
use SlidewinBrowser;
use SlidewinNginx;
use Test::More;

my $root = $ENV{SLIDEWIN_ROOT} // '.';
my $tool = "$root/build/slidewin-replay";
my $dir = File::Temp::tempdir('slidewin.XXXXXX', TMPDIR => 1, CLEANUP => 1);
my $json = JSON::PP->new->utf8;

my @log = ('--format', 'json', '--key', '.key', "$dir/access.log");
my $evil = '</script><img src=x onerror=alert(1)>';
my $first = 1_431_857_100;

# the minutes in which a client sends a burst, and how much, 250 ms apart
my %bursts = (
    '192.0.2.1'                   => { 2 => 12, 9 => 30, 31 => 8 },
    '192.0.2.2'                   => { 3 => 7 },
    '192.0.2.3'                   => { 5 => 6, 6 => 5, 40 => 11 },
    '2001:db8::/64'               => { 7 => 20 },
    $evil                         => { 10 => 9, 11 => 9 },
    '"onmouseover=alert(1)'       => { 12 => 6 },
    "\x{202e}moc.elpmaxe ключ"    => { 13 => 8 },
    'k' x 300                     => { 14 => 16 },
    map { ("10.0.0.$_" => { $_ => 1 + $_ % 5 }) } 1 .. 30,
);

# a log in the order of time, with paths that mean harm; how many lines it has
sub write_log {
    my @lines;

    for my $key (sort keys %bursts) {
        while (my ($minute, $n) = each %{$bursts{$key}}) {
            for my $i (0 .. $n - 1) {
                my $path = $key eq $evil ? "/</script><b>$i" : '/long' x (20 * ($i == 5)) . '/a';

                push @lines, { msec => $first + 60 * $minute + $i / 4, key => $key, uri => $path,
                               request_uri => $path, method => 'GET', status => 200 };
            }
        }
    }

    open my $file, '>', "$dir/access.log" or die "access.log: $!";
    for my $line (sort { $a->{msec} <=> $b->{msec} || $a->{key} cmp $b->{key} } @lines) {
        # with all its digits, so that it does not seem to be of whole seconds
        my $msec = sprintf '%.3f', delete $line->{msec};

        print {$file} $json->encode($line) =~ s/^\{/{"msec":$msec,/r, "\n";
    }
    close $file or die "access.log: $!";

    return scalar @lines;
}

# replay OPTIONS: what the tool prints
sub replay {
    my (@options) = @_;

    open my $pipe, '-|', $tool, @options, @log
        or die "slidewin-replay: $!";
    local $/;
    my $printed = <$pipe> // '';
    close $pipe;
    is($? >> 8, 0, "slidewin-replay @options");

    return $printed;
}

my $browser = SlidewinBrowser->start;

# look NAME, OPTIONS: the JSON of a run, whose page is open in the browser
sub look {
    my ($name, @options) = @_;
    my $report = $json->decode(replay(@options, '--json'));

    replay(@options, '--html', "$dir/$name.html");
    $browser->order(open => "file://$dir/$name.html");
    ok($browser->reads(qr/replay/, '#headline'), '... and its page opens');

    return $report;
}

sub grouped {
    my ($n) = @_;

    1 while $n =~ s/^(\d+)(\d{3})/$1,$2/;

    return $n;
}

sub counted { return grouped($_[0]) . " $_[1]" . ($_[0] == 1 ? '' : 's') }

# shown TEXT: as the page shows what is not seen
sub shown {
    my ($text) = @_;

    $text =~ s/([\p{C}\p{Zl}\p{Zp}]|(?! )\p{Zs})/sprintf '\\u%04x', ord $1/ge;

    return $text;
}

sub moment {
    my ($time) = @_;
    my $ms = int $time * 1000 + 0.5;
    my @at = gmtime int $ms / 1000;

    return sprintf '%04d-%02d-%02d %02d:%02d:%02d.%03d', $at[5] + 1900, $at[4] + 1,
                   @at[3, 2, 1, 0], $ms % 1000;
}

# line_of CANDIDATE: its name on the page
sub line_of { return "$_[0]{rate} $_[0]{algorithm}" }

# cells SELECTOR: of all rows, as texts without what is folded
sub cells {
    my ($selector) = @_;

    return map { [map { s/\x{a0}/ /gr } @$_] } @{$browser->value(<<'END', $selector)};
        Array.from(document.querySelectorAll(arguments[0]), (tr) => Array.from(tr.cells, (td) =>
            (td.querySelector('details > .key') ?? td.querySelector('.key')
             ?? td.querySelector('strong, .close') ?? td).textContent.trim()))
END
}

# share N, OF: as the page shows both
sub share {
    my ($n, $of) = @_;
    # a tie goes up
    my $text = sprintf '%.3g', $n == 0 ? 0 : 100 * $n / $of + 1e-9;

    return grouped($n) . " ($text %)";
}

sub text { return $browser->text(@_) =~ s/\x{a0}/ /gr }

# fact LABEL: what the page says of the run
sub fact {
    my ($label) = @_;

    return $browser->value(<<'END', $label);
        Array.from(document.querySelectorAll('#run-facts > div'))
            .find((div) => div.querySelector('dt').textContent === arguments[0])
            ?.querySelector('dd').textContent ?? 'not there'
END
}


# The figures.

my $lines = write_log();
$browser->requests;
my $report = look('figures', '--rate', '5r/m,10r/m', '--algorithm', 'counter,log');
my @candidates = @{$report->{candidates}};

is(join('; ', map { line_of($_) } @candidates), '5r/m counter; 5r/m log; 10r/m counter; 10r/m log',
   'four candidates');
is($report->{requests}, $lines, '... of all requests');
cmp_ok($_->{rejected}, '>', 0, line_of($_) . ' rejects some') for @candidates;

my $embedded = $browser->value('JSON.parse(document.getElementById("report").textContent)');
my @series = map { delete $_->{series} } @{$embedded->{candidates}};
delete $_->{series} for @candidates;
is_deeply($embedded->{$_}, $report->{$_}, "the page has $_ of the JSON")
    for qw(lines requests clients key from to candidates peaks);

is(text('#headline'), counted($lines, 'request') . ' of ' . counted(scalar keys %bursts, 'client')
                      . ' replayed', 'it says what was replayed');
is(fact('Lines'), grouped($report->{lines}), '... the lines');
is(fact('From (UTC)'), moment($report->{from}), '... from');
is(fact('To (UTC)'), moment($report->{to}), '... to');
is(fact('A client is'), $report->{key}, '... by which key');
is(fact('Bad lines'), 'not there', '... and nothing of bad lines');
is($browser->value('document.getElementById("advice").hidden') ? 1 : 0,
   $report->{recommendation} ? 0 : 1, 'a recommendation only if there is one');

is_deeply([cells('#candidates tbody tr')],
          [map { [line_of($_), share($_->{rejected}, $_->{requests}),
                  share($_->{clients_rejected}, $_->{clients}), grouped($_->{live_clients}),
                  $_->{zone_size} / 1024 . ' KB', $_->{zone}] } @candidates],
          'the table has the figures of each candidate');

for my $i (0 .. $#candidates) {
    my ($c, $n) = ($candidates[$i], $i + 1);

    is_deeply([cells("#worst > details:nth-of-type($n) tbody tr")],
              [map { [shown($_->{key}), share($_->{rejected}, $_->{requests}),
                      grouped($_->{requests}), grouped($_->{peak}), moment($_->{first}),
                      shown($_->{path})] } @{$c->{worst}}],
              line_of($c) . ': the clients that were hit most');
}

# those of one value stand together, as "p99 p99.9 max: 30"
my %peaks = map { my ($names, $value) = split /: /; map { $_ => $value } split / /, $names }
            grep { /^(?:p\d|max)/ } @{$browser->value('Array.from(
                document.querySelectorAll("#peaks-plot text"), (e) => e.textContent)')};
is_deeply(\%peaks, { map { $_ => grouped($report->{peaks}{$_}) } qw(p50 p90 p99 p99.9 max) },
          'the peaks are those of the JSON');
is($browser->value('document.querySelectorAll("#peaks-plot rect").length'),
   scalar @{$embedded->{histogram}}, '... each has its bar');


# The slider, by keys.

# on_slider: the limit, and what the page says of it
sub on_slider { return map { text("#limit-$_") } qw(rate requests clients) }

# at_limit LIMIT: what the tool says of it
sub at_limit {
    my ($limit) = @_;
    my $c = $json->decode(replay('--rate', "${limit}r/m", '--json'))->{candidates}[0];

    return ("${limit}r/m counter", share($c->{rejected}, $c->{requests}),
            share($c->{clients_rejected}, $c->{clients}));
}

is_deeply([on_slider()], [at_limit(5)], 'the slider begins with the first candidate');
is($browser->value('document.querySelector("#peaks-plot text.limit").textContent'), 'limit 5',
   '... which the plot of peaks has');

my @ladder = map { $_->{limit} } @{$embedded->{ladder}};
my ($begin) = grep { $ladder[$_] == 5 } 0 .. $#ladder;
$browser->order(script => 'document.getElementById("limit").focus()');

for my $move ([ARROW_RIGHT => $begin + 1], [ARROW_RIGHT => $begin + 2],
              [ARROW_LEFT => $begin + 1], [HOME => 0], [END => $#ladder])
{
    my ($key, $at) = @$move;

    $browser->press_keys($key);
    is_deeply([on_slider()], [at_limit($ladder[$at])], "$key moves to $ladder[$at]");
    is($browser->value('document.querySelector("#peaks-plot text.limit").textContent'),
       'limit ' . grouped($ladder[$at]), '... in the plot, too');
    like($browser->value('document.getElementById("limit").getAttribute("aria-valuetext")'),
         qr/^$ladder[$at]r\/m: [\d,]+ requests? and [\d,]+ clients? rejected$/,
         '... and is said');
    is($browser->value('document.querySelectorAll("#peaks-plot rect.hot").length'),
       scalar(grep { $_->{peak} > $ladder[$at] } @{$embedded->{histogram}}),
       '... the peaks above it stand out');
}


# Rejected over time.

my $curves = q{document.querySelectorAll('#series-plot .curve').length};

is($browser->value($curves), 4, 'a line for each candidate');
$browser->press('5r/m log: ' . grouped($candidates[1]{rejected}));
is($browser->value($curves), 3, 'one is switched off');
is(join(' ', @{$browser->value('Array.from(document.querySelectorAll(
   "#legend button"), (b) => b.ariaPressed)')}), 'true false true true', '... which is said');
unlike(text('#at-text'), qr/5r\/m log/, '... it is not spoken of');
$browser->press_keys('SPACE');
is($browser->value($curves), 4, '... and on again, by a key');

$browser->order(script => 'document.getElementById("at").focus()');
$browser->press_keys('HOME');
my %seen;
for my $i (0 .. $#{$series[0]{requests}}) {
    my $said = text('#at-text');
    my $at = moment($series[0]{start} + $i * $series[0]{step}) =~ s/\.\d+$//r;
    my $is = join ', ', "$at UTC: " . counted($series[0]{requests}[$i], 'request'),
                  map { grouped($series[$_]{rejected}[$i]) . ' rejected by '
                        . line_of($candidates[$_]) } 0 .. 3;

    $seen{$said eq $is ? 'right' : "$said instead of $is"}++;
    $browser->press_keys('ARROW_RIGHT');
}
is(join("\n", keys %seen), 'right', 'each time has the figures of the series');

for my $i (0 .. 3) {
    is(List::Util::sum(@{$series[$i]{rejected}}), $candidates[$i]{rejected},
       line_of($candidates[$i]) . ': they add up to what was rejected');
    is(List::Util::sum(@{$series[$i]{requests}}), $lines, '... of all requests');
}


# What a client sent is text.

my $shown = join "\n", map { $_->[0] . "\n" . $_->[5] } cells('#worst tbody tr');

ok(index($shown, $_) >= 0, 'shown as text: ' . Encode::encode('UTF-8', substr $_, 0, 40))
    for $evil, '</script><b>', '"onmouseover=alert(1)', '\u202emoc.elpmaxe ключ', 'k' x 300;
is($browser->value('document.querySelectorAll("img, b, iframe, [style], [onerror]").length'), 0,
   'nothing of it has become markup');
is($browser->value('document.scripts.length'), 2, 'there are the data and one script');


# A line of a configuration is copied.

$browser->press('Copy the line of 10r/m log');
ok($browser->reads(qr/^The line is copied\.$/, '#say'), 'a line is copied, which is said');
is($browser->value('getSelection().toString()'), $candidates[3]{zone}, '... and seen');
$browser->order(script => <<'END');
    const area = document.createElement('textarea');
    document.querySelector('main').append(area);
    area.focus();
END
$browser->press_keys("\x{e009}v");                    # Control and v
is($browser->value('document.querySelector("textarea").value'), $candidates[3]{zone},
   '... and comes out where it is pasted');
$browser->order(script => 'document.querySelector("textarea").remove()');


# For everyone.

for my $role (qw(slider button image heading table region)) {
    my @names = $browser->names($role);

    cmp_ok(scalar @names, '>', 0, "there is a $role");
    is(scalar(grep { !length } @names), 0, '... and each has a name');
}

$browser->order(script => 'for (const d of document.querySelectorAll("details")) d.open = true');

for my $size ([1280, 900], [360, 740]) {
    $browser->order(size => @$size);
    ok($browser->shows('innerWidth === arguments[0]', $size->[0]), "at a width of $size->[0]");
    is($browser->value('document.documentElement.scrollWidth'), $size->[0],
       '... the page is not wider');
    ok($browser->shows('[...document.querySelectorAll(".plot svg")].every((svg) =>
                        svg.viewBox.baseVal.width === svg.clientWidth)'),
       '... the plots are drawn for it');
    for my $scheme ('light', 'dark') {
        $browser->order(prefer => 'prefers-color-scheme', $scheme);
        my $sum = $browser->value('getComputedStyle(document.body).backgroundColor'
                                  . '.match(/\d+/g).reduce((a, b) => a + +b, 0)');

        ok($scheme eq 'light' ? $sum > 600 : $sum < 150, "... $scheme is $scheme");
        is(join("\n", $browser->barriers), '', '... without barriers');
    }
}
is(scalar($browser->names('row')), scalar(@candidates) + 1 + @candidates
   + (map { @{$_->{worst}} } @candidates), 'on a phone the rows are still rows');
$browser->order(size => 1280, 900);


# Other reports.

$report = look('auto', '--rate', 'auto');
is(text('#advice-title'), "Recommended: $report->{recommendation}{rate}", 'a recommendation');
is(join("\n", $browser->texts('#reasons li')), join("\n", @{$report->{recommendation}{reasons}}),
   '... with its reasons');
my ($advised) = grep { $_->{rate} eq $report->{recommendation}{rate} } @{$report->{candidates}};
is(text('#advice .zone .key'), $advised->{zone}, '... and its line');
like((on_slider())[0], qr/^\Q$report->{recommendation}{rate}\E /, '... the slider begins there');
is(join("\n", $browser->barriers), '', '... without barriers');

$report = look('generous', '--rate', '1000r/m');
is($report->{candidates}[0]{rejected}, 0, 'a limit that rejects nothing');
like(text('#times-text'), qr/^No request would have been rejected\. /, '... which is said');
like(text('#worst'), qr/^No client would have been rejected\.$/m, '... of clients, too');
is(join("\n", $browser->barriers), '', '... without barriers');

look('many', '--rate', '1r/m,2r/m,3r/m', '--algorithm', 'all');
is($browser->value($curves), 12, 'twelve candidates');
is($browser->value('new Set(Array.from(document.querySelectorAll("#series-plot .curve"), (c) =>
                    getComputedStyle(c).stroke + getComputedStyle(c).strokeDasharray)).size'), 12,
   '... have lines that differ');
is(join("\n", $browser->barriers), '', '... without barriers');

@log = ('--format', 'combined', "$dir/combined.log");
open my $file, '>', $log[-1] or die "combined.log: $!";
for my $minute ((5) x 5, 'bad', 6) {
    printf {$file} $minute eq 'bad' ? "$evil\a\n"
        : qq(192.0.2.1 - - [17/May/2015:10:0%d:00 +0000] "GET / HTTP/1.1" 200 5 "-" "-"\n), $minute;
}
close $file or die "combined.log: $!";

$report = look('seconds', '--rate', '5r/m', '--algorithm', 'log');
is("@{$report->{candidates}[0]}{qw(rejected_at_least rejected_at_most)}", '0 1',
   'times of whole seconds');
like(text('#candidates tbody'), qr/^at least 0, at most 1$/m, '... bounds are shown');
is(fact('From (UTC)'), '2015-05-17 10:05:00', '... and seconds');
is(fact('Bad lines'), 1, 'a bad line');
is($browser->text('#notes li:last-child'), "First bad line: $report->{first_bad}{file}:6: "
   . "$report->{first_bad}{why}: $evil\\u0007", '... is shown as text');
is(join("\n", map { s/^\s+|\s+$//gr } grep { !/^First bad line/ } $browser->texts('#notes li')),
   join("\n", @{$report->{notes}}), '... below the notes');
is(join("\n", $browser->barriers), '', '... without barriers');


# From where all this came.

is(join("\n", grep { index($_, "file://$dir/") != 0 } map { $_->{url} } $browser->requests), '',
   'nothing was asked for but the pages');
is(join("\n", $browser->console), '', 'the console is empty: the policy was not violated');

$browser->order(script => <<'END');
    const script = document.createElement('script');
    script.textContent = 'window.hacked = 1';
    document.body.append(script);
    document.body.append(Object.assign(new Image(), { src: 'http://127.0.0.1:9/' }));
END
is($browser->value('window.hacked ?? 0'), 0, 'a script that comes later does not run');
ok($browser->shows('1') && 2 == grep({ /Content Security Policy/ } $browser->console),
   '... nor is a picture loaded: the policy is there');

$browser->stop;

done_testing();
