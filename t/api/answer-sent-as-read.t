# A long answer goes out in parts, as fast as its client reads: it is the same
# for all clients, and the worker waits without turning.

use strict;
use warnings;

use IO::Uncompress::Gunzip ();
use SlidewinApi;
use SlidewinNginx;
use SlidewinRedis;
use Test::More;

my $zones = 300;
my $port = SlidewinRedis::free_port();

my $nginx = SlidewinNginx->start(
    http => join('', map { "slidewin_zone \$arg_k zone=zone_number_$_:32k "
                           . "rate=${_}r/40d;\n" } 1 .. $zones),
    server => <<"END",
        listen 127.0.0.1:$port http2;
        location /slidewin/ { slidewin_api; }
        location /slow/ { slidewin_api; limit_rate 200k; }
        location /gzip/ { slidewin_api; gzip on; gzip_types *; }
        location /postponed/ { slidewin_api; postpone_output 1m; }
        location = /last { slidewin zone=zone_number_$zones; empty_gif; }
        location /timeout/ { slidewin_api; send_timeout 1s; }
        location /ssi {
            ssi on;
            default_type text/html;
            return 200 '<!--#include virtual="/slidewin/zones" -->|<!--#include virtual="/slidewin/metrics" -->|<!--#include virtual="/slidewin/zones" -->';
        }
END
);

sub sorted { return join '', sort split //, $_[0] }

sub busy_ticks {
    my ($pid) = @_;
    my @stat = split ' ', SlidewinNginx::slurp("/proc/$pid/stat")
                          =~ s/.*\) //sr;
    return $stat[11] + $stat[12];
}

my $whole = SlidewinApi::ask($nginx, 'GET', '/slidewin/zones');

is($whole->{header}{'transfer-encoding'}, 'chunked', 'a long answer');
is(SlidewinApi::jq('length', $whole->{body}), $zones, '... is whole');
is(SlidewinApi::ask($nginx, 'HEAD', '/slidewin/zones')->{status}, 200,
   '... has a HEAD');

# other readers

my $slow = SlidewinApi->connect($nginx)->slowly(3000, 0.002);
is($slow->ask_here('GET', '/slidewin/zones')->{body}, $whole->{body},
   'a slow client gets the same');
is($slow->slowly->ask_here('GET', '/slidewin/zones')->{body}, $whole->{body},
   '... and the same once more, on that connection');

is(SlidewinApi::ask($nginx, 'GET', '/slow/zones')->{body}, $whole->{body},
   'limit_rate');
is(SlidewinApi::ask($nginx, 'GET', '/slidewin/zones', version => '1.0')->{body},
   $whole->{body}, 'HTTP/1.0');

is(SlidewinApi::ask($nginx, 'GET', '/postponed/zones')->{body}, $whole->{body},
   'postpone_output that is longer than a part');

my $zipped = SlidewinApi::ask($nginx, 'GET', '/gzip/zones',
                              fields => { 'Accept-Encoding' => 'gzip' });
is($zipped->{header}{'content-encoding'}, 'gzip', 'gzip');
IO::Uncompress::Gunzip::gunzip(\$zipped->{body}, \my $plain);
is($plain, $whole->{body}, '... has the same inside');

my @parts = split /\|/, SlidewinApi::ask($nginx, 'GET', '/ssi')->{body};
is($parts[0], $whole->{body}, 'SSI includes a long answer');
like($parts[1], qr/^slidewin_limit\{zone="zone_number_$zones"\} $zones$/m,
     '... and another');
is($parts[2], $whole->{body}, '... and the first one again');

my $ssi = SlidewinApi->connect($nginx)->slowly(8192, 0.001);
is((split /\|/, $ssi->ask_here('GET', '/ssi')->{body})[2], $whole->{body},
   '... for a slow client as well');

# pipelined

my $client = SlidewinApi->connect($nginx);
$client->write(join '', map { SlidewinApi::text('GET', "/slidewin/$_") }
                        qw(zones info zones nosuch zones));
my @answers = map { $client->answer('GET') } 1 .. 5;
is(join(' ', map { $_->{status} } @answers), '200 200 200 404 200',
   'requests behind a long answer are answered');
is($answers[$_]{body}, $whole->{body}, "... answer $_ is the same")
    for 0, 2, 4;

# HTTP/2

my $h2 = `curl -s --http2-prior-knowledge http://127.0.0.1:$port/slidewin/zones`;
is($h2, $whole->{body}, 'HTTP/2');
$h2 = `curl -s --http2-prior-knowledge --limit-rate 400k http://127.0.0.1:$port/slidewin/zones`;
is($h2, $whole->{body}, '... for a slow client');
my $windows = join " ", map { "http://127.0.0.1:$port/slidewin/zones?$_" }
                   1 .. 4;
my $four = `nghttp -w 14 -W 14 $windows 2>/dev/null`;
is(length $four, 4 * length $whole->{body}, '... with small windows');
# their frames come in any order
ok(sorted($four) eq sorted($whole->{body} x 4), '... the same in four streams');

# clients that stop reading, or leave

close $_->{socket} for $slow, $ssi, $client;

my ($worker) = $nginx->workers;
SlidewinNginx::idle($worker);
my $files = SlidewinNginx::fds($worker);

my @stopped = map { SlidewinApi->connect($nginx) } 1 .. 5;
for (@stopped) {
    setsockopt $_->{socket}, Socket::SOL_SOCKET(), Socket::SO_RCVBUF(), 4096;
    $_->write(join '', map { SlidewinApi::text('GET', '/slidewin/zones') }
                       1 .. 20);
}

ok(SlidewinNginx::idle($worker), 'the worker waits for clients that stop');
my $ticks = busy_ticks($worker);
SlidewinNginx::nap(0.5);
cmp_ok(busy_ticks($worker) - $ticks, '<', 20, '... without work');
is(SlidewinApi::ask($nginx, 'GET', '/slidewin/zones')->{body}, $whole->{body},
   '... and answers others');

is($stopped[0]->answer('GET')->{body}, $whole->{body},
   'one that reads on gets all');
close $_->{socket} for @stopped;

ok(SlidewinNginx::until_true(sub { SlidewinNginx::fds($worker) <= $files },
                             20 * SlidewinNginx::patience()),
   'clients that leave are noticed');

my $late = SlidewinApi->connect($nginx);
$late->write(join '', map { SlidewinApi::text('GET', '/timeout/zones') }
                      1 .. 20);
ok(SlidewinNginx::until_true(sub { SlidewinNginx::fds($worker) > $files },
                             20 * SlidewinNginx::patience()),
   'one more stops reading');
ok(SlidewinNginx::until_true(sub { SlidewinNginx::fds($worker) <= $files },
                             20 * SlidewinNginx::patience()),
   '... until send_timeout');

is(SlidewinApi::ask($nginx, 'GET', '/slidewin/zones')->{body}, $whole->{body},
   'nothing has changed');

# a zone is looked at when its turn comes, and once for all its metrics: all
# zones of all workers at once would hold up other requests

my $reader = SlidewinApi->connect($nginx);
$reader->write(SlidewinApi::text('GET', '/slidewin/metrics'));
ok(SlidewinNginx::idle($worker), 'a client does not read its scrape');
is(SlidewinNginx::tally($nginx->status('/last?k=a', 3)), '200 x3',
   '... meanwhile its last zone is used');

my $scrape = $reader->answer('GET')->{body};
my $last = qr/zone="zone_number_$zones"/;

like($scrape, qr/^slidewin_evaluations_total\{$last,outcome="passed",source="local"\} 3$/m,
     'the scrape has what came since it began');
$nginx->status('/last?k=a', 2);
like($scrape, qr/^slidewin_utilization_ratio_count\{$last\} 3$/m,
     '... the same in all metrics');

$nginx->stop;
done_testing();
