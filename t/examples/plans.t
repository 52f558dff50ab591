# examples/plans.conf: each customer has the rate of its plan. A request without
# a known API key is counted by address.

use strict;
use warnings;

use SlidewinApp;
use SlidewinExample;
use Test::More;

my $app = SlidewinApp->start(sub {
    my ($request) = @_;
    my @who = map { $request->{header}{$_} // '-' } qw(x-customer x-plan);

    return 200, "@who";
});
my $nginx = SlidewinExample->start('plans', app => $app->address);

sub key { return { 'X-API-Key' => $_[0] } }

# limit and remaining of one more request
sub left {
    my $answer = $nginx->ask(@_);

    return join ' ', $answer->{status},
           map { $answer->{header}{"x-ratelimit-$_"} } qw(limit remaining);
}

# the customers

my %body = (
    'k-1f9d0c77' => 'acme gold', 'k-83be4410' => 'acme gold',
    'k-77c2a9d5' => 'globex silver', 'k-0a64e2f1' => 'initech free',
    'k-invented' => '- none', 'acme' => '- none',
);

for my $key (sort keys %body) {
    is($nginx->ask(1, '/api/', { %{key($key)}, 'X-Customer' => 'forged',
                                 'X-Plan' => 'gold' })->{body},
       $body{$key}, "the application is told who has the key $key");
}

# one budget for a customer, from all its addresses

is(left(1, '/api/', key('k-0a64e2f1')), '200 60 58', 'the free plan');
is($nginx->tallied(2, 60, '/api/', key('k-0a64e2f1')), '200 x58, 429 x2',
   '... ends after 60, from any address');

my $late = $nginx->ask(3, '/api/', key('k-0a64e2f1'));

is($late->{status}, 429, '... for all');
like($late->{header}{'retry-after'}, qr/^[1-9]\d*$/, '... with a time');
is($late->{header}{'x-ratelimit-limit'}, 60, '... and the limit');
is($late->{header}{'x-ratelimit-reset'}, $late->{header}{'retry-after'},
   '... and the same time once more');

is($nginx->tallied(1, 610, '/api/', key('k-77c2a9d5')), '200 x599, 429 x11',
   'the silver one after 600');
is(left(1, '/api/', key('k-1f9d0c77')), '200 6000 5997',
   'two keys of a customer have one budget');
is(left(2, '/api/', key('k-83be4410')), '200 6000 5996', '... indeed');
is($nginx->tallied(3, 610, '/api/', key('k-83be4410')), '200 x610',
   'the gold one has more');

# no key, or an unknown one

is(left(4, '/api/'), '200 30 29', 'without a key it is the lowest rate');

my @made_up = map {
    $nginx->ask(4, '/api/', key("k-$_"))->{status}
} 1 .. 40;

is(SlidewinNginx::tally(@made_up), '200 x29, 429 x11',
   'keys that are made up have no budget of their own');
is($nginx->ask(4, '/api/', key(''))->{status}, 429, 'nor has an empty one');
is($nginx->ask(4, '/api/', key('customer acme'))->{status}, 429,
   'nor one that is a customer');
is($nginx->ask(4, '/api/', key('k-1f9d0c77'))->{status}, 200,
   'from the same address a customer passes');
is($nginx->ask(5, '/api/')->{status}, 200, 'and so does another address');

# "A reload applies a new rate at the next request and keeps what was used."

sub plan {
    my ($rate) = @_;
    my $text = $nginx->{conf}{rest};

    $text =~ s/^( *free +)60r/$1${rate}r/m or die 'there is no free plan';

    return $text;
}

$nginx->reload(rest => plan(100));
is(left(1, '/api/', key('k-0a64e2f1')), '200 100 39',
   'a plan that is raised is raised at once, and what was used is kept');

$nginx->stop;
$app->stop;

done_testing();
