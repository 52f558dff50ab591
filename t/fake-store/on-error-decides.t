# A store fails, at once or later: on_error of the zone decides.

use lib 't/lib';
use Test::Nginx::Socket 'no_plan';
use SlidewinClient;

our $UserFiles = <<'END';
>>> file
content
END

our $Variables = <<'END';
add_header X-Slidewin "$slidewin_status $slidewin_source $slidewin_zone" always;
add_header X-Limit $slidewin_limit always;
add_header X-Remaining $slidewin_remaining always;
END

our @Failing = ('slidewin_test_store bad fail;',
                'slidewin_test_store bad delay=20ms fail;');

# each block twice: with a store that fails at once and one that fails later
sub twice {
    my ($zone) = @_;
    return map { "$_\n$zone\n" } @Failing;
}

sub summary {
    my $r = shift;
    return join ' | ', map { $_ // '-' } $r->{status},
        @{ $r->{headers} }{qw(x-slidewin x-limit x-remaining)},
        defined $r->{headers}{'retry-after'} ? 'retry' : undef;
}

our @Half = twice('slidewin_zone $remote_addr zone=one:1m rate=4r/h'
                  . ' algorithm=log store=bad on_error=local:50%;');

our $HalfClient = <<'END';
is(summary(get('/file')), '200 | PASSED fallback one | 2 | 1 | -', 'first');
is(summary(get('/file')), '200 | PASSED fallback one | 2 | 0 | -', 'second');
is(summary(get('/file')), '429 | REJECTED fallback one | 2 | 0 | retry',
   'third');
is(summary(get('/file')), '429 | REJECTED fallback one | 2 | 0 | retry',
   'fourth');
is(scalar(error_lines('limiting requests, excess: 1\.000 by zone "one",'
                      . ' client: 127\.0\.0\.1, rate: 4r/h,'
                      . ' fallback limit: 2, retry after: \d+s, server: ')), 1,
   'logged with the limit that applies');
END

our @Open = twice('slidewin_zone $remote_addr zone=one:1m rate=1r/h'
                  . ' store=bad on_error=open;');

our $OpenClient = <<'END';
is(summary(get('/file')), '200 | ERROR_PASSED fail_open one | - | - | -',
   'passed') for 1 .. 4;
is(scalar(grep { !/\[debug\]/ }
          error_lines('passing request uncounted by zone "one", client: ')), 1,
   'logged once, not for each');
END

our @Closed = twice('slidewin_zone $remote_addr zone=one:1m rate=5r/h'
                    . ' store=bad on_error=closed;');

our $ClosedClient = <<'END';
for (1 .. 3) {
    my $r = get('/file');
    is(summary($r), '503 | ERROR_REJECTED fail_closed one | - | - | -',
       'refused');
    is($r->{headers}{ratelimit}, undef, 'no figures');
    is($r->{headers}{'x-ratelimit-limit'}, undef, 'no figures');
}
END

run_tests();

__DATA__

=== local is what happens if nothing is said: the whole limit, in shared memory
--- http_config
slidewin_test_store bad fail;
slidewin_zone $remote_addr zone=one:1m rate=3r/h algorithm=log store=bad;
--- user_files eval: $::UserFiles
--- config eval
$::Variables . 'slidewin zone=one;'
--- client
is(summary(get('/file')), '200 | PASSED fallback one | 3 | 2 | -', 'first');
is(statuses(3, '/file'), '200 200 429', 'the rest');



=== local with a share, a store that fails at once
--- http_config eval: $::Half[0]
--- user_files eval: $::UserFiles
--- config eval
$::Variables . 'slidewin zone=one;'
--- client eval: $::HalfClient



=== local with a share, a store that fails later
--- http_config eval: $::Half[1]
--- user_files eval: $::UserFiles
--- config eval
$::Variables . 'slidewin zone=one;'
--- client eval: $::HalfClient



=== a share is never less than one request
--- http_config
slidewin_test_store bad fail;
slidewin_zone $remote_addr zone=one:1m rate=3r/h algorithm=log store=bad
              on_error=local:10%;
--- user_files eval: $::UserFiles
--- config
slidewin zone=one;
--- request eval
["GET /file", "GET /file"]
--- error_code eval
[200, 429]



=== a share is rounded down
--- http_config
slidewin_test_store bad fail;
slidewin_zone $remote_addr zone=one:1m rate=7r/h algorithm=log store=bad
              on_error=local:50%;
--- user_files eval: $::UserFiles
--- config
slidewin zone=one;
--- request eval
["GET /file", "GET /file", "GET /file", "GET /file"]
--- error_code eval
[200, 200, 200, 429]



=== open, a store that fails at once
--- http_config eval: $::Open[0]
--- user_files eval: $::UserFiles
--- config eval
$::Variables . 'slidewin zone=one;'
--- client eval: $::OpenClient
--- error_log
passing request uncounted by zone "one", client: 127.0.0.1, server: 



=== open, a store that fails later
--- http_config eval: $::Open[1]
--- user_files eval: $::UserFiles
--- config eval
$::Variables . 'slidewin zone=one;'
--- client eval: $::OpenClient
--- error_log
passing request uncounted by zone "one", client: 127.0.0.1, server: 



=== closed, a store that fails at once
--- http_config eval: $::Closed[0]
--- user_files eval: $::UserFiles
--- config eval
$::Variables . 'slidewin zone=one; slidewin_headers ietf legacy;'
--- client eval: $::ClosedClient
--- error_log
rejecting request uncounted by zone "one", client: 127.0.0.1, server: 



=== closed, a store that fails later
--- http_config eval: $::Closed[1]
--- user_files eval: $::UserFiles
--- config eval
$::Variables . 'slidewin zone=one; slidewin_headers ietf legacy;'
--- client eval: $::ClosedClient
--- error_log
rejecting request uncounted by zone "one", client: 127.0.0.1, server: 



=== closed is 503 whatever a rejection is, and satisfy any does not open it
--- http_config eval: $::Closed[1]
--- user_files eval: $::UserFiles
--- config
slidewin_status 403;
location = /file {
    satisfy any;
    slidewin zone=one;
    allow all;
}
--- request
GET /file
--- error_code: 503



=== closed has a page, which is served
--- http_config eval: $::Closed[1]
--- user_files eval: $::UserFiles
--- config
slidewin zone=one;
error_page 503 /file;
--- request
GET /none
--- error_code: 503
--- response_body
content
--- response_headers
Retry-After:



=== a dry run with on_error=closed rejects none
--- http_config eval: $::Closed[1]
--- user_files eval: $::UserFiles
--- config eval
$::Variables . 'slidewin zone=one dry_run;'
--- client
is(summary(get('/file')), '200 | REJECTED_DRY_RUN fail_closed one | - | - | -',
   'passed') for 1 .. 2;



=== a dry run with the fallback counts and rejects none
--- http_config eval: $::Half[1]
--- user_files eval: $::UserFiles
--- config eval
$::Variables . 'slidewin zone=one dry_run;'
--- client
is(summary(get('/file')), '200 | PASSED fallback one | 2 | 1 | -', 'first');
is(summary(get('/file')), '200 | PASSED fallback one | 2 | 0 | -', 'second');
is(summary(get('/file')), '200 | REJECTED_DRY_RUN fallback one | 2 | 0 | -',
   'third');



=== the fallback is exact for many at once
--- http_config eval: $::Half[1]
--- user_files eval: $::UserFiles
--- config
slidewin zone=one;
--- client
my @c = map { tcp() } 1 .. 30;
$_->write("GET /file HTTP/1.1\r\nHost: a\r\n\r\n") for @c;

my @s = map { $_->response->{status} } @c;
is((grep { $_ == 200 } @s), 2, 'passed');
is((grep { $_ == 429 } @s), 28, 'rejected');



=== a store that answers is told from one that fails
--- http_config
slidewin_test_store late delay=1ms;
slidewin_zone $remote_addr zone=one:1m rate=1r/h algorithm=log store=late
              on_error=closed;
--- user_files eval: $::UserFiles
--- config eval
$::Variables . 'slidewin zone=one;'
--- client
is(summary(get('/file')), '200 | PASSED redis one | 1 | 0 | -', 'passed');
is(summary(get('/file')), '429 | REJECTED redis one | 1 | 0 | retry',
   'rejected');



=== an empty key asks no store
--- http_config
slidewin_test_store bad fail;
slidewin_zone $arg_k zone=one:1m rate=1r/h store=bad on_error=closed;
--- user_files eval: $::UserFiles
--- config eval
$::Variables . 'slidewin zone=one;'
--- client
is(summary(get('/file')), '200 | BYPASSED   | - | - | -', 'without');
is(summary(get('/file?k=1')),
   '503 | ERROR_REJECTED fail_closed one | - | - | -', 'with a key');
