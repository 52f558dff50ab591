# A well-formed reply whose numbers cannot be true affects only its own request:
# the connection stays, and other checks on it are decided by Redis.

use strict;
use warnings;

use SlidewinFake;
use SlidewinFaults;
use Test::More;

# the true numbers, changed: number, time, admitted, units, total, oldest,
# newest, when it fits
sub changed {
    my ($change) = @_;

    return sub {
        my ($c, $command) = @_;

        $c->forget($command);
        my @numbers = $c->take($command);
        $change->(\@numbers);
        $c->send(SlidewinFake::reply(@numbers));
    };
}

my %untrue = (
    uncounted => changed(sub { $_[0][3] = 0 }),
    refused => changed(sub { $_[0][2] = 0 }),
    negative => changed(sub { $_[0][4] = -1 }),
    excess => changed(sub { $_[0][4] = 1000 }),
    odd => changed(sub { $_[0][2] = 2 }),
    future => changed(sub { $_[0][6] = $_[0][1] + 4_000_000 }),
);

# and of a ban, at 8 and 9 what is left of it and whether it began
my %of_ban = (
    begins_twice => changed(sub { @{$_[0]}[8, 9] = (3_600_000, 2) }),
    too_short => changed(sub { @{$_[0]}[8, 9] = (3_599_999, 1) }),
    too_long => changed(sub { @{$_[0]}[8, 9] = (3_600_001, 1) }),
    ever => changed(sub { @{$_[0]}[8, 9] = (50 * 86_400_000, 0) }),
    counted => changed(sub { @{$_[0]}[8, 9] = (1000, 0) }),
);

my $fake = SlidewinFake->start(modes => {
    %untrue, %of_ban,
    first => sub {
        my ($c, $command) = @_;

        $c->pause(0.3);
        $c->send($c->answer($command));
    },
});
my $faults = SlidewinFaults->start(
    url => $fake->url, redis => 'timeout=5s connect_timeout=20s',
    http => join('', map {
        "slidewin_zone \$arg_k zone=ban_$_:1m rate=2r/h algorithm=log ban=1h"
        . " deny_cache=off on_error=$_;\n"
    } @SlidewinFaults::MODES),
    server => join('', map {
        "location = /ban_$_ { slidewin zone=ban_$_; empty_gif; }\n"
    } @SlidewinFaults::MODES));
my $nginx = $faults->nginx;
my @clients = map { $nginx->client } 1 .. 12;

$_->get('/free') for @clients;
ok($faults->redis_answers, 'Redis is asked');
$faults->remember_workers;

for my $name (sort(keys %untrue), sort keys %of_ban) {
    my $ban = $of_ban{$name} ? 'ban_' : '';

    for my $mode (@SlidewinFaults::MODES) {
        my ($first, @others) = @clients;
        my $checks = $fake->checks;

        # all checks are sent before the first is answered
        $first->request('/well_local?k=first');
        ok(SlidewinNginx::until_true(sub { $fake->checks > $checks }, 10),
           "$name, on_error=$mode: under way");
        $others[$_]->request($_ == 5 ? "/$ban$mode?k=$name"
                                     : '/closed?k=' . SlidewinFaults::fresh())
            for 0 .. $#others;

        is(SlidewinFaults::summary($first->answer), '200 PASSED redis',
           '... the first is decided by Redis');

        my @told = map { SlidewinFaults::summary($_->answer) } @others;
        my ($own) = splice @told, 5, 1;

        unlike($own, qr/redis/, '... the one is not');
        like($own, { local => qr/ fallback/, open => qr/ fail_open$/,
                     closed => qr/ fail_closed$/ }->{$mode}, "... but by $mode");
        is(join(', ', @told), join(', ', ('200 PASSED redis') x @told),
           '... all others are');
    }
}

is($fake->accepts, 1, 'all on one connection');
is($faults->log_lines(qr/is (?:lost|not asked)/), 0, '... which is kept');
cmp_ok($faults->log_lines(qr/has something else under the key/), '>=', 1,
       '... and the log says why');

$faults->recovers('in the end');
$_->close for @clients;
$faults->ends_clean;

done_testing();
