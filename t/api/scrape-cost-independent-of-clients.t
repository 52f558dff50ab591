# What a scrape costs does not grow with the number of clients: not its size,
# nor the time of the worker. Prints how long other requests take meanwhile.

use strict;
use warnings;

use POSIX ();
use SlidewinNginx;
use SlidewinStats;
use Test::More;

my $seconds = 8;
my $zones = join '', map {
    "slidewin_zone \$arg_k zone=z$_:64k rate=5r/40d store=local;\n"
} 1 .. 99;

my $nginx = SlidewinNginx->start(
    http => "$zones slidewin_zone \$arg_k zone=big:64m rate=5r/40d
                                  store=local;",
    server => 'location = /big { slidewin zone=big; empty_gif; }
               location = /z1 { slidewin zone=z1; empty_gif; }'
              . SlidewinStats::location());

my ($pid) = $nginx->workers;

# of the worker, user and system, s
sub cpu {
    my @stat = split ' ', SlidewinNginx::slurp("/proc/$pid/stat") =~ s/.*\)//sr;

    return ($stat[11] + $stat[12]) / POSIX::sysconf(POSIX::_SC_CLK_TCK());
}

# bytes, and s of the worker for a scrape
sub scrape {
    my $n = SlidewinNginx::asan() ? 60 : 200;
    my $size = length SlidewinStats::ask($nginx, 'metrics')->{body};
    my $since = cpu();

    SlidewinStats::ask($nginx, 'metrics') for 1 .. $n;

    return ($size, (cpu() - $since) / $n);
}

# ms, of requests one after the other: p50, p99; with a scrape among each N
sub latency {
    my ($every) = @_;
    my $client = $nginx->client;
    my $scraper = $nginx->client;
    my @took;

    for my $n (1 .. 3000) {
        $scraper->write("GET /slidewin/metrics HTTP/1.0\r\n\r\n")
            if $every && $n % $every == 0;

        my $since = SlidewinNginx::now();
        $client->get("/z1?k=$n");
        push @took, 1000 * (SlidewinNginx::now() - $since);

        if ($every && $n % $every == 0) {
            1 while sysread $scraper->{socket}, my $text, 65536;
            $scraper = $nginx->client;
        }
    }

    @took = sort { $a <=> $b } @took;

    return sprintf 'p50 %.3f ms, p99 %.3f ms', $took[1500], $took[2970];
}

$nginx->client->statuses(map { "/big?k=$_" } 1 .. 10);
is(SlidewinStats::zone($nginx, 'big')->{entries}, 10, 'ten clients');
my ($few_bytes, $few_cpu) = scrape();

my $client = $nginx->client;
my $end = SlidewinNginx::now() + $seconds;
my $n = 10;

while (SlidewinNginx::now() < $end && $n < 300_000) {
    my $first = $n + 1;
    $n += 200;
    $client->flood(map { "/big?k=$_" } $first .. $n);
    delete $client->{texts};
}

cmp_ok($n, '>', 1000, 'many clients');
is(SlidewinStats::zone($nginx, 'big')->{entries}, $n, '... all are there');

my ($many_bytes, $many_cpu) = scrape();

diag(sprintf 'a scrape of 100 zones: %d bytes and %.2f ms of the worker at 10 '
             . 'clients, %d bytes and %.2f ms at %d', $few_bytes,
             1000 * $few_cpu, $many_bytes, 1000 * $many_cpu, $n);
diag('other requests: ' . latency(0) . '; with a scrape among ten: '
     . latency(10));

cmp_ok($many_bytes, '<', 1.1 * $few_bytes, 'a scrape is not longer');
cmp_ok($many_cpu, '<', 3 * $few_cpu + 0.0005, '... and takes no more time');

$nginx->stop;

done_testing;
