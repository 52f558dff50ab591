# Every field of the JSON is in docs/operating.md, in the section that says what
# each one means.

use strict;
use warnings;

use SlidewinApi;
use SlidewinNginx;
use SlidewinRedis;
use Test::More;

my $root = $ENV{SLIDEWIN_ROOT} // '.';
my $page = SlidewinNginx::slurp("$root/docs/operating.md");
my ($section) = $page =~ /^## What does each field of the JSON mean\?\n(.*?)^## /ms;

ok($section, 'the page has the section');

my %listed;

while ($section =~ /`([^`]+)`/g) {
    $listed{$_} = 1 for split /\./, $1;
}

my $redis = SlidewinRedis->start;
my $nginx = SlidewinNginx->start(
    http => "slidewin_redis @{[$redis->url]} timeout=10s;
             slidewin_zone \$arg_k zone=one:1m rate=1r/h;
             slidewin_zone \$arg_k zone=banned:1m rate=1r/h ban=10m;
             slidewin_zone \$remote_addr zone=proxy:1m rate=1000000r/h
                           store=local;",
    server => 'location /slidewin/ { slidewin_api; }
               location = /one { slidewin zone=one; empty_gif; }
               location = /banned { slidewin zone=banned; empty_gif; }
               location = /proxy { slidewin zone=proxy; empty_gif; }');

sub json {
    return SlidewinApi::decode(
        SlidewinApi::ask($nginx, 'GET', "/slidewin/$_[0]")->{body});
}

# those of a map by name or by bound are values, not fields
my %maps = map { $_ => 1 } qw(utilization latency_seconds);

sub fields {
    my ($value) = @_;

    return map { fields($_) } @$value if ref $value eq 'ARRAY';
    return () if ref $value ne 'HASH';
    return map { ($_, $maps{$_} ? () : fields($value->{$_})) }
           sort keys %$value;
}

$nginx->status('/one?k=a', 3);
$nginx->status('/one?k=' . 'x' x 300, 3);

# one key has all of a zone
my $client = $nginx->client;
my $get = "GET /proxy HTTP/1.1\r\nHost: a\r\nX-Forwarded-For: 203.0.113.9\r\n\r\n";
for (1 .. 45) {
    $client->write($get x 100);
    $client->answer for 1 .. 100;
}

my $suspect = json('zones/proxy')->{suspect};
is(ref $suspect, 'HASH', 'a key is suspected');

my $top = json('zones/one/top');
is(scalar(grep { exists $_->{length} } @{$top->{top}}), 1, 'a long key is listed');

$nginx->status("/banned?k=$_", 2) for 'a', 'x' x 300;
my $bans = json('zones/banned/bans');
is(scalar(grep { exists $_->{key_length} } @{$bans->{bans}}), 1,
   'a long key is banned');

my %found = (
    'zones/NAME/bans' => [fields($bans)],
    'zones' => [fields([values %{json('zones')}])],
    'zones/NAME/top' => [fields($top)],
    'zones/NAME/keys/KEY' => [fields(json('zones/one/keys/a'))],
    'stores' => [fields([values %{json('stores')}])],
    'info' => [fields(json('info'))],
    'an error' => [fields(json('nosuch'))],
);

for my $path (sort keys %found) {
    cmp_ok(scalar @{$found{$path}}, '>', 0, "$path has fields");

    my %seen;
    for my $field (grep { !$seen{$_}++ } @{$found{$path}}) {
        ok($listed{$field}, "$path: $field is on the page");
    }
}

$nginx->stop;
$redis->stop;

done_testing();
