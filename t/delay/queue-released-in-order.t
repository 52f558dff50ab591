# A queue drains as fast as the limit has room: the requests for which there is
# room are released together, in the order they came, with one check in Redis.

use strict;
use warnings;

use List::Util ();
use SlidewinFake;
use SlidewinNginx;
use SlidewinRedis;
use Test::More;

my @algorithms = qw(counter fixed strict log);
my $redis = SlidewinRedis->start;
my $patience = SlidewinNginx::patience();
my ($zones, $locations) = ('', '');

for my $algorithm (@algorithms) {
    $zones .= "slidewin_zone \$arg_k zone=$algorithm:1m rate=40r/10m"
              . " algorithm=$algorithm on_error=closed;\n";
    $locations .= "location = /$algorithm {"
                  . " slidewin zone=$algorithm cost=\$arg_c delay=1h;"
                  . " empty_gif; }\n"
                  . "location = /look_$algorithm {"
                  . " slidewin zone=$algorithm cost=0; empty_gif; }\n"
                  . "location = /clear_$algorithm {"
                  . " slidewin zone=$algorithm cost=0 reset=200;"
                  . " empty_gif; }\n";
}

my %conf = (
    # lines that the log throttle leaves out appear at debug, and no others do
    http => 'error_log logs/error.log debug_mail;
             slidewin_log_level warn key=on;
             slidewin_redis ' . $redis->unix_url . " timeout=20s
                   connect_timeout=10s;
             slidewin_zone \$arg_k zone=large:1m rate=1000r/d algorithm=log
                           on_error=closed;
             slidewin_zone \$arg_k zone=small:1m rate=50r/d algorithm=log
                           on_error=closed;
             slidewin_zone \$arg_k zone=here:1m rate=1000r/d algorithm=log
                           store=local;
             slidewin_zone \$arg_k zone=slow:1m rate=1r/2m algorithm=log
                           store=local;
             $zones",
    server => "location = /status { stub_status; }
               add_header X-Source \$slidewin_source always;
               $locations
               location = /two {
                   slidewin zone=log cost=\$arg_c delay=1h;
                   slidewin zone=large cost=\$arg_c;
                   empty_gif;
               }
               location = /three {
                   slidewin zone=here;
                   slidewin zone=log cost=\$arg_c delay=1h;
                   slidewin zone=small;
                   empty_gif;
               }
               location = /count {
                   slidewin zone=log cost=\$arg_c count=401 delay=1h;
                   empty_gif;
               }
               location = /slow {
                   slidewin zone=slow delay=1h;
                   slidewin zone=log;
                   empty_gif;
               }
               location = /clear_slow {
                   slidewin zone=slow cost=0 reset=200;
                   empty_gif;
               }
               location = /look_large { slidewin zone=large cost=0; empty_gif; }
               location = /look_small { slidewin zone=small cost=0; empty_gif; }
               location = /look_here { slidewin zone=here cost=0; empty_gif; }",
);

my $nginx = SlidewinNginx->start(%conf);
my $fresh = 0;

sub fresh { return 'k' . ++$fresh }

sub calls { return scalar $redis->calls('evalsha') }

sub told {
    return join ' ', map {
        $_->{status} . '-' . ($_->{header}{'x-status'} // '')
    } @_;
}

sub remaining { return join ' ', map { $_->{header}{'x-remaining'} } @_ }

sub look {
    my ($zone, $k) = @_;

    return $nginx->get("/look_$zone?k=$k")->{header}{'x-remaining'};
}

# until the limit has room again, as it tells those that wait
sub clear {
    my ($zone, $k) = @_;

    return $nginx->get("/clear_$zone?k=$k");
}

# clients that queue up with these costs, one after the other
sub line {
    my ($uri, $k, @costs) = @_;
    my $n = 0;

    $nginx->get("$uri?k=$k&c=40");

    my @clients = map {
        my $client = $nginx->asks("$uri?k=$k&c=$_");
        $n++;
        SlidewinNginx::until_true(sub {
            my @lines = $nginx->errors(qr/delaying request, .*, key: "$k"/);
            return @lines >= $n;
        }, 10 * $patience) or die "$uri: number $n does not wait\n";
        $client;
    } @costs;

    return @clients;
}

# what is left of a limit when the costs are taken one after the other
sub left {
    my ($limit, @costs) = @_;

    return join ' ', map { $limit -= $_ } @costs;
}


# A whole queue with different costs.

for my $algorithm (@algorithms) {
    my $k = fresh();
    my @costs = map { 1 + $_ % 3 } 1 .. 18;
    my @clients = line("/$algorithm", $k, @costs);
    my $before = calls();

    clear($algorithm, $k);

    my @answers = map { $_->answer } @clients;

    is(told(@answers), join(' ', ('200-DELAYED') x 18), "$algorithm: all pass");
    is(remaining(@answers), left(40, @costs), '... in order');
    cmp_ok(calls() - $before, '<=', 8, '... with a question or two');
    is(look($algorithm, $k), 40 - List::Util::sum(@costs),
       '... and are counted, no more');
}


# More than there is room for, with costs that do not fit exactly.

for my $algorithm (@algorithms) {
    my $k = fresh();
    my @clients = line("/$algorithm", $k, (3) x 25);

    for my $n (13, 12) {
        my $before = calls();

        clear($algorithm, $k);

        my @answers = map { $_->answer } splice @clients, 0, $n;
        my $asked = calls() - $before;

        is(told(@answers), join(' ', ('200-DELAYED') x $n),
           "$algorithm: $n pass");
        is(remaining(@answers), left(40, (3) x $n), '... in order');
        ok(SlidewinNginx::until_true(sub {
               look($algorithm, $k) == 40 - 3 * $n;
           }, 10 * $patience), '... what is left over goes back');
        ok(!(grep { $_->answered } @clients), '... and others wait');
        cmp_ok($asked, '<=', 8, '... with few questions');
    }
}


# Clients that leave the queue, the first among them.

{
    my $k = fresh();
    my @clients = line('/log', $k, (1) x 20);

    $_->close for splice(@clients, 10, 2), splice(@clients, 5, 1),
                  splice(@clients, 0, 1);
    ok($nginx->busy(16), 'some leave a line');
    my $before = calls();
    clear('log', $k);

    my @answers = map { $_->answer } @clients;

    is(told(@answers), join(' ', ('200-DELAYED') x 16),
       '... and the others pass');
    is(remaining(@answers), left(40, (1) x 16), '... in order');
    cmp_ok(calls() - $before, '<=', 8, '... with a question or two');
    is(look('log', $k), 24, '... and are counted alone');
}


# Several limits, in Redis and in shared memory.

{
    my $k = fresh();
    my @costs = (2, 3) x 8;
    my @clients = line('/two', $k, @costs);
    my $before = calls();

    clear('log', $k);

    my @answers = map { $_->answer } @clients;

    is(told(@answers), join(' ', ('200-DELAYED') x 16), 'two policies: all pass');
    is(remaining(@answers), left(40, @costs), '... in order');
    cmp_ok(calls() - $before, '<=', 8, '... with a question or two');
    is(look('log', $k), 0, '... counted by one');
    is(look('large', $k), 920, '... and by the other');
}

{
    my $k = fresh();
    my @clients = line('/three', $k, (1) x 20);
    my $before = calls();

    clear('log', $k);

    my @answers = map { $_->answer } @clients;

    is(told(@answers), join(' ', ('200-DELAYED') x 20),
       'three policies in two stores: all pass');
    is(remaining(@answers), left(40, (1) x 20), '... in order');
    cmp_ok(calls() - $before, '<=', 8, '... with a question or two');
    is(look('log', $k), 20, '... counted by the first in Redis');
    is(look('small', $k), 29, '... by the second');
    is(look('here', $k), 979, '... and here');
}

# A limit in shared memory has room for one request, Redis for the whole queue:
# units are not counted before their requests pass.

{
    my $k = fresh();
    my @clients = line('/slow', $k, (1) x 20);

    clear('slow', $k);
    is(told((shift @clients)->answer), '200-DELAYED',
       'there is room for one of a line');
    ok(SlidewinNginx::until_true(sub { look('log', $k) == 38 }, 8),
       '... and nothing is kept for those that wait on')
        or diag('left: ' . look('log', $k));
    ok(!(grep { $_->answered } @clients), '... who are 19');
    $_->close for @clients;
}


# Units that are refunded at the end of a request.

{
    my $k = fresh();
    my @clients = line('/count', $k);

    is(look('log', $k), 40, 'count=: nothing is counted in the end');
    $nginx->get("/log?k=$k&c=40");
    @clients = map {
        my $client = $nginx->asks("/count?k=$k&c=2");
        my $n = $_;
        SlidewinNginx::until_true(sub {
            my @lines = $nginx->errors(qr/delaying request, .*, key: "$k"/);
            return @lines >= $n;
        }, 10 * $patience);
        $client;
    } 1 .. 15;
    clear('log', $k);
    is(told(map { $_->answer } @clients), join(' ', ('200-DELAYED') x 15),
       '... all of a line pass');
    ok(SlidewinNginx::until_true(sub { look('log', $k) == 40 },
                                 10 * $patience),
       '... and all of it comes back');
}

$nginx->stop;


# The first client leaves while its check is pending: the units it took for
# others are refunded, and the others check for themselves.

my $fake = SlidewinFake->start(modes => {
    room => sub {
        my ($c, $command) = @_;

        $c->forget($command);
        $c->hold($command);
    },
});

$nginx = SlidewinNginx->start(
    %conf,
    http => $conf{http} =~ s/slidewin_redis unix:\S+/slidewin_redis redis:\/\/127.0.0.1:@{[$fake->port]}/r);

{
    my @clients = line('/log', 'gone', (1) x 10);

    $fake->mode('room');
    my $before = $fake->checks('gone');
    ok(SlidewinNginx::until_true(sub { $fake->checks('gone') > $before },
                                 10 * $patience), 'the first of a line asks');
    shift(@clients)->close;
    ok($nginx->busy(9), '... and leaves');
    $fake->mode('well');
    $fake->release;

    is(told(map { $_->answer } @clients), join(' ', ('200-DELAYED') x 9),
       '... and all others pass');
    ok(SlidewinNginx::until_true(sub {
           ($fake->stats->{refunds} // 0) >= 1;
       }, 10 * $patience), '... what was taken for them went back')
        or diag(explain($fake->stats));
}
$nginx->stop;

done_testing();
