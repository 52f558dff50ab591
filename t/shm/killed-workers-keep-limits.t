# Workers are killed again and again under load: the others do not hang, and the
# limits hold.

use strict;
use warnings;

use SlidewinNginx;
use Test::More;

my $limit = 100;
my $kills = 200;

# A request that takes many locks, and evicts clients under each, is often
# killed while it holds one.
my @many = map { "many$_" } 1 .. 30;

my $nginx = SlidewinNginx->start(
    workers => 2,
    http => "slidewin_log_level info;
             slidewin_zone \$arg_k zone=hot:64k rate=${limit}r/40d
                           algorithm=log;"
            . join('', map {
                "slidewin_zone \$arg_k zone=$_:32k rate=2r/40d;"
            } @many),
    server => 'location = /hot { slidewin zone=hot; empty_gif; }
               location = /busy { slidewin zone=hot cost=0;'
              . join('', map { "slidewin zone=$_;" } @many)
              . 'empty_gif; }',
);

my $flag = $nginx->root . '/stop';

# Uses the connection there is in each round; the time until the next answer
# includes that of connecting again.
sub load {
    my ($seed) = @_;
    my ($client, $answered, $longest) = ($nginx->client, undef, 0);
    my (%hot, %busy);

    srand $seed;
    $answered = SlidewinNginx::now();

    my $end = $answered + 60;

    until (-e $flag && ($hot{429} || SlidewinNginx::now() > $end)) {
        my @uris = ('/hot?k=hot', map { '/busy?k=' . int rand 300 } 1 .. 20);
        my @statuses = $client->statuses(@uris);

        $hot{shift @statuses}++;
        $busy{$_}++ for @statuses;

        if ($statuses[-1] <= 0) {
            $client = $nginx->client;
            next;
        }

        my $now = SlidewinNginx::now();
        $longest = $now - $answered if $now - $answered > $longest;
        $answered = $now;
    }

    return { hot => \%hot, busy => \%busy, longest => $longest };
}

# Keeps the workers busy: load() spends most of its time in Perl.
sub flood {
    my ($n) = @_;
    my @uris = map { "/busy?k=$n-" . int rand 300 } 1 .. 100;
    my $client = $nginx->client;

    until (-e $flag) {
        $client->flood(@uris) or $client = $nginx->client;
    }

    return {};
}

sub killer {
    my $killed = 0;

    for my $n (1 .. $kills) {
        my @workers = $nginx->workers;
        my $pid = $workers[$n % @workers];

        # at a random moment
        SlidewinNginx::nap(0.002 + rand 0.02);
        $killed += kill 'KILL', $pid;

        SlidewinNginx::until_true(sub {
            my @now = $nginx->workers;
            return @now == 2 && !grep { $_ == $pid } @now;
        }, 10);
    }

    open my $file, '>', $flag or die "$flag: $!";
    return { killed => $killed };
}

my ($killer, @loads) = $nginx->together(sub { $_[0]->() }, \&killer,
    map({ my $n = $_; sub { load($n) } } 1 .. 4),
    map { my $n = $_; sub { flood($n) } } 1 .. 3);

splice @loads, 4;

is($killer->{killed}, $kills, "$kills workers are killed");
is(scalar($nginx->errors(qr/worker process \d+ exited on signal 9/)), $kills,
   '... and the master has noticed each');

my (%hot, %busy);

for my $load (@loads) {
    $hot{$_} += $load->{hot}{$_} for keys %{$load->{hot}};
    $busy{$_} += $load->{busy}{$_} for keys %{$load->{busy}};

    cmp_ok($load->{longest}, '<', 5 * SlidewinNginx::patience(),
           'no client waits for long');
}

my $repairs = $nginx->errors(qr/zone "hot" has been repaired/);
my %locked = map { /was locked by (\d+)/ ? ($1 => 1) : () }
             $nginx->errors(qr/was locked by/);

note(scalar(keys %locked), ' were killed with a lock, zones repaired: ',
     scalar($nginx->errors(qr/has been repaired/)));

cmp_ok(scalar(keys %locked), '>', 0, 'some are killed with a lock');

is(join(' ', grep { !/^(?:200|429|0)$/ } keys %hot, keys %busy), '',
   'an answer is 200 or 429, or the connection is gone');

# a repair may have to drop clients
cmp_ok($hot{200} // 0, '<=', $limit * ($repairs + 1),
       'the hot client has got no more than its limit');
cmp_ok($hot{429} // 0, '>', 0, '... which it has reached');

# units that a killed worker had counted may belong to unanswered requests
cmp_ok($hot{200} // 0, '>=', $limit - ($hot{0} // 0),
       '... and no less, but for requests that got no answer');

is($nginx->get('/hot?k=hot')->{status}, 429, 'it is still refused');

my $client = $nginx->client;

for my $key (1 .. 3) {
    is(SlidewinNginx::tally($client->statuses(("/hot?k=new-$key")
                                              x ($limit + 10))),
       "200 x$limit, 429 x10", "another client has all of its limit: $key");
}

is(SlidewinNginx::tally(map { $client->statuses(("/busy?k=new-$_") x 3) }
                        1 .. 500),
   '200 x1000, 429 x500', '... and so have many in the small zones');

$client->close;
$nginx->stop(allow => qr/exited on signal 9|was locked by/);

done_testing();
