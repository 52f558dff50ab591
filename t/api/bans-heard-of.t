# A ban leaves the list when the store that has it says so, and by nothing else:
# not by an answer from before it began, nor by what decides while Redis is away.
# Another store has other bans.

use strict;
use warnings;

use SlidewinNginx;
use SlidewinRedis;
use SlidewinStats;
use Test::More;

my $patience = 10 * SlidewinNginx::patience();
my ($redis, $second) = map { SlidewinRedis->start } 1, 2;

sub conf {
    my (%with) = @_;
    my $url = $with{url} // $redis->url;
    my $prefix = $with{prefix} // '';

    return (
        workers => 2,
        http => <<"END", server => <<'END');
    slidewin_redis $url $prefix timeout=10s name=a;
    slidewin_redis @{[$second->url]} timeout=10s name=b;
    slidewin_log_level off;
    slidewin_zone \$arg_k zone=redis:1m rate=20r/40d ban=10m..1h store=a;
    slidewin_zone \$arg_k zone=local:1m rate=20r/40d ban=10m..1h store=local;
    slidewin_zone \$arg_k zone=down:1m rate=2r/40d ban=10m..1h deny_cache=100ms
                  store=@{[$with{store} // 'a']};
END
        location /slidewin/ { slidewin_api write=on; }
        location = /redis { slidewin zone=redis; empty_gif; }
        location = /local { slidewin zone=local; empty_gif; }
        location = /down { slidewin zone=down; empty_gif; }
END
}

my $nginx = SlidewinNginx->start(conf());

sub listed {
    my ($zone) = @_;
    my $bans = SlidewinStats::json($nginx, "zones/$zone/bans")->{bans};

    return join ' ', sort map { $_->{key} } @$bans;
}

# What was asked before a ban began is answered when it has.

my @clients = $nginx->clients(60);

for my $zone (qw(local redis)) {
    my $n = 200;
    my @answers;

    for my $key (1 .. $n) {
        $_->request("/$zone?k=$key") for @clients;
        push @answers, map { $_->answer } @clients;
    }

    is(SlidewinNginx::tally(map { $_->{status} } @answers),
       '200 x' . 20 * $n . ', 429 x' . 40 * $n, "$zone: $n clients are banned");
    is(listed($zone), join(' ', sort 1 .. $n), '... each is listed');

    my $without = grep { !defined $_->{length} }
                      @{SlidewinStats::json($nginx, "zones/$zone/bans")->{bans}};
    is($without, 0, '... with how long it lasts');
}

# Redis away: the fallback knows nothing of the bans in it.

is(SlidewinNginx::tally($nginx->status('/down?k=before', 3)), '200 x2, 429 x1', 'a ban in Redis');
my $address = $redis->url;
$redis->kill;
is(SlidewinStats::becomes(sub { $nginx->get('/down?k=before')->{status} }, 200), 200,
   'without Redis its client may come');
is(listed('down'), 'before', '... its ban is listed: Redis has it');

ok(SlidewinNginx::until_true(sub { $nginx->get('/down?k=meanwhile')->{status} == 429 }, $patience),
   'the fallback bans');
is(listed('down'), 'before meanwhile', '... which is listed, too');
is($nginx->get('/down?k=meanwhile')->{status}, 429, '... and holds');

ok($redis->run, 'Redis is back, and has lost all');
is(SlidewinStats::becomes(sub { $nginx->get('/down?k=meanwhile')->{status} }, 200), 200,
   'what the fallback began ends when Redis decides');
is(SlidewinStats::becomes(sub { listed('down') }, 'before'), 'before',
   '... and is listed no more when its client has come');
is(SlidewinStats::becomes(sub {
    return SlidewinStats::look($nginx, 'down', 'before')->{banned} // 'unknown';
}, 0), 0, 'a look tells that a ban is gone');
is(listed('down'), '', '... and it is');

# a reload

for (
    ['another store', store => 'b'],
    ['another address', url => $second->url],
    ['another prefix', prefix => 'prefix=other:'],
) {
    my ($name, %with) = @$_;

    SlidewinStats::forget($nginx, 'down', 'a');
    # a worker that has not noticed yet that Redis is back has bans of its own
    ok(SlidewinNginx::until_true(sub {
        $nginx->get('/down?k=a')->{status} == 429 && $redis->command('EXISTS', 'sw:{a}:down:ban');
    }, $patience), "$name: a ban of before");
    is(listed('down'), 'a', '... is listed');
    $nginx->reload(conf());
    is(listed('down'), 'a', '... also after a reload without a change');
    $nginx->reload(conf(%with));
    is(listed('down'), '', '... but not with that');
    is(SlidewinStats::look($nginx, 'down', 'a')->{banned}, 0, '... where the client has none');
    $nginx->reload(conf());
    is($nginx->get('/down?k=a')->{status}, 429, 'the first one has it');
    is(listed('down'), 'a', '... and it is listed when the client comes');
}

$nginx->stop;

done_testing();
