# Requests that wait behind a check share its rejection, unless a unit was
# refunded, or the client cleared, after that check was sent: then they check
# for themselves, and get what they would have got alone.

use strict;
use warnings;

use File::Temp ();
use IO::Socket::UNIX ();
use SlidewinNginx;
use SlidewinRedis;
use Test::More;

my $redis = SlidewinRedis->start;
my $dir = File::Temp::tempdir('slidewin.XXXXXX', TMPDIR => 1, CLEANUP => 1);

chmod 0755, $dir;

# the upstream answers when the suite says so
my $app = IO::Socket::UNIX->new(Local => "$dir/app", Listen => 10)
    or die "app: $!";

chmod 0777, "$dir/app";

my $nginx = SlidewinNginx->start(
    http => "slidewin_redis @{[$redis->url]} timeout=30s connect_timeout=20s;
             slidewin_zone \$arg_k zone=one:1m rate=1r/h algorithm=log
                           on_error=closed;",
    server => join '', 'location = /status { stub_status; }', map {
        my ($name, $what) = @$_;
        "location = /$name { slidewin zone=one $what; empty_gif; }
         location = /held_$name { slidewin zone=one $what;
                                  proxy_pass http://unix:$dir/app; }\n"
    } ['back', 'count=404'], ['forgiven', 'reset=200']);

for my $name (qw(back forgiven)) {
    my $uri = "$name?k=$name";
    my ($held, $first, @others) = map { $nginx->client } 1 .. 5;

    $held->request("/held_$uri");
    my $peer = $app->accept;
    like(scalar <$peer>, qr/GET/, "$name: one has the unit, and is answered late");

    $redis->signal('STOP');
    $first->request("/$uri");
    ok($nginx->busy(2), '... while another is asked for');

    # its end refunds a unit, after the check of the second was sent
    print $peer "HTTP/1.0 200 OK\r\nContent-Length: 0\r\n\r\n";
    close $peer;
    is($held->answer->{status}, 200, '... it gives back');
    ok($nginx->busy(1), '... and has ended');

    $_->request("/$uri") for @others;
    ok($nginx->busy(4), '... when others come');
    $redis->signal('CONT');

    is($first->answer->{status}, 429, '... the one that was asked for is refused');
    is(SlidewinNginx::tally(map { $_->answer->{status} } $others[0]), '200 x1',
       '... and the next one is not');
    $_->answer for @others[1, 2];
    $_->close for $held, $first, @others;
}

$nginx->stop;

done_testing();
