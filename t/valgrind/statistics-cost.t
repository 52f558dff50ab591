# What the statistics of a request with one policy cost, in instructions that
# callgrind counts: at most 60. The list of the most rejected clients, and the
# samples that look for a shared key, are told apart: not every request pays for
# them.

use strict;
use warnings;

use File::Temp ();
use SlidewinNginx;
use SlidewinRedis;
use Test::More;

my $most = 60;
my $requests = 320;

my $dir = File::Temp::tempdir('slidewin.XXXXXX', TMPDIR => 1, CLEANUP => 1);
my $nginx_binary = SlidewinNginx::binary();

`valgrind --version` =~ /^valgrind-/ or die "there is no valgrind\n";

# between two requests for /mark are those of one case
open my $file, '>', "$dir/nginx" or die "nginx: $!";
print $file <<"END";
#!/bin/sh
exec valgrind --quiet --tool=callgrind --callgrind-out-file=$dir/profile \\
     --compress-strings=no --compress-pos=no \\
     --toggle-collect=ngx_http_slidewin_record \\
     --dump-before=ngx_http_stub_status_handler $nginx_binary "\$@"
END
close $file;
chmod 0755, "$dir/nginx";

$ENV{TEST_NGINX_BINARY} = "$dir/nginx";

{
    no warnings 'redefine';

    *SlidewinNginx::patience = sub { return 20 };
}

my $redis = SlidewinRedis->start;

my $nginx = SlidewinNginx->start(
    daemon => 'off', master => 'off',
    http => "slidewin_redis @{[$redis->url]} timeout=10s connect_timeout=10s;
             slidewin_log_level info;
             slidewin_zone \$arg_k zone=local:1m rate=1000000r/m store=local;
             slidewin_zone \$arg_k zone=full:1m rate=1r/d store=local;
             slidewin_zone \$arg_k zone=redis:1m rate=1000000r/m;
             slidewin_zone \$arg_k zone=lease:1m rate=1000000r/m lease=10%;
             slidewin_zone \$arg_k zone=denied:1m rate=1r/d;",
    server => 'location = /mark { stub_status; }'
              . join('', map { "location = /$_ { slidewin zone=$_;"
                               . " empty_gif; }\n" }
                         qw(local full redis lease denied)),
);

my $client = $nginx->client;

sub ask {
    my ($uri, $n) = @_;

    return SlidewinNginx::tally(map { $client->request($uri);
                                      $client->answer->{status} } 1 .. $n);
}

# cost FILE: what functions took, with all that they called
sub cost {
    my ($path) = @_;
    my ($called, $at_call) = ('', 0);
    my %whole;

    open my $profile, '<', $path or die "$path: $!";

    while (my $line = <$profile>) {
        if ($line =~ /^cfn=(\S+)/) {
            $called = $1;

        } elsif ($line =~ /^calls=/) {
            $at_call = 1;

        } elsif ($line =~ /^\d+ (\d+)/) {
            $whole{$called} += $1 if $at_call;
            $at_call = 0;
        }
    }

    return \%whole;
}

my $part = 0;

for my $case ([local => '200'], [full => '429'], [redis => '200'],
              [lease => '200'], [denied => '429'])
{
    my ($zone, $status) = @$case;

    # the first ones make the client known, and what is counted follows
    ask("/$zone?k=192.0.2.1", 32);
    ask('/mark', 1);
    is(ask("/$zone?k=192.0.2.1", $requests), "$status x$requests",
       "$zone: $status");
    ask('/mark', 1);
    $part += 2;

    my $whole = cost("$dir/profile.$part");
    my @apart = map { $whole->{$_} // 0 } qw(ngx_http_slidewin_top_add
                                       ngx_http_slidewin_shared_key_sample);
    my $record = ($whole->{ngx_http_slidewin_record} - $apart[0] - $apart[1])
                 / $requests;

    cmp_ok($record, '>', 20, '... is recorded');
    cmp_ok($record, '<=', $most, '... by few instructions');

    diag(sprintf '%s: %.1f instructions of statistics,'
                 . ' %.1f of the list of clients, %.1f of samples',
                 $zone, $record, map { $_ / $requests } @apart);
}

$nginx->stop(signal => 'QUIT');

done_testing();
