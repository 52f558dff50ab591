# An internal redirect takes a request through the access phase again. If a
# limit rejects it there, the earlier charge stays: the upstream, or the
# password check, has already worked for it.

use strict;
use warnings;

use SlidewinApp;
use SlidewinNginx;
use SlidewinRedis;
use Test::More;

my $redis = SlidewinRedis->start;

# the status of the upstream is in the path: /401, /accel
my $app = SlidewinApp->start(sub {
    my ($request) = @_;

    return 200, '', 'X-Accel-Redirect' => '/inside'
        if $request->{uri} =~ m{/accel$};
    return 200, '', 'X-Accel-Redirect' => '/closed'
        if $request->{uri} =~ m{/closed$};

    return $request->{uri} =~ m{/(\d+)$} ? $1 : 200, '';
});

my $up = 'http://' . $app->address;
my $page = 'proxy_intercept_errors on; error_page 401 /401.html;';

# what 20 guesses get from a client whose page limit is used up
my %cases = (
    'an error page' => [<<"END", '429 x20'],
        slidewin zone=login;
        $page
        proxy_pass $up/guess/401;
END
    'an error page that becomes 200' => [<<"END", '429 x20'],
        slidewin zone=login;
        proxy_intercept_errors on;
        error_page 401 =200 /401.html;
        proxy_pass $up/guess/401;
END
    'count' => [<<"END", '429 x20'],
        slidewin zone=login count=401;
        $page
        proxy_pass $up/guess/401;
END
    'reset by what the rejection has' => [<<"END", '429 x20'],
        slidewin zone=login reset=429;
        $page
        proxy_pass $up/guess/401;
END
    'auth_basic' => [<<"END", '429 x20'],
        slidewin zone=login count=401;
        auth_basic who;
        auth_basic_user_file users;
        error_page 401 /401.html;
        proxy_pass $up/guess;
END
    'auth_request' => [<<"END", '429 x20'],
        slidewin zone=login count=401;
        auth_request /auth;
        error_page 401 /401.html;
        proxy_pass $up/free;
END
    'X-Accel-Redirect' => [<<"END", '429 x20'],
        slidewin zone=login;
        proxy_pass $up/guess/accel;
END
    'X-Accel-Redirect and count' => [<<"END", '429 x20'],
        slidewin zone=login count=200;
        proxy_pass $up/guess/accel;
END
    'on_error=closed' => [<<"END", '429 x15, 503 x5'],
        slidewin zone=login;
        proxy_pass $up/guess/closed;
END
    'on_error=closed and count' => [<<"END", '429 x15, 503 x5'],
        slidewin zone=login count=200;
        proxy_pass $up/guess/closed;
END
    'a named location' => [<<"END", '429 x20'],
        slidewin zone=login count=404;
        proxy_intercept_errors on;
        error_page 404 = \@named;
        proxy_pass $up/guess/404;
END
);

# guesses that reached the application or the password check
sub served {
    my ($nginx) = @_;
    my $looked = () = $nginx->errors(qr/user "a" was not found/);

    return $looked + grep { m{/guess} } $app->seen;
}

# with and without a body: nginx makes a GET of most redirected requests
sub guess {
    my ($client, $method, $uri, %fields) = @_;
    my $body = $method eq 'POST' ? 'user=a' : '';

    $client->write(join "\r\n", "$method $uri HTTP/1.1", 'Host: localhost',
                   map({ "$_: $fields{$_}" } sort keys %fields),
                   'Content-Length: ' . length $body, '', $body);

    return $client->answer->{status};
}

for my $store (qw(local redis)) {
    my @names = sort keys %cases;
    my $locations = join '', map {
        "location = /$_ { $cases{$names[$_]}[0] }\n"
    } 0 .. $#names;

    my $nginx = SlidewinNginx->start(http => <<"END", server => <<"END");
        slidewin_redis @{[$redis->url]} name=redis timeout=20s
                       connect_timeout=20s;
        slidewin_redis unix:/nowhere name=nowhere;
        slidewin_log_level info;
        slidewin_zone \$http_k zone=perip:1m rate=1r/h algorithm=log
                      store=$store on_error=closed;
        slidewin_zone \$http_k zone=login:1m rate=5r/h algorithm=log
                      store=$store on_error=closed;
        slidewin_zone \$http_k zone=closed:1m rate=5r/h on_error=closed
                      store=nowhere;
END
        location = /use { slidewin zone=perip; empty_gif; }
        location = /left { slidewin zone=login cost=0; empty_gif; }
        location = /401.html { slidewin zone=perip; empty_gif; }
        location = /inside { internal; slidewin zone=perip; empty_gif; }
        location = /closed { internal; slidewin zone=closed; empty_gif; }
        location = /auth {
            internal;
            proxy_pass_request_body off;
            proxy_set_header Content-Length "";
            proxy_pass $up/guess/401;
        }
        location \@named { slidewin zone=perip; proxy_pass $up; }
        $locations
END

    open my $users, '>', $nginx->root . '/users' or die "users: $!";
    close $users;

    for my $i (0 .. $#names) {
        my ($name, $told) = ($names[$i], $cases{$names[$i]}[1]);
        my %fields = (K => "$store-$i", Authorization => 'Basic YTpi');
        my $client = $nginx->client;
        my $before = served($nginx);

        is($client->get('/use', %fields)->{status}, 200,
           "$store, $name: the limit of pages is used up");
        is(SlidewinNginx::tally(map {
               guess($client, $_, "/$i", %fields)
           } ('GET', 'POST') x 10), $told, '... and refuses');
        is(served($nginx) - $before, 5, '... five have been served');
        is($client->get('/left', %fields)->{header}{'x-remaining'}, 0,
           '... and stay counted');
        $client->close;
    }

    $nginx->stop(name => $store);
}

done_testing();
