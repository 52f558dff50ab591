# charge= settles a request to its true cost when it ends: the estimate was
# reserved before, the rest goes back, and what is missing is counted, also
# above the limit. One call to the store, and none if the estimate was true.

use strict;
use warnings;

use SlidewinCount;
use SlidewinStats;
use Test::More;

my $limit = 100;

# name; estimate; what the upstream tells, undef: nothing; how many units stay
# counted; calls to the store
my @cases = (
    ['less', 10, 3, 3, 2],
    ['more', 10, 25, 25, 2],
    ['as much', 10, 10, 10, 1],
    ['nothing', 10, 0, 0, 2],
    ['all of the limit', 10, 100, 100, 2],
    ['one above the limit', 10, 101, 101, 2],
    ['far above the limit', 10, 99_999, 99_999, 2],
    ['a decimal', 10, '2.001', 3, 2],
    ['zeros after the point', 10, '12.000', 12, 2],
    ['several', 10, '1,2.5:-:3', 7, 2],
    ['no value', 10, undef, 10, 1],
    ['no number', 10, '-', 10, 1],
    ['several of no number', 10, '-,-', 10, 1],
    ['a word', 10, 'many', 10, 1],
    ['a negative number', 10, '-5', 10, 1],
    ['a number among words', 10, '5,x', 10, 1],
    ['an estimate of 0', 0, 7, 7, 2],
    ['an estimate of 0 that is true', 0, 0, 0, 2],
    ['an estimate of 0 and no value', 0, undef, 1, 1],
);

my $server = SlidewinStats::location() . join '', map { <<"END" }
    location = /$_ {
        slidewin zone=$_ cost=\$arg_e charge=\$upstream_http_x_cost;
        proxy_pass http://told;
    }
    location = /plain_$_ {
        slidewin zone=$_ charge=\$upstream_http_x_cost;
        proxy_pass http://told;
    }
END
    @SlidewinCount::ALGORITHMS;

for my $place (SlidewinCount::stores()) {
    my $name = $place->name;
    my $redis = $place->redis;
    my $nginx = $place->edge(server => $server, rate => "${limit}r/40d",
                             http => $place->told);

    my $used = sub {
        my ($zone, $key) = @_;
        my $answer = $nginx->get("/peek_$zone?k=$key");
        return "$answer->{header}{'x-remaining'} of "
               . int $answer->{header}{'x-estimate'};
    };

    # the scripts are loaded, and the nodes known
    $used->($_, 'first') for @SlidewinCount::ALGORITHMS;

    for my $algorithm (@SlidewinCount::ALGORITHMS) {
        for my $case (@cases) {
            my ($what, $estimate, $cost, $stays, $calls) = @$case;
            my $key = SlidewinCount::fresh();
            my $uri = "/$algorithm?k=$key&e=$estimate"
                      . (defined $cost ? "&c=$cost" : '');
            my $before = $redis ? $redis->calls('evalsha') : 0;
            my $answer = $nginx->get($uri);

            is($answer->{status} . ' ' . $answer->{header}{'x-remaining'},
               '200 ' . ($limit - ($estimate || 1)),
               "$name, $algorithm: $what, the estimate is reserved");

            my $left = $stays < $limit ? $limit - $stays : 0;
            is($used->($algorithm, $key), "$left of $stays",
               '... then the true cost');
            is($redis->calls('evalsha') - $before, $calls + 1,
               '... by as many calls as it needs') if $redis;

            is($nginx->get($uri)->{status}, 429, '... and none passes any more')
                if $stays > $limit;
        }

        # more than any state can hold

        my $key = SlidewinCount::fresh();
        my $most = $algorithm eq 'log' ? 4_294_967_295
                                       : int 9_007_199_254_740_991 / 3_456_000_000;

        is(join(' ', map {
               $nginx->status("/plain_$algorithm?k=$key&c=$_")
           } '9' x 30, 1), '200 429', "$name, $algorithm: a huge cost");
        is($used->($algorithm, $key), "0 of $most", '... as much as it holds');
        is($nginx->get("/peek_$algorithm?k=$key")->{status}, 200,
           '... a peek passes');
    }

    # statistics

    my $charges = (SlidewinStats::zone($nginx, 'log'))->{charges};
    my $estimated = grep { $_->[4] == 1 && $_->[0] ne 'as much' } @cases;

    is_deeply($charges, { settled => @cases - $estimated + 1,
                          estimated => $estimated },
              "$name: statistics tell settled ones from estimated ones");
    is(SlidewinStats::metrics($nginx)
           ->{'slidewin_charges_total{zone="log",result="estimated"}'},
       $estimated, '... and metrics');

    # at most a line in a second for bad values

    my @bad = $nginx->errors('invalid charge');
    like($bad[0], qr/ \[error\] .* invalid charge "many" for slidewin zone /,
         "$name: a bad value is logged");
    like($bad[0], qr/, the estimate stays counted while logging request, /,
         '... and what becomes of it');
    cmp_ok(scalar @bad, '<=', 2 * @SlidewinCount::ALGORITHMS, '... now and then');

    $nginx->stop(name => $name);
}

done_testing();
