# examples/honeypot.conf: a client that asks for the bait is out everywhere, and
# all others notice nothing. In shared memory and in Redis.

use strict;
use warnings;

use SlidewinApp;
use SlidewinExample;
use SlidewinRedis;
use Test::More;

my $app = SlidewinApp->start;
my $redis = SlidewinRedis->start;
my @baits = qw(/wp-login.php /wp-admin/setup.php /.env /.git/config
               /phpmyadmin/ //.env /%2eenv /x/../.env /.env?a=b);

for my $store ('shared memory', 'Redis') {
    my $nginx = SlidewinExample->start('honeypot', app => $app->address,
        $store eq 'Redis' ? (change => [
            "upstream app {\n" => 'slidewin_redis ' . $redis->url
                                  . " timeout=10s;\nupstream app {\n",
        ]) : ());
    my $status = sub { return $nginx->ask(@_)->{status} };

    is($nginx->tallied(1, 300, '/'), '200 x300',
       "$store: to look whether a client is banned counts nothing");

    # it springs

    my $reached = () = $app->seen;
    my $bait = $nginx->ask(1, '/wp-login.php');

    is($bait->{status}, 404, 'the bait is not there');
    is($bait->{header}{'retry-after'}, undef, '... and says nothing');

    my $late = $nginx->ask(1, '/');
    my $wait = $late->{header}{'retry-after'} // 'missing';

    is($late->{status}, 403, '... then the client is out');
    ok($wait =~ /^\d+$/ && $wait <= 86400 && $wait > 86300, '... for a day')
        or diag("Retry-After: $wait");
    is($status->(1, '/api/'), 429, '... where a location has its own limits');
    is($status->(1, '/', {}, 'POST', 'x'), 403, '... for other methods');
    is($status->(1, '/.env'), 404, '... and the bait is as before');
    is(scalar(() = $app->seen), $reached, '... the application has not met it');
    is($nginx->tallied(1, 100, '/'), '403 x100', '... which stays so');
    is($status->(1, '/robots.txt'), 200, '... but for robots.txt');
    is($status->(2, '/'), 200, '... for this client alone');
    is(scalar(() = $nginx->errors(qr/127\.0\.0\.1,.* banned for 86400s/)), 1,
       '... and the log says so once');

    for my $n (0 .. $#baits) {
        is($status->(10 + $n, $baits[$n]), 404, "$baits[$n] is a bait");
        is($status->(10 + $n, '/'), 403, '... that bans');
    }

    # it does not

    my $from = sub { return { 'Sec-Fetch-Site' => $_[0] } };

    for my $site (qw(cross-site same-site same-origin unheard-of)) {
        is($status->(30, '/.env', $from->($site)), 404,
           "an image of a page, $site,");
        is($status->(30, '/'), 200, '... bans no visitor');
    }

    is($status->(30, '/.env', $from->('none')), 404,
       'a visitor who asks without a page');
    is($status->(30, '/'), 403, '... is out');
    is($status->(31, '/environment'), 200, 'a path that only looks alike');
    is($status->(31, '/a/.envelope'), 200, '... or lies elsewhere');
    is($status->(31, '/'), 200, '... is no bait');

    # the other limit

    is($nginx->tallied(32, 101, '/api/'), '200 x100, 429 x1',
       'the limit of a location works beside it, with a status of its own');
    is($status->(32, '/'), 200, '... and bans no client');

    $nginx->stop;
}

$redis->stop;
$app->stop;

done_testing();
