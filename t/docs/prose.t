# Pages that are read in a hurry: a short README.md, lines that fit, plain
# words. All pages of the repository, and the examples.

use strict;
use warnings;
use utf8;

use Encode ();
use SlidewinDocs;
use Test::More;

my $root = SlidewinDocs::root();
my $columns = 100;
my $words = qr/\b(?:whoever|somebody|nobody|anybody|reckon\w*
                 |(?:is|are|was|were)\s+said|(?:is|are|was|were)\s+away)\b/xi;

# what the pages must not have, as they might have it

for my $bad ('Whoever sends more', "it is\nsaid that", 'reckoned', 'are away') {
    like($bad, $words, "'$bad' would be noticed" =~ s/\n/ /r);
}

unlike('as said above, a way', $words, 'other words are not');

cmp_ok(scalar(split /\n/, SlidewinDocs::page('README.md')->{text}), '<=', 150,
       'README.md has at most 150 lines');

my @headings = grep { /^## / } split /\n/,
               SlidewinDocs::page('README.md')->{text};

is($headings[1], '## Install', '... and tells at once how to install');

my %checked;

for my $page (SlidewinDocs::markdown()) {
    $checked{$page->{path}} = 1;

    # a row of a table cannot be broken, nor can a line of a log
    my @long = map { $_->[0] }
               grep { $_->[1] !~ /^ *\|/ && length $_->[1] > $columns }
               @{$page->{prose}};

    for my $fence (grep { $_->{language} ne 'text' } @{$page->{fences}}) {
        push @long, map { "in the block at $fence->{line}: $_" }
                    grep { length > $columns } split /\n/, $fence->{text};
    }

    # comments in configurations are prose, too
    my $text = join "\n", SlidewinDocs::prose($page),
               map { $_->{text} } SlidewinDocs::fences($page, 'nginx');
    my @bad = $text =~ /($words)/g;

    # a number and a dot at the start of a line begin a list
    my @lists = map { $_->[0] } grep { $_->[1] =~ /^ *\d{3,}\. / }
                @{$page->{prose}};

    is("@long", '', "$page->{path}: lines are at most $columns columns");
    is("@bad", '', '... words are plain');
    is("@lists", '', '... and no number begins a list');
    is(join(' ', grep { !/^(?:nginx|sh|text|json|yaml|perl|c|lua|diff)$/ }
                 map { $_->{language} } @{$page->{fences}}), '',
       '... every block says what it is');
}

ok($checked{$_}, "$_ is one of them")
    for qw(README.md CHANGES.md CONTRIBUTING.md t/README.md docs/redis.md
           examples/README.md);

my @examples = glob "$root/examples/*.conf";

cmp_ok(scalar @examples, '>', 0, 'there are examples');

for my $path (@examples) {
    my $text = Encode::decode('UTF-8', SlidewinNginx::slurp($path));
    my ($name) = $path =~ m{(examples/.*)};

    # a sentence goes on behind the next #
    my @bad = $text =~ s/\n *#//gr =~ /($words)/g;

    is(join(' | ', grep { length > $columns } split /\n/, $text), '',
       "$name: lines are at most $columns columns");
    is("@bad", '', '... words are plain');
}

done_testing();
