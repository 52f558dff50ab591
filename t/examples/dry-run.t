# examples/dry-run.conf: a limit on trial logs which requests it would reject,
# and rejects none until dry_run is removed.

use strict;
use warnings;

use File::Temp ();
use SlidewinApp;
use SlidewinExample;
use Test::More;

my $log = File::Temp->new;
my $app = SlidewinApp->start;
my $nginx = SlidewinExample->start('dry-run', app => $app->address, change => [
    'access_log /var/log/nginx/limits.log limits;'
        => "access_log $log limits;",
]);

# Workers write the line at the end of a request, which may be after the client
# has its response.
sub logged {
    my ($times) = @_;
    my $text;

    SlidewinNginx::until_true(sub {
        $text = SlidewinNginx::slurp("$log");
        return $times <= $text =~ tr/\n//;
    }, 30);

    return $text;
}

is($nginx->tallied(1, 130, '/page'), '200 x130', 'no request is rejected');

# A line stands for its own request and for those it says were left out; the
# last line comes when the client has been quiet for a while.
sub told {
    my ($level) = @_;
    my $n;

    SlidewinNginx::until_true(sub {
        $n = 0;
        for ($nginx->errors(qr/\[$level\].* dry run: .* zone "trial"/)) {
            $n++ if /, retry after: /;
            $n += $1 if /, (?:the last of )?(\d+) (?:more like it|left out) /;
        }
        return $n >= 60;
    }, 20 * SlidewinNginx::patience());

    return $n;
}

my @lines = split /\n/, logged(130);
my @would = grep { / REJECTED_DRY_RUN / } @lines;

is(scalar @lines, 130, 'every request is in the log');
is(scalar @would, 30, '... those over the limit by what they are');
like($lines[0], qr{^127.0.0.1 \[\S+\] 200 PASSED trial 1/100 GET /page$},
     '... the others too');
like($would[0], qr{^127.0.0.1 \S+ 200 REJECTED_DRY_RUN trial [\d.]+/100 GET },
     '... with the client, the limit and the request');

# the command in the example, on the log it is meant for

my ($command) = SlidewinExample::text('dry-run')
                =~ /^#   (grep \S+ \S+ \\\n#.*)/m;

$command =~ s/\\\n#//;
$command =~ s{/var/log/nginx/limits\.log}{$log} or die 'no such command';
is(`$command`, "     30 127.0.0.1\n", '... which the command finds');

is($nginx->tallied(2, 130, '/new/page'), '200 x130',
   'nor where everything is on trial');
like(logged(260), qr{^127.0.0.2 .* REJECTED_DRY_RUN trial .* GET /new/page$}m,
     '... which is told as well');

is(scalar(() = $app->seen), 260, 'all reach the application');
is(told('warn'), 60, 'the error log tells of them as warnings');
is(scalar(() = $nginx->errors(qr/\[error\]/)), 0, '... not as errors');

# the enforced limit beside it

is($nginx->tallied(3, 1010, '/'), '200 x1000, 429 x10',
   'the limit that is not on trial holds');
like(logged(1270), qr{^127.0.0.3 \S+ 429 REJECTED proven }m,
     '... in its name');

# "take dry_run away and reload: the counts are kept"

my $rest = $nginx->{conf}{rest};

$rest =~ s/ dry_run;/;/ or die 'there is no dry_run';
$rest =~ s/slidewin_dry_run on;// or die 'there is no slidewin_dry_run';
$nginx->reload(rest => $rest);

for my $uri ('/', '/new/') {
    is($nginx->ask(1, $uri)->{status}, 429,
       "$uri: in force after a reload, by what was counted on trial");
    is($nginx->ask(4, $uri)->{status}, 200, '... others pass');
}

$nginx->stop;
$app->stop;

done_testing();
