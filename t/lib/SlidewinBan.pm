package SlidewinBan;

# For suites of ban=: the same scenario in each store, and what answers, times
# and the log tell of bans. edge() is an nginx whose answers have the variables
# that matter in X-... fields.

use strict;
use warnings;

use List::Util ();
use POSIX ();
use SlidewinNginx ();
use SlidewinRedis ();
use Test::More ();

our @ALGORITHMS = qw(counter fixed strict log);

# By how many seconds an edge and Redis may differ in what time it is.
our $SLACK = 0.03;

my $fresh = 0;

# a client that has made no request yet
sub fresh { return 'k' . ++$fresh }

# Both stores: each has a name and, but for shared memory, a Redis.
sub stores {
    return ({ name => 'local' },
            { name => 'redis', redis => SlidewinRedis->start });
}

# edge(store => STORE, http => TEXT, server => TEXT, redis => PARAMETERS, ...):
# other names are those of SlidewinNginx->start
sub edge { return SlidewinNginx->start(conf(@_)) }

sub conf {
    my (%conf) = @_;
    my $redis = (delete $conf{store} // {})->{redis};
    my $wait = delete $conf{redis} // 'timeout=20s connect_timeout=20s';
    my $url = delete $conf{url} // ($redis && $redis->url);

    $conf{http} = ($url ? "slidewin_redis $url $wait;\n" : '')
                  . ($conf{http} // '');
    $conf{server} = 'location = /status { stub_status; }'
        . join('', map { "add_header X-\u$_ \$slidewin_$_ always;\n" }
               qw(source zone retry_after reset))
        . ($conf{server} // '');

    return %conf;
}

# ask CLIENT, URI: the answer, with the times between which it was decided
sub ask {
    my ($client, @request) = @_;
    my $from = SlidewinNginx::now();
    my $answer = $client->get(@request);

    return { %$answer, from => $from, to => SlidewinNginx::now() };
}

# told ANSWER...: "200 PASSED, 429 REJECTED"
sub told {
    return join ', ', map {
        "$_->{status} " . ($_->{header}{'x-status'} // '-')
    } @_;
}

sub tally {
    my %count;

    $count{told($_)}++ for @_;

    return join ', ', map { "$_ x$count{$_}" } sort keys %count;
}

sub status { return $_[0]{header}{'x-status'} // '-' }

sub retry { return $_[0]{header}{'retry-after'} }

# until_rejected CLIENT, URI: of a window that may end meanwhile; the first
# rejection
sub until_rejected {
    my ($client, $uri) = @_;

    for (1 .. 1000) {
        my $answer = ask($client, $uri);
        return $answer if $answer->{status} != 200;
    }

    die "$uri: is never rejected\n";
}

# is_left BEGIN, ANSWER, SECONDS, NAME: asserts that an answer has as
# Retry-After what is left of a ban of so many seconds, which BEGIN, an earlier
# answer, began
sub is_left {
    my ($begin, $answer, $seconds, $name) = @_;
    my $least = POSIX::ceil($seconds - ($answer->{to} - $begin->{from})
                            - $SLACK);
    my $most = POSIX::ceil($seconds - ($answer->{from} - $begin->{to})
                           + $SLACK);
    my $retry = retry($answer) // 'none';

    $least = 1 if $least < 1;
    $most = POSIX::ceil($seconds) if $most > $seconds;

    return Test::More::ok($retry =~ /^\d+$/ && $retry >= $least
                          && $retry <= $most, $name)
           || Test::More::diag("Retry-After is $retry, of $least to $most");
}

# until_over WAITS...: hits clients until each is not banned any more: WAITS are
# { client, uri, begin, seconds, name }; asserts that each ban ends when it
# should, and sets "over" to the first answer then
sub until_over {
    my (@waits) = @_;
    my @left = @waits;
    my $end = SlidewinNginx::now() + 60;

    while (@left && SlidewinNginx::now() < $end) {
        for my $wait (@left) {
            my $answer = ask($wait->{client}, $wait->{uri});

            if (status($answer) eq 'BANNED') {
                $wait->{last} = $answer;
                $wait->{hits}++;
            } else {
                $wait->{over} = $answer;
            }
        }
        @left = grep { !$_->{over} } @left;
        SlidewinNginx::nap(0.004);
    }

    for my $wait (@waits) {
        my ($begin, $last, $over, $seconds, $name)
            = @$wait{qw(begin last over seconds name)};

        Test::More::cmp_ok(($over // { to => 0 })->{to} - $begin->{from}, '>=',
                           $seconds - $SLACK,
                           "$name: lasts $seconds s, "
                           . ($wait->{hits} // 0) . ' hits');
        # what is sent later is decided later
        Test::More::cmp_ok(($last // $begin)->{from} - $begin->{to}, '<=',
                           $seconds + $SLACK, "$name: and not longer");
    }

    return;
}

# lines NGINX, PATTERN: those of rejections, without time and process
sub lines {
    my ($nginx, $pattern) = @_;

    return map { s/^.*?\[(\w+)\] \d+#\d+: (?:\*\d+ )?/$1: /r }
           grep { /limiting requests/ } $nginx->errors($pattern // qr/./);
}

sub begun { return lines($_[0], $_[1] // qr/, banned for \d+s, /) }

# ban_of REDIS, ZONE, CLIENT, SUFFIX: (end, length, TTL), all in ms, or nothing
sub ban_of {
    my ($redis, $zone, $k, $suffix) = @_;
    my $key = "sw:{$k}:$zone:" . ($suffix // 'ban');
    my $text = $redis->command('GET', $key) // return;

    return (SlidewinRedis::numbers($text), $redis->command('PTTL', $key));
}

1;
