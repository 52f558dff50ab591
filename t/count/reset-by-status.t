# reset= lists the statuses that clear a client: a request that ends with one of
# them leaves nothing counted for its client in that limit.

use strict;
use warnings;

use SlidewinCount;
use Test::More;

my $limit = $SlidewinCount::LIMIT;

my $server = <<'END';
location = /every {
    slidewin zone=log reset=302; proxy_pass http://origin/$arg_s;
}
location = /class {
    slidewin zone=log count=401 reset=2xx,302; proxy_pass http://origin/$arg_s;
}
location = /held {
    slidewin zone=log count=401 reset=302; proxy_pass http://held;
}
location = /two {
    slidewin zone=log count=401 reset=200;
    slidewin zone=fixed count=401;
    slidewin zone=strict reset=401;
    proxy_pass http://origin/$arg_s;
}
location = /rejected {
    slidewin zone=log count=200 reset=4xx; proxy_pass http://origin/$arg_s;
}
location = /rejected_as {
    slidewin zone=log count=200 reset=403; slidewin_status 403;
    proxy_pass http://origin/$arg_s;
}
location = /rejected_well {
    slidewin zone=log count=401 reset=200; error_page 429 =200 /page;
    proxy_pass http://origin/$arg_s;
}
location = /by_other {
    slidewin zone=log count=200 reset=4xx;
    slidewin zone=fixed count=200;
    proxy_pass http://origin/$arg_s;
}
location = /fill { slidewin zone=fixed cost=5; proxy_pass http://origin/200; }
location = /page { alias html/page; }
location = /page200 {
    slidewin zone=log count=401 reset=200;
    proxy_intercept_errors on; error_page 401 =200 /page;
    proxy_pass http://origin/$arg_s;
}
location = /page401 {
    slidewin zone=log count=401 reset=200;
    proxy_intercept_errors on; error_page 401 /page;
    proxy_pass http://origin/$arg_s;
}
location = /peek {
    slidewin zone=log cost=0 reset=204; proxy_pass http://origin/204;
}
location = /dry {
    slidewin zone=log count=401 reset=200 dry_run;
    proxy_pass http://origin/$arg_s;
}
location = /costly {
    slidewin zone=log count=401 reset=200 cost=2;
    proxy_pass http://origin/$arg_s;
}
location = /after {
    slidewin zone=log count=401 reset=200; post_action /good;
    proxy_pass http://origin/$arg_s;
}
location = /good { proxy_pass http://origin/200; }
location = /left {
    slidewin zone=log count=401 reset=499; proxy_pass http://held;
}
END

for my $algorithm (@SlidewinCount::ALGORITHMS) {
    $server .= "location = /login_$algorithm { slidewin zone=$algorithm"
               . ' count=401,403 reset=200,302;'
               . ' proxy_pass http://origin/$arg_s; }' . "\n";
}

for my $place (SlidewinCount::stores()) {
    my $name = $place->name;
    my $held = $place->held;
    my $nginx = $place->edge(server => $server);
    my $key;

    mkdir $nginx->root . '/html';
    open my $page, '>', $nginx->root . '/html/page' or die "page: $!";
    close $page;

    # ask LOCATION, STATUS...: the statuses received, then what is left
    my $ask = sub {
        my ($where, @statuses) = @_;

        return join ' ', (map {
            $nginx->get("/$where?k=$key&s=$_")->{status}
        } @statuses), 'then', SlidewinCount::left($nginx, 'log', $key);
    };

    for my $algorithm (@SlidewinCount::ALGORITHMS) {
        my $other = SlidewinCount::fresh();
        my $left = sub {
            return join ' ', map { SlidewinCount::left($nginx, $algorithm, $_) }
                             $key, $other;
        };

        $key = SlidewinCount::fresh();

        for my $good (200, 302) {
            my $uri = "/login_$algorithm?k=$key&s=";

            $nginx->get("/login_$algorithm?k=$other&s=401");
            is(join(' ', map { $nginx->status("$uri$_") }
                         401, 403, 401, 404, 401),
               '401 403 401 404 401', "$name, $algorithm: four bad ones");
            is($left->(), '1 ' . ($good == 200 ? 4 : 3), '... one is left');
            is(join(' ', $nginx->status("$uri$good")), $good,
               "... and a $good");
            is($left->(), '5 ' . ($good == 200 ? 4 : 3),
               '... forgives all, but not to others');
        }

        is(join(' ', $nginx->status("/login_$algorithm?k=$key&s=401", 6)),
           '401 401 401 401 401 429', '... and it is counted again');
        is(join(' ', $nginx->status("/login_$algorithm?k=$key&s=200", 2)),
           '429 429', '... to the end, where none passes');
        is($left->(), '0 3', '... to be forgiven');
    }

    $key = SlidewinCount::fresh();
    is($ask->('every', 200, 401, 404), '200 401 404 then 2',
       "$name: without count= all are counted");
    is($ask->('every', 302), '302 then 5', '... and forgiven');

    $key = SlidewinCount::fresh();
    is($ask->('class', 401, 401, 404), '401 401 404 then 3', "$name: a class");
    is($ask->('class', 204), '204 then 5', '... forgives');
    is($ask->('class', 401, 302), '401 302 then 5', '... and one beside it');
    is($ask->('class', 401, 500), '401 500 then 4', '... but no other');

    # several limits

    $key = SlidewinCount::fresh();
    is($ask->('two', 404, 404, 401), '404 404 401 then 4',
       "$name: three limits");
    is(join(' ', map { SlidewinCount::left($nginx, $_, $key) }
                 qw(fixed strict)), '4 5', '... each by its own list');
    is($ask->('two', 200), '200 then 5', '... one forgives');
    is(join(' ', map { SlidewinCount::left($nginx, $_, $key) }
                 qw(fixed strict)), '4 4', '... and no other');

    # rejections by the module clear nothing

    for my $case ([rejected => 429], [rejected_as => 403]) {
        my ($where, $status) = @$case;

        $key = SlidewinCount::fresh();
        is($ask->($where, (200) x 5), '200 200 200 200 200 then 0',
           "$name: $where, used up");
        is($ask->($where, (200) x 3), "$status $status $status then 0",
           '... a rejection does not forgive');
    }

    $key = SlidewinCount::fresh();
    is($ask->('rejected', 200, 404), '200 404 then 5',
       '... though that status does if another made it');

    $key = SlidewinCount::fresh();
    $ask->('rejected_well', (401) x 5);
    is($ask->('rejected_well', (401) x 2), '200 200 then 0',
       '... nor does one that looks well');

    $key = SlidewinCount::fresh();
    $ask->('fill', 200);
    $ask->('rejected', 200, 200);
    is($ask->('by_other', 200), '429 then 3',
       '... nor one by the limit beside it');

    # the status that the client gets matters, not that of the upstream

    $key = SlidewinCount::fresh();
    is($ask->('page401', 401, 401), '401 401 then 3', "$name: error_page");
    is($ask->('page200', 401), '200 then 5', '... which makes it a good one');
    is($ask->('after', 401), '401 then 4', '... a post_action does not');

    # with any cost

    $key = SlidewinCount::fresh();
    is($ask->('costly', 401, 401), '401 401 then 1', "$name: a cost of two");
    is($ask->('peek', 1), '204 then 5', '... one that peeks forgives');
    is($ask->('dry', 401, 401), '401 401 then 3', '... a dry run counts');
    is($ask->('dry', 200), '200 then 5', '... and forgives');

    is($nginx->get('/login_log?s=200')->{status}, 200,
       "$name: no client, nothing to clear");

    # requests in progress are cleared as well, and refund nothing of what is
    # counted later

    $key = SlidewinCount::fresh();
    my @clients = map { $nginx->client } 1 .. 3;
    $_->request("/held?k=$key") for @clients;
    is($held->has(3), 3, "$name: three are under way");
    is($ask->('class', 401, 302), '401 302 then 5', '... one is good');
    SlidewinNginx::nap(0.01);
    is($ask->('login_log', 401, 401), '401 401 then 3', '... two are bad');
    $held->answer(200, 2);
    is(join(' ', map { $_->answer->{status} } @clients[0, 1]), '200 200',
       '... two of the first end');
    is(SlidewinCount::left($nginx, 'log', $key), 3,
       '... which changes nothing');
    $held->answer(302);
    is($clients[2]->answer->{status}, 302, '... and the third');
    is(SlidewinCount::left($nginx, 'log', $key), 5, '... forgives');

    # 499 clears if it is listed

    $key = SlidewinCount::fresh();
    is($ask->('login_log', 401, 401), '401 401 then 3', "$name: two bad ones");
    my $client = $nginx->client;
    $client->request("/left?k=$key");
    is($held->has(1), 1, '... one more');
    $client->close;
    SlidewinCount::idle($nginx, '... leaves');
    is(SlidewinCount::left($nginx, 'log', $key), 5, '... which forgives');
    $held->answer(200);

    $nginx->stop(name => $name);
}

done_testing();
