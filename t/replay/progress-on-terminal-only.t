# A bar of progress stands on a terminal and goes away; a pipe or a file never sees
# one.

use strict;
use warnings;

use SlidewinReplay;
use Test::More;

my $dir = SlidewinReplay::directory();
my $line = SlidewinReplay::line('combined', { agent => 'x' x 150 });

# members of gzip: a small file with enough lines to take more than a moment
my $path = SlidewinReplay::write("$dir/log", $line x 10000, gzip => 1);

SlidewinReplay::write($path, slurp($path) x 200);

my $program = SlidewinReplay::program();
my $command = "'$program' --key '\$remote_addr' --rate 5r/m '$path'";

# on_terminal COMMAND, ENV: what a terminal shows
sub on_terminal {
    my ($command, %env) = @_;
    local %ENV = (%ENV, TERM => 'xterm', %env);

    return scalar qx{script -qec "$command" /dev/null </dev/null 2>&1};
}

my $shown = on_terminal($command =~ s/\$/\\\$/gr);

is($?, 0, 'on a terminal it ends well');
like($shown, qr/\d+ ?%/, 'a terminal shows how far it is');
like($shown, qr/\r(?!\n)/, '... on one line that is written anew');
like($shown, qr/5r\/m/, '... and then the result');
my ($last) = $shown =~ /.*\d ?%[^\n]*?\r(?!\n)([^\n]*)/s;
like($last // '', qr/\A(?:\e\[[0-9;]*[A-Za-z]| )/, '... which wipes the bar away');

$shown = on_terminal("$command >$dir/out" =~ s/\$/\\\$/gr);
like($shown, qr/\d+ ?%/, 'with the result in a file the bar stays');
unlike(slurp("$dir/out"), qr/\r|\e/, '... out of the file');

my $said = SlidewinReplay::run('--key', '$remote_addr', '--rate', '5r/m', $path);
is($said->{stderr}, '', 'without a terminal there is none');
unlike($said->{stdout}, qr/\r|\e/, '... nor colours');

$shown = on_terminal("$command 2>$dir/err" =~ s/\$/\\\$/gr);
is(slurp("$dir/err"), '', 'errors in a file: none');

$shown = on_terminal("cat '$path' | $command" =~ s/\$/\\\$/gr
                     =~ s/'\Q$path\E'\z/-/r);
is($?, 0, 'from standard input it ends well');
like($shown, qr/5r\/m/, '... on a terminal, too');

sub slurp {
    open my $file, '<:raw', $_[0] or die "$_[0]: $!";
    local $/;
    return readline($file) // '';
}

done_testing();
