# A dry run with delay= tells of a ban only if its request would have had to
# wait too long: requests that would have waited go on as if there were no ban.

use strict;
use warnings;

use SlidewinBan;
use SlidewinNginx;
use SlidewinStats;
use Test::More;

my $http = 'slidewin_log_level notice;
    slidewin_zone $arg_k zone=waits:1m rate=1r/1s algorithm=log ban=1h;
' . join('', map { "slidewin_zone \$arg_k zone=$_:1m rate=1r/40d ban=1h;\n" }
             qw(long at_once))
  . 'error_log logs/error.log info;';

my $server = SlidewinStats::location() . '
    location = /waits { slidewin zone=waits delay=20s dry_run; empty_gif; }
    location = /long { slidewin zone=long delay=100ms dry_run; empty_gif; }
    location = /at_once { slidewin zone=at_once dry_run; empty_gif; }
    location = /at_once_not { slidewin zone=at_once delay=20s; empty_gif; }
';

sub told { return SlidewinBan::told(@_) }

for my $store (SlidewinBan::stores()) {
    my $name = $store->{name};
    my $nginx = SlidewinBan::edge(store => $store, http => $http,
                                  server => $server);
    my $client = $nginx->client;

    my $would = sub {
        my ($zone) = @_;
        my $line = qr/zone "$zone".* would be banned for 3600s/;

        return scalar $nginx->errors($line);
    };

    # for each time that it would have waited there is one that passes

    my $uri = '/waits?k=a';
    my $status = sub { return SlidewinBan::status($client->get($uri)) };

    for my $time ('at first', 'again') {
        ok(SlidewinNginx::until_true(sub {
            $status->() eq 'REJECTED_DRY_RUN';
        }, 20 * SlidewinNginx::patience()), "$name: one would wait, $time");
        ok(SlidewinNginx::until_true(sub { $status->() eq 'PASSED' },
                                     20 * SlidewinNginx::patience()),
           '... and one passes when there is room');
    }

    is(scalar $nginx->errors(qr/zone "waits".*would be banned/), 0,
       '... the log tells of no ban');

    # too long a wait

    for my $zone (qw(long at_once)) {
        is(told(map { $client->get("/$zone?k=b") } 1 .. 4),
           '200 PASSED' . ', 200 REJECTED_DRY_RUN' x 3,
           "$name, $zone: a ban would begin");
        is($would->($zone), 1, '... which one line tells');
        is($store->{redis}->command('EXISTS', "sw:{b}:$zone:ban"), 0,
           '... and none begins') if $store->{redis};
        is(SlidewinStats::zone($nginx, $zone)->{bans_total}, 0,
           '... nor is one counted');
    }

    $client->close;
    $nginx->stop(name => $name);
}

done_testing();
