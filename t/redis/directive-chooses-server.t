# The parameters of slidewin_redis take effect: server, database, prefix, user
# and password. No server is contacted that is not needed.

use strict;
use warnings;

use File::Copy ();
use File::Temp ();
use IO::Select;
use IO::Socket::INET;
use IO::Socket::IP;
use POSIX ();
use SlidewinNginx;
use SlidewinRedis;
use Test::More;

my $redis = SlidewinRedis->start;
my $second = SlidewinRedis->start(args => ['--requirepass', 's3cret']);

sub zone {
    my ($name, $parameters) = @_;

    return "slidewin_zone \$arg_k zone=$name:1m rate=2r/h algorithm=log "
           . ($parameters // '') . ";\n";
}

my $zones = zone('a') . zone('b', 'store=local') . zone('c', 'store=other');

sub start {
    my ($http, %conf) = @_;

    # a zone that is not configured cannot be used
    my $locations = join '', map {
        $http =~ /zone=$_:/
            ? "location = /$_ { slidewin zone=$_; empty_gif; }\n" : ''
    } qw(a b c);

    return SlidewinNginx->start(
        http => $http,
        server => "add_header X-Source \$slidewin_source always;\n$locations",
        %conf);
}

# "200 redis"; the first requests of a worker may come before its connection,
# and a slow machine may connect slowly
sub source {
    my ($nginx, $uri) = @_;
    my $answer = $nginx->get($uri);

    return "$answer->{status} " . ($answer->{header}{'x-source'} // '-');
}

sub becomes {
    my ($nginx, $uri, $source) = @_;

    return SlidewinNginx::until_true(sub {
        source($nginx, $uri . int rand 1e9) eq $source;
    }, 5 * SlidewinNginx::patience());
}

sub keys_of {
    my ($of, $database) = @_;

    $of->command('SELECT', $database // 0);
    my $keys = join ' ', sort @{$of->command('KEYS', '*')};
    $of->command('SELECT', 0);

    return $keys;
}

sub secret { return $second->client->call_all(['AUTH', 's3cret'], @_) }


# Names.

my $t = 'timeout=2s connect_timeout=5s';

secret(['FLUSHALL']);
my $nginx = start("slidewin_redis @{[$redis->url]} $t;
                   slidewin_redis redis://:s3cret\@127.0.0.1:@{[$second->port]}
                                  name=other $t;
                   " . $zones);

is(source($nginx, '/a?k=1'), '200 redis', 'no store=: the unnamed Redis');
is(source($nginx, '/b?k=1'), '200 local', 'store=local: shared memory');
is(source($nginx, '/c?k=1'), '200 redis', 'store=NAME: the one of that name');
is(keys_of($redis), 'sw:{1}:a', 'the first has the key of its policy');
is(join(' ', @{(secret(['KEYS', '*']))[1]}), 'sw:{1}:c',
   'the other that of the other');
is(scalar(() = (secret(['CLIENT', 'LIST']))[1] =~ / addr=127\.0\.0\.1:/g), 1,
   'over one connection');
$nginx->stop(name => 'names');


# Only a named Redis: a zone that does not name it counts in shared memory.

$redis->command('FLUSHALL');
$nginx = start("slidewin_redis @{[$redis->url]} name=other $t;" . $zones);
is(source($nginx, '/a?k=1'), '200 local', 'only a named Redis: local without');
is(source($nginx, '/c?k=1'), '200 redis', '... and Redis with its name');
$nginx->stop(name => 'a name only');


# Databases, prefixes, addresses and sockets.

my $port = $redis->port;

for (["redis://127.0.0.1:$port/5 prefix=", 5, '{1}:a'],
     ["redis://127.0.0.1:$port/15 prefix=shop:", 15, 'shop:{1}:a'],
     ["redis://localhost:$port prefix=" . 'x' x 64, 0, 'x' x 64 . '{1}:a'],
     [$redis->unix_url, 0, 'sw:{1}:a'],
     [$redis->unix_url . '?db=3 prefix=%s*', 3, '%s*{1}:a'])
{
    my ($url, $database, $key) = @$_;

    $redis->command('FLUSHALL');
    $nginx = start("slidewin_redis $url $t;" . zone('a'));

    is(join(', ', map { source($nginx, '/a?k=1') } 1 .. 3),
       '200 redis, 200 redis, 429 redis', "$url: counts");
    is(keys_of($redis, $database), $key, "... in database $database");
    is(join(' ', grep { keys_of($redis, $_) ne '' } 0 .. 15), $database,
       '... and in no other');
    $nginx->stop(name => $url);
}


# A database that does not exist.

$nginx = start("slidewin_redis redis://127.0.0.1:$port/16 $t;" . zone('a'));
ok($nginx->logged(qr/\[error\] .*slidewin redis "127\.0\.0\.1:$port" cannot be reached: ERR DB index is out of range$/m),
   'a database that Redis does not have: said');
is(source($nginx, '/a?k=1'), '200 fallback', '... and on_error decides');
$nginx->stop(name => 'no such database');


# IPv6: where the machine has it, all the way.

my $six = IO::Socket::IP->new(LocalHost => '::1', LocalPort => 0, Listen => 1,
                              V6Only => 1);

if ($six) {
    my $free = SlidewinRedis::free_port();

    my $third = SlidewinRedis->start(args => ['--bind', '::1'],
                                     port => $free);

    $nginx = start("slidewin_redis redis://[::1]:$free $t;" . zone('a'));
    is(source($nginx, '/a?k=1'), '200 redis', 'an IPv6 address');
    $third->kill;
    ok($nginx->logged(qr/slidewin redis "\[::1\]:$free" cannot be reached/),
       '... which the log writes with brackets');
    $nginx->stop(name => 'IPv6');
    $third->remove;
}


# Passwords: in the URL, in a file (its first line, with any line ending), of a
# user.

my $dir = File::Temp::tempdir('slidewin.XXXXXX', TMPDIR => 1, CLEANUP => 1);

$second->client->call_all(['AUTH', 's3cret'],
    ['ACL', 'SETUSER', 'edge', 'on', '>pass:w@rd/1', '~sw:*', '+@all']);

for (['LF', "s3cret\n", ''], ['no LF', 's3cret', ''],
     ['CR LF', "s3cret\r\n", ''], ['more lines', "s3cret\nother\n\n", ''],
     ['of a user', "pass:w\@rd/1\n", 'edge@'])
{
    my ($name, $text, $user) = @$_;

    open my $file, '>', "$dir/password" or die $!;
    print $file $text;
    close $file;
    chmod 0400, "$dir/password";

    secret(['FLUSHALL']);
    $nginx = start("slidewin_redis redis://${user}127.0.0.1:@{[$second->port]}
                    password_file=$dir/password $t;" . zone('a'));
    is(source($nginx, '/a?k=1'), '200 redis', "password_file, $name");
    $nginx->stop(name => $name);
    unlink "$dir/password";
}

for (['in the URL', 'redis://:s3cret@', ''],
     ['of a user', 'redis://edge:pass:w@rd/1@', '/0'])
{
    my ($name, $url, $database) = @$_;

    $nginx = start("slidewin_redis ${url}127.0.0.1:@{[$second->port]}$database
                    $t;" . zone('a'));
    is(source($nginx, '/a?k=' . rand), '200 redis', "a password $name");
    $nginx->stop(name => $name);
}


# A host name that does not resolve: on_error from the start, and one line in
# the log.

my $unknown = 'x' x 64 . '.invalid';

$nginx = start("slidewin_redis redis://$unknown:7000 $t;" . zone('a')
               . zone('b', 'on_error=open') . zone('c', 'on_error=closed'));
is(join(', ', map { source($nginx, '/a?k=1') } 1 .. 3),
   '200 fallback, 200 fallback, 429 fallback', 'an unknown name: local');
is(join(', ', map { source($nginx, '/b?k=1') } 1 .. 3),
   join(', ', ('200 fail_open') x 3), '... open');
is(join(', ', map { source($nginx, '/c?k=1') } 1 .. 3),
   join(', ', ('503 fail_closed') x 3), '... closed');
is(scalar($nginx->errors(qr/\[error\] .*slidewin redis "$unknown:7000" cannot be reached: its name was not resolved$/m)),
   1, '... and one line');

# a configuration with a name that resolves

$nginx->reload(http => "slidewin_redis redis://localhost:$port $t;"
                       . zone('a') . zone('b') . zone('c'));
ok(becomes($nginx, '/a?k=', '200 redis'), '... until a reload finds it');
$nginx->stop(name => 'unknown name');


# No server is contacted that is not needed.

my $listener = IO::Socket::INET->new(LocalAddr => '127.0.0.1', Listen => 8)
    or die "listen: $!";
my $there = 'redis://127.0.0.1:' . $listener->sockport;

sub called {
    my ($seconds) = @_;

    return IO::Select->new($listener)->can_read($seconds) ? 1 : 0;
}

for (['no zone at all', "slidewin_redis $there;"],
     ['zones of its own, and no limit',
      "slidewin_redis $there; slidewin_zone \$arg_k zone=x:1m rate=1r/h;"],
     ['limits, but of another store',
      "slidewin_redis $there name=spare;" . zone('a') . zone('b')],
     ['limits of a local store',
      "slidewin_redis $there;" . zone('a', 'store=local')])
{
    my ($name, $http) = @$_;

    $nginx = start($http, workers => 2);
    $nginx->get('/a?k=1');
    $nginx->get('/free');
    $nginx->reload;
    $nginx->get('/free');
    ok(!called(0.3), "an unused Redis is not contacted: $name");
    is(scalar($nginx->errors(qr/slidewin redis/)), 0, '... nor spoken of');
    $nginx->stop(name => $name);
}

# the counter-check: one that is used is contacted

$nginx = start("slidewin_redis $there;" . zone('a'));
ok(called(5), 'one that is used is called');
$listener->accept;
$nginx->stop(name => 'used');

$listener->close;
$listener = IO::Socket::INET->new(LocalAddr => '127.0.0.1', Listen => 8)
    or die "listen: $!";
$there = 'redis://127.0.0.1:' . $listener->sockport;


# nginx -t as an ordinary user, with Redis up and down.

my $down = SlidewinRedis::free_port();
my @modules = split ' ', $ENV{TEST_NGINX_LOAD_MODULES} || '';
my $load = '';

chmod 0755, $dir;
File::Copy::copy(SlidewinNginx::binary(), "$dir/nginx") or die "copy: $!";
chmod 0755, "$dir/nginx";

for my $i (0 .. $#modules) {
    File::Copy::copy($modules[$i], "$dir/$i.so") or die "copy: $!";
    $load .= "load_module $dir/$i.so;\n";
}

mkdir "$dir/prefix";
chown 65534, 65534, "$dir/prefix" if $> == 0;

for (['that accepts and says nothing', $there],
     ['that is down', "redis://127.0.0.1:$down"],
     ['whose socket is missing', "unix:$dir/nothing"])
{
    my ($name, $url) = @$_;

    open my $file, '>', "$dir/nginx.conf" or die $!;
    print $file <<"END";
${load}pid $dir/prefix/pid;
error_log stderr;
events { }
http {
    access_log off;
    client_body_temp_path $dir/prefix/body;
    proxy_temp_path $dir/prefix/proxy;
    fastcgi_temp_path $dir/prefix/fastcgi;
    uwsgi_temp_path $dir/prefix/uwsgi;
    scgi_temp_path $dir/prefix/scgi;
    slidewin_redis $url;
    slidewin_zone \$arg_k zone=a:1m rate=2r/h;
    server { listen unix:$dir/prefix/http; slidewin zone=a; }
}
END
    close $file;

    my $pid = open my $pipe, '-|';
    defined $pid or die "fork: $!";

    if ($pid == 0) {
        open STDERR, '>&', \*STDOUT;
        $ENV{ASAN_OPTIONS} = 'detect_leaks=0,detect_odr_violation=0'
            if defined $ENV{ASAN_OPTIONS};
        if ($> == 0) {
            POSIX::setgid(65534);
            POSIX::setuid(65534);
        }
        exec "$dir/nginx", '-t', '-p', "$dir/prefix/", '-c',
             "$dir/nginx.conf", '-e', 'stderr'
            or POSIX::_exit(127);
    }

    my $said = do { local $/; <$pipe> };
    close $pipe;

    is($?, 0, "nginx -t as an ordinary user, with a Redis $name")
        or diag($said);
    unlike($said, qr/\[(?:warn|error|crit|alert|emerg)\]/, '... has no complaint');
}

ok(!called(0.3), '... and contacts no server');

done_testing();
