# A client may choose its key. Whatever it is, the dashboard shows it as text
# that tells what it is, looks at it and resets it, and never runs it.

use strict;
use warnings;
use utf8;

use Encode ();
use MIME::Base64 ();
use SlidewinBrowser;
use SlidewinNginx;
use SlidewinProcess;
use Test::More;

my $address = SlidewinProcess::own_address();
my $nginx = SlidewinNginx->start(http => <<'END', server => <<"END");
    large_client_header_buffers 4 64k;
    slidewin_zone $remote_user zone=users:4m rate=1r/h algorithm=log;
END
    listen $address;
    location /slidewin/ { slidewin_api write=on; }
    location = / { slidewin zone=users; empty_gif; }
END

# The name of a user reaches nginx in base64: it may hold any byte but a colon.
sub statuses {
    my ($key, $times) = @_;
    my $client = $nginx->client;
    my $field = 'Basic ' . MIME::Base64::encode("$key:", '');

    return SlidewinNginx::tally(map {
        $client->get('/', Authorization => $field)->{status}
    } 1 .. $times);
}

sub utf8_bytes { return Encode::encode('UTF-8', $_[0]) }

# a key, and how it is shown
my @keys = (
    ['<script>window.hacked = 1</script>'],
    ['<img src=x onerror="window.hacked=1">'],
    ['"><svg onload=window.hacked=1>'],
    [q{' onmouseover='window.hacked=1}],
    ['javascript%3Awindow.hacked=1'],
    ['${window.hacked=1}{{window.hacked=1}}'],
    ['&lt;b&gt;&amp;&#x202e;'],
    [utf8_bytes("evil\x{202e}gnp.exe"), 'evil\u202egnp.exe'],
    [utf8_bytes("\x{2066}\x{2067}\x{200f}x\x{feff}\x{200b}"),
     '\u2066\u2067\u200fx\ufeff\u200b'],
    [utf8_bytes("\x{2028}\x{85}\x{a0}\x{e0041}"), '\u2028\u0085\u00a0\u{e0041}'],
    ["a\0b\a\e[31m\x7f", 'a\u0000b\u0007\u001b[31m\u007f'],
    ["a\r\nb\tc", 'a\u000d\u000ab\u0009c'],
    ["\xff\xfe\x80", '\xff\xfe\x80'],
    [utf8_bytes('é 😀 أبجد'), 'é 😀 أبجد'],
    ['.'], ['..'], ['../../info'], ['/'], ['a//b'], ['%'], ['%00'], ['a+b c&d=e?f#g;h'],
    ['__proto__'], ['constructor'], ['null'], ['\\'], ['\u202e'],
    ['long' x 64, ('long' x 16) . '…'],
);

# all are in the list, and stay there
is(statuses($_->[0], 3), '200 x1, 429 x2', 'a client') for @keys;
is(statuses('k' x 8192, 4), '200 x1, 429 x3', 'a client with a key of 8 KB');

my $browser = SlidewinBrowser->start;

ok($browser->dashboard($address), 'the page opens');
$browser->press('users');
ok($browser->shows('document.querySelectorAll("tbody tr").length === arguments[0]', @keys + 1),
   'all of them are in the table');

my %shown = map { $_ => 1 } $browser->texts('tbody td:first-child');

for my $key (@keys) {
    my $text = $key->[1] // $key->[0];
    ok($shown{$text} || (grep { index($_, "$text\n") == 0 } keys %shown),
       'shown: ' . Encode::encode('UTF-8', $text));
}

like((grep { /^k{64}…/ } keys %shown)[0],
     qr/the first 256 characters, of 8,192 bytes\s+It is longer than 256 bytes/,
     'the longest says why it cannot be looked up');
is($browser->value('document.querySelector("tbody details .key").textContent.length'), 256,
   'what is known of a long one is there to be unfolded');
is($browser->value('/[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/u.test(document.querySelector("tbody")
                   .textContent)') ? 1 : 0, 0, 'no character is there that is not seen');
is($browser->value('/[\p{Cc}\p{Cf}]/u.test(Array.from(
                   document.querySelectorAll("[aria-label], [title]"), (e) =>
                   `${e.getAttribute("aria-label")}${e.title}`).join(""))') ? 1 : 0, 0,
   '... nor in the name of a button');

# Looks. Each row is found by the text of its key.

my $row = q{Array.from(document.querySelectorAll('tbody tr')).find((tr) =>
            tr.querySelector('.key')?.textContent === arguments[0])};

for my $key (@keys) {
    my $text = $key->[1] // $key->[0];
    my $name = Encode::encode('UTF-8', $text);

    $browser->order(script => "$row.querySelector('.acts button').click()", $text);
    ok($browser->shows("$row.nextElementSibling?.innerText.includes('0 of 1')", $text),
       "looked at: $name")
        or diag($browser->value("$row.nextElementSibling?.innerText", $text));
}

# Resets, of every key that is special to a URL or a program.

for my $key (@keys[0, 7, 10, 12 .. 21, 22]) {
    my $text = $key->[1] // $key->[0];
    my $name = Encode::encode('UTF-8', $text);

    $browser->order(script => "$row.querySelector('.acts button:last-child').click()", $text);
    $browser->shows('document.getElementById("ask").open') or BAIL_OUT('no dialog');
    is($browser->value('document.querySelector("#ask-text .key").textContent'), $text,
       "to be reset: $name");
    $browser->press('Reset');
    ok($browser->shows("$row.nextElementSibling?.innerText.includes('1 of 1')", $text),
       '... done');
    is(statuses($key->[0], 1), '200 x1', '... it passes again');
}

# Keys that are typed.

for my $key ($keys[0], $keys[13], $keys[21]) {
    my $text = $key->[1] // $key->[0];

    $browser->order(script => 'const form = document.querySelector(".panel form");
        form.elements[0].value = arguments[0]; form.requestSubmit()', $text);
    ok($browser->shows('document.querySelector("form + div").innerText.includes("0 of 1")'),
       'looked up: ' . Encode::encode('UTF-8', $text));
}

is($browser->value('window.hacked ?? 0'), 0, 'nothing has run');
is($browser->value('document.querySelectorAll("script").length'), 1, 'there is one script');
is($browser->value('document.querySelectorAll("img, iframe, object, [style], [onerror]," +
                   "[onload], [onmouseover]").length'), 0, '... and nothing that came from a key');
is($browser->value('document.documentElement.scrollWidth <= innerWidth ? 1 : 0'), 1,
   'the page is not wider than its window');
is(join("\n", $browser->console), '', 'the console is empty');

$browser->stop;
$nginx->stop;

done_testing();
