# The module's RateLimit and Retry-After fields replace those of an upstream, on
# an error page that the upstream makes and on a response that passes. Where the
# module sends none, those of the upstream stay.

use strict;
use warnings;

use File::Temp ();
use Test::More;

use SlidewinNginx;

my $dir = File::Temp::tempdir('slidewin.XXXXXX', TMPDIR => 1, CLEANUP => 1);

chmod 0755, $dir;

# in other case, more than once, and among so many fields that nginx keeps them
# in several list parts
my $fill = join '', map { "add_header X-Fill-$_ $_ always;\n" } 1 .. 45;
my $fields = join '', map { "add_header $_ always;\n" }
             'Retry-After 7', 'RateLimit-Policy \'"up";q=1000\'',
             'RateLimit \'"up";r=999;t=9\'', 'X-RateLimit-Limit 1000',
             'X-RateLimit-Remaining 999', 'X-RateLimit-Reset 9';
my $again = lc($fields) =~ s/add_header (\S+)/add_header \U$1\E/gr
            =~ s/"up"/"again"/gr;

my $locations = <<"END";
    proxy_http_version 1.1;
    slidewin_headers ietf legacy;

    location /page { slidewin zone=one; error_page 429 = \@up; empty_gif; }
    location /same { slidewin zone=one; error_page 429 \@up; empty_gif; }
    location /never { slidewin zone=one cost=2; error_page 429 \@up; empty_gif; }
    location /closed { slidewin zone=bad; error_page 503 \@up; empty_gif; }
    location /passed { slidewin zone=one; proxy_pass http://unix:$dir/up; }
    location /off {
        slidewin_headers off;
        slidewin zone=one;
        proxy_pass http://unix:$dir/up;
    }
    location /legacy {
        slidewin_headers legacy;
        slidewin zone=one;
        proxy_pass http://unix:$dir/up;
    }
    location /hidden {
        slidewin zone=one headers=off;
        proxy_pass http://unix:$dir/up;
    }
    location /cached {
        slidewin zone=many;
        proxy_cache cache;
        proxy_cache_valid any 1h;
        proxy_cache_key all;
        proxy_pass http://unix:$dir/up;
        add_header X-Cache \$upstream_cache_status;
    }
    location \@up { proxy_pass http://unix:$dir/up; }
END

my $nginx = SlidewinNginx->start(http => <<"END", server => $locations);
    slidewin_zone \$arg_k zone=one:1m rate=1r/h algorithm=log;
    slidewin_zone \$arg_k zone=many:1m rate=5r/h algorithm=log;
    slidewin_zone \$arg_k zone=bad:1m rate=\$arg_r on_error=closed;
    proxy_cache_path $dir/cache keys_zone=cache:1m;

    server {
        listen unix:$dir/up;
        $fields
        $fill
        $again
        add_header Cache-Control max-age=3600 always;
        add_header Cache-Control public always;
        return 200 up;
    }

    server {
        listen unix:$dir/http2 http2;
        $locations
    }
END

my $curl = 'curl -s -i -m ' . 30 * SlidewinNginx::patience();

# the status, and of each field all values in their order
sub ask {
    my ($uri, $protocol) = @_;
    my $how = ($protocol // '') eq 'http2'
        ? "--http2-prior-knowledge --unix-socket $dir/http2"
        : '--unix-socket ' . $nginx->path;
    my $text = `$curl $how 'http://localhost$uri'`;
    my ($status) = $text =~ m{^HTTP/\S+ (\d+)};
    my %fields;

    push @{$fields{lc $1}}, $2 while $text =~ /^([\w-]+): (.*?)\r$/mg;

    return ($status // 'none', \%fields, $text =~ /\r\n\r\n(.*)/s);
}

sub values_of {
    my ($fields, $name) = @_;

    return join ' | ', @{$fields->{lc $name} // []};
}

my $limits = qr/3(?:5\d\d|600)/;

sub ours {
    my ($fields, $remaining, $name) = @_;

    is(values_of($fields, 'RateLimit-Policy'), '"one";q=1;w=3600',
       "$name: RateLimit-Policy");
    like(values_of($fields, 'RateLimit'), qr/^"one";r=$remaining;t=$limits$/,
         "$name: RateLimit");
    is(values_of($fields, 'X-RateLimit-Limit'), '1',
       "$name: X-RateLimit-Limit");
    is(values_of($fields, 'X-RateLimit-Remaining'), $remaining,
       "$name: X-RateLimit-Remaining");
    like(values_of($fields, 'X-RateLimit-Reset'), qr/^$limits$/,
         "$name: X-RateLimit-Reset");

    return;
}

for my $protocol ('http', 'http2') {
    for (['page', 200], ['same', 429]) {
        my ($page, $wanted) = @$_;
        my $uri = "/$page?k=$page$protocol";
        my $name = "$protocol /$page";

        ask($uri, $protocol);
        my ($status, $fields, $body) = ask($uri, $protocol);

        is("$status $body", "$wanted up", "$name: the upstream made the page");
        is(scalar(grep { /^x-fill-/ } keys %$fields), 45,
           "$name: with all its fields");
        like(values_of($fields, 'Retry-After'), qr/^$limits$/,
             "$name: Retry-After is ours and once");
        is(values_of($fields, 'Cache-Control'), 'no-store',
           "$name: and it is for no cache");
        ours($fields, 0, $name);
        is(values_of($fields, 'X-RateLimit-Reset'),
           values_of($fields, 'Retry-After'), "$name: the reset is the same");
    }

    my ($status, $fields, $body) = ask("/passed?k=pass$protocol", $protocol);

    is("$status $body", '200 up', "$protocol: passed");
    is(values_of($fields, 'Retry-After'), '7 | 7',
       "$protocol: Retry-After of what passed is the upstream's");
    is(values_of($fields, 'Cache-Control'), 'max-age=3600 | public',
       "$protocol: and so is Cache-Control");
    ours($fields, 0, "$protocol: passed");

    ($status, $fields) = ask("/never?k=never$protocol", $protocol);

    is("$status " . values_of($fields, 'Retry-After'), '429 ',
       "$protocol: what can never pass has no Retry-After at all");
}

my ($status, $fields) = ask('/closed?k=closed');

is("$status " . values_of($fields, 'Retry-After'), '503 7 | 7',
   'an error has none of ours, and that of the page stays');
is(values_of($fields, 'X-RateLimit-Limit'), '1000 | 1000',
   '... and so do the others, where we have none');

($status, $fields) = ask('/off?k=off');

is(values_of($fields, 'X-RateLimit-Limit') . ', '
   . values_of($fields, 'RateLimit'),
   '1000 | 1000, "up";r=999;t=9 | "again";r=999;t=9',
   'slidewin_headers off: all are the upstream\'s');

($status, $fields) = ask('/hidden?k=hidden');

is(values_of($fields, 'X-RateLimit-Limit') . ', '
   . values_of($fields, 'RateLimit'),
   '1000 | 1000, "up";r=999;t=9 | "again";r=999;t=9',
   'headers=off: all are the upstream\'s');

($status, $fields) = ask('/legacy?k=legacy');

is(values_of($fields, 'X-RateLimit-Limit') . ', '
   . values_of($fields, 'RateLimit'),
   '1, "up";r=999;t=9 | "again";r=999;t=9',
   'the form that we do not send is the upstream\'s');

for my $i (1 .. 3) {
    my ($status, $fields) = ask('/cached?k=cached');

    is(join(', ', $status, map { values_of($fields, $_) }
                           qw(X-Cache X-RateLimit-Limit X-RateLimit-Remaining
                              RateLimit-Policy)),
       '200, ' . ($i == 1 ? 'MISS' : 'HIT') . ', 5, ' . (5 - $i)
       . ', "many";q=5;w=3600', "a cache: $i");
}

$nginx->stop;

done_testing();
