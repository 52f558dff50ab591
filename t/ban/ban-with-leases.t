# ban= with lease=: leased units are used up first; a rejection for good begins
# a ban, of which an edge with leased units hears too. No more pass than the
# limit.

use strict;
use warnings;

use SlidewinBan;
use SlidewinNginx;
use SlidewinRedis;
use SlidewinStats;
use Test::More;

sub told { return SlidewinBan::told(@_) }

my @algorithms = @SlidewinBan::ALGORITHMS;
my $redis = SlidewinRedis->start;
my @edges = map {
    SlidewinBan::edge(
        store => { redis => $redis },
        http => 'slidewin_log_level notice;' . join('', map { <<"ZONE" }
    slidewin_zone \$arg_k zone=$_:1m rate=100r/40d algorithm=$_ lease=10% ban=1h
                  on_error=closed;
ZONE
            @algorithms),
        server => SlidewinStats::location()
            . join '', map { "location = /$_ { slidewin zone=$_;"
                             . " empty_gif; }\n" } @algorithms)
} 1, 2;
my @clients = map { $_->client } @edges;

for my $client (@clients) {
    $client->get("/$_?k=warm") for @algorithms;
}

# leased ALGORITHM, CLIENT, HOW, ANSWERS: an edge may learn of a ban from the
# store alone, and its leased units are lost then: at most a tenth of the limit
sub leased {
    my ($algorithm, $k, $how, @answers) = @_;
    my $name = "$algorithm, $how";
    my %count;

    $count{$_}++ for @answers;
    cmp_ok($count{'200 PASSED'}, '<=', 100, "$name: no more than the limit");
    cmp_ok($count{'200 PASSED'}, '>=', 80, '... and not much less');
    is($count{'429 REJECTED'}, 1, '... one request begins the ban');
    is($count{'429 BANNED'}, @answers - 1 - $count{'200 PASSED'},
       '... and others are banned');
    is(scalar(grep { m{/$algorithm\?k=$k } } map { SlidewinBan::begun($_) }
                                             @edges), 1,
       '... which one line tells');
    is(told(map { $_->get("/$algorithm?k=$k") } @clients),
       '429 BANNED, 429 BANNED', '... both edges know');
    is(told($clients[0]->get("/$algorithm?k=other-$k")), '200 PASSED',
       '... others pass');

    return;
}

for my $algorithm (@algorithms) {
    # each edge has leased units when the other begins the ban

    leased($algorithm, 'turn', 'in turn', map {
        map { told($_->get("/$algorithm?k=turn")) } @clients
    } 1 .. 130);

    my @many = map { $_->clients(4) } @edges;

    leased($algorithm, 'many', 'at once', map { @$_ } $edges[0]->together(sub {
        my ($client) = @_;
        return [map { told($client->get("/$algorithm?k=many")) } 1 .. 60];
    }, @many));
    $_->close for @many;

    for my $edge (@edges) {
        my $sources = SlidewinStats::zone($edge, $algorithm)->{sources};

        cmp_ok($sources->{lease}, '>', 10,
               "$algorithm: an edge has used leased units");
    }
}

$_->close for @clients;
$_->stop for @edges;

done_testing();
