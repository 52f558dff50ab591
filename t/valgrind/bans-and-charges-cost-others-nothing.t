# What bans and charges cost requests of policies that have neither: no call of a
# function of theirs, for admissions and rejections, in both stores; and beside
# policies that have them as many instructions as without. And a banned client
# costs an edge about what one costs that is refused. By callgrind.

use strict;
use warnings;

use List::Util ();
use SlidewinCallgrind;
use SlidewinRedis;
use Test::More;

my $requests = 100;
my $ours = qr/^(?:ngx_http_slidewin_|sw_)/;
my $theirs = qr/_(?:bans?|banned|charges?)(?:_|$)/;

# For a phase that looks whether a post_action will take the upstream away. Where
# Redis is called, its answers come in other portions each time.
my $slack = 10;
my $calls = qr/^(?:redis|asked|count|two)$/;

my $redis = SlidewinRedis->start;

# what is remembered lasts as long as a case
my $others = "slidewin_redis @{[$redis->url]} timeout=10s connect_timeout=10s;
              slidewin_log_level info;
              slidewin_zone \$arg_k zone=local:1m rate=1000000r/m store=local;
              slidewin_zone \$arg_k zone=full:1m rate=1r/d store=local;
              slidewin_zone \$arg_k zone=redis:1m rate=1000000r/m;
              slidewin_zone \$arg_k zone=asked:1m rate=1r/d deny_cache=off;
              slidewin_zone \$arg_k zone=denied:1m rate=1r/d deny_cache=1m;
              slidewin_zone \$arg_k zone=lease:1m rate=1000000r/m lease=10%;";
my $bans = "slidewin_zone \$arg_k zone=full_ban:1m rate=1r/d store=local
                          ban=1h;
            slidewin_zone \$arg_k zone=asked_ban:1m rate=1r/d deny_cache=off
                          ban=1h;
            slidewin_zone \$arg_k zone=denied_ban:1m rate=1r/d deny_cache=1m
                          ban=1h;
            slidewin_zone \$arg_k zone=charged:1m rate=1000000r/m;";

sub locations {
    return join '', map { "location = /$_ { slidewin zone=$_; empty_gif; }\n" }
                    @_;
}

my $servers = locations(qw(local full redis asked denied lease))
              . 'location = /count { slidewin zone=redis count=404;
                                     empty_gif; }
                 location = /two { slidewin zone=local; slidewin zone=redis;
                                   empty_gif; }';

my @cases = ([local => '200'], [full => '429'], [redis => '200'],
             [asked => '429'], [denied => '429'], [lease => '200'],
             [count => '200'], [two => '200']);

# the instructions of the module for a request of each case
sub costs {
    my ($nginx, $client, @cases) = @_;
    my %cost;

    for my $case (@cases) {
        my ($uri, $status) = @$case;
        my ($statuses, $own) = $nginx->profile("/$uri?k=$client", 20,
                                               $requests);
        my @called = sort grep { /$ours/ } keys %$own;
        my @theirs = grep { /$theirs/ } @called;

        is($statuses, "$status x$requests", "$uri: $status");
        ok($own->{ngx_http_slidewin_handler}, '... is looked at');

        if ($uri =~ /_ban$|^charged$/) {
            isnt("@theirs", '', '... calls functions of bans or charges');
        } else {
            is("@theirs", '', '... calls no function of bans or charges');
        }

        $cost{$uri} = List::Util::sum0(@$own{@called}) / $requests;

        diag(sprintf '%s: %.0f instructions of the module', $uri, $cost{$uri});
    }

    $nginx->stop;

    return \%cost;
}

my $alone = costs(SlidewinCallgrind->start(http => $others,
                                           server => $servers),
                  '192.0.2.1', @cases);
my $beside = costs(
    SlidewinCallgrind->start(
        http => $others . $bans,
        server => $servers . locations(qw(full_ban asked_ban denied_ban))
                  . 'location = /charged { slidewin zone=charged charge=$arg_c;
                                           empty_gif; }',
    ),
    '192.0.2.2', @cases, map({ ["${_}_ban", '429'] } qw(full asked denied)),
    [charged => '200'],
);

for my $case (@cases) {
    my ($uri) = @$case;

    cmp_ok(abs($beside->{$uri} - $alone->{$uri}), '<=',
           $slack + ($uri =~ $calls ? 0.01 * $alone->{$uri} : 0),
           sprintf '%s: %.1f instructions beside bans and charges, %.1f alone',
                   $uri, $beside->{$uri}, $alone->{$uri});
}

for my $uri (qw(full asked denied)) {
    my ($refused, $banned) = @$beside{$uri, "${uri}_ban"};

    # in shared memory a ban is looked up beside the counter
    cmp_ok($banned, '<=', 1.4 * $refused,
           sprintf "$uri: a banned client costs %.2f of a refused one",
                   $banned / $refused);
}

done_testing();
