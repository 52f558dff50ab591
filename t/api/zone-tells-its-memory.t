# Entries, free memory and evictions of a zone are what the zone has, also when
# it is full, when entries have expired, and when workers were killed; what was
# counted before a worker was killed is not lost.

use strict;
use warnings;

use SlidewinNginx;
use SlidewinStats;
use Test::More;

my $patience = 10 * SlidewinNginx::patience();

my $nginx = SlidewinNginx->start(
    workers => 2,
    http => 'slidewin_zone $arg_k zone=full:64k rate=5r/40d store=local;
             slidewin_zone $arg_k zone=brief:64k rate=5r/100ms store=local;
             slidewin_zone $arg_k zone=roomy:1m rate=5r/40d store=local;',
    server => join('', map { "location = /$_ { slidewin zone=$_; empty_gif; }\n"
                       } qw(full brief roomy))
              . SlidewinStats::location());

sub zone { return SlidewinStats::zone($nginx, $_[0]) }

my $empty = zone('roomy');
is($empty->{memory}{size}, 1048576, 'the size of a zone');
is($empty->{entries}, 0, '... which is empty');
cmp_ok($empty->{memory}{free}, '>', 900000, '... and free');

$nginx->client->statuses(map { "/roomy?k=$_" } 1 .. 100, 1 .. 100);
my $some = zone('roomy');
is($some->{entries}, 100, 'a hundred clients');
cmp_ok($some->{memory}{free}, '<', $empty->{memory}{free},
       '... take of what was free');
is(SlidewinStats::counts($some->{evicted}), '', '... none had to go');
is(SlidewinStats::forget($nginx, 'roomy', 7), 204, '... one is reset');
cmp_ok(zone('roomy')->{entries}, '<=', 100, '... and takes no more');

$nginx->client->statuses(map { "/full?k=$_" } 1 .. 3000);
my $full = zone('full');
cmp_ok($full->{entries}, '>', 50, 'a full zone has entries');
cmp_ok($full->{entries}, '<', 3000, '... not of all clients');
is($full->{entries} + $full->{evicted}{live} + $full->{evicted}{idle}, 3000,
   '... the others were evicted');
is($full->{evicted}{idle}, 0, '... while they counted');
is($full->{outcomes}{passed}, 3000, '... all are counted');

for (1 .. 3) {
    $nginx->client->statuses(map { "/brief?k=$_-" . rand } 1 .. 500);
    SlidewinNginx::nap(0.25);
}
$nginx->client->statuses(map { "/brief?k=last$_" } 1 .. 10);
cmp_ok(zone('brief')->{evicted}{idle}, '>', 0,
       'a zone of brief windows evicts what has expired');

my $metrics = SlidewinStats::metrics($nginx);
is($metrics->{'slidewin_zone_entries{zone="full"}'}, $full->{entries},
   'the metrics tell the same entries');
is($metrics->{'slidewin_evictions_total{zone="full",live="true"}'},
   $full->{evicted}{live}, '... and evictions');
is($metrics->{'slidewin_zone_size_bytes{zone="full"}'}, 65536,
   '... and the size');

# workers that are killed in the middle of traffic: each answer was counted
my $answered = zone('roomy')->{outcomes};
my $before = $answered->{passed} + $answered->{rejected};
my $count = 0;

for my $round (1 .. 5) {
    my @workers = $nginx->workers;
    my $client = $nginx->client_of($workers[0]);

    $count += grep { $_ == 200 || $_ == 429 }
              $client->statuses(map { "/roomy?k=$_" } 1 .. 50);
    $client->write(join '', map {
        SlidewinNginx::Client::_text("/roomy?k=$_")
    } 1 .. 50);
    kill 'KILL', $workers[0];

    while (1) {
        my $answer = $client->answer;
        last if $answer->{status} <= 0;
        $count++;
    }

    SlidewinNginx::until_true(sub {
        my @now = $nginx->workers;
        return @now == 2 && !grep { $_ == $workers[0] } @now;
    }, $patience) or die 'no successor';
}

my $after = zone('roomy')->{outcomes};
my $total = $after->{passed} + $after->{rejected} - $before;
cmp_ok($total, '>=', $count, 'workers were killed: all answers are counted');
cmp_ok($total, '<=', 500, '... none twice');
$nginx->client->statuses(map { "/roomy?k=$_" } 1 .. 100);
is(zone('roomy')->{entries}, 100, '... and the entries are right');

# another size is another memory, but the same statistics

my $evicted = zone('full')->{evicted};

$nginx->reload(
    http => 'slidewin_zone $arg_k zone=full:128k rate=5r/40d store=local;',
    server => 'location = /full { slidewin zone=full; empty_gif; }'
              . SlidewinStats::location());
is(zone('full')->{memory}{size}, 131072, 'a zone gets another size');
is(zone('full')->{entries}, 0, '... and is empty');
is_deeply(zone('full')->{evicted}, $evicted, '... its evictions stay counted');

$nginx->stop(allow => qr/exited on signal 9|was locked by/);

done_testing;
