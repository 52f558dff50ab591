# A look at a client of a zone whose rate is a variable tells of its ban, and
# changes nothing in Redis: neither what any window has counted nor the ban.

use strict;
use warnings;

use SlidewinBan;
use SlidewinNginx;
use SlidewinStats;
use Test::More;

my @algorithms = @SlidewinBan::ALGORITHMS;
my $http = "slidewin_log_level notice;\n"
           . join '', map { <<"ZONE" } @algorithms;
    slidewin_zone \$arg_k zone=$_:1m rate=\$arg_r algorithm=$_ ban=1h
                  on_error=closed;
ZONE
my $server = SlidewinStats::location()
             . join '', map { "location = /$_ { slidewin zone=$_;"
                              . " empty_gif; }\n"
                              . "location = /peek_$_ { slidewin zone=$_ cost=0;"
                              . " empty_gif; }\n" } @algorithms;

my ($narrow, $wide) = ('3r/40d', '100r/39d');

sub told { return SlidewinBan::told(@_) }

for my $store (SlidewinBan::stores()) {
    my $redis = $store->{redis};
    my $nginx = SlidewinBan::edge(store => $store, http => $http,
                                  server => $server);
    my $client = $nginx->client;

    # remaining ALGORITHM, K: by both rates, as shared memory has them
    my $remaining = sub {
        my ($algorithm, $k) = @_;

        return join ' ', map {
            SlidewinStats::look($nginx, $algorithm, "$k?rate=$_")->{remaining}
                // '-'
        } $narrow, $wide;
    };

    # stored ALGORITHM, K: each key of the client, as it is in Redis
    my $stored = sub {
        my ($algorithm, $k) = @_;

        return join "\n", map {
            my $text = $redis->command('DUMP', $_);
            "$_ " . (defined $text ? unpack 'H*', $text : 'none') . ' '
            . $redis->command('PEXPIRETIME', $_);
        } "sw:{$k}:$algorithm", "sw:{$k}:$algorithm:ban";
    };

    for my $algorithm (@algorithms) {
        my $name = "$store->{name}, $algorithm";

        # over one limit of two, and not banned

        my $uri = "/$algorithm?k=full";

        is(told(map { $client->get("$uri&r=$_") }
                $narrow, $wide, $narrow, $wide),
           join(', ', ('200 PASSED') x 4), "$name: two windows count");
        is($remaining->($algorithm, 'full'), '0 96',
           '... of which one has no room');

        my $before = $redis && $stored->($algorithm, 'full');

        is(SlidewinStats::look($nginx, $algorithm, 'full')->{banned}, 0,
           '... a look says that nobody is banned') for 1 .. 3;
        is($stored->($algorithm, 'full'), $before,
           '... and changes nothing in Redis') if $redis;
        is($remaining->($algorithm, 'full'), '0 96',
           '... nor what the windows have');
        is(told($client->get("$uri&r=$wide")), '200 PASSED',
           '... the wide one goes on');

        # and banned

        $uri = "/$algorithm?k=banned";

        my @answers = map { SlidewinBan::ask($client, "$uri&r=$_") }
                      $narrow, $wide, $narrow, $wide, $narrow;
        my $begin = $answers[-1];

        is(told(@answers), '200 PASSED, ' x 4 . '429 REJECTED',
           "$name: a ban begins");
        $before = $redis && $stored->($algorithm, 'banned');

        for (1 .. 3) {
            my $look = SlidewinStats::look($nginx, $algorithm, 'banned');

            ok($look->{banned} > 3000 && $look->{banned} <= 3600,
               '... a look tells of it') or diag($look->{banned});
        }

        is($stored->($algorithm, 'banned'), $before,
           '... and changes nothing in Redis') if $redis;

        my $hit = SlidewinBan::ask($client, "/peek_$algorithm?k=banned"
                                            . "&r=$wide");

        is(told($hit), '429 BANNED', '... the ban goes on');
        SlidewinBan::is_left($begin, $hit, 3600, '... and ends when it said');

        # without the ban: what the windows have counted

        next if !$redis;

        is($redis->command('DEL', "sw:{banned}:$algorithm:ban"), 1,
           '... without it');
        is($remaining->($algorithm, 'banned'), '0 96',
           '... both windows have what they had');
    }

    $client->close;
    $nginx->stop(name => $store->{name});
}

done_testing();
