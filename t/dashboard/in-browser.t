# The dashboard in a real browser: it shows what the JSON says and follows it,
# looks at clients and resets them, and asks nothing of another origin.

use strict;
use warnings;
use utf8;

use JSON::PP ();
use SlidewinBrowser;
use SlidewinNginx;
use SlidewinProcess;
use SlidewinRedis;
use Test::More;

my $address = SlidewinProcess::own_address();
my $redis = SlidewinRedis->start;
my $nginx = SlidewinNginx->start(workers => 2, http => <<"END", server => <<"END");
    slidewin_redis @{[$redis->url]} timeout=10s;
    slidewin_zone \$arg_k zone=login:1m rate=5r/h algorithm=log store=local;
    slidewin_zone \$arg_k zone=search:2m rate=1000r/h;
    slidewin_zone \$arg_k zone=plans:1m rate=\$arg_rate store=local;
END
    listen $address;
    location /slidewin/ { slidewin_api write=on; }
    location /readers/ { slidewin_api; }
    location = /login { slidewin zone=login; empty_gif; }
    location = /search { slidewin zone=search; empty_gif; }
    location = /plans { slidewin zone=plans; empty_gif; }
END

sub json {
    my ($path) = @_;

    return JSON::PP::decode_json($nginx->get("/slidewin/$path")->{body});
}

sub statuses {
    my ($uri, $times) = @_;

    return SlidewinNginx::tally($nginx->status($uri, $times));
}

my $browser = SlidewinBrowser->start;

# rate LABEL, ZONE: as the page shows it
sub rate {
    my ($label, $zone) = @_;

    return $browser->value(<<'END', $zone, $label);
        Number(Array.from(document.querySelectorAll(
            `[aria-label="Zone ${arguments[0]}"] .figures > div`))
            .find((d) => d.querySelector('dt').innerText === arguments[1])
            .querySelector('dd span').innerText)
END
}

# sent METHOD, PATTERN: the statuses of such requests since the last call
sub sent {
    my ($method, $pattern) = @_;

    return join ' ', map { $_->{status} // 'none' }
           grep { $_->{method} eq $method && $_->{url} =~ $pattern }
           $browser->requests;
}


# Before there is traffic.

ok($browser->dashboard($address), 'the page opens and is live');

my $info = json('info');
is($browser->text('#versions'), "$info->{version} on nginx $info->{nginx}",
   'it says which versions run');
ok($browser->reads(qr/^Nothing is wrong$/, '#verdict'), 'nothing is wrong');
is($browser->text('#comment'), '3 zones, 1 store watched.', 'of what there is');
is(join('; ', $browser->texts('.zone .about')),
   '5r/h · log · shared memory; 1000r/h · counter · Redis default;'
   . ' $arg_rate · counter · shared memory',
   'a zone has its rate, its algorithm and its store');

my $policy = $nginx->get('/slidewin/')->{header}{'content-security-policy'};
like($policy, qr/^default-src 'none'; script-src 'sha256-[^' ]+'; style-src 'sha256-[^' ]+'; connect-src 'self';/,
     'its style and its script are allowed, and nothing else');


# Traffic.

is(statuses('/login?k=a', 9), '200 x5, 429 x4', 'a client is rejected');
is(statuses('/login?k=b', 7), '200 x5, 429 x2', 'and another');

$browser->press('login');
ok($browser->reads(qr/^b\b.*2/ms, '[aria-label="Zone login"] tbody'),
   'both are in the table');
is(join('|', map { s/\s+/ /gr } $browser->texts('[aria-label="Zone login"] tbody tr'))
       =~ s/\d+ s ago/then/gr,
   'a 4 then then LookReset|b 2 then then LookReset',
   'the one with most rejections first, with when they came');

my $zone = json('zones/login');
ok($browser->reads(qr/^rejected, in all\s+$zone->{outcomes}{rejected}$/m,
                   '[aria-label="Zone login"] .panel'),
   'as many were rejected as the JSON says');
like($browser->text('[aria-label="Zone login"] .panel'),
     qr/^passed, in all\s+$zone->{outcomes}{passed}$/m, '... and passed');
like($browser->text('[aria-label="Zone login"] .panel'), qr/^limit\s+5 in 1 h$/m,
     '... of this limit');
ok($browser->reads(qr/^2 entries$/m, '[aria-label="Zone login"] .figures'),
   '... in a zone with two clients');

my $traffic = SlidewinProcess->start(sub {
    my $client = $nginx->client;
    while (1) {
        $client->get('/search?k=' . int rand 100) for 1 .. 10;
        $client->get('/login?k=a');
        SlidewinNginx::nap(0.05);
    }
});

ok($browser->shows(<<'END'), 'a line is drawn of the requests that come');
    document.querySelector('[aria-label="Zone search"] .spark path:last-child')
        .getAttribute('d').length > 20
END
cmp_ok(rate('Passed', 'search'), '>', 0, 'their rate is shown');
cmp_ok(rate('Rejected', 'login'), '>', 0, 'that of rejections, too');
ok($browser->reads(qr/^Calls\s+[\d.K]*[1-9]/m, '.store'), 'Redis is asked');

my $store = json('stores')->{default};
my $text = $browser->text('.store');
like($text, qr/\Q$store->{address}\E\s+connected\s+breaker closed/, 'where it is, and how');
like($text, qr/^p50 [\d.]+ m?s, p99 [\d.]+ m?s timeout 10 s$/m, '... and how fast');
like($text, qr/^Connections\s+2 of 2$/m, '... from both workers');
like($text, qr/^Errors, in all\s+none$/m, '... without an error');

$traffic->stop;


# A look, and a reset.

$browser->requests;
$browser->press('Look at a');
ok($browser->reads(qr/would be rejected/, '.answer'), 'a look tells what is');
like($browser->text('.answer'), qr/^Remaining\s+0 of 5$/m, '... that nothing remains');
like($browser->text('.answer'), qr/^Retry after\s+in (?:[\d.]+ h|\d+ min)$/m, '... for how long');

$browser->press('Reset a');
ok($browser->shows('document.getElementById("ask").open'), 'a reset is asked about');
like($browser->text('#ask'), qr/^a may come again .* of zone login\.$/m, '... by the name');
$browser->press('Cancel');
ok($browser->shows('!document.getElementById("ask").open'), 'one can think again');
is(sent('DELETE', qr/./), '', '... then nothing is sent');
is(statuses('/login?k=a', 1), '429 x1', '... and the client is still rejected');

$browser->press('Reset a');
$browser->press('Reset');
ok($browser->reads(qr/^Reset\. A request at \S+ would pass\.$/m, '.answer'),
   'or not: the client is reset');
is(sent('DELETE', qr{^http://\Q$address\E/slidewin/zones/login/keys\?key=a$}), '204',
   '... by one request');
is(statuses('/login?k=a', 6), '200 x5, 429 x1', '... and has its limit again');
is(statuses('/login?k=b', 1), '429 x1', 'another client has not');

$browser->press('Close the look at a');
ok($browser->shows('!document.querySelector(".answer")'), 'the answer is closed');
is($browser->value('document.activeElement.getAttribute("aria-label")'), 'Look at a',
   '... and the focus is where it came from');


# Any key.

sub look_up {
    my ($key, $rate) = @_;

    $browser->value('(() => { const form = document.querySelector(
        ".panel:not([hidden]) form"); form.elements[0].value = arguments[0];
        form.elements[1].value = arguments[1] ?? ""; form.requestSubmit(); })
        .apply(null, arguments)', $key, $rate);

    return;
}

look_up('stranger');
ok($browser->reads(qr/^Remaining\s+5 of 5$/m, '.answer'), 'a key that never came');
look_up('b');
ok($browser->reads(qr/^Remaining\s+0 of 5$/m, '.answer'), '... and one that did');
$browser->press('login');

is(statuses('/plans?k=a&rate=3r/h', 2), '200 x2', 'a rate from a variable');
$browser->press('plans');
ok($browser->shows('document.querySelector(".panel:not([hidden]) .rate")'),
   '... has a box for it');
look_up('a');
ok($browser->reads(qr/Fill in the rate of this client/, '.panel:not([hidden]) .answer'),
   '... which is wanted');
look_up('a', '3r/h');
ok($browser->reads(qr/^Remaining\s+1 of 3$/m, '.panel:not([hidden]) .answer'),
   '... to look at a client');
look_up('a', 'much');
ok($browser->reads(qr/rate must be <count>/, '.panel:not([hidden]) .answer'),
   '... and refused if it is none');
$browser->press('plans');


# A store that does not answer.

$browser->press('search');
look_up('1');
ok($browser->reads(qr/would pass/, '.panel:not([hidden]) .answer'), 'a key in Redis');
$redis->kill;
$browser->press('Look again at 1');
ok($browser->reads(qr/cannot be looked at now: the store does not answer/,
                   '.panel:not([hidden]) .answer'), '... which is down');
ok($redis->run, '... and is started again');
$browser->press('Look again at 1');
ok($browser->reads(qr/would pass|cannot be/, '.panel:not([hidden]) .answer'),
   '... the page goes on');


# Pauses.

$browser->press('Pause');
ok($browser->reads(qr/^paused$/, '#mode'), 'the page is paused by hand');
ok($browser->shows('page.slept'), '... after the refresh that was under way');
my $asked = $browser->value('page.asked');
$browser->press('Go on');
ok($browser->is_live, '... and goes on');
ok($browser->shows('page.asked > arguments[0] + 1', $asked), '... with new figures');

$browser->order('leave');
ok($browser->shows('document.hidden'), 'in the background');
ok($browser->reads(qr/^paused$/, '#mode'), '... it is paused');
$browser->order('come_back');
ok($browser->shows('!document.hidden'), 'in the foreground');
ok($browser->is_live, '... it is live');


# From where all this came.

my @elsewhere = grep { index($_->{url}, "http://$address/slidewin/") != 0 }
                $browser->requests;

is(join("\n", map { $_->{url} } @elsewhere), '', 'no request left the prefix');
is(join("\n", $browser->console), '', 'the console is empty: the policy was not violated');


# Without write=on.

ok($browser->dashboard($address, '/readers/'), 'the page of those who only read');
$browser->press('login');
ok($browser->reads(qr/^b\b/m, 'tbody'), '... shows clients');
$browser->press('Look at b');
ok($browser->reads(qr/would be rejected/, '.answer'), '... looks at them');
is(join('|', grep { /reset|lift/i } $browser->texts('main button')), '',
   '... and has no button to reset them');
is(join("\n", $browser->console), '', 'the console is empty');

$browser->stop;
$nginx->stop;
$redis->stop;

done_testing();
