# Every valid "slidewin_api" and "top=" is accepted, and nginx -t says nothing
# else.

use strict;
use warnings;

use SlidewinApi;
use SlidewinNginx;
use Test::More;

my @counters = (1, 128, 10000);

my $nginx = SlidewinNginx->start(
    http => join('', map { "slidewin_zone \$arg_k zone=z$_:64k rate=1r/40d "
                           . "top=$_;\n" } @counters, 'off')
            . 'slidewin_zone $arg_k zone=z:64k rate=1r/40d;',
    server => <<'END',
        location /a/ { slidewin_api; }
        location /b { slidewin_api write=on; }
        location ^~ /c/ { slidewin_api from=any; }
        location /d/ {
            slidewin_api from=any write=on;
            location /d/e/ { empty_gif; }
            location /d/f/ { slidewin_api write=on from=any; }
        }
END
);

my $binary = SlidewinNginx::binary();
my $root = $nginx->root;
my $said = `$binary -t -p $root/ -c $root/nginx.conf -e $root/logs/t.log 2>&1`;

is($?, 0, 'nginx -t accepts all');
is(join('', grep { !/syntax is ok|test is successful/ } split /^/, $said), '',
   '... and says nothing else');

for my $page (qw(a b c d d/f)) {
    is(SlidewinApi::ask($nginx, 'GET', "/$page/info")->{status}, 200,
       "/$page/ is an endpoint");
}

is(SlidewinApi::ask($nginx, 'GET', '/d/e/info')->{header}{'content-type'},
   'image/gif', 'a location inside is not');

for my $counters (@counters, 'off', '') {
    my $zone = SlidewinApi::decode(
        SlidewinApi::ask($nginx, 'GET', "/a/zones/z$counters")->{body});
    is($zone->{top}{counters},
       $counters eq 'off' ? 0 : $counters eq '' ? 128 : $counters,
       "top=$counters");
}

$nginx->stop;

# without a zone there is nothing to tell, but the endpoint answers

my $none = SlidewinNginx->start(
    server => 'location /a/ { slidewin_api write=on; }',
);

for (['', qr/<html/], ['info', qr/"version"/], ['zones', qr/^\{\}$/],
     ['stores', qr/^\{\}$/], ['metrics', qr/^slidewin_build_info/m])
{
    my ($page, $like) = @$_;
    my $got = SlidewinApi::ask($none, 'GET', "/a/$page");
    is($got->{status}, 200, "'$page' without a zone");
    like($got->{body}, $like, '... is right');
}

is(SlidewinApi::ask($none, 'GET', '/a/zones/x')->{status}, 404,
   'there is no zone');

$none->stop(name => 'no zone');
done_testing();
