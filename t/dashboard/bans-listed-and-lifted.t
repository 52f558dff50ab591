# The dashboard lists bans of a zone with the time that is left, which runs down,
# and lifts them. Whatever a key is, it is shown as text. What cannot be read or
# done is said, for as long as that is so.

use strict;
use warnings;
use utf8;

use Encode ();
use JSON::PP ();
use SlidewinBrowser;
use SlidewinNginx;
use SlidewinProcess;
use SlidewinRedis;
use Test::More;

my $address = SlidewinProcess::own_address();
my $redis = SlidewinRedis->start;

# conf: of the machine of the page; with EXTRA, of locations
sub conf {
    my ($extra) = @_;

    return (workers => 2, http => <<"END" . <<'END', server => <<"END");
    slidewin_redis @{[$redis->url]} timeout=10s;
    slidewin_zone \$key zone=login:1m rate=1r/h ban=1h..1d store=local;
    slidewin_zone \$key zone=shared:1m rate=1r/h ban=90s;
    slidewin_zone \$key zone=far:1m rate=1r/h ban=1h..1d;
    slidewin_zone \$key zone=brief:1m rate=1r/s ban=8s store=local;
    slidewin_zone \$key zone=nameless:1m rate=1r/h ban=1h store=local top=off;
    slidewin_zone \$key zone=many:1m rate=1r/h ban=1h store=local;
    slidewin_zone \$key zone=plain:1m rate=1r/h store=local;
    slidewin_zone \$key zone=charged:1m rate=100r/h store=local;
END
    map $http_x $key { default $arg_k; "~." $http_x; }
END
    $extra
    location /slidewin/ { slidewin_api write=on; }
    location /readers/ { slidewin_api; }
    location = /login { slidewin zone=login; empty_gif; }
    location = /shared { slidewin zone=shared; empty_gif; }
    location = /far { slidewin zone=far; empty_gif; }
    location = /brief { slidewin zone=brief; empty_gif; }
    location = /nameless { slidewin zone=nameless; empty_gif; }
    location = /many { slidewin zone=many; empty_gif; }
    location = /plain { slidewin zone=plain; empty_gif; }
    location = /charged { slidewin zone=charged charge=\$arg_cost; empty_gif; }
END
}

my $nginx = SlidewinNginx->start(conf("listen $address;"));
my $other = SlidewinNginx->start(conf(''));

sub statuses {
    my ($uri, $times) = @_;

    return SlidewinNginx::tally($nginx->status($uri, $times));
}

my $browser = SlidewinBrowser->start;

sub zone { return qq([aria-label="Zone $_[0]"]) }

# the box with the list of bans
sub box { return zone($_[0]) . ' .panel > div:nth-child(2)' }

sub rows {
    return join '|', map { s/\s+/ /gr } $browser->texts(box(@_) . ' tbody tr');
}

sub left {
    return $browser->value(<<'END', box($_[0]));
        (() => { const text = document.querySelector(`${arguments[0]} [data-label="Time left"]`)
            .innerText, of = { s: 1, min: 60, h: 3600 };
            return [...text.matchAll(/(\d+) (s|min|h)/g)]
                .reduce((sum, [, n, unit]) => sum + n * of[unit], 0); }).apply(null, arguments)
END
}

ok($browser->dashboard($address), 'the page is live');


# One that begins.

$browser->press('login');
ok($browser->reads(qr/^No client is banned, as far as this machine has heard\.$/m, box('login')),
   'nobody is banned');
like($browser->text(zone('login') . ' .panel'), qr/^ban\s+60 min, up to 24 h$|^ban\s+1 h, up to 24 h$/m,
     'the zone says how long a ban is');

is(statuses('/login?k=a', 3), '200 x1, 429 x2', 'a client is banned');
ok($browser->reads(qr/^2 entries$/m, zone('login') . ' .figures'),
   '... the zone has it, and its ban');
ok($browser->reads(qr/^a$/m, box('login') . ' tbody'), '... and listed');
like(rows('login'), qr/^a (?:59 min \d+ s|1 h 0 min) 1 h \d+ s ago Lift$/,
     '... with what is left, of what, since when');
ok($browser->reads(qr/ · 1 banned now$/, zone('login') . ' .about'), 'the zone counts it');
is($browser->text(box('login') . ' caption'), 'Those that this machine has heard of.',
   '... as far as is known');
is(join("\n", $browser->barriers), '', 'it is there for everyone');

my $left = left('login');
ok($browser->shows(<<'END', box('login')), 'it is counted in seconds');
    / s$/.test(document.querySelector(`${arguments[0]} [data-label="Time left"]`).innerText)
END
ok(SlidewinNginx::until_true(sub { left('login') < $left - 1 }, 30 * SlidewinNginx::patience()),
   '... and runs down');

$browser->press('Pause');
ok($browser->shows('page.slept'), 'the page is paused');
$left = left('login');
ok(SlidewinNginx::until_true(sub { left('login') < $left - 1 }, 30 * SlidewinNginx::patience()),
   '... the time runs on');
$browser->press('Go on');
ok($browser->is_live, 'the page goes on');


# Lift.

is(statuses('/login?k=b', 2), '200 x1, 429 x1', 'another is banned');
ok($browser->reads(qr/^b$/m, box('login') . ' tbody'), '... and listed');
$browser->press('Lift the ban of a');
ok($browser->shows('document.getElementById("ask").open'), 'a lift is asked about');
like($browser->text('#ask'), qr/^Lift the ban of this client\?\s+a may come again .* of zone login\./,
     '... by the name');
$browser->press('Cancel');
ok($browser->shows('!document.getElementById("ask").open'), 'one can think again');
is(statuses('/login?k=a', 1), '429 x1', '... then it is still banned');

$browser->press('Lift the ban of a');
$browser->press('Lift ban');
ok($browser->shows(<<'END', box('login')), 'or not: the ban is listed no more');
    document.querySelectorAll(`${arguments[0]} tbody tr`).length === 1
END
is($browser->text('#say'), 'The ban of a is lifted.', '... which is said');
ok($browser->shows('document.activeElement.getAttribute("aria-label") === "Lift the ban of b"'),
   '... the focus is on the next one');
is(statuses('/login?k=a', 1), '200 x1', '... the client may come');
is(statuses('/login?k=b', 1), '429 x1', '... another may not');

$browser->press('Lift the ban of b');
$browser->press('Lift ban');
ok($browser->reads(qr/^No client is banned/m, box('login')), 'the last one');
ok($browser->shows('document.activeElement.innerText === "login"'), '... leaves the focus on the zone');


# From a look.

is(statuses('/login?k=c', 2), '200 x1, 429 x1', 'a client is banned');
$browser->press('Look at c');
ok($browser->reads(qr/^Banned\s+for (?:1 h|60 min)$/m, '.answer'), 'a look tells of the ban');
like($browser->text('.answer'), qr/would be rejected/, '... that it would be rejected');
$browser->press('Lift ban of c');
$browser->press('Lift ban');
ok($browser->reads(qr/^The ban is lifted\. A request at \S+ would pass\.$/m, '.answer'),
   'it is lifted there');
ok($browser->reads(qr/^No client is banned/m, box('login')), '... and listed no more');
$browser->press('Close the look at c');
$browser->press('login');


# In Redis, and an end.

is(statuses('/shared?k=a', 2), '200 x1, 429 x1', 'a ban in Redis');
$browser->press('shared');
ok($browser->reads(qr/^a$/m, box('shared') . ' tbody'), '... is listed');
$redis->kill;
$browser->press('Lift the ban of a');
$browser->press('Lift ban');
ok($browser->reads(qr/This was not done: the store does not answer/, box('shared')),
   '... which is down: the row says so');
ok($redis->run, '... is started again');
ok($browser->reads(qr/\A(?!.*This was not done)/s, box('shared')), '... and forgets it after a while');
$browser->press('shared');

is($other->status('/far?k=a', 2), 2, 'a ban that began elsewhere');
is(statuses('/far?k=a', 1), '429 x1', '... is heard of');
$browser->press('far');
ok($browser->reads(qr/^a$/m, box('far') . ' tbody'), '... and listed');
like(rows('far'), qr/^a .* not known here – Lift$/, '... without its length');
is($browser->value(<<'END', box('far')), 'none', '... of which no part is drawn');
    getComputedStyle(document.querySelector(`${arguments[0]} .meter`)).display
END
isnt($browser->value(<<'END', box('shared')), 'none', '... as it is where a length is known');
    getComputedStyle(document.querySelector(`${arguments[0]} .meter`)).display
END
$browser->press('far');

$browser->press('brief');
is(statuses('/brief?k=a', 2), '200 x1, 429 x1', 'a brief ban');
ok($browser->reads(qr/^a$/m, box('brief') . ' tbody'), '... is listed');
ok($browser->reads(qr/^No client is banned/m, box('brief')), '... until it is over');
$browser->press('brief');


# Without names, without bans, and with more than are shown.

is(statuses('/nameless?k=a', 2), '200 x1, 429 x1', 'a client without a name');
is(statuses('/nameless?k=b', 2), '200 x1, 429 x1', '... and another');
$browser->press('nameless');
ok($browser->shows(<<'END', box('nameless')), '... are listed');
    document.querySelectorAll(`${arguments[0]} tbody tr`).length === 2
END
like(rows('nameless'), qr/^not kept The names of clients are not kept, by top=off\. Look up its key below to lift it\. (?:59 min \d+ s|1 h 0 min) 1 h/,
     '... as such');
is(join('|', $browser->texts(box('nameless') . ' tbody button')), '', '... and cannot be lifted');
$browser->press('nameless');

$browser->press('plain');
ok($browser->shows('document.querySelector(arguments[0]).hidden', box('plain')),
   'a zone without ban= has no list');
unlike($browser->text(zone('plain') . ' .panel'), qr/charges/, '... and no charges');
$browser->press('plain');

is(statuses('/charged?k=a&cost=5', 3), '200 x3', 'requests that are charged');
is(statuses('/charged?k=a', 1), '200 x1', '... and one that says nothing');
$browser->press('charged');
ok($browser->reads(qr{^charges settled / estimated, in all\s+3 / 1$}m,
                   zone('charged') . ' .panel'), '... are told apart');
$browser->press('charged');

$nginx->status("/many?k=client$_", 2) for 1 .. 60;
$browser->press('many');
ok($browser->shows(<<'END', box('many')), 'of many bans 50 are listed');
    document.querySelectorAll(`${arguments[0]} tbody tr`).length === 50
END
is($browser->text(box('many') . ' caption'), 'Those with the most time left, of 60.',
   '... and how many there are');
$browser->press('many');


# Any key.

my @keys = (
    ['<script>window.hacked = 1</script>'], ['"><svg onload=window.hacked=1>'],
    ['${window.hacked=1}'], ['..'], ['a//b'], ['%00'], ['__proto__'],
    [Encode::encode('UTF-8', "evil\x{202e}gnp.exe"), 'evil\u202egnp.exe'],
    ["\xff\xfe", '\xff\xfe'],
);

$browser->press('login');

for (@keys) {
    my ($key, $shown) = @$_;
    $shown //= $key;
    my $client = $nginx->client;

    is(join(' ', map { $client->get('/login', X => $key)->{status} } 1, 2), '200 429',
       "$shown is banned");
    ok($browser->shows(<<'END', box('login'), $shown), '... and shown as text');
        [...document.querySelectorAll(`${arguments[0]} tbody .key`)]
            .some((e) => e.innerText === arguments[1])
END
    $browser->press("Lift the ban of $shown");
    $browser->press('Lift ban');
    ok($browser->reads(qr/^No client is banned/m, box('login')), '... and lifted');
    is($client->get('/login', X => $key)->{status}, 200, '... indeed');
}

my $client = $nginx->client;
$client->get('/login', X => 'long' x 30) for 1, 2;
ok($browser->reads(qr/the first 96 characters, of 120 bytes/, box('login')), 'a long key is cut');
like($browser->text(box('login')),
     qr/only the first are known here\. Look up its key below to lift it\./, '... and says so');

ok($browser->shows('window.hacked === undefined'), 'no key was run');
is(join("\n", $browser->console), '', 'the console is empty: the policy was not violated');


# Without write=on.

is(statuses('/login?k=a', 2), '429 x2', 'a client is banned');
ok($browser->dashboard($address, '/readers/'), 'the page of those who only read');
$browser->press('login');
ok($browser->reads(qr/^a$/m, box('login') . ' tbody'), '... shows bans');
is(join('|', grep { /lift/i } $browser->texts('main button')), '', '... and lifts none');
unlike($browser->text(box('login')), qr/to lift it/, '... nor tells how to');


# A list that cannot be read.

sub caption { return zone('login') . " .panel > div:nth-child($_[0]) caption" }

ok($browser->reads(qr/^Of the last 5 to 10 minutes/, caption(1)), 'a list of rejections');
$nginx->reload(conf(<<"END"));
    listen $address;
    location = /readers/zones/login/bans { return 500; }
    location = /readers/zones/login/top { return 500; }
END
for my $n (1, 2) {
    ok($browser->reads(qr/^This list is not up to date: nginx answers 500/, caption($n)),
       'rows that are old: list ' . $n);
}
like(rows('login'), qr/^a /, '... are shown');
$nginx->reload(conf("listen $address;"));
ok($browser->reads(qr/^Of the last 5 to 10 minutes/, caption(1)), '... until they are new');
ok($browser->reads(qr/^Those that this machine has heard of/, caption(2)), '... both');

$browser->stop;
$nginx->stop;
$other->stop;
$redis->stop;

done_testing();
