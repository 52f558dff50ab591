# Arrays within an array, each of a valid size: such a reply is refused at its
# beginning, before it takes memory.

use strict;
use warnings;

use SlidewinFake;
use SlidewinFaults;
use Test::More;

my $part = "*4096\r\n" . ":1\r\n" x 4096;

my $fake = SlidewinFake->start(modes => {
    map { $_ => sub {
        my ($c) = @_;

        $c->send("*4096\r\n");
        $c->repeat($part, 4096);
    } } @SlidewinFaults::MODES
});
my $faults = SlidewinFaults->start(url => $fake->url, apart => 1,
                                   redis => 'timeout=2s connect_timeout=20s');
my ($worker) = $faults->nginx->workers;

# the most memory the worker ever had, in KB
sub peak { return SlidewinNginx::memory($worker, 'VmHWM') }

ok($faults->redis_answers, 'Redis is asked');
$faults->decides('an honest answer');
$faults->remember_workers;

my $before = peak();

$faults->fails('4096 arrays of 4096 numbers', $_)
    for @SlidewinFaults::MODES;
cmp_ok($fake->checks, '>', 9, '... and it was asked');
cmp_ok(peak() - $before, '<', 8192, '... without memory for them');

cmp_ok($faults->log_lines(qr/is lost: its answer is nested too deep/), '>=', 1,
       '... because it is nested');

$faults->recovers('in the end');
$faults->ends_clean;

done_testing();
