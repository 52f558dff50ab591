# What the statistics of a request with one policy cost, in instructions that
# callgrind counts: at most 60. The list of the most rejected clients, and the
# samples that look for a shared key, are told apart: not every request pays for
# them.

use strict;
use warnings;

use SlidewinCallgrind;
use SlidewinRedis;
use Test::More;

my $most = 60;
my $requests = 320;

my $redis = SlidewinRedis->start;

my $nginx = SlidewinCallgrind->start(
    collect => 'ngx_http_slidewin_record',
    http => "slidewin_redis @{[$redis->url]} timeout=10s connect_timeout=10s;
             slidewin_log_level info;
             slidewin_zone \$arg_k zone=local:1m rate=1000000r/m store=local;
             slidewin_zone \$arg_k zone=full:1m rate=1r/d store=local;
             slidewin_zone \$arg_k zone=redis:1m rate=1000000r/m;
             slidewin_zone \$arg_k zone=lease:1m rate=1000000r/m lease=10%;
             slidewin_zone \$arg_k zone=denied:1m rate=1r/d;",
    server => join('', map { "location = /$_ { slidewin zone=$_;"
                             . " empty_gif; }\n" }
                       qw(local full redis lease denied)),
);

for my $case ([local => '200'], [full => '429'], [redis => '200'],
              [lease => '200'], [denied => '429'])
{
    my ($zone, $status) = @$case;

    # what is counted follows when the client is known
    my ($statuses, $own, $whole)
        = $nginx->profile("/$zone?k=192.0.2.1", 32, $requests);
    my @apart = map { $whole->{$_} // 0 } qw(ngx_http_slidewin_top_add
                                       ngx_http_slidewin_shared_key_sample);
    my $record = ($whole->{ngx_http_slidewin_record} - $apart[0] - $apart[1])
                 / $requests;

    is($statuses, "$status x$requests", "$zone: $status");
    cmp_ok($record, '>', 20, '... is recorded');
    cmp_ok($record, '<=', $most, '... by few instructions');

    diag(sprintf '%s: %.1f instructions of statistics,'
                 . ' %.1f of the list of clients, %.1f of samples',
                 $zone, $record, map { $_ / $requests } @apart);
}

$nginx->stop;

done_testing();
