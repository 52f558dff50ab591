# A slot moves from one node of a cluster to the other while checks of a client
# wait behind each other: each is decided by the node it is meant for, and
# counts as in flight at that node.

use strict;
use warnings;

use File::Temp ();
use SlidewinFake;
use SlidewinNginx;
use Test::More;

my $patience = SlidewinNginx::patience();
my $dir = File::Temp::tempdir('slidewin.XXXXXX', TMPDIR => 1, CLEANUP => 1);
my %fake;

sub slot {
    my ($key) = @_;
    my $crc = 0;

    for my $byte (unpack 'C*', $key) {
        $crc ^= $byte << 8;
        $crc = ($crc << 1 ^ ($crc & 0x8000 ? 0x1021 : 0)) & 0xffff
            for 1 .. 8;
    }

    return $crc % 16384;
}

my $hot = slot('hot');

# Half of the slots each, except that of the client "hot": a file says which
# node has it.

sub map_is {
    my ($node) = @_;

    open my $file, '>', "$dir/new" or die "map: $!";
    print $file join ' ', map { $_->port } @fake{'a', 'b', $node};
    close $file;
    rename "$dir/new", "$dir/map" or die "map: $!";

    return;
}

sub array { return '*' . @_ . "\r\n" . join '', @_ }

sub range {
    my ($first, $last, $port) = @_;

    return array(":$first\r\n", ":$last\r\n",
                 array(SlidewinFake::bulk('127.0.0.1'), ":$port\r\n"));
}

sub slots {
    my ($c, $command) = @_;

    return 0 if $command->[0] ne 'CLUSTER';

    my ($a, $b, $of_hot) = split ' ', SlidewinNginx::slurp("$dir/map");

    $c->send(array(map { range(@$_) }
        [0, $hot - 1, $a], [$hot, $hot, $of_hot], [$hot + 1, 8191, $a],
        [8192, 16383, $b]));

    return 1;
}

is($hot, 6093, 'a slot of the first half');

my %modes = (
    well => { check => sub { $_[0]->honest($_[1]) }, command => \&slots },
    hold => { check => sub { $_[0]->hold($_[1]) }, command => \&slots },
    bad => sub { $_[0]->send("-OOM no memory\r\n") },
    # the node says that it has the slot, when it is asked for the first time
    moves => sub {
        my ($c, $command) = @_;
        my $server = $c->{server};

        return $c->honest($command) if $server->{moved}{$command->[3]}++;
        $c->send("-MOVED $hot 127.0.0.1:" . $server->{listener}->sockport
                 . "\r\n");
    },
    # redirected to the other node, which is out of memory
    sent => sub {
        my ($c, $command) = @_;
        my ($client) = $command->[3] =~ /\{(.*)\}/;
        my ($a, $b) = split ' ', SlidewinNginx::slurp("$dir/map");

        return $c->send("-OOM no memory\r\n")
            if $c->{server}{listener}->sockport == $b;
        $c->send('-MOVED ' . slot($client) . " 127.0.0.1:$b\r\n");
    },
    (map {
        my ($name, $text) = @$_;
        $name => sub { $_[0]->send("-$text\r\n") };
    } ['zero', 'MOVED 1 127.0.0.1:0'], ['empty', 'MOVED 1 '],
      ['garbage', "MOVED \x01\xff 1"], ['question', 'MOVED 1 ?:1'],
      ['nowhere', 'MOVED 1 nowhere:1'], ['ask', 'ASK 1 ?:1'],
      ['asks', 'ASK'], ['alone', 'MOVED']),
);

%fake = map { $_ => SlidewinFake->start(modes => \%modes) } qw(a b);
map_is('a');

my %port = map { $_ => $fake{$_}->port } qw(a b);
my $fresh = 0;

# a client with this mode whose slot a node has
sub of {
    my ($node, $mode) = @_;
    my $client;

    do {
        $client = "$mode." . ++$fresh;
    } while ((slot($client) < 8192) != ($node eq 'a'));

    return $client;
}

my ($nginx, $client);

sub start {
    my ($timeout) = @_;

    map_is('a');
    $nginx = SlidewinNginx->start(
        connections => 4096,
        http => "slidewin_redis redis-cluster://127.0.0.1:$port{a},"
                . "127.0.0.1:$port{b} timeout=$timeout connect_timeout=60s;
                 slidewin_zone \$arg_k zone=one:1m rate=100000r/h
                               algorithm=log on_error=closed;",
        server => 'add_header X-Source $slidewin_source always;
                   location = /status { stub_status; }
                   location = /t { slidewin zone=one; empty_gif; }');
    $client = $nginx->client;
    ok(decides($_), 'a node is asked') for qw(a b);
    is(told($client->get('/t?k=hot')), '200 redis', '... for the hot client');

    return;
}

sub told {
    my ($answer) = @_;

    return "$answer->{status} " . ($answer->{header}{'x-source'} // '-');
}

sub decides {
    my ($node) = @_;

    return SlidewinNginx::until_true(sub {
        told($client->get('/t?k=' . of($node, 'any'))) eq '200 redis';
    }, 20 * $patience);
}

sub asks { return $nginx->asks('/t?k=hot') }

sub hot { return $fake{$_[0]}->checks('hot') }

sub becomes {
    my ($what, $want, $name) = @_;
    my $is;

    SlidewinNginx::until_true(sub { ($is = $what->()) == $want },
                              20 * $patience);

    return is($is, $want, $name);
}

# requests in progress, without the one that asks
sub busy {
    my ($n, $name) = @_;

    return becomes(sub {
        $client->get('/status')->{body} =~ /Writing: (\d+)/ ? $1 - 1 : -1;
    }, $n, $name);
}

# one check of the hot client, in flight to a node that holds it
sub leads {
    my ($node) = @_;
    my $before = hot($node);

    $fake{$node}->mode('hold');
    my $leader = asks();
    becomes(sub { hot($node) }, $before + 1, "one is on its way to $node");

    return $leader;
}

sub moves {
    my ($node) = @_;

    map_is($node);
    is(told($client->get('/t?k=' . of($node, 'moves'))), '200 redis',
       "... the slot goes to $node");

    return;
}

sub bad {
    my ($node, $times) = @_;

    return is(SlidewinNginx::tally(map {
        $client->get('/t?k=' . of($node, 'bad'))->{status};
    } 1 .. $times), "503 x$times", "... $node fails $times times");
}

sub given_up {
    my ($node) = @_;

    return scalar $nginx->errors(
        qr/"127\.0\.0\.1:$port{$node}" is not asked for a while/);
}

sub lost {
    my ($node) = @_;

    return scalar $nginx->errors(qr/"127\.0\.0\.1:$port{$node}" is lost/);
}

# A node whose connections ended before they were of use gets one check at a
# time: it decides only if none counts as in flight.
sub nothing_under_way {
    my ($node, $name) = @_;

    for (1, 2) {
        my $accepts = $fake{$node}->accepts;
        my $scripts = $fake{$node}->stats->{commands}{SCRIPT};

        $fake{$node}->cut;
        becomes(sub { $fake{$node}->accepts > $accepts }, 1,
                "$node is connected to anew");
        SlidewinNginx::until_true(sub {
            $fake{$node}->stats->{commands}{SCRIPT} >= $scripts + 4
        }, 20 * $patience);
    }

    return ok(decides($node), $name);
}

start('30s');


# The node that had the slot fails with its last reply: checks that wait are
# meant for the other one, which is healthy.
{
    ok(decides('a'), 'both are well');
    bad('a', 4);
    my $leader = leads('a');
    moves('b');
    my $before = hot('b');
    my $follower = asks();
    busy(2, '... and one waits behind it');
    $fake{a}->mode('well');
    $fake{a}->release(bytes => "-OOM no memory\r\n");
    is(told($leader->answer), '503 fail_closed', '... a fails');
    is(given_up('a'), 1, '... and is given up');
    is(told($follower->answer), '200 redis', '... b decides for the other one');
    is(hot('b') - $before, 1, '... as it was asked');
    is(given_up('b'), 0, '... and is not given up');
}


# The other way round: the node that has the slot now is not asked, as its
# breaker has opened meanwhile.
{
    ok(decides('a'), 'both are well');
    moves('a');
    my $leader = leads('a');
    moves('b');
    my $before = hot('b');
    my $follower = asks();
    busy(2, '... and one waits behind it');
    bad('b', 5);
    is(given_up('b'), 1, '... and is given up');
    $fake{a}->mode('well');
    $fake{a}->release;
    is(told($leader->answer), '200 redis', '... a decides');
    is(told($follower->answer), '503 fail_closed',
       '... on_error for the other');
    is(hot('b') - $before, 0, '... of which b was not asked');
    ok(decides('b'), '... until it is well');
}


# Of two that wait, the first is for one node and takes the second along, which
# was for the other: that node has nothing in flight then.
{
    moves('a');
    my $leader = leads('a');
    my $first = asks();
    busy(2, '... and one waits behind it');
    moves('b');
    my $second = asks();
    busy(3, '... and another one');
    my $before = hot('a');
    $fake{a}->release;
    is(told($leader->answer), '200 redis', '... the first is decided');
    becomes(sub { hot('a') }, $before + 1, '... the others go together');
    nothing_under_way('b', '... and not to b, which is asked for others');
    $fake{a}->mode('well');
    $fake{a}->release;
    is(told($_->answer), '200 redis', '... decided') for $first, $second;
}


# Many checks while the slot moves to and fro: in the end none is in flight.
{
    for my $round (1 .. 6) {
        my ($here, $there) = $round % 2 ? qw(a b) : qw(b a);
        my @clients;

        moves($here);
        push @clients, leads($here);
        push @clients, asks() for 1 .. 5;
        busy(6, '... with five behind it');
        moves($there);
        push @clients, asks() for 1 .. 5;
        busy(11, '... and five more');
        (splice @clients, 3, 1)->close;
        (pop @clients)->close;
        busy(9, '... two leave');
        $fake{$here}->mode('well');
        $round % 3 ? $fake{$here}->release : $fake{$here}->cut;
        my @told = map { told($_->answer) } @clients;
        is(scalar(grep { $_ ne '200 redis' } @told), $round % 3 ? 0 : 1,
           "round $round: decided");
    }

    nothing_under_way($_, "... nothing is under way to $_") for qw(a b);

    # and as many may be in flight as at the start, however many wait behind one
    moves('b');
    $fake{b}->mode('hold');
    my $before = $fake{b}->checks('many');
    my @crowd = map { $nginx->asks('/t?k=' . of('b', 'many')) } 1 .. 1030;
    becomes(sub { $fake{b}->checks('many') - $before }, 1024,
            'b takes as many as it did');
    push @crowd, map { asks() } 1 .. 500;
    busy(1530, '... and the others wait');
    $fake{b}->mode('well');
    $fake{b}->release;
    is(SlidewinNginx::tally(map { $_->answer->{status} } @crowd),
       '200 x1530', '... and decides for all');
    $_->close for @crowd;
}


# A redirect is no failure of the node that sends it, wherever it leads. The
# failure of the other node counts for that node, once.
{
    ok(decides($_), "$_ is well") for qw(a b);
    my $given_up = given_up('a');

    for my $mode (qw(zero empty garbage question nowhere ask asks
                      alone)) {
        is(SlidewinNginx::tally(map {
            $client->get('/t?k=' . of('a', $mode))->{status}
        } 1 .. 6), '503 x6', "$mode: on_error");
        is(told($client->get('/t?k=' . of('a', 'any'))), '200 redis',
           '... and others are decided at once');
    }

    is(given_up('a'), $given_up, 'a was never given up');

    bad('a', 4);
    $client->get('/t?k=' . of('a', 'question'));
    bad('a', 4);
    is(given_up('a'), $given_up, '... nor when it failed before and after');

    ok(decides('b'), 'b is well');
    $given_up = given_up('b');
    $client->get('/t?k=' . of('a', 'sent')) for 1 .. 4;
    is(given_up('b'), $given_up, 'four are sent on to b, which fails');
    is(told($client->get('/t?k=' . of('b', 'any'))), '200 redis',
       '... but is asked');
    my $before_a = given_up('a');
    $client->get('/t?k=' . of('a', 'sent')) for 1 .. 5;
    is(given_up('b') - $given_up, 1, 'five are: b is given up');
    is(given_up('a') - $before_a, 0, '... and not a');
    is(told($client->get('/t?k=' . of('a', 'any'))), '200 redis',
       '... which is asked');
    ok(decides('b'), '... until b is well');
}


# Checks are in flight to both nodes, with others behind them that are for the
# other one, when the worker is told to exit.

sub both_ways {
    my ($here, $there) = @_;
    my @clients = leads($here);

    moves($there);
    push @clients, asks(), asks();
    busy(3, '... and two behind it');
    $fake{$there}->mode('hold');
    push @clients, $nginx->asks('/t?k=' . of($there, 'any'));
    busy(4, "... and one on its way to $there");

    return @clients;
}

for (['a', 'b'], ['b', 'a']) {
    my ($here, $there) = @$_;

    moves($here);
    my @clients = both_ways($here, $there);
    $client->close;
    $nginx->stop(signal => 'TERM', name => 'TERM');
    is(SlidewinNginx::tally(map { $_->answer->{status} } @clients), '0 x4',
       '... and no request is answered');
    $fake{$_}->mode('well') for qw(a b);
    start($there eq 'b' ? '30s' : '2s');
}

# A check that was batched with another times out with it. The node it was meant
# for before is not the one that has failed.
{
    my $leader = leads('a');
    my $behind = $nginx->asks('/t?k=' . of('a', 'any'));
    busy(2, '... and one of another client');
    my $first = asks();
    busy(3, '... and one behind it');
    moves('b');
    my $second = asks();
    busy(4, '... and another one');
    my $before = hot('a');
    $fake{a}->release;
    is(told($_->answer), '200 redis', '... decided') for $leader, $behind;
    becomes(sub { hot('a') }, $before + 1, '... the others go together');
    is(told($_->answer), '503 fail_closed', '... and are late')
        for $first, $second;
    SlidewinNginx::nap(2.2);
    is(lost('b'), 0, '... but not because of b');
    $fake{a}->mode('well');
    $fake{a}->release;
    $_->close for $leader, $behind, $first, $second;
}

# All requests that wait are answered before the worker exits.
{
    ok(decides($_), "$_ is well") for qw(a b);
    moves('b');
    my @clients = both_ways('b', 'a');
    $client->close;
    $nginx->stop(name => 'QUIT');
    is(SlidewinNginx::tally(map { $_->answer->{status} } @clients), '503 x4',
       '... and all are answered');
}

done_testing();
