# Limits with different keys on one request, in shared memory and in two Redis:
# whichever of them rejects, and however many requests come at once, all have
# counted what was admitted and nothing else.

use strict;
use warnings;

use Test::More;

use SlidewinNginx;
use SlidewinRedis;

my @algorithms = qw(counter fixed strict log);
my @policies = qw(client user key global);
my %store = (client => 'local', user => 'a', key => 'b', global => 'a');
my %redis = map { $_ => SlidewinRedis->start } qw(a b);

my ($zones, $locations) = ('', '');

# 40 days: windows that do not end during the suite
for my $algorithm (@algorithms) {
    for my $policy (@policies) {
        my $name = "${policy}_$algorithm";
        my $key = $policy eq 'global' ? 'world$arg_run'
                                      : "\$arg_run-\$arg_$policy";

        $zones .= "slidewin_zone $key zone=$name:1m on_error=closed"
                  . " rate=\${arg_${policy}s}r/40d algorithm=$algorithm"
                  . " store=$store{$policy};\n";
        $locations .= "location = /$name { slidewin zone=$name cost=0;"
                      . " empty_gif; }\n";
    }
}

# the same four zones in both orders, so that each store is the first and the
# last one; each zone has another algorithm
for my $turn (0 .. 3) {
    my @limits = map {
        "slidewin zone=$policies[$_]_$algorithms[($_ + $turn) % 4];"
    } 0 .. 3;

    $locations .= "location = /there_$turn { @limits empty_gif; }\n"
                  . "location = /back_$turn { @{[reverse @limits]}"
                  . " empty_gif; }\n";
}

my $nginx = SlidewinNginx->start(
    workers => 2, http => <<"END", server => <<"END");
    slidewin_redis @{[$redis{a}->url]} name=a timeout=20s connect_timeout=20s;
    slidewin_redis @{[$redis{b}->url]} name=b timeout=20s connect_timeout=20s;
    slidewin_log_level info;
    $zones
END
    add_header X-Zone \$slidewin_zone always;
    add_header X-Source \$slidewin_source always;
    $locations
END

# Waits until so much is left of a zone: Redis gets refunds after the client has
# its response.
my $peeks = $nginx->client;
my $patience = 10 * SlidewinNginx::patience();

sub settled {
    my ($uri, $wanted) = @_;
    my $left;

    # a refund that was missing once is not waited for again
    SlidewinNginx::until_true(sub {
        $left = $peeks->get($uri)->{header}{'x-remaining'} // '-';
        return $left eq $wanted;
    }, $patience) or $patience = 0;

    return $left;
}

sub becomes {
    my ($uri, $wanted, $text) = @_;

    return is(settled($uri, $wanted), $wanted, $text);
}


# 12 clients at once, which are 6 users with 3 API keys, and one of the four
# zones has a small limit. The others have room for all requests, so that none
# rejects because of units that are refunded later.

my %narrow = (client => [4, 48], user => [7, 42], key => [10, 30],
              global => [25, 25]);
my $each = 10;
my $run = 0;

for my $order (qw(there back)) {
    for my $policy (@policies) {
        my ($limit, $wanted) = @{$narrow{$policy}};
        my $turn = ++$run % 4;
        my %limit = ((map { $_ => 200 } @policies), $policy => $limit);
        my $rates = "run=$run"
                    . join '', map { "&${_}s=$limit{$_}" } @policies;
        my $name = "$policy is the narrow one, $order";

        my @who = map {
            { client => "c$_", user => 'u' . $_ % 6, key => 'k' . $_ % 3,
              global => '' }
        } 0 .. 11;
        my @clients = $nginx->clients(scalar @who);

        my @answers = $nginx->together(sub {
            my ($i) = @_;
            my $uri = "/${order}_$turn?$rates"
                      . join '', map { "&$_=$who[$i]{$_}" } @policies;

            return [map {
                my $answer = $clients[$i]->get($uri);
                [$answer->{status}, $answer->{header}{'x-zone'} // '-'];
            } 1 .. $each];
        }, 0 .. $#who);

        my @all = map { @$_ } @answers;
        my $refused = @who * $each - $wanted;

        is(SlidewinNginx::tally(map { $_->[0] } @all),
           "200 x$wanted, 429 x$refused", "$name: as many as it admits");
        is(scalar(grep { $_->[0] == 429 && $_->[1] !~ /^$policy/ } @all), 0,
           "$name: it refuses the rest");

        my %used;

        for my $i (0 .. $#who) {
            my $admitted = grep { $_->[0] == 200 } @{$answers[$i]};
            $used{$_}{$who[$i]{$_}} += $admitted for @policies;
        }

        # twice: a second round shows if too much was refunded
        for my $look ('', ', and stays so') {
            for my $i (0 .. $#policies) {
                my $kind = $policies[$i];
                my $algorithm = $algorithms[($i + $turn) % 4];
                my $of = $used{$kind};
                my @wrong;

                for my $key (sort keys %$of) {
                    my $wanted = $limit{$kind} - $of->{$key};
                    my $left = settled("/${kind}_$algorithm?$rates&$kind=$key",
                                       $wanted);

                    push @wrong, "$key has $left, not $wanted"
                        if $left ne $wanted;
                }

                is(join(', ', @wrong), '', "$name: $kind by $algorithm has"
                                           . " counted what was admitted$look");
            }
        }
    }
}

$peeks->close;
$nginx->stop;


# One of the two Redis is down. It has zones of every on_error, on connections
# of their own, so that the breaker of one does not affect another.

my %mode = (
    closed => ['closed', '503 x20', 0],
    open => ['open', '200 x20', 20],
    share => ['local:50%', '200 x3, 429 x17', 3],
);

sub start_pair {
    my ($url, $timeout) = @_;
    my ($http, $server) = ('', '');

    for my $mode (sort keys %mode) {
        $http .= "slidewin_redis $url name=$mode timeout=$timeout"
                 . " connect_timeout=$timeout;\n"
                 . "slidewin_zone \$arg_k zone=$mode:1m rate=6r/h"
                 . " algorithm=log store=$mode on_error=$mode{$mode}[0];\n";

        $server .= "location = /$mode { slidewin zone=$mode; empty_gif; }\n"
                   . "location = /peek_$mode { slidewin zone=$mode cost=0;"
                   . " empty_gif; }\n"
                   . "location = /last_$mode { slidewin zone=local;"
                   . " slidewin zone=a; slidewin zone=$mode; empty_gif; }\n"
                   . "location = /first_$mode { slidewin zone=$mode;"
                   . " slidewin zone=a; slidewin zone=local; empty_gif; }\n";
    }

    return SlidewinNginx->start(http => <<"END", server => <<"END");
    slidewin_redis @{[$redis{a}->url]} name=a timeout=20s connect_timeout=20s;
    slidewin_log_level info;
    slidewin_zone \$arg_k zone=local:1m rate=40r/h algorithm=log store=local;
    slidewin_zone \$arg_k zone=a:1m rate=40r/h algorithm=log store=a
                  on_error=closed;
    $http
END
    add_header X-Source \$slidewin_source always;
    add_header X-Zone \$slidewin_zone always;
    location = /local { slidewin zone=local cost=0; empty_gif; }
    location = /a { slidewin zone=a cost=0; empty_gif; }
    $server
END
}

sub well {
    my ($mode) = @_;

    return SlidewinNginx::until_true(sub {
        my $header = $peeks->get("/peek_$mode?k=well")->{header};
        return ($header->{'x-source'} // '') eq 'redis';
    }, 20 * SlidewinNginx::patience());
}

# Twenty requests at once while it is down, as the first or the last of three.
sub away {
    my ($name, @clients) = @_;

    for my $order (qw(last first)) {
        for my $mode (sort keys %mode) {
            my (undef, $wanted, $counted) = @{$mode{$mode}};
            my $key = "$name-$order-$mode" =~ tr/ /-/r;
            my @answers = $nginx->burst(\@clients,
                                        [["/${order}_$mode?k=$key"]]);

            is(SlidewinNginx::tally(map { $_->{status} } @answers), $wanted,
               "$name, asked $order: on_error=$mode{$mode}[0] decides");
            becomes("/$_?k=$key", 40 - $counted,
                    "... $_ has counted what passed") for qw(local a);
        }
    }

    return;
}

$redis{b}->kill;

$nginx = start_pair($redis{b}->url, '20s');
$peeks = $nginx->client;

my @clients = $nginx->clients(20);

# that it is down is known after the first failure
$peeks->get("/$_?k=first") for sort keys %mode;

away('down', @clients);

$redis{b}->run or die 'Redis does not start again';

for my $mode (sort keys %mode) {
    ok(well($mode), "on_error=$mode{$mode}[0]: Redis is back");
    is(SlidewinNginx::tally(map { $_->{status} }
                            $nginx->burst(\@clients,
                                          [["/last_$mode?k=back-$mode"]])),
       '200 x6, 429 x14', '... and decides');
    becomes("/$_?k=back-$mode", 34, "... $_ has counted what passed")
        for qw(local a);
}

# With on_error=closed, the other Redis charges no request. Only as many as fit
# at once: units of the first zone are taken until they are refunded.

$redis{a}->kill;

for my $order (qw(last first)) {
    my @answers = $nginx->burst([@clients[0 .. 5]],
                                [["/${order}_share?k=$order-a"]]);

    is(SlidewinNginx::tally(map { $_->{status} } @answers), '503 x6',
       "the other is down, this one asked $order: closed");
    becomes("/local?k=$order-a", 40, '... shared memory has counted nothing');
    becomes("/peek_share?k=$order-a", 6, '... nor has the one that is well');
}

$redis{a}->run or die 'Redis does not start again';

$_->close for $peeks, @clients;
$nginx->stop;

done_testing();
