# Pages that are read in a hurry: a short README.md, lines that fit, plain
# words.

use strict;
use warnings;
use utf8;

use SlidewinDocs;
use Test::More;

my $words = qr/\b(?:whoever|somebody|nobody|anybody|reckon\w*
                 |(?:is|are)\s+said|(?:is|are)\s+away)\b/xi;

cmp_ok(scalar(split /\n/, SlidewinDocs::page('README.md')->{text}), '<=', 150,
       'README.md has at most 150 lines');

for my $page (SlidewinDocs::pages()) {
    # a row of a table cannot be broken
    my @long = map { $_->[0] }
               grep { $_->[1] !~ /^ *\|/ && length $_->[1] > 100 }
               @{$page->{prose}};
    my @bad = SlidewinDocs::prose($page) =~ /($words)/g;
    # a number and a dot at the start of a line begin a list
    my @lists = map { $_->[0] } grep { $_->[1] =~ /^ *\d{3,}\. / }
                @{$page->{prose}};

    is("@long", '', "$page->{path}: lines are at most 100 columns");
    is("@bad", '', '... words are plain');
    is("@lists", '', '... and no number begins a list');
    is(join(' ', grep { !/^(?:nginx|sh|text|json|perl|c|lua|diff)$/ }
                 map { $_->{language} } @{$page->{fences}}), '',
       '... every block says what it is');
}

done_testing();
