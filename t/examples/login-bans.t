# examples/login-bans.conf: failed logins ban an address, for longer each time.
# In shared memory and in Redis.

use strict;
use warnings;

use SlidewinApp;
use SlidewinExample;
use SlidewinRedis;
use Test::More;

my $app = SlidewinApp->start(sub {
    my ($request) = @_;

    return 200, 'the form' if $request->{method} eq 'GET'
                              || $request->{body} =~ /again/;
    return 302, '' if $request->{body} =~ /back/;
    return 303, '' if $request->{body} =~ /right/;
    return 401, '';
});

my $redis = SlidewinRedis->start;
my @stores = ('shared memory', 'Redis');

sub start {
    my ($store, @change) = @_;

    push @change, "location = /login {\n" => "location /api/ {"
                  . " slidewin_api write=on; }\nlocation = /login {\n";
    push @change, "upstream app {\n" => 'slidewin_redis ' . $redis->url
                  . " timeout=10s;\nupstream app {\n" if $store eq 'Redis';

    return SlidewinExample->start('login-bans', app => $app->address,
                                  change => \@change);
}

sub post {
    my ($nginx, $n, $password) = @_;

    return $nginx->ask($n, '/login', {}, 'POST', "password=$password");
}

sub posts {
    my ($nginx, $n, @passwords) = @_;

    return SlidewinNginx::tally(map { post($nginx, $n, $_)->{status} }
                                @passwords);
}

# banned ANSWER, SECONDS, NAME: all of them are left, but for the time that the
# suite has taken
sub banned {
    my ($answer, $seconds, $name) = @_;
    my $wait = $answer->{header}{'retry-after'} // 'missing';

    is($answer->{status}, 429, $name);
    ok($wait =~ /^\d+$/ && $wait <= $seconds && $wait > $seconds - 60,
       "... for $seconds seconds") or diag("Retry-After: $wait");

    return;
}

for my $store (@stores) {
    my $nginx = start($store);

    is(posts($nginx, 1, ('right') x 30), '303 x30',
       "$store: good logins cost nothing");
    is(posts($nginx, 1, ('wrong') x 10), '401 x10', '... ten bad ones pass');

    my $reached = () = $app->seen;
    my $late = post($nginx, 1, 'wrong');

    is($late->{header}{'retry-after'}, 600, '... the next one bans');
    banned(post($nginx, 1, 'right'), 600, '... even the right password');
    banned(post($nginx, 1, 'wrong'), 600, '... and is not prolonged');
    is(scalar(() = $app->seen), $reached, '... the application does not know');
    is($nginx->ask(1, '/login')->{status}, 200, '... the form is there');
    is($nginx->ask(1, '/login', {}, 'PUT', 'x')->{status}, 403,
       '... no other method comes through');
    is(posts($nginx, 2, 'wrong', 'right'), '303 x1, 401 x1',
       '... another address is not banned');
    is(scalar(() = $nginx->errors(qr/127\.0\.0\.1,.* banned for 600s/)), 1,
       '... and the log says so once');

    # all of a moment

    my @clients = map { $nginx->client(3) } 1 .. 30;

    $_->write(SlidewinExample::request('/login', {}, 'POST', 'wrong'))
        for @clients;
    is(SlidewinNginx::tally(map { $_->answer->{status} } @clients),
       '401 x10, 429 x20', 'thirty guesses at once are ten');

    # a success clears the short count, and not that of the day

    is(posts($nginx, 4, ('wrong') x 9, 'right', ('wrong') x 10),
       '303 x1, 401 x19', 'a good login forgives');

    is(posts($nginx, 5, (('wrong') x 9, 'right') x 11, 'wrong'),
       '303 x11, 401 x100', 'who has an account has a hundred guesses a day');
    is(post($nginx, 5, 'wrong')->{header}{'retry-after'}, 86400,
       '... and is banned for a day then');
    banned(post($nginx, 5, 'right'), 86400, '... from the own account, too');

    # an application that does not say 401

    is(posts($nginx, 6, ('wrong', 'again') x 10, ('wrong') x 10),
       '200 x10, 401 x20', 'a form that is there again clears the count');
    is(posts($nginx, 7, ('wrong', 'back') x 10, ('wrong') x 10),
       '302 x10, 401 x20', '... and so does one that is gone back to');

    # a page of another site

    my $from = sub {
        my ($n, $site, $method, $password) = @_;

        return $nginx->ask($n, '/login', { 'Sec-Fetch-Site' => $site },
                           $method, $password)->{status};
    };

    is(SlidewinNginx::tally(map { $from->(8, 'cross-site', 'POST', 'wrong') }
                            1 .. 30), '403 x30', 'a forged attempt is refused');
    is(post($nginx, 8, 'right')->{status}, 303, '... and is for nothing');
    is($from->(8, 'cross-site', 'GET'), 200, '... a link to the form is none');
    is($from->(8, 'same-origin', 'POST', 'right'), 303, '... nor is the form');

    # an operator

    my $lift = sub {
        my ($n, $zone) = @_;

        return $nginx->ask(1, "/api/zones/$zone/keys/127.0.0.$n", {},
                           'DELETE')->{status};
    };

    is($lift->(1, 'login'), 204, 'to lift a ban');
    is(post($nginx, 1, 'right')->{status}, 303, '... lets the address in');
    is($lift->(5, 'login'), 204, '... but not with one of the day');
    banned(post($nginx, 5, 'right'), 86400, '... which goes on');
    is(scalar(() = $nginx->errors(
        qr/zone "login_day",.*127\.0\.0\.5,.* banned for 86400s/)), 1,
       '... the log says which it is');
    is($lift->(5, 'login_day'), 204, '... until it is lifted as well');
    is(post($nginx, 5, 'right')->{status}, 303, '... then the address is in');

    $nginx->stop;
}

# the times of the example, 600 times faster, on both stores at once

my @all = map {
    start($_, 'rate=10r/10m ban=10m..1d' => 'rate=2r/s ban=1s..4s')
} @stores;

# ends PASSWORD, STATUS, BEGUN, SECONDS: hits all the while, until it is over.
# A hit is decided between the times before and after it.
sub ends {
    my ($password, $status, $begun, $seconds) = @_;
    my (@ended, @last);

    SlidewinNginx::until_true(sub {
        for (grep { !$ended[$_] } 0 .. $#all) {
            my $from = SlidewinNginx::now();

            if (post($all[$_], 9, $password)->{status} == $status) {
                $ended[$_] = SlidewinNginx::now();
            } else {
                $last[$_] = $from;
            }
        }
        return !grep { !$ended[$_] } 0 .. $#all;
    }, 20 * SlidewinNginx::patience());

    for (0 .. $#all) {
        cmp_ok(($ended[$_] // 0) - $begun->[$_]{from}, '>=', $seconds - 0.05,
               "$stores[$_]: a ban of $seconds s lasts as long");
        cmp_ok(($last[$_] // 0) - $begun->[$_]{to}, '<=', $seconds + 0.05,
               '... and ends, whatever was sent');
    }

    return;
}

# guesses N, SECONDS: that many pass, and the next one bans; when that was
sub guesses {
    my ($n, $seconds) = @_;
    my @begun;

    for my $nginx (@all) {
        is(posts($nginx, 9, ('wrong') x $n), "401 x$n", "guesses: $n");

        my $from = SlidewinNginx::now();

        is(post($nginx, 9, 'wrong')->{header}{'retry-after'}, $seconds,
           "... then a ban of $seconds s");
        push @begun, { from => $from, to => SlidewinNginx::now() };
    }

    return \@begun;
}

ends('wrong', 401, guesses(2, 1), 1);
# the one that came through was a guess as well
ends('right', 303, guesses(1, 2), 2);
guesses(2, 1);

$_->stop for @all;
$redis->stop;
$app->stop;

done_testing();
