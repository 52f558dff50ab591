# A log with whole seconds cannot tell the order inside of one. Wherever in their
# seconds the requests were, as many were rejected as the two bounds allow; and
# where the seconds leave no doubt the bounds meet.

use strict;
use warnings;

use JSON::PP ();
use List::Util qw(max min shuffle sum0);
use SlidewinRedis;
use SlidewinReplay;
use Test::More;

my $rounds = 18;
my $requests = 120;
my $placements = 5;

my $root = SlidewinRedis::root();
my @algorithms = qw(counter fixed strict log);
my %windows = (
    '500ms' => 500, '999ms' => 999, s => 1000, '1001ms' => 1001,
    '1500ms' => 1500, '2s' => 2000, '7s' => 7000, '10s' => 10000,
    '10500ms' => 10500, m => 60000,
);

my $seed = SlidewinReplay::seed();
my $dir = SlidewinReplay::directory();

sub pick { return $_[rand @_] }

# Where a request may lie in its second.
my @places = (
    sub { return int rand 1000 },
    sub { return 0 },
    sub { return 999 },
    sub { return pick(0, 999) },
    sub { return pick(0, 1, 499, 500, 998, 999) },
);

# rejected QUESTION...: by the model, for each
sub rejected {
    my $path = SlidewinReplay::write("$dir/question",
                                     JSON::PP::encode_json([@_]));

    return map { scalar(() = /REJECTED|BANNED/g) }
           `python3 $root/t/replay/model.py <$path`;
}

# bounds REQUESTS, ARGUMENT...: the candidates, of a log with whole seconds
sub bounds {
    my ($requests, @arguments) = @_;
    my $text = join '', map {
        SlidewinReplay::line('common', { %$_, uri => "/?c=$_->{cost}" })
    } @$requests;
    my $path = SlidewinReplay::write("$dir/log", $text);
    my $json = SlidewinReplay::json(
        '--format', 'common', '--key', '$remote_addr', @arguments, $path);

    is($json->{resolution}, 'second', "@arguments") or return;

    return @{$json->{candidates}};
}

sub placed {
    my ($place, @requests) = @_;

    return [map { [@$_{qw(time client cost status)}] }
            sort { $a->{time} <=> $b->{time} }
            map { { %$_, time => $_->{time} - $_->{time} % 1000 + $place->() } }
            shuffle(@requests)];
}

sub holds {
    my ($begin) = @_;
    my ($rate) = pick(sort keys %windows);
    my $window = $windows{$rate};
    my $limit = 1 + int rand pick(2, 5, 12);
    my $clients = pick(1, 3, 10);
    my $costs = rand() < 0.4;
    my $count = rand() < 0.3 ? '401,404' : undef;
    my @ban = rand() < 0.3
              ? @{pick([1000, 1000, '1s'], [2500, 2500, '2500ms'],
                       [700, 9000, '700ms..9s'])} : ();
    my $slices = pick(1, 3, 16);
    # busy enough to have several in a second or a window, whichever is longer
    my $gap = max($window, 500) * pick(0.3, 1, 2) / $limit / $clients;
    my $now = $begin;

    my @requests = map {
        $now += int(rand() < 0.03 ? rand 3 * $window : rand 2 * $gap);
        { time => $now, client => '192.0.2.' . int rand $clients,
          cost => $costs ? pick(0, 1, 1, 2, $limit, $limit + 1) : 1,
          status => pick(200, 401, 404) }
    } 1 .. $requests;

    my @candidates = bounds(\@requests, '--rate', "$limit"."r/$rate",
                            '--algorithm', 'all', '--slices', $slices,
                            $costs ? ('--cost', '$arg_c') : (),
                            $count ? ('--count', $count) : (),
                            @ban ? ('--ban', $ban[2]) : ());

    my @traces = ([map { [@$_{qw(time client cost status)}] } @requests],
                  map { placed($places[$_ % @places], @requests) }
                  0 .. $placements - 1);

    for my $c (@candidates) {
        my @rejected = rejected(map { {
            limit => $limit, window => $window, slices => $slices,
            algorithm => $c->{algorithm}, lines => $_,
            count => $count && [split /,/, $count],
            ban => @ban ? [@ban[0, 1]] : undef,
        } } @traces);

        cmp_ok($c->{rejected_at_least}, '<=', min(@rejected),
               "$c->{algorithm}: the lower bound holds");
        cmp_ok($c->{rejected_at_most}, '>=', max(@rejected),
               '... the upper bound holds');
        ok($c->{rejected_at_least} <= $c->{rejected}
           && $c->{rejected} <= $c->{rejected_at_most},
           '... the seconds as they are lie between them');
        cmp_ok($c->{rejected_at_most}, '<=', $requests,
               '... no more than there are');
    }

    return;
}

holds(1763300000000 + int rand 1e8) for 1 .. $rounds;


# What the seconds tell without doubt. A client has at most one request in a
# second.

# tight NAME, REQUESTS, ALGORITHM, ARGUMENT...: some are rejected, but not all
sub tight {
    my ($name, $requests, @arguments) = @_;
    my ($c) = bounds($requests, '--algorithm', @arguments);

    cmp_ok($c->{rejected}, '>', 0, "$name: some are rejected");
    cmp_ok($c->{rejected}, '<', scalar @$requests, '... not all');
    is_deeply([@$c{qw(rejected_at_least rejected_at_most)}],
              [($c->{rejected}) x 2], '... and that is certain');

    return;
}

# at SECONDS..., in a window that begins at 0
sub at {
    return [map { { time => (1763300160 + $_) * 1000, client => '192.0.2.1',
                    cost => 1 + $_ % 3, status => $_ % 5 ? 200 : 401 } } @_];
}

my @some = grep { rand() < 0.7 } 0 .. 200;
my @even = map { 2 * $_ } 0 .. 100;
# 10 seconds of a window of 40, after two that are empty
my @apart = map { my $n = $_; map { 120 * $n + $_ } 0 .. 9 } 0 .. 5;

tight('windows of whole seconds', at(@some), 'fixed', '--rate', '3r/8s');
tight('... with costs', at(@some), 'fixed', '--rate', '5r/8s',
      '--cost', '$arg_c');
tight('... with statuses', at(@some), 'fixed', '--rate', '1r/16s',
      '--count', '401');
tight('gaps that are never the window', at(@even), 'log', '--rate', '2r/7s');
tight('... with costs', at(@even), 'log', '--rate', '4r/7s',
      '--cost', '$arg_c');
tight('slices of whole seconds', at(@some), 'strict', '--slices', '8',
      '--rate', '5r/16s');
tight('no window before', at(@apart), 'counter', '--rate', '4r/40s');

for my $algorithm (@algorithms) {
    my @requests = map { { time => (1763300160 + $_) * 1000, cost => 1 + $_ % 2,
                           client => '192.0.2.1', status => 200 } } 0 .. 50;
    my ($c) = bounds(\@requests, '--algorithm', $algorithm, '--rate', '1r/2ms',
                     '--slices', '2', '--cost', '$arg_c');

    is_deeply([@$c{qw(rejected_at_least rejected rejected_at_most)}],
              [(25) x 3], "$algorithm: what costs more than the limit");

    ($c) = bounds(\@requests, '--algorithm', $algorithm, '--rate', '60r/h');
    is_deeply([@$c{qw(rejected_at_least rejected rejected_at_most)}],
              [(0) x 3], "$algorithm: never near the limit");
}

done_testing();
