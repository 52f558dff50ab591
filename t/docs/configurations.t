# Every configuration that a page shows loads as it is printed, and nginx -t
# has nothing to say about it.

use strict;
use warnings;

use File::Temp ();
use SlidewinCerts;
use SlidewinDocs;
use Test::More;

my $load = join '', map { "load_module $_;\n" }
           split ' ', $ENV{TEST_NGINX_LOAD_MODULES} // '';
my $certs = SlidewinCerts->new;

# what the pages have in /etc/nginx

sub spill {
    my ($path, $text) = @_;

    open my $file, '>', $path or die "$path: $!";
    print $file Encode::encode('UTF-8', $text);
    close $file;

    return;
}

$certs->authority('redis-ca');
$certs->certificate('edge', by => 'redis-ca', for => 'DNS:edge.example');
spill($certs->dir . "/$_.password", "secret\n") for qw(redis sentinel);

# A page shows a whole file, the main level, or what is in http{}.
sub whole {
    my ($text) = @_;

    if ($text !~ /^ *http *\{/m) {
        my @main = $text =~ /^ *load_module .*\n/mg;

        $text =~ s/^ *load_module .*\n//mg;
        $text = join '', @main, "http {\n$text}\n";
    }

    $text = "events { }\n$text" if $text !~ /^ *events *\{/m;

    # a user has an application
    $text =~ s/^( *http *\{)/$1\nupstream app { server 127.0.0.1:1; }\n/m
        if $text =~ m{://app\b} && $text !~ /^ *upstream +app\b/m;

    return $text;
}

# ... which has no place in the system
sub here {
    my ($text, $dir) = @_;
    my $temp = join ' ', map { "${_}_temp_path $dir/$_;" }
               qw(client_body proxy fastcgi uwsgi scgi);
    my %socket;

    # those of one port are one socket
    $text =~ s{(\blisten\s+)([^;\s]+)}
              {$1 . 'unix:' . ($socket{$2} //= "$dir/" . keys %socket)}ge;
    $text =~ s{/etc/nginx/}{$certs->dir . '/'}ge;
    $text =~ s{/var/log/nginx/}{$dir/}g;
    $text =~ s{^ *load_module modules/ngx_http_slidewin_module.so;\n}{$load}m
        or $text = "$load$text";
    $text =~ s/^( *http *\{)/$1\n$temp\n/m;

    return "pid $dir/pid;\n$text";
}

my $number = 0;

for my $page (SlidewinDocs::pages()) {
    for my $fence (SlidewinDocs::fences($page, 'nginx')) {
        my $dir = File::Temp->newdir;
        my $nginx = SlidewinNginx::binary();

        mkdir "$dir/logs";
        spill("$dir/nginx.conf", here(whole($fence->{text}), $dir));

        # nginx -t leaves its own memory behind
        local $ENV{ASAN_OPTIONS} = ($ENV{ASAN_OPTIONS} // '')
                                   . ',detect_leaks=0';
        my $said = `$nginx -t -e stderr -p $dir -c $dir/nginx.conf 2>&1`;

        is($?, 0, "$page->{path}, line $fence->{line}: loads") or diag($said);
        unlike($said, qr/\[(?:warn|error|crit|alert|emerg)\]/,
               '... without a word');
        $number++;
    }
}

cmp_ok($number, '>', 5, 'there are configurations');

done_testing();
