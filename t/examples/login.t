# examples/login.conf: wrong passwords are limited, right ones are not. In
# shared memory and in Redis.

use strict;
use warnings;

use MIME::Base64 ();
use SlidewinApp;
use SlidewinExample;
use SlidewinRedis;
use Test::More;

# the right password gets 303 and 200, others 401 or 403, the form 200
my $app = SlidewinApp->start(sub {
    my ($request) = @_;
    my $right = $request->{uri} eq '/token' ? 200 : 303;

    return 200, 'the form' if $request->{method} eq 'GET';
    return 200, '' if $request->{method} eq 'HEAD';
    return $right, '' if $request->{body} =~ /right/;
    return 403, '' if $request->{body} =~ /locked/;
    return 500, '' if $request->{body} =~ /broken/;
    return if $request->{body} =~ /silent/;

    my $basic = MIME::Base64::decode_base64(
        ($request->{header}{authorization} // '') =~ s/^Basic //r);

    return $basic =~ /:right$/ ? $right : 401, '';
});

my $redis = SlidewinRedis->start;

for my $store ('shared memory', 'Redis') {
    my $nginx = SlidewinExample->start('login', app => $app->address,
        $store eq 'Redis' ? (change => [
            "upstream app {\n" => 'slidewin_redis ' . $redis->url
                                  . " timeout=10s;\nupstream app {\n",
        ]) : ());

    my $post = sub {
        my ($n, $password) = @_;

        return $nginx->ask($n, '/login', {}, 'POST', "password=$password");
    };
    my $posts = sub {
        my ($n, @passwords) = @_;

        return join ' ', map { $post->($n, $_)->{status} } @passwords;
    };

    # right passwords

    is($posts->(1, ('right') x 10), join(' ', (303) x 10),
       "$store: ten good logins cost nothing");
    is($posts->(1, ('wrong') x 5), join(' ', (401) x 5),
       '... five bad ones are judged by the application');

    my $reached = () = $app->seen;
    my $late = $post->(1, 'wrong');

    is($late->{status}, 429, '... the sixth is not');
    cmp_ok($late->{header}{'retry-after'}, '>', 0, '... and is told to wait');
    cmp_ok($late->{header}{'retry-after'}, '<=', 60, '... up to a minute');
    is($posts->(1, 'right'), 429, '... even with the right password');
    is(scalar(() = $app->seen), $reached,
       '... neither reaches the application');
    is($posts->(2, 'wrong', 'right'), '401 303', '... others are judged');

    is($posts->(3, ('locked') x 6), join(' ', (403) x 5, 429),
       '403 counts like 401');

    is($posts->(9, ('broken') x 10, 'wrong'), join(' ', (500) x 10, 401),
       'no other failure does');

    # the form

    is($nginx->ask(1, '/login')->{status}, 200,
       'the form is there for all, and');
    is($posts->(1, 'right'), 429, '... to look at it does not forgive');
    is($nginx->tallied(4, 20, '/login'), '200 x20', '... nor is it counted');
    is($posts->(4, 'wrong'), 401, '... indeed');
    is($nginx->ask(1, '/login', {}, 'HEAD')->{status}, 200, '... nor is HEAD');
    for my $request ('PUT /login', 'PUT /token', 'GET /token') {
        my ($method, $uri) = split ' ', $request;

        is($nginx->ask(5, $uri, {}, $method, 'x')->{status}, 403,
           "$request does not come through");
    }

    # a success clears the short limit, not the one of the hour

    is($posts->(6, ('wrong') x 4, 'right', ('wrong') x 5, 'wrong'),
       join(' ', (401) x 4, 303, (401) x 5, 429),
       'a good login forgives bad ones');

    my @attack = map { (('wrong') x 4, 'right') } 1 .. 15;
    my @answers = map { $post->(7, $_)->{status} } @attack;

    is(scalar(grep { $_ == 401 } @answers), 50,
       'an account of the guesser is worth fifty guesses in an hour');
    is($posts->(7, 'right'), 429, '... and then none');
    ok(scalar $nginx->errors(qr/zone "login_hour"/), '... by that limit');

    # all at once

    my @clients = map { $nginx->client(8) } 1 .. 30;

    $reached = () = $app->seen;
    $_->write(SlidewinExample::request('/login', {}, 'POST', 'wrong'))
        for @clients;
    is(SlidewinNginx::tally(map { $_->answer->{status} } @clients),
       '401 x5, 429 x25', 'thirty guesses at once are five');
    is(scalar(() = $app->seen), $reached + 5,
       '... for the application as well');

    # clients that do not wait for the answer; the application takes one request
    # after the other, so after the last answer nginx has finished all of them

    for my $i (1 .. 5) {
        my $before = () = $app->seen;
        my $silent = $nginx->client(10);

        $silent->write(SlidewinExample::request('/login', {}, 'POST',
                                                'silent'));
        SlidewinNginx::until_true(sub {
            return $before < (() = $app->seen);
        }, 60);
        $silent->close;
    }

    is($posts->(11, 'right'), 303, 'five who leave before the answer');
    is($posts->(10, 'wrong'), 429, '... have guessed');

    # one account from many addresses

    my $token = sub {
        my ($n, $user, $password, $body) = @_;
        my $basic = MIME::Base64::encode_base64("$user:$password", '');

        return $nginx->ask($n, '/token', { Authorization => "Basic $basic" },
                           'POST', $body // '')->{status};
    };

    is(join(' ', map { $token->(20, 'ann', 'right') } 1 .. 30),
       join(' ', (200) x 30), 'good tokens cost nothing');
    is(SlidewinNginx::tally(map { $token->(20 + $_, 'ann', 'wrong') } 1 .. 25),
       '401 x20, 429 x5', 'an account is guessed at from many addresses');
    ok(scalar $nginx->errors(qr/zone "account"/), '... by its own limit');
    is($token->(60, 'bob', 'wrong'), 401, '... another is not');
    is(join(' ', map { $token->(61, 'carl', $_) } ('wrong') x 6),
       '401 401 401 401 401 429', 'an address has its limit here as well');
    is(join(' ', map { $token->(62 + $_, 'dora', 'wrong') } 1 .. 19),
       join(' ', (401) x 19), 'an account that was guessed at');
    is($token->(90, 'dora', 'right'), 200, '... and whose owner comes');
    is(SlidewinNginx::tally(map { $token->(90 + $_, 'dora', 'wrong') } 1 .. 21),
       '401 x20, 429 x1', '... begins anew');
    is(join(' ', map { $token->(120, 'eve', 'x', 'broken') } 1 .. 25),
       join(' ', (500) x 25), 'other failures');
    is($token->(120, 'eve', 'wrong'), 401, '... do not count for it');
    is($nginx->ask(121, '/token', {}, 'POST', '')->{status}, 401,
       'without a name the address counts');

    my @keys = @{$redis->command('KEYS', '*')};

    is(scalar(grep { /:login_hour$/ } @keys) > 0, $store eq 'Redis',
       'and all is counted where it is said to be');

    $nginx->stop;
}

$redis->stop;
$app->stop;

done_testing();
