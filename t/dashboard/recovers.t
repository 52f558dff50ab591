# The dashboard says so when nginx stops answering, or hangs, keeps what it shows,
# and goes on by itself when nginx is back.

use strict;
use warnings;

use SlidewinBrowser;
use SlidewinNginx;
use SlidewinProcess;
use Test::More;

my $address = SlidewinProcess::own_address();
my $nginx = SlidewinNginx->start(http => <<'END', server => <<"END");
    slidewin_zone $arg_k zone=login:1m rate=5r/h algorithm=log;
END
    listen $address;
    location /slidewin/ { slidewin_api write=on; }
    location = /login { slidewin zone=login; empty_gif; }
END
my $browser = SlidewinBrowser->start;
my $lost = qr/^No answer since \d+ s, trying$/;

is(SlidewinNginx::tally($nginx->status('/login?k=a', 50)), '200 x5, 429 x45',
   'a client is rejected');

ok($browser->dashboard($address), 'the page is live');
$browser->press('login');
ok($browser->reads(qr/^a\s+45\b/m, 'tbody'), 'it shows the client');
ok($browser->reads(qr/^rejected, in all\s+45$/m, '.panel'), '... and the count');
$browser->press('Look at a');
ok($browser->reads(qr/^Remaining\s+0 of 5$/m, '.answer'), '... and what is left');

# an input that is being filled in, and the nodes as they are
$browser->order(script => <<'END');
    const input = document.querySelector('.look input');
    input.focus();
    window.kept = [document.querySelector('.zone'), document.querySelector('tbody tr'), input];
END
$browser->press_keys('half a k');


# nginx ends.

my $master = $nginx->master;

$nginx->signal('QUIT');
ok(SlidewinNginx::gone($master, 10 * SlidewinNginx::patience()), 'nginx ends');
ok($browser->reads($lost, '#verdict'), 'the page says that there is no answer');
is($browser->text('#mode'), 'no answer', '... in its head, too');
like($browser->text('#comment'),
     qr/^Nginx does not answer\. What you see below is from \d\d:\d\d:\d\d\.$/,
     '... and how old the figures are');
is($browser->text('#say') =~ s/\d+/N/r, 'No answer since N s, trying',
   '... and says it to those who do not see it');
like($browser->text('tbody'), qr/^a\s+45\b/m, 'the figures are still there');

my ($before) = $browser->text('#verdict') =~ /(\d+)/;
ok($browser->shows('Number(document.getElementById("verdict").innerText.match(/\d+/)[0])
                    > arguments[0]', $before), 'the time goes on');

ok($nginx->start_again, 'nginx is started again');
ok($browser->is_live, 'the page is live');
ok($browser->reads(qr/^Nothing is wrong$/, '#verdict'), 'nothing is wrong');
ok($browser->reads(qr/^rejected, in all\s+0$/m, '.panel'), 'the counts began anew');
ok($browser->refreshed, 'the page goes on');
unlike($browser->text('#zones'), qr/-\d|NaN|undefined|Infinity/, 'no rate is below zero');
is($browser->value('window.kept.every((node) => node.isConnected) ? 1 : 0'), 1,
   'no part of the page was made anew');
is($browser->value('document.activeElement === window.kept[2]
                    ? window.kept[2].value : "lost"'), 'half a k',
   'what was being typed is still there, with the focus');
is($browser->value('document.querySelector(".zone h3 button").ariaExpanded'), 'true',
   'the zone is open');


# nginx hangs: the refresh that is under way is given up, and none piles up.

$browser->requests;
my @workers = $nginx->workers;

ok(SlidewinNginx::halt(@workers), 'nginx hangs');
ok($browser->reads($lost, '#verdict'), 'the page says so');
cmp_ok(scalar(grep { !defined $_->{status} } $browser->requests), '<=', 8,
       'it did not ask over and over');
kill 'CONT', @workers;
ok($browser->is_live, 'it goes on when nginx does');


# Another configuration.

$nginx->reload(http => <<'END', server => <<"END");
    slidewin_zone $arg_k zone=other:1m rate=7r/h;
END
    listen $address;
    location /slidewin/ { slidewin_api; }
    location = /login { slidewin zone=other; empty_gif; }
END
ok($browser->shows('document.querySelector("[aria-label=\'Zone other\']")'),
   'a zone that is new appears');
is($browser->value('document.querySelectorAll(".zone").length'), 1, '... the old one has gone');


# What answers is not the endpoint.

$nginx->reload(server => <<"END");
    listen $address;
    location /slidewin/ { deny all; }
END
ok($browser->reads(qr/^Nginx answers 403 Forbidden, and no JSON/, '#comment'),
   'a refusal is told as what it is');

is(join("\n", $browser->console), '', 'the console has nothing of the page');

$browser->stop;
$nginx->stop;

done_testing();
