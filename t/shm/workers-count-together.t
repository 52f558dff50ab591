# Workers count together: with any number of workers and clients, a limit is
# given out exactly once.

use strict;
use warnings;

use SlidewinNginx;
use Test::More;

my $limit = 3000;
my @algorithms = qw(counter fixed strict log);

# 40 days: aligned windows do not end during the suite
my $http = "slidewin_log_level info;\n" . join '', map {
    "slidewin_zone \$arg_k zone=$_:1m rate=${limit}r/40d algorithm=$_;\n"
} @algorithms;

$http .= <<'END';
slidewin_zone $arg_k zone=narrow:1m rate=2000r/40d algorithm=log;
slidewin_zone $arg_k zone=few:1m rate=5r/40d;
slidewin_zone $arg_k zone=wide:1m rate=2500r/40d algorithm=log;
END

my $server = join '', map {
    "location = /$_ { slidewin zone=$_; empty_gif; }\n"
} @algorithms;

$server .= <<'END';
location = /both { slidewin zone=narrow; slidewin zone=wide; empty_gif; }
location = /back { slidewin zone=wide; slidewin zone=narrow; empty_gif; }
location = /few { slidewin zone=few; empty_gif; }
location = /wide { slidewin zone=wide; empty_gif; }
END

for my $workers (1, 2, 4) {
    my $nginx = SlidewinNginx->start(workers => $workers, http => $http,
                                     server => $server);
    my @clients = $nginx->clients(64);

    for my $algorithm (@algorithms) {
        my @answers = $nginx->burst(\@clients,
                                    [[("/$algorithm?k=hot") x 100]]);

        is(SlidewinNginx::tally(map { $_->{status} } @answers),
           "200 x$limit, 429 x" . (6400 - $limit),
           "$algorithm, workers: $workers, clients: 64");

        is(scalar(keys %{{ map { $_->{header}{'x-pid'} => 1 } @answers }}),
           $workers, '... and each worker has taken part');
    }

    # a request that one limit rejects is not counted by the other, though
    # locations list the two in opposite orders

    my @answers = $nginx->burst(\@clients, [[('/both?k=hot') x 100],
                                            [('/back?k=hot') x 100]]);

    is(SlidewinNginx::tally(map { $_->{status} } @answers),
       '200 x2000, 429 x4400', "two limits, workers: $workers");

    is(SlidewinNginx::tally($nginx->status('/wide?k=hot', 501)),
       '200 x500, 429 x1', '... and the wider one has what is left');

    # clients that wait for each answer, in a process each

    my @results = $nginx->together(sub {
        my ($client) = @_;
        return [map { $client->get('/log?k=one-by-one')->{status} } 1 .. 60];
    }, @clients);

    is(SlidewinNginx::tally(map { @$_ } @results),
       "200 x$limit, 429 x" . (3840 - $limit),
       "one by one, workers: $workers, clients: 64");

    # new clients while others are counted: the tree changes under all of them

    @answers = $nginx->burst(\@clients, [map {
        my $i = $_;
        [map { '/few?k=' . ($i * 7 + $_ * 13) % 320 } 1 .. 100];
    } 0 .. 63]);

    is(scalar(@answers), 6400, "many keys, workers: $workers");
    is(SlidewinNginx::tally(map { $_->{status} } @answers),
       '200 x1600, 429 x4800', '... each has its limit');

    $_->close for @clients;
    $nginx->stop(name => "workers: $workers");
}

done_testing();
