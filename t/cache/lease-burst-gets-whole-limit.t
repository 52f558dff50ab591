# Requests that arrive while units are prefetched for their client use these
# units, though Redis has no more: an edge admits the whole limit at once, and
# does not remember a rejection that its own lease has caused.

use strict;
use warnings;

use Test::More;

use SlidewinFake;
use SlidewinNginx;
use SlidewinRedis;

my @algorithms = qw(counter fixed strict log);
my $redis = SlidewinRedis->start;
my $way = SlidewinFake->start(relay => $redis->path, delay => sub { 0.05 });
my $patience = SlidewinNginx::patience();

my $nginx = SlidewinNginx->start(
    http => "slidewin_redis @{[$way->url]} timeout=30s connect_timeout=20s;
             slidewin_log_level info;
             slidewin_zone \$arg_k zone=wide:1m rate=1000r/40d
                           on_error=closed;
             " . join('', map {
                 "slidewin_zone \$arg_k zone=few_$_:1m rate=4r/40d
                                algorithm=$_ lease=50% on_error=closed;
                  slidewin_zone \$arg_k zone=$_:1m rate=100r/40d
                                algorithm=$_ lease=50% on_error=closed;\n"
             } @algorithms),
    server => 'add_header X-Source $slidewin_source always;
               location = /peek_wide { slidewin zone=wide cost=0; empty_gif; }
               ' . join('', map {
                   "location = /few_$_ { slidewin zone=few_$_; empty_gif; }
                    location = /two_$_ { slidewin zone=wide;
                                         slidewin zone=few_$_; empty_gif; }
                    location = /$_ { slidewin zone=$_; empty_gif; }\n"
               } @algorithms));

my @clients = map { $nginx->client } 1 .. 20;
my $fresh = 0;

$_->get('/free') for @clients;
ok(SlidewinNginx::until_true(sub {
    $clients[0]->get('/log?k=' . fresh())->{header}{'x-source'} eq 'redis';
}, 20 * $patience), 'Redis is asked');

sub fresh { return 'k' . ++$fresh }

# the first request takes one unit, the second prefetches one as well
sub few {
    my ($uri) = @_;
    my @answers = $clients[0]->get($uri);

    $_->request($uri) for @clients[0 .. 5];
    push @answers, map { $_->answer } @clients[0 .. 5];

    return SlidewinNginx::tally(map { $_->{status} } @answers);
}

for my $algorithm (@algorithms) {
    is(few("/few_$algorithm?k=" . fresh()), '200 x4, 429 x3',
       "$algorithm: all of a small limit");

    # another zone of the same check counts as many units
    my $k = fresh();
    is(few("/two_$algorithm?k=$k"), '200 x4, 429 x3',
       "$algorithm: with another");
    is($clients[0]->get("/peek_wide?k=$k")->{header}{'x-remaining'}, 996,
       '... which counts as many');

    $k = fresh();
    my @statuses = map { @$_ } $nginx->together(sub {
        return [$_[0]->statuses(("/$algorithm?k=$k") x 10)];
    }, @clients);
    is(SlidewinNginx::tally(@statuses), '200 x100, 429 x100',
       "$algorithm: all of a larger one");
}

$_->close for @clients;
$nginx->stop;

done_testing();
