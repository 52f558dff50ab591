# The dashboard is for people who use no mouse, who do not see it, or not well: by
# keyboard, by screen reader, in light and in dark, without motion, on a phone.

use strict;
use warnings;

use SlidewinBrowser;
use SlidewinNginx;
use SlidewinProcess;
use SlidewinRedis;
use Test::More;

my $address = SlidewinProcess::own_address();
my $redis = SlidewinRedis->start;
my $nginx = SlidewinNginx->start(http => <<"END", server => <<"END");
    slidewin_redis @{[$redis->url]};
    slidewin_zone \$arg_k zone=login:1m rate=5r/h algorithm=log store=local;
    slidewin_zone \$arg_k zone=trial:1m rate=1r/h store=local;
    slidewin_zone \$arg_k zone=plans:1m rate=\$arg_rate;
    slidewin_zone \$arg_k zone=a:1m rate=1r/h;
    slidewin_zone \$arg_k zone=b:1m rate=1r/h on_error=open;
    slidewin_zone \$arg_k zone=c:1m rate=1r/h on_error=closed;
END
    listen $address;
    location /slidewin/ { slidewin_api write=on; }
    location = /login { slidewin zone=login; empty_gif; }
    location = /trial { slidewin zone=trial dry_run; empty_gif; }
    location = /a { slidewin zone=a; empty_gif; }
    location = /b { slidewin zone=b; empty_gif; }
    location = /c { slidewin zone=c; empty_gif; }
END

sub statuses {
    my ($uri, $times) = @_;

    return SlidewinNginx::tally($nginx->status($uri, $times));
}

my $browser = SlidewinBrowser->start;

sub focus {
    return $browser->value('document.activeElement.getAttribute("aria-label")
                            || document.activeElement.innerText || document.activeElement.tagName');
}

# tab_to NAME: whether it is reached by no more than so many keys
sub tab_to {
    my ($name, $most) = @_;

    for (1 .. $most) {
        $browser->press_keys('TAB');
        return 1 if focus() eq $name;
    }

    return 0;
}

is(statuses('/login?k=a', 9), '200 x5, 429 x4', 'a client is rejected');
is(statuses('/login?k=' . 'long' x 70, 6), '200 x5, 429 x1', '... and one with a long key');
ok($browser->dashboard($address), 'the page is live');


# By keyboard.

ok(tab_to('login', 12), 'a zone is reached by keys');
$browser->press_keys('ENTER');
ok($browser->shows('document.activeElement.ariaExpanded === "true"'), '... and opened');
ok($browser->reads(qr/^a\b/m, 'tbody'), '... it has a client');
ok(tab_to('Look at a', 3), '... which is reached');
$browser->press_keys('ENTER');
ok($browser->reads(qr/would be rejected/, '.answer'), '... and looked at');
is(focus(), 'Look at a', '... the focus stays');
like($browser->text('#say'), qr/^a: A request at \S+ would be rejected\.$/,
     '... and the answer is said');

ok(tab_to('Reset a', 2), 'so is the button to reset it');
$browser->press_keys('ENTER');
ok($browser->shows('document.getElementById("ask").matches(":modal")'), '... which asks');
is(focus(), 'Cancel', '... and offers not to');
is(join("\n", $browser->barriers), '', '... without barriers');
$browser->press_keys('ESCAPE');
ok($browser->shows('!document.getElementById("ask").open'), 'Escape is no');
is(focus(), 'Reset a', '... and leads back');
is(statuses('/login?k=a', 1), '429 x1', '... nothing was reset');

$browser->press_keys('ENTER');
ok($browser->shows('document.getElementById("ask").open'), 'once more');
ok(tab_to('Reset', 2), '... to the other button');
$browser->press_keys('ENTER');
ok($browser->reads(qr/^Reset\. /m, '.answer'), '... the client is reset');
is(focus(), 'Reset a', '... and the focus is back');
is(statuses('/login?k=a', 1), '200 x1', '... it passes again');

$browser->order(script => 'document.querySelector(".panel:not([hidden]) input").focus()');
$browser->press_keys('a', 'ENTER');
ok($browser->reads(qr/^Remaining\s+4 of 5$/m, 'form + div .answer'), 'a key is typed');


# By screen reader.

for my $role (qw(button textbox searchbox combobox link image heading table article)) {
    my @names = $browser->names($role);

    cmp_ok(scalar @names, '>', 0, "there is a $role");
    is(scalar(grep { !length } @names), 0, '... and each has a name');
}

is(join('; ', $browser->names('columnheader')), 'Client; Rejected; First seen; Last seen; Actions',
   'the table has headers');
my $rows = $browser->names('row');
my $cells = $browser->names('cell');

$browser->order(size => 360, 740);
ok($browser->shows('innerWidth === 360'), 'on a phone');
is(scalar($browser->names('row')), $rows, '... the rows are still rows');
is(scalar($browser->names('cell')), $cells, '... the cells are cells');
is(join('; ', $browser->names('columnheader')), 'Client; Rejected; First seen; Last seen; Actions',
   '... and the headers are there');
is(join("\n", $browser->barriers), '', '... without barriers');
$browser->order(size => 1280, 900);


# With all colours there are: problems of each kind.

$redis->kill;
ok($browser->reads(qr/not connected/, '#problems'), 'Redis is down');
statuses("/$_?k=a", 3) for qw(a b c trial);
$browser->press('plans');
ok($browser->shows('["bad", "warn", "note"].every((level) =>
                    document.querySelector(`#problems .${level}`))'),
   'there are problems, warnings and notes');

my %page;

for my $scheme ('light', 'dark') {
    $browser->order(prefer => 'prefers-color-scheme', $scheme);
    ok($browser->shows('matchMedia(`(prefers-color-scheme: ${arguments[0]})`).matches', $scheme),
       "in $scheme");
    is(join("\n", $browser->barriers), '', '... without barriers');
    $page{$scheme} = $browser->value(
        'getComputedStyle(document.body).backgroundColor.match(/\d+/g).reduce((a, b) => a + +b, 0)');
}

cmp_ok($page{light}, '>', 600, 'light is light');
cmp_ok($page{dark}, '<', 150, 'dark is dark');

is($browser->value('getComputedStyle(document.querySelector(".zone h3 svg")).transitionDuration'),
   '0.15s', 'an arrow turns');
$browser->order(prefer => 'prefers-reduced-motion', 'reduce');
is($browser->value('getComputedStyle(document.querySelector(".zone h3 svg")).transitionDuration'),
   '0s', '... at once for those who want no motion');

$browser->style('html { font-size: 32px; }');
is($browser->value('getComputedStyle(document.body).fontSize'), '30px',
   'letters grow with those of the browser');


# The search for barriers finds them.

$browser->style('.faint { color: #888; background: #999; } .bare:focus { outline: none; }');
$browser->order(script => <<'END');
    const add = (tag, name, text, ...more) => {
      const node = document.createElement(tag);
      node.className = name;
      node.append(text);
      more.forEach(([attribute, value]) => node.setAttribute(attribute, value));
      document.querySelector('main').append(node);
    };
    add('button', '', '');
    add('p', 'faint', 'hardly seen');
    add('h5', '', 'too deep');
    add('button', 'bare', 'press', ['aria-label', 'another name']);
    add('div', '', '', ['id', 'zones']);
END

my $barriers = join "\n", $browser->barriers;

like($barriers, $_) for qr/^no name: <button class="">/m, qr/^text has a contrast of 1\.\d\d/m,
    qr/^a level of headings is left out: <h5/m, qr/^the focus is not seen: <button class="bare"/m,
    qr/^the name does not have what is seen/m, qr/^two of #zones/m;

is(join("\n", $browser->console), '', 'the console is empty');

$browser->stop;
$nginx->stop;
$redis->stop;

done_testing();
