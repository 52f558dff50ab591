# A reload keeps the counts, and a changed rate or algorithm applies to them at
# once.

use strict;
use warnings;

use SlidewinNginx;
use Test::More;

my @algorithms = qw(counter fixed strict log);

sub zone {
    my ($rate, $more, $key, $size) = @_;

    $key //= '$arg_k';
    $size //= '1m';

    return "slidewin_log_level info;"
           . "slidewin_zone $key zone=a:$size rate=$rate $more;";
}

sub tally { return SlidewinNginx::tally(@_) }

my $nginx = SlidewinNginx->start(
    workers => 2,
    http => zone('10r/40d', 'algorithm=log'),
    server => 'location = /a { slidewin zone=a; empty_gif; }',
);


# the same algorithm

is(tally($nginx->status('/a?k=1', 4)), '200 x4', 'four of ten are taken');
is(tally($nginx->status('/a?k=2', 10)), '200 x10', 'ten of ten by another');

$nginx->reload;

is(tally($nginx->status('/a?k=1', 7)), '200 x6, 429 x1',
   'a reload keeps the counts');
is(tally($nginx->status('/a?k=2')), '429 x1', '... of every client');

$nginx->reload(http => zone('12r/40d', 'algorithm=log'));

is(tally($nginx->status('/a?k=1', 3)), '200 x2, 429 x1',
   'a raised limit applies at once');

$nginx->reload(http => zone('5r/40d', 'algorithm=log'));

is(tally($nginx->status('/a?k=1', 2)), '429 x2',
   'a lowered limit applies at once');
is(tally($nginx->status('/a?k=3', 6)), '200 x5, 429 x1',
   '... to a new client, too');

$nginx->reload(http => zone('12r/20d', 'algorithm=log'));

is(tally($nginx->status('/a?k=3', 8)), '200 x7, 429 x1',
   'a log with another window goes on with its times');


# a log has the time of each unit: a shorter window drops what is older

$nginx->reload(http => zone('2r/40d', 'algorithm=log'));
is(tally($nginx->status('/a?k=4', 3)), '200 x2, 429 x1', 'two in 40 days');

SlidewinNginx::nap(1.1);

$nginx->reload(http => zone('2r/s', 'algorithm=log'));
is($nginx->get('/a?k=4')->{status}, 200, 'none of them in the last second');


# with the other algorithms, units still counted are taken over as if taken now

for my $algorithm (qw(counter fixed strict)) {
    my $more = "algorithm=$algorithm";

    $nginx->reload(http => zone('10r/40d', $more));
    is(tally($nginx->status("/a?k=$algorithm", 4)), '200 x4',
       "$algorithm: four of ten");

    $nginx->reload(http => zone('6r/40d', $more));
    is(tally($nginx->status("/a?k=$algorithm", 3)), '200 x2, 429 x1',
       "$algorithm: another limit applies at once");

    $nginx->reload(http => zone('9r/20d', $more));
    is(tally($nginx->status("/a?k=$algorithm", 4)), '200 x3, 429 x1',
       "$algorithm: another window takes the units over");

    $nginx->reload(http => zone('4r/40d', $more));
    my $answer = $nginx->get("/a?k=$algorithm");
    is("$answer->{status}, $answer->{header}{'x-estimate'}", '429, 9',
       "$algorithm: the longer window again, with all that was used");
}

$nginx->reload(http => zone('10r/40d', 'algorithm=strict slices=16'));
is(tally($nginx->status('/a?k=slices', 4)), '200 x4', '16 slices');

for my $slices (4, 100, 1) {
    $nginx->reload(http => zone('10r/40d',
                                "algorithm=strict slices=$slices"));
    my $answer = $nginx->get('/a?k=slices');
    is("$answer->{status}, $answer->{header}{'x-remaining'}",
       '200, ' . { 4 => 5, 100 => 4, 1 => 3 }->{$slices},
       "then $slices: the units are taken over");
}


# from every algorithm to every other

for my $from (@algorithms) {
    for my $to (grep { $_ ne $from } @algorithms) {
        my $key = "$from-$to";

        $nginx->reload(http => zone('20r/40d', "algorithm=$from"));
        is(tally($nginx->status("/a?k=$key", 8)), '200 x8',
           "$from: 8 of 20");
        is(tally($nginx->status("/a?k=$key-full", 20)), '200 x20',
           "$from: 20 of 20");

        $nginx->reload(http => zone('12r/40d', "algorithm=$to"));
        is(tally($nginx->status("/a?k=$key", 6)), '200 x4, 429 x2',
           "$from to $to: what was counted is counted");

        my $answer = $nginx->get("/a?k=$key-full");
        is("$answer->{status}, $answer->{header}{'x-estimate'}", '429, 12',
           "$from to $to: at most the new limit");

        # the state of one algorithm must not be read as that of another
        is(tally($nginx->status("/a?k=$key-new", 13)), '200 x12, 429 x1',
           "$from to $to: a new client");
    }
}

$nginx->stop(name => 'rate and algorithm');


# a longer log has a ring outside of its entry, which a change has to free

$nginx = SlidewinNginx->start(
    workers => 2,
    http => zone('40r/40d', 'algorithm=log', '$arg_k', '32k'),
    server => 'location = /a { slidewin zone=a; empty_gif; }',
);

for my $round (1 .. 6) {
    my $client = $nginx->client;

    for (1 .. 40) {
        $client->statuses(map { "/a?k=$round-$_" } 1 .. 10);
        SlidewinNginx::nap(0.0011);
    }

    $nginx->reload(http => zone('40r/40d', 'algorithm=fixed', '$arg_k',
                                '32k'));
    is(tally(map { $nginx->status("/a?k=$round-$_") } 1 .. 10), '429 x10',
       "round $round: logs of 40 become counts of 40");

    $nginx->reload(http => zone('40r/40d', 'algorithm=log', '$arg_k',
                                '32k'));
    is(tally(map { $nginx->status("/a?k=$round-$_") } 1 .. 10), '429 x10',
       "round $round: and logs again");
}

$nginx->stop(name => 'rings');


# a reload with a changed key is refused, and the old workers go on

$nginx = SlidewinNginx->start(
    workers => 2,
    http => zone('10r/40d', 'algorithm=log'),
    server => 'location = /a { slidewin zone=a; empty_gif; }',
);

is(tally($nginx->status('/a?k=1', 4)), '200 x4', 'four of ten are taken');

my @workers = sort $nginx->workers;

$nginx->configure(http => zone('20r/40d', 'algorithm=log', '$arg_other'));
$nginx->signal('HUP');

my $refusal = qr/\[emerg\].* slidewin "a" uses the "\$arg_other" key while (?#
                )previously it used the "\$arg_k" key, give the zone another name (?#
                )or restart nginx/;

ok($nginx->logged($refusal), 'another key is refused');
is(tally($nginx->status('/a?k=1', 7)), '200 x6, 429 x1',
   '... and the old limit still applies');
is_deeply([sort $nginx->workers], \@workers, '... in the old workers');


# a zone of another size starts empty

$nginx->reload(http => zone('10r/40d', 'algorithm=log', '$arg_k', '2m'));
is(tally($nginx->status('/a?k=1', 11)), '200 x10, 429 x1',
   'another size: counted anew');

# then another key is accepted, too

$nginx->reload(http => zone('10r/40d', 'algorithm=log', '$arg_k$arg_j',
                            '1m'));
is(tally($nginx->status('/a?k=1', 11)), '200 x10, 429 x1',
   'another size and another key: counted anew');


# a zone that is removed and added again

$nginx->reload(http => '', server => '');
$nginx->reload(http => zone('10r/40d', 'algorithm=log'),
               server => 'location = /a { slidewin zone=a; empty_gif; }');
is(tally($nginx->status('/a?k=1', 11)), '200 x10, 429 x1',
   'a zone that was away: counted anew');


# a map that exempts clients does not change the key: it applies at once, and
# other clients keep their counts

$nginx->reload(http => zone('10r/40d', 'algorithm=log')
                       . 'map $arg_from $limited { default 1; office 0; }',
               server => 'location = /a { slidewin zone=a if=$limited;
                                          empty_gif; }');
is(tally($nginx->status('/a?k=1&from=office', 3)), '200 x3',
   'a list of those who are not limited');
is(tally($nginx->status('/a?k=1', 2)), '429 x2', '... the others are');

$nginx->stop(name => 'key and size', allow => $refusal);


# many reloads under load

# AddressSanitizer's quarantine would grow until it has its full size
$ENV{ASAN_OPTIONS} .= ',quarantine_size_mb=1,thread_local_quarantine_size_kb=64'
    if defined $ENV{ASAN_OPTIONS};

my $limit = 200;

$nginx = SlidewinNginx->start(
    workers => 2,
    http => zone("${limit}r/40d", 'algorithm=log'),
    server => 'location = /a { slidewin zone=a; empty_gif; }',
);

my $master = $nginx->master;
my $flag = $nginx->root . '/stop';
my $fds = SlidewinNginx::fds($master);

# a connection for each request: a worker that exits may close a kept-alive one
# just as the client writes

sub load {
    my (%count, $n);

    until (-e $flag) {
        $count{'/free'}{$nginx->get('/free')->{status}}++;
        $count{'/a'}{$nginx->get('/a?k=hot')->{status}}++ if $n++ % 4 == 0;
        SlidewinNginx::nap(0.002);
    }

    return \%count;
}

sub reloads {
    my @rss;

    for (1 .. 50) {
        $nginx->reload;
        push @rss, SlidewinNginx::rss($master);
    }

    open my $file, '>', $flag or die "$flag: $!";
    return \@rss;
}

my ($rss, @loads) = $nginx->together(sub { $_[0]->() },
                                           \&reloads, (\&load) x 4);
my (%free, %limited);

for my $load (@loads) {
    $free{$_} += $load->{'/free'}{$_} for keys %{$load->{'/free'}};
    $limited{$_} += $load->{'/a'}{$_} for keys %{$load->{'/a'}};
}

is(join(' ', keys %free), '200', '50 reloads: no request fails');
is(join(' ', sort keys %limited), '200 429', '... nor one with a limit');
is($limited{200}, $limit, '... and the counts are kept');

ok(SlidewinNginx::until_true(sub { SlidewinNginx::fds($master) <= $fds },
                             5 * SlidewinNginx::patience()),
   '... file descriptors of the master do not grow');

# a configuration cycle is tens of kB: one that is not freed shows after 40
# reloads
cmp_ok($rss->[49] - $rss->[9], '<', 500 * SlidewinNginx::patience(),
       '... nor does its memory');

$nginx->stop(name => '50 reloads');

done_testing();
