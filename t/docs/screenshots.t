# ./build.sh screenshots takes those that the pages show, small enough for a page
# that is read on the way.

use strict;
use warnings;

use File::Basename 'basename';
use File::Temp ();
use SlidewinNginx;
use Test::More;

my $root = $ENV{SLIDEWIN_ROOT} // '.';
my $taken = File::Temp->newdir;
my %size = (
    'dashboard-dark.png' => '1280x680', 'dashboard-light.png' => '1280x900',
    'dashboard-phone.png' => '720x1480', 'dashboard-trouble.png' => '1280x680',
    'replay.png' => '1280x486',
);

my $said = do {
    local $ENV{SCREENSHOT_SECONDS} = 3;
    `$root/build.sh screenshots $taken 2>&1`;
};

is($?, 0, './build.sh screenshots') or diag($said);

for my $directory ($taken, "$root/docs/img") {
    my @paths = glob "$directory/*.png";

    is(join(' ', map { basename($_) } @paths), join(' ', sort keys %size),
       $directory eq $taken ? 'all are taken' : 'the pages have the same');

    for my $path (@paths) {
        my $name = basename($path);
        my $picture = SlidewinNginx::slurp($path);

        is(join('x', unpack 'x16 N2', $picture), $size{$name}, "$name has its size");
        cmp_ok(length $picture, '<', 150 * 1024, '... in less than 150 KB');
        unlike($picture, qr/\0{3}.(?:tEXt|iTXt|eXIf)/s, '... and nothing but the picture');
    }
}

my $pages = join '', map { SlidewinNginx::slurp($_) } glob "$root/docs/*.md";

ok($pages =~ m{!\[[^]]+\]\(img/\Q$_\E\)}, "a page shows $_, and says what it is")
    for map { basename($_) } glob "$root/docs/img/*.png";

done_testing();
