# Windows in shared memory begin when those in Redis do: for 1000r/d at 00:00
# UTC. They still do when the clock is set.

use strict;
use warnings;

use SlidewinNginx;
use SlidewinPreload;
use Test::More;

my ($day, $hour) = (86400, 3600);
my %rates = (day => ['3r/d', $day], hour => ['1r/h', $hour],
             hours => ['2r/6h', 6 * $hour]);

my $wall = SlidewinPreload->clock;
my $monotonic = SlidewinPreload->monotonic;
my $env = { %{$monotonic->env}, %{$wall->env} };

# 20 minutes after noon UTC, whenever the suite runs
my $offset = 12 * $hour + 1200 - time % $day;
$wall->set($offset);

my %conf = (
    workers => 2,
    env => $env,
    # nginx passes only these environment variables to its workers
    main => join('', map { "env $_;" } sort keys %$env),
    http => join('', map {
        "slidewin_zone \$arg_k zone=$_:1m rate=$rates{$_}[0]
                       algorithm=fixed;"
    } keys %rates),
    server => join('', map {
                "location = /$_ { slidewin zone=$_; empty_gif; }\n"
              } keys %rates)
              . 'location = /both { slidewin zone=day; slidewin zone=hour;
                                    empty_gif; }',
);

my $nginx = SlidewinNginx->start(%conf);
my $slack = 10 * SlidewinNginx::patience();

# the seconds left of a UTC window when the clock is so far from true time
sub left {
    my ($seconds, $ahead) = @_;

    return $seconds - (time + $ahead) % $seconds;
}

sub refused {
    my ($uri, $left, $name) = @_;
    my $answer = $nginx->get($uri);

    is($answer->{status}, 429, "$name: refused");
    cmp_ok(abs(($answer->{header}{'retry-after'} // -1) - $left), '<=',
           $slack, '... until the window ends in UTC');

    return;
}

for my $zone (sort keys %rates) {
    my ($rate, $seconds) = @{$rates{$zone}};
    my ($n) = $rate =~ /^(\d+)/;

    is(SlidewinNginx::tally($nginx->status("/$zone?k=a", $n)), "200 x$n",
       "$rate: a client takes its limit");
    refused("/$zone?k=a", left($seconds, $offset), $rate);
}

is($nginx->get('/both?k=b')->{status}, 200, 'two windows of two lengths');
refused('/both?k=b', left($hour, $offset), '... then one of them');


# neither a step of the clock nor a reload moves the windows

$wall->set($offset + 5 * $hour + 700);
refused('/day?k=a', left($day, $offset), 'the clock is set: the day');
refused('/hour?k=a', left($hour, $offset), '... the hour');

$nginx->reload;
refused('/day?k=a', left($day, $offset), 'a reload: the day');
refused('/hour?k=a', left($hour, $offset), '... the hour');

is($nginx->get('/day?k=new')->{status}, 200, '... another client passes');


# time passes

my $gone = left($hour, $offset) + $slack;

$monotonic->set($gone);
is($nginx->get('/hour?k=a')->{status}, 200, 'an hour that ends begins anew');
refused('/hour?k=a', left($hour, $offset + $gone), '... to its own end');
refused('/day?k=a', left($day, $offset + $gone), '... while the day goes on');

$gone = left($day, $offset) + $slack;

$monotonic->set($gone);
is(SlidewinNginx::tally($nginx->status('/day?k=a', 4)), '200 x3, 429 x1',
   '00:00 UTC: the limit is there again');
refused('/day?k=a', left($day, $offset + $gone), '... for another day');

$nginx->stop;

done_testing();
