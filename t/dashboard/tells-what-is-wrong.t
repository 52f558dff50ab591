# The dashboard says first what is wrong, and what to do: Redis is down or answers
# with errors, a cluster lacks slots, requests are not counted or have no valid
# rate, a zone is full, a load balancer is taken for a client, a dry run would
# reject. When it is right again, it says that, too.

use strict;
use warnings;
use utf8;

use IO::Socket::INET ();
use SlidewinBrowser;
use SlidewinNginx;
use SlidewinProcess;
use SlidewinRedis;
use Test::More;

my $address = SlidewinProcess::own_address();
my $redis = SlidewinRedis->start;
my $cluster = SlidewinRedis->start(
    port => SlidewinRedis::free_port(10000),
    args => ['--cluster-enabled', 'yes', '--cluster-require-full-coverage', 'no']);

$cluster->command('CLUSTER', 'ADDSLOTSRANGE', 0, 16383);
SlidewinNginx::until_true(sub { $cluster->call('CLUSTER', 'INFO') =~ /^cluster_state:ok/m }, 60)
    or die 'no cluster';

my $nginx = SlidewinNginx->start(workers => 2, http => <<"END", server => <<"END");
    slidewin_redis @{[$redis->url]} timeout=10s;
    slidewin_redis redis-cluster://127.0.0.1:@{[$cluster->port]} name=spread timeout=10s;
    slidewin_zone \$arg_k zone=here:1m rate=5r/h on_error=local;
    slidewin_zone \$arg_k zone=pass:1m rate=5r/h on_error=open;
    slidewin_zone \$arg_k zone=none:1m rate=5r/h on_error=closed;
    slidewin_zone \$arg_k zone=plan:1m rate=\$arg_rate store=local;
    slidewin_zone \$arg_k zone=tariff:1m rate=\$arg_rate store=spread on_error=open;
    slidewin_zone \$arg_k zone=wide:1m rate=5r/h store=spread on_error=open;
    slidewin_zone \$arg_k zone=tiny:32k rate=5r/h store=local algorithm=log;
    slidewin_zone \$arg_k zone=trial:1m rate=5r/h store=local;
    slidewin_zone \$slidewin_client zone=office:1m rate=100000r/h store=local;
END
    listen $address;
    location /slidewin/ { slidewin_api write=on; }
    location = /here { slidewin zone=here; empty_gif; }
    location = /pass { slidewin zone=pass; empty_gif; }
    location = /none { slidewin zone=none; empty_gif; }
    location = /plan { slidewin zone=plan; empty_gif; }
    location = /tariff { slidewin zone=tariff; empty_gif; }
    location = /wide { slidewin zone=wide; empty_gif; }
    location = /tiny { slidewin zone=tiny; empty_gif; }
    location = /trial { slidewin zone=trial dry_run; empty_gif; }
    location = /office { slidewin zone=office; empty_gif; }
END

sub statuses {
    my ($uri, $times) = @_;

    return SlidewinNginx::tally($nginx->status($uri, $times));
}

my $browser = SlidewinBrowser->start;
my $list = '#problems';
my $store = '[aria-label="Store default"]';

# gone TEXT: whether no problem comes to have it
sub gone {
    return $browser->shows(
        '!document.getElementById("problems").innerText.includes(arguments[0])', $_[0]);
}

ok($browser->dashboard($address), 'the page is live');
is(statuses("/$_?k=a", 3), '200 x3', "zone $_ works") for qw(here pass none wide);
ok($browser->refreshed, 'the page has seen it');
is($browser->text('#verdict'), 'Nothing is wrong', 'nothing is wrong');
is($browser->text($list), '', '... the list is empty');


# A rate from a variable.

is(statuses('/plan?k=a&rate=nonsense', 3), '503 x3', 'a rate that is none rejects');
is(statuses('/tariff?k=a&rate=nonsense', 2), '200 x2',
   '... or passes, beside a Redis that is well');
ok($browser->reads(qr/^Problem\s*2 requests passed /m, $list), '... which is a problem');
unlike($browser->text($list), qr/store/, '... no store is to blame');
like($browser->text($list),
     qr/^Problem\s*2 requests passed with an invalid rate or cost, in the last 30 s$/m,
     '... but the rate');
like($browser->text($list), qr/^In tariff\. A variable of rate= or cost= has a bad value, /m,
     '... of the variable');
like($browser->text($list),
     qr/^Problem\s*3 requests rejected for an invalid rate or cost, in the last 30 s$/m,
     '... for each of the ways');
like($browser->text($list), qr/^In plan\. .* the error log of nginx\. Give its map a default\./m,
     '... with what to do about it');


# Redis.

$redis->kill;
ok($nginx->logged(qr/slidewin redis .* (?:is lost|cannot be reached)/), 'Redis goes down');
ok($browser->reads(qr/^Problem\s*Redis default is not connected$/m, $list),
   'which is a problem');
like($browser->text($list), qr/^Workers try to reach 127\.0\.0\.1:\d+ without end\./m,
     '... with what to do about it');
ok($browser->reads(qr/not connected/, $store), '... and stands at the store');
like($browser->text('#say'), qr/Redis default is not connected/,
     '... and is said to those who do not see it');

is(statuses('/here?k=a', 4), '200 x4', 'a request is counted here');
is(statuses('/pass?k=a', 9), '200 x9', '... passes');
is(statuses('/none?k=a', 2), '503 x2', '... or is rejected');
is(statuses('/plan?k=a&rate=nonsense', 1), '503 x1', '... and a rate is bad all the same');
ok($browser->reads(qr/^Warning\s*4 requests counted on this machine alone, in the last 30 s$/m,
                   $list), '... as the page tells');
like($browser->text($list), qr/^Problem\s*9 requests passed uncounted, in the last 30 s$/m,
     '... for each of the ways');
like($browser->text($list), qr/^Problem\s*2 requests rejected uncounted, in the last 30 s$/m,
     '... that there are');
like($browser->text($list), qr/^In none\. .* on_error=closed rejects good clients, too\./m,
     '... by the name of the zone');
like($browser->text($list), qr/^In plan\. A variable /m, '... apart from the zone with a bad rate');
like($browser->text($list), qr/^\d+ × connect: Connections are refused or not answered\./m,
     'errors are told by their kind');
like($browser->text('#verdict'), qr/^\d+ things are wrong$/, 'several things are wrong');

$browser->press('Open zone none');
ok($browser->shows(<<'END'), 'from the problem it is one step to the zone');
    document.activeElement.innerText === 'none'
        && document.activeElement.ariaExpanded === 'true'
END
ok($browser->reads(qr/^error rejected, in all\s+2$/m, '[aria-label="Zone none"] .panel'),
   '... and its figures');

ok($redis->run, 'Redis comes back');
ok($browser->reads(qr/^default\s+\S+\s+connected/m, $store), 'the page sees it');
ok(gone('not connected'), '... and does not call it a problem any more');

# a page that has seen no error of it since
$browser->value('(page.stores.get("default").history = new History()) && 1');
ok(gone('Redis default has'), 'Redis has been well for a while');
unlike($browser->text($list), qr/\bnone\b[^.]*\. A variable/,
       '... but it was to blame for what it has not decided');


# Its circuit breaker.

my $client = 0;

# asked PATTERN: whether the store comes to be so, while clients come
sub asked {
    my ($pattern) = @_;

    return SlidewinNginx::until_true(sub {
        $nginx->get('/none?k=' . ++$client);
        return $browser->text($store) =~ $pattern;
    }, 40 * SlidewinNginx::patience());
}

$redis->command('ACL', 'SETUSER', 'default', '-evalsha', '-eval');
ok(asked(qr/^default\s+\S+\s+connected\s+breaker open$/m),
   'Redis answers with errors: at the store stands that its breaker is open');
ok($browser->reads(qr/^Problem\s*Redis default is not asked: its circuit breaker is open$/m, $list),
   '... which is a problem');
like($browser->text($list), qr/^127\S+ failed too often, .* Check that it runs /m,
     '... with what to do about it');
like($browser->text($list), qr/\d+ × error reply: Redis answers with errors\./,
     '... and the kind of the errors');

$redis->command('ACL', 'SETUSER', 'default', '+evalsha', '+eval');
ok(asked(qr/breaker closed/), 'Redis is well again: the breaker is closed');
ok(gone('circuit breaker'), '... which is no problem any more');


# A cluster.

$cluster->command('CLUSTER', 'DELSLOTSRANGE', 0, 9999);
is(SlidewinNginx::tally($nginx->client->statuses(map { "/wide?k=$_" } 1 .. 20)), '200 x20',
   'slots are asked for that no node has');
ok($browser->reads(qr/^Problem\s*Redis spread has no node for 10,000 slots$/m, $list),
   'a cluster lacks slots, which is a problem');
like($browser->text($list), qr/Ask it: redis-cli --cluster check\./,
     '... with what to do about it');
$cluster->command('CLUSTER', 'ADDSLOTSRANGE', 0, 9999);
ok(gone('has no node'), '... until it has all of them');


# Zones.

$nginx->client->statuses(map { "/tiny?k=$_" } 1 .. 600);
ok($browser->reads(qr/^Problem\s*\d+ clients forgotten too early, a zone is full/m, $list),
   'a zone is full of clients that still count');
like($browser->text($list), qr/^In tiny\. .* Make the zone larger: zone=NAME:SIZE/m,
     '... with what to do about it');

is(statuses('/trial?k=a', 8), '200 x8', 'a dry run rejects none');
ok($browser->reads(qr/^Note\s*3 requests rejected without the dry run, in the last 30 s$/m, $list),
   '... but says what it would');


# A load balancer.

my $balancer = IO::Socket::INET->new(PeerAddr => $address) or die "$address: $!";
my $request = "GET /office HTTP/1.1\r\nHost: a\r\nX-Forwarded-For: 203.0.113.9\r\n\r\n";
my $answers = '';

for (1 .. 250) {
    print $balancer $request x 20;
    my $want = () = $answers =~ /HTTP\/1\.1 200/g;
    while (($want + 20) > (() = $answers =~ /HTTP\/1\.1 200/g)) {
        sysread $balancer, $answers, 65536, length $answers or last;
    }
    $answers = '';
}

ok($browser->reads(qr/^Warning\s*One client has \d+ % of a zone: is 127\S* your load balancer\?$/m,
                   $list), 'one client that has a whole zone is suspected');
like($browser->text($list), qr/share one limit in office\..*\n?.*set_real_ip_from 127\S+;/,
     '... with the lines that the configuration needs');

is(join("\n", $browser->console), '', 'the console is empty');

$browser->stop;
$nginx->stop(allow => qr/\[alert\].*left in connection/);
$_->stop for $redis, $cluster;

done_testing();
