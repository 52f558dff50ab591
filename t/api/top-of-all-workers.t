# The most rejected clients of all workers, in order; a reload keeps them.

use strict;
use warnings;

use SlidewinApi;
use SlidewinNginx;
use Test::More;

my %conf = (
    workers => 2,
    http => 'slidewin_log_level info;'
            . 'slidewin_zone $arg_k zone=one:1m rate=1r/40d top=10;'
            . 'slidewin_zone $arg_k zone=two:1m rate=1r/40d;',
    server => <<'END',
        location /slidewin/ { slidewin_api write=on; }
        location = /a { slidewin zone=one; empty_gif; }
        location = /dry { slidewin zone=two dry_run; empty_gif; }
END
);

my $nginx = SlidewinNginx->start(%conf);
my ($one, $two) = $nginx->clients(2);

sub top {
    my ($zone) = @_;
    my $got = SlidewinApi::ask($nginx, 'GET', "/slidewin/zones/$zone/top");
    return SlidewinApi::decode($got->{body}) // {};
}

sub list {
    return join ' ', map { "$_->{key}:$_->{rejected}" } @{ top(@_)->{top} };
}

is(list('one'), '', 'nobody at first');

my $start = time;

for my $i (1 .. 5) {
    $_->statuses(("/a?k=c$i") x (2 * $i)) for $one, $two;
}

is(list('one'), 'c5:19 c4:15 c3:11 c2:7 c1:3',
   'the rejections of both workers, the most first');

my $top = top('one');
ok($top->{since} >= $start - 60 && $top->{since} <= time + 1, 'since when');

for my $client (@{$top->{top}}) {
    ok($start - 1 <= $client->{first} && $client->{first} <= $client->{last}
       && $client->{last} <= time + 1, "$client->{key}: first and last");
    is($client->{error}, 0, '... without an error');
    is($client->{path}, "keys/$client->{key}", '... with a path');
}

$nginx->reload;
is(list('one'), 'c5:19 c4:15 c3:11 c2:7 c1:3', 'a reload keeps them');
is(SlidewinNginx::tally($nginx->status('/a?k=c1', 10)), '429 x10',
   'a client is rejected more often');
is(list('one'), 'c5:19 c4:15 c1:13 c3:11 c2:7', '... and moves up');

my $zone = SlidewinApi::decode(
    SlidewinApi::ask($nginx, 'GET', '/slidewin/zones/one')->{body});
is("$zone->{top}{counters} $zone->{top}{overflow}", '10 0',
   'all clients have a counter');

$nginx->status("/a?k=d$_", 3) for 1 .. 20;
$top = top('one');
is(scalar @{$top->{top}}, 10, 'no more clients than counters');
ok(!(grep { $_->{rejected} < $_->{error} + 1 } @{$top->{top}}),
   'each has at least one that is certain');
is($top->{top}[0]{key}, 'c5', 'the most rejected stays the first');
my @counts = map { $_->{rejected} } @{$top->{top}};
is("@counts", join(' ', sort { $b <=> $a } @counts), 'they are in order');

$zone = SlidewinApi::decode(
    SlidewinApi::ask($nginx, 'GET', '/slidewin/zones/one')->{body});
cmp_ok($zone->{top}{overflow}, '>', 0, 'others may have some');

is(SlidewinApi::ask($nginx, 'DELETE', '/slidewin/zones/one/keys/c5')->{status},
   204, 'a client is reset');
is(SlidewinNginx::tally($nginx->status('/a?k=c5')), '200 x1', '... and passes');
is(top('one')->{top}[0]{key}, 'c5', '... what it did is not undone');

$nginx->reload(http => $conf{http} =~ s/top=10/top=off/r);
is(list('one'), '', 'top=off after a reload');
is(SlidewinNginx::tally($nginx->status('/a?k=c4', 2)), '429 x2',
   '... rejects as before');

$nginx->stop;
done_testing();
