# A banned client is rejected by each enforced policy that it meets, also if an
# earlier pass of the request has counted it for that policy: in a dry run, or
# for another key. It cannot lift its ban: by a dry run with reset=, or by a cost
# that on_error=open admits.

use strict;
use warnings;

use SlidewinBan;
use SlidewinNginx;
use SlidewinStats;
use Test::More;

my $http = 'slidewin_log_level notice;
    slidewin_zone $arg_k zone=z:1m rate=1r/200ms algorithm=log ban=1h
                  deny_cache=off;
    slidewin_zone $arg_k$uri zone=by_uri:1m rate=1r/40d ban=1h
                  deny_cache=off;
    slidewin_zone $arg_k zone=open:1m rate=1r/40d ban=1h on_error=open
                  deny_cache=off;
';

my $server = SlidewinStats::location() . <<'END';
    location = /real { slidewin zone=z; empty_gif; }
    location = /plain {
        slidewin zone=z;
        error_page 404 = /real?k=$arg_k;
        root /var/empty;
    }
    location = /dry {
        slidewin zone=z dry_run;
        error_page 404 = /real?k=$arg_k;
        root /var/empty;
    }
    location = /try {
        slidewin zone=z dry_run;
        root /var/empty;
        try_files /none @real;
    }
    location @real { slidewin zone=z; rewrite ^ /any break; empty_gif; }
    location = /dry_reset { slidewin zone=z dry_run reset=200; empty_gif; }

    location = /y { slidewin zone=by_uri; empty_gif; }
    location = /x {
        slidewin zone=by_uri;
        error_page 404 = /y?k=$arg_k;
        root /var/empty;
    }

    location = /open { slidewin zone=open; empty_gif; }
    location = /reset { slidewin zone=open cost=$arg_c reset=200; empty_gif; }
END

sub told { return SlidewinBan::told(@_) }

for my $store (SlidewinBan::stores()) {
    my $name = $store->{name};
    # deny_cache= is for a remote store
    my $zones = $store->{redis} ? $http : $http =~ s/\s+deny_cache=off//gr;
    my $nginx = SlidewinBan::edge(store => $store, http => $zones,
                                  server => $server);
    my $client = $nginx->client;

    my $ask = sub { return told($client->get(@_)) };

    is(told(SlidewinBan::until_rejected($client, '/real?k=a')), '429 REJECTED',
       "$name: a ban begins");

    # when its window has room again
    for my $uri (qw(real plain dry try dry_reset real dry)) {
        SlidewinNginx::nap(0.3);
        my $want = $uri eq 'dry_reset' ? '200 PASSED' : '429 BANNED';
        is($ask->("/$uri?k=a"), $want, "... /$uri: $want");
    }

    is(join(', ', map { $ask->("/$_?k=a") } qw(y y)),
       '200 PASSED, 429 REJECTED', "$name: a ban by another key begins");
    is($ask->('/x?k=a'), '429 BANNED', '... a redirect leads to it');
    is($ask->('/x?k=b'), '200 PASSED', '... and others to where they may go');

    is(join(', ', map { $ask->("/$_") }
                  'open?k=a', 'open?k=a', 'reset?k=a&c=bad', 'open?k=a'),
       '200 PASSED, 429 REJECTED, 200 ERROR_PASSED, 429 BANNED',
       "$name: on_error=open lets a bad cost pass, and lifts no ban");
    SlidewinNginx::nap(0.1);
    is($ask->('/open?k=a'), '429 BANNED', '... nor after a while');

    $client->close;
    $nginx->stop(name => $name, allow => qr/invalid cost "bad"/);
}

done_testing();
