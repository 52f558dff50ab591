# The module loads and a configuration passes nginx -t: without directives of
# the module, as another user, and into an nginx it was not built for.

use strict;
use warnings;

use File::Temp ();
use POSIX ();
use Test::More;

my $nginx = $ENV{TEST_NGINX_BINARY} || 'nginx';
my ($module) = split ' ', $ENV{TEST_NGINX_LOAD_MODULES} // '';

# nginx -t does not free its memory
$ENV{ASAN_OPTIONS} =~ s/detect_leaks=1/detect_leaks=0/
    if defined $ENV{ASAN_OPTIONS};

my $dir = File::Temp::tempdir('slidewin.XXXXXX', TMPDIR => 1, CLEANUP => 1);
mkdir "$dir/logs";

sub slurp {
    my ($path) = @_;

    open my $file, '<:raw', $path or die "$path: $!";
    local $/;
    return <$file>;
}

sub spew {
    my ($path, $text) = @_;

    open my $file, '>:raw', $path or die "$path: $!";
    print $file $text;
    close $file or die "$path: $!";

    return $path;
}

# tested TEXT, ...: what nginx -t prints about it, and its exit code
sub tested {
    my ($text, %how) = @_;
    my $load = $how{module} // $module;

    spew("$dir/nginx.conf", <<"END");
load_module $load;
pid $dir/logs/nginx.pid;
error_log stderr;
events { }
$text
END

    my $pid = open(my $output, '-|') // die "fork: $!";

    if ($pid == 0) {
        open STDERR, '>&', \*STDOUT;

        if ($how{user} && $> == 0) {
            POSIX::setgid($how{user});
            POSIX::setuid($how{user});
        }

        exec $how{nginx} // $nginx, '-t', '-p', "$dir/", '-c', "$dir/nginx.conf",
             '-e', 'stderr' or POSIX::_exit(127);
    }

    local $/;
    my $said = <$output>;
    close $output;

    return ($? >> 8, $said);
}

my $http = <<"END";
http {
    access_log off;
    client_body_temp_path $dir/body;
    proxy_temp_path $dir/proxy;
    fastcgi_temp_path $dir/fastcgi;
    uwsgi_temp_path $dir/uwsgi;
    scgi_temp_path $dir/scgi;
    BODY
}
END

sub http { (my $text = $http) =~ s/BODY/$_[0]/; return $text }

my $limited = http(<<"END");
    slidewin_zone \$remote_addr zone=one:1m rate=5r/m;
    slidewin_zone \$remote_addr zone=two:1m rate=5r/m algorithm=log on_error=open;
    server { listen unix:$dir/http; slidewin zone=one; slidewin zone=two; }
END

my ($code, $said) = tested('');

is($code, 0, 'no http at all');
unlike($said, qr/\[(?:warn|error|crit|alert|emerg)\]/, 'nothing to say about it');

($code, $said) = tested(http("server { listen unix:$dir/http; }"));
is($code, 0, 'no directive of the module');

($code, $said) = tested($limited);
is($code, 0, 'limits') or diag $said;

# the other user may have no access to the build directory
chmod 0777, $dir, "$dir/logs";
spew("$dir/nginx", slurp($nginx));
spew("$dir/module.so", slurp($module));
chmod 0755, "$dir/nginx", "$dir/module.so";
unlink "$dir/logs/nginx.pid";

($code, $said) = tested($limited, user => 65534, nginx => "$dir/nginx",
                        module => "$dir/module.so");
is($code, 0, 'limits, tested by a user without rights') or diag $said;

($code, $said) = tested(http('slidewin_zone $remote_addr zone=one:1m rate=5;'));
is($code, 1, 'a bad value fails the test');
like($said, qr/\[emerg\] .*invalid rate "rate=5"/, 'and is said');


# nginx loads modules with global symbols: those of hiredis must be hidden.

is(join(' ', sort map { (split)[-1] } `nm -D --defined-only $module`),
   'ngx_module_names ngx_module_order ngx_modules',
   'the module shows what nginx looks for, and nothing else');


# The version and the signature in the module's file, changed.

my $image = slurp($module);

# NGX_MODULE_V1 begins with two indexes, a name, two spares and the version
my ($major, $minor, $patch) = `$nginx -v 2>&1` =~ m{nginx/(\d+)\.(\d+)\.(\d+)};
my $version = $major * 1_000_000 + $minor * 1000 + $patch;
my $start = pack('q<2 x24', -1, -1);
my $other = $image;

my ($from, $to) = map { pack 'q<', $_ } $version, 1_021_000;

ok($other =~ s/\Q$start\E\K\Q$from\E/$to/sg, 'the module has a version');

($code, $said) = tested('', module => spew("$dir/old.so", $other));
is($code, 1, 'a module of another version is refused');
like($said, qr{\[emerg\] .*"$dir/old\.so" version 1021000 instead of $version},
     'and is said');

$other = $image;
ok($other =~ s/\b8,4,8,\K([01])(?=[01]{20,}\0)/1 - $1/e,
   'the module has a signature');

($code, $said) = tested('', module => spew("$dir/alien.so", $other));
is($code, 1, 'a module that was built otherwise is refused');
like($said, qr{\[emerg\] .*module "$dir/alien\.so" is not binary compatible},
     'and is said');

done_testing();
