# A hundred zones on a large screen and on a phone: they are found, sorted by
# rejections, updated in place, and the page never scrolls sideways.

use strict;
use warnings;

use SlidewinBrowser;
use SlidewinNginx;
use SlidewinProcess;
use Test::More;

my $address = SlidewinProcess::own_address();
my (@zones, @locations);

for my $i (1 .. 100) {
    my $name = sprintf 'zone-%03d', $i;
    # as long as a name may be, wider than a phone
    $name .= '-' . 'long' x 13 if $i == 50;
    push @zones, "slidewin_zone \$arg_k zone=$name:64k rate=1r/h algorithm=log;";
    push @locations, "location = /$i { slidewin zone=$name; empty_gif; }";
}

my $nginx = SlidewinNginx->start(
    http => join("\n", @zones), server => join("\n", @locations, <<"END"));
    listen $address;
    location /slidewin/ { slidewin_api write=on; }
END

# reject ZONE, TIMES
sub reject {
    my ($i, $times) = @_;

    return SlidewinNginx::tally($nginx->status("/$i?k=a", $times + 1));
}

is(reject(7, 3), '200 x1, 429 x3', 'a zone that rejects');
is(reject(50, 9), '200 x1, 429 x9', '... one that rejects more');
is(reject(93, 1), '200 x1, 429 x1', '... and one that rejects less');

my $browser = SlidewinBrowser->start;

sub order_of_zones {
    return join ' ', map { /^(zone-\d+)/ ? $1 : () } $browser->texts('.zone h3');
}

ok($browser->dashboard($address), 'the page is live');
is($browser->text('#zones-title'), '100 zones', 'there are a hundred zones');
like(order_of_zones(), qr/^zone-050 zone-007 zone-093 zone-001 zone-002 /,
     'those with most rejections are first, then they go by name');


# Sorting, filtering.

$browser->order(script => <<'END');
    const sort = document.getElementById('sort');
    sort.value = 'name';
    sort.dispatchEvent(new Event('change'));
END
like(order_of_zones(), qr/^zone-001 zone-002 zone-003 /, 'they are sorted by name');
$browser->order(script => 'document.getElementById("filter").focus()');
$browser->press_keys('Zone-09');
ok($browser->reads(qr/^10 of 100 shown$/, '#shown'), 'a part of a name filters');
is(order_of_zones(), join(' ', map { "zone-0$_" } 90 .. 99), '... by name');
$browser->press_keys('x');
ok($browser->reads(qr/^0 of 100 shown$/, '#shown'), 'a filter may find none');
$browser->press_keys(('BACKSPACE') x 8);
ok($browser->shows('document.querySelectorAll(".zone:not([hidden])").length === 100'),
   'an empty filter shows all');


# Only zones that are open ask for their clients.

$browser->requests;
ok($browser->refreshed, 'the page goes on');
is(scalar(grep { $_->{url} =~ /top$/ } $browser->requests), 0, 'no zone is open');

$browser->press('zone-007');
ok($browser->reads(qr/^a\s+3\b/m, '[aria-label="Zone zone-007"] tbody'), 'one is opened');
$browser->order(script => <<'END');
    window.kept = Array.from(document.querySelectorAll('.zone, .zone dd, tbody tr, tbody button'));
    document.querySelector('[aria-label="Look at a"]').focus();
END
is(reject(7, 5), '429 x6', 'more are rejected');
is(reject(8, 50), '200 x1, 429 x50', '... and yet more in another zone');
ok($browser->reads(qr/^a\s+9\b/m, '[aria-label="Zone zone-007"] tbody'), 'the page follows');
ok($browser->refreshed, 'and goes on');
my %tops = map { $_->{url} => 1 } grep { $_->{url} =~ /top$/ } $browser->requests;
is(join(' ', sort keys %tops), "http://$address/slidewin/zones/zone-007/top",
   'it asks for the clients of one zone');
is($browser->value('window.kept.filter((node) => !node.isConnected).length'), 0,
   'all parts of the page are the same');
is($browser->value('document.activeElement.getAttribute("aria-label")'), 'Look at a',
   '... and the focus is where it was');
is($browser->value('document.querySelector(".zone h3 [aria-expanded=true]").innerText'),
   'zone-007', 'the zone is open');


# No width makes the page scroll sideways.

my $width = q{document.documentElement.scrollWidth};

$browser->press('Look at a');
ok($browser->reads(qr/^Remaining\s+0 of 1$/m, '.answer'), 'an answer is open');

for my $size ([320, 640], [360, 740], [412, 900], [768, 1024], [1024, 768], [1440, 900]) {
    $browser->order(size => @$size);
    ok($browser->shows('innerWidth === arguments[0]', $size->[0]), "$size->[0] pixels");
    cmp_ok($browser->value($width), '<=', $size->[0], '... are wide enough');
    is($browser->value(<<'END'), '', '... for every button and every figure');
        Array.from(document.querySelectorAll('button, input, dd, td, h3, p'))
            .filter((e) => e.checkVisibility() && !e.closest('.unseen'))
            .filter((e) => e.getBoundingClientRect().right > innerWidth + 0.5)
            .map((e) => e.innerText).join('; ')
END
}

is(join("\n", $browser->console), '', 'the console is empty');

$browser->stop;
$nginx->stop;

done_testing();
