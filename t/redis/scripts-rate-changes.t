# A client whose rate changes, with the scripts alone and a clock of the suite:
# units that have left a window are refunded nowhere, and a log that is always
# checked with a short window drops what it keeps for a long one.

use strict;
use warnings;

use Test::More;

use SlidewinRedis;

my %script = (c => 'take_pair', f => 'take_pair', s => 'take_strict',
              l => 'take_log');
my $from = 1700000040000;

for my $binary (SlidewinRedis::engines()) {
    my $redis = SlidewinRedis->start(binary => $binary);
    my $engine = $redis->version;
    my $client = $redis->client;
    my %sha = map {
        $_ => $redis->command('SCRIPT', 'LOAD', SlidewinRedis::script_at($_))
    } SlidewinRedis::scripts();

    my $command = sub {
        my ($script, $kind, $limit, $window, $now, $cost) = @_;

        return ['EVALSHA', $sha{$script}, 1, 'k', SlidewinRedis::packed(
                1, $now, 1, $kind, $limit, $window, $kind eq 's' ? 10 : 0,
                $cost, 0, 0)];
    };

    # how many are admitted, and the numbers of the state
    my $take = sub {
        my $reply = $client->call(@{$command->(@_)});
        my (undef, undef, $admitted, undef, @state)
            = SlidewinRedis::numbers($reply);

        return ($admitted, @state);
    };

    # The first unit has left the short window when the long one is checked, and
    # is refunded after that: the long one holds only the other unit.

    for my $kind (qw(s l)) {
        for my $script ('take', $script{$kind}) {
            my $name = "$engine, $script of $kind";
            my @long = ($script, $kind, 1, 60_000);
            my @short = ($script, $kind, 5, 1000);

            $client->call('DEL', 'k');

            is(($take->(@short, $from, 1))[0], 1, "$name: a unit");
            is(($take->(@short, $from + 600, 1))[0], 1, '... and another');
            is(($take->(@long, $from + 1200, 1))[0], 0,
               '... which refuses one in the long window');
            $client->call('EVALSHA', $sha{give_back}, 1, 'k',
                          SlidewinRedis::packed(1, $from + 1300, $kind, 5,
                                                1000, $kind eq 's' ? 10 : 0, 1,
                                                $from));
            is(($take->(@long, $from + 1400, 1))[0], 0,
               '... also when the first, which has left, is given back');
        }
    }

    # 3,600 units an hour with a limit of 1,000 or 10,000: the log is kept for
    # the hour, and merges entries.

    for my $limit (1_000, 10_000) {
        my $now = $from;
        my @counted;

        $client->call('DEL', 'k');
        $take->('take_log', 'l', 5, 1000, $now, 1);
        $take->('take_log', 'l', $limit, 3_600_000, $now + 1, 1);

        for my $hour (1 .. 4) {
            $client->call_all(map {
                $command->('take_log', 'l', 5, 1000, $now += 1000, 1)
            } 1 .. 3600);
            push @counted, ($take->('take_log', 'l', $limit, 3_600_000,
                                    $now + 1, 0))[1];
        }

        my @wrong = grep { $_ < 3600 || $_ > 3600 * 17 / 16 + 2 } @counted;

        is("@wrong", '', "$engine, ${limit}r/h: of 3600 an hour it counts"
                         . " @counted");
        cmp_ok($client->call('STRLEN', 'k'), '<', 17 + 12 * 200,
               '... in few entries');
    }

    $redis->remove;
}

done_testing();
