# $slidewin_source tells what decided, and $slidewin_latency how long the check
# took.

use strict;
use warnings;

use Test::More;

use SlidewinNginx;

my $nginx = SlidewinNginx->start(
    http => <<'END', server => <<'END' . join '', map { <<"END" }
    slidewin_test_store later delay=150ms;
    slidewin_test_store broken fail;
    slidewin_test_store slow delay=150ms fail;

    slidewin_zone $arg_k zone=local:1m rate=2r/h algorithm=log;
    slidewin_zone $arg_k zone=named:1m rate=2r/h algorithm=log store=local;
    slidewin_zone $arg_k zone=later:1m rate=2r/h algorithm=log store=later;
    slidewin_zone $arg_k zone=fallback:1m rate=2r/h algorithm=log store=broken;
    slidewin_zone $arg_k zone=half:1m rate=4r/h algorithm=log store=broken
                  on_error=local:50%;
    slidewin_zone $arg_k zone=little:1m rate=4r/h algorithm=log store=broken
                  on_error=local:1%;
    slidewin_zone $arg_k zone=slow:1m rate=2r/h algorithm=log store=slow;
    slidewin_zone $arg_k zone=open:1m rate=2r/h algorithm=log store=broken
                  on_error=open;
    slidewin_zone $arg_k zone=closed:1m rate=2r/h algorithm=log store=slow
                  on_error=closed;
END
    add_header X-Source "$slidewin_status $slidewin_source" always;
    add_header X-Latency $slidewin_latency always;
    add_header X-Left "$slidewin_limit/$slidewin_remaining" always;
END
    location = /$_ { slidewin zone=$_; empty_gif; }
END
    qw(local named later fallback half little slow open closed));

sub decided {
    my ($uri, $code, $source, $left, $name) = @_;
    my $answer = $nginx->get("$uri?k=a");
    my $header = $answer->{header};

    is($answer->{status}, $code, "$name: $code");
    is($header->{'x-source'}, $source, "$name: $source");
    is($header->{'x-left'}, $left, "$name: $left");
    like($header->{'x-latency'}, qr/^\d+\.\d{3}$/, "$name: the form of a time");

    return $header->{'x-latency'};
}

decided('/local', 200, 'PASSED local', '2/1', 'no store');
decided('/named', 200, 'PASSED local', '2/1', 'the local store');

my $latency = decided('/later', 200, 'PASSED redis', '2/1', 'a store');
cmp_ok($latency, '>', 140, 'the latency is the time it was waited for');
cmp_ok($latency, '<', 150 + 5000 * SlidewinNginx::patience(),
       'in milliseconds');
decided('/later', 200, 'PASSED redis', '2/0', 'a store, again');
decided('/later', 429, 'REJECTED redis', '2/0', 'a store rejects');

decided('/fallback', 200, 'PASSED fallback', '2/1', 'a store that fails');
decided('/fallback', 200, 'PASSED fallback', '2/0', 'and again');
decided('/fallback', 429, 'REJECTED fallback', '2/0', 'is counted locally');

decided('/half', 200, 'PASSED fallback', '2/1', 'half of the limit');
decided('/half', 200, 'PASSED fallback', '2/0', 'is two');
decided('/half', 429, 'REJECTED fallback', '2/0', 'and no more');

decided('/little', 200, 'PASSED fallback', '1/0', 'a share is at least one');
decided('/little', 429, 'REJECTED fallback', '1/0', 'and no more');

$latency = decided('/slow', 200, 'PASSED fallback', '2/1', 'a late failure');
cmp_ok($latency, '>', 140, 'took its time');

decided('/open', 200, 'ERROR_PASSED fail_open', '/', 'open') for 1 .. 3;

$latency = decided('/closed', 503, 'ERROR_REJECTED fail_closed', '/', 'closed');
cmp_ok($latency, '>', 140, 'a late failure that closes took its time');

$nginx->stop;

done_testing();
