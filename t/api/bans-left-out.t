# 4,096 bans of a zone are listed. Of those that are left out the estimate goes
# up and down with them: as they begin, are lifted, and end.

use strict;
use warnings;

use SlidewinNginx;
use SlidewinStats;
use Test::More;

my $nginx = SlidewinNginx->start(workers => 2, http => <<'END', server => <<'END');
    slidewin_log_level off;
    slidewin_zone $arg_k zone=long:16m rate=1r/40d ban=1h store=local;
    slidewin_zone $arg_k zone=short:16m rate=1r/40d ban=3s store=local;
END
    location /slidewin/ { slidewin_api write=on; }
    location = /long { slidewin zone=long; empty_gif; }
    location = /short { slidewin zone=short; empty_gif; }
END

my $client = $nginx->client;

sub ban {
    my ($zone, @keys) = @_;

    return scalar grep { $_ == 429 } $client->statuses(map { ("/$zone?k=$_") x 2 } @keys);
}

sub told {
    my ($zone) = @_;
    my $told = SlidewinStats::zone($nginx, $zone);

    return ($told->{bans}, $told->{bans_overflow});
}

# off by no more than 5% and 20
sub near { return abs($_[0] - $_[1]) <= 20 + $_[1] / 20 }

my $bans = 7000;
is(ban('long', 1 .. $bans), $bans, "$bans clients are banned");

my ($listed, $more) = told('long');
is($listed, 4096, 'the list is full');
ok(near($more, $bans - 4096), "... about $more more are told of")
    or diag($bans - 4096, ' are');
is(SlidewinStats::json($nginx, 'zones/long/bans?max=0')->{overflow}, $more, '... by the list');
is(SlidewinStats::metrics($nginx)->{'slidewin_bans_overflow{zone="long"}'}, $more,
   '... and by the metrics');

is(SlidewinNginx::tally($client->statuses(map { "/long?k=$_" } 1 .. 1000)), '429 x1000',
   'who was left out is banned');
is(join(' ', told('long')), "$listed $more", '... which changes no figure');

# the first ones end first

my $left = $bans - 4096;
my @lifted = map { SlidewinStats::forget($nginx, 'long', $_) } 1 .. 1000;
is(SlidewinNginx::tally(@lifted), '204 x1000', 'bans that were left out are lifted');
($listed, $more) = told('long');
is($listed, 4096, '... the list is as it was');
ok(near($more, $left - 1000), "... about $more are left out now") or diag($left - 1000, ' are');

is(SlidewinNginx::tally(map { SlidewinStats::forget($nginx, 'long', $_) } 1001 .. $left),
   '204 x' . ($left - 1000), 'the others are lifted');
is(SlidewinStats::becomes(sub { (told('long'))[1] }, 0), 0, '... none is left out');
is(SlidewinNginx::tally(map { SlidewinStats::forget($nginx, 'long', $_) } $left + 1 .. $bans),
   '204 x4096', 'those in the list are lifted');
is(join(' ', told('long')), '0 0', '... there is no ban any more');

# one after the other, for longer than a ban lasts: each counts until it ends

my $end = SlidewinNginx::now() + 9;
my @began;
my $n = 0;

while (SlidewinNginx::now() < $end) {
    my $first = SlidewinNginx::now();
    my $count = ban('short', $n + 1 .. $n + 100);
    push @began, [$first, SlidewinNginx::now(), $count];
    $n += 100;
}

my $before = SlidewinNginx::now();
($listed, $more) = told('short');
my $after = SlidewinNginx::now();
my ($least, $most) = (0, 0);

for (@began) {
    my ($first, $last, $count) = @$_;
    $least += $count if $first > $after - 3;
    $most += $count if $last > $before - 3;
}

ok($listed + $more > 0.9 * $least - 30 && $listed + $more < 1.1 * $most + 30,
   "of $n bans that lasted 3 seconds " . ($listed + $more) . ' are in force')
    or diag("from $least to $most are");
is(SlidewinStats::becomes(sub { join ' ', told('short') }, '0 0'), '0 0',
   '... and none when they are over');

$nginx->stop;

done_testing();
