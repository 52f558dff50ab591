# A rejection takes a while to arrive from Redis. It is not remembered if a unit
# of the client was refunded here meanwhile, or the client was cleared, nor
# beyond its own time.

use strict;
use warnings;

use Test::More;

use SlidewinCount;
use SlidewinFake;
use SlidewinNginx;

my $delay = 0.6;
my $place = SlidewinCount->new('redis');
my $way = SlidewinFake->start(relay => $place->redis->path,
                              delay => sub { $delay });
my $edge = $place->edge(
    url => $way->url,
    http => 'slidewin_zone $arg_k zone=held:1m rate=2r/h algorithm=log
                           deny_cache=30s;
             slidewin_zone $arg_k zone=short:1m rate=1r/4s algorithm=log
                           deny_cache=30s;',
    server => 'location = /held { slidewin zone=held count=401 reset=302;
                                  proxy_pass http://held; }
               location = /short { slidewin zone=short; empty_gif; }');
my $patience = SlidewinNginx::patience();

sub told { return "$_[0]{status} $_[0]{header}{'x-source'}" }

sub calls { return scalar $place->redis->calls('evalsha') }

ok(SlidewinNginx::until_true(sub {
    told($edge->get('/short?k=' . SlidewinCount::fresh())) eq '200 redis';
}, 20 * $patience), 'Redis is asked');

for my $how ([200, 'one is given back'], [302, 'all is cleared']) {
    my ($status, $name) = @$how;
    my $uri = '/held?k=' . SlidewinCount::fresh();
    my @clients = map { $edge->client } 1 .. 4;

    $_->request($uri) for @clients[0, 1];
    is($place->held->has(2), 2, "$name: two are under way");

    my $before = calls();
    $clients[2]->request($uri);
    ok(SlidewinNginx::until_true(sub { calls() > $before }, 10 * $patience),
       '... a third has been asked for');
    $place->held->answer($status, 1);
    is($clients[0]->answer->{status}, $status, '... when the first ends');
    is(told($clients[2]->answer), '429 redis', '... the third is refused');

    $clients[3]->request($uri);
    is($place->held->has(2), 2, '... and there is room for another');

    $place->held->answer(401);
    $_->answer for @clients[1, 3];
    $_->close for @clients;
}

# Redis has counted the first at least one delay before its reply arrives
{
    my $client = $edge->client;
    my $uri = '/short?k=' . SlidewinCount::fresh();

    is(told($client->get($uri)), '200 redis', 'the first of four seconds');
    my $due = SlidewinNginx::now() + 4 - $delay;
    is(told($client->get($uri)), '429 redis', '... the second');
    SlidewinNginx::until_true(sub { SlidewinNginx::now() > $due + 0.02 }, 10);
    is(told($client->get($uri)), '200 redis', '... and when its time has come');
    $client->close;
}

# a request that waits behind another may get the reply that was sent before it
# came
{
    my ($client, $other) = map { $edge->client } 1, 2;
    my $uri = '/short?k=' . SlidewinCount::fresh();

    is(told($client->get($uri)), '200 redis', 'again the first of four seconds');
    my $due = SlidewinNginx::now() + 4 - $delay;
    my $late = SlidewinNginx::now() + 0.7 * $delay;
    $client->request($uri);
    SlidewinNginx::until_true(sub { SlidewinNginx::now() > $late }, 10);
    $other->request($uri);
    is(told($_->answer), '429 redis', '... one more') for $client, $other;
    SlidewinNginx::until_true(sub { SlidewinNginx::now() > $due + 0.02 }, 10);
    is(told($client->get($uri)), '200 redis', '... and when its time has come');
    $_->close for $client, $other;
}

$edge->stop;

done_testing();
