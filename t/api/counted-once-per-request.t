# A request is counted once for each policy, whatever nginx makes of it: internal
# redirects, subrequests, post_action, HEAD, HTTP/2, a client that leaves. It is
# counted when its header is sent, not when a long response ends.

use strict;
use warnings;

use SlidewinApp;
use SlidewinFake;
use SlidewinHTTP2;
use SlidewinNginx;
use SlidewinProcess;
use SlidewinRedis;
use SlidewinStats;
use Test::More;

my $port = SlidewinRedis::free_port();
my $held = SlidewinRedis::free_port();
my $fake = SlidewinFake->start(mode => 'hold');

my $nginx = SlidewinNginx->start(
    http => <<"END", server => <<"END" . SlidewinStats::location());
    slidewin_redis @{[$fake->url]} timeout=20s connect_timeout=20s;
    slidewin_zone \$arg_k zone=a:1m rate=2r/40d store=local;
    slidewin_zone \$arg_k zone=b:1m rate=9r/40d store=local;
    slidewin_zone \$arg_none zone=none:1m rate=9r/40d store=local;
    slidewin_zone \$arg_k zone=wait:1m rate=9r/40d on_error=closed;
    map \$uri \$first { volatile; /first 0; default 1; }
END
    listen 127.0.0.1:$port http2;
    location = /page { slidewin zone=a; error_page 429 /sorry; empty_gif; }
    location = /sorry { slidewin zone=b; return 200 sorry; }
    location = /try { slidewin zone=a; try_files /nothing /then?\$args; }
    location = /then { slidewin zone=a; slidewin zone=b; empty_gif; }
    location = /first { slidewin zone=a if=\$first; slidewin zone=none;
                        try_files /nothing /second?\$args; }
    location = /second { slidewin zone=a if=\$first; slidewin zone=none;
                         empty_gif; }
    location = /late { try_files /nothing /late2; slidewin zone=b; }
    location = /late2 { slidewin zone=none; empty_gif; }
    location = /post { slidewin zone=a; post_action /after; empty_gif; }
    location = /after { slidewin zone=b; empty_gif; }
    location = /ssi.html { slidewin zone=a; ssi on; }
    location = /part.html { slidewin zone=b; }
    location = /plain { slidewin zone=a; empty_gif; }
    location = /long { slidewin zone=a; proxy_buffering off;
                       proxy_pass http://127.0.0.1:$held; }
    location = /wait { slidewin zone=wait; empty_gif; }
END

my %seen = map { $_ => {} } qw(a b none wait);
my %decided;

# grown ZONE...: by how much each has grown since it was asked last
sub grown {
    my ($zone) = @_;
    my $now = SlidewinStats::zone($nginx, $zone)->{outcomes};
    my $more = { map { $_ => $now->{$_} - ($seen{$zone}{$_} // 0) }
                 keys %$now };

    return ($now, $more);
}

sub check {
    my ($name, %wanted) = @_;

    for my $zone (sort keys %wanted) {
        my ($now, $more);

        is(SlidewinStats::becomes(sub {
               ($now, $more) = grown($zone);
               return SlidewinStats::counts($more);
           }, $wanted{$zone}, $wanted{$zone} eq '' ? 0 : 10),
           $wanted{$zone}, "$name: $zone");
        $seen{$zone} = $now;
    }

    return;
}

sub decisions {
    my ($n, $name) = @_;
    my $metrics = SlidewinStats::metrics($nginx);
    my $sum = 0;

    $sum += $metrics->{$_} for grep { /^slidewin_decisions_total/ }
                               keys %$metrics;
    is($sum, $n, "... $name");

    return;
}

is(SlidewinNginx::tally($nginx->status('/page?k=p', 3)), '200 x2, 429 x1',
   'an error page');
check('error_page', a => 'passed 2, rejected 1', b => '');
decisions(3, 'three requests');

$nginx->status('/try?k=t', 2);
check('try_files', a => 'passed 2', b => 'passed 2');
decisions(5, 'five requests');

$nginx->status('/first?k=f', 2);
check('bypassed, then asked', a => 'passed 2', none => 'bypassed 2');

$nginx->status('/late?k=l', 1);
check('bypassed by the second pass alone', b => 'passed 1',
      none => 'bypassed 1');

$nginx->status('/post?k=o', 3);
check('post_action', a => 'passed 2, rejected 1', b => '');

my $root = $nginx->root;
mkdir "$root/html";
for my $file (['ssi', '<!--#include virtual="/part.html?k=x" -->'],
              ['part', 'part'])
{
    open my $html, '>', "$root/html/$file->[0].html" or die "html: $!";
    print $html $file->[1];
    close $html;
}
is($nginx->get('/ssi.html?k=s')->{status}, 200, 'a subrequest is served');
check('a subrequest', a => 'passed 1', b => '');

my $client = $nginx->client;
$client->write("HEAD /plain?k=h HTTP/1.1\r\nHost: a\r\n\r\n");
SlidewinNginx::until_true(sub { $client->answered }, 10);
check('HEAD', a => 'passed 1');

my $http2 = SlidewinHTTP2->new($port);
$http2->request('/plain?k=2') for 1 .. 5;
check('HTTP/2', a => 'passed 2, rejected 3');

# a response whose end does not come
{
    my $listener = IO::Socket::INET->new(LocalAddr => '127.0.0.1',
                                         LocalPort => $held, Listen => 5,
                                         ReuseAddr => 1) or die "listen: $!";
    my $reader = $nginx->asks('/long?k=long');
    my $upstream = $listener->accept;
    sysread $upstream, my $request, 65536;

    check('before its header', a => '');
    syswrite $upstream, "HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\n12345";
    check('with its header', a => 'passed 1');
    syswrite $upstream, '67890';
    is($reader->answer->{body}, '1234567890', '... the end comes');
    check('at its end', a => '');

    # a client that leaves after the decision, before there is a header
    my $leaver = $nginx->asks('/long?k=leaves');
    my $other = $listener->accept;
    sysread $other, $request, 65536;
    $leaver->close;
    check('a client that left after the decision', a => 'passed 1');
}

# a client that leaves before the decision
{
    my $leaver = $nginx->asks('/wait?k=w');

    ok(SlidewinNginx::until_true(sub { $fake->checks },
                                 10 * SlidewinNginx::patience()),
       'a check is under way');
    $leaver->close;

    my $stays = $nginx->asks('/wait?k=v');
    SlidewinNginx::until_true(sub { $fake->checks == 2 },
                              10 * SlidewinNginx::patience());
    $fake->mode('well');
    $fake->release;
    is($stays->answer->{status}, 200, '... another client is served');
    check('of both', wait => 'passed 1');
}

$nginx->stop;

done_testing;
