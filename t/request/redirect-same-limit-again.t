# A zone checks a request again after an internal redirect. The stricter of both
# checks applies, and units already taken are not taken again.

use strict;
use warnings;

use SlidewinNginx;
use SlidewinRedis;
use Test::More;

my $redis = SlidewinRedis->start;

# The limit is 12. NAME => how often the zone checks the request, what twenty
# requests get, what the first one leaves.
my @cases = (
    ['a dry run, then enforced', ['dry_run', ''], '200 x12, 429 x8', 11],
    ['enforced, then a dry run', ['', 'dry_run'], '200 x12, 429 x8', 11],
    ['a look, then a unit', ['cost=0', ''], '200 x12, 429 x8', 11],
    ['a unit, then a look', ['', 'cost=0'], '200 x12, 429 x8', 11],
    ['1, then 3', ['', 'cost=3'], '200 x4, 429 x16', 9],
    ['3, then 1', ['cost=3', ''], '200 x4, 429 x16', 9],
    ['1, 2, then 4', ['', 'cost=2', 'cost=4'], '200 x3, 429 x17', 8],
    ['4, 1, then 2', ['cost=4', '', 'cost=2'], '200 x3, 429 x17', 8],
    ['a dry run of 2, then 3', ['cost=2 dry_run', 'cost=3'],
     '200 x4, 429 x16', 9],
    ['a dry run of 1, a look, then 3', ['dry_run', 'cost=0', 'cost=3'],
     '200 x4, 429 x16', 9],
    ['dry runs', ['dry_run', 'cost=3 dry_run'], '200 x20', 9],
    ['never', ['', 'cost=13'], '429 x20', 11],

    # units that are refunded in the log phase
    ['count, then any status', ['count=401', ''], '200 x12, 429 x8', 11],
    ['any status, then count', ['', 'count=401'], '200 x12, 429 x8', 11],
    ['neither counts it', ['count=401', 'count=403'], '200 x20', 12],
    ['3 if 401, then 1', ['cost=3 count=401', ''], '200 x10, 429 x10', 11],
    ['1, then 3 if 401', ['', 'cost=3 count=401'], '200 x10, 429 x10', 11],
    ['1 if 401, then 3', ['count=401', 'cost=3'], '200 x4, 429 x16', 9],
    ['a dry run if 401, then 1', ['count=401 dry_run', ''],
     '200 x12, 429 x8', 11],
    ['reset, then none', ['reset=200', ''], '200 x20', 12],
    ['none, then reset', ['', 'reset=200'], '200 x20', 12],
);

my ($zones, $locations) = ('', '');

for my $store (qw(local redis)) {
    $zones .= "slidewin_zone \$http_k zone=$store:1m rate=12r/40d
               algorithm=log store=$store on_error=closed;\n";
    $locations .= "location = /$store/left { slidewin zone=$store cost=0;
                                             empty_gif; }\n";

    for my $i (0 .. $#cases) {
        my @limits = @{$cases[$i][1]};

        $locations .= join '', map {
            my $then = $_ == $#limits ? 'empty_gif;'
                                      : 'try_files "" /' . "$store/$i/"
                                        . ($_ + 1) . ';';
            "location = /$store/$i/$_ { slidewin zone=$store $limits[$_];
                                        $then }\n";
        } 0 .. $#limits;
    }
}

my $nginx = SlidewinNginx->start(http => <<"END", server => <<"END");
    slidewin_redis @{[$redis->url]} name=redis timeout=20s connect_timeout=20s;
    slidewin_zone \$arg_k zone=moved:1m rate=2r/h algorithm=log;
    slidewin_zone \$arg_k zone=open:1m rate=2r/h algorithm=log on_error=open;
    slidewin_headers ietf;
    slidewin_log_level info;
    $zones
END
    $locations
    location = /moved { slidewin zone=moved dry_run; try_files "" /to?k=b; }
    location = /to { slidewin zone=moved; empty_gif; }
    location = /bad { slidewin zone=open cost=\$arg_c; try_files "" /good?k=\$arg_k; }
    location = /good { slidewin zone=open; empty_gif; }
END

for my $store (qw(local redis)) {
    for my $i (0 .. $#cases) {
        my ($name, $limits, $told, $left) = @{$cases[$i]};
        my $client = $nginx->client;
        my @statuses;

        for my $n (1 .. 20) {
            my $answer = $client->get("/$store/$i/0", K => "k$i");

            push @statuses, $answer->{status};
            next if $n > 1;

            is($client->get("/$store/left", K => "k$i")
                      ->{header}{'x-remaining'}, $left,
               "$store, $name: what the first leaves");
            unlike($answer->{header}{ratelimit} // '', qr/;r=.*;r=/,
                   '... and the policy is told once');
            is($answer->{header}{'retry-after'}, undef, '... and is told')
                if $name eq 'never';
        }

        is(SlidewinNginx::tally(@statuses), $told, '... and how many pass');
        $client->close;
    }
}

# an earlier dry run does not let a request pass

my $client = $nginx->client;

is(SlidewinNginx::tally(map { $client->get("/moved?k=a$_")->{status} } 1 .. 4),
   '200 x2, 429 x2', 'a dry run of one key does not stand for another');

# nor does an earlier cost of 0

is(SlidewinNginx::tally(map { $client->get('/bad?k=a&c=no')->{status} } 1 .. 4),
   '200 x2, 429 x2', 'a bad cost does not stand for a good one');
$client->close;
$nginx->stop;

done_testing();
