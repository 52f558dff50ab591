# examples/graphql.conf: a query takes its estimate when it comes, and costs what
# the server says when it has answered. In shared memory and in Redis.

use strict;
use warnings;

use File::Temp ();
use JSON::PP ();
use SlidewinApp;
use SlidewinExample;
use SlidewinRedis;
use Test::More;

my $dir = File::Temp->newdir;

# A query is "STATUS COST NAME". Without a cost, or with "-", the server says
# nothing of it. With a name it answers when there is a file of that name.
my $app = SlidewinApp->start(sub {
    my ($status, $cost, $name) = split ' ', $_[0]{body};

    SlidewinNginx::until_true(sub { -e "$dir/$name" },
                              10 * SlidewinNginx::patience())
        if defined $name;

    return $status, '{"data":{}}', 'Content-Type' => 'application/json',
           ($cost // '-') ne '-' ? ('X-Query-Cost' => $cost) : ();
});

sub go_on { open my $file, '>', "$dir/$_[0]" or die "$dir/$_[0]: $!"; return }

my $redis = SlidewinRedis->start;
my $json = { 'Content-Type' => 'application/json; charset=utf-8' };
# no window ends while the suite runs
my $window = 40 * 86400;
my $names = 0;

for my $store ('shared memory', 'Redis') {
    my $nginx = SlidewinExample->start('graphql', app => $app->address,
        change => [
            'rate=1000r/m' => 'rate=1000r/40d',
            $store eq 'Redis' ? (
                "upstream app {\n" => 'slidewin_redis ' . $redis->url
                                      . " timeout=10s;\nupstream app {\n",
            ) : (),
        ]);
    my $query = sub {
        my ($n, $text) = @_;

        return $nginx->ask($n, '/graphql', $json, 'POST', $text);
    };
    my $begin = sub {
        my ($n, $text) = @_;
        my $client = $nginx->client($n);

        $client->write(SlidewinExample::request('/graphql', $json, 'POST',
                                                $text));

        return $client;
    };
    # what was left while the query ran
    my $left = sub {
        my $answer = $query->(@_);
        my ($left) = ($answer->{header}{ratelimit} // '') =~ /r=(\d+)/;

        return "$answer->{status} " . ($left // 'missing');
    };

    is($left->(1, '200 3'), '200 900', "$store: a query takes its estimate");
    is($left->(1, '200 140'), '200 897',
       '... and gets back what it did not use');
    is($left->(1, '200 12.3'), '200 757', '... or takes what was missing');
    is($left->(1, '500 900'), '500 744',
       '... a decimal number is rounded up; an error is for nothing');
    is($left->(1, '400 1'), '400 744', '... not so a bad query');
    is($left->(1, '200'), '200 743', '... and a query of unknown cost');
    is($left->(1, '200 many'), '200 643', '... is charged its estimate');
    is($left->(1, '504'), '504 543', '... or a cost that is no number');
    is($left->(1, '200 0'), '200 443', '... or one that takes too long');
    is($left->(1, '200 0'), '200 443', '... one without cost is free');
    ok($nginx->logged(qr/\[error\].*"many"/), '... and logged');
    is($query->(1, '200 0')->{header}{'x-query-cost'}, undef,
       'clients do not see what the server says');

    # debt

    is($left->(2, '200 150000'), '200 900', 'more than all points are counted');

    my $reached = () = $app->seen;
    my $late = $query->(2, '200 1');
    my $body = eval { JSON::PP::decode_json($late->{body}) };
    my $error = ($body // {})->{errors}[0] // {};
    my $wait = $late->{header}{'retry-after'} // 0;

    is($late->{status}, 429, '... and then the client waits');
    like($late->{header}{ratelimit}, qr/r=0/, '... without points');
    cmp_ok($wait, '>', 19, '... until the debt has left');
    cmp_ok($wait, '<', 2 * $window, '... in less than two windows');
    is($error->{extensions}{code}, 'RATE_LIMITED',
       '... and is told as GraphQL does');
    is($error->{extensions}{retryAfter}, $wait, '... for how long');
    is($late->{header}{'content-type'}, 'application/json', '... by its type');
    is(scalar(() = $app->seen), $reached, '... the server did not see it');
    is($query->(3, '200 1')->{status}, 200, '... others are served');

    # the estimate decides how many begin

    is(SlidewinNginx::tally(map { $query->(4, '200')->{status} } 1 .. 12),
       '200 x10, 429 x2', 'ten queries of unknown cost');
    is(SlidewinNginx::tally(map { $query->(5, '200 1')->{status} } 1 .. 50),
       '200 x50', '... and more, if they cost less');

    # a client that hangs up

    my $name = 'query' . $names++;

    $reached = () = $app->seen;

    my $leaves = $begin->(6, "200 500 $name");

    ok(SlidewinNginx::until_true(sub { $reached < (() = $app->seen) },
                                 10 * SlidewinNginx::patience()),
       'a query runs');
    $leaves->close;
    # nginx notices that before it answers another
    is($nginx->ask(7, '/graphql')->{status}, 405, '... its client hangs up');
    go_on($name);
    ok(SlidewinNginx::until_true(sub {
        return $left->(6, '200 0') eq '200 400';
    }, 10 * SlidewinNginx::patience()), '... and is charged all the same');

    # running at once

    $name = 'query' . $names++;

    my @running = map { $begin->(8, "200 0 $name") } 1 .. 6;

    ok(SlidewinNginx::until_true(sub {
        return scalar grep { $_->answered } @running;
    }, 10 * SlidewinNginx::patience()), 'five queries at once, and no more');
    go_on($name);

    my @answers = map { $_->answer } @running;
    my ($refused) = grep { $_->{status} == 429 } @answers;

    is(SlidewinNginx::tally(map { $_->{status} } @answers),
       '200 x5, 429 x1', '... are answered');
    is($refused->{header}{'retry-after'}, undef, '... no time is known');
    is_deeply(scalar(eval {
        JSON::PP::decode_json($refused->{body})->{errors}[0]{extensions};
    }), { code => 'RATE_LIMITED', retryAfter => undef }, '... and told as null');

    # what a page of another site can send

    my $form = { 'Content-Type' => 'text/plain' };

    is(SlidewinNginx::tally(map { $nginx->ask(9, @$_)->{status} }
        map { ['/graphql?query={a}'], ['/graphql', {}, 'OPTIONS'],
              ['/graphql', $form, 'POST', '200 900'],
              ['/graphql', {}, 'POST', '200 900'] } 1 .. 10),
       '405 x20, 415 x20', 'an image, a preflight, a form do not come through');
    is($left->(9, '200 0'), '200 900', '... and cost nothing');

    $nginx->stop(allow => qr/\[error\]/);
}

$redis->stop;
$app->stop;

done_testing();
