# A reload while requests wait for a store: the old workers answer them, and
# exit soon after the last.

use strict;
use warnings;

use SlidewinNginx;
use Test::More;

my $limit = 60;

my $nginx = SlidewinNginx->start(
    workers => 2,
    http => "slidewin_log_level info;
             slidewin_test_store slow delay=5s;
             slidewin_zone \$arg_k zone=a:1m rate=${limit}r/40d
                           algorithm=log store=slow;",
    server => 'location = /a { slidewin zone=a; empty_gif; }
               location = /status { stub_status; }
               location = /key { slidewin_test_key a; }',
);

my %old = map { $_ => 1 } $nginx->workers;
my @clients = $nginx->clients(100);

$_->request('/a?k=hot') for @clients;
ok($nginx->busy(100), '100 wait');

my $since = SlidewinNginx::now();
$nginx->reload;
cmp_ok(SlidewinNginx::now() - $since, '<', 4,
       'new workers do not wait for those requests');

is($nginx->get('/free')->{status}, 200, '... and serve');
like($nginx->get('/key?key=hot')->{body}, qr/^remaining 60,/,
     '... while nothing is counted yet');

my @answers = map { $_->answer } @clients;

is(SlidewinNginx::tally(map { $_->{status} } @answers),
   "200 x$limit, 429 x40", '100 requests that waited are answered');
is(scalar(grep { !$old{$_->{header}{'x-pid'} // ''} } @answers), 0,
   '... by the workers that took them');

ok(SlidewinNginx::all_gone(keys %old), '... which are gone soon');

is($nginx->get('/a?k=hot')->{status}, 429, 'the counts are in the new ones');

$nginx->stop;


# a very slow store holds up a worker only as long as its clients stay

$nginx = SlidewinNginx->start(
    workers => 2,
    http => 'slidewin_test_store slow delay=60s;
             slidewin_zone $arg_k zone=a:1m rate=5r/40d store=slow;',
    server => 'location = /a { slidewin zone=a; empty_gif; }
               location = /status { stub_status; }',
);

%old = map { $_ => 1 } $nginx->workers;
@clients = $nginx->clients(20);
$_->request('/a?k=hot') for @clients;
ok($nginx->busy(20), '20 wait');

$nginx->reload;
is(scalar(grep { SlidewinNginx::alive($_) } keys %old), 2,
   'workers with requests that wait stay');

$_->close for @clients;
ok(SlidewinNginx::all_gone(keys %old), '... until their clients leave');

is(scalar($nginx->errors('call cancelled')), 20, '... and no call remains');

$nginx->stop(name => "clients leave");

done_testing();
