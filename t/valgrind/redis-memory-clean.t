# Requests, faults, reloads and the end of an nginx with Redis, under valgrind:
# no uninitialised read, no access to freed memory, no leak.

use strict;
use warnings;

use File::Temp ();
use SlidewinFake;
use SlidewinNginx;
use SlidewinRedis;
use Test::More;

my $dir = File::Temp::tempdir('slidewin.XXXXXX', TMPDIR => 1, CLEANUP => 1);
my $nginx_binary = SlidewinNginx::binary();

# leaks are reported after the module was unloaded
open my $file, '>', "$dir/nginx" or die "nginx: $!";
print $file <<"END";
#!/bin/sh
exec valgrind --log-file=$dir/log.%p --leak-check=full --keep-debuginfo=yes \\
     --show-leak-kinds=definite --errors-for-leak-kinds=definite \\
     --num-callers=30 $nginx_binary "\$@"
END
close $file;
chmod 0755, "$dir/nginx";

`valgrind --version` =~ /^valgrind-/ or die "there is no valgrind\n";

$ENV{TEST_NGINX_BINARY} = "$dir/nginx";

{
    no warnings 'redefine';

    *SlidewinNginx::patience = sub { return 20 };

    # under valgrind a process does not change its title
    *SlidewinNginx::workers = sub {
        my ($self, $master) = @_;

        return SlidewinNginx::children($master // $self->master // return);
    };
}

my $redis = SlidewinRedis->start;
my $fake = SlidewinFake->start(modes => {
    short => sub { $_[0]->send("*1\r\n:1\r\n") },
    garbage => sub { $_[0]->send("HTTP/1.1 400 Bad Request\r\n") },
    error => sub { $_[0]->send("-ERR out of order\r\n") },
    cut => sub { $_[0]->send('*8'); $_[0]->fin },
});

my @algorithms = qw(counter fixed strict log);

my $nginx = SlidewinNginx->start(
    http => "slidewin_redis @{[$redis->url]} timeout=4s connect_timeout=5s;
             slidewin_redis @{[$fake->url]} name=fake timeout=4s
                            connect_timeout=5s;
             slidewin_zone \$arg_k zone=here:1m rate=1r/h algorithm=log
                           store=local;
             slidewin_zone \$arg_k zone=fake:1m rate=2r/h algorithm=log
                           store=fake on_error=open;
            " . join('', map {
                "slidewin_zone \$arg_k zone=$_:1m rate=2r/40d algorithm=$_;\n"
            } @algorithms),
    server => 'add_header X-Source $slidewin_source always;
               location = /all {
                   slidewin zone=counter; slidewin zone=fixed;
                   slidewin zone=strict; slidewin zone=log; empty_gif;
               }
               location = /both {
                   slidewin zone=log; slidewin zone=here; empty_gif;
               }
               location = /status { stub_status; }
               location = /fake { slidewin zone=fake; empty_gif; }'
              . join('', map { "location = /$_ { slidewin zone=$_;"
                               . " empty_gif; }\n" } @algorithms),
);

sub told {
    my ($uri, $n) = @_;

    return join ', ', map {
        my $answer = $nginx->get($uri);
        "$answer->{status} " . ($answer->{header}{'x-source'} // '-');
    } 1 .. $n // 1;
}

sub becomes {
    my ($uri, $told) = @_;

    return SlidewinNginx::until_true(sub { told($uri . rand) eq $told }, 30);
}

ok(becomes('/fixed?k=', '200 redis'), 'Redis is asked');

my $decided = '200 redis, 200 redis, 429 redis';

is(told("/$_?k=1", 3), $decided, $_) for @algorithms;
is(told('/all?k=2', 3), $decided, 'all at once');
is(told('/log?k=' . "%ff%0d%0a" . 'x' x 200, 3), $decided, 'an odd client');
is(told('/both?k=3', 2), '200 local, 429 local', 'taken back');
is(told('/log?k=3', 2), '200 redis, 429 redis', '... as the count shows');

$redis->command('SCRIPT', 'FLUSH');
is(told('/fixed?k=4', 3), $decided, 'a script that was forgotten');

$redis->command('LPUSH', 'sw:{5}:log', 'x');
is(told('/log?k=5'), '200 fallback', 'a key of another type');

# clients that leave, and replies that come too late

my @clients = map { $nginx->client } 1 .. 20;

$redis->signal('STOP');
$_->request('/log?k=6') for @clients;
ok($nginx->busy(20), 'twenty wait');
$_->close for @clients[0 .. 9];
ok($nginx->busy(10), '... and half of them leave');
$redis->signal('CONT');
is(SlidewinNginx::tally(map { $_->answer->{status} } @clients[10 .. 19]),
   '200 x1, 429 x9', 'of those who left, one had been asked for');

$redis->signal('STOP');
@clients = map { $nginx->client } 1 .. 5;
$_->request('/log?k=7') for @clients;
is(SlidewinNginx::tally(map { $_->answer->{status} } @clients),
   '200 x2, 429 x3', 'a deadline');
$redis->signal('CONT');
ok(becomes('/fixed?k=', '200 redis'), '... and what comes after it');

# while checks are pending

$redis->signal('STOP');
@clients = map { $nginx->client } 1 .. 5;
$_->request('/log?k=8') for @clients;
ok($nginx->busy(5), 'five wait');
$redis->kill;
is(SlidewinNginx::tally(map { $_->answer->{status} } @clients),
   '200 x2, 429 x3', 'Redis is killed');
is(told('/log?k=9', 3), '200 fallback, 200 fallback, 429 fallback',
   '... and is gone');
$redis->run;
ok(becomes('/fixed?k=', '200 redis'), '... and is back');

# a server that is no Redis

for my $mode (qw(short garbage error cut)) {
    $fake->mode('well');
    ok(becomes('/fake?k=', '200 redis'), 'well');
    $fake->mode($mode);
    is(told("/fake?k=$mode", 7), join(', ', ('200 fail_open') x 7), $mode);
}

# a reload while a client waits

my @old = $nginx->workers;
my $client = $nginx->client;

$client->get('/free');
$redis->signal('STOP');
$client->request('/log?k=10');
ok($nginx->busy(1), 'one waits');
$nginx->configure;
$nginx->signal('HUP');
SlidewinNginx::until_true(sub {
    grep { $_ != $old[0] } $nginx->workers;
}, 30);
$redis->signal('CONT');
is($client->answer->{status}, 200, 'a reload');
ok(SlidewinNginx::gone($old[0], 30), '... and the old worker is gone');
$client->close;
ok(becomes('/log?k=', '200 redis'), '... and the new one asks');

my $master = $nginx->master;
my @all = ($master, @old, $nginx->workers);

$nginx->stop(name => 'QUIT');


# The report of valgrind, in paragraphs; leaks of nginx itself do not count.

my $ours = qr/ngx_http_slidewin|\bsw_\w+ \(|redis\w* \(/;

for my $pid (@all) {
    my $log = SlidewinNginx::slurp("$dir/log.$pid");

    like($log, qr/ERROR SUMMARY: /, "valgrind has seen process $pid to its end");

    my @bad = grep { /$ours/ } grep { /^==\d+==    (?:at|by) 0x/m }
              split /^==\d+== \n/m, $log;

    is(join("\n", @bad), '', '... and found nothing of ours');

    # faults anywhere, also in nginx itself
    is(join("\n", grep { /^==\d+== (?:Invalid|Conditional jump|Use of uninit|Process terminating)/m }
                  split /^==\d+== \n/m, $log), '', '... nor worse');
}

is(scalar(@all), 3, 'a master and two workers');

done_testing();
