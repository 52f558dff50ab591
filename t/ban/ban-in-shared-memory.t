# Bans in shared memory: all workers know them, a reload and a killed worker
# keep them, and a full zone does not forget a client that keeps coming.

use strict;
use warnings;

use SlidewinBan;
use SlidewinNginx;
use SlidewinPreload;
use Test::More;

my @algorithms = @SlidewinBan::ALGORITHMS;
my $patience = SlidewinNginx::patience();
my $limit = 50;

my $clock = SlidewinPreload->clock;

my %conf = (
    workers => 2,
    env => $clock->env,
    main => join('', map { "env $_;" } sort keys %{$clock->env}),
    http => "slidewin_log_level notice;\n" . join('', map { <<"ZONE" }
    slidewin_zone \$arg_k zone=$_:1m rate=${limit}r/40d algorithm=$_ ban=1h;
    slidewin_zone \$arg_k zone=small_$_:32k rate=1r/200ms algorithm=$_ ban=1h;
ZONE
        @algorithms)
        . 'slidewin_zone $arg_k zone=cycle:32k rate=1r/40d ban=100ms;
           slidewin_zone $arg_k zone=steps:32k rate=1r/40d ban=50ms..1h;
           slidewin_zone $arg_k zone=hour:1m rate=1r/200ms ban=1h
                         algorithm=log;
           slidewin_zone $arg_k zone=clock:1m rate=1r/200ms ban=2s
                         algorithm=log;',
    server => join '', map {
        "location = /$_ { slidewin zone=$_; slidewin_log_level off;"
        . " empty_gif; }\n"
    } @algorithms, (map { "small_$_" } @algorithms),
      qw(cycle steps clock hour));

# the lines of the first zones are looked at
$conf{server} =~ s/(zone=(?:@{[join '|', @algorithms]});) slidewin_log_level off;/$1/g;

my $nginx = SlidewinNginx->start(SlidewinBan::conf(%conf));

sub told { return SlidewinBan::told(@_) }

sub ask { return SlidewinBan::ask(@_) }

sub begun {
    my ($zone) = @_;

    return scalar grep { /zone "$zone"/ } SlidewinBan::begun($nginx);
}


# Both workers at once: exactly the limit passes, one request begins the ban.

for my $algorithm (@algorithms) {
    my @clients = $nginx->clients(8);
    my %count;

    $count{$_}++ for map { @$_ } $nginx->together(sub {
        my ($client) = @_;
        return [map { told($client->get("/$algorithm?k=a")) } 1 .. 40];
    }, @clients);

    is_deeply(\%count, { '200 PASSED' => $limit, '429 REJECTED' => 1,
                         '429 BANNED' => 320 - $limit - 1 },
              "$algorithm: the limit passes, and one begins the ban");
    is(begun($algorithm), 1, '... as the log says');
    $_->close for @clients;
}

# one ban after the other: none begins while one lasts

{
    my @clients = $nginx->clients(4);
    my $since = SlidewinNginx::now();
    my %count;

    $count{$_}++ for map { @$_ } $nginx->together(sub {
        my ($client) = @_;
        my @seen;

        while (SlidewinNginx::now() < $since + 1.2) {
            push @seen, told($client->get('/cycle?k=a'));
        }
        return \@seen;
    }, @clients);

    my $seconds = SlidewinNginx::now() - $since;

    is($count{'200 PASSED'}, 1, 'bans in a row: one request passed');
    cmp_ok($count{'429 REJECTED'}, '>=', 3,
           "... $count{'429 REJECTED'} bans, $count{'429 BANNED'} hits");
    cmp_ok($count{'429 REJECTED'}, '<=', 1 + $seconds / 0.1,
           '... none begins before the last is over');
    $_->close for @clients;
}


# A reload keeps bans, and so does a worker that is killed.

sub banned {
    my ($name) = @_;
    my @clients = $nginx->clients(4);

    for my $algorithm (@algorithms) {
        my @answers = map { ask($_, "/$algorithm?k=a") } @clients;

        is(SlidewinBan::tally(@answers), '429 BANNED x4',
           "$name: $algorithm: all workers know the ban");
    }
    $_->close for @clients;

    return;
}

my $begin = SlidewinBan::until_rejected($nginx->client, '/hour?k=a');

is(SlidewinBan::retry($begin), 3600, 'a ban of an hour');

$nginx->reload;
banned('reload');

my $hit = ask($nginx->client, '/hour?k=a');

is(told($hit), '429 BANNED', 'reload: one that has lasted for a while, too');
SlidewinBan::is_left($begin, $hit, 3600, '... for as long');

my ($killed) = $nginx->workers;

kill 'KILL', $killed;
ok(SlidewinNginx::until_true(sub {
    my @workers = $nginx->workers;
    return @workers == 2 && !grep { $_ == $killed } @workers;
}, 10 * $patience), 'kill -9: there is another worker');
banned('kill -9');

$nginx->reload(map { ($_ => $conf{$_}) } 'workers');
banned('another reload');
is(scalar(grep { begun($_) != 1 } @algorithms), 0,
   '... and no other ban has begun');


# The wall clock does not matter.

{
    my $client = $nginx->client;

    for my $jump (3600, -3600, 0) {
        $clock->set($jump);
        SlidewinNginx::nap(0.05);

        my $begin = SlidewinBan::until_rejected($client, "/clock?k=j$jump");

        is(SlidewinBan::retry($begin), 2, "clock $jump: a ban of two seconds");
        $clock->set(-$jump);
        my $hit = ask($client, "/clock?k=j$jump");
        is(told($hit), '429 BANNED', '... holds when the clock is set');
        SlidewinBan::is_left($begin, $hit, 2, '... for as long');
        push @{$conf{waits}}, { client => $client, uri => "/clock?k=j$jump",
                                begin => $begin, seconds => 2,
                                name => "clock $jump" };
    }
    $clock->set(0);
    SlidewinBan::until_over(@{$conf{waits}});
    $client->close;
}


# A full zone: a client that keeps hitting stays banned, though its window would
# let it pass and thousands of others come and go.

for my $algorithm (@algorithms) {
    my $client = $nginx->client;
    my $uri = "/small_$algorithm";

    SlidewinBan::until_rejected($client, "$uri?k=hot");
    ok(!$nginx->errors(qr/zone "small_$algorithm" is full/),
       "$algorithm: a ban, and room yet");
    SlidewinNginx::nap(0.45);

    my $n = 0;
    my @statuses = $client->statuses(map {
        ("$uri?k=hot", map { "$uri?k=" . $n++ } 1 .. 20)
    } 1 .. 100);

    is(SlidewinNginx::tally(@statuses), '200 x2000, 429 x100',
       "$algorithm: 2000 others pass, the one that comes often is banned");
    ok(scalar $nginx->errors(qr/zone "small_$algorithm" is full/),
       "$algorithm: the zone is full");
    is(told(ask($client, "$uri?k=hot")), '429 BANNED', '... it still is');
    $client->close;
}

# full of bans: others are limited and banned all the same, and none is let
# through more often than its limit

{
    my $client = $nginx->client;
    my %count;

    $count{$_}++ for map { told($client->get("/steps?k=$_")) }
                     map { ($_) x 3 } 1 .. 1000;
    is($count{'200 PASSED'}, 1000, 'full of bans: each passes once');
    is($count{'429 REJECTED'} + $count{'429 BANNED'}, 2000,
       '... and is rejected then');
    cmp_ok($count{'429 REJECTED'}, '>=', 1000, '... with a ban');
    $client->close;
}


# Workers are killed while bans begin and end: the others go on, and a ban still
# ends.

{
    my $flag = $nginx->root . '/stop';
    my @results = $nginx->together(sub { $_[0]->() }, sub {
        for (1 .. 15) {
            my @workers = $nginx->workers;

            SlidewinNginx::nap(0.01 + rand 0.03);
            kill 'KILL', $workers[rand @workers];
            SlidewinNginx::until_true(sub { $nginx->workers == 2 }, 10);
        }
        open my $file, '>', $flag or die "$flag: $!";
        return {};
    }, map { my $seed = $_; sub {
        my $client = $nginx->client;
        my %count;

        srand $seed;
        until (-e $flag) {
            my $answer = $client->get(
                (qw(/cycle /steps /small_log))[rand 3] . '?k=' . int rand 40);
            $count{$answer->{status}}++;
            $client = $nginx->client if $answer->{status} <= 0;
        }
        return \%count;
    } } 1 .. 4);
    my %all;

    for my $count (@results) {
        $all{$_} += $count->{$_} for keys %$count;
    }
    is(join(' ', grep { !/^(?:200|429|0)$/ } keys %all), '',
       'workers killed: an answer is 200 or 429, or the connection is gone');
    cmp_ok($all{429}, '>', 100, "... $all{429} were rejected");
    ok(SlidewinNginx::until_true(sub {
        told(ask($nginx->client, '/clock?k=after')) eq '200 PASSED';
    }, 10 * $patience), '... the others go on');

    my $client = $nginx->client;
    my @waits = map {
        my $uri = "/cycle?k=$_";
        ask($client, $uri) for 1 .. 2;
        $uri;
    } 1 .. 40;

    ok(SlidewinNginx::until_true(sub {
        @waits = grep { SlidewinBan::status(ask($client, $_)) ne 'REJECTED' }
                 @waits;
        SlidewinNginx::nap(0.01);
        return !@waits;
    }, 10 * $patience), '... and all bans end');
    $client->close;
}

# zones in which none was killed are as they were
banned('workers killed');
$hit = ask($nginx->client, '/hour?k=a');
is(told($hit), '429 BANNED', 'workers killed: the first ban');
SlidewinBan::is_left($begin, $hit, 3600, '... for as long');

$nginx->stop(allow => qr/exited on signal 9|was locked by|has been repaired/);

done_testing();
