# A flood does not fill the log: each worker logs one line a second for a
# client, zone and outcome, and says how many it left out.

use strict;
use warnings;

use List::Util ();
use SlidewinNginx;
use SlidewinPreload;
use Test::More;

my $clock = SlidewinPreload->monotonic;
my $patience = SlidewinNginx::patience();

my $nginx = SlidewinNginx->start(
    env => $clock->env,
    main => join('', map { "env $_;\n" } sort keys %{$clock->env}),
    connections => 256,
    http => 'error_log logs/error.log info;
             slidewin_log_level notice;
             slidewin_zone $arg_k zone=one:1m rate=1r/d algorithm=log;
             slidewin_zone $arg_k zone=line:1m rate=1r/10m algorithm=log;
             slidewin_zone $uri zone=uri:1m rate=1r/d algorithm=log;
             slidewin_zone $arg_k zone=two:1m rate=1r/d algorithm=log;
             slidewin_zone $arg_k zone=bad:1m rate=$arg_rate on_error=closed;
             slidewin_zone $arg_k zone=open:1m rate=$arg_rate on_error=open;
             slidewin_zone $arg_k zone=rate:1m rate=$arg_rate;
             slidewin_zone $arg_k zone=cost:1m rate=5r/d on_error=closed;',
    server => 'location = /status { stub_status; }
               location = /one { slidewin zone=one; empty_gif; }
               location = /two { slidewin zone=two; empty_gif; }
               location = /dry { slidewin zone=one dry_run; empty_gif; }
               location = /bad { slidewin zone=bad; empty_gif; }
               location = /open { slidewin zone=open; empty_gif; }
               location = /value/rate {
                   slidewin_log_level off;
                   slidewin zone=rate;
                   empty_gif;
               }
               location = /value/cost {
                   slidewin_log_level off;
                   slidewin zone=cost cost=$arg_c;
                   empty_gif;
               }
               location = /delay { slidewin zone=line delay=1h; empty_gif; }
               location /key/ {
                   slidewin_log_level notice key=on;
                   slidewin zone=uri;
                   empty_gif;
               }');

my $client = $nginx->client;
my $offset = 0;

# moves the clock of the worker, which reads it when the next request arrives
sub later {
    my ($seconds) = @_;

    $clock->set($offset += $seconds);

    $client->get('/free') for 1 .. 3;

    return;
}

# the lines with a text, and how many requests they stand for
sub told {
    my ($text) = @_;
    my @lines = $nginx->errors(qr/$text/);
    my @requests = grep { /, request: "/ } @lines;
    my $more = List::Util::sum0(map {
        /, (\d+) more like it|, the last of (\d+) left out/ ? $1 // $2 : ()
    } @lines);

    return (scalar @lines, @requests + $more);
}

sub flood {
    my ($uri, $n) = @_;

    $client->statuses(($uri) x $n);

    return;
}


# One client and each kind of line. The clock moves only when the suite moves
# it.

my $excess = 'excess: 1\.000 by zone';

my %lines = (
    one => "limiting requests, $excess \"one\"",
    dry => "dry run: would limit request, $excess \"one\"",
    two => "limiting requests, $excess \"two\"",
    bad => 'rejecting request uncounted by zone "bad"',
    open => 'passing request uncounted by zone "open"',
);

my %details = (
    (map { $_ => ', rate: 1r/d, retry after: \d+s' } qw(one dry two)),
    (map { $_ => '' } qw(bad open)),
);
my $more = '(?:, \d+ more like it in the last \d+ms)?';

$client->get("/$_?k=a") for qw(one two);

for my $uri (sort keys %lines) {
    my $start = SlidewinNginx::now();
    flood("/$uri?k=a", 1000);
    my $seconds = SlidewinNginx::now() - $start;
    my ($n) = told($lines{$uri});
    my ($form) = told(": \\*\\d+ $lines{$uri}, client: unix:$details{$uri}$more"
                      . ", server: , request: \"GET /$uri\\?k=a HTTP");

    cmp_ok($n, '>=', 1, "$uri: a flood is told");
    cmp_ok($n, '<=', 1 + $seconds, '... by a line a second at most');
    is($form, $n, '... the client first, the request last');
}

later(5);

for my $uri (sort keys %lines) {
    my $text = $lines{$uri};
    my $ended = qr/: \*\d+ $text, client: unix:, the last of \d+ left out in \d+ms$/;

    is((told($text))[1], 1000, "$uri: all of it is told");
    is(scalar($nginx->errors($ended)), 1, '... what was last when it is over');
}

later(2);
flood('/one?k=a', 1);
my ($before) = told($lines{one});
flood('/one?k=a', 7);
later(1);
flood('/one?k=a', 1);

my @lines = $nginx->errors(qr/$lines{one}/);
is(scalar @lines, $before + 1, 'a second later there is a line again');
like($lines[-1], qr/retry after: \d+s, 7 more like it in the last \d+ms, server/,
     '... and how many there were meanwhile');


# Bad values that clients choose, a rate or a cost: one line a second for a
# zone, for all clients together.

for (['rate', 'rate=no', 'of'], ['cost', 'c=no', 'for']) {
    my ($what, $value, $of) = @$_;
    my $uri = "/value/$what?$value&k=";
    my $text = qr/invalid $what "no" $of slidewin zone "$what", it must be/;

    my $start = SlidewinNginx::now();
    $client->statuses(map { "$uri$_" } 1 .. 500);
    my $seconds = SlidewinNginx::now() - $start;
    my ($n) = told($text);

    cmp_ok($n, '>=', 1, "bad ${what}s are told");
    cmp_ok($n, '<=', 1 + $seconds, '... by a line a second at most');

    later(2);
    $client->get("${uri}a");
    my @lines = $nginx->errors($text);
    is(scalar @lines, $n + 1, '... and again later');
    like($lines[-1], qr/, \d+ more like it in the last \d+ms, client: /,
         '... with how many there were meanwhile');
    is((told($text))[1], 501, '... and all of them are told');
}


# Another client has lines of its own.

$client->get("/one?k=$_") for qw(b c);
flood('/one?k=a', 20);
($before) = told($lines{one});
flood("/one?k=$_", 20) for qw(b c);
is((told($lines{one}))[0], $before + 2, 'each client has its line');


# Requests that wait.

later(5);
{
    my @waiting = map { $nginx->asks('/delay?k=late') } 0 .. 5;

    ok($nginx->busy(5), 'five wait');
    later(5);
    is((told(qr/delaying request, $excess "line"/))[1], 5,
       '... and all of them are told');
    is((told("\\[info\\].*delaying request, $excess \"line\", client: unix:, "
             . 'rate: 1r/10m, wait: \d+ms, server:'))[0], 1,
       '... by one line, a level below');
    $_->close for @waiting;
}


# The key is logged only if configured, and cannot break out of its field.

is(scalar($nginx->errors(qr/key:? "|"a"/)), 0, 'no key so far');

for (['plain', '/key/plain'], ['%22%0d%0a%5c', '/key/\\\\x22\\\\x0d\\\\x0a\\\\x5c'],
     ["\xff%7f", '/key/\\\\xff\\\\x7f'], ['x' x 56, '/key/x{55}\.\.\.'],
     ['x' x 55, '/key/x{55}'], ['"' x 64, '/key/(?:\\\\x22){14}\.\.\.'])
{
    my ($k, $told) = @$_;

    $client->get("/key/$k") for 1 .. 3;
    is(scalar($nginx->errors(qr/zone "uri", client: unix:, .*, key: "$told", server: /)), 1,
       "key=on: $told");
}

later(5);
is(scalar($nginx->errors(qr/ the last of 1 left out in \d+ms, key: "\/key\/plain"$/)),
   1, '... also when it is over');


# More clients than the throttle can tell apart.

my $many = 3000;
my @before = told($lines{one});
my $start = SlidewinNginx::now();

for my $round (1 .. 3) {
    $client->statuses(map { "/one?k=many$_" } 1 .. $many);
}

my $seconds = SlidewinNginx::now() - $start;
my ($n) = told($lines{one});

cmp_ok($n - $before[0], '>=', 256, 'many clients have their lines');
cmp_ok($n - $before[0], '<=', 2 * 512 * (1 + $seconds),
       '... but not any number of them');

later(5);

my $others = List::Util::sum0(map {
    / slidewin left out (\d+) lines on more clients than are told apart in the/
} $nginx->errors(qr/told apart/));
my @after = told($lines{one});

cmp_ok($others, '>', 0, 'there is a line about the others');
is($after[1] - $before[1] + $others, 2 * $many, '... and all are counted');


# A worker that exits logs how many lines it has left out.

later(5);
$client->get('/one?k=end');
flood('/one?k=end', 11);
($before) = told($lines{one});
$client->close;
$nginx->signal('QUIT');
ok(SlidewinNginx::until_true(sub {
       scalar $nginx->errors(qr/zone "one", client: unix:, the last of 10 left out in \d+ms$/);
   }, 10 * $patience), 'QUIT: what was left out is told');
$nginx->stop;

done_testing();
