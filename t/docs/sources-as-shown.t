# Pages show the sources as they are: C code stands there to the letter. The
# functions in the walks of docs/architecture.md exist, and its rooms are those
# that tools/layers.pl checks, in that order.

use strict;
use warnings;

use File::Find ();
use SlidewinDocs;
use SlidewinNginx;
use Test::More;

my $root = SlidewinDocs::root();
my $text = SlidewinDocs::page('docs/architecture.md')->{text};
my $sources = '';

File::Find::find({ no_chdir => 1, wanted => sub {
    $sources .= SlidewinNginx::slurp($_) if /\.c$/;
} }, "$root/ngx_http_slidewin_module");

my @code = map { SlidewinDocs::fences($_, 'c') } SlidewinDocs::markdown();

cmp_ok(scalar @code, '>', 0, 'pages show C code');
ok(index($sources, $_->{text}) >= 0,
   "$_->{path}, line $_->{line}: the code is in the sources") for @code;

my ($walks) = $text =~ /^## Walks\n(.*?)^## /ms;
my %functions = map { ($_ => 1) } $walks =~ /`([a-z]+(?:_[a-z]+)*)`/g;

# what nginx, hiredis or the configuration call so, and the verbs of a store
delete @functions{qw(take slidewin_status)};

cmp_ok(scalar keys %functions, '>', 10, 'the walks name functions');
is(join(' ', grep { $sources !~ /^ngx_http_slidewin_\Q$_\E\(/m }
             sort keys %functions), '', '... all of which exist');

my ($table) = $text =~ /^## Rooms\n(.*?)^- /ms;
my @rooms = map { s{^ngx_http_slidewin_module/$}{root}r
                  =~ s{^ngx_http_slidewin_module\.c$}{module}r =~ s{/$}{}r }
            $table =~ /^\| `([^`]+)` \|/mg;
my $layers = SlidewinNginx::slurp("$root/tools/layers.pl");
my ($list) = $layers =~ /^my \@ROOMS = \((.*?)^\);/ms;

is("@rooms", join(' ', $list =~ m{^ +\['?([\w/]+)'? =>}mg),
   'the rooms are those that are checked, in their order');

done_testing();
