# What operators ask first has a heading of its own, and the table of README.md
# leads straight to it.

use strict;
use warnings;

use SlidewinDocs;
use Test::More;

my @questions = (
    'is my key right behind a load balancer', 'how do I exempt a client',
    'do rejections count', 'what does `60r/m` mean in one second',
    'what happens when the zone is full', 'what happens when Redis is down',
    'what happens on a reload', 'how large must the zone be',
    'how do I try a stricter limit beside the one that is enforced',
    'what does a location with its own `slidewin` do',
    'which header mode for which client', 'do CORS preflights count',
    'do static assets count', 'which algorithm',
    'how accurate is `counter`', 'what should I log',
    'what limit should I set',
    'what should I alert on', 'how do I clear a client',
);

# text => target, of all links in tables
my %links = map { /\[([^\]]+)\]\((docs\/[^)]+)\)/g }
            grep { /^\|/ } split /\n/,
            SlidewinDocs::page('README.md')->{text};

for my $question (@questions) {
    my ($text) = grep { index($_, $question) == 0 } sort keys %links;
    my ($path, $anchor) = split /#/, $links{$text // ''} // '', 2;

    is($anchor, SlidewinDocs::anchor($question),
       "README.md leads to: $question?") or next;
    ok(scalar(grep { $_ eq $anchor }
              SlidewinDocs::anchors(SlidewinDocs::page($path))),
       "... a heading of $path");
}

done_testing();
