# Links between the pages lead to files and headings that exist, and so do
# pictures and names of suites; README.md lists every page of docs/.

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

# `t/redis/exact-across-edges.t`, or without the t/ where the page says so

my $root = SlidewinDocs::root();
my $suites = 0;

for my $page (@pages) {
    my @names = map { $_->[1] =~ m{`(?:\./build\.sh test )?([\w/.-]+\.[tc])`}g }
                @{$page->{prose}};
    my @missing = grep { !-e "$root/$_" && !-e "$root/t/$_" }
                  grep { m{/} && !m{/(?:ngx_|sw_|redis_)|NAME} } @names;

    $suites += @names;
    is("@missing", '', "$page->{path}: every suite that it names is there");
}

cmp_ok($suites, '>', 20, 'the pages name suites');

# a page that is not listed is not found

my $list = SlidewinDocs::page('README.md')->{text};

for my $page (grep { $_->{path} =~ m{^docs/} } @pages) {
    ok($list =~ /^\|.*\]\(\Q$page->{path}\E\)/m,
       "README.md lists $page->{path}");
}

done_testing();
