# Requests that a client sends before it has the responses to earlier ones.

use lib 't/lib';
use Test::Nginx::Socket 'no_plan';
use SlidewinClient;

our $Zone = 'slidewin_zone $remote_addr zone=one:1m rate=5r/h algorithm=log;';

our $UserFiles = <<'END';
>>> file
content
END

our $Config = <<'END';
slidewin zone=one;
add_header X-N $arg_n always;
location = /free {
    slidewin off;
    add_header X-N $arg_n always;
    alias html/file;
}
END

run_tests();

__DATA__

=== 20 at once, limit 5: five pass, then 15 are rejected, in order
--- http_config eval: $::Zone
--- user_files eval: $::UserFiles
--- config eval: $::Config
--- client
my $c = tcp();
$c->write(join '',
          map { "GET /file?n=$_ HTTP/1.1\r\nHost: a\r\n\r\n" } 1 .. 20);

my @r = map { $c->response } 1 .. 20;

is(join(' ', map { $_->{status} } @r),
   join(' ', (200) x 5, (429) x 15), 'statuses');
is(join(' ', map { $_->{headers}{'x-n'} } @r), join(' ', 1 .. 20), 'order');
ok($c->quiet(0.1), 'and nothing else is sent');



=== a byte at a time
--- http_config eval: $::Zone
--- user_files eval: $::UserFiles
--- config eval: $::Config
--- client
my $c = tcp();
my $all = join '', map { "GET /file?n=$_ HTTP/1.1\r\nHost: a\r\n\r\n" } 1 .. 7;
$c->write($_) for split //, $all;

my @r = map { $c->response } 1 .. 7;

is(join(' ', map { $_->{status} } @r), '200 200 200 200 200 429 429',
   'statuses');
is(join(' ', map { $_->{headers}{'x-n'} } @r), join(' ', 1 .. 7), 'order');



=== with requests between them that are not limited
--- http_config eval: $::Zone
--- user_files eval: $::UserFiles
--- config eval: $::Config
--- client
my $c = tcp();
$c->write(join '', map { "GET /file?n=$_ HTTP/1.1\r\nHost: a\r\n\r\n"
                         . "GET /free?n=$_+ HTTP/1.1\r\nHost: a\r\n\r\n" }
          1 .. 10);

my @r = map { $c->response } 1 .. 20;

is(join(' ', map { $_->{status} } @r),
   join(' ', (200) x 10, (429, 200) x 5), 'statuses');
is(join(' ', map { $_->{headers}{'x-n'} } @r),
   join(' ', map { $_, "$_+" } 1 .. 10), 'order');
