# Units that are being prefetched when their client is cleared here are no
# longer counted: they become no lease, and none of them is refunded.

use strict;
use warnings;

use Test::More;

use SlidewinCount;
use SlidewinFake;
use SlidewinNginx;

my $place = SlidewinCount->new('redis');
my $way = SlidewinFake->start(relay => $place->redis->path,
                              delay => sub { 0.5 });
my $edge = $place->edge(
    url => $way->url,
    http => 'slidewin_zone $arg_k zone=lease:1m rate=10r/h algorithm=log
                           lease=50%;',
    server => 'location = /lease { slidewin zone=lease; empty_gif; }
               location = /clear { slidewin zone=lease reset=302;
                                   proxy_pass http://held; }
               location = /peek_lease { slidewin zone=lease cost=0;
                                        empty_gif; }');
my $patience = SlidewinNginx::patience();

sub told { return "$_[0]{status} $_[0]{header}{'x-source'}" }

sub calls { return scalar $place->redis->calls('evalsha') }

ok(SlidewinNginx::until_true(sub {
    told($edge->get('/lease?k=' . SlidewinCount::fresh())) eq '200 redis';
}, 20 * $patience), 'Redis is asked');

my $k = SlidewinCount::fresh();
my ($clearing, $client) = map { $edge->client } 1, 2;

$clearing->request("/clear?k=$k");
is($place->held->has(1), 1, 'one is under way');

# soon after the first: it takes two units
my $before = calls();
$client->request("/lease?k=$k");
ok(SlidewinNginx::until_true(sub { calls() > $before }, 10 * $patience),
   '... another has been asked for');
$place->held->answer(302);
is($clearing->answer->{status}, 302, '... when the client is cleared');
is(told($client->answer), '200 redis', '... and is admitted');
is(told($client->get("/lease?k=$k")), '200 redis', '... but leaves no lease');
SlidewinCount::becomes($edge, 'lease', $k, 9, '... and one is counted');

$_->close for $clearing, $client;
$edge->stop;

done_testing();
