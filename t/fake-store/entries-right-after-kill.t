# A worker is killed at each step of a change to a zone: the number of entries
# that the endpoint tells is right when the zone was repaired, and requests that
# were answered stay counted.

use strict;
use warnings;

use SlidewinNginx;
use SlidewinStats;
use Test::More;

my $patience = 10 * SlidewinNginx::patience();
my @changes = qw(insert reset log_insert log_reset);

my $nginx = SlidewinNginx->start(
    workers => 2,
    http => join('', map {
        my $algorithm = /^log/ ? 'log' : 'counter';
        "slidewin_zone \$arg_k zone=$_:1m rate=5r/40d algorithm=$algorithm
                       store=local;\n"
    } @changes),
    server => 'location = /steps { slidewin_test_steps; }'
              . join('', map {
                  "location = /$_ { slidewin zone=$_; empty_gif; }
                   location = /reset_$_ { slidewin zone=$_ reset=200;
                                          empty_gif; }\n"
              } @changes)
              . SlidewinStats::location());

my ($pid) = $nginx->workers;
my $two = $nginx->client_of($pid);
my $one;

sub doomed {
    return if $one && $one->{socket};

    my @others;

    SlidewinNginx::until_true(sub {
        @others = grep { $_ != $pid } $nginx->workers;
    }, $patience) or die 'no other worker';

    $one = $nginx->client_of($others[0]);

    return;
}

for my $zone (@changes) {
    my ($n, $died, $answered) = (0, 1, 0);
    my @wrong;

    while ($died && $n < 300) {
        my $key = 'key' . ++$n;
        my $uri = $zone =~ /reset/ ? "/reset_$zone?k=$key" : "/$zone?k=$key";

        doomed();
        $one->get("/steps?n=$n");
        $answered++ if $one->get($uri)->{status} == 200;
        $died = $one->get('/free')->{status} == 0;

        # whatever was done to the key, it is there now
        $answered++ if $two->get("/$zone?k=$key")->{status} == 200;

        my $entries = SlidewinStats::zone($nginx, $zone)->{entries};
        push @wrong, "$n: $entries" if $entries != $n;
    }

    $one->get('/steps?n=0');

    cmp_ok($n, '>', 3, "$zone: @{[$n - 1]} steps");
    ok(!$died, '... are all there are');
    is("@wrong", '', '... the entries are right after each');

    my $passed = SlidewinStats::zone($nginx, $zone)->{outcomes}{passed};
    cmp_ok($passed, '>=', $answered, '... all answers are counted');
    cmp_ok($passed, '<=', 2 * $n, '... none twice');
}

$nginx->stop(allow => qr/exited on signal 9|was locked by/);

done_testing;
