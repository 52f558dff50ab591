# examples/graphql.conf: a query takes its estimate when it comes, and costs what
# the server says when it has answered. In shared memory and in Redis.

use strict;
use warnings;

use JSON::PP ();
use SlidewinApp;
use SlidewinExample;
use SlidewinRedis;
use Test::More;

# a query is "STATUS COST", and spaces for its length; without a cost the server
# says nothing of it
my $app = SlidewinApp->start(sub {
    my ($status, $cost) = split ' ', $_[0]{body};

    return $status, '{"data":{}}', 'Content-Type' => 'application/json',
           defined $cost ? ('X-Query-Cost' => $cost) : ();
});
my $redis = SlidewinRedis->start;
my $long = ' ' x 1500;

for my $store ('shared memory', 'Redis') {
    my $nginx = SlidewinExample->start('graphql', app => $app->address,
        $store eq 'Redis' ? (change => [
            "upstream app {\n" => 'slidewin_redis ' . $redis->url
                                  . " timeout=10s;\nupstream app {\n",
        ]) : ());
    my $query = sub {
        my ($n, $text) = @_;

        return $nginx->ask($n, '/graphql', {}, 'POST', $text);
    };
    # what was left while the query ran
    my $left = sub {
        my $answer = $query->(@_);
        my ($left) = ($answer->{header}{ratelimit} // '') =~ /r=(\d+)/;

        return "$answer->{status} " . ($left // 'missing');
    };

    is($left->(1, '200 3'), '200 990', "$store: a query takes its estimate");
    is($left->(1, '200 40'), '200 987', '... and gets back what it did not use');
    is($left->(1, '200 12.3'), '200 947', '... or takes what was missing');
    is($left->(1, "200 13$long"), '200 844',
       '... a decimal number is rounded up, and a long query takes more');
    is($left->(1, '500 900'), '500 921',
       '... an error is for nothing');
    is($left->(1, '400 1'), '400 921', '... not so a bad query');
    is($left->(1, '200'), '200 920', '... and a query of unknown cost');
    is($left->(1, '200 many'), '200 910', '... is charged its estimate');
    is($left->(1, '200 0'), '200 900', '... or a cost that is no number');
    is($left->(1, '200 0'), '200 900', '... one without cost is free');
    ok($nginx->logged(qr/\[error\].*"many"/), '... and logged');

    # debt

    is($left->(2, '200 1500'), '200 990', 'more than all points are counted');

    my $reached = () = $app->seen;
    my $late = $query->(2, '200 1');
    my $json = eval { JSON::PP::decode_json($late->{body}) };
    my $error = ($json // {})->{errors}[0] // {};

    is($late->{status}, 429, '... and then the client waits');
    like($late->{header}{ratelimit}, qr/r=0/, '... without points');
    cmp_ok($late->{header}{'retry-after'} // 0, '>', 19,
           '... until a third of them has left');
    is($error->{extensions}{code}, 'RATE_LIMITED',
       '... and is told as GraphQL does');
    is($error->{extensions}{retryAfter}, $late->{header}{'retry-after'},
       '... for how long');
    is($late->{header}{'content-type'}, 'application/json', '... by its type');
    is(scalar(() = $app->seen), $reached, '... the server did not see it');
    is($query->(3, '200 1')->{status}, 200, '... others are served');

    # running at once: the estimates are taken

    my @clients = map { $nginx->client(4) } 1 .. 20;

    $_->write(SlidewinExample::request('/graphql', {}, 'POST',
                                       "200 99$long")) for @clients;
    is(SlidewinNginx::tally(map { $_->answer->{status} } @clients),
       '200 x10, 429 x10', 'ten large queries at once');

    is($nginx->ask(5, '/graphql?query={a}')->{status}, 403,
       'GET is no way around it');

    $nginx->stop(allow => qr/\[error\]/);
}

$redis->stop;
$app->stop;

done_testing();
