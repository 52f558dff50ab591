# nginx -t refuses a bad slidewin_redis. One line says what is wrong and where,
# and never has a password in it.

use strict;
use warnings;

use Cwd ();
use File::Temp ();
use SlidewinNginx;
use Test::More;

# an nginx that refuses its configuration does not free its memory
$ENV{ASAN_OPTIONS} =~ s/detect_leaks=1/detect_leaks=0/
    if defined $ENV{ASAN_OPTIONS};

mkdir 't' unless -d 't';
my $dir = File::Temp::tempdir('servroot_XXXXXX', DIR => 't', CLEANUP => 1);
mkdir "$dir/logs";

my $load = join '', map { "load_module $_;\n" }
           split ' ', $ENV{TEST_NGINX_LOAD_MODULES} || '';

sub put {
    my ($name, $text) = @_;

    open my $file, '>', "$dir/$name" or die "$name: $!";
    print $file $text;
    close $file;

    return;
}

# what nginx -t prints, and whether it succeeds
sub test {
    my ($http) = @_;

    put('nginx.conf', "${load}pid logs/nginx.pid;\nevents { }\nhttp {\n"
                      . "access_log off;\n$http\n"
                      . "server { listen unix:$dir/http; }\n}\n");

    my $nginx = SlidewinNginx::binary();
    my $said = `$nginx -t -p $dir/ -c nginx.conf -e stderr 2>&1`;

    return ($said, $? == 0);
}

sub refused {
    my ($directive, $text) = @_;
    my ($said, $good) = test($directive =~ /^slidewin/ ? $directive
                             : "slidewin_redis $directive;");

    ok(!$good, "refused: $directive");
    like($said, qr{\[emerg\] \d+#\d+: \Q$text\E(?: in \S+nginx\.conf:\d+)?$}m,
         "... $text");

    return $said;
}

sub accepted {
    my ($directive) = @_;
    my ($said, $good) = test("slidewin_redis $directive;");

    ok($good, "accepted: $directive") or diag($said);
    unlike($said, qr/\[(?:warn|error|crit|alert|emerg)\]/, '... without a word');

    return;
}


# The URL.

my $form = 'it must be redis[s]://[user[:password]@]host[:port][/database], '
           . 'redis[s]-sentinel://[user[:password]@]host[:port][,...]/master'
           . '[/database], '
           . 'redis[s]-cluster://[user[:password]@]host[:port][,...] or '
           . 'unix:/path[?db=database]';

for (['http://h', 'scheme'], ['h', 'scheme'], ['""', 'scheme'],
     ['redis:/h', 'scheme'], ['REDIS://h', 'scheme'],
     ['redis://', 'host'], ['redis://:6379', 'host'], ['redis:///0', 'host'],
     ['redis://[::1', 'host'], ['"redis://h h"', 'host'],
     ['redis://[not-an-address]/0', 'host'], ['redis://[]', 'host'],
     ['redis://[127.0.0.1]', 'host'], ['redis://[::1%lo]', 'host'],
     ['redis://[::1::2]:6379', 'host'],
     ['redis://h:99999', 'port'], ['redis://h:0', 'port'],
     ['redis://h:', 'port'], ['redis://h:x', 'port'],
     ['redis://h/abc', 'database'], ['redis://h/-1', 'database'],
     ['redis://h/', 'database'], ['redis://h/65536', 'database'],
     ['redis://h/99999999999999999999', 'database'],
     ['redis-cluster://', 'host'], ['redis-cluster://127.0.0.1,', 'host'],
     ['redis-cluster://127.0.0.1,h:0', 'port'],
     ['redis-cluster://127.0.0.1/0', 'database'],
     ['redis-sentinel://h', 'master'], ['redis-sentinel://h/', 'master'],
     ['redis-sentinel:///m', 'host'], ['redis-sentinel://h,/m', 'host'],
     ['redis-sentinel://h,h:0/m', 'port'],
     ['redis-sentinel://h/m/x', 'database'],
     ['unix:', 'path'], ['unix:run/redis', 'path'], ['unix:/', 'path'],
     ['unix:/run/redis?db=x', 'database'], ['unix:/run/redis?x=1', 'database'])
{
    my ($url, $part) = @$_;
    my $shown = $url =~ s/^"(.*)"$/$1/r;

    refused($url, "invalid $part in \"$shown\", $form");
}

for (['redis://user:s3cret@h:99999', 'port', 'h:99999'],
     ['redis://:s3cret@h/abc', 'database', 'h/abc'],
     ['redis://user:s3cr@s3cret@', 'host', ''],
     ['http://user:s3cret@h', 'scheme', 'h'])
{
    my ($url, $part, $shown) = @$_;

    unlike(refused($url, "invalid $part in \"...\@$shown\", $form"),
           qr/s3cr/, '... without the password');
}

refused('redis://@127.0.0.1', "invalid user in \"...\@127.0.0.1\", $form");
refused('redis://user@127.0.0.1', '"slidewin_redis" has a user but no '
        . 'password, it must have "password_file" parameter');
refused('redis://user:@127.0.0.1', '"slidewin_redis" has a user but no '
        . 'password, it must have "password_file" parameter');

accepted($_) for 'redis://127.0.0.1', 'redis://127.0.0.1:1',
    'redis://127.0.0.1:65535/65535', 'redis://[::1]', 'redis://[::1]:7000/1',
    'redis://localhost:7000', 'redis://:s3cret@127.0.0.1',
    'redis://user:s3cret@127.0.0.1', '"redis://user:s3c@/ ret@127.0.0.1/2"',
    'redis-cluster://127.0.0.1', 'redis-cluster://127.0.0.1:7000,[::1]:7001',
    'redis-cluster://user:s3c,ret@127.0.0.1,127.0.0.2',
    'unix:/nowhere/redis', 'unix:/nowhere/redis?db=3';


# Sentinels.

my $sentinels = 'redis-sentinel://127.0.0.1,[::1]:1/mymaster';

put('guard', "gu4rd\n");
accepted($_) for $sentinels, "$sentinels/15", 'redis-sentinel://127.0.0.1/m',
    "$sentinels sentinel_password_file=guard",
    "$sentinels sentinel_user=guard sentinel_password_file=guard",
    'redis-sentinel://user:s3cret@127.0.0.1,127.0.0.2:7000/m/3';

for my $parameter ('sentinel_user=guard', 'sentinel_password_file=guard') {
    refused("redis://127.0.0.1 $parameter", "invalid parameter \"$parameter\" "
            . 'in "slidewin_redis" directive, only redis[s]-sentinel:// '
            . 'has sentinels');
}

refused("$sentinels sentinel_user=guard", '"slidewin_redis" has '
        . '"sentinel_user" but no "sentinel_password_file" parameter');
refused("$sentinels sentinel_user= sentinel_password_file=guard",
        'invalid user "sentinel_user=" in "slidewin_redis" directive, it must '
        . 'be a name');
put('empty', "\n");
refused("$sentinels sentinel_password_file=empty",
        '"sentinel_password_file=empty" has no password in its first line');


# Times.

for my $name (qw(timeout connect_timeout)) {
    for my $value ('5x', '', '0', '0ms', '-1', '1.5s', '61s', '60001ms', '1h',
                   '99999999999999999999', 'abc', '$time')
    {
        refused("redis://127.0.0.1 $name=$value",
                "invalid $name \"$name=$value\" in \"slidewin_redis\" "
                . 'directive, it must be from 1ms to 1m');
    }

    accepted("redis://127.0.0.1 $name=$_")
        for '1ms', '50ms', '1s', '1m', '60s', '60000ms';
}


# The prefix.

for my $value ('a{b', 'a}b', 'x' x 65, 'a b', "\xc3\xa9") {
    refused("redis://127.0.0.1 'prefix=$value'",
            "invalid prefix \"prefix=$value\" in \"slidewin_redis\" directive, "
            . 'it must be at most 64 printable characters without braces');
}

accepted("redis://127.0.0.1 prefix=$_") for '', 'sw:', 'a:b:c', 'x' x 64,
    '%s', '*';


# The name.

refused("redis://127.0.0.1 name=$_", "invalid name \"name=$_\" in "
        . '"slidewin_redis" directive, it must be a name of up to 64 bytes '
        . 'other than "local" and "default"')
    for '', 'local', 'default', 'x' x 65;
accepted("redis://127.0.0.1 name=$_") for 'one', 'LOCAL', 'a.b-c', 'x' x 64;


# The password's file.

put('password', "s3cret\n");
accepted("redis://127.0.0.1 password_file=$_")
    for 'password', Cwd::abs_path("$dir/password");
accepted('redis://user@127.0.0.1 password_file=password');

for (['nothing', ''], ['an empty line', "\nsecond\n"], ['CR LF', "\r\nx\r\n"],
     ['a NUL', "s3c\0ret\n"], ['too much', 's3cret' x 1000])
{
    put('bad', $_->[1]);
    unlike(refused('redis://127.0.0.1 password_file=bad',
                   '"password_file=bad" has no password in its first line'),
           qr/s3c/, "... $_->[0]");
}

for (['missing', 2, 'No such file or directory'],
     ['', 21, 'Is a directory'], ['logs', 21, 'Is a directory'])
{
    my ($name, $number, $error) = @$_;
    my ($said, $good) =
        test("slidewin_redis redis://127.0.0.1 password_file=$name;");

    ok(!$good, "refused: password_file=$name");
    like($said, qr/\[emerg\] \d+#\d+: cannot (?:open|read) \Q"password_file=$name"\E \($number: \Q$error\E\) in /,
         "... $error");
}


# Parameters as such.

my $parameters = 'in "slidewin_redis" directive, it must be one of name=, '
                 . 'timeout=, connect_timeout=, password_file=, prefix=, '
                 . 'ssl_ca=, ssl_cert=, ssl_key=, ssl_name=, ssl_verify=, '
                 . 'sentinel_user=, sentinel_password_file=';

refused('redis://127.0.0.1 foo=bar', "invalid parameter \"foo=bar\" $parameters");
refused('redis://127.0.0.1 timeout', "invalid parameter \"timeout\" $parameters");
refused('redis://127.0.0.1 redis://127.0.0.2',
        "invalid parameter \"redis://127.0.0.2\" $parameters");
refused('redis://127.0.0.1 timeout=1s timeout=2s',
        'duplicate parameter "timeout=2s" in "slidewin_redis" directive');

# A text that may be a password is not logged, wherever it stands.

for (['password=s3cret'], ['Password=s3cret'], ['passwd=s3cret'],
     ['pasword=s3cret'], ['pass=s3cret'], ['pwd=s3cret'], ['auth=s3cret'],
     ['requirepass=s3cret'], ['masterauth=s3cret'], ['auth_token=s3cret'],
     ['secret=s3cret'], ['credentials=user:s3cret', 'credentials=...'],
     ['password:s3cret', 'password:...'], ['"password=s3 cret=s3@cret"'],
     ['password_files=s3cret'], ['sentinel_password=s3cret'],
     ['redis://:s3cret@127.0.0.2', '...@127.0.0.2'],
     ['url=redis://u:s3cr@s3cret@h', '...@h'],
     ['redis://h?password=s3cret', 'redis://h?password=...'])
{
    my ($argument, $shown) = @$_;
    $shown //= $argument =~ s/"//gr =~ s/=.*/=.../r;

    unlike(refused("redis://127.0.0.1 $argument",
                   "invalid parameter \"$shown\" $parameters"),
           qr/s3/, '... without the password');
}

for (['redis://h/0?password=s3cret', 'database', 'redis://h/0?password=...'],
     ['unix:/run/redis?auth=s3cret', 'database', 'unix:/run/redis?auth=...'],
     ['redis://u:s3cret@h/0?pass=s3cret', 'database', '...@h/0?pass=...'],
     ['password=s3cret', 'scheme', 'password=...'])
{
    my ($url, $part, $shown) = @$_;

    unlike(refused($url, "invalid $part in \"$shown\", $form"),
           qr/s3/, '... without the password');
}

unlike(refused('slidewin_zone $remote_addr zone=one:1m rate=1r/s '
               . 'store=redis://:s3cret@h;',
               'unknown slidewin store "...@h"'),
       qr/s3/, 'the URL of a store without the password');

refused('slidewin_redis;',
        'invalid number of arguments in "slidewin_redis" directive');


# Which store a zone counts in.

my $zone = 'slidewin_zone $arg_k zone=a:1m rate=1r/h';
my $redis = 'slidewin_redis redis://127.0.0.1';

refused("$redis; slidewin_redis unix:/a;",
        '"slidewin_redis" directive is duplicate');
refused("$redis name=one; $redis:7000 name=one;",
        '"slidewin_redis" directive is duplicate');
refused("$redis; server { listen unix:$dir/x; slidewin_redis unix:/a; }",
        '"slidewin_redis" directive is not allowed here');

{
    my ($said, $good) = test("$zone store=one;\n");

    ok(!$good, 'refused: a store that is not there');
    like($said, qr/\[emerg\] \d+#\d+: unknown slidewin store "one" in \S+nginx\.conf:\d+$/m,
         '... with its name and the line');

    ($said, $good) = test("$redis; $zone store=one;");
    ok(!$good && $said =~ /unknown slidewin store "one"/,
       'refused: a name, where only the unnamed store is');

    ($said, $good) = test("$redis name=one; $zone store=On;");
    ok(!$good && $said =~ /unknown slidewin store "On"/,
       'refused: a name that is nearly right');

    ($said, $good) = test("$zone store=;");
    ok(!$good && $said =~ /invalid store "store=" in "slidewin_zone"/,
       'refused: no name');

    for ("$zone store=local;", "$zone;", "$zone store=one; $redis name=one;",
         "$redis; $redis name=one; $redis name=two; $zone store=two;")
    {
        ($said, $good) = test($_);
        ok($good, "accepted: $_") or diag($said);
    }
}


# A host name that does not resolve does not keep nginx from starting. This
# label is too long for any name server to be asked for it.

my $unknown = 'x' x 64 . '.invalid';
my ($said, $good) = test("slidewin_redis redis://user:s3cret\@$unknown:7000/1;");

ok($good, 'a name that is not resolved is no reason to refuse');
like($said, qr/\[warn\] \d+#\d+: host not found in slidewin_redis "$unknown:7000", its policies go by their "on_error" in \S+nginx\.conf:\d+$/m,
     '... but to warn');
unlike($said, qr/s3cret/, '... without the password');

done_testing();
