# A reload reads the files of slidewin_redis again: the authority, the client
# certificate, the password. If one cannot be used, the reload fails and the old
# workers go on.

use strict;
use warnings;

use SlidewinCerts;
use SlidewinNginx;
use SlidewinRedis;
use Test::More;

my $certs = SlidewinCerts->new;
my $dir = $certs->dir;
my $least = '~sw:* +time +evalsha +eval +get +getrange +strlen +set'
            . ' +setrange +append +pexpire +del';

$certs->authority($_) for qw(old_ca new_ca);

for my $age (qw(old new)) {
    $certs->certificate("${age}_redis", by => "${age}_ca",
                        for => 'IP:127.0.0.1');
    $certs->certificate("${age}_edge", by => "${age}_ca");
}

sub put {
    my ($name, $text) = @_;

    open my $file, '>', "$dir/$name" or die "$name: $!";
    print $file $text;
    close $file;

    return;
}

sub slurp { return SlidewinNginx::slurp("$dir/$_[0]") }

# the files that the configuration names
sub install {
    my ($age) = @_;

    put('ca', slurp("${age}_ca.pem"));
    put('cert', slurp("${age}_edge.pem"));
    put('key', slurp("${age}_edge.key"));

    return;
}

sub redis {
    my ($age) = @_;

    return SlidewinRedis->start(
        tls => $certs->server("${age}_redis", '--tls-ca-cert-file',
                              $certs->pem("${age}_ca")));
}

sub user {
    my ($of, $password) = @_;

    $of->command('ACL', 'SETUSER', 'edge', 'reset', 'on', ">$password",
                 split ' ', $least);
    $of->command('CLIENT', 'KILL', 'USER', 'edge');

    return;
}

my $redis = redis('old');
my $port = $redis->port;
my $client = 0;

install('old');
put('password', "first-s3cret\n");
user($redis, 'first-s3cret');

my $nginx = SlidewinNginx->start(
    workers => 2,
    http => "slidewin_redis rediss://edge\@127.0.0.1:$port ssl_ca=$dir/ca
                            ssl_cert=$dir/cert ssl_key=$dir/key
                            password_file=$dir/password
                            timeout=5s connect_timeout=10s;
             slidewin_zone \$arg_k zone=a:1m rate=2r/h algorithm=log;",
    server => 'add_header X-Source $slidewin_source always;
               location = /a { slidewin zone=a; empty_gif; }');

sub told {
    my ($uri) = @_;
    my $answer = $nginx->get($uri);

    return "$answer->{status} " . ($answer->{header}{'x-source'} // '-');
}

sub becomes {
    my ($source) = @_;

    return SlidewinNginx::until_true(sub {
        $client++;
        told("/a?k=$client") eq "200 $source";
    }, 10 * SlidewinNginx::patience());
}

sub decides {
    my ($name) = @_;

    ok(becomes('redis'), "$name: Redis is asked");
    $client++;
    is(join(', ', map { told("/a?k=$client") } 1 .. 3),
       '200 redis, 200 redis, 429 redis', "$name: and decides");

    return;
}

decides('a user with the least rights, by TLS');
my $master = $nginx->master;

$nginx->reload;
my $fds = SlidewinNginx::fds($master);


# Another password.

user($redis, 'second-s3cret');
ok(becomes('fallback'), 'another password: not let in');
ok($nginx->logged(qr/slidewin redis "127\.0\.0\.1:$port" cannot be reached: WRONGPASS/),
   'another password: said');
put('password', "second-s3cret\n");
ok(becomes('fallback'), 'another password: the file alone changes nothing');
$nginx->reload;
decides('another password, a reload');


# Another authority, for Redis and for nginx.

$redis->remove;
$redis = SlidewinRedis->start(
    port => $port,
    tls => $certs->server('new_redis', '--tls-ca-cert-file',
                          $certs->pem('new_ca')));
user($redis, 'second-s3cret');

$nginx->reload;
ok($nginx->logged(qr/cannot be reached: its certificate is refused/),
   'another authority: refused');
ok(becomes('fallback'), 'another authority: on_error decides');
put('ca', slurp('new_ca.pem'));

# Redis sends an alert and closes: a worker that writes first only learns that
# it is closed, and each worker logs once what it has learned

ok(SlidewinNginx::until_true(sub {
    $nginx->reload;
    $nginx->logged(qr/cannot be reached: TLS failed, .*unknown ca/, 1);
}, 60), 'another authority, a reload: now it is Redis that refuses');
install('new');
$nginx->reload;
decides('another certificate of ours, a reload');

put('ca', slurp('old_ca.pem') . slurp('new_ca.pem'));
$nginx->reload;
decides('two authorities in a file');


# Files that cannot be used.

for (['cert', "nothing\n", 'ssl_cert'],
     ['key', slurp('old_edge.key'), 'ssl_key'],
     ['password', '', 'password_file'])
{
    my ($file, $text, $parameter) = @$_;
    my $good = slurp($file);
    my @workers = $nginx->workers;

    put($file, $text);
    $nginx->signal('HUP');
    ok($nginx->logged(qr/\[emerg\] .*"$parameter=$dir\/$file"/),
       "a bad $parameter: a reload is refused");
    is(join(' ', $nginx->workers), "@workers", '... the old workers go on');
    decides("a bad $parameter");
    put($file, $good);
}

$nginx->reload for 1 .. 5;
decides('in the end');
ok(SlidewinNginx::until_true(sub { SlidewinNginx::fds($master) <= $fds }, 10),
   'no descriptor is left over');
unlike($nginx->error_log . $nginx->output, qr/s3cret/,
       'no log has a password');
$nginx->stop(allow => qr/\[emerg\]/);

done_testing();
