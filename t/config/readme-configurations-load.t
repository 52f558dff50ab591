# The configurations in the README pass nginx -t.

use strict;
use warnings;

use File::Temp ();
use Test::More;

use SlidewinNginx;

my $root = $ENV{SLIDEWIN_ROOT} // '.';
my $modules = $ENV{TEST_NGINX_LOAD_MODULES} // '';

open my $file, '<', "$root/README.md" or die "README.md: $!";
my @blocks = join('', <$file>) =~ /^```nginx\n(.*?)^```$/msg;

cmp_ok(scalar @blocks, '>', 0, 'there are configurations');

# this machine has no modules directory, no such application and no free port 80
for my $text (@blocks) {
    my $dir = File::Temp->newdir;
    my $logs = "$dir/logs";
    my $temp = join ' ', map { "${_}_temp_path $dir/$_;" }
               qw(client_body proxy fastcgi uwsgi scgi);

    mkdir $logs or die "$logs: $!";
    $text =~ s{^load_module modules/ngx_http_slidewin_module.so;\n}{}m;
    $text =~ s{listen 80;}{listen unix:$dir/http;};
    $text =~ s|^http \{\n|http { $temp upstream app { server 127.0.0.1:1; }\n|m;

    open my $conf, '>', "$dir/nginx.conf" or die "nginx.conf: $!";
    print $conf map({ "load_module $_;\n" } split ' ', $modules),
                "pid $dir/pid;\nevents { }\n$text";
    close $conf;

    my $said = do {
        # nginx -t does not free its memory
        local $ENV{ASAN_OPTIONS} = ($ENV{ASAN_OPTIONS} // '')
                                   . ',detect_leaks=0';
        my $nginx = SlidewinNginx::binary();
        `$nginx -t -p $dir -c $dir/nginx.conf 2>&1`;
    };

    is($?, 0, 'nginx -t') or diag($said);
    unlike($said, qr/\[(?:warn|error|crit|alert|emerg)\]/, 'without a word');
}

done_testing();
