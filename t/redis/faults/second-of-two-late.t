# Of two Redis that count one request, the second replies after its timeout: its
# on_error decides, and the first has counted what passed.

use strict;
use warnings;

use File::Temp ();
use SlidewinFake;
use SlidewinNginx;
use SlidewinRedis;
use Test::More;

my $timeout = 1;
my $dir = File::Temp::tempdir('slidewin.XXXXXX', TMPDIR => 1, CLEANUP => 1);
my %redis = map { $_ => SlidewinRedis->start } qw(a b);

my $late = SlidewinFake->start(relay => $redis{b}->path, delay => sub {
    return -e "$dir/slow" ? 3 * $timeout : 0;
});

sub slow {
    open my $file, '>', "$dir/slow" or die "slow: $!";
    close $file;

    return;
}

# on_error, what a request gets, what the others count of it
my %mode = (
    closed => ['closed', '503 ERROR_REJECTED fail_closed closed', 0],
    open => ['open', '200 ERROR_PASSED fail_open open', 1],
    share => ['local', '200 PASSED fallback share', 1],
    full => ['local:20%', '429 REJECTED fallback full', 0],
);
my @modes = sort keys %mode;

# a connection for each, so that the breaker of one does not affect another
my ($http, $server) = ('', '');

for my $mode (@modes) {
    $http .= "slidewin_redis @{[$late->url]} name=$mode timeout=${timeout}s"
             . " connect_timeout=20s;\n"
             . "slidewin_zone \$arg_k zone=$mode:1m rate=5r/h algorithm=log"
             . " store=$mode on_error=$mode{$mode}[0];\n";

    $server .= "location = /$mode { slidewin zone=$mode cost=0; empty_gif; }\n"
               . "location = /last_$mode { slidewin zone=local;"
               . " slidewin zone=a; slidewin zone=$mode; empty_gif; }\n"
               . "location = /first_$mode { slidewin zone=$mode;"
               . " slidewin zone=a; slidewin zone=local; empty_gif; }\n"
               . "location = /alone_$mode { slidewin zone=$mode;"
               . " empty_gif; }\n";
}

my $nginx = SlidewinNginx->start(http => <<"END", server => <<"END");
    slidewin_redis @{[$redis{a}->url]} name=a timeout=20s connect_timeout=20s;
    slidewin_log_level info;
    slidewin_zone \$arg_k zone=local:1m rate=40r/h algorithm=log store=local;
    slidewin_zone \$arg_k zone=a:1m rate=40r/h algorithm=log store=a
                  on_error=closed;
    $http
END
    add_header X-Source \$slidewin_source always;
    add_header X-Zone \$slidewin_zone always;
    location = /local { slidewin zone=local cost=0; empty_gif; }
    location = /a { slidewin zone=a cost=0; empty_gif; }
    $server
END

my $peeks = $nginx->client;

sub left { return $peeks->get($_[0])->{header}{'x-remaining'} // '-' }

# Redis gets refunds after the client has its response
my $patience = 10 * SlidewinNginx::patience();

sub becomes {
    my ($uri, $wanted, $text) = @_;
    my $left;

    # a refund that was missing once is not waited for again
    SlidewinNginx::until_true(sub {
        return ($left = left($uri)) eq $wanted;
    }, $patience) or $patience = 0;

    return is($left, $wanted, $text);
}

sub well {
    my ($mode) = @_;

    return SlidewinNginx::until_true(sub {
        my $header = $peeks->get("/$mode?k=well")->{header};
        return ($header->{'x-source'} // '') eq 'redis';
    }, 20 * SlidewinNginx::patience());
}

for my $order (qw(last first)) {
    ok(well($_), "$order: all is well for $_") for @modes;

    # a fallback that others have used up, while Redis is healthy
    slow();
    my $used = $nginx->client;
    $used->get("/alone_full?k=$order-full");
    unlink "$dir/slow";

    ok(well('full'), "$order: and again");

    my @clients = $nginx->clients(scalar @modes);

    slow();

    for my $i (0 .. $#modes) {
        $clients[$i]->request("/${order}_$modes[$i]?k=$order-$modes[$i]");
    }

    for my $i (0 .. $#modes) {
        my ($on_error, $wanted, $counted) = @{$mode{$modes[$i]}};
        my $answer = $clients[$i]->answer;

        is(join(' ', $answer->{status}, map { $_ // '-' }
                @{$answer->{header}}{qw(x-status x-source x-zone)}),
           $wanted, "asked $order and late: on_error=$on_error decides");
    }

    for my $mode (@modes) {
        becomes("/$_?k=$order-$mode", 40 - $mode{$mode}[2],
                "... $mode: $_ has counted what passed") for qw(local a);
    }

    unlink "$dir/slow";

    # the second may have counted the check, and was not asked again
    for my $mode (@modes) {
        ok(well($mode), "... $mode: it answers in time again");

        my $left = left("/$mode?k=$order-$mode");
        my $asked = $mode eq 'full' ? 2 : 1;

        cmp_ok($left, '>=', 5 - $asked, '... and was asked once');
    }

    for my $mode (@modes) {
        becomes("/$_?k=$order-$mode", 40 - $mode{$mode}[2],
                "... $mode: $_ has counted the same still") for qw(local a);
    }
}

$peeks->close;
$nginx->stop;

done_testing();
