# ./build.sh accuracy says the same each time, its guarantees hold, and what the
# pages quote of it is what it prints.

use strict;
use warnings;
use utf8;

use Encode ();
use File::Temp ();
use SlidewinDocs;
use SlidewinNginx;
use Test::More;

my $root = SlidewinDocs::root();
my $dir = File::Temp->newdir;

# accuracy NAME, SETTING => VALUE...: what it prints, and the file of figures
sub accuracy {
    my ($name, %settings) = @_;
    local @ENV{keys %settings} = values %settings;
    my $said = `$root/build.sh accuracy $dir/$name 2>$dir/errors`;

    is($?, 0, "./build.sh accuracy, $name")
        or diag(SlidewinNginx::slurp("$dir/errors"));
    is($said, SlidewinNginx::slurp("$dir/$name/table.md"),
       '... table.md has what it prints');

    return Encode::decode('UTF-8', $said),
           SlidewinNginx::slurp("$dir/$name/figures.tsv");
}

# tables TEXT: [first line, the whole]
sub tables {
    return map { [/^(.*)\n/, $_] } $_[0] =~ /^((?:\|.*\n)+)/mg;
}

my @quick = accuracy('quick', ACCURACY_PART => 50);

is_deeply([accuracy('again', ACCURACY_PART => 50)], \@quick,
          'the same seed says the same');
isnt((accuracy('other', ACCURACY_PART => 50, ACCURACY_SEED => 2))[1],
     $quick[1], 'another seed does not');

delete local @ENV{qw(ACCURACY_PART ACCURACY_SEED)};
my ($said, $figures) = accuracy('whole');

# guarantees

my (%figure, @above, @wrong, %checked);

for my $row (map { [split /\t/] } split /\n/, $figures) {
    my ($measure, $traffic, $limit, $rule, $name, $value) = @$row;

    $figure{"$measure, $traffic, $limit, $rule, $name"} = $value;
}

for my $key (sort grep { /, most$/ } keys %figure) {
    my ($measure, $traffic, $limit, $rule) = split /, /,
        $key =~ s/mix, bursty/mix bursty/r;
    my $bound = $measure eq 'limited'
        ? { counter => 2 * $limit - 1, fixed => 2 * $limit,
            strict => $limit, log => $limit }->{$rule}
        : $figure{"$measure, any, $limit, $rule, bound"};

    next if $measure eq 'offered';
    $checked{$measure}++;
    push @above, $key if !defined $bound || $figure{$key} > $bound;
}

is("@above", '', 'no rolling window has more than is guaranteed');
is_deeply(\%checked, { limited => 5 * 7 * 4, lease => 10 * 3,
                       fallback => 4 * 2 * 2 }, '... of all');

for my $key (sort grep { /^limited, .*, (?:wrongly_\w+|mean_error)$/ }
             keys %figure)
{
    my $never = $key =~ /, log, /
                || $key =~ /, strict, wrongly_admitted$/
                || $key =~ /, fixed, wrongly_rejected$/;

    push @wrong, $key if $never && $figure{$key} != 0;
}

is("@wrong", '', 'log is never wrong, strict never admits, fixed never rejects'
   . ' wrongly');

# what the pages quote

my %printed = map { @$_ } tables($said);
my %quoted;

for my $page (SlidewinDocs::pages()) {
    for my $table (tables($page->{text})) {
        my $printed = $printed{$table->[0]} // next;

        is($table->[1], $printed,
           "$page->{path} has the table: $table->[0]");
        $quoted{$table->[0]} = $page->{path};
    }
}

cmp_ok(scalar(keys %quoted), '==', 9, 'the pages quote nine tables');

my $text = SlidewinDocs::page('docs/algorithms.md')->{text};
my ($times) = $text =~ /get up to ([\d.]+)\s+times the limit/;
my ($off) = $text =~ /the estimate is ([\d.]+)% off/;
my ($mix) = $said =~ /^\| mix, every.*?^\| limit 100 \| ([\d.]+)%/ms;

is($times, sprintf('%.1f', $figure{'limited, bursty, 100, counter, most'}
                           / 100), '... what bursts get through');
is($off, $mix, '... how far the estimate is off');

done_testing();
