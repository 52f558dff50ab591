# The module's variables in the access log, for every outcome of a request.

use strict;
use warnings;

use Test::More;
use Time::HiRes ();

use SlidewinNginx;
use SlidewinPreload;

my @names = qw(status source zone limit remaining reset retry_after estimate
               latency);

my $clock = SlidewinPreload->monotonic;
my $env = $clock->env;

my $nginx = SlidewinNginx->start(
    env => $env,
    # nginx passes only these environment variables to its workers
    main => join('', map { "env $_;" } sort keys %$env),
    http => <<"END", server => <<'END');
    log_format limits '\$uri @{[map { "$_=\$slidewin_$_" } @names]} client=\$slidewin_client';
    map \$slidewin_status \$is_rejected { REJECTED yes; default no; }
    slidewin_zone \$arg_k zone=one:1m rate=3r/h algorithm=log;
    slidewin_zone \$arg_j zone=two:1m rate=2r/d algorithm=log;
    slidewin_zone \$arg_k zone=open:1m rate=\$arg_rate on_error=open;
    slidewin_zone \$arg_k zone=closed:1m rate=\$arg_rate on_error=closed;
    slidewin_zone \$arg_k zone=counter:1m rate=8r/400s;
END
    access_log logs/limits.log limits;
    location /none { empty_gif; }
    location /off { slidewin off; empty_gif; }
    location /return { slidewin zone=one; return 204; }
    location /one { slidewin zone=one; empty_gif; }
    location /peek { slidewin zone=one cost=0; empty_gif; }
    location /costly { slidewin zone=one cost=4; empty_gif; }
    location /dry { slidewin zone=one dry_run; empty_gif; }
    location /both { slidewin zone=one; slidewin zone=two; empty_gif; }
    location /open { slidewin zone=open; empty_gif; }
    location /closed { slidewin zone=closed; empty_gif; }
    location /counter { slidewin zone=counter cost=$arg_cost; empty_gif; }

    location /early {
        slidewin zone=one;
        set $early "$slidewin_status/$is_rejected";
        add_header X-Early $early always;
        empty_gif;
    }

    location /page {
        slidewin zone=one;
        error_page 429 /rejected;
        empty_gif;
    }
    location /rejected { internal; empty_gif; }

    location /map {
        slidewin zone=one;
        add_header X-Rejected $is_rejected always;
        empty_gif;
    }
END

my $count = 0;

# The line is written after the response is sent.
sub logged {
    my ($uri) = @_;
    my $file = $nginx->root . '/logs/limits.log';
    my @lines;

    my $answer = $nginx->get($uri);
    $count++;

    SlidewinNginx::until_true(sub {
        open my $log, '<', $file or return 0;
        @lines = <$log>;
        return @lines >= $count;
    }, 10) or die "no line for $uri";

    my %got = $lines[$count - 1] =~ /(\w+)=(\S+)/g;

    return { %got, code => $answer->{status}, header => $answer->{header} };
}

sub variables_are {
    my ($uri, $name, $code, %wanted) = @_;
    my $got = logged($uri);

    is($got->{code}, $code, "$name: $code");

    for my $variable (@names) {
        my $value = $wanted{$variable} // '-';

        like($got->{$variable}, qr/^$value$/, "$name: \$slidewin_$variable");
    }

    return $got;
}

my $hour = '3[56]\d\d';
my $day = '86[34]\d\d';
my $ms = '\d+\.\d{3}';

variables_are('/none', 'no limit', 200);
variables_are('/off', 'off', 200);
variables_are('/return?k=a', 'return comes before', 204);

variables_are('/one', 'empty key', 200, status => 'BYPASSED', latency => $ms);

my %one = (source => 'local', zone => 'one', limit => 3, latency => $ms);

variables_are('/peek?k=a', 'peek at nothing', 200, %one, status => 'PASSED',
              remaining => 3, reset => 0, estimate => 0);
variables_are('/one?k=a', 'first', 200, %one, status => 'PASSED',
              remaining => 2, reset => $hour, estimate => 1);
variables_are('/one?k=a', 'second', 200, %one, status => 'PASSED',
              remaining => 1, reset => $hour, estimate => 2);
variables_are('/costly?k=a', 'cost above the limit', 429, %one,
              status => 'REJECTED', remaining => 1, reset => $hour,
              estimate => 2);
variables_are('/one?k=a', 'last', 200, %one, status => 'PASSED',
              remaining => 0, reset => $hour, estimate => 3);
variables_are('/one?k=a', 'rejected', 429, %one, status => 'REJECTED',
              remaining => 0, reset => $hour, retry_after => $hour,
              estimate => 3);
variables_are('/dry?k=a', 'dry run', 200, %one, status => 'REJECTED_DRY_RUN',
              remaining => 0, reset => $hour, retry_after => $hour,
              estimate => 3);
variables_are('/dry?k=b', 'dry run that passes', 200, %one, status => 'PASSED',
              remaining => 2, reset => $hour, estimate => 1);

variables_are('/both?k=c&j=c', 'the nearer to its end of two', 200, %one,
              status => 'PASSED', zone => 'two', limit => 2, remaining => 1,
              reset => $day, estimate => 1);
variables_are('/both?k=c', 'one of two has a key', 200, %one,
              status => 'PASSED', remaining => 1, reset => $hour,
              estimate => 2);
variables_are('/both?k=c&j=c', 'two at their end, the first of them', 200,
              %one, status => 'PASSED', zone => 'one|two', limit => '[23]',
              remaining => 0, reset => "$hour|$day", estimate => '[23]');
variables_are('/both?k=c&j=c', 'the later of two rejections', 429, %one,
              status => 'REJECTED', zone => 'two', limit => 2, remaining => 0,
              reset => $day, retry_after => $day, estimate => 2);
variables_are('/both?k=c&j=d', 'the one that rejects', 429, %one,
              status => 'REJECTED', remaining => 0, reset => $hour,
              retry_after => $hour, estimate => 3);

variables_are('/open?k=a&rate=x', 'no rate, open', 200, latency => $ms,
              status => 'ERROR_PASSED', source => 'fail_open', zone => 'open');
variables_are('/closed?k=a&rate=x', 'no rate, closed', 503, latency => $ms,
              status => 'ERROR_REJECTED', source => 'fail_closed',
              zone => 'closed');
variables_are('/open?k=a&rate=7r/h', 'a rate', 200, %one, status => 'PASSED',
              zone => 'open', limit => 7, remaining => 6, reset => '\d+',
              estimate => 1);

variables_are('/page?k=a', 'through an error page', 429, %one,
              status => 'REJECTED', remaining => 0, reset => $hour,
              retry_after => $hour, estimate => 3);

is($nginx->get('/early?k=e')->{header}{'x-early'}, '/no',
   'before the decision there is none');
is($nginx->get('/map?k=e')->{header}{'x-rejected'}, 'no', 'in a map: passed');
is($nginx->get('/map?k=a')->{header}{'x-rejected'}, 'yes',
   'in a map: rejected');


# The estimate of the counter is what the formula gives for that moment. Its
# windows are aligned to UTC, by a clock that the suite sets.

my $ahead = 0;

sub ms { return (Time::HiRes::time() + $ahead) * 1000 }

sub go_to {
    my ($ms) = @_;

    $ahead += int(($ms - ms()) / 1000) + 1;
    $clock->set($ahead);

    return;
}

my ($window, $units) = (400_000, 7);
my $next = (int(ms() / $window) + 1) * $window;

go_to($next);
$nginx->get("/counter?k=estimate&cost=$units");

$next += $window;
go_to($next + 0.3 * $window);

# nginx and the suite read the clock one after the other
my $from = ms() - $next;
my $estimate = $nginx->get('/counter?k=estimate&cost=0')->{header}{'x-estimate'};
my $to = ms() - $next + 10;

like($estimate, qr/^\d+(?:\.\d{0,2}[1-9])?$/, 'the form of an estimate');
cmp_ok($estimate, '<=', $units * ($window - $from + 10) / $window,
       'the estimate is not too large');
cmp_ok($estimate, '>=', $units * ($window - $to) / $window - 0.001,
       'the estimate is not too small');

$nginx->stop;

done_testing();
