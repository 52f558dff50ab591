# A ban is told once, by the request that begins it, whatever other passes that
# request makes: its status is REJECTED, and the log has one line.

use strict;
use warnings;

use SlidewinBan;
use SlidewinStats;
use Test::More;

my $http = 'slidewin_log_level notice;
    slidewin_zone $arg_k zone=dry:1m rate=1r/40d ban=1h;
    slidewin_zone $arg_k zone=dry_wait:1m rate=1r/40d ban=1h;
    slidewin_zone $arg_k zone=other:1m rate=100r/40d;
    error_log logs/error.log info;
' . join '', map { "slidewin_zone \$arg_k zone=$_:1m rate=2r/40d ban=1h;\n" }
             qw(u u_wait);

my $server = SlidewinStats::location() . '
    location = /wait { slidewin zone=u_wait delay=1s; empty_gif; }
    location = /e { slidewin zone=other; empty_gif; }
    location = /dry {
        slidewin zone=dry dry_run;
        error_page 404 = /e?k=$arg_k;
        root /nonexistent;
    }
    location = /dry_wait {
        slidewin zone=dry_wait dry_run delay=1s;
        error_page 404 = /e?k=$arg_k;
        root /nonexistent;
    }
' . join '', map { <<"LOCATION" } qw(u u_wait);
    location = /one_$_ { slidewin zone=$_; empty_gif; }
    location = /look_$_ { slidewin zone=$_ cost=0; empty_gif; }
    location = /$_ {
        slidewin zone=$_;
        error_page 404 = /2_$_?k=\$arg_k;
        root /nonexistent;
    }
    location = /2_$_ { slidewin zone=$_ cost=2; empty_gif; }
LOCATION

sub told { return SlidewinBan::told(@_) }

for my $store (SlidewinBan::stores()) {
    my $name = $store->{name};
    my $nginx = SlidewinBan::edge(store => $store, http => $http,
                                  server => $server);
    my $client = $nginx->client;

    for my $zone (qw(u u_wait)) {
        is(told($client->get("/one_$zone?k=a")), '200 PASSED',
           "$name, $zone: one of two units is used");

        my $begin = SlidewinBan::ask($client, "/$zone?k=a");

        is(told($begin), '429 REJECTED',
           '... the second pass of a request begins a ban');

        my @lines = grep { /zone "$zone"/ } SlidewinBan::lines($nginx);

        is(scalar @lines, 1, '... the log has one line') or diag(@lines);
        like($lines[0] // '', qr/, banned for 3600s, /, '... which tells so');
        is(SlidewinStats::zone($nginx, $zone)->{bans_total}, 1,
           '... one ban is counted');
        is(join(' ', map { "$_->{key} $_->{length}" }
                @{SlidewinStats::json($nginx, "zones/$zone/bans")->{bans}}),
           'a 3600', '... and listed with its length');

        my $hit = SlidewinBan::ask($client, "/look_$zone?k=a");

        is(told($hit), '429 BANNED', '... of which the next request hears');
        SlidewinBan::is_left($begin, $hit, 3600, '... for how long');
    }

    # a dry run goes on to another pass

    for my $zone (qw(dry dry_wait)) {
        is(told(map { $client->get("/$zone?k=b") } 1 .. 4),
           '200 PASSED' . ', 200 REJECTED_DRY_RUN' x 3,
           "$name, $zone: a ban would begin, and another pass follows");
        is(scalar $nginx->errors(qr/zone "$zone".*would be banned for 3600s/),
           1, '... one line tells of it');
        is(scalar $nginx->errors(qr/zone "other"/), 0,
           '... of the other policy there is none');
        is(SlidewinStats::zone($nginx, $zone)->{bans_total}, 0,
           '... and no ban is counted');
    }

    $client->close;
    $nginx->stop(name => $name);
}

done_testing();
