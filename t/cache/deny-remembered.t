# A rejection by Redis is remembered. Until its time is over the client is
# rejected without a check, with the same response that Redis would cause.

use strict;
use warnings;

use Test::More;

use SlidewinNginx;
use SlidewinRedis;

my @algorithms = qw(counter fixed strict log);
my $redis = SlidewinRedis->start;

my $nginx = SlidewinNginx->start(
    workers => 2,
    http => "slidewin_redis @{[$redis->url]} timeout=20s connect_timeout=20s;
             slidewin_log_level info;
             map \$arg_r \$rate { default 3r/40d; '' 3r/40d; more 8r/40d;
                                  short 3r/39d; }
             slidewin_zone \$arg_k zone=off:1m rate=3r/40d deny_cache=off
                           on_error=closed;
             slidewin_zone \$arg_k zone=rate:1m rate=\$rate algorithm=log
                           deny_cache=30s on_error=closed;
             slidewin_zone \$arg_k zone=cost:1m rate=10r/40d algorithm=log
                           deny_cache=30s on_error=closed;
             slidewin_zone \$arg_k zone=long:1m rate=3r/40d deny_cache=30s;
             slidewin_zone \$arg_k zone=short:1m rate=3r/2s algorithm=log
                           deny_cache=30s on_error=closed;
             slidewin_zone \$arg_k zone=soon:1m rate=3r/300ms algorithm=log
                           on_error=closed;
             slidewin_zone \$arg_k zone=wide:1m rate=100r/40d deny_cache=30s
                           on_error=closed;
             slidewin_zone \$arg_k zone=hour:1m rate=3r/h algorithm=log
                           deny_cache=20s on_error=closed;
             slidewin_zone \$arg_k zone=brief:1m rate=3r/40d algorithm=log
                           deny_cache=10s on_error=closed;
             slidewin_zone \$arg_k zone=count:1m rate=3r/40d on_error=closed;
             slidewin_zone \$arg_k zone=both:1m rate=3r/40d deny_cache=30s
                           on_error=closed;
             slidewin_zone \$arg_k zone=wait:1m rate=3r/3s algorithm=log
                           deny_cache=30s on_error=closed;
             " . join('', map {
                 "slidewin_zone \$arg_k zone=$_:1m rate=3r/40d algorithm=$_
                  on_error=closed;\n"
             } @algorithms),
    server => 'add_header X-Source $slidewin_source always;
               add_header X-Reset $slidewin_reset always;
               add_header X-Zone $slidewin_zone always;
               location = /cost { slidewin zone=cost cost=$arg_c; empty_gif; }
               location = /dry { slidewin zone=long dry_run; empty_gif; }
               location = /two { slidewin zone=wide; slidewin zone=long;
                                 empty_gif; }
               location = /hour_off { slidewin zone=hour; slidewin zone=off;
                                      empty_gif; }
               location = /off_hour { slidewin zone=off; slidewin zone=hour;
                                      empty_gif; }
               location = /hour_brief { slidewin zone=hour;
                                        slidewin zone=brief; empty_gif; }
               location = /hour_long { slidewin zone=hour; slidewin zone=long;
                                       empty_gif; }
               location = /count { slidewin zone=count count=404; empty_gif; }
               location = /both { slidewin zone=both count=200,404;
                                  empty_gif; }
               location = /both/not { slidewin zone=both count=404;
                                      empty_gif; }
               location = /both/reset { slidewin zone=both reset=200;
                                        empty_gif; }
               location = /both/look { slidewin zone=both cost=0; empty_gif; }
               location = /wait { slidewin zone=wait delay=20s; empty_gif; }
               location = /wait/not { slidewin zone=wait; empty_gif; }
               ' . join('', map {
                   "location = /$_ { slidewin zone=$_; empty_gif; }\n"
               } qw(off rate long short soon wide hour brief), @algorithms));

my ($client, $other) = $nginx->clients(2);
my $fresh = 0;

sub fresh { return 'k' . ++$fresh }

sub calls { return scalar $redis->calls('evalsha') }

sub told {
    return join ', ', map {
        "$_->{status} " . ($_->{header}{'x-source'} // '-')
    } @_;
}

sub get { my ($uri, $n) = @_; return map { $client->get($uri) } 1 .. $n // 1 }

# all workers are connected to Redis
$_->get('/long?k=warm') for $client, $other;

for my $algorithm (@algorithms) {
    my $k = fresh();

    is(told(get("/$algorithm?k=$k", 4)),
       '200 redis, 200 redis, 200 redis, 429 redis', "$algorithm: used up");

    my $before = calls();
    my @answers = get("/$algorithm?k=$k", 3);

    # they may be remembered for no longer than a second
    is(told(@answers), join(', ', ('429 deny_cache') x 3),
       "$algorithm: refused from memory")
        if calls() == $before;

    my ($first) = get("/$algorithm?k=$k");
    my ($second) = $other->get("/$algorithm?k=$k");
    my $difference = $first->{header}{'retry-after'}
                     - $second->{header}{'retry-after'};

    ok($difference >= 0 && $difference <= 10,
       "$algorithm: the same Retry-After from both workers");
    is($second->{header}{'x-remaining'}, 0, "$algorithm: nothing remains");
    is($second->{header}{'x-estimate'}, $first->{header}{'x-estimate'},
       "$algorithm: the same estimate");
    ok(abs($second->{header}{'x-reset'} - $first->{header}{'x-reset'}) <= 10,
       "$algorithm: the same reset");
    is(told(get("/$algorithm?k=" . fresh())), '200 redis',
       "$algorithm: another client is not known");
}

# A flood of one client costs one check a second.
{
    my $k = fresh();
    get("/log?k=$k", 4);

    my $before = calls();
    my $start = SlidewinNginx::now();
    my @statuses;

    for (1 .. 10) {
        push @statuses, $_->statuses(("/log?k=$k") x 200) for $client, $other;
    }

    my $seconds = SlidewinNginx::now() - $start;
    my $asked = calls() - $before;

    is(SlidewinNginx::tally(@statuses), '429 x4000', 'a flood is refused');
    # both workers may check at the same moment
    cmp_ok($asked, '<=', 2 * (2 + $seconds), "... at $asked questions in "
           . sprintf '%.1f s', $seconds);
}

# A client that obeys Retry-After is admitted, however long rejections are
# remembered.
{
    my ($answer, $k);

    for (1 .. 5) {
        $k = fresh();
        my @answers = get("/short?k=$k", 5);
        $answer = $answers[4];
        last if told($answer) eq '429 deny_cache';
    }

    is(told($answer), '429 deny_cache', 'refused from memory');
    my $retry = $answer->{header}{'retry-after'};
    # two, and some ms: an edge knows the time of Redis to those
    ok($retry >= 1 && $retry <= 3, "... for $retry s");
    SlidewinNginx::nap($retry + 0.1);
    is(told(get("/short?k=$k")), '200 redis', '... and not longer');
}

# It ends with the window, which is shorter than a second here.
{
    my $k = fresh();
    my $seen = 0;

    ok(SlidewinNginx::until_true(sub {
        my ($answer) = get("/soon?k=$k");
        $seen = 1 if told($answer) eq '429 deny_cache';
        return $seen && told($answer) eq '200 redis';
    }, 20), 'refused from memory, then admitted again');
}

# Each cost has a time of its own.
{
    my $k = fresh();

    is(told(get("/cost?k=$k&c=8")), '200 redis', 'eight of ten');
    is(told(get("/cost?k=$k&c=3", 2)), '429 redis, 429 deny_cache',
       'three are too many');
    is(told(get("/cost?k=$k&c=4", 2)), '429 redis, 429 deny_cache',
       'four have a time of their own');
    is(told(get("/cost?k=$k&c=3")), '429 deny_cache', 'three are known yet');
    is(told(get("/cost?k=$k&c=2")), '200 redis', 'two are asked for');
    is(told(get("/cost?k=$k&c=0")), '200 redis', 'a look is a look');
    is(told(get("/cost?k=$k&c=1", 2)), '429 redis, 429 deny_cache',
       'now one is too many');

    my @answers = get("/cost?k=$k&c=11", 2);
    is(told(@answers), '429 redis, 429 redis', 'what can never pass');
    is($answers[1]{header}{'retry-after'}, undef, '... is told no time');
}

# off, dry runs, several limits
{
    my $k = fresh();

    is(told(get("/off?k=$k", 6)), '200 redis, 200 redis, 200 redis, '
       . '429 redis, 429 redis, 429 redis', 'deny_cache=off asks every time');

    $k = fresh();
    get("/long?k=$k", 3);
    is(told(get("/dry?k=$k", 2)), '200 redis, 200 redis',
       'a dry run does not make a refusal known');
    is(told(get("/long?k=$k", 2)), '429 redis, 429 deny_cache', 'others do');
    is(told(get("/dry?k=$k")), '200 redis', '... and it does not use it');

    my $before = calls();
    my ($answer) = get("/two?k=$k");
    is(told($answer), '429 deny_cache', 'one of two policies is known');
    is($answer->{header}{'x-zone'}, 'long', '... and decides');
    is(calls(), $before + 1, '... and the other is looked at');
    is(told(get("/two?k=$k", 3)), join(', ', ('429 deny_cache') x 3),
       '... then both are known');
    is(calls(), $before + 1, '... and none is asked');
    is($redis->command('EXISTS', "sw:{$k}:wide"), 0,
       '... and nothing is counted');
}

# Of several rejections the longest time is sent: a remembered one does not
# replace a check of another limit that is not remembered, or not for as long.
{
    for my $uri (qw(/hour_off /off_hour)) {
        my $k = fresh();
        my @answers = get("$uri?k=$k", 5);

        is(told(@answers[3, 4]), '429 redis, 429 redis',
           "$uri: one is not remembered");
        cmp_ok($answers[4]{header}{'retry-after'}, '>', 3600,
               '... and its time is told');
    }

    # one that is remembered before the other limit is used up
    my $k = fresh();
    get("/hour?k=$k", 3);
    is(told(get("/hour?k=$k", 2)), '429 redis, 429 deny_cache',
       'the hour is known');
    $client->get("/brief?k=$k") for 1 .. 3;
    my ($answer) = get("/hour_brief?k=$k");
    is(told($answer), '429 redis', '... and does not speak for one that is '
       . 'remembered for less');
    cmp_ok($answer->{header}{'retry-after'}, '>', 3600,
           '... whose time is told');
    ($answer) = get("/hour_brief?k=$k");
    is(told($answer), '429 deny_cache', '... now both are known');
    cmp_ok($answer->{header}{'retry-after'}, '>', 3600,
           '... and the longer is told');

    $k = fresh();
    my @answers = get("/hour_long?k=$k", 5);
    is(told(@answers[3, 4]), '429 redis, 429 deny_cache',
       'both are known from the beginning');
    cmp_ok($answers[4]{header}{'retry-after'}, '>', 3600,
           '... and the longer is told');
}

# It is not used for another rate.
{
    my $k = fresh();

    is(told(get("/rate?k=$k", 5)), '200 redis, 200 redis, 200 redis, '
       . '429 redis, 429 deny_cache', 'used up');
    is(told(get("/rate?k=$k&r=short")), '429 redis', 'another period');
    is(told(get("/rate?k=$k&r=more")), '200 redis', 'a higher limit');
    is(told(get("/rate?k=$k")), '429 redis', 'and back');
}

# Where another edge may refund units it is short unless configured, and a
# refund or reset on this edge ends it.
{
    my $k = fresh();

    for (1 .. 3) {
        is(told(get("/count?k=$k")), '200 redis', 'given back');
    }
    $redis->command('FLUSHALL');

    $k = fresh();
    get("/both?k=$k", 3);
    is(told(get("/both?k=$k", 2)), '429 redis, 429 deny_cache',
       'with count=, if asked for');
    $redis->command('DEL', "sw:{$k}:both");
    is(told(get("/both?k=$k")), '429 deny_cache', '... for as long as it says');
    is(told(get("/both/look?k=$k")), '200 redis', '... a look asks');
}

# a unit of a request in progress here, which is refunded here
{
    my $k = fresh();

    get("/both?k=$k", 2);
    is(told(get("/both/not?k=$k")), '200 redis', 'one is given back');
    is(told(get("/both?k=$k", 2)), '200 redis, 429 redis', '... and used');

    # the limit has room again by a change that this edge does not see
    $redis->command('DEL', "sw:{$k}:both");
    is(told(get("/both?k=$k")), '429 deny_cache',
       'a change elsewhere is not seen');
    $redis->command('FLUSHALL');
    is(told(get("/both/reset?k=" . fresh())), '200 redis', 'another is reset');
    is(told(get("/both?k=$k")), '429 deny_cache', '... and this one is not');
}

# A request in a delay= queue checks when its time comes.
{
    my ($k, @answers);

    for (1 .. 5) {
        $k = fresh();
        @answers = (get("/wait?k=$k", 3), get("/wait/not?k=$k", 2));
        last if told(@answers[3, 4]) eq '429 redis, 429 deny_cache';
    }

    is(told(@answers[3, 4]), '429 redis, 429 deny_cache', 'used up');
    my ($answer) = get("/wait?k=$k");
    is("$answer->{status} $answer->{header}{'x-status'}", '200 DELAYED',
       'it waits, and is admitted');
    is($answer->{header}{'x-source'}, 'redis', '... by Redis');
}

# A reload keeps remembered rejections, and the zone is not disturbed.
{
    my $k = fresh();

    is(told(get("/long?k=$k", 5)), '200 redis, 200 redis, 200 redis, '
       . '429 redis, 429 deny_cache', 'before a reload');
    $_->close for $client, $other;
    $nginx->reload;
    ($client, $other) = $nginx->clients(2);
    is(told(get("/long?k=$k")), '429 deny_cache', '... and after it');
}

# Redis is down: remembered rejections still apply.
{
    my $k = fresh();

    get("/long?k=$k", 4);
    $redis->kill;
    is(told(get("/long?k=$k")), '429 deny_cache', 'without Redis');
    like(told(get('/long?k=' . fresh())), qr/^200 fallback/,
         '... others are decided here');
}

$_->close for $client, $other;
$nginx->stop;

done_testing();
