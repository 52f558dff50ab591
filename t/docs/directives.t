# docs/directives.md has what the sources register: every directive with its
# contexts and parameters, every variable, every value of one; and nothing else.

use strict;
use warnings;

use File::Find ();
use SlidewinDocs;
use Test::More;

my $root = SlidewinDocs::root();
my $page = SlidewinDocs::page('docs/directives.md');
my $source = '';

File::Find::find({ no_chdir => 1, wanted => sub {
    $source .= SlidewinNginx::slurp($_) if /\.c$/;
} }, "$root/ngx_http_slidewin_module");

# what the page says: "Syntax:", "Default:" and "Context:" of each section

my %section;

while ($page->{text} =~ /^\#\# (slidewin\w*)\n(.*?)(?=^\#\# |\z)/msg) {
    my ($name, $text) = ($1, $2);
    my ($syntax, $default, $context) = $text =~ /^```text\n
        Syntax:\ +(.*?)\nDefault:\ +([^\n]*)\nContext:\ +([^\n]*)\n```$/msx;

    ok(defined $context, "$name: has syntax, default and context") or next;

    $section{$name} = { text => $text, syntax => $syntax,
                        context => $context };

    is(join(' ', grep { $_ ne $name } $syntax =~ /(?:^|;\n *)(\w+)/g), '',
       '... the syntax is its own');
    like($default, qr{^(?:\x{2014}|\Q$name\E .*;)$}, '... the default, too');
}

# the command table

my %flags = (
    NGX_HTTP_MAIN_CONF => 'http', NGX_HTTP_SRV_CONF => 'server',
    NGX_HTTP_LOC_CONF => 'location', NGX_HTTP_LIF_CONF => 'if in location',
);
my %context;

while ($source =~ /\{\s*ngx_string\("(slidewin\w*)"\),\s*(NGX_HTTP[\w\s|]+),/g) {
    my ($name, $flags) = ($1, $2);

    $context{$name} = join ', ', grep { defined } map { $flags{$_} }
                      $flags =~ /\w+/g;
}

cmp_ok(scalar keys %context, '>', 0, 'the sources have directives');
is(join(' ', sort keys %section), join(' ', sort keys %context),
   'the page has all of them');

is($section{$_} && $section{$_}{context}, $context{$_}, "the context of $_")
    for sort keys %context;

# Tables of parameters: there is one directive whose syntax has just these.

my @tables = $source =~ /_param_t\s+\w+\[\]\s*=\s*\{(.*?)\n\};/sg;

cmp_ok(scalar @tables, '>', 0, 'the sources have parameters');

sub parameters {
    my ($syntax) = @_;

    # "[headers=off]" and "[dry_run]", not the "=delta" of "legacy[=delta]"
    return sort($syntax =~ /(?:^|[\s\[])(\w+=)/g, $syntax =~ /\[(\w+)\]/g);
}

for my $table (@tables) {
    my @names = sort $table =~ /ngx_string\("([^"]+)"\)/g;
    my @found = grep { join(' ', parameters($section{$_}{syntax})) eq "@names" }
                sort keys %section;

    is(scalar @found, 1, "a syntax has exactly @names")
        or diag(map { "$_: @{[parameters($section{$_}{syntax})]}\n" }
                sort keys %section);

    my $text = $section{$found[0] // ''}{text} // '';
    my @missing = grep { $text !~ /^- .*`\Q$_\E/m } @names;

    is("@missing", '', '... which are explained');
}

# variables

my @variables = sort $source =~ /\{\s*ngx_string\("(slidewin_\w+)"\),\s*NULL,/g;
my @listed = sort $page->{text} =~ /^\| `\$(slidewin_\w+)` \|(?!.*\bmeaning\b)/mg;

cmp_ok(scalar @variables, '>', 0, 'the sources have variables');
is("@listed", "@variables", 'the page has all of them');

for my $other (SlidewinDocs::pages()) {
    my %known = map { $_ => 1 } @variables;
    my @unknown = grep { !$known{$_} }
                  $other->{text} =~ /\$(slidewin_\w+)/g;

    is("@unknown", '', "$other->{path}: no other variable");
}

# their values, and the algorithms: [SOMETHING] = ngx_string("value")

my @values = $source =~ /\[(?:NGX_HTTP_SLIDEWIN|SW)_\w+\]\s*=
                         \s*ngx_string\("(\w+)"\)/xg;

cmp_ok(scalar @values, '>', 0, 'the sources have values');
is(join(' ', grep { $page->{text} !~ /`$_`/ } @values), '',
   'the page has all of them');

done_testing();
