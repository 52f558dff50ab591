# Every outcome and every source is counted, once for each policy of a request,
# and each request once among the decisions.

use strict;
use warnings;

use SlidewinNginx;
use SlidewinRedis;
use SlidewinStats;
use Test::More;

my $redis = SlidewinRedis->start;
my $dead = SlidewinRedis::free_port();

my $nginx = SlidewinNginx->start(
    workers => 2,
    http => <<"END", server => <<'END' . SlidewinStats::location());
    slidewin_redis @{[$redis->url]} timeout=20s connect_timeout=20s;
    slidewin_redis redis://127.0.0.1:$dead name=dead timeout=50ms;
    slidewin_zone \$arg_k zone=here:1m rate=2r/40d store=local;
    slidewin_zone \$arg_k zone=other:1m rate=100r/40d store=local;
    slidewin_zone \$arg_k zone=slow:1m rate=1r/300ms algorithm=log store=local;
    slidewin_zone \$arg_k zone=asked:1m rate=2r/40d deny_cache=off
                          on_error=closed;
    slidewin_zone \$arg_k zone=denied:1m rate=1r/40d deny_cache=1m;
    slidewin_zone \$arg_k zone=leased:1m rate=100r/40d lease=50%;
    slidewin_zone \$arg_k zone=open:1m rate=1r/40d store=dead on_error=open;
    slidewin_zone \$arg_k zone=closed:1m rate=1r/40d store=dead
                          on_error=closed;
    slidewin_zone \$arg_k zone=back:1m rate=1r/40d store=dead on_error=local;
    slidewin_zone \$arg_k zone=dry:1m rate=1r/40d store=local;
    slidewin_zone \$arg_k zone=drydead:1m rate=1r/40d store=dead
                          on_error=closed;
    slidewin_zone \$arg_k zone=exempt:1m rate=1r/40d store=local;
END
    location = /here { slidewin zone=here; empty_gif; }
    location = /two { slidewin zone=other; slidewin zone=here; empty_gif; }
    location = /slow { slidewin zone=slow delay=20s; empty_gif; }
    location = /asked { slidewin zone=asked; empty_gif; }
    location = /denied { slidewin zone=denied; empty_gif; }
    location = /leased { slidewin zone=leased; empty_gif; }
    location = /open { slidewin zone=open; empty_gif; }
    location = /closed { slidewin zone=closed; empty_gif; }
    location = /back { slidewin zone=back; empty_gif; }
    location = /dry { slidewin zone=dry dry_run; empty_gif; }
    location = /drydead { slidewin zone=drydead dry_run; empty_gif; }
    location = /exempt { slidewin zone=exempt if=$arg_if; empty_gif; }
END

my %decisions;

sub check {
    my ($zone, $uri, $times, $statuses, $wanted, %decided) = @_;

    is(SlidewinNginx::tally($nginx->status($uri, $times)), $statuses,
       "$uri: the responses");
    is(SlidewinStats::evaluations($nginx, $zone), $wanted,
       "... the policy $zone");

    $decisions{$_} += $decided{$_} for keys %decided;
    is(SlidewinStats::decisions($nginx), SlidewinStats::counts(\%decisions),
       '... and the requests');

    return;
}

is(SlidewinStats::decisions($nginx), '', 'nothing is counted at first');

check('here', '/here?k=a', 5, '200 x2, 429 x3',
      'passed local 2, rejected local 3', passed => 2, rejected => 3);
check('asked', '/asked?k=a', 4, '200 x2, 429 x2',
      'passed redis 2, rejected redis 2', passed => 2, rejected => 2);
check('denied', '/denied?k=a', 4, '200 x1, 429 x3',
      'passed redis 1, rejected deny_cache 2, rejected redis 1',
      passed => 1, rejected => 3);
check('slow', '/slow?k=a', 3, '200 x3', 'delayed local 2, passed local 1',
      passed => 1, delayed => 2);
check('open', '/open?k=a', 3, '200 x3', 'error_passed fail_open 3',
      error_passed => 3);
check('closed', '/closed?k=a', 3, '503 x3', 'error_rejected fail_closed 3',
      error_rejected => 3);
check('back', '/back?k=a', 3, '200 x1, 429 x2',
      'passed fallback 1, rejected fallback 2', passed => 1, rejected => 2);
check('dry', '/dry?k=a', 3, '200 x3',
      'dry_run_rejected local 2, passed local 1',
      passed => 1, dry_run_rejected => 2);
check('drydead', '/drydead?k=a', 2, '200 x2', 'dry_run_rejected fail_closed 2',
      dry_run_rejected => 2);
check('exempt', '/exempt?k=a&if=0', 3, '200 x3', 'bypassed none 3',
      bypassed => 3);
check('exempt', '/exempt?if=1', 2, '200 x2', 'bypassed none 5', bypassed => 2);
check('other', '/two?k=b', 3, '200 x2, 429 x1',
      'passed local 3', passed => 2, rejected => 1);

is(SlidewinStats::evaluations($nginx, 'here'),
   'passed local 4, rejected local 4', '... the one that rejected as well');

is(SlidewinNginx::tally($nginx->status('/leased?k=a', 20)), '200 x20',
   '/leased: the responses');
is(SlidewinStats::outcomes($nginx, 'leased'), 'passed 20', '... all counted');

my $sources = SlidewinStats::zone($nginx, 'leased')->{sources};
is($sources->{redis} + $sources->{lease}, 20, '... once each');
cmp_ok($sources->{lease}, '>', 0, '... some by a lease');

# both views of a zone agree
for my $zone (qw(here asked denied slow open closed back dry exempt)) {
    my $json = SlidewinStats::zone($nginx, $zone);
    my ($outcomes, $bySource) = (0, 0);

    $outcomes += $_ for values %{$json->{outcomes}};
    $bySource += $_ for values %{$json->{sources}};

    is($bySource, $outcomes - $json->{outcomes}{bypassed},
       "$zone: all that was not bypassed has a source");
    is($json->{utilization}{'+Inf'}, $bySource - $json->{sources}{fail_open}
                                     - $json->{sources}{fail_closed},
       '... and a utilization if a store decided');
}

$nginx->stop;

done_testing;
