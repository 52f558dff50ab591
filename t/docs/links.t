# Links between the pages lead to files and headings that exist, and so do
# pictures; README.md lists every page of docs/.

use strict;
use warnings;

use SlidewinDocs;
use Test::More;

# anchors as GitHub makes them

my %anchors = (
    'slidewin_zone' => 'slidewin_zone',
    'What does 60r/m mean in one second?' => 'what-does-60rm-mean-in-one-second',
    'What `on_error=` does, and *why*' => 'what-on_error-does-and-why',
    'See [Redis](redis.md#tls) -- first' => 'see-redis----first',
);

is(SlidewinDocs::anchor($_), $anchors{$_}, "the anchor of '$_'")
    for sort keys %anchors;

my @pages = SlidewinDocs::markdown();

cmp_ok(scalar @pages, '>', 3, 'there are pages');

for my $page (@pages) {
    is(join(' ', SlidewinDocs::broken($page)), '',
       "$page->{path}: every link leads somewhere");
}

# a page that is not listed is not found

my $list = SlidewinDocs::page('README.md')->{text};

for my $page (grep { $_->{path} =~ m{^docs/} } @pages) {
    ok($list =~ /^\|.*\]\(\Q$page->{path}\E\)/m,
       "README.md lists $page->{path}");
}

done_testing();
