# The same random requests in shared memory and in Redis: estimates, true costs,
# several rates, requests that overlap, and resets. Both stores answer the same,
# and have the same left in each window.

use strict;
use warnings;

use SlidewinCount;
use SlidewinNginx;
use Test::More;

my $seed = $ENV{SLIDEWIN_SEED} // int rand 2**31;
srand $seed;
diag("SLIDEWIN_SEED=$seed");

my ($seconds, $least, $most) = (5, 5, 250);

my @stores = qw(local redis);
my @algorithms = @SlidewinCount::ALGORITHMS;

# windows that do not end during the suite
my @rates = qw(100r/40d 60r/30d 30r/20d 100r/35d);
my @estimates = (0, 1, 5, 10, 30);
my @costs = ('', 0, 1, 3, 10, 12, 40, 130, 2000, '9' x 20, 'x', '1.5,2');

my $place = SlidewinCount->new('redis');
my $held = $place->held;
my ($http, $server) = ('', '');

for my $algorithm (@algorithms) {
    for my $store (@stores) {
        my $zone = "${store}_$algorithm";
        my $at = $store eq 'local' ? 'store=local' : 'deny_cache=off';
        my $limit = "zone=$zone cost=\$arg_e charge=\$upstream_http_x_cost";

        $http .= "slidewin_zone \$arg_k zone=$zone:2m rate=\$arg_r"
                 . " algorithm=$algorithm on_error=closed $at;\n";
        $server .= <<"END";
    location = /told_$zone { slidewin $limit; proxy_pass http://told; }
    location = /held_$zone { slidewin $limit; proxy_pass http://held; }
    location = /not_$zone { slidewin $limit count=404; proxy_pass http://told; }
    location = /reset_$zone { slidewin $limit reset=200; proxy_pass http://told; }
    location = /peek_$zone { slidewin zone=$zone cost=0; empty_gif; }
END
    }
}

my $nginx = $place->edge(http => $http . $place->told, server => $server);
my $client = $nginx->client;

sub pick { return $_[rand @_] }

sub said {
    my ($answer) = @_;

    return "$answer->{status} " . ($answer->{header}{'x-remaining'} // '-');
}

# look ALGORITHM, KEY, RATES: what each store has in each window
sub look {
    my ($algorithm, $key, $rates) = @_;

    return map {
        my $store = $_;
        join ', ', map {
            my $header = $client->get("/peek_${store}_$algorithm?k=$key&r=$_")
                                ->{header};
            "$header->{'x-remaining'} of " . int $header->{'x-estimate'};
        } @$rates;
    } @stores;
}

# begin URI: a request to the upstream that holds it. Returns its client, and its
# connection to the upstream, or what was answered.
sub begin {
    my ($uri) = @_;
    my $begun = $nginx->client;

    $begun->request($uri);

    my $bits = '';

    vec($bits, fileno $_->{socket}, 1) = 1 for $held, $begun;
    select $bits, undef, undef, 20 * SlidewinNginx::patience();

    return $begun, shift @{$held->{requests}} if $held->has(0);
    return said($begun->answer);
}

# ended CLIENT, UPSTREAM, COST: ends such a request
sub ended {
    my ($begun, $upstream, $cost) = @_;

    push @{$held->{requests}}, $upstream;
    $held->tell($cost);

    return said($begun->answer);
}

# trace ALGORITHM, KEY: undef if both stores agree all the time, else what was
# done
sub trace {
    my ($algorithm, $key) = @_;
    my @rates = @rates[0 .. rand @rates];
    my (@log, @open);

    for (1 .. 12) {
        my ($rate, $estimate, $cost) = (pick(@rates), pick(@estimates),
                                        pick(@costs));
        my $what = pick(qw(told told told told held held end end not reset));
        my $query = "?k=$key&r=$rate&e=$estimate&c=$cost";
        my @said;

        # few resets, and few costs that leave room for nothing
        $what = 'told' if $what eq 'reset' && rand 3 > 1;
        $query =~ s/c=9+/c=7/ if rand 4 > 1;

        if ($what eq 'end') {
            my $pair = splice @open, rand @open, 1 or next;

            @said = map { ended(@$_, $cost) } @$pair;

        } elsif ($what eq 'held') {
            my @pair = map { [begin("/held_${_}_$algorithm$query")] } @stores;

            @said = map { @$_ == 2 ? 'begun' : $_->[0] } @pair;
            push @open, \@pair if "@said" eq 'begun begun';

        } else {
            @said = map { said($client->get("/${what}_${_}_$algorithm$query")) }
                    @stores;
        }

        my @look = look($algorithm, $key, \@rates);

        push @log, "/$what$query: " . join(' | ', @said) . ' -> '
                   . join(' | ', @look);

        return join "\n", @log if $said[0] ne $said[1] || $look[0] ne $look[1];
    }

    # After a reset, refunds go as far as what was counted since: the order
    # matters. One is settled when a look is answered.

    for my $pair (@open) {
        my @said = map { ended(@$_, 3) } @$pair;
        my @look = look($algorithm, $key, \@rates);

        push @log, 'it ends: ' . join(' | ', @said) . ' -> '
                   . join(' | ', @look);

        return join "\n", @log if $look[0] ne $look[1];
    }

    return;
}

$client->get("/peek_redis_$_?k=first&r=$rates[0]") for @algorithms;

my $end = SlidewinNginx::now() + $seconds;
my ($n, @wrong) = (0);

while ($n < $most && @wrong < 3
       && ($n < $least || SlidewinNginx::now() < $end))
{
    $n++;

    for my $algorithm (@algorithms) {
        my $wrong = trace($algorithm, "t$n") // next;

        push @wrong, "$algorithm:\n$wrong";
    }
}

is(join("\n", @wrong), '', "the stores agree ($n traces of each algorithm)");

$client->close;
$nginx->stop;

done_testing();
