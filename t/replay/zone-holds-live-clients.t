# The clients that count at once, and the size that a zone needs for them: the zone
# of a real nginx holds as many.

use strict;
use warnings;

use List::Util 'max';
use SlidewinNginx;
use SlidewinReplay;
use Test::More;

my $seed = SlidewinReplay::seed();
my $dir = SlidewinReplay::directory();

# How many clients count at a time, by the words of docs/sizing.md.

my %end = (
    counter => sub { (int($_[0] / $_[1]) + 2) * $_[1] },
    fixed => sub { (int($_[0] / $_[1]) + 1) * $_[1] },
    strict => sub { (int($_[0] * 16 / $_[1]) + 17) * $_[1] / 16 },
    log => sub { $_[0] + $_[1] },
);

srand $seed;

for my $window (7, 60, 3600) {
    my @requests = sort { $a->[0] <=> $b->[0] } map {
        [1763300000 + int rand 4 * $window, int rand 60]
    } 1 .. 400;
    my $path = SlidewinReplay::write("$dir/$window.log", join '', map {
        SlidewinReplay::line('combined', { time => 1000 * $_->[0],
                                           client => "192.0.2.$_->[1]" })
    } @requests);
    my $json = SlidewinReplay::json('--rate', "1000r/${window}s", '--algorithm', 'all',
                                    '--key', '$remote_addr', $path);

    for my $candidate (@{$json->{candidates}}) {
        my (%until, @live);

        for my $request (@requests) {
            my ($time, $client) = @$request;
            $until{$client} = $end{$candidate->{algorithm}}->($time, $window);
            push @live, scalar grep { $_ > $time } values %until;
        }

        is($candidate->{live_clients}, max(@live),
           "$candidate->{algorithm}, $window s: clients that count at once");
    }
}


# A zone of that size.

my $clients = 3000;
my $path = SlidewinReplay::write("$dir/many.log", join '', map {
    SlidewinReplay::line('combined', { time => 1763300000000, uri => "/?k=$_",
                                       client => '192.0.2.1' })
} map { ($_) x 3 } 1 .. $clients);
my %rates = (counter => '100r/40d', fixed => '100r/40d', strict => '100r/40d',
             log => '14r/40d');
my %lines;

for my $algorithm (sort keys %rates) {
    my ($candidate) = @{SlidewinReplay::json('--rate', $rates{$algorithm}, '--algorithm',
        $algorithm, '--key', '$arg_k', $path)->{candidates}};

    is($candidate->{live_clients}, $clients, "$algorithm: all clients count");
    $lines{$algorithm} = $candidate->{zone} =~ s/zone=limit/zone=$algorithm/r;
}

my $nginx = SlidewinNginx->start(
    http => join("\n", 'slidewin_log_level info;', values %lines),
    server => join '', map {
        "location = /$_ { slidewin zone=$_; empty_gif; }\n"
    } keys %lines,
);
my $client = $nginx->client;

for my $algorithm (sort keys %lines) {
    for (my $n = 1; $n <= $clients; $n += 500) {
        $client->statuses(map { "/$algorithm?k=$_" } $n .. $n + 499);
    }

    my @full = $nginx->errors(qr/zone "$algorithm" is full/);
    is("@full", '', "$lines{$algorithm} holds $clients clients");
}

$client->close;
$nginx->stop;

done_testing();
