# The version of the module is in one header. build.sh prints it without
# building, and CHANGES.md begins with it.

use strict;
use warnings;

use File::Find ();
use File::Temp ();
use Test::More;

my $root = $ENV{SLIDEWIN_ROOT} // '.';
my $header = 'ngx_http_slidewin_module/ngx_http_slidewin_module.h';

sub slurp {
    open my $file, '<:raw', $_[0] or die "$_[0]: $!";
    local $/;
    return <$file>;
}

my ($version) = slurp("$root/$header")
                =~ /^#define NGX_HTTP_SLIDEWIN_VERSION +"(\d+\.\d+\.\d+)"$/m;

ok(defined $version, "$header has the version") or do {
    done_testing();
    exit;
};

for my $verb (qw(version --version)) {
    is(`$root/build.sh $verb`, "$version\n", "./build.sh $verb prints it");
    is($?, 0, '... and ends well');
}

my $said = `$root/build.sh version 1 2>&1`;

is($? >> 8, 2, './build.sh version takes no argument');
like($said, qr/^'version' takes no argument: 1$/m, '... and says so');

# a tree that was never built
{
    my $dir = File::Temp->newdir;

    mkdir "$dir/a tree";
    is(system('cp', '-r', "$root/build.sh", "$root/tools",
              "$root/ngx_http_slidewin_module", "$dir/a tree"), 0, 'a copy');
    is(`'$dir/a tree/build.sh' version`, "$version\n", '... has the version');
    ok(!-e "$dir/a tree/build", '... and builds nothing for it');
}

# no other file: a second place would be forgotten at the next release
{
    my @others;

    File::Find::find({ no_chdir => 1, wanted => sub {
        my $path = s{^\Q$root\E/?}{}r;

        $File::Find::prune = 1 if $path =~ m{^(?:build|\.git)$};
        return if !-f || $path eq $header || $path eq 'CHANGES.md';
        push @others, $path
            if slurp($_) =~ /\b(?:slidewin|version)[ "\/=_-]+v?\Q$version\E\b/i;
    } }, $root);

    is("@others", '', "no file but the header and CHANGES.md has $version");
}

# CHANGES.md: "## VERSION (unreleased)", a date when it is released

my $changes = slurp("$root/CHANGES.md");
my @headings = $changes =~ /^## (.*)$/mg;
my $form = qr/^(\d+)\.(\d+)\.(\d+) \((unreleased|\d{4}-\d\d-\d\d)\)$/;

is(join('|', grep { !/$form/ } @headings), '',
   'CHANGES.md: each heading is a version and its date, or "unreleased"');

my @versions = map { /$form/ ? "$1.$2.$3" : () } @headings;
my @numbers = map { sprintf '%05d%05d%05d', split /\./ } @versions;

is($versions[0], $version, '... the first one is that of the header');
is("@numbers", join(' ', reverse sort @numbers), '... the newest comes first');
is(join('|', grep { /unreleased/ } @headings[1 .. $#headings]), '',
   '... all others are released');

# git may be missing, or know no tags
my $tags = `git -C $root tag --list v$version 2>/dev/null`;

unlike($headings[0], qr/unreleased/, '... a version with a tag has a date')
    if length $tags;

done_testing();
