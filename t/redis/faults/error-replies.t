# Redis replies with an error, each kind of them: no request is admitted because
# of it, on_error decides, and Redis is asked again when that is over.

use strict;
use warnings;

use SlidewinFake;
use SlidewinFaults;
use SlidewinRedis;
use Test::More;

my @parameters = (redis => 'timeout=2s');

# the breaker opens after five in a row, which is one line; single requests log
# none
sub opened {
    my ($faults, $error) = @_;

    is($faults->log_lines(qr/failed: "\Q$error\E/), 1,
       '... the log has the error once');

    my $open = 'is not asked for a while, it failed 5 times in a row: "';

    is($faults->log_lines(qr/\Q$open$error\E/), 1,
       '... and that it is left alone, once');

    return;
}

sub asked_again {
    my ($faults) = @_;

    is($faults->log_lines(qr/is asked again/), 1, '... which one line says');

    return;
}

# connection: the id of nginx's connection in Redis
sub connection {
    my ($redis) = @_;

    return join ' ', map { /^id=(\d+)/ }
           grep { / addr=127\.0\.0\.1:/ }
           split /\n/, $redis->command('CLIENT', 'LIST', 'TYPE', 'normal');
}

sub attempts {
    my ($redis) = @_;
    my ($n) = $redis->command('INFO', 'stats')
              =~ /^total_connections_received:(\d+)/m;

    return $n;
}


# A replica

my $redis = SlidewinRedis->start;
my $master = SlidewinRedis->start(args => ['--repl-diskless-sync-delay', '0']);
my $faults = SlidewinFaults->start(url => $redis->url, @parameters);

ok($faults->redis_answers, 'Redis is asked');
$faults->remember_workers;
$redis->command('REPLICAOF', '127.0.0.1', $master->port);
ok(SlidewinNginx::until_true(sub {
    $redis->command('INFO', 'replication') =~ /^master_link_status:up/m;
}, 20), 'Redis becomes a replica');

my $attempts = attempts($redis);

$faults->fails('READONLY');
ok(scalar($faults->log_lines(qr/failed: "READONLY You can't write/)),
   '... the log has the error');
ok(scalar($faults->log_lines(qr/is lost: it is a replica/)),
   '... and the connection is dropped');
SlidewinNginx::nap(1);
cmp_ok(attempts($redis) - $attempts, '<=', 10,
       '... but not made again all the time');

# ... whose master is down

$redis->command('CONFIG', 'SET', 'replica-serve-stale-data', 'no');
$master->kill;
ok(SlidewinNginx::until_true(sub {
    $redis->command('INFO', 'replication') =~ /^master_link_status:down/m;
}, 20), 'its master is lost');
$faults->fails('MASTERDOWN');
ok(SlidewinNginx::until_true(sub {
    $faults->get('/open?k=' . SlidewinFaults::fresh());
    $faults->log_lines(qr/.*MASTERDOWN Link with MASTER is down/)
        || $redis->command('INFO', 'errorstats') =~ /errorstat_MASTERDOWN/;
}, 20), '... as Redis said');

$redis->command('REPLICAOF', 'NO', 'ONE');
$faults->recovers('a master again');
$faults->ends_clean('a replica');


# MASTERDOWN from the start

$redis->command('REPLICAOF', '127.0.0.1', $master->port);
$faults = SlidewinFaults->start(url => $redis->url, @parameters);
$faults->fails('MASTERDOWN');
opened($faults, 'MASTERDOWN Link with MASTER is down');
$redis->command('REPLICAOF', 'NO', 'ONE');
$faults->recovers('a master');
asked_again($faults);
$faults->remember_workers;
$faults->ends_clean('without a master');


# Out of memory

$redis->command('FLUSHALL');
$redis->command('CONFIG', 'SET', 'maxmemory-policy', 'noeviction');
$faults = SlidewinFaults->start(url => $redis->url, @parameters);
ok($faults->redis_answers, 'Redis is asked');
$faults->remember_workers;

my $connection = connection($redis);
my $client = SlidewinFaults::fresh();

is($faults->ask($_, $client, 1), '200 PASSED redis', "$_: one is counted")
    for @SlidewinFaults::MODES;

$redis->command('CONFIG', 'SET', 'maxmemory', 1);
$faults->fails('OOM', $client);
opened($faults, 'OOM command not allowed when used memory');
$redis->command('CONFIG', 'SET', 'maxmemory', 0);

ok($faults->redis_answers, 'there is memory again');
asked_again($faults);
is($faults->ask($_, $client, 2), '200 PASSED redis, 429 REJECTED redis retry',
   "... $_: what was counted is, and no more") for @SlidewinFaults::MODES;
$faults->recovers('OOM');
is(connection($redis), $connection, '... on the same connection');


# A snapshot that cannot be saved

unlink "$redis->{root}/dump.rdb";
mkdir "$redis->{root}/dump.rdb" or die "mkdir: $!";
$redis->command('CONFIG', 'SET', 'save', '3600 1');
$redis->command('BGSAVE');
ok(SlidewinNginx::until_true(sub {
    $redis->command('INFO', 'persistence')
        =~ /^rdb_last_bgsave_status:err/m;
}, 20), 'a snapshot cannot be saved');

SlidewinNginx::nap(1);
$faults->fails('MISCONF');
opened($faults, 'MISCONF Redis is configured to save RDB snapshots');

rmdir "$redis->{root}/dump.rdb";
$redis->command('CONFIG', 'SET', 'save', '');
$faults->recovers('MISCONF');
is(connection($redis), $connection, '... on the same connection');


# Busy with a script

$redis->command('CONFIG', 'SET', 'busy-reply-threshold', 10);
my $script = $redis->client;
$script->send('EVAL', 'while true do end', 0);
ok(SlidewinNginx::until_true(sub {
    SlidewinRedis::is_error($redis->call('PING'));
}, 20), 'Redis is busy');

SlidewinNginx::nap(1);
$faults->fails('BUSY');

# longer than the suite looks
my $end = SlidewinNginx::now() + 2.5;

while (SlidewinNginx::now() < $end) {
    $faults->get('/open?k=' . SlidewinFaults::fresh());
    SlidewinNginx::nap(0.01);
}

opened($faults, 'BUSY Redis is busy running a script');
$redis->command('SCRIPT', 'KILL');
$script->reply;
$faults->recovers('BUSY');
is(connection($redis), $connection, '... on the same connection');
is($faults->log_lines(qr/is lost/), 0, '... and none was lost');


# A key of another type, by another program

my $before = $faults->log_lines(qr/is not asked/);

for my $case (['WRONGTYPE', sub { $redis->command('LPUSH', $_[0], 'x') }],
              ['SLIDEWIN', sub { $redis->command('SET', $_[0], 'mine') }])
{
    my ($error, $take) = @$case;
    my $key = "secret$error";

    ok($faults->redis_answers, 'Redis is asked');
    $take->("sw:{$key}:$_") for @SlidewinFaults::MODES;
    SlidewinNginx::nap(1.1);
    $faults->fails($error, $key);
    is($faults->ask('closed', $key, 10),
       join(', ', ('503 ERROR_REJECTED fail_closed') x 10),
       '... as often as it is tried');
    $faults->decides("$error is one client's");
    cmp_ok($faults->log_lines(qr/has something else under .*: "$error /),
           '>=', 1,
           '... the log has it');
    is($redis->command('TYPE', "sw:{$key}:local"),
       $error eq 'WRONGTYPE' ? 'list' : 'string', '... and it is left alone');
    $redis->command('DEL', "sw:{$key}:open");
    is($faults->ask('open', $key), $SlidewinFaults::DECIDED,
       '... until it is gone');
}

is($faults->log_lines(qr/is not asked/), $before,
   'that was no reason to leave Redis alone');
is(scalar($faults->nginx->errors(qr{slidewin redis.*secret})), 0,
   '... and no key is in the log');
$faults->ends_clean('errors');
$redis->remove;


# Loading its data: slowly, until the suite has seen it

$redis = SlidewinRedis->start(args => ['--enable-debug-command', 'yes']);
$redis->command('DEBUG', 'POPULATE', 60_000);
$redis->command('SAVE');
$faults = SlidewinFaults->start(url => $redis->url, @parameters);
ok($faults->redis_answers, 'Redis is asked');
$faults->remember_workers;
$redis->kill;
$redis->{unready} = 1;
my $start = SlidewinNginx::now();
ok($redis->run('--key-load-delay', 1000,
               '--loading-process-events-interval-bytes', 1024),
   'Redis is restarted');
ok(SlidewinNginx::until_true(sub {
    my $reply = eval { $redis->call('GET', 'x') };
    defined $reply && $reply =~ /^LOADING/;
}, 20), '... and is loading');

ok(SlidewinNginx::until_true(sub {
    $faults->get('/open?k=' . SlidewinFaults::fresh());
    $faults->log_lines(qr/.*LOADING Redis is loading/);
}, 20), '... as it says');
$faults->fails('LOADING');
is($redis->call('GET', 'x'), 'LOADING Redis is loading the dataset in memory',
   '... which it still is');
cmp_ok($redis->command('INFO', 'stats') =~ /total_connections_received:(\d+)/m
       && $1, '<=', 8 + 2 * (SlidewinNginx::now() - $start),
       '... and is not connected to all the time');
$redis->command('CONFIG', 'SET', 'key-load-delay', 0);
$faults->recovers('loaded');
my $lost = $faults->log_lines(qr/(?:is lost|cannot be reached): /);
cmp_ok($lost, '<=', 1, '... one line for its loss at most');
is($faults->log_lines(qr/is back/), $lost, '... and one for its return');
$faults->ends_clean('loading');
$redis->remove;


# A cluster node, where a single Redis is expected

$redis = SlidewinRedis->start(args => ['--cluster-enabled', 'yes']);
$faults = SlidewinFaults->start(url => $redis->url, @parameters);
$faults->fails('CLUSTERDOWN');
opened($faults, 'CLUSTERDOWN Hash slot not served');
$redis->command('CLUSTER', 'ADDSLOTSRANGE', 0, 16383);
$faults->recovers('a cluster of one');
$faults->remember_workers;
$faults->ends_clean('a cluster');
$redis->remove;


# Any other error

my @errors = (
    'MOVED 3999 127.0.0.1:6381', 'ASK 3999 127.0.0.1:6381',
    'TRYAGAIN Multiple keys request during rehashing of slot',
    'CROSSSLOT Keys in request don\'t hash to the same slot',
    'CLUSTERDOWN The cluster is down', 'LOADING Redis is loading',
    'BUSY Redis is busy running a script.', 'NOREPLICAS Not enough replicas',
    'NOAUTH Authentication required.', 'NOPERM this user has no permissions',
    'ERR unknown command', 'ERR', '', 'x' x 60000, '%s%n%V%d',
    "ODD \x00\x1b[31m\x01\xff",
);

my $fake = SlidewinFake->start(modes => {
    (map { my $e = $errors[$_]; ("error$_" => sub { $_[0]->send("-$e\r\n") }) }
         0 .. $#errors),
    noscript => sub { $_[0]->send("-NOSCRIPT No matching script.\r\n") },
});

$faults = SlidewinFaults->start(url => $fake->url, apart => 1, @parameters);
ok($faults->redis_answers, 'Redis is asked');
$faults->remember_workers;

for my $i (0 .. $#errors) {
    my $name = substr $errors[$i], 0, 20;

    # the log has one such line a second
    SlidewinNginx::nap(1.1) if $name =~ s/[^ -~]/?/g;
    ok($faults->redis_answers, 'Redis is asked');
    $faults->fails("\"$name\"", "error$i");
    is($fake->checks("error$i"), 9, '... and was asked, once for each');
}

is($fake->accepts, 3, 'all on the connections there are');
cmp_ok($faults->log_lines(qr/.*ODD/), '>=', 1, 'an odd error is in the log');
is(scalar(grep { /[^\n\t -~]/ || length > 1000 }
          $faults->nginx->errors(qr/slidewin redis/)), 0,
   'what is logged of it is short and plain');

ok($faults->redis_answers, 'Redis is asked');
my $evals = $fake->stats->{commands}{EVAL} // 0;
$faults->fails('NOSCRIPT for ever', 'noscript');
is($fake->stats->{commands}{EVAL} - $evals, 9,
   '... each request brought its script once');
is($fake->checks('noscript'), 18, '... and gave up then');

$faults->recovers('in the end');
$faults->ends_clean('any other');

done_testing();
