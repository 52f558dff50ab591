# What an operator must know is logged at error, which distributions keep: at
# once, that limits are not decided by Redis; each minute, for how many
# requests; and the end of it.

use strict;
use warnings;

use SlidewinNginx;
use SlidewinPreload;
use SlidewinRedis;
use Test::More;

my $redis = SlidewinRedis->start(args => ['--requirepass', 'right']);
$redis->command('AUTH', 'right');
my $clock = SlidewinPreload->monotonic;
my $patience = SlidewinNginx::patience();
my ($zones, $locations) = ('', '');

my %words = (
    local => 'counted by this machine alone',
    open => 'uncounted',
    closed => 'rejected',
);

for my $mode (sort keys %words) {
    $zones .= "slidewin_zone \$arg_k zone=$mode:1m rate=1000r/h"
              . " on_error=$mode;\n";
    $locations .= "location = /$mode { slidewin zone=$mode; empty_gif; }\n";
}

my $nginx = SlidewinNginx->start(
    env => $clock->env,
    main => 'env SLIDEWIN_MONOTONIC;',
    http => "slidewin_redis redis://:wrong\@127.0.0.1:@{[$redis->port]}
                            timeout=5s connect_timeout=5s;
             slidewin_log_level off;
             $zones",
    server => "add_header X-Source \$slidewin_source always;
               $locations");

my $client = $nginx->client;
my $offset = 0;

sub ask {
    my ($mode, $n) = @_;

    $client->get("/$mode?k=a") for 1 .. $n;

    return;
}

sub later {
    my ($seconds) = @_;

    $clock->set($offset += $seconds);
    $client->get('/free') for 1 .. 3;

    return;
}

# the only new line about a zone, without its beginning
my %seen;

sub told {
    my ($mode) = @_;
    my @lines = $nginx->errors(qr/\[error\] .* slidewin zone "$mode": /);
    my @new = map { s/^.* slidewin zone "$mode": //r =~ s/\n//r }
              @lines[($seen{$mode} // 0) .. $#lines];

    $seen{$mode} = @lines;

    return join '|', @new;
}


# At once, in each mode; and the reason, once.

ok(SlidewinNginx::until_true(sub {
       $nginx->errors(qr/\[error\] .* redis .* cannot be reached: .*WRONGPASS/)
   }, 10 * $patience), 'a wrong password is told at error');

ask($_, 5) for sort keys %words;

for my $mode (sort keys %words) {
    my $are = $mode eq 'open' ? 'pass' : 'are';

    is(told($mode), "requests $are $words{$mode}, its store does not decide"
                    . ' them', "$mode: a line at once, and one alone");
}


# Each minute, with the number of requests.

later(30);
ask($_, 2) for sort keys %words;
is(told($_), '', "$_: no other for a while") for sort keys %words;

later(31);

for my $mode (sort keys %words) {
    my $were = $mode eq 'open' ? 'passed' : 'were';

    like(told($mode), qr/\A7 requests $were $words{$mode} in the last 6\ds, its store did not decide them; 7 since it began 6\ds ago\z/,
         "$mode: after a minute");
}

ask('open', 2);
later(61);
like(told('open'), qr/\A2 requests .*; 9 since it began 12\ds ago\z/,
     'those that came before a pause are told');
later(61);
is(told('open'), '', '... and none if none came');
ask('open', 3);
like(told('open'), qr/\A1 requests .*; 10 since it began 18\ds ago\z/,
     '... and the next one is');


# The end.

$redis->command('CONFIG', 'SET', 'requirepass', 'wrong');

ok(SlidewinNginx::until_true(sub {
       later(1);
       $client->get('/open?k=b')->{header}{'x-source'} eq 'redis';
   }, 20 * $patience), 'the password is right');
ok(scalar($nginx->errors(qr/\[error\] .* slidewin redis .* is back/)),
   '... which is told at error');
later(2);
ask($_, 1) for sort keys %words;

my ($n, $seconds) = told('open') =~ /\Aits store decides again, (\d+) requests passed uncounted in (\d+)s\z/;

cmp_ok($n // 0, '>=', 12, '... as is how many passed meanwhile');
cmp_ok($seconds // 0, '>=', 183, '... and for how long');
like(told($_), qr/\Aits store decides again, 7 requests were $words{$_} in 3\ds\z/,
     "$_: ... alike") for qw(closed local);

later(70);
ask($_, 1) for sort keys %words;
is(join('', map { told($_) } sort keys %words), '', '... and no more then');
$nginx->stop;

done_testing();
