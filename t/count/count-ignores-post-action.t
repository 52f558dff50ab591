# A request with a post_action is counted by the status that its client got, not
# by that of the post_action.

use strict;
use warnings;

use SlidewinCount;
use Test::More;

my $limit = $SlidewinCount::LIMIT;

my @lists = qw(200 206 304 401 499);

my $server = join('', map { <<"END" } @lists) . <<'END';
    location /$_/ {
        slidewin zone=log count=$_;
        post_action /after;
        location = /$_/up { proxy_pass http://origin/\$arg_s; }
        location = /$_/held { proxy_pass http://held; }
        location = /$_/file { alias html/file; }
    }
END
    location = /after { proxy_pass http://origin/$arg_after; }
END

for my $place (SlidewinCount::stores()) {
    my $nginx = $place->edge(server => $server);
    my $name = $place->name;

    mkdir $nginx->root . '/html';
    open my $file, '>', $nginx->root . '/html/file' or die "file: $!";
    print $file 'content';
    close $file;

    # its status, how it is requested, the status of the post_action
    for my $case ([200, 'up', {}, 401], [401, 'up', {}, 200],
                  [200, 'file', {}, 401],
                  [206, 'file', { Range => 'bytes=0-1' }, 200],
                  [304, 'file', { 'If-None-Match' => '*' }, 200],
                  [499, 'held', {}, 200], [499, 'held', {}, 401])
    {
        my ($status, $where, $fields, $after) = @$case;

        for my $list (@lists) {
            my $key = SlidewinCount::fresh();
            my $client = $nginx->client;

            $client->request("/$list/$where?k=$key&s=$status&after=$after",
                             %$fields);

            if ($status == 499) {
                $place->held->has(1);
                $client->close;
            } else {
                is($client->answer->{status}, $status, "$name: $status");
            }

            SlidewinCount::idle($nginx, "... then $after");
            is(SlidewinCount::left($nginx, 'log', $key),
               $list == $status ? $limit - 1 : $limit,
               "... by count=$list " . ($list == $status ? 'counted'
                                                         : 'not counted'));
            $place->held->answer(200);
        }
    }

    $nginx->stop(name => $name);
}

done_testing();
