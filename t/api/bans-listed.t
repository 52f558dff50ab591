# Bans are listed with the time that is left of them, counted, looked at and
# lifted, on both stores; another machine knows of those that it has met.

use strict;
use warnings;

use SlidewinApi;
use SlidewinNginx;
use SlidewinRedis;
use SlidewinStats;
use Test::More;

my $patience = 10 * SlidewinNginx::patience();
my $redis = SlidewinRedis->start;

my @zones = qw(local redis);

sub conf {
    my (%with) = @_;
    my $names = $with{names} // 'top=off';
    my $size = $with{size} // '1m';

    return (
        workers => 2,
        http => <<"END" . <<'END', server => <<'END');
    slidewin_redis @{[$redis->url]} timeout=10s;
    slidewin_log_level info;
    slidewin_zone \$key zone=local:$size rate=1r/40d ban=10m..1h store=local;
    slidewin_zone \$key zone=redis:$size rate=1r/40d ban=10m..1h
                  deny_cache=1s;
    slidewin_zone \$key zone=short:1m rate=1r/500ms ban=2s store=local;
    slidewin_zone \$key zone=same:1m rate=1r/40d ban=90s deny_cache=1s;
    slidewin_zone \$key zone=off:1m rate=1r/40d ban=10m store=local top=off;
    slidewin_zone \$key zone=toggled:1m rate=1r/40d ban=10m store=local $names;
    slidewin_zone \$key zone=dry:1m rate=1r/40d ban=10m store=local;
    slidewin_zone \$key zone=var_local:1m rate=\$arg_r ban=10m store=local;
    slidewin_zone \$key zone=var_redis:1m rate=\$arg_r ban=10m;
    slidewin_zone \$key zone=none:1m rate=1r/40d store=local;
    slidewin_zone \$key zone=many:2m rate=1r/40d ban=10m store=local;
END
    map $http_x $key { default $arg_k; "~." $http_x; }
END
        location /slidewin/ { slidewin_api write=on; }
        location /readers/ { slidewin_api; }
        location = /local { slidewin zone=local; empty_gif; }
        location = /redis { slidewin zone=redis; empty_gif; }
        location = /short { slidewin zone=short; empty_gif; }
        location = /same { slidewin zone=same; empty_gif; }
        location = /off { slidewin zone=off; empty_gif; }
        location = /toggled { slidewin zone=toggled; empty_gif; }
        location = /dry { slidewin zone=dry dry_run; empty_gif; }
        location = /var_local { slidewin zone=var_local; empty_gif; }
        location = /var_redis { slidewin zone=var_redis; empty_gif; }
        location = /none { slidewin zone=none; empty_gif; }
        location = /many { slidewin zone=many; empty_gif; }
END
}

my ($nginx, $other) = map { SlidewinNginx->start(conf()) } 1, 2;

sub page { return SlidewinStats::json(@_) // {} }
sub bans { return page($_[0], "zones/$_[1]/bans") }

# listed EDGE, ZONE: the keys
sub listed {
    return join ' ', map { $_->{key} // 'null' } @{ bans(@_)->{bans} // [] };
}

sub sorted { return join ' ', sort split ' ', listed(@_) }

# ban EDGE, ZONE, KEY...: the second request of each begins one
sub ban {
    my ($edge, $zone, @keys) = @_;

    $edge->status("/$zone?k=$_", 2) for @keys;

    return;
}

my $metrics = SlidewinStats::metrics($nginx);
for my $zone (@zones, 'none') {
    is($metrics->{qq(slidewin_bans_$_\{zone="$zone"})}, 0,
       "$zone: slidewin_bans_$_ is 0 at first") for qw(active total overflow);
    is_deeply(bans($nginx, $zone),
              { active => 0, overflow => 0, bans => [] }, '... none is listed');
}

# each store

for my $zone (@zones) {
    my $began = time;
    my $of = $zone eq 'local' ? $nginx : $other;

    ban($nginx, $zone, 'a', 'b');
    is(SlidewinNginx::tally($nginx->status("/$zone?k=a", 6)), '429 x6',
       "$zone: a client is banned");

    my $bans = bans($nginx, $zone);
    is(sorted($nginx, $zone), 'a b', '... and listed, with another');
    is("$bans->{active} $bans->{overflow}", '2 0', '... which are all');

    for my $ban (@{$bans->{bans}}) {
        is($ban->{path}, "keys/$ban->{key}", "$ban->{key}: where to look");
        is($ban->{length}, 600, '... how long it lasts');
        cmp_ok($ban->{left}, '<=', 600, '... of which is left');
        cmp_ok($ban->{left}, '>', 600 - $patience, '... nearly all');
        cmp_ok(abs($ban->{began} - $began), '<', $patience, '... when it began');
        ok(!exists $ban->{key_length}, '... its key is whole');
    }

    my $told = SlidewinStats::zone($nginx, $zone);
    is("$told->{bans} $told->{bans_total} $told->{bans_overflow}", '2 2 0',
       'the zone counts them');
    is_deeply($told->{ban}, { time => 600, max => 3600 }, '... and its rule');
    is(page($nginx, 'zones')->{$zone}{bans}, 2, '... in the list of zones');

    $metrics = SlidewinStats::metrics($nginx);
    is($metrics->{qq(slidewin_bans_active{zone="$zone"})}, 2, 'a gauge');
    is($metrics->{qq(slidewin_bans_total{zone="$zone"})}, 2, '... a counter');
    is($metrics->{qq(slidewin_bans_overflow{zone="$zone"})}, 0,
       '... and what is left out');

    # a look

    my $look = SlidewinStats::look($nginx, $zone, 'a');
    cmp_ok($look->{banned}, '>', 600 - $patience, 'a look tells of the ban');
    cmp_ok($look->{banned}, '<=', 600, '... how long it lasts');
    cmp_ok($look->{retry_after}, '>=', $look->{banned},
           '... that there is no use in coming before');
    is($look->{remaining}, 0, '... that nothing remains');
    is(SlidewinStats::look($nginx, $zone, 'c')->{banned}, 0,
       '... and that another client is not banned');
    is(sorted($nginx, $zone), 'a b', '... which bans nobody');

    # who may do what

    for my $page ('bans', 'bans?max=1', 'keys/a') {
        my $client = SlidewinApi->connect($nginx);
        my $head = $client->ask_here('HEAD', "/slidewin/zones/$zone/$page");
        is($head->{status}, 200, "HEAD $page");
        is($client->ask_here('GET', '/slidewin/info')->{status}, 200,
           '... has no body');
    }

    my %allow = (bans => 'GET, HEAD', 'keys/a' => 'GET, HEAD');
    for my $page (sort keys %allow) {
        my $got = SlidewinApi::ask($nginx, 'DELETE',
                                   "/readers/zones/$zone/$page");
        is($got->{status}, 405, "DELETE $page without write=on");
        is($got->{header}{allow}, $allow{$page}, '... says what is allowed');
    }
    is(SlidewinApi::ask($nginx, 'DELETE', "/slidewin/zones/$zone/bans")
           ->{status}, 405, 'a list cannot be deleted');
    is(SlidewinApi::ask($nginx, 'DELETE', "/slidewin/zones/$zone/keys/a",
                        fields => { Origin => 'http://evil.example' })
           ->{status}, 403, 'a page of another site lifts nothing');
    for my $page (qw(bans/ bans/a bansx)) {
        is(SlidewinStats::ask($nginx, "zones/$zone/$page")->{status}, 404,
           "no $page");
    }
    is(sorted($nginx, $zone), 'a b', 'all of that has lifted nothing');

    # parts

    is(scalar @{page($nginx, "zones/$zone/bans?max=$_->[0]")->{bans}}, $_->[1],
       "max=$_->[0] lists $_->[1]") for [0, 0], [1, 1], [2, 2], [99999, 2];
    is(page($nginx, "zones/$zone/bans?max=1")->{active}, 2,
       '... and tells how many there are');
    is(SlidewinStats::ask($nginx, "zones/$zone/bans?max=$_")->{status}, 400,
       "max=$_ is none") for '', 'x', '-1', '1x', '9' x 30;

    # a reload

    $nginx->reload;
    is(sorted($nginx, $zone), 'a b', 'a reload keeps the list');
    is($nginx->get("/$zone?k=a")->{status}, 429, '... and the bans');
    is(SlidewinStats::zone($nginx, $zone)->{bans_total}, 2, '... as counted');

    # lift

    is(SlidewinStats::forget($nginx, $zone, 'a'), 204, 'a ban is lifted');
    is(listed($nginx, $zone), 'b', '... and listed no more');
    is(SlidewinStats::look($nginx, $zone, 'a')->{banned}, 0, '... as a look tells');
    is($nginx->get("/$zone?k=a")->{status}, 200, '... the client may come');
    ok($nginx->logged(qr/\[notice\].*zone "$zone": a client was reset by an operator/),
       '... the log has it');
    is(listed($nginx, $zone), 'b', 'another is as it was');
    is($nginx->get("/$zone?k=b")->{status}, 429, '... and stays banned');

    $metrics = SlidewinStats::metrics($nginx);
    is($metrics->{qq(slidewin_bans_active{zone="$zone"})}, 1, 'one is in force');
    is($metrics->{qq(slidewin_bans_total{zone="$zone"})}, 2, '... of two');

    is($nginx->get("/$zone?k=a")->{status}, 429, 'banned again');
    is(SlidewinStats::zone($nginx, $zone)->{bans_total}, 3, '... counts again');
    is(sorted($nginx, $zone), 'a b', '... and is listed again');
    SlidewinStats::forget($nginx, $zone, $_) for qw(a b);
    is(listed($nginx, $zone), '', 'all are lifted');
}

# two machines and one Redis

ban($nginx, 'redis', 'far');
is(listed($other, 'redis'), '', 'another machine has not heard of a ban');
is($other->get('/redis?k=far')->{status}, 429, '... until the client comes');
is(listed($other, 'redis'), 'far', '... or has');
my ($ban) = @{bans($other, 'redis')->{bans}};
cmp_ok($ban->{left}, '>', 600 - $patience, '... what is left of it');
ok(!defined $ban->{length} && !defined $ban->{began},
   '... but not how long it lasts, if that may differ');
is(SlidewinStats::zone($other, 'redis')->{bans_total}, 0,
   '... and does not count it, which the first one did');
cmp_ok(SlidewinStats::look($other, 'redis', 'far')->{banned}, '>',
       600 - $patience, 'a look tells it anywhere');

is(SlidewinStats::forget($other, 'redis', 'far'), 204,
   'it is lifted where it did not begin');
is(listed($other, 'redis'), '', '... there is none there');
is($other->get('/redis?k=far')->{status}, 200, '... the client may come');
$other->get('/redis?k=other');
is(listed($nginx, 'redis'), 'far', '... where it began that is not known yet');

# the ban that one machine lifts is one more request on the other
is(SlidewinStats::forget($other, 'redis', 'far'), 204, 'the counts are gone');
is(SlidewinStats::becomes(sub { $nginx->get('/redis?k=far')->{status} }, 200),
   200, 'it is known within deny_cache');
is(listed($nginx, 'redis'), '', '... and listed no more');

ban($nginx, 'redis', 'seen');
is(SlidewinStats::forget($other, 'redis', 'seen'), 204, 'lifted elsewhere');
is(SlidewinStats::look($nginx, 'redis', 'seen')->{banned}, 0,
   '... a look tells that');
is(listed($nginx, 'redis'), '', '... and it is listed no more');

ban($nginx, 'same', 'far');
$other->get('/same?k=far');
($ban) = @{bans($other, 'same')->{bans}};
is($ban->{length}, 90, 'where all are of one length, it is known anywhere');
cmp_ok(abs($ban->{began} - time), '<', $patience, '... when it began, too');

# in time

ban($nginx, 'short', 'brief');
($ban) = @{bans($nginx, 'short')->{bans}};
is($ban->{length}, 2, 'a short ban');
my $left = $ban->{left};
ok(SlidewinNginx::until_true(sub {
    ($ban) = @{bans($nginx, 'short')->{bans}};
    return !$ban || $ban->{left} < $left;
}, $patience), '... has less left as time goes by');
is(SlidewinStats::becomes(sub { listed($nginx, 'short') || 'none' }, 'none'),
   'none', '... and is over');
is(SlidewinStats::zone($nginx, 'short')->{bans}, 0, '... and not counted');
is(SlidewinStats::look($nginx, 'short', 'brief')->{banned}, 0,
   '... as a look tells');

# the longest left first

ban($nginx, 'many', map { "k$_" } 1 .. 300);
my @many = @{bans($nginx, 'many')->{bans}};
is(scalar @many, 300, 'many are listed');
ok(!(grep { $many[$_ - 1]{left} < $many[$_]{left} } 1 .. 299),
   '... the longest left first');
my $few = page($nginx, 'zones/many/bans?max=5');
is(scalar @{$few->{bans}}, 5, 'some of them');
ok(!(grep { $_->{left} < $many[-1]{left} - $patience } @{$few->{bans}}),
   '... are the first ones');
is($few->{active}, 300, '... of as many');

# a variable rate: a ban is one for any

for my $zone (qw(var_local var_redis)) {
    is(SlidewinNginx::tally($nginx->status("/$zone?k=a&r=2r/40d", 3)),
       '200 x2, 429 x1', "$zone: a ban");

    my $look = SlidewinStats::look($nginx, $zone, 'a');
    is(join(' ', map { $look->{$_} // 'null' }
            qw(limit remaining estimate reset retry_after)),
       'null null null null null', '... what depends on the rate is not known');
    cmp_ok($look->{banned}, '>', 600 - $patience, '... the ban is');
    is(SlidewinStats::look($nginx, $zone, 'b')->{banned}, 0, '... or that there is none');
    is(SlidewinStats::look($nginx, $zone, 'a?rate=2r/40d')->{estimate}, 2,
       '... which leaves the counts as they are');
    cmp_ok(SlidewinStats::look($nginx, $zone, 'a?rate=5r/40d')->{banned}, '>',
           600 - $patience, 'a ban holds for another rate');
    is(SlidewinStats::forget($nginx, $zone, 'a'), 204, '... until it is lifted');
    is(SlidewinStats::look($nginx, $zone, 'a')->{banned}, 0, '... as a look tells');
}

# a dry run bans nobody

ban($nginx, 'dry', 'a');
is(listed($nginx, 'dry'), '', 'a dry run lists nobody');
my $dry = SlidewinStats::zone($nginx, 'dry');
is("$dry->{bans} $dry->{bans_total}", '0 0', '... and counts none');
is(SlidewinStats::look($nginx, 'dry', 'a')->{banned}, 0, '... nobody is banned');

# no names

ban($nginx, 'off', 'secret-name', 'another');
my $off = bans($nginx, 'off');
is($off->{active}, 2, 'top=off: bans are counted');
ok(!(grep { defined $_->{key} || defined $_->{path} } @{$off->{bans}}),
   '... and have no names');
is($off->{bans}[0]{length}, 600, '... but all else');
unlike(SlidewinStats::ask($nginx, 'zones/off/bans')->{body},
       qr/secret|another/, '... anywhere');
is(SlidewinStats::forget($nginx, 'off', 'secret-name'), 204,
   '... who knows a name can lift a ban');
is(bans($nginx, 'off')->{active}, 1, '... which is then gone');

# any key

my %named = (
    'NUL-free bytes' => join('', map { chr } grep { !/^(?:10|13)$/ } 1 .. 95),
    'high bytes' => join('', map { chr } 160 .. 255), 'a tag' => '</script><!--',
    'dots' => '..', 'a way up' => '../../../x', 'quotes' => '"\'\\',
    'Unicode' => "\xc3\xa4\xe2\x82\xac", 'plus' => 'a+b', 'query' => 'a?b=c&d#e',
    '96 bytes' => 'y' x 96,
);

my $api = SlidewinApi->connect($nginx);
SlidewinStats::forget($nginx, 'local', $_) for qw(a b);

for my $name (sort keys %named) {
    my $client = $nginx->client;
    is(join(' ', map { $client->get('/local', X => $named{$name})->{status} }
            1 .. 2), '200 429', "$name: a ban");
}

my $list = SlidewinStats::ask($nginx, 'zones/local/bans')->{body};
is(SlidewinApi::jq('.bans | length', $list), scalar(keys %named),
   'jq reads the list');
unlike($list, qr/[\x00-\x09\x0b-\x1f\x7f<>]/,
       '... which has no control characters and no tags');

my @paths = map { $_->{path} } @{SlidewinApi::decode($list)->{bans}};

for my $name (sort keys %named) {
    my ($path) = grep {
        my $text = s{^keys(?:/|\?key=)}{}r;
        $text =~ s/%(..)/chr hex $1/ger eq $named{$name};
    } @paths;

    ok($path, "$name: has a path") or next;
    cmp_ok(SlidewinApi::decode(
               $api->ask_here('GET', "/slidewin/zones/local/$path")->{body})
               ->{banned}, '>', 0, '... to look at');
    is($api->ask_here('DELETE', "/slidewin/zones/local/$path")->{status}, 204,
       '... and to lift');
    is($nginx->get('/local', X => $named{$name})->{status}, 200, '... which is');
}
is(listed($nginx, 'local'), '', 'no ban is left');

my @long = map { 'z' x 96 . $_ } qw(one three);
$nginx->status("/local?k=$_", 2) for @long;
my %by = map { $_->{key_length} => $_ } @{bans($nginx, 'local')->{bans}};
is(join(' ', sort keys %by), '101 99', 'longer keys tell how long they are');
is($by{99}{key}, 'z' x 96, '... their first 96 bytes');
ok(exists $by{99}{path} && !defined $by{99}{path}, '... and have no path');
SlidewinStats::forget($nginx, 'local', $long[1]);
is(join(' ', map { $_->{key_length} } @{bans($nginx, 'local')->{bans}}), '99',
   '... they are told apart');

# by a reload

ban($nginx, 'toggled', 'a');
is(listed($nginx, 'toggled'), 'null', 'a name that was not kept');
$nginx->reload(conf(names => 'top=10'));
is(listed($nginx, 'toggled'), '', '... is not known later');
ban($nginx, 'toggled', 'b');
is(listed($nginx, 'toggled'), 'b', '... those of new bans are');
is($nginx->get('/toggled?k=a')->{status}, 429, '... and that of a ban');
is(sorted($nginx, 'toggled'), 'a b', '... when its client comes again');
$nginx->reload(conf());
is(listed($nginx, 'toggled'), '', '... and are gone when they may not be kept');

ban($nginx, 'redis', 'kept');
ban($nginx, 'local', 'lost');
$nginx->reload(conf(size => '2m'));
is(listed($nginx, 'redis'), 'kept', 'a zone of another size: Redis has its bans');
is(listed($nginx, 'local'), '', '... shared memory has none');
is($nginx->get('/local?k=lost')->{status}, 200, '... that is true');

# a fallback bans here

$redis->kill;
ban($nginx, 'redis', 'down');
is(SlidewinStats::becomes(sub { (grep { $_ eq 'down' }
                                 split / /, listed($nginx, 'redis')) ? 1 : 0 },
                          1), 1, 'a ban in the fallback is listed');

$nginx->stop;
$other->stop;

done_testing();
