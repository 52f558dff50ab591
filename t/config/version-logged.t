# nginx logs the version of the module at notice when it loads the module: at
# its start, and at a reload with another file of it. Nothing else logs it.

use strict;
use warnings;

use File::Temp ();
use SlidewinNginx;
use Test::More;

my $root = $ENV{SLIDEWIN_ROOT} // '.';
my ($module) = split ' ', $ENV{TEST_NGINX_LOAD_MODULES} // '';

chomp(my $version = `$root/build.sh version`);
like($version, qr/^\d+\.\d+\.\d+$/, 'the module has a version');

sub logged {
    my ($nginx) = @_;

    return join ' ', map { /: slidewin ([\d.]+)$/ ? $1 : () }
           split /\n/, $nginx->error_log;
}

my $limited = 'slidewin_zone $arg_k zone=a:1m rate=1r/40d;';
my $location = 'location = /a { slidewin zone=a; empty_gif; }';

my %runs = (
    'a limit' => { http => $limited, server => $location },
    'four workers' => { http => $limited, server => $location, workers => 4 },
    'one process' => { http => $limited, server => $location, master => 'off',
                       daemon => 'off' },
    'no directive of the module' => {},
    'no http' => { http_block => '' },
);

for my $name (sort keys %runs) {
    my $nginx = SlidewinNginx->start(%{$runs{$name}});

    is(logged($nginx), $version, "$name: the version is logged, once");
    like($nginx->error_log, qr/ \[notice\] \d+#\d+: slidewin \Q$version\E$/m,
         '... at notice');
    $nginx->stop(name => $name);
}

my $nginx = SlidewinNginx->start(module => 0);
is(logged($nginx), '', 'not loaded: no version is logged');
$nginx->stop(name => 'not loaded');


# reloads

my $dir = File::Temp->newdir;
my $image = SlidewinNginx::slurp($module);
my $newer = $version =~ tr/0-9/9/r;

ok($image =~ s/slidewin \K\Q$version\E\0/$newer\0/, 'another version');

open my $file, '>:raw', "$dir/newer.so" or die "newer.so: $!";
print $file $image;
close $file;

$nginx = SlidewinNginx->start(http => $limited, server => $location);
$nginx->reload for 1 .. 2;
is(logged($nginx), $version, 'reloads: the version is not logged again');

{
    local $ENV{TEST_NGINX_LOAD_MODULES} = "$dir/newer.so";

    $nginx->reload for 1 .. 2;
    is(logged($nginx), "$version $newer",
       'a reload with another file: its version is logged, once');
    $nginx->stop(name => 'reloads');
}


# nginx -t

mkdir "$dir/logs";

for my $log ('stderr', 'stderr notice') {
    open $file, '>', "$dir/nginx.conf" or die "nginx.conf: $!";
    print $file <<"END";
load_module $module;
pid $dir/pid;
error_log $log;
events { }
END
    close $file;

    # nginx -t does not free its memory
    local $ENV{ASAN_OPTIONS} = ($ENV{ASAN_OPTIONS} // '') . ',detect_leaks=0';
    my $said = `@{[SlidewinNginx::binary()]} -t -e stderr -p $dir/ \\
                -c $dir/nginx.conf 2>&1`;

    is($?, 0, "nginx -t, error_log $log");
    like($said, qr/\Anginx: .* is ok\nnginx: .* is successful\n\z/,
         '... says no more than nginx itself');
}

done_testing();
