# A cost from a variable means the same in both stores and for every algorithm:
# 0 only looks, a value that is no number is logged and costs 1, more than the
# limit never passes.

use strict;
use warnings;

use Test::More;

use SlidewinNginx;
use SlidewinRedis;

my @stores = qw(local redis);
my @algorithms = qw(counter fixed strict log);
my $limit = 20;
my $redis = SlidewinRedis->start;

my ($zones, $locations) = ('', '');

# 40 days: windows that do not end during the suite
for my $store (@stores) {
    my $where = $store eq 'local' ? ' store=local' : '';

    for my $algorithm (@algorithms) {
        my $name = "${store}_$algorithm";

        $zones .= "slidewin_zone \$http_x_user zone=$name:1m on_error=closed"
                  . " algorithm=$algorithm rate=${limit}r/40d$where;\n";

        # one directive for all endpoints below it
        $locations .= <<"END";
    location /$name/ {
        slidewin zone=$name cost=\$endpoint_cost;
        location /$name/search { slidewin zone=$name cost=\$search_cost;
                                 empty_gif; }
        location /$name/exact { slidewin zone=$name cost=\$arg_cost;
                                empty_gif; }
        empty_gif;
    }
END
    }
}

my $nginx = SlidewinNginx->start(
    workers => 2, http => <<"END", server => <<"END");
    # lines that the log throttle leaves out appear at debug, and no others do
    error_log logs/error.log debug_mail;
    slidewin_redis @{[$redis->url]} timeout=20s connect_timeout=20s;
    slidewin_log_level info;
    map \$uri \$endpoint_cost {
        default 1;
        ~/export\$ 10;
        ~/report\$ 5;
        ~/usage\$ 0;
        ~/broken\$ five;
    }
    map \$arg_depth \$search_cost {
        default 1;
        full 8;
        deep 3;
        none 0;
        ~^(?<levels>\\d+)\$ \$levels;
    }
    $zones
END
    add_header X-Source \$slidewin_source always;
    $locations
END

my $client = $nginx->client;

# "429 REJECTED 5 retry": status, outcome, units left, whether it has
# Retry-After
sub told {
    my ($answer) = @_;
    my $header = $answer->{header};

    return join ' ', $answer->{status}, $header->{'x-status'} // '-',
        $header->{'x-remaining'} // '-',
        defined $header->{'retry-after'} ? 'retry' : ();
}

# walk NAME, USER, TEXT, URI => WANTED...
sub walk {
    my ($name, $user, $text, @steps) = @_;
    my (@got, @wanted);

    while (my ($uri, $wanted) = splice @steps, 0, 2) {
        push @got, told($client->get("/$name$uri", 'X-User' => $user));
        push @wanted, $wanted;
    }

    return is(join(', ', @got), join(', ', @wanted), "$name: $text");
}

# when this line is in the log, all earlier lines are
sub complaints {
    my ($name) = @_;
    my $end = "/$name/exact?cost=end-of-$name";

    $client->get($end, 'X-User' => 'nobody');
    $nginx->logged(qr/invalid cost "end-of-$name"/) or die "no line for $end";

    return grep { !/"end-of-/ }
           $nginx->errors(qr/\[(?:error|debug)\] .*invalid cost .* zone "\Q$name\E"/);
}

for my $store (@stores) {
    for my $algorithm (@algorithms) {
        my $name = "${store}_$algorithm";

        is($client->get("/$name/", 'X-User' => 'source')
           ->{header}{'x-source'}, $store, "$name: counts where it is told to");

        walk($name, 'endpoints', 'by the endpoint',
             '/other' => '200 PASSED 19', '/export' => '200 PASSED 9',
             '/report' => '200 PASSED 4', '/export' => '429 REJECTED 4 retry',
             '/report' => '429 REJECTED 4 retry', '/usage' => '200 PASSED 4',
             '/other' => '200 PASSED 3');

        walk($name, 'queries', 'by the query',
             '/search' => '200 PASSED 19',
             '/search?depth=deep' => '200 PASSED 16',
             '/search?depth=full' => '200 PASSED 8',
             '/search?depth=7' => '200 PASSED 1',
             '/search?depth=deep' => '429 REJECTED 1 retry',
             '/search?depth=none' => '200 PASSED 1',
             '/search?depth=0' => '200 PASSED 1',
             '/search' => '200 PASSED 0',
             '/search?depth=none' => '200 PASSED 0',
             '/search' => '429 REJECTED 0 retry');

        walk($name, 'large', 'the limit itself passes once',
             '/exact?cost=20' => '200 PASSED 0',
             '/exact?cost=20' => '429 REJECTED 0 retry',
             '/exact?cost=1' => '429 REJECTED 0 retry');

        walk($name, 'never', 'more than the limit has no time to come back at',
             '/exact?cost=21' => '429 REJECTED 20',
             '/exact?cost=9007199254740991' => '429 REJECTED 20',
             '/exact?cost=9007199254740992' => '429 REJECTED 20',
             '/exact?cost=99999999999999999999' => '429 REJECTED 20',
             '/exact?cost=20' => '200 PASSED 0',
             '/exact?cost=21' => '429 REJECTED 0');

        is(scalar complaints($name), 0, "$name: none of these is odd");

        walk($name, 'odd', 'of what is no number on_error decides',
             (map { ("/exact?cost=$_" => '503 ERROR_REJECTED -') }
                  '-1', '-20', '1e3', '2.5', '', '+2', '5;FLUSHALL'),
             '/exact' => '503 ERROR_REJECTED -',
             '/broken' => '503 ERROR_REJECTED -',
             '/usage' => '200 PASSED 20');

        my @lines = complaints($name);

        is(join(' ', map { /invalid cost ("[^"]*")/ } @lines),
           '"-1" "-20" "1e3" "2.5" "" "+2" "5;FLUSHALL" "" "five"',
           "$name: each is logged");
    }
}


# A request of cost 0 leaves no trace in Redis: no new key, no longer life of
# one.

for my $algorithm (@algorithms) {
    my $name = "redis_$algorithm";

    $redis->command('FLUSHALL');
    walk($name, 'peek', 'at a new client',
         '/usage' => '200 PASSED 20', '/search?depth=none' => '200 PASSED 20');
    is($redis->command('DBSIZE'), 0, "$name: a peek writes no key");

    $client->get("/$name/report", 'X-User' => 'peek');

    my @before = ($redis->command('GET', "sw:{peek}:$name"),
                  $redis->command('PTTL', "sw:{peek}:$name"));

    walk($name, 'peek', 'at one that has been counted',
         ('/usage' => '200 PASSED 15') x 3);

    is($redis->command('GET', "sw:{peek}:$name"), $before[0],
       "$name: nor changes one");
    cmp_ok($redis->command('PTTL', "sw:{peek}:$name"), '<=', $before[1],
           "$name: nor keeps it longer");
}


# Several costs at once: 8 clients take 3 each, 10 times. Six of them fit, and
# two of cost 1.

for my $store (@stores) {
    for my $algorithm (@algorithms) {
        my $name = "${store}_$algorithm";
        my @answers = map { @$_ } $nginx->together(sub {
            my ($own) = @_;
            return [map {
                $own->get("/$name/search?depth=deep",
                          'X-User' => 'crowd')->{status}
            } 1 .. 10];
        }, $nginx->clients(8));

        is(SlidewinNginx::tally(@answers), '200 x6, 429 x74',
           "$name: as many threes as fit, for eight at once");
        walk($name, 'crowd', 'and the rest in ones',
             '/other' => '200 PASSED 1', '/other' => '200 PASSED 0',
             '/other' => '429 REJECTED 0 retry');
    }
}

$client->close;
$nginx->stop;

done_testing();
