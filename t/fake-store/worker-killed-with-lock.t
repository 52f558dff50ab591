# A worker is killed while it holds the lock of a zone that it has half changed.

use strict;
use warnings;

use SlidewinNginx;
use Test::More;

my $locked = qr/\[alert\].* shared memory zone "a" was locked by/;
my $killed = qr/\[alert\].* worker process \d+ exited on signal 9|$locked/;
my $repaired = qr/\[error\].* slidewin zone "a" has been repaired after a (?#
                 )worker process died while changing it/;

for my $algorithm (qw(counter fixed strict log)) {
    my $nginx = SlidewinNginx->start(
        workers => 2,
        http => "slidewin_log_level info;
                 slidewin_zone \$arg_k zone=a:32k rate=10r/40d
                               algorithm=$algorithm;
                 slidewin_zone \$arg_k zone=b:32k rate=10r/40d;",
        server => 'location = /a { slidewin zone=a; empty_gif; }
                   location = /both { slidewin zone=a; slidewin zone=b;
                                      empty_gif; }
                   location = /queue { slidewin_test_die a queue; }
                   location = /all { slidewin_test_die a all; }',
    );

    for my $links (qw(queue all)) {
        my $name = "$algorithm, $links";
        my ($one, $two) = map { $nginx->client_of($_) } $nginx->workers;

        is(SlidewinNginx::tally($one->statuses(map {
               ("/a?k=$links", map { "/a?k=$links-$_" } 1 .. 9)
           } 1 .. 4)), '200 x40', "$name: ten clients, four of ten each");

        is($one->get("/$links")->{status}, 0, "$name: a worker is killed");

        my $since = SlidewinNginx::now();
        my $status = $two->get("/a?k=$links")->{status};

        is($status, 200, "$name: another goes on");
        cmp_ok(SlidewinNginx::now() - $since, '<',
               5 * SlidewinNginx::patience(), '... soon');

        is(scalar($nginx->errors($repaired)), $links eq 'queue' ? 1 : 2,
           '... and says that it repaired the zone');

        my $left = $links eq 'queue' ? 5 : 9;

        is(SlidewinNginx::tally($two->statuses(("/a?k=$links") x 10)),
           "200 x$left, 429 x" . (10 - $left),
           $links eq 'queue' ? '... with the counts it had'
                             : '... counting anew');

        $left = $links eq 'queue' ? 6 : 10;

        is(SlidewinNginx::tally(map {
               $two->statuses(("/a?k=$links-$_") x 11)
           } 1 .. 9), '200 x' . 9 * $left . ', 429 x' . 9 * (11 - $left),
           '... every client');

        ok(SlidewinNginx::until_true(sub { $nginx->workers == 2 },
                                     5 * SlidewinNginx::patience()),
           'a new worker takes the place of the dead one');

        my ($new) = grep { $_ != $two->get('/free')->{header}{'x-pid'} }
                    $nginx->workers;

        is($nginx->client_of($new)->get("/a?k=$links")->{status}, 429,
           '... and knows the counts');

        # more clients than the zone holds: the queue is walked, entries are
        # freed

        is(SlidewinNginx::tally($two->statuses(map {
               ("/a?k=$links", map { "/a?k=" . rand } 1 .. 9)
           } 1 .. 300)), '200 x2700, 429 x300',
           'many clients come and go, the one that stays is limited');

        is(SlidewinNginx::tally($two->statuses(("/both?k=$links-both") x 11)),
           '200 x10, 429 x1', '... with another zone, too');

        # a reload finds a consistent zone
        $_->close for $one, $two;
        $nginx->reload;
        is($nginx->get("/a?k=$links")->{status}, 429,
           'a reload keeps the counts');
    }

    is(scalar($nginx->errors($locked)), 2,
       "$algorithm: both times it had the lock");
    is(scalar($nginx->errors($repaired)), 2, '... and was cleared up after');
    $nginx->stop(name => $algorithm, allow => $killed);
}

done_testing();
