# A cluster with faulty nodes: replies to CLUSTER SLOTS that cannot be true, and
# redirects that lead nowhere or in circles. None of them is believed, and none
# has lasting effects.

use strict;
use warnings;

use SlidewinFake;
use SlidewinNginx;
use SlidewinRedis;
use Test::More;

my $patience = SlidewinNginx::patience();
my $dead = SlidewinRedis::free_port();

sub bulk { return SlidewinFake::bulk($_[0]) }

sub array { return '*' . @_ . "\r\n" . join '', @_ }

sub number { return ":$_[0]\r\n" }

sub range {
    my ($first, $last, @nodes) = @_;

    return array(number($first), number($last), @nodes);
}

sub node { return array(bulk($_[0]), number($_[1]), bulk('0123456789abcdef')) }

# all slots on the fake itself
sub mine {
    my ($c, $host) = @_;
    my $port = $c->{server}{listener}->sockport;

    return array(range(0, 16383, array($host // bulk('127.0.0.1'),
                                       number($port), bulk('id'))));
}

my @bad = (
    ['a status', "+OK\r\n"],
    ['a number', ":1\r\n"],
    ['nil', "\$-1\r\n"],
    ['a nil array', "*-1\r\n"],
    ['nothing', "*0\r\n"],
    ['text', bulk('0 16383 127.0.0.1 1')],
    ['an error', "-ERR This instance has cluster support disabled\r\n"],
    ['no permission', "-NOPERM this user has no permissions\r\n"],
    ['numbers', array(number(0), number(16383))],
    ['a range without a node', array(range(0, 16383))],
    ['a range of text', array(array(bulk(0), bulk(16383),
                                    node('127.0.0.1', 1)))],
    ['a node that is text', array(range(0, 16383, bulk('127.0.0.1:1')))],
    ['a node without a port', array(range(0, 16383,
                                          array(bulk('127.0.0.1'))))],
    ['a port of text', array(range(0, 16383, array(bulk('127.0.0.1'),
                                                   bulk('1'))))],
    ['port 0', array(range(0, 16383, node('127.0.0.1', 0)))],
    ['port 65536', array(range(0, 16383, node('127.0.0.1', 65536)))],
    ['a host that is a number', array(range(0, 16383, array(number(1),
                                                            number(1))))],
    ['a host with a space', array(range(0, 16383, node('a b', 1)))],
    ['a host that is a path', array(range(0, 16383, node('/tmp/x', 1)))],
    ['a host that is too long', array(range(0, 16383, node('x' x 256, 1)))],
    ['half an address', array(range(0, 16383, node('::zz', 1)))],
    ['slot -1', array(range(-1, 16383, node('127.0.0.1', 1)))],
    ['slot 16384', array(range(0, 16384, node('127.0.0.1', 1)))],
    ['a range backwards', array(range(5, 4, node('127.0.0.1', 1)))],
    ['a slot twice', array(range(0, 5, node('127.0.0.1', 1)),
                           range(5, 9, node('127.0.0.1', 2)))],
    ['good, then bad', array(range(0, 16382, node('127.0.0.1', 1)),
                             number(1))],
    ['an unknown node', array(range(0, 16383, node('?', 1)))],
    ['a name that does not resolve',
     array(range(0, 16383, node('nowhere', 1)))],
    ['a node that is away', array(range(0, 16383,
                                        node('127.0.0.1', $dead)))],
    ['too deep', "*1\r\n" x 8 . ":1\r\n"],
    ['too much', "*2147483647\r\n"],
    ['not Redis', "HTTP/1.1 400 Bad Request\r\n\r\n"],
    ['half of it', "*1\r\n*3\r\n:0\r\n"],
    ['silence', ''],
);

my @good = (
    ['an address', sub { mine($_[0]) }],
    ['no host', sub { mine($_[0], "\$-1\r\n") }],
    ['an empty host', sub { mine($_[0], bulk('')) }],
    ['the name of the URL', sub { mine($_[0], bulk('localhost')) }],
    ['one range a slot', sub {
        my $port = $_[0]{server}{listener}->sockport;
        return array(map { range($_, $_, node('127.0.0.1', $port)) }
                     0 .. 16383);
    }],
    ['replicas and all there is to say', sub {
        my $port = $_[0]{server}{listener}->sockport;
        my @more = (bulk('id'), array(bulk('ip'), bulk('127.0.0.1'),
                                      bulk('hostname'), bulk('x')));
        return array(map {
            range(@$_, array(bulk(''), number($port), @more),
                  array(bulk('127.0.0.1'), number($dead), @more))
        } [0, 8191], [8192, 16383]);
    }],
);

# another node, which sends no slots
my $other = SlidewinFake->start;

my %answer = map { ("bad$_" => $bad[$_][1]) } 0 .. $#bad;
$answer{"good$_"} = $good[$_][1] for 0 .. $#good;
$answer{leads} = array(range(0, 16383, node('127.0.0.1', $other->port)));

# Which reply a connection gets is in the password it sends.

sub cluster_command {
    my ($well) = @_;

    return sub {
        my ($c, $command) = @_;

        if ($command->[0] eq 'AUTH') {
            $c->{case} = $command->[1];
            $c->send("+OK\r\n");
            return 1;
        }

        return 0 if $command->[0] ne 'CLUSTER';

        my $answer = $well ? mine($c) : $answer{$c->{case} // ''} // mine($c);
        $c->send(ref $answer ? $answer->($c) : $answer);
        return 1;
    };
}

sub moved {
    my ($text) = @_;

    return sub {
        my ($c) = @_;
        my $port = $c->{server}{listener}->sockport;

        $c->send('-' . $text =~ s/PORT/$port/r . "\r\n");
    };
}

my $more = 0;

my $fake = SlidewinFake->start(mode => 'cases', modes => {
    cases => { command => cluster_command(0) },
    good => { command => cluster_command(1) },
    garbage => { command => sub {
        return 0 if $_[1][0] ne 'CLUSTER';
        $_[0]->send("*1\r\n*1\r\n:5\r\n");
        return 1;
    } },
    circle => moved('MOVED 1 127.0.0.1:PORT'),
    ask => moved('ASK 1 127.0.0.1:PORT'),
    away => moved("MOVED 1 127.0.0.1:$dead"),
    unknown => moved('MOVED 1 nowhere:1'),
    question => moved('MOVED 1 ?:1'),
    text => moved('MOVED to somewhere else'),
    short => moved('MOVED'),
    slot => moved('MOVED 16384 127.0.0.1:PORT'),
    down => moved('CLUSTERDOWN Hash slot not served'),
    cross => moved('CROSSSLOT Keys in request don\'t hash to the same slot'),
    again => moved('TRYAGAIN Multiple keys request during rehashing of slot'),
    # by CLUSTER KEYSLOT
    elsewhere => moved('MOVED 6140 127.0.0.1:' . $other->port),
    everywhere => sub {
        my $port = 1 + $more++ % 900;
        $_[0]->send("-MOVED 1 127.0.0.1:$port\r\n");
    },
    # held, then redirected to itself, then answered
    late => sub {
        my ($c, $command) = @_;
        my $port = $c->{server}{listener}->sockport;

        return $c->honest($command) if $c->{server}{late}++ >= 10;
        $c->pause(1.2) if $c->{server}{late} == 1;
        $c->send("-MOVED 1 :$port\r\n");
    },
    # a batch that is held, and then redirected
    group => sub {
        my ($c, $command) = @_;
        my $port = $c->{server}{listener}->sockport;
        my $nth = ++$c->{server}{group};

        $c->pause(1.2) if $nth < 4;
        return $c->honest($command) if $nth != 1 && $nth != 3;
        $c->send("-MOVED 1 :$port\r\n");
    },
    # redirected to itself, once
    once => sub {
        my ($c, $command) = @_;
        my $port = $c->{server}{listener}->sockport;

        return $c->honest($command) if $c->{server}{moved}++ % 2;
        $c->send("-MOVED 1 :$port\r\n");
    },
});

my $port = $fake->port;
my ($stores, $locations) = ('', '');

sub store {
    my ($name, $host, $params) = @_;

    $stores .= "slidewin_redis redis-cluster://:$name\@$host:$port name=$name"
               . " $params;\nslidewin_zone \$arg_k zone=$name:1m rate=1000r/h"
               . " algorithm=log store=$name on_error=closed;\n";
    $locations .= "location = /$name { slidewin zone=$name; empty_gif; }\n";

    return;
}

store("bad$_", '127.0.0.1', 'timeout=1s connect_timeout=3s')
    for 0 .. $#bad;
store("good$_", $good[$_][0] =~ /name/ ? 'localhost' : '127.0.0.1',
      'timeout=20s connect_timeout=20s') for 0 .. $#good;
store($_, '127.0.0.1', 'timeout=20s connect_timeout=5s') for qw(leads redirect);
store('hasty', '127.0.0.1', 'timeout=1s connect_timeout=5s');

my $nginx = SlidewinNginx->start(
    http => $stores,
    server => 'add_header X-Source $slidewin_source always;
               location = /counted { slidewin zone=redirect count=200;
                                     empty_gif; }' . $locations,
);
my $client = $nginx->client;

sub told {
    my ($uri) = @_;
    my $answer = $client->get($uri);

    return "$answer->{status} " . ($answer->{header}{'x-source'} // '-');
}

for my $i (0 .. $#good) {
    is(told("/good$i?k=1"), '200 redis', "a good map: $good[$i][0]");
}

is(told('/leads?k=led'), '200 redis', 'a good map: of another node');
is($other->checks('led'), 1, '... which is asked');

for my $i (0 .. $#bad) {
    is(told("/bad$i?k=1"), '503 fail_closed', "a bad map: $bad[$i][0]");
}

for (['its answer makes no sense', 25],
     ['ERR This instance has cluster support disabled', 1],
     ['NOPERM this user has no permissions', 1])
{
    my ($reason, $wanted) = @$_;

    is(scalar($nginx->errors(qr/\[error\].* does not tell the slots of its cluster: "\Q$reason\E"/)),
       $wanted, "in the log once for each: $reason")
        or diag(join '', $nginx->errors(qr/does not tell/));
}

ok($nginx->logged(qr/slidewin redis: 16384 slots of the cluster of "127\.0\.0\.1:$port" have no node/),
   '... slots without a node');
ok($nginx->logged(qr/"nowhere:1" cannot be reached: its name was not resolved/),
   '... a name');


# Earlier replies are forgotten.

$fake->mode('good');

for my $i (0 .. $#bad) {
    ok(SlidewinNginx::until_true(sub { told("/bad$i?k=2") eq '200 redis' },
                                 20 * $patience),
       "decided when the map is good: $bad[$i][0]");
}

ok(SlidewinNginx::until_true(sub { $fake->stats->{open} == @bad + @good + 2 },
                             10 * $patience),
   'a connection each, but for the one that was led elsewhere')
    or diag($fake->stats->{open});


# Redirects.

my ($worker) = $nginx->workers;
my $fds = SlidewinNginx::fds($worker);

sub well {
    my ($store) = @_;

    $store //= 'redirect';

    return SlidewinNginx::until_true(sub {
        told("/$store?k=well") eq '200 redis'
    }, 20 * $patience);
}

ok(well(), 'redirects: decided by Redis');

for (['circle', 6, 'in circles'], ['ask', 6, 'ASK in circles'],
     ['away', 1, 'to a dead node'],
     ['unknown', 1, 'to a name that does not resolve'],
     ['question', 1, 'to an unknown node'], ['text', 1, 'bad text'],
     ['short', 1, 'too short'], ['slot', 1, 'slot 16384'],
     ['cross', 1, 'CROSSSLOT'], ['down', 1, 'CLUSTERDOWN'])
{
    my ($mode, $checks, $name) = @$_;

    is(told("/redirect?k=$mode"), '503 fail_closed', "$name: on_error");
    is($fake->checks($mode), $checks, "... after $checks");
    ok(well(), '... and others are decided by Redis');
}

ok($nginx->logged(qr/does not decide: "it was one redirect too many"/),
   'circles are in the log');

is(told('/redirect?k=once'), '200 redis', 'MOVED to the same host: followed');

my $start = SlidewinNginx::now();
is(told('/hasty?k=again'), '503 fail_closed', 'TRYAGAIN for ever: on_error');
cmp_ok(SlidewinNginx::now() - $start, '>', 0.9, '... when the time is over');
cmp_ok($fake->checks('again'), '<=', 210, '... with a pause each time');
cmp_ok($fake->checks('again'), '>', 1, '... again and again');
ok(well('hasty'), '... and others are decided by Redis');

my $leads = $nginx->asks('/hasty?k=again');
SlidewinNginx::nap(0.5);
$start = SlidewinNginx::now();
my $follows = $nginx->asks('/hasty?k=again');
is($_->answer->{status}, 503, 'TRYAGAIN for two of a client: on_error')
    for $leads, $follows;
cmp_ok(SlidewinNginx::now() - $start, '>', 0.9,
       '... for the second when its own time is over');
$_->close for $leads, $follows;

# Slots that make no sense do not replace good ones.

$fake->mode('garbage');
my $looks = $fake->stats->{commands}{CLUSTER};
is(told('/redirect?k=once'), '200 redis', 'a bad map later: MOVED is followed');
ok(SlidewinNginx::until_true(sub {
    $fake->stats->{commands}{CLUSTER} > $looks + 1
}, 10 * $patience), '... it is asked for again');
is(told('/redirect?k=well'), '200 redis', '... and the old one holds');

is(join(' ', map { told('/redirect?k=elsewhere') } 1 .. 5),
   join(' ', ('200 redis') x 5), 'MOVED to another node: followed');
is($fake->checks('elsewhere') . ' ' . $other->checks('elsewhere'), '1 5',
   '... and remembered, without a new map');
$fake->mode('good');

# Clients leave while their checks are redirected. Units are refunded by the
# status that they did not wait for.

my $refunds = $fake->stats->{refunds} // 0;
my @gone = map { $nginx->asks("/counted?k=late.$_") } 1 .. 10;

ok(SlidewinNginx::until_true(sub { $fake->checks('late') == 10 },
                             10 * $patience), 'ten ask');
$_->close for @gone;
ok(SlidewinNginx::until_true(sub {
    $fake->checks('late') == 20
        && ($fake->stats->{refunds} // 0) == $refunds + 10
}, 10 * $patience), '... and leave: sent on all the same, and given back');

@gone = map { $nginx->asks("/redirect?k=$_") } ('again', 'circle') x 10;
my $checks = $fake->checks('again');
SlidewinNginx::until_true(sub { $fake->checks('again') > $checks + 10 }, 5);
$_->close for @gone;
ok(well(), 'clients leave in the middle of it: others are decided by Redis');

# Requests of one client are batched, also when they are redirected; a client
# that leaves before that is not counted. The first goes alone, and is
# redirected with the others; then those that came meanwhile.

sub asked { return $fake->checks('group') }

my @crowd = map { $nginx->asks('/redirect?k=group') } 1 .. 5;

ok(SlidewinNginx::until_true(sub { asked() == 2 }, 10 * $patience),
   'five of one client: sent on');

my @second = map { $nginx->asks('/redirect?k=group') } 1 .. 6;

is(join(' ', map { $_->answer->{header}{'x-remaining'} } @crowd),
   '999 998 997 996 995', '... together, each with its own verdict');
ok(SlidewinNginx::until_true(sub { asked() == 3 }, 10 * $patience),
   'six that came meanwhile: asked for');
$_->close for splice @second, 1, 2;
is(join(' ', map { $_->answer->{header}{'x-remaining'} } @second),
   '994 993 992 991', '... and sent on without those that have left');
is(asked(), 4, '... together');
is(told('/redirect?k=group'), '200 redis', '... and the next one asks');
$_->close for @crowd, @second;

# When all nodes with slots are down, those of the URL are asked again.

is(told('/leads?k=led'), '200 redis', 'the other node is asked as before');
is($other->checks('led'), 2, '... as no node says otherwise');
$other->stop;
ok(SlidewinNginx::until_true(sub { told('/leads?k=led') eq '200 redis' },
                             20 * $patience),
   'it is gone: the one of the URL tells who is in its place');

# Many redirects cause few refreshes, and connections that are not needed are
# closed.

$looks = $fake->stats->{commands}{CLUSTER};
$start = SlidewinNginx::now();

is(join(' ', grep { $_ ne '200 redis' }
             map { told('/redirect?k=once') } 1 .. 100), '',
   'a hundred times MOVED');

my $took = SlidewinNginx::now() - $start;

cmp_ok($fake->stats->{commands}{CLUSTER} - $looks, '<=', 4 * $took + 2,
       '... at most a few looks at the map in a second');

told('/redirect?k=everywhere') for 1 .. 100;
ok(well(), 'to a hundred ports: others are decided by Redis');
ok(SlidewinNginx::until_true(sub { SlidewinNginx::fds($worker) <= $fds },
                             10 * $patience), 'no descriptor is left over')
    or diag(SlidewinNginx::fds($worker) . " and not $fds");

# nginx ends while checks are being redirected.

@gone = map { $nginx->asks('/redirect?k=again') } 1 .. 10;
$checks = $fake->checks('again');
SlidewinNginx::until_true(sub { $fake->checks('again') > $checks + 10 }, 5);
$client->close;
$nginx->stop(signal => 'TERM');

done_testing();
