# A client leaves while its request waits for a store: the post_action runs, and
# runs once, though the store answers in the middle of it.

use lib 't/lib';
use Test::Nginx::Socket 'no_plan';
use SlidewinClient;
use Time::HiRes qw(sleep);

worker_connections(256);
log_level('notice');

our $UserFiles = <<'END';
>>> file
content
END

our $Stores = <<'END';
slidewin_test_store late delay=1500ms;
slidewin_test_store bad delay=1500ms fail;
slidewin_zone $remote_addr zone=late:1m rate=1000r/h algorithm=log store=late;
slidewin_zone $remote_addr zone=none:1m rate=1r/h algorithm=log store=late;
slidewin_zone $remote_addr zone=bad:1m rate=1000r/h algorithm=log store=bad
              on_error=closed;
END

our $After = <<'END';
location = /after {
    proxy_pass http://127.0.0.1:$TEST_NGINX_RAND_PORT_2;
}
location = /status {
    stub_status;
}
END

sub busy {
    my ($writing) = get('/status')->{body} =~ /Writing: (\d+)/;
    return $writing - 1;
}

# N clients leave while they wait; the upstream answers after the store
sub leave {
    my ($n, $uri) = @_;
    my $up = upstream(port(2));

    get('/status');
    my $files = open_files();
    my @c = map { tcp() } 1 .. $n;

    $_->write("GET $uri HTTP/1.1\r\nHost: a\r\n\r\n") for @c;
    ok(wait_until(sub { busy() == $n }), "$n wait");
    $_->close for @c;

    my @calls = map { $up->accept } 1 .. $n;
    is(join(' ', map { $_->request->{line} } @calls),
       join(' ', ('GET /after HTTP/1.0') x $n), 'each has its post_action');

    # the store answers meanwhile
    sleep 1.8;
    ok(!$up->called(0.2), '... once');

    $_->write("HTTP/1.0 200 OK\r\nContent-Length: 0\r\n\r\n") for @calls;
    $_->close for @calls;

    ok(wait_until(sub { busy() == 0 }), '... and comes to an end');
    ok(!$up->called(0.2), '... for good');
    ok(wait_until(sub { open_files() <= $files }), 'no file is left open');
}

run_tests();

__DATA__

=== a store that admits
--- http_config eval: $::Stores
--- user_files eval: $::UserFiles
--- config eval
$::After . 'location = /file { slidewin zone=late; post_action /after; }'
--- client
leave(20, '/file');



=== a store that refuses
--- http_config eval: $::Stores
--- user_files eval: $::UserFiles
--- config eval
$::After . 'location = /file { slidewin zone=none; post_action /after; }'
--- client
leave(20, '/file');



=== a store that fails
--- http_config eval: $::Stores
--- user_files eval: $::UserFiles
--- config eval
$::After . 'location = /file { slidewin zone=bad; post_action /after; }'
--- client
leave(20, '/file');



=== a named location
--- http_config eval: $::Stores
--- user_files eval: $::UserFiles
--- config eval
$::After . 'location = /file { slidewin zone=late; post_action @after; }
            location @after {
                rewrite ^ /after break;
                proxy_pass http://127.0.0.1:$TEST_NGINX_RAND_PORT_2;
            }'
--- client
leave(20, '/file');



=== a post_action under the limit that is asked
--- http_config eval: $::Stores
--- user_files eval: $::UserFiles
--- config
slidewin zone=late;
location = /file {
    post_action /after;
}
location = /after {
    proxy_pass http://127.0.0.1:$TEST_NGINX_RAND_PORT_2;
}
location = /status {
    slidewin off;
    stub_status;
}
--- client
leave(20, '/file');
