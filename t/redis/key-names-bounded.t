# Every client is one key in Redis, of bounded length and plain text, whatever
# the client's own key is; and no log names it.

use strict;
use warnings;

use Digest::SHA ();
use SlidewinNginx;
use SlidewinRedis;
use Test::More;

my $redis = SlidewinRedis->start;

# computes slots; nothing is counted in it
my $cluster = SlidewinRedis->start(args => ['--cluster-enabled', 'yes']);

my $zones = join '', map {
    my ($name, $key, $algorithm) = @$_;
    "slidewin_zone $key zone=$name:1m rate=1r/40d algorithm="
    . ($algorithm // 'log') . " deny_cache=off;\n";
} (['field', '$http_x_key'], ['path', '$key'], ['a', '$http_x_key'],
   ['a.b', '$http_x_key'], ['address', '$binary_remote_addr'],
   ['one', '$http_x_key', 'counter'], ['two', '$http_x_key', 'fixed'],
   ['three', '$http_x_key', 'strict'], ['x' x 64, '$http_x_key']);

my $longest = 'x' x 64;

# as detailed as users have their logs
my $main = 'error_log logs/loud.log info;';

my $nginx = SlidewinNginx->start(
    main => $main,
    http => "large_client_header_buffers 4 256k;
             set_real_ip_from unix:;
             slidewin_redis @{[$redis->url]} timeout=5s connect_timeout=5s;
             $zones",
    server => "add_header X-Source \$slidewin_source always;
               location = /field { slidewin zone=field; empty_gif; }
               location ~ ^/path/(?<key>(?s:.)*)\$ {
                   slidewin zone=path; empty_gif;
               }
               location = /a { slidewin zone=a; empty_gif; }
               location = /a.b { slidewin zone=a.b; empty_gif; }
               location = /address { slidewin zone=address; empty_gif; }
               location = /long { slidewin zone=$longest; empty_gif; }
               location = /all {
                   slidewin zone=field; slidewin zone=one; slidewin zone=two;
                   slidewin zone=three; empty_gif;
               }
              ",
);

my $client = $nginx->client;

sub told {
    my ($answer) = @_;

    return "$answer->{status} " . ($answer->{header}{'x-source'} // '-');
}

sub tally { my %n; $n{$_}++ for @_;
            return join ', ', map { "$_ x$n{$_}" } sort keys %n }

sub field { return told($client->get('/field', 'X-Key' => $_[0])) }

sub path {
    my ($key) = @_;

    return told($client->get('/path/' . join '', map { sprintf '%%%02x', ord }
                                             split //, $key));
}

sub keys_now {
    my @keys = sort @{$redis->command('KEYS', '*')};

    return @keys;
}

# Runs the code and returns the commands that nginx sent to Redis meanwhile.
sub monitor {
    my ($code) = @_;
    my $monitor = $redis->client;
    my $mark = 'mark-' . rand;
    my @lines;

    $monitor->call('MONITOR') eq 'OK' or die 'no MONITOR';
    $code->();
    $redis->command('ECHO', $mark);

    while ((my $line = $monitor->reply) !~ /$mark/) {
        push @lines, $1 if $line =~ /^\S+ \[\d+ 127\.0\.0\.1:\d+\] (.*)/s;
    }

    # readings of the clock do not matter here
    return grep { !/^"TIME"$/ } @lines;
}

is(field('first'), '200 redis', 'Redis counts');
is(join(' ', keys_now()), 'sw:{first}:field', '<prefix>{<client>}:<zone>');


# Unusual keys.

my @odd = (
    ' ', '  ', "\t", "\r\n", "\n", "a\r\nb", "a\nb", "a\rb",
    "*3\r\n\$7\r\nFLUSHALL\r\n", "*3\r\n\$7\r\nFLUSHALL",
    "*1\r\n\$8\r\nFLUSHALL\r\n", "\r\nFLUSHALL\r\n", 'FLUSHALL',
    '%s', '%b', '%n', '%', '{}', '{', '}', '}{', '{a}', '{a}b', '{b}a', 'a}:field',
    '"', "'", '\\', '\\x00', '$', '$uri', ':', '::', ';', ',', '?', '#', '##',
    '&', '=', '*', '[a]', "\x7f", "\x80", "\xff", "\xff\xff", "\xfe\xff",
    "\xc3\xa9", "e\xcc\x81", "\xf0\x9f\x98\x80", 'a b', 'a+b', 'a%20b',
    '<script>', "';--", "\x01", "\x01\x02", 'x' x 64, 'x' x 65, 'x' x 8000,
    (map { 'x' x 64 . $_ } "\xff", "\r\n", '{}', ' '),
    (map { '#' . Digest::SHA::sha1_hex($_) } ' ', '{}', 'plain'),
    (map { Digest::SHA::sha1_hex($_) } ' ', '{}', 'plain'), 'plain',
);

$redis->command('FLUSHALL');

my @seen = monitor(sub {
    is(tally(map { path($_) } @odd), '200 redis x' . @odd,
       'odd keys are different clients');
});

is(scalar(@seen), scalar(@odd), 'one command for each');
is(scalar(grep { /^"EVALSHA" "[0-9a-f]{40}" "1" "sw:\{[!-~]+\}:path" "/ }
          @seen), scalar(@odd), '... a check of one key');

my @keys = keys_now();

is(scalar(@keys), scalar(@odd), '... and one key for each');
is(join(' ', grep { !/\Asw:\{(?!#)[!-z|~]{1,64}\}:path\z/
                    && !/\Asw:\{#[0-9a-f]{40}\}:path\z/ } @keys), '',
   '... all of them plain text, and none too long');
is(tally(map { path($_) } @odd), '429 redis x' . @odd,
   '... and each is known again');
is(scalar(keys_now()), scalar(@odd), '... by the same key');
is(tally(map { path($_) } 'a' .. 'z'), '200 redis x26',
   'plain clients beside them are others');
is(scalar(grep { $_ eq 'sw:{#' . Digest::SHA::sha1_hex("\r\n") . '}:path' }
          @keys), 1, 'the name of one that is not plain is its digest');


# Long keys, of every length at which the stored form changes.

my @lengths = (1 .. 130, 4095 .. 4097, 8191, 8192, 65534 .. 65537, 100_000);

$redis->command('FLUSHALL');
is(tally(map { field('k' x $_) } @lengths), '200 redis x' . @lengths,
   'keys of every length are different clients');
is(tally(map { field('k' x $_) } @lengths), '429 redis x' . @lengths,
   '... and each is known again');

@keys = keys_now();
is(scalar(@keys), scalar(@lengths), '... by a key of its own');
is(scalar(grep { length > length 'sw:{}:field' . 'k' x 64 } @keys), 0,
   '... that is not long');

my $long = 'k' x 100_000;
substr $long, -1, 1, 'l';
is(field($long), '200 redis', 'long ones differ in a last byte');
substr $long, 0, 1, 'l';
is(field($long), '200 redis', '... and in a first');

is(told($client->get('/long', 'X-Key' => 'k' x 64)), '200 redis',
   'the longest client in a zone with the longest name');
ok($redis->command('EXISTS', 'sw:{' . 'k' x 64 . "}:$longest"),
   '... is a key of 134 bytes');


# Bytes of any value, also NUL: addresses in binary form.

my @addresses = ('0.0.0.0', '0.0.0.1', '10.0.0.0', '10.0.0.1', '13.10.13.10',
                 '255.255.255.254', '123.125.123.125', '10.13.10.0');

$redis->command('FLUSHALL');
is(tally(map { told($client->get('/address', 'X-Real-IP' => $_)) } @addresses),
   '200 redis x' . @addresses, 'binary addresses are different clients');
is(tally(map { told($client->get('/address', 'X-Real-IP' => $_)) } @addresses),
   '429 redis x' . @addresses, '... and each is known again');
is(scalar(grep { /\Asw:\{#[0-9a-f]{40}\}:address\z/ } keys_now()),
   scalar(@addresses), '... by its digest');


# Empty keys.

$redis->command('FLUSHALL');
@seen = monitor(sub {
    is(tally(map { told($client->get('/field')) } 1 .. 3), '200 - x3',
       'an empty key is not limited');
});
is("@seen", '', '... and Redis is not asked');
is(join(' ', keys_now()), '', '... nor has a key');


# Zones.

is(told($client->get('/a', 'X-Key' => 'b:c')), '200 redis', 'zone a');
is(told($client->get('/a.b', 'X-Key' => 'c')), '200 redis', 'zone a.b');
is(told($client->get('/a.b', 'X-Key' => 'b:c')), '200 redis',
   'zones do not share a client');
is(told($client->get('/a', 'X-Key' => 'b:c')), '429 redis', 'zone a knows it');
is(join(' ', keys_now()), 'sw:{b:c}:a sw:{b:c}:a.b sw:{c}:a.b',
   'a key for each zone and client');


# All zones of a client are in one slot, and in one command.

$redis->command('FLUSHALL');

my @clients = ('192.0.2.1', 'user:1', "odd \xff", '{brace}', '#hash', 'x' x 300);
my %slots;

for my $i (0 .. $#clients) {
    $redis->command('FLUSHALL');
    @seen = monitor(sub {
        is(told($client->get('/all', 'X-Key' => $clients[$i])), '200 redis',
           'four policies admit');
    });

    is(scalar(@seen), 1, '... in one command');
    like($seen[0], qr/^"EVALSHA" "[0-9a-f]{40}" "4" /, '... of four keys');

    my %in = map { $cluster->command('CLUSTER', 'KEYSLOT', $_) => 1 }
             keys_now();

    is(scalar(keys_now()), 4, '... which are there');
    is(scalar(keys %in), 1, '... in one slot');
    $slots{$_} = 1 for keys %in;
}

is(scalar(keys %slots), scalar(@clients), 'clients are in different slots');


# A client's key is in no log, whatever happens to its requests. The suite looks
# for it in all lines, also those of nginx itself.

my $secret = 'the-secret-token';
my $other = "the-secret-token \xff" . 'x' x 100;

$redis->command('FLUSHALL');
is(join(', ', map { field($secret) } 1 .. 2), '200 redis, 429 redis',
   'rejected');
is(join(', ', map { field($other) } 1 .. 2), '200 redis, 429 redis',
   'rejected by its digest');

$redis->command('DEL', "sw:{$secret}:field");
$redis->command('LPUSH', "sw:{$secret}:field", 'x');
is(field($secret), '200 fallback', 'a key of another type');
ok($nginx->logged(qr/\[error\] .*has something else under the key of a client: "WRONGTYPE/),
   '... is said');
is(field('another'), '200 redis', '... and others are well');

SlidewinNginx::nap(1.1);
$redis->command('SET', "sw:{$secret}:field", 'x');
is(field($secret), '429 fallback', 'a value of another kind');
ok($nginx->logged(qr/\[error\] .*has something else under the key of a client: "SLIDEWIN/),
   '... is said');

# an error of the server, and enough of them to open the breaker

$redis->command('CONFIG', 'SET', 'maxmemory', '1');
for my $i (1 .. 10) {
    field("$secret-$i");
}
ok($nginx->logged(qr/is not asked for a while, .*OOM/), 'no memory is said');
$redis->command('CONFIG', 'SET', 'maxmemory', '0');

ok(SlidewinNginx::until_true(sub { field('well-' . rand) eq '200 redis' },
                             10 * SlidewinNginx::patience()), 'well again');

$redis->kill;
ok($nginx->logged(qr/cannot be reached/), 'Redis goes');
SlidewinNginx::until_true(sub { field("$secret-" . rand) =~ /fallback/ }, 5);
is(join(', ', map { field("$secret-gone") } 1 .. 2),
   '200 fallback, 429 fallback', 'rejected without Redis');

my $log = SlidewinNginx::slurp($nginx->root . '/logs/loud.log');

like($log, qr/limiting requests, excess: 1\.000 by zone "field"/,
     'rejections are logged');
unlike($log, qr/secret-token/, '... and names no client');
unlike($log, qr/k{64}|x{64}/, '... nor are the long ones');

$client->close;
$nginx->stop;

done_testing();
