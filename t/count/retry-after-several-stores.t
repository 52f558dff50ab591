# Retry-After is the time at which all limits of a request admit it, in
# whichever stores they are. Limits behind the one that rejects are only looked
# at: nothing is counted, and a Redis is asked no more than once a second for a
# client.

use strict;
use warnings;

use SlidewinCluster;
use SlidewinNginx;
use SlidewinRedis;
use Test::More;

my %redis = map { $_ => SlidewinRedis->start } qw(a b);
my $cluster = SlidewinCluster->start(masters => 3, replicas => 0);
# a fixed window may end at any time
my @algorithms = qw(counter strict log);

# as long as suites may run: no window ends while the suite looks at it
my ($short, $long) = ('1r/2m', '1r/10d');

my @pairs = (
    ['short_local', 'long_a'], ['short_a', 'long_local'],
    ['short_a', 'long_b'], ['short_a', 'long_off'], ['short_off', 'long_b'],
    ['short_x', 'long_y'], ['short_local', 'long_y'],
    map({ ['short_local', "long_$_"] } @algorithms),
    map({ ["short_$_", 'long_local'] } @algorithms),
);

my $zones = join '', map {
    my ($name, $rate, $rest) = @$_;
    "slidewin_zone \$arg_k zone=$name:1m rate=$rate on_error=closed $rest;\n"
} ['short_local', $short, 'algorithm=log store=local'],
  ['long_local', $long, 'algorithm=log store=local'],
  ['short_a', $short, 'algorithm=log store=a'],
  ['long_a', $long, 'algorithm=log store=a'],
  ['long_b', $long, 'algorithm=log store=b'],
  ['short_off', $short, 'algorithm=log store=a deny_cache=off'],
  ['long_off', $long, 'algorithm=log store=b deny_cache=off'],
  ['long_count', $long, 'algorithm=log store=a'],
  ['long_never', $long, 'algorithm=log store=a deny_cache=off'],
  ['long_100ms', $long, 'algorithm=log store=a deny_cache=100ms'],
  ['mid_a', $short, 'algorithm=log store=a'],
  ['room_a', '5r/10d', 'algorithm=log store=a'],
  map({ (["short_$_", $short, "algorithm=$_ store=a"],
         ["long_$_", $long, "algorithm=$_ store=a"]) } @algorithms);

# of other clients, and so in other cluster slots
$zones .= "slidewin_zone x\$arg_k zone=short_x:1m rate=$short algorithm=log
                         store=cluster;
           slidewin_zone y\$arg_k zone=long_y:1m rate=$long algorithm=log
                         store=cluster;
           slidewin_zone \$arg_k zone=costs:1m rate=10r/10d algorithm=log
                         store=a;
           slidewin_zone \$arg_k zone=costs_local:1m rate=10r/10d algorithm=log
                         store=local;
           slidewin_zone \$arg_k zone=brief:1m rate=1r/2s algorithm=log
                         store=local;
           slidewin_zone \$arg_k zone=recent:1m rate=2r/8s algorithm=log
                         store=a deny_cache=off;
           slidewin_zone \$arg_k zone=rates:1m rate=\$arg_r algorithm=log
                         store=a;
           slidewin_zone \$arg_k zone=closed:1m rate=5r/h store=away
                         on_error=closed;
           slidewin_zone \$arg_k zone=open:1m rate=5r/h store=away
                         on_error=open;
           slidewin_zone \$arg_k zone=fallback:1m rate=5r/h store=away;\n";

# the deny cache keeps these for 100ms
my %counts = (long_count => ' count=200');

my %limits = (
    (map {
        my ($one, $two) = @$_;
        ("$one-$two" => "slidewin zone=$one; slidewin zone=$two;",
         "$two-$one" => "slidewin zone=$two; slidewin zone=$one;")
    } @pairs),
    (map { ("away-$_" => "slidewin zone=short_local; slidewin zone=$_;") }
     qw(closed open fallback)),
    (map { ("left-$_" => "slidewin zone=$_ cost=0;") } qw(room_a costs)),
    'room' => 'slidewin zone=short_local; slidewin zone=room_a;',
    'costs' => 'slidewin zone=costs cost=$arg_c;',
    'three' => 'slidewin zone=short_local; slidewin zone=costs cost=3;',
    'many' => 'slidewin zone=short_local; slidewin zone=costs cost=$arg_c;',
    (map { ("short_local-$_" => "slidewin zone=short_local;
                                 slidewin zone=$_" . ($counts{$_} // '') . ';',
            $_ => "slidewin zone=$_" . ($counts{$_} // '') . ';')
     } qw(long_count long_never long_100ms)),
    'clear' => 'slidewin zone=long_count cost=0 reset=200;',
    'delay-one' => 'slidewin zone=short_local delay=1h;
                    slidewin zone=long_a;',
    'delay-both' => 'slidewin zone=short_local delay=1h;
                     slidewin zone=long_a delay=1h;',
    'use' => 'slidewin zone=short_local;',
    'pass' => 'slidewin zone=long_local; error_page 404 /page?k=$arg_k;',
    'brief' => 'slidewin zone=brief;',
    'recent' => 'slidewin zone=recent;',
    'brief-recent' => 'slidewin zone=brief; slidewin zone=recent cost=$arg_c;',
    'rates' => 'slidewin zone=short_local; slidewin zone=rates;',
);

# after an internal redirect
my $then = '';

for (['both', 'zone=long_local', 'zone=long_local', 'zone=short_local'],
     ['dry', 'zone=long_local', 'zone=long_local cost=3 dry_run',
      'zone=short_local'],
     ['wait', 'zone=long_local', 'zone=brief delay=10s'],
     map({ (["part-$_", "zone=$_", "zone=$_ cost=4"],
            ["use-$_", "zone=$_ cost=0", "zone=$_ cost=\$arg_c"]) }
         qw(costs costs_local)))
{
    my ($name, $first, @second) = @$_;
    $then .= "location = /then-$name { slidewin $first;
                                       try_files '' /to-$name?\$args; }
              location = /to-$name { "
             . join(' ', map { "slidewin $_;" } @second) . " empty_gif; }\n";
}

my $away = SlidewinRedis->start;

my $nginx = SlidewinNginx->start(http => <<"END", server => <<"END");
    slidewin_redis @{[$redis{a}->url]} name=a timeout=20s connect_timeout=20s;
    slidewin_redis @{[$redis{b}->url]} name=b timeout=20s connect_timeout=20s;
    slidewin_redis @{[$cluster->url]} name=cluster timeout=20s
                   connect_timeout=20s;
    slidewin_redis @{[$away->url]} name=away timeout=500ms;
    slidewin_log_level info;
    $zones
END
    add_header X-Zone \$slidewin_zone always;
    location /pass/ { alias nowhere/; $limits{pass} }
    location = /page { slidewin zone=short_local; empty_gif; }
    $then
    @{[map { "location = /$_ { $limits{$_} empty_gif; }\n" }
       grep { $_ ne 'pass' } sort keys %limits]}
END

my $client = $nginx->client;
my $fresh = 0;

sub retry { return $_[0]{header}{'retry-after'} // '-' }

# the time of the long window, less the time since the suite has taken it
sub is_long {
    my ($answer, $name) = @_;

    is($answer->{status}, 429, $name);
    cmp_ok(retry($answer) =~ /^(\d+)$/ ? $1 : 0, '>', 86400,
           '... and told the longer time');

    return;
}

for my $pair (@pairs) {
    for my $way (join('-', @$pair), join '-', reverse @$pair) {
        my $k = 'k' . ++$fresh;

        is($client->get("/$way?k=$k")->{status}, 200, "$way: passes");
        is_long($client->get("/$way?k=$k"), "$way: the second is refused")
            for 1 .. 3;
    }
}

# a limit that has room is not counted, and its time is not sent

my $k = 'k' . ++$fresh;

$client->get("/room?k=$k");
for (1 .. 5) {
    my $answer = $client->get("/room?k=$k");

    is($answer->{status}, 429, 'refused by one of two');
    cmp_ok(retry($answer), '<=', 120, '... and told its time');
    is($answer->{header}{'x-zone'}, 'short_local', '... and its name');
}

is($client->get("/left-room_a?k=$k")->{header}{'x-remaining'}, 4,
   '... the other has counted what passed');

# the cost of the request

$k = 'k' . ++$fresh;
$client->get("/three?k=$k");
is($client->get("/costs?k=$k&c=5")->{status}, 200, 'eight of ten are used');
is_long($client->get("/three?k=$k"), 'three more are too many');
is($client->get("/left-costs?k=$k")->{header}{'x-remaining'}, 2,
   '... and not counted');

# a flood, for longer than any cache lasts

for my $way (qw(short_local-long_a long_a-short_local room many),
             map { "short_local-$_" } qw(long_count long_never long_100ms))
{
    $k = 'k' . ++$fresh;
    $client->get("/$way?k=$k&c=8");

    my $before = questions();
    my $since = SlidewinNginx::now();
    my ($n, @answers) = 0;

    while (@answers < 300 || SlidewinNginx::now() < $since + 1.5) {
        push @answers, $client->get("/$way?k=$k&c=" . (3 + $n++ % 5));
        SlidewinNginx::nap(0.004);
    }

    my $asked = questions() - $before;
    my $seconds = SlidewinNginx::now() - $since;

    is(SlidewinNginx::tally(map { $_->{status} } @answers), "429 x$n",
       "$way: a flood");
    cmp_ok($asked, '<=', 2 + $seconds,
           "... costs Redis a question a second ($asked in $seconds s)");
    is(scalar(grep { retry($_) <= 86400 } @answers), $way eq 'room' ? $n : 0,
       '... and all are told the longer time');
}

# the same with another rate each time

{
    $k = 'k' . ++$fresh;
    $client->get("/use?k=$k");

    my $before = questions();
    my $since = SlidewinNginx::now();

    for my $n (1 .. 300) {
        $client->get("/rates?k=$k&r=" . ($n % 2 ? '2r/10d' : '3r/5d'));
        SlidewinNginx::nap(0.004);
    }

    my $asked = questions() - $before;
    my $seconds = SlidewinNginx::now() - $since;

    cmp_ok($asked, '<=', 2 + $seconds,
           "rates: a question a second ($asked in $seconds s)");
}

# the latest known time is sent, also for a cost whose own time is earlier

{
    $k = 'k' . ++$fresh;
    $client->get($_) for "/recent?k=$k", "/recent?k=$k", "/brief?k=$k",
                         "/brief-recent?k=$k&c=1";
    SlidewinNginx::nap(8.1);
    $client->get($_) for "/recent?k=$k", "/recent?k=$k", "/brief?k=$k";

    my ($two, $one) = map {
        retry($client->get("/brief-recent?k=$k&c=$_"))
    } 2, 1;

    cmp_ok($one, '>=', $two - 3,
           "a cost is told what was seen last ($one of $two s)");
}

# the time that was remembered from a look rejects no request

for my $zone (qw(long_count long_never)) {
    $k = 'k' . ++$fresh;
    $client->get("/short_local-$zone?k=$k");
    is_long($client->get("/short_local-$zone?k=$k"), "$zone: refused");
    $redis{a}->command('FLUSHALL');
    SlidewinNginx::nap(0.11);
    is($client->get("/$zone?k=$k")->{status}, 200,
       '... but not where only Redis is asked, and has room');
}

# nor is it sent after the client was cleared on this edge

$k = 'k' . ++$fresh;
$client->get("/short_local-long_count?k=$k");
is_long($client->get("/short_local-long_count?k=$k"), 'refused by both');
is($client->get("/clear?k=$k")->{status}, 200, '... one begins anew');
cmp_ok(retry($client->get("/short_local-long_count?k=$k")), '<=', 120,
       '... and is not told of any more');

# a cost that can never pass has no Retry-After

$k = 'k' . ++$fresh;
$client->get("/use?k=$k");
is(retry($client->get("/many?k=$k&c=11")), '-', 'never is no time') for 1 .. 3;

sub questions { return ($redis{a}->calls('evalsha'))[0] // 0 }

# delay= waits for all limits, and not at all if one of them takes too long

for my $way (qw(delay-one delay-both)) {
    $k = 'k' . ++$fresh;
    is($client->get("/$way?k=$k")->{status}, 200, "$way: passes");
    is_long($client->get("/$way?k=$k"), "$way: the second is not let wait");
}

# an earlier pass of the same request has used up a limit

$k = 'k' . ++$fresh;
$client->get("/use?k=$k");
is_long($client->get("/pass/?k=$k"), 'refused after an internal redirect');

for my $way (qw(both dry)) {
    $k = 'k' . ++$fresh;
    $client->get("/use?k=$k");
    is_long($client->get("/then-$way?k=$k"),
            "$way: where a limit is met twice, and another refuses");
}

# a request that waits after an earlier pass is not reported as rejected by it

$k = 'k' . ++$fresh;
$client->get("/brief?k=$k");
{
    my $answer = $client->get("/then-wait?k=$k");

    is($answer->{status}, 200, 'one waits after an internal redirect');
    is($answer->{header}{'x-status'}, 'DELAYED', '... and is told so');
    is(retry($answer), '-', '... and of no time');
    is(scalar($nginx->errors(qr/(?:limiting|rejecting) .* \/then-wait/)), 0,
       '... nor is the log');
}

# the request asks again for its whole cost: of ten units three expire first,
# but one of the others is its own, and it needs four

for my $zone (qw(costs costs_local)) {
    $k = 'k' . ++$fresh;
    $client->get("/to-use-$zone?k=$k&c=3");
    SlidewinNginx::nap(3);

    my $since = SlidewinNginx::now();
    $client->get("/to-use-$zone?k=$k&c=6");

    my $answer = $client->get("/then-part-$zone?k=$k");

    is($answer->{status}, 429, "$zone: the rest of a cost is refused");
    cmp_ok(retry($answer), '>=',
           10 * 86400 - int(SlidewinNginx::now() - $since) - 1,
           '... and told when there is room for all of it');
}

# a Redis that does not answer

$client->get("/away-$_?k=well") for qw(closed open fallback);
$away->signal('STOP');

for my $way (qw(closed open fallback)) {
    for my $n (1 .. 3) {
        $k = "$way$n";
        $client->get("/use?k=$k");

        my $since = SlidewinNginx::now();
        my $answer = $client->get("/away-$way?k=$k");

        is($answer->{status}, 429, "on_error, $way: a rejection remains one");
        cmp_ok(retry($answer), '<=', 120, '... with the time that is known');
        cmp_ok(SlidewinNginx::now() - $since, '<', 10,
               '... and soon');
    }
}

$away->signal('CONT');
$client->close;
$nginx->stop;

done_testing();
