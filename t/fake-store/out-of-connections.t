# A worker runs out of connections while requests wait for a store.

use strict;
use warnings;

use SlidewinNginx;
use Test::More;

my $message = qr/\d+ worker_connections are not enough/;

my $nginx = SlidewinNginx->start(
    connections => 16,
    http => 'slidewin_log_level info;
             slidewin_test_store slow delay=1s;
             slidewin_zone $arg_k zone=a:1m rate=5r/40d algorithm=log
                           store=slow;',
    server => 'location = /a { slidewin zone=a; empty_gif; }',
);

my ($worker) = $nginx->workers;
my $fds = SlidewinNginx::fds($worker);

sub crowd {
    my @clients = map { $nginx->client(timeout => 5) } 1 .. 40;

    $_->request('/a?k=hot', Connection => 'close') for @clients;

    return @clients;
}

my @clients = crowd();
my @statuses = map { $_->answer->{status} } @clients;

is(scalar(grep { $_ == 200 } @statuses), 5, 'the limit is admitted');
cmp_ok(scalar(grep { $_ == 429 } @statuses), '>', 0, '... some are refused');
is(scalar(grep { $_ == 200 || $_ == 429 || $_ == 0 } @statuses), 40,
   '... the others find the connection closed');
ok($nginx->logged($message), '... as the log says');

is($nginx->get('/a?k=new')->{status}, 200, 'served again');

# clients that leave while they wait make room

@clients = crowd();
SlidewinNginx::nap(0.1);
$_->close for @clients;

ok(SlidewinNginx::until_true(sub { $nginx->get('/free')->{status} == 200 },
                             10 * SlidewinNginx::patience()),
   'served again when they leave');
is($nginx->get('/a?k=new')->{status}, 200, '... with a limit, too');

ok(SlidewinNginx::until_true(sub {
    SlidewinNginx::fds($worker) <= $fds;
}, 5 * SlidewinNginx::patience()), 'no descriptor is lost');
is(($nginx->workers)[0], $worker, '... and the worker is the same');

$nginx->stop(allow => $message);

done_testing();
