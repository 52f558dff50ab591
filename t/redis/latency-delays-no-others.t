# A Redis whose replies take up to 200 ms: limits are exact to the unit, and no
# other request has to wait.

use strict;
use warnings;

use SlidewinFake;
use SlidewinFaults;
use SlidewinRedis;
use Test::More;

my $redis = SlidewinRedis->start;
my $way = SlidewinFake->start(relay => $redis->path,
                              delay => sub { rand 0.2 });

for my $workers (1, 2) {
    my $name = "$workers worker" . ($workers > 1 ? 's' : '');
    my $faults = SlidewinFaults->start(
        url => $way->url, workers => $workers,
        redis => 'timeout=20s connect_timeout=20s',
        http => join('', map {
            "slidewin_zone \$arg_k zone=many_$_:1m rate=100r/h algorithm=log"
            . " on_error=$_ deny_cache=off;\n"
        } @SlidewinFaults::MODES),
        server => join('', map {
            "location = /many_$_ { slidewin zone=many_$_; empty_gif; }\n"
        } @SlidewinFaults::MODES));
    my $nginx = $faults->nginx;

    ok($faults->redis_answers, "$name: Redis is asked");

    my @clients = $nginx->clients(40);
    my @others = $nginx->clients(2);

    ok(SlidewinNginx::until_true(sub {
        !grep { $_->get('/well_local?k=w')->{header}{'x-source'} ne 'redis' }
            @others;
    }, 20), "$name: and by all");
    $faults->remember_workers;

    # 240 requests of one client in each mode, and of six others; at any time as
    # many in flight as there are connections

    my (%told, %asked, @free, @turn);
    my @uris = map {
        my $n = $_;
        map { ("/many_$_?k=one$workers", "/many_$_?k=other$workers-" . $n % 6) }
            @SlidewinFaults::MODES;
    } 1 .. 240;
    my $all = @uris;

    for my $client (@clients) {
        $client->request($client->{uri} = shift @uris);
    }

    while (grep { $_->{uri} } @clients) {
        my $bits = '';

        vec($bits, fileno $_->{socket}, 1) = 1
            for grep { $_->{uri} } @clients;
        select my $ready = $bits, undef, undef, 0.005;

        for my $client (grep { $_->{uri} } @clients) {
            vec $ready, fileno $client->{socket}, 1 or next;
            $told{$client->{uri}}{SlidewinFaults::summary($client->answer)}++;
            $client->{uri} = shift @uris;
            $client->request($client->{uri}) if $client->{uri};
        }

        my $other = shift @others;
        my $start = SlidewinNginx::now();

        $other->get('/free');
        push @free, SlidewinNginx::now() - $start;
        push @others, $other;
    }

    for my $mode (@SlidewinFaults::MODES) {
        is_deeply($told{"/many_$mode?k=one$workers"},
                  { '200 PASSED redis' => 100,
                    '429 REJECTED redis retry' => 140 },
                  "$name, on_error=$mode: exactly the limit is admitted");

        my @of = grep { m{^/many_$mode\?k=other} } keys %told;
        is(scalar(@of), 6, '... of six others');
        is(scalar(grep {
               ($told{$_}{'200 PASSED redis'} // 0) != 40
                   || keys %{$told{$_}} > 1
           } @of), 0, '... all that is theirs');
    }

    @free = sort { $a <=> $b } @free;

    cmp_ok(scalar(@free), '>', 100, "$name: " . @free . " requests without a"
           . ' limit meanwhile');
    cmp_ok($free[@free / 2], '<', 0.05, '... do not wait for Redis');
    is($faults->log_lines(qr/./), 0, '... and nothing is wrong with it');

    $faults->ends_clean($name);
    $_->close for @clients, @others;
}

done_testing();
