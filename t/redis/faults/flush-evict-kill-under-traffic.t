# Scripts, keys and memory of the server are changed under traffic: at most
# counts are lost; no request is lost, and none is admitted without being
# counted.

use strict;
use warnings;

use Digest::SHA ();
use Test::More;

use SlidewinNginx;
use SlidewinProcess;
use SlidewinRedis;

my @algorithms = qw(counter fixed strict log);
my $limit = 400;
my $redis = SlidewinRedis->start;

# 40 days: windows that do not end during the suite
sub http {
    my ($url) = @_;

    return <<"END" . join '', map { <<"END" } @algorithms;
    slidewin_redis $url timeout=5s connect_timeout=5s;
    slidewin_log_level info;
    slidewin_zone \$arg_k zone=few:1m rate=5r/40d algorithm=log
                  on_error=closed deny_cache=off;
    slidewin_zone \$arg_k zone=open:1m rate=5r/40d on_error=open;
END
    slidewin_zone \$arg_k zone=$_:1m rate=${limit}r/40d algorithm=$_
                  on_error=closed deny_cache=off;
    slidewin_zone \$arg_k zone=wide_$_:1m rate=1000r/40d algorithm=$_
                  on_error=closed;
END
}

my $server = "add_header X-Source \$slidewin_source always;\n"
    . join('', map { "location = /$_ { slidewin zone=$_; empty_gif; }\n" }
               @algorithms, 'few', 'open')
    . "location = /eight {\n"
    . join('', map { "slidewin zone=$_; slidewin zone=wide_$_;\n" }
               @algorithms) . "empty_gif;\n}\n";

my $nginx = SlidewinNginx->start(workers => 2, http => http($redis->url),
                                 server => $server);

sub tally { return SlidewinNginx::tally(@_) }

# Whether Redis decides, for a new client each time.
my $fresh = 0;

sub decided {
    my ($n) = @_;

    # each worker has a connection of its own: as many requests as it takes to
    # reach all
    return SlidewinNginx::until_true(sub {
        my @answers = map { $n->client->get('/few?k=fresh' . ++$fresh) }
                      1 .. 40;
        return !grep { $_->{status} != 200
                       || $_->{header}{'x-source'} ne 'redis' } @answers;
    }, 20 * SlidewinNginx::patience());
}

ok(decided($nginx), 'Redis decides');


# The script that is loaded is the one that other suites test.

my @takes = grep { /^take/ } SlidewinRedis::scripts();

is_deeply($redis->command('SCRIPT', 'EXISTS',
          map { Digest::SHA::sha1_hex(SlidewinRedis::script($_)) } @takes),
          [map { 1 } @takes],
          'the scripts of the project are those that are loaded');


# One call per request, for any number of zones.

for my $uri ('/log', '/eight') {
    my @clients = $nginx->clients(4);

    $redis->command('CONFIG', 'RESETSTAT');
    my @statuses = map { $_->statuses(("$uri?k=calls") x 25) } @clients;

    is(tally(@statuses), '200 x100', "$uri: all pass");
    is($redis->calls('evalsha'), 100, "$uri: one EVALSHA a request");

    # the head of a log is read, and more only if it is long
    my $others = join ' ',
                 sort grep { !/^(?:evalsha|time|get|getrange|strlen|set|append)$/ }
                 $redis->command('INFO', 'commandstats')
                 =~ /^cmdstat_([^:]+):calls/mg;
    like($others, qr/^(?:config\|resetstat)? ?(?:info)?$/,
         "$uri: no other command");

    cmp_ok($redis->calls('get') + $redis->calls('getrange'), '>=',
           $uri eq '/log' ? 100 : 800,
           "$uri: that looks at each policy's key");
}


# While clients make requests, the code does something to the server, again and
# again. Returns the statuses.

sub traffic {
    my ($uri, $per_client, $meanwhile) = @_;
    my @clients = $nginx->clients(8);

    my $process = SlidewinProcess->start($meanwhile);

    my @statuses = map { @$_ } $nginx->together(sub {
        my ($client) = @_;
        return [map { $client->get($uri)->{status} } 1 .. $per_client];
    }, @clients);

    $process->stop;

    return @statuses;
}

for my $algorithm (@algorithms) {
    $redis->command('CONFIG', 'RESETSTAT');

    my @statuses = traffic("/$algorithm?k=flush", 100, sub {
        my $client = $redis->client;
        while (1) {
            $client->call('SCRIPT', 'FLUSH');
            SlidewinNginx::nap(0.005);
        }
    });

    is(tally(@statuses), "200 x$limit, 429 x" . (800 - $limit),
       "SCRIPT FLUSH under traffic: $algorithm admits exactly its limit");
    cmp_ok($redis->calls('script|flush'), '>', 2, 'it was flushed often');
    cmp_ok($redis->calls('eval'), '>', 0, 'the script was brought along');
}

is(scalar $nginx->errors(qr/NOSCRIPT/), 0, 'the log has no NOSCRIPT');


# FLUSHALL: the counts start anew, and that is all.

for my $algorithm (@algorithms) {
    my $client = $nginx->client;

    is(tally($client->statuses(("/$algorithm?k=all") x ($limit + 1))),
       "200 x$limit, 429 x1", "$algorithm: used up");
    $redis->command('FLUSHALL');
    is(tally($client->statuses(("/$algorithm?k=all") x ($limit + 1))),
       "200 x$limit, 429 x1", "$algorithm: anew after FLUSHALL");
}

{
    my @statuses = traffic('/log?k=flushed', 100, sub {
        my $client = $redis->client;
        while (1) {
            SlidewinNginx::nap(0.02);
            $client->call('FLUSHALL');
        }
    });
    like(tally(@statuses), qr/^200 x\d+(?:, 429 x\d+)?$/,
         'FLUSHALL under traffic: no errors');
}


# Out of memory: on_error decides; what was admitted before stays counted.

{
    my $client = $nginx->client;

    is(tally($client->statuses(('/few?k=oom') x 3)), '200 x3', 'three of five');
    $redis->command('CONFIG', 'SET', 'maxmemory-policy', 'noeviction');
    $redis->command('CONFIG', 'SET', 'maxmemory', 1);

    is(tally($client->statuses(('/few?k=oom') x 10)), '503 x10',
       'OOM: on_error=closed');
    is(tally($client->statuses(('/open?k=oom') x 10)), '200 x10',
       'OOM: on_error=open');
    ok($nginx->logged(qr/failed: "OOM /), 'the log says why');

    $redis->command('CONFIG', 'SET', 'maxmemory', 0);
    ok(decided($nginx), 'Redis decides again');

    my @statuses = $nginx->client->statuses(('/few?k=oom') x 4);
    is(tally(@statuses), '200 x2, 429 x2', 'two were left');
}


# A restart: all waiting requests are answered, then the counts start anew.

for my $signal ('KILL', 'TERM') {
    my @clients = $nginx->clients(8);
    my $killed = $nginx->root . "/$signal";

    my @statuses = map { @$_ } $nginx->together(sub {
        my ($client) = @_;

        if (!ref $client) {
            SlidewinNginx::nap(0.05);
            kill $signal, $redis->pid;
            open my $file, '>', $killed or die "$killed: $!";
            return [];
        }
        # some before, some at the moment, some after it
        return [map {
            SlidewinNginx::until_true(sub { -e $killed }, 30) if $_ == 80;
            SlidewinNginx::nap(0.002);
            $client->get('/log?k=restart')->{status};
        } 1 .. 100];
    }, @clients, 'the killer');

    my %count;
    $count{$_}++ for @statuses;
    is(scalar @statuses, 800, "$signal under traffic: all are answered");
    is(join(' ', grep { !/^(?:200|429|503)$/ } keys %count), '',
       'with what was to be expected');
    cmp_ok($count{503} // 0, '>', 0, 'some by on_error');
    cmp_ok($count{200} // 0, '<=', $limit, 'none beyond the limit');

    $redis->kill;
    ok($redis->run, 'Redis is back');
    ok(decided($nginx), 'and decides again');

    is(tally($nginx->client->statuses(('/log?k=restart') x ($limit + 1))),
       "200 x$limit, 429 x1", 'the counts began anew, and nothing else');
}

ok($nginx->logged(qr/\[error\].* is lost: /), 'the loss is in the log');
ok($nginx->logged(qr/\[error\].* is back/), 'the return as well');

$nginx->stop;


# A replica that must not be written to.

{
    my $replica = SlidewinRedis->start(
        args => ['--replicaof', '127.0.0.1 ' . $redis->port]);

    ok(SlidewinNginx::until_true(sub {
        $replica->command('INFO', 'replication') =~ /master_link_status:up/;
    }, 20), 'a replica');

    my $keys = $redis->command('DBSIZE');
    my $edge = SlidewinNginx->start(workers => 2, server => $server,
                                    http => http($replica->url));

    is(tally($edge->client->statuses(('/few?k=replica') x 20)), '503 x20',
       'a replica: on_error=closed');
    is(tally($edge->client->statuses(('/open?k=replica') x 20)), '200 x20',
       'a replica: on_error=open');
    ok($edge->logged(qr/READONLY/), 'the log says why');
    is($redis->command('DBSIZE'), $keys, 'nothing was written');

    $replica->command('REPLICAOF', 'NO', 'ONE');
    ok(decided($edge), 'it becomes the master and decides');
    is(tally($edge->client->statuses(('/few?k=replica') x 7)),
       '200 x5, 429 x2', 'all of the limit is there');

    $edge->stop;
}

done_testing();
