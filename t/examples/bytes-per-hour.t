# examples/bytes-per-hour.conf: a download is charged what was sent, when it has
# ended. In shared memory and in Redis.

use strict;
use warnings;

use SlidewinApp;
use SlidewinExample;
use SlidewinRedis;
use Test::More;

# /download/N has N bytes; /download/never has no answer
my $app = SlidewinApp->start(sub {
    my ($size) = $_[0]{uri} =~ m{/(\d+)(?:\?|$)} or return;

    return 200, 'x' x $size;
});
my $redis = SlidewinRedis->start;
# no window ends while the suite runs
my $window = 40 * 86400;

for my $store ('shared memory', 'Redis') {
    my $nginx = SlidewinExample->start('bytes-per-hour', app => $app->address,
        change => [
            'rate=1000000000r/h' => 'rate=1000000r/40d',
            "limit_conn downloads 4;\n" => "limit_conn downloads 4;\n"
                . "add_header X-Remaining \$slidewin_remaining always;\n",
            "limit_rate 10m;\n" => "limit_rate \$rate;\n",
            "upstream app {\n" => join '',
                "map \$arg_rate \$rate { default \$arg_rate;  \"\" 10m; }\n",
                $store eq 'Redis' ? 'slidewin_redis ' . $redis->url
                                    . " timeout=10s;\n" : (),
                "upstream app {\n",
        ]);
    my $left = sub {
        return $nginx->ask(@_)->{header}{'x-remaining'} // 'missing';
    };

    # what is sent is the head as well

    is($left->(1, '/download/400000'), 999999,
       "$store: a download takes one byte when it comes");

    my $after = $left->(1, '/download/500000');

    cmp_ok($after, '<', 599999, '... and when it has ended what was sent');
    cmp_ok($after, '>', 599999 - 1000, '... and no more');

    my $last = $nginx->ask(1, '/download/900000');

    is($last->{status}, 200, 'one that is larger than what is left passes');
    is(length $last->{body}, 900000, '... as a whole');

    my $reached = () = $app->seen;
    my $late = $nginx->ask(1, '/download/1');

    is($late->{status}, 429, '... then the client waits');
    is($late->{header}{'x-remaining'}, 0, '... without a byte left');
    cmp_ok($late->{header}{'retry-after'} // 0, '>', 1500,
           '... until the debt has left');
    cmp_ok($late->{header}{'retry-after'} // 0, '<', 2 * $window,
           '... in less than two windows');
    is(scalar(() = $app->seen), $reached, '... the application has rest');
    is($nginx->ask(2, '/download/1')->{status}, 200, '... others pass');

    # a client that leaves

    my $client = $nginx->client(3);
    my $some;

    $client->write(SlidewinExample::request('/download/900000?rate=200000'));
    sysread $client->{socket}, $some, 65536;
    $client->close;

    # nginx notices when it sends the next part; of 900,000 bytes there were not
    # many yet

    is(SlidewinNginx::until_true(sub {
        return $left->(3, '/download/0') < 950000;
    }, 10 * SlidewinNginx::patience()), 1, 'a client that leaves is charged');
    cmp_ok($left->(3, '/download/0'), '>', 300000, '... what it got');

    # at once

    my @waiting = map { $nginx->client(4) } 1 .. 4;
    my $refused;

    $_->write(SlidewinExample::request('/download/never')) for @waiting;
    is(SlidewinNginx::until_true(sub {
        my $more = $nginx->client(4);

        # the application has not come to it
        $more->{timeout} = 1;
        $more->write(SlidewinExample::request('/download/0'));

        $refused = $more->answer;

        return $refused->{status} == 429;
    }, 10 * SlidewinNginx::patience()), 1, 'four downloads at once');
    is($refused->{header}{'retry-after'}, undef, '... no time is known');
    $_->close for @waiting;

    $nginx->stop(allow => qr/\[error\]/);
}

# by the kilobyte, with the line of the header

my ($map) = SlidewinExample::text('bytes-per-hour') =~ /^# +(map .*)/m;
my $nginx = SlidewinExample->start('bytes-per-hour', app => $app->address,
    change => [
        'rate=1000000000r/h' => 'rate=2000000r/40d',
        'charge=$bytes_sent;' =>
            'charge=$kb; add_header X-Remaining $slidewin_remaining always;',
        "upstream app {\n" => "$map\nupstream app {\n",
    ]);
my $left = sub {
    return 1999999 - $nginx->ask(1, $_[0])->{header}{'x-remaining'};
};

is($left->('/download/400'), 0, 'a download takes a kilobyte when it comes');
is($left->('/download/400000'), 1, '... and when it has ended at least one');
is($left->('/download/1'), 401, '... or what was sent, by the whole kilobyte');

$nginx->stop(allow => qr/\[error\]/);
$redis->stop;
$app->stop;

done_testing();
