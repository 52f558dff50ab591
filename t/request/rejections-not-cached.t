# proxy_cache stores responses that pass unchanged, and stores no rejection.

use lib 't/lib';
use Test::Nginx::Socket 'no_plan';
use SlidewinClient;

our $UserFiles = [
    ['file' => join('', map { "line $_\n" } 1 .. 2000), '202001010000.00'],
    ['ready.gz' => "\x1f\x8b not really", '202001010000.00'],
];

our $Cache = <<'END';
slidewin_zone $remote_addr zone=one:1m rate=3r/h algorithm=log;
proxy_cache_path cache keys_zone=cache:1m;
server {
    listen 127.0.0.1:$TEST_NGINX_RAND_PORT_1;
    root html;
    add_header X-Origin $slidewin_status always;
    location = /file {
        slidewin zone=one;
    }
    location = /free {
        alias html/file;
    }
}
END

sub without_date {
    my $r = shift;
    delete $r->{headers}{date};
    return [$r->{status}, $r->{headers}, $r->{body}];
}

run_tests();

__DATA__

=== what passes is byte for byte what it is without a limit
--- http_config
slidewin_zone $remote_addr zone=one:1m rate=1000r/h;
--- user_files eval: $::UserFiles
--- config
gzip on;
gzip_types text/plain;
gzip_static on;
etag on;
location /free/ {
    alias html/;
}
location /limited/ {
    slidewin zone=one;
    alias html/;
}
--- client
my $etag = get('/free/file')->{headers}{etag};
my $date = get('/free/file')->{headers}{'last-modified'};

my %cases = (
    'whole' => [200],
    'a range' => [206, 'Range: bytes=100-199'],
    'two ranges' => [206, 'Range: bytes=0-9,100-109'],
    'the end' => [206, 'Range: bytes=-10'],
    'a range that is not there' => [416, 'Range: bytes=1000000-'],
    'If-Range' => [206, 'Range: bytes=5-9', "If-Range: $etag"],
    'If-Range that fails' => [200, 'Range: bytes=5-9', 'If-Range: "no"'],
    'If-None-Match' => [304, "If-None-Match: $etag"],
    'If-None-Match that fails' => [200, 'If-None-Match: "no"'],
    'If-Modified-Since' => [304, "If-Modified-Since: $date"],
    'If-Match that fails' => [412, 'If-Match: "no"'],
    'gzip' => [200, 'Accept-Encoding: gzip'],
);

for my $name (sort keys %cases) {
    my ($status, @headers) = @{ $cases{$name} };
    my ($free, $limited) = map { get("/$_/file", @headers) } qw(free limited);

    # the boundary counts up, and is in the text
    for my $r ($free, $limited) {
        if (($r->{headers}{'content-type'} // '') =~ /boundary=(\d+)/) {
            my $boundary = $1;
            s/$boundary/boundary/g
                for $r->{body}, $r->{headers}{'content-type'};
        }
    }

    is($limited->{status}, $status, "$name: status");
    is_deeply(without_date($limited), without_date($free), "$name: the same");
}

is(get('/limited/file', 'Accept-Encoding: gzip')
   ->{headers}{'content-encoding'}, 'gzip', 'it was compressed');

my ($free, $limited) = map { get("/$_/ready", 'Accept-Encoding: gzip') }
                           qw(free limited);
is($limited->{headers}{'content-encoding'}, 'gzip', 'gzip_static');
is_deeply(without_date($limited), without_date($free), 'gzip_static: the same');



=== a request that a cache can answer is counted still
--- http_config eval: $::Cache
--- user_files eval: $::UserFiles
--- config
location = /free {
    slidewin zone=one;
    proxy_cache cache;
    proxy_cache_valid any 1h;
    proxy_pass http://127.0.0.1:$TEST_NGINX_RAND_PORT_1;
    add_header X-Cache $upstream_cache_status always;
}
--- client
my @r = map { get('/free') } 1 .. 4;

is(join(' ', map { $_->{status} } @r), '200 200 200 429', 'statuses');
is(join(' ', map { $_->{headers}{'x-cache'} // '-' } @r), 'MISS HIT HIT -',
   'the cache had it');



=== a rejection does not enter the cache of its own location
--- http_config eval: $::Cache
--- user_files eval: $::UserFiles
--- config
proxy_cache cache;
proxy_cache_valid any 1h;
proxy_cache_key $uri;
location = /free {
    slidewin zone=one;
    proxy_pass http://127.0.0.1:$TEST_NGINX_RAND_PORT_1;
}
location = /cached {
    proxy_cache_key /free;
    proxy_pass http://127.0.0.1:$TEST_NGINX_RAND_PORT_1/free;
    add_header X-Cache $upstream_cache_status always;
}
location = /spend {
    slidewin zone=one cost=3;
    alias html/file;
}
--- client
is(get('/spend')->{status}, 200, 'all is spent');
is(get('/free')->{status}, 429, 'rejected');

my $r = get('/cached');
is($r->{status}, 200, 'not what is cached');
is($r->{headers}{'x-cache'}, 'MISS', 'nothing is');



=== a rejection is not kept by a cache in front, not even by one that keeps all
--- http_config eval: $::Cache
--- user_files eval: $::UserFiles
--- config
location = /file {
    proxy_cache cache;
    proxy_cache_valid any 1h;
    proxy_cache_key $arg_page;
    proxy_pass http://127.0.0.1:$TEST_NGINX_RAND_PORT_1;
    add_header X-Cache $upstream_cache_status always;
}
--- client
my @r = map { get("/file?page=$_") } 1 .. 4, 4, 1;

is(join(' ', map { $_->{status} } @r), '200 200 200 429 429 200', 'statuses');
is(join(' ', map { $_->{headers}{'x-cache'} } @r),
   'MISS MISS MISS MISS MISS HIT', 'a rejection is asked for anew');
like($r[4]{headers}{'retry-after'}, qr/^3[56]\d\d$/, 'Retry-After');
