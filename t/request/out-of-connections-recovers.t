# A worker that runs out of connections or file descriptors serves again when
# some are free, and has counted the requests that it answered.

use strict;
use warnings;

use SlidewinNginx;
use Test::More;

my $http = 'slidewin_log_level info;
            slidewin_zone $arg_k zone=a:1m rate=20r/40d algorithm=log;';
my $server = 'location = /a { slidewin zone=a; empty_gif; }';

sub tally { return SlidewinNginx::tally(@_) }

# Opens more clients than the worker can take. Each sends half a request,
# because nginx would close an idle connection for the next. A client that is
# not accepted, or a line in the log, shows that the limit is reached. The
# worker accepts the first client.
sub exhaust {
    my ($nginx, $message) = @_;
    my @clients = map { $nginx->client(timeout => 0.02) } 1 .. 40;
    my $before = () = $nginx->errors($message);

    $_->write("GET /a?k=hot HTTP/1.1\r\n") for @clients;
    SlidewinNginx::until_true(sub {
        return grep({ $_->answered } @clients)
               || $before < (() = $nginx->errors($message));
    }, 10 * SlidewinNginx::patience());

    $_->write("Host: localhost\r\n\r\n") for @clients;
    $clients[0]{timeout} = 10 * SlidewinNginx::patience();

    my @statuses = map { $_->answer->{status} } @clients;
    $_->close for @clients;

    return @statuses;
}

for my $case (['connections', qr/\d+ worker_connections are not enough/,
               connections => 16],
              ['descriptors', qr/accept4\(\) failed \(24: /,
               main => 'worker_rlimit_nofile 20;'])
{
    my ($name, $message, @conf) = @$case;
    my $nginx = SlidewinNginx->start(http => $http, server => $server,
                                     @conf);
    my ($worker) = $nginx->workers;
    my $fds = SlidewinNginx::fds($worker);
    my $admitted = 0;

    for my $round (1 .. 2) {
        my @statuses = exhaust($nginx, $message);
        my $passed = grep { $_ == 200 } @statuses;

        $admitted += $passed;

        is(join(' ', grep { !/^(?:200|429|0|-1)$/ } @statuses), '',
           "$name: admitted, refused or left alone");
        cmp_ok($passed + grep({ $_ == 429 } @statuses), '<', 40,
               '... and not all of them are served');
        ok($nginx->logged($message), '... as the log says');
    }

    # nginx accepts again half a second after accept() failed
    ok(SlidewinNginx::until_true(sub {
        return $nginx->client(timeout => 1)->get('/free')->{status} == 200;
    }, 10 * SlidewinNginx::patience()), "$name: served again");

    my $client = $nginx->client;
    my $left = $client->get('/a?k=hot')->{header}{'x-remaining'};
    my @statuses = $client->statuses(('/a?k=hot') x 21);

    cmp_ok($admitted, '>', 0, "$name: some had been admitted");
    cmp_ok($admitted, '<=', 20, '... not more than the limit');
    is($statuses[-1], 429, '... which is reached, and holds');
    is(scalar(grep { $_ == 200 } @statuses), $left // -1,
       '... after what was left');

    is(tally($client->statuses(('/a?k=new') x 21)), '200 x20, 429 x1',
       "$name: another client has all of it");

    $client->close;
    ok(SlidewinNginx::until_true(sub {
        SlidewinNginx::fds($worker) <= $fds;
    }, 5 * SlidewinNginx::patience()), "$name: no descriptor is lost");

    is(($nginx->workers)[0], $worker, '... and the worker is the same');

    $nginx->stop(name => $name, allow => $message);
}

done_testing();
