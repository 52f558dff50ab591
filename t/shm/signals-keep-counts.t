# Signals to the master while clients are connected: workers exit, and reopening
# logs or going back to the old binary keeps the counts.

use strict;
use warnings;

use SlidewinNginx;
use Test::More;

my %conf = (
    workers => 2,
    http => 'slidewin_log_level info;
             slidewin_zone $arg_k zone=a:1m rate=5r/40d algorithm=log;',
    server => 'location = /a { slidewin zone=a; empty_gif; }',
);

sub tally { return SlidewinNginx::tally(@_) }


# idle: nothing in the module keeps a worker from exiting

for my $signal (qw(QUIT TERM INT)) {
    my $nginx = SlidewinNginx->start(%conf);
    my @clients = $nginx->clients(8);

    is(tally(map { $_->get('/a?k=hot')->{status} } @clients),
       '200 x5, 429 x3', "before $signal the limit holds");

    my $master = $nginx->master;
    my @all = ($master, $nginx->workers);

    $nginx->signal($signal);
    ok(SlidewinNginx::all_gone(@all), "$signal: all processes are gone soon");

    is(tally(map { $_->get('/a?k=hot')->{status} } @clients), '0 x8',
       '... and the connections closed');

    is(scalar($nginx->errors(qr/exited on signal/)), 0, '... cleanly');
    $nginx->stop(name => $signal);
}


# reopening the logs does not change the counts

my $nginx = SlidewinNginx->start(%conf);

is(tally($nginx->status('/a?k=hot', 3)), '200 x3', 'three of five');
rename $nginx->root . '/logs/error.log', $nginx->root . '/logs/error.old';
$nginx->signal('USR1');
ok(SlidewinNginx::until_true(sub { -e $nginx->root . '/logs/error.log' }, 5),
   'USR1 opens a new log');
is(tally($nginx->status('/a?k=hot', 3)), '200 x2, 429 x1',
   '... and the counts are kept');


# a new binary has shared memory of its own, so it starts with no counts

my $old = $nginx->master;
my @old = $nginx->workers;

$nginx->signal('USR2');
ok(SlidewinNginx::until_true(sub {
    my $master = $nginx->master;
    return defined $master && $master != $old && $nginx->workers == 2;
}, 10 * SlidewinNginx::patience()), 'USR2: a second master with workers');

my $new = $nginx->master;

$nginx->signal('WINCH', $old);
is(scalar(grep { !SlidewinNginx::gone($_, 5 * SlidewinNginx::patience()) }
          @old), 0, 'WINCH: the old workers are gone');
ok(SlidewinNginx::alive($old), '... and their master is not');

is(tally($nginx->status('/a?k=hot', 6)), '200 x5, 429 x1',
   'the new workers count anew, and limit');

$nginx->signal('QUIT', $old);
ok(SlidewinNginx::gone($old, 5 * SlidewinNginx::patience()),
   'QUIT: the old master is gone');
is($nginx->master, $new, '... and the new one is in charge');
is($nginx->get('/a?k=hot')->{status}, 429, '... with its counts');

$nginx->stop(name => 'new binary');


# back to the old binary: its shared memory was there all the time

$nginx = SlidewinNginx->start(%conf);

is(tally($nginx->status('/a?k=hot', 4)), '200 x4', 'four of five');

$old = $nginx->master;
$nginx->signal('USR2');
ok(SlidewinNginx::until_true(sub {
    my $master = $nginx->master;
    return defined $master && $master != $old && $nginx->workers == 2;
}, 10 * SlidewinNginx::patience()), 'USR2 again');

$new = $nginx->master;
$nginx->signal('WINCH', $old);
ok(SlidewinNginx::until_true(sub { !$nginx->workers($old) },
                             5 * SlidewinNginx::patience()), 'WINCH');

$nginx->signal('HUP', $old);
ok(SlidewinNginx::until_true(sub { $nginx->workers($old) == 2 },
                             5 * SlidewinNginx::patience()),
   'HUP to the old master: workers again');

$nginx->signal('QUIT', $new);
ok(SlidewinNginx::gone($new, 5 * SlidewinNginx::patience()), '... QUIT');
ok(SlidewinNginx::until_true(sub { ($nginx->master // 0) == $old }, 5),
   'the old master is in charge');

is(tally($nginx->status('/a?k=hot', 2)), '200 x1, 429 x1',
   '... with the counts it had');

$nginx->stop(name => 'old binary');

done_testing();
