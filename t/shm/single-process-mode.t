# nginx without a master process, and in the foreground.

use strict;
use warnings;

use SlidewinNginx;
use Test::More;

my %conf = (
    http => 'slidewin_log_level info;
             slidewin_zone $arg_k zone=a:1m rate=5r/40d algorithm=log;
             slidewin_zone $arg_k zone=b:32k rate=5r/40d;',
    server => 'location = /a { slidewin zone=a; empty_gif; }
               location = /b { slidewin zone=b; empty_gif; }',
);

sub tally { return SlidewinNginx::tally(@_) }

for my $mode ([master => 'off', daemon => 'off'],
              [master => 'off', daemon => 'on'],
              [master => 'on', daemon => 'off'])
{
    my $name = "@$mode";
    my $nginx = SlidewinNginx->start(%conf, @$mode);
    my $single = { @$mode }->{master} eq 'off';

    my $pid = $nginx->get('/free')->{header}{'x-pid'};

    is($pid, $single ? $nginx->master : ($nginx->workers)[0],
       "$name: this process answers");

    is(tally($nginx->status('/a?k=1', 6)), '200 x5, 429 x1',
       "$name: the limit holds");

    my $client = $nginx->client;

    is(tally($client->statuses(map {
           ('/b?k=hot', map { '/b?k=' . rand } 1 .. 10)
       } 1 .. 100)), '200 x1005, 429 x95', "$name: a full zone, too");
    $client->close;

    # nginx itself loses its listening sockets on HUP without a master

    if (!$single) {
        $nginx->reload(http => $conf{http} =~ s/(a:1m rate=)5/${1}7/r);
        is(tally($nginx->status('/a?k=1', 3)), '200 x2, 429 x1',
           "$name: a reload keeps the counts");
    }

    $nginx->stop(name => $name);
}

done_testing();
