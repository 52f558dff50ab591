# Edges of one Redis agree on bans: one begins with the rejection itself, so
# that no edge admits a request after it. Requests that ask together begin one
# ban. A flood of a banned client costs Redis a call a second for each edge. A
# ban that was lifted elsewhere is over when deny_cache= is.

use strict;
use warnings;

use SlidewinBan;
use SlidewinCount;
use SlidewinHTTP2;
use SlidewinNginx;
use SlidewinRedis;
use Test::More;

my @algorithms = @SlidewinBan::ALGORITHMS;
my $limit = 5;
# deny_cache= of the zone "lift"
my $remembered = 3 * SlidewinNginx::patience();
my $held = SlidewinCount->new('held');
my $redis = SlidewinRedis->start;
my @ports = map { SlidewinRedis::free_port() } 1, 2;

sub conf {
    my ($n) = @_;

    return (store => { redis => $redis }, workers => 2,
            http => "slidewin_log_level notice;
                     upstream held { server unix:$held->{sockets}/held; }
                     slidewin_zone \$arg_k zone=lift:1m rate=2r/40d ban=1h
                                   deny_cache=${remembered}s on_error=closed;
" . join('', map { <<"ZONE" }
    slidewin_zone \$arg_k zone=$_:1m rate=${limit}r/40d algorithm=$_ ban=1h
                  on_error=closed;
    slidewin_zone \$arg_k zone=short_$_:1m rate=1r/200ms algorithm=$_ ban=1h
                  on_error=closed;
ZONE
                @algorithms)
            . "slidewin_zone \$arg_k zone=off:1m rate=${limit}r/40d ban=1h
                             deny_cache=off on_error=closed;
               slidewin_zone \$arg_k zone=many:1m rate=100r/40d ban=1h
                             on_error=closed;
               slidewin_zone \$arg_k zone=many_off:1m rate=100r/40d ban=1h
                             deny_cache=off algorithm=log on_error=closed;
               slidewin_zone \$arg_k zone=cycle:1m rate=1r/40d ban=100ms
                             deny_cache=off on_error=closed;
               slidewin_zone \$arg_k zone=warm:1m rate=1r/ms deny_cache=off;",
            server => "listen 127.0.0.1:$ports[$n] http2;\n"
            . join('', map { "location = /$_ { slidewin zone=$_;"
                             . " empty_gif; }\n" }
                   @algorithms, (map { "short_$_" } @algorithms),
                   qw(off many many_off cycle warm lift))
            . 'location = /held { slidewin zone=lift reset=302;
                                  proxy_pass http://held; }
               location = /forgive { slidewin zone=lift cost=0 reset=429;
                                     empty_gif; }');
}

my @edges = map { SlidewinBan::edge(conf($_)) } 0, 1;
my ($a, $b) = @edges;

# all workers are connected to Redis, with their scripts
for my $edge (@edges) {
    for my $client ($edge->clients(2)) {
        $client->get("/$_?k=warm") for @algorithms, 'warm', 'off';
        $client->close;
    }
}

sub ask { return SlidewinBan::ask(@_) }

sub told { return SlidewinBan::told(@_) }

sub begun {
    my ($zone, @of) = @_;

    return scalar map { grep { /zone "$zone"/ } SlidewinBan::begun($_) }
                  @of ? @of : @edges;
}

sub calls { return scalar $redis->calls('evalsha') }

sub writes { my $n = 0; $n += $redis->calls($_) for qw(set append setrange
                                                       pexpire del); return $n }


# A ban begins at one edge and holds at the other at once, where nothing of the
# client is known.

for my $algorithm (@algorithms) {
    my ($here, $there) = ($a->client, $b->client);
    my $uri = "/short_$algorithm?k=a";
    my $begin = SlidewinBan::until_rejected($here, $uri);
    my $hit = ask($there, $uri);

    is(told($begin), '429 REJECTED', "$algorithm: a ban begins at one edge");
    is(told($hit), '429 BANNED', '... and the other rejects');
    is($hit->{header}{'x-source'}, 'redis', '... by Redis');
    SlidewinBan::is_left($begin, $hit, 3600, '... for as long');

    SlidewinNginx::nap(0.45);
    is(told(ask($_, $uri)), '429 BANNED', '... after the window, too')
        for $here, $there;
    is(begun("short_$algorithm"), 1, '... and it has one line in the logs');
    $_->close for $here, $there;
}


# Requests of one client at once: those that fit pass, the next begins the ban.

sub at_once {
    my ($zone, $want, $name, @answers) = @_;

    is(SlidewinBan::tally(@answers), $want, $name);
    is(begun($zone), 1, '... and one line tells of the ban');

    return;
}

for my $algorithm (@algorithms) {
    $redis->command('FLUSHALL');

    my @clients = $a->clients(20);
    my $before = begun($algorithm);

    is(SlidewinBan::tally($a->burst(\@clients, [["/$algorithm?k=b"]])),
       '200 PASSED x5, 429 BANNED x14, 429 REJECTED x1',
       "$algorithm, 20 at once: five pass and one begins a ban");
    is(begun($algorithm) - $before, 1, '... and one line tells of it');
    $_->close for @clients;
}

for my $case ([counter => 5], [off => 5]) {
    my ($zone, $passed) = @$case;
    my $http2 = SlidewinHTTP2->new($ports[0]);
    my $before = begun($zone);
    my (@ids, $bytes);

    for (1 .. 20) {
        my ($id, $frame) = $http2->compose("/$zone?k=h2");
        push @ids, $id;
        $bytes .= $frame;
    }

    $http2->send($bytes);
    is(SlidewinNginx::tally(map { $_->{status} } $http2->answers(@ids)),
       '200 x5, 429 x15', "$zone: 20 streams of one connection");
    is(begun($zone) - $before, 1, '... begin one ban');
}


# Both edges at once, with two workers each: no more than the limit, one ban.

for my $zone (qw(many many_off)) {
    my @clients = map { $_->clients(8) } @edges;
    my @answers = map { @$_ } $a->together(sub {
        my ($client) = @_;
        return [map { told($client->get("/$zone?k=c")) } 1 .. 40];
    }, @clients);
    my %count;

    $count{$_}++ for @answers;
    is_deeply(\%count, { '200 PASSED' => 100, '429 REJECTED' => 1,
                         '429 BANNED' => 539 },
              "$zone: both edges: the limit passes, and one begins the ban");
    is(begun($zone), 1, '... as the logs say');
    $_->close for @clients;
}

# Many bans, one after the other: each begins once, whoever sees the end first.

{
    my @clients = map { $_->clients(4) } @edges;
    my $end = SlidewinNginx::now() + 1.5;
    my $since = SlidewinNginx::now();
    my @answers = map { @$_ } $a->together(sub {
        my ($client) = @_;
        my @seen;

        while (SlidewinNginx::now() < $end) {
            push @seen, told($client->get('/cycle?k=d'));
            SlidewinNginx::nap(0.001);
        }

        return \@seen;
    }, @clients);
    my $bans = grep { $_ eq '429 REJECTED' } @answers;

    is(scalar(grep { $_ eq '200 PASSED' } @answers), 1,
       'bans in a row: one request passed');
    cmp_ok($bans, '>=', 3, "... $bans bans began");
    cmp_ok($bans, '<=', 1 + (SlidewinNginx::now() - $since) / 0.1,
           '... none before the last one was over');
    is(begun('cycle'), $bans, '... each with a line');
    $_->close for @clients;
}


# A flood costs Redis nothing: a call for each edge and second.

{
    my @clients = map { $_->clients(2) } @edges;

    SlidewinBan::until_rejected($clients[0], '/counter?k=flood');

    my ($calls, $writes) = (calls(), writes());
    my $since = SlidewinNginx::now();
    my @answers;

    while (SlidewinNginx::now() < $since + 2.5) {
        push @answers, $_->statuses(('/counter?k=flood') x 50) for @clients;
    }

    my $seconds = SlidewinNginx::now() - $since;

    is(SlidewinNginx::tally(@answers), '429 x' . @answers, 'a flood is banned');
    # both workers may ask at the same moment
    cmp_ok(calls() - $calls, '<=', 2 * 2 * (1 + $seconds),
           sprintf '... %d requests for %d calls in %.1f s',
                   scalar @answers, calls() - $calls, $seconds);
    is(writes() - $writes, 0, '... which write nothing');
    is($redis->command('EXISTS', 'sw:{flood}:counter:ban'), 1,
       '... but for the ban there was');

    my $remembered = ask($clients[2], '/counter?k=flood');
    is(told($remembered) . " $remembered->{header}{'x-source'}",
       '429 BANNED deny_cache', '... the edge remembers it');

    # without a memory

    SlidewinBan::until_rejected($clients[0], '/off?k=flood');
    ($calls, $writes) = (calls(), writes());

    my $end = (SlidewinBan::ban_of($redis, 'off', 'flood'))[0];

    @answers = map { ask($_, '/off?k=flood') } (@clients) x 10;
    is(SlidewinBan::tally(@answers), '429 BANNED x40',
       'deny_cache=off: all are banned');
    is(scalar(grep { $_->{header}{'x-source'} eq 'redis' } @answers), 40,
       '... by Redis');
    is(calls() - $calls, 40, '... which is asked each time');
    is(writes() - $writes, 0, '... and writes nothing');
    is((SlidewinBan::ban_of($redis, 'off', 'flood'))[0], $end,
       '... so that the ban ends when it said');
    $_->close for @clients;
}


# A ban that is lifted elsewhere, by hand or by a request of another edge that
# was under way when the ban began: an edge that remembers the ban rejects for
# deny_cache= by that, and not longer.

for my $how ('DEL', 'reset=') {
    my ($here, $there) = ($a->client, $b->client);
    my $k = SlidewinBan::fresh();
    my $uri = "/lift?k=$k";
    my $holds = $a->asks("/held?k=$k");

    is($held->held->has(1), 1, "$how: a request is under way");
    is(told(map { ask($here, $uri) } 1 .. 3),
       '200 PASSED, 429 REJECTED, 429 BANNED', '... when a ban begins');

    my $seen = ask($there, $uri);

    is(told($seen) . " $seen->{header}{'x-source'}", '429 BANNED redis',
       '... which the other edge learns of');
    is(told(ask($here, "/forgive?k=$k")), '429 BANNED',
       '... a rejection does not reset');
    is($redis->command('EXISTS', "sw:{$k}:lift:ban"), 1, '... nor lift it');

    if ($how eq 'DEL') {
        is($redis->command('DEL', "sw:{$k}:lift", "sw:{$k}:lift:ban"), 2,
           '... it is lifted by hand');
        $held->held->answer(200);
        is($holds->answer->{status}, 200, '... and the request ends');

    } else {
        $held->held->answer(302);
        is($holds->answer->{status}, 302, '... the request succeeds');
        ok(SlidewinNginx::until_true(sub {
            $redis->command('EXISTS', "sw:{$k}:lift:ban") eq '0'
        }, 10 * SlidewinNginx::patience()), '... which lifts the ban');

        my $answer = ask($here, $uri);
        is(told($answer) . " $answer->{header}{'x-source'}",
           '200 PASSED redis', '... at once where it was');
    }

    my ($free, @hits);

    SlidewinNginx::until_true(sub {
        my $answer = ask($there, $uri);

        $free = $answer if told($answer) eq '200 PASSED';
        push @hits, $answer if !$free;
        return $free;
    }, 20 * $remembered);

    ok($free, '... the other edge lets it pass in the end') or next;
    is($free->{header}{'x-source'}, 'redis', '... as Redis decides');
    is(scalar(grep { told($_) ne '429 BANNED'
                     || $_->{header}{'x-source'} ne 'deny_cache' } @hits), 0,
       '... rejects by what it remembers until then, ' . @hits . ' times');
    cmp_ok($free->{to} - $seen->{from}, '>=',
           $remembered - $SlidewinBan::SLACK, "... for $remembered s");
    cmp_ok(($hits[-1] // $seen)->{from} - $seen->{to}, '<=',
           $remembered + $SlidewinBan::SLACK, '... and not longer');
    is($free->{header}{'x-remaining'}, $how eq 'DEL' ? 1 : 0,
       '... with what the store has of it');
    $_->close for $here, $there;
}

$_->stop for @edges;

done_testing();
