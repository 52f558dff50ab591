# A worker takes no more memory after many requests than after few.

use strict;
use warnings;

use SlidewinNginx;
use Test::More;

my @algorithms = qw(counter fixed strict log);
my $keys = 1000;

# AddressSanitizer's quarantine would grow until it has its full size
$ENV{ASAN_OPTIONS} .= ',quarantine_size_mb=1,thread_local_quarantine_size_kb=64'
    if defined $ENV{ASAN_OPTIONS};

my $nginx = SlidewinNginx->start(
    http => "slidewin_headers ietf legacy; slidewin_log_level info;\n"
            . join('', map {
                "slidewin_zone \$arg_k zone=$_:1m rate=30r/s algorithm=$_;"
            } @algorithms),
    server => join('', map {
                  "location = /$_ { slidewin zone=$_; empty_gif; }\n"
              } @algorithms)
              . 'location = /all {'
              . join('', map { "slidewin zone=$_;" } @algorithms)
              . 'error_page 429 = /sorry; empty_gif; }
                 location = /sorry { empty_gif; }',
);

my ($worker) = $nginx->workers;
my $n = 0;
my %answers;

# each thousand on a new connection
sub thousand {
    my $client = $nginx->client;
    my @uris = map {
        my $name = ('all', @algorithms)[$n % 5];
        "/$name?k=" . $n++ * 7919 % $keys;
    } 1 .. 960;

    # a client that sends more requests in one write than it may in a second
    push @uris, ('/log?k=hot') x 40;

    $answers{$_}++ for $client->statuses(@uris);

    return;
}

thousand() for 1 .. 20;

my ($fds, $rss) = (SlidewinNginx::fds($worker), SlidewinNginx::rss($worker));

# the next connection may have been accepted before the last one was closed
thousand() for 21 .. 100;

SlidewinNginx::until_true(sub { SlidewinNginx::fds($worker) <= $fds }, 5);

cmp_ok(SlidewinNginx::fds($worker), '<=', $fds,
       '100000 requests: no more descriptors than after 20000');
cmp_ok(SlidewinNginx::rss($worker) - $rss, '<',
       256 * SlidewinNginx::patience() ** 2, '... nor more memory');

is(join(' ', sort keys %answers), '200 429', 'all are admitted or refused');
cmp_ok($answers{429}, '>', 100, '... some of them refused');
is(scalar($nginx->errors(qr/is full/)), 0, 'no client has been forgotten');
is(($nginx->workers)[0], $worker, 'the worker is the same');

$nginx->stop;

done_testing();
