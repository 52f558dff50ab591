# A ban is logged, counted and listed, also if the client leaves while another
# store is looked at for the longest wait.

use strict;
use warnings;

use SlidewinBan;
use SlidewinFake;
use SlidewinNginx;
use SlidewinRedis;
use SlidewinStats;
use Test::More;

my $redis = SlidewinRedis->start;
my $way = SlidewinFake->start(relay => $redis->path, delay => sub { 0 });
my $nginx = SlidewinBan::edge(
    store => { redis => $redis },
    http => "slidewin_redis @{[$way->url]} name=slow timeout=20s
                            connect_timeout=20s;
             slidewin_log_level notice;
             slidewin_zone \$arg_k zone=here:1m rate=1r/40d store=local ban=1h;
             slidewin_zone \$arg_k zone=there:1m rate=1r/40d ban=1h;
             slidewin_zone \$arg_k zone=far:1m rate=100r/40d store=slow;",
    server => SlidewinStats::location() . join '', map { <<"END" } qw(here there));
        location = /$_ { slidewin zone=$_; empty_gif; }
        location = /looks_$_ {
            slidewin zone=$_ cost=0;
            slidewin_log_level off;
            empty_gif;
        }
        location = /both_$_ { slidewin zone=$_; slidewin zone=far; empty_gif; }
END
my $client = $nginx->client;

is(told($client->get('/both_here?k=warm')), '200 PASSED', 'both stores answer');

sub told { return SlidewinBan::told(@_) }

for my $zone (qw(here there)) {
    my ($guest, $key) = ($nginx->client, "of_$zone");

    is(told($client->get("/$zone?k=$key")), '200 PASSED', "$zone: used up");
    SlidewinNginx::halt($way->{pid}) or die;
    $guest->request("/both_$zone?k=$key");
    ok($nginx->busy(1), '... a request begins a ban');
    ok(SlidewinNginx::until_true(sub {
        told($client->get("/looks_$zone?k=$key")) eq '429 BANNED';
    }, 20 * SlidewinNginx::patience()), '... its client is banned');
    ok(!$guest->answered, '... and waits for the other store');
    $guest->close;
    ok($nginx->busy(0), '... no longer');
    kill 'CONT', $way->{pid};

    is(scalar SlidewinBan::lines($nginx, qr/zone "$zone".*banned for 3600s/), 1,
       '... one line tells of the ban');
    is(SlidewinStats::zone($nginx, $zone)->{bans_total}, 1, '... it is counted');
    is(join(' ', map { "$_->{key} $_->{length}" }
            @{SlidewinStats::json($nginx, "zones/$zone/bans")->{bans}}),
       "$key 3600", '... and listed');
}

$client->close;
$nginx->stop;
done_testing();
