# The pictures of the documentation are what the sources draw today: a change of
# an algorithm, or of a figure in a table, without `./build.sh pictures` shows.

use strict;
use warnings;

use File::Basename 'basename';
use File::Temp ();
use Test::More;

my $root = $ENV{SLIDEWIN_ROOT} // '.';
my $drawn = File::Temp->newdir;

sub slurp {
    open my $file, '<:raw', $_[0] or return '';
    local $/;
    return <$file>;
}

my $said = do {
    # what is drawn does not depend on who draws it
    local $ENV{LC_ALL} = 'C';
    local $ENV{PYTHONHASHSEED} = 1;
    `$root/build.sh pictures $drawn 2>&1`;
};

is($?, 0, './build.sh pictures') or diag($said);

my @names = map { basename($_) } glob "$drawn/*.svg";

is_deeply(\@names, [map { basename($_) } glob "$root/docs/img/*.svg"],
          'all pictures are drawn, and no others');

for my $name (@names) {
    my $picture = slurp("$root/docs/img/$name");

    ok($picture eq slurp("$drawn/$name"),
       "$name is as it is drawn, or run ./build.sh pictures");
    like($picture, qr/\@media \(prefers-color-scheme: dark\)/,
         '... light and dark');
    like($picture, qr{<title id="title">[^<]+</title>\n<desc id="desc">[^<]+<},
         '... with a title and a description');
    unlike($picture, qr{<(?:script|image|foreignObject)|(?:href|src)=|url\([^#]},
           '... that needs nothing from elsewhere');
}

open my $pipe, '-|', 'python3', '-B', '-c', <<'END_OF_CODE', glob "$drawn/*.svg"
import sys
import xml.etree.ElementTree as tree

for path in sys.argv[1:]:
    svg = tree.parse(path).getroot()
    width, height = (float(svg.get(key)) for key in ('width', 'height'))
    for text in svg.iter('{http://www.w3.org/2000/svg}text'):
        x, y = float(text.get('x')), float(text.get('y'))
        if not (abs(x) < max(width, height) and y < height):
            print(path, 'has words outside of it:', ''.join(text.itertext()))
END_OF_CODE
    or die "python3: $!";
is(join('', <$pipe>), '', 'no words are outside of a picture');
ok(close $pipe, 'all are well-formed');

my (%shown, %there);

for my $page ("$root/README.md", glob "$root/docs/*.md") {
    $shown{$_} = 1 for slurp($page) =~ m{\]\((?:docs/)?img/([^)]+)\)}g;
}
@there{@names, map { basename($_) } glob "$root/docs/img/*.png"} = ();

is(join(' ', grep { !exists $there{$_} } sort keys %shown), '',
   'each picture that a page shows is there');

done_testing();
