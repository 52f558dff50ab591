# A request counts when its header is complete, not before.

use lib 't/lib';
use Test::Nginx::Socket 'no_plan';
use SlidewinClient;

our $UserFiles = <<'END';
>>> file
content
END

run_tests();

__DATA__

=== nothing is counted while a header trickles in
--- http_config
slidewin_zone $remote_addr zone=one:1m rate=50r/h algorithm=log;
--- user_files eval: $::UserFiles
--- config
location = /file {
    slidewin zone=one;
}
location = /peek {
    slidewin zone=one cost=0;
    add_header X-Remaining $slidewin_remaining;
    alias html/file;
}
--- client
my $remaining = sub { get('/peek')->{headers}{'x-remaining'} };
my @slow = map { tcp() } 1 .. 20;

for my $bytes ("GET /file", " HTTP/1.1\r\n", "Host: a\r\n", "X-Slow: 1",
               "\r\nX-Slow: 2\r\n", "\r")
{
    $_->write($bytes) for @slow;
    is($remaining->(), 50, 'not counted');
}

$_->close for splice @slow, 0, 5;
is($remaining->(), 50, 'those that left were never counted');

for my $i (1 .. 15) {
    $slow[$i - 1]->write("\n");
    is($slow[$i - 1]->response->{status}, 200, 'complete');
    is($remaining->(), 50 - $i, 'counted');
}
