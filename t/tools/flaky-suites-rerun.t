# What ./build.sh test does with suites that fail: those that may have failed
# because the machine was busy are run once more, alone; those that found a
# fault of the module are not.

use strict;
use warnings;

use File::Temp ();
use Test::More;

my $root = $ENV{SLIDEWIN_ROOT} // '.';

# the real functions, with made-up suites instead of those of t/
my $driver = <<'END';
set -euo pipefail
shopt -s nullglob
ROOT=$1 BUILD=$2
LOG=$BUILD/log
mkdir -p "$LOG"
. "$ROOT/tools/say.sh"
. "$ROOT/tools/jobs.sh"
. "$ROOT/tools/suite.sh"

suites_of() { [ "$1" != release ] || (cd "$BUILD" && printf '%s\n' t/*.t); }
distribution() { echo none; }
suite() {
    echo "$2" >>"$BUILD/order"
    cd "$BUILD" && prove -v "$2"
}

jobs_begin
all_suites
jobs_end
END

# Fails while this file exists, and removes it.
my $once = <<'END';
use Test::More;
my $first = -e "$0.first";
unlink "$0.first";
END

my $passes = "use Test::More tests => 1;\nok(1);\n";

# run(NAME => TEXT...): what was printed, what was run, the exit code
sub run {
    my (%suites) = @_;
    my $dir = File::Temp->newdir;

    mkdir "$dir/t" or die "$dir/t: $!";
    spill("$dir/driver", $driver);

    for my $name (keys %suites) {
        spill("$dir/t/$name.t", $suites{$name});
        spill("$dir/t/$name.t.first", '');
    }

    my $said = `NO_COLOR=1 bash $dir/driver $root $dir 2>&1`;
    my $rc = $? >> 8;
    my %times;

    $times{$_}++ for slurp("$dir/order") =~ m{t/(.*)\.t}g;

    my %first = map { $_ => slurp("$dir/log/release/t-$_.t.first.log") }
                keys %suites;

    return { said => $said, rc => $rc, times => \%times, first => \%first };
}

sub spill {
    my ($name, $text) = @_;

    open my $file, '>', $name or die "$name: $!";
    print $file $text;
    close $file or die "$name: $!";

    return;
}

sub slurp {
    open my $file, '<', $_[0] or return '';
    local $/;
    return <$file>;
}

my $late = $once . "ok(!\$first, 'in time');\ndone_testing();\n";

{
    my $run = run(good => $passes, late => $late);

    is($run->{rc}, 0, 'a suite that fails once does not fail the run');
    is($run->{times}{late}, 2, '... it is run twice');
    is($run->{times}{good}, 1, '... and no other');
    like($run->{said}, qr{^flaky release t/late\.t: \S+/t-late\.t\.first\.log$}m,
         '... it is told, with its log');
    like($run->{first}{late}, qr/^not ok 1 - in time$/m, '... of the failure');
    like($run->{said}, qr/^3 passed, 0 failed$/m, '... and it has passed');
}

{
    my $run = run(good => $passes, bad => "use Test::More tests => 1;\nok(0);\n");

    is($run->{rc}, 1, 'a suite that fails twice fails the run');
    is($run->{times}{bad}, 2, '... after a second time');
    unlike($run->{said}, qr/^flaky/m, '... and is not called flaky');
    like($run->{said}, qr/^2 passed, 1 failed$/m, '... but failed');
}

{
    my %three = map { ("late$_" => $late) } 1 .. 3;
    my $run = run(%three);

    is($run->{rc}, 0, 'three may be late');
    is(() = $run->{said} =~ /^flaky/mg, 3, '... and are all told');

    $run = run(%three, late4 => $late);

    is($run->{rc}, 1, 'four may not');
    is($run->{times}{late4}, 1, '... and are not run again');
    like($run->{said}, qr/^4 failed, more than 3/m, '... which the run reports');
}

# faults of the module, which do not depend on time

my %fault = (
    'a report of a sanitizer' =>
        'diag("==1==ERROR: AddressSanitizer: heap-use-after-free"); ok(!$first);',
    'undefined behaviour' =>
        'diag("a.c:1:2: runtime error: signed overflow"); ok(!$first);',
    'an alert' =>
        'diag("2026/01/01 [alert] 1#1: open socket #3 left"); ok(!$first);',
    'a crash' =>
        'diag("worker process 1 exited on signal 11"); ok(!$first);',
    'a tally with too many' =>
        q{is($first ? '200 x6, 429 x4' : '200 x5, 429 x5', '200 x5, 429 x5');},
    'too many of one source' =>
        q{is($first ? '200 redis x6, 429 redis x4' : '', }
        . q{'200 redis x5, 429 redis x5') if $first; ok(1);},
    'an admission' => q{is($first ? 200 : 429, 429);},
    'an admission in a list' =>
        q{is_deeply([200, $first ? 200 : 429], [200, 429]);},
    'a count above the limit' =>
        q{cmp_ok($first ? 11 : 10, '<=', 10, 'not more than the limit');},
);

for my $name (sort keys %fault) {
    my $run = run(fault => "$once$fault{$name}\ndone_testing();\n");

    is($run->{rc}, 1, "$name fails the run");
    is($run->{times}{fault}, 1, '... at once');
}

# failures that a busy machine may cause

my %busy = (
    'a tally with too few' =>
        q{is($first ? '200 x4, 503 x1' : '200 x5', '200 x5');},
    'a refusal' => q{is($first ? 429 : 200, 200);},
    'a time' => q{cmp_ok($first ? 11 : 1, '<', 10, 'soon');},
    'a suite that dies' => q{die "late" if $first; ok(1);},
);

for my $name (sort keys %busy) {
    my $run = run(busy => "$once$busy{$name}\ndone_testing();\n");

    is($run->{rc}, 0, "$name is looked at once more") or diag($run->{said});
    is($run->{times}{busy}, 2, '... alone');
}

done_testing();
