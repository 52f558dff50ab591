# How waiting ends early: the client leaves, the worker exits, Redis dies, or
# too many requests wait.

use strict;
use warnings;

use IO::Socket::INET ();
use SlidewinNginx;
use SlidewinRedis;
use Socket ();
use Test::More;

my $redis = SlidewinRedis->start;
my $patience = SlidewinNginx::patience();

my %conf = (
    workers => 1,
    # lines that the log throttle leaves out appear at debug, and no others do
    http => 'error_log logs/error.log debug_mail;
             slidewin_redis ' . $redis->unix_url . ' timeout=5s
                            connect_timeout=10s;
             slidewin_log_level warn;
             slidewin_zone $arg_k zone=local:1m rate=1r/2s algorithm=log
                           store=local;
             slidewin_zone $arg_k zone=line:1m rate=1r/5s algorithm=log
                           store=local;
             slidewin_zone $arg_k zone=redis:1m rate=1r/2s algorithm=log;
             slidewin_zone $arg_k zone=long:1m rate=1r/h algorithm=log;
             slidewin_zone $arg_k zone=hour:1m rate=1r/h algorithm=log
                           store=local;',
    server => 'add_header X-Source $slidewin_source always;
               location = /local { slidewin zone=local delay=9s; empty_gif; }
               location = /line { slidewin zone=line delay=20s; empty_gif; }
               location = /redis { slidewin zone=redis delay=9s; empty_gif; }
               location = /hour { slidewin zone=hour delay=1h; empty_gif; }
               location = /long { slidewin zone=long delay=1h; empty_gif; }
               location = /post {
                   slidewin zone=hour delay=1h;
                   post_action /after;
                   empty_gif;
               }
               location = /after { empty_gif; }',
);

my $fresh = 0;

sub fresh { return 'k' . ++$fresh }

# how many log lines say that a request is delayed
sub delays {
    my ($nginx) = @_;

    return scalar $nginx->errors(qr/delaying request/);
}

# N clients that have used up their limits and wait
sub waiting {
    my ($nginx, $uri, $n, @keys) = @_;
    my $before = delays($nginx);
    my @clients = map { $nginx->client(timeout => 60) } 1 .. $n;

    for my $client (@clients) {
        my $k = shift @keys // fresh();
        $client->get("$uri?k=$k");
        $client->request("$uri?k=$k");
    }

    ok(SlidewinNginx::until_true(sub { delays($nginx) >= $before + $n },
                                 10 * $patience), "$uri: $n wait");

    return @clients;
}

sub told {
    return join ' ', sort map {
        $_->{status} . '-' . ($_->{header}{'x-status'} // '')
    } @_;
}


# Clients that leave: waiting ends at once, however long it would have been.

my $nginx = SlidewinNginx->start(%conf);
my ($worker) = $nginx->workers;
$nginx->get('/redis?k=warm');
my $fds = SlidewinNginx::fds($worker);

for my $uri (qw(/hour /long /post)) {
    my @clients = waiting($nginx, $uri, 8);

    $_->close for @clients;
    ok(SlidewinNginx::until_true(sub { SlidewinNginx::fds($worker) <= $fds },
                                 5 * $patience), "$uri: ... until they leave");
}

# one queue, left from either end and from the middle
{
    my $k = fresh();
    my $before = delays($nginx);

    $nginx->get("/line?k=$k");
    my @clients = map { $nginx->client } 1 .. 2;
    $_->request("/line?k=$k") for @clients;
    ok(SlidewinNginx::until_true(sub { delays($nginx) == $before + 2 },
                                 10 * $patience), 'a line of two');
    $_->close for reverse @clients;
    ok(SlidewinNginx::until_true(sub { SlidewinNginx::fds($worker) <= $fds },
                                 5 * $patience), '... is left');
    my $client = $nginx->client(timeout => 60);
    $client->request("/line?k=$k");
    is(told($client->answer), '200-DELAYED', '... and who comes is the first');
}

# data that the client sends meanwhile is not lost
{
    my ($client) = waiting($nginx, '/redis', 1);

    $client->request('/free');
    is(told($client->answer), '200-DELAYED', 'a request behind it waits too');
    is($client->answer->{status}, 200, '... and is served after it');
}
$nginx->stop;


# A worker that exits waits no longer than its requests may.

for my $uri (qw(/local /redis)) {
    $nginx = SlidewinNginx->start(%conf);
    my @clients = waiting($nginx, $uri, 5);
    my @all = ($nginx->master, $nginx->workers);

    $nginx->signal('QUIT');
    is(told(map { $_->answer } @clients),
       join(' ', ('200-DELAYED') x 5), "$uri: QUIT: all have their turn");
    ok(!(grep { !SlidewinNginx::gone($_, 5 * $patience) } @all),
       '... and the processes end');
    $nginx->stop;

    $nginx = SlidewinNginx->start(%conf);
    @clients = waiting($nginx, $uri, 5);
    my @old = $nginx->reload;
    is(told(map { $_->answer } @clients),
       join(' ', ('200-DELAYED') x 5), "$uri: reload: all have their turn");
    ok(!(grep { !SlidewinNginx::gone($_, 5 * $patience) } @old),
       '... and the old worker ends');
    $nginx->stop;
}


# Redis dies: when the time of a waiting request comes, on_error decides.

$nginx = SlidewinNginx->start(%conf);
{
    my @clients = waiting($nginx, '/redis', 3);

    $redis->kill;
    my @answers = map { $_->answer } @clients;
    is(told(@answers), join(' ', ('200-DELAYED') x 3),
       'Redis dies: all have their turn');
    is(join(' ', map { $_->{header}{'x-source'} } @answers),
       join(' ', ('fallback') x 3), '... by what is counted here');

    my @more = waiting($nginx, '/redis', 3);
    @answers = map { $_->answer } @more;
    is(told(@answers), join(' ', ('200-DELAYED') x 3),
       'who comes then waits as well');
    is(join(' ', map { $_->{header}{'x-source'} } @answers),
       join(' ', ('fallback') x 3), '... for what is counted here');
}
$nginx->stop;


# Several workers and edges: the store decides which request is first, and all
# are answered. The timeout is long, because an edge that does not reach Redis
# in time would count by itself.

$redis->run;
{
    my %many = (%conf, workers => 2);

    $many{http} .= 'slidewin_zone $arg_k zone=many:1m rate=10r/s
                                  algorithm=log on_error=closed;';
    $many{server} .= 'location = /many { slidewin zone=many delay=3s;
                                         empty_gif; }';

    my @edges = map { SlidewinNginx->start(%many) } 1, 2;
    my @clients = map { $_->clients(40) } @edges;

    my $start = SlidewinNginx::now();
    $_->request('/many?k=k') for @clients;
    my %count;
    $count{told($_->answer)}++ for @clients;
    my $seconds = SlidewinNginx::now() - $start;
    my $passed = ($count{'200-PASSED'} // 0) + ($count{'200-DELAYED'} // 0);

    is($passed + $count{'429-REJECTED'}, 80,
       'two edges, four workers: all are answered');
    cmp_ok($count{'200-DELAYED'}, '>=', 10, '... many of them later');
    # the store counts whole ms: four windows may be that much shorter
    cmp_ok($passed, '<=', 10 * (1 + int($seconds + 0.004)),
           '... and no more than the limit allows');

    $_->stop for @edges;
}


# No more than a quarter of a worker's connections wait.

$nginx = SlidewinNginx->start(%conf, connections => 100);
{
    my @clients = waiting($nginx, '/hour', 25);

    my $k = fresh();
    my $client = $nginx->client;

    is(told(map { $client->get("/hour?k=$k") } 1, 2), '200-PASSED 429-REJECTED',
       'one more is rejected at once');

    # one that leaves makes room for another
    shift(@clients)->close;
    my $waits = 0;
    my $before = delays($nginx);
    SlidewinNginx::until_true(sub {
        my $one = $nginx->client;
        my $key = fresh();
        $one->get("/hour?k=$key");
        $one->request("/hour?k=$key");
        push @clients, $one;
        $waits = SlidewinNginx::until_true(sub {
            delays($nginx) > $before;
        }, 0.2);
    }, 5 * $patience);
    ok($waits, '... until one of them leaves');
}
$nginx->stop(signal => 'TERM');

done_testing();
