# --help, the manual page and the program know the same options, and the page is
# formatted without a warning.

use strict;
use warnings;

use File::Find ();
use SlidewinRedis;
use SlidewinReplay;
use Test::More;

my $root = SlidewinRedis::root();
my $page;

File::Find::find({ no_chdir => 1, wanted => sub {
    $File::Find::prune = 1 if m{/(?:build|\.git)\z};
    $page = $_ if m{/slidewin-replay\.1\z};
} }, $root);

ok(defined $page, 'there is a manual page') or BAIL_OUT('no manual page');

my $help = SlidewinReplay::run('--help');
is($help->{exit}, 0, '--help ends well');
is($help->{stderr}, '', '... on standard output alone');
cmp_ok((sort { $b <=> $a } map { length } split /\n/, $help->{stdout})[0],
       '<=', 80, '... in 80 columns');

my $version = SlidewinReplay::run('--version');
is($version->{exit}, 0, '--version ends well');
is($version->{stderr}, '', '... on standard output alone');
chomp(my $number = `$root/build.sh version`);
like($version->{stdout}, qr/\Aslidewin-replay \Q$number\E\n\z/,
     '... and is that of the module');

sub format_page {
    my (@options) = @_;
    my $text = `LC_ALL=C.UTF-8 groff -man -ww @options '$page' 2>&1`;

    is($?, 0, 'groff formats the page');

    return $text;
}

is(format_page('-Tutf8', '-z'), '', '... without a warning');
my $text = format_page('-Tascii', '-P-c');
$text =~ s/.\x08//g;
# words that are cut at the end of a line
$text =~ s/(\w)-\n\s+/$1-/g;

sub options {
    my %seen = map { $_ => 1 } $_[0] =~ /(?<![\w-])(--[a-z][a-z-]*[a-z])/g;
    return sort keys %seen;
}

is_deeply([options($text)], [options($help->{stdout})],
          'the page and --help have the same options');

for my $section ('NAME', 'SYNOPSIS', 'DESCRIPTION', 'OPTIONS', 'EXIT STATUS',
                 'EXAMPLES')
{
    like($text, qr/^$section$/m, "the page has $section");
}

like($text, qr/\bslidewin-replay\b/, '... and the name');
unlike($text, qr/\Q$number\E/, '... and leaves the version to --version');

# The program knows each of them: it asks for a value, or takes none.
for my $option (grep { !/^--(?:help|version)$/ } options($help->{stdout})) {
    my $said = SlidewinReplay::run($option);

    is($said->{exit}, 2, "$option alone is not enough");
    unlike($said->{stderr}, qr/unknown|unrecogni[sz]ed|no such option/i,
           '... but known');
}

my $said = SlidewinReplay::run('--sped', 'a.log');
is($said->{exit}, 2, 'an option that is none');
like($said->{stderr}, qr/\Aslidewin-replay: .*--sped/, '... is named');
like($said->{stderr}, qr/--help/, '... and help is offered');

done_testing();
