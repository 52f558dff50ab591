# Limits in several stores on one request: all admit it, or none keeps it
# counted.

use lib 't/lib';
use Test::Nginx::Socket 'no_plan';
use SlidewinClient;

our $UserFiles = <<'END';
>>> file
content
END

our $Zones = <<'END';
slidewin_test_store late delay=20ms;
slidewin_test_store later delay=30ms;
slidewin_test_store bad delay=20ms fail;
slidewin_zone $remote_addr zone=local:1m rate=4r/h algorithm=log;
slidewin_zone $remote_addr zone=late:1m rate=4r/h algorithm=log store=late;
slidewin_zone $remote_addr zone=later:1m rate=4r/h algorithm=log store=later;
slidewin_zone $arg_k zone=local-each:1m rate=1r/h algorithm=log;
slidewin_zone $arg_k zone=late-each:1m rate=1r/h algorithm=log store=late
              deny_cache=off;
slidewin_zone $remote_addr zone=closed:1m rate=4r/h algorithm=log store=bad
              on_error=closed;
slidewin_zone $remote_addr zone=fallback:1m rate=4r/h algorithm=log store=bad
              on_error=local:25%;
END

our $Peek = <<'END';
slidewin_headers ietf;
add_header X-Slidewin "$slidewin_status $slidewin_source $slidewin_zone" always;
location = /peek {
    slidewin zone=local cost=0;
    slidewin zone=late cost=0;
    slidewin zone=later cost=0;
    alias html/file;
}
END

# "4 3 4": what is left in local, late and later
sub left {
    return join ' ', get('/peek')->{headers}{ratelimit} =~ /;r=(\d+);/g;
}

sub decided {
    my $r = shift;
    return "$r->{status} $r->{headers}{'x-slidewin'}";
}

run_tests();

__DATA__

=== all admit, each is charged once
--- http_config eval: $::Zones
--- user_files eval: $::UserFiles
--- config eval
$::Peek . <<'END'
location = /file {
    slidewin zone=local;
    slidewin zone=late;
    slidewin zone=later;
}
END
--- client
is(left(), '4 4 4', 'peeking costs nothing');
is(statuses(2, '/file'), '200 200', 'passed');
is(left(), '2 2 2', 'charged');
is(statuses(3, '/file'), '200 200 429', 'to the end');
is(left(), '0 0 0', 'charged');



=== a rejection by a later store gives back what was charged in shared memory
--- http_config eval: $::Zones
--- user_files eval: $::UserFiles
--- config eval
$::Peek . <<'END'
location = /file {
    slidewin zone=local;
    slidewin zone=later;
    slidewin zone=late-each;
}
END
--- client
is(statuses(3, '/file?k=1'), '200 429 429', 'statuses');
is(decided(get('/file?k=1')), '429 REJECTED redis late-each', 'who decided');
is(left(), '3 4 3', 'only the first is charged');



=== a rejection by shared memory gives back what was charged in another store
--- http_config eval: $::Zones
--- user_files eval: $::UserFiles
--- config eval
$::Peek . <<'END'
location = /file {
    slidewin zone=late;
    slidewin zone=later;
    slidewin zone=local-each;
}
END
--- client
is(statuses(3, '/file?k=1'), '200 429 429', 'statuses');
is(decided(get('/file?k=1')), '429 REJECTED local local-each', 'who decided');
is(left(), '4 3 3', 'only the first is charged');



=== a rejection in the same store charges none of it
--- http_config eval: $::Zones
--- user_files eval: $::UserFiles
--- config eval
$::Peek . <<'END'
location = /file {
    slidewin zone=late;
    slidewin zone=local;
    slidewin zone=late-each;
}
END
--- client
is(statuses(3, '/file?k=1'), '200 429 429', 'statuses');
is(left(), '3 3 4', 'only the first is charged');



=== once one has refused no other store is asked
--- http_config eval: $::Zones . "slidewin_test_store never silent;\nslidewin_zone \$remote_addr zone=never:1m rate=4r/h store=never;"
--- user_files eval: $::UserFiles
--- config eval
$::Peek . <<'END'
location = /spend {
    slidewin zone=local-each;
    alias html/file;
}
location = /file {
    slidewin zone=local-each;
    slidewin zone=never;
}
END
--- client
is(get('/spend?k=1')->{status}, 200, 'spent');
is(get('/file?k=1')->{status}, 429, 'rejected without a wait');



=== a store that fails closed gives back what the others charged
--- http_config eval: $::Zones
--- user_files eval: $::UserFiles
--- config eval
$::Peek . <<'END'
location = /file {
    slidewin zone=local;
    slidewin zone=late;
    slidewin zone=closed;
}
END
--- client
is(statuses(3, '/file'), '503 503 503', 'statuses');
is(left(), '4 4 4', 'nothing is charged');



=== a rejection by a fallback gives back what the others charged
--- http_config eval: $::Zones
--- user_files eval: $::UserFiles
--- config eval
$::Peek . <<'END'
location = /file {
    slidewin zone=fallback;
    slidewin zone=local;
    slidewin zone=late;
}
END
--- client
is(statuses(3, '/file'), '200 429 429', 'statuses');
is(decided(get('/file')), '429 REJECTED fallback fallback', 'who decided');
is(left(), '3 3 4', 'only the first is charged');



=== what a fallback counted is given back when another store rejects
--- http_config eval: $::Zones
--- user_files eval: $::UserFiles
--- config eval
$::Peek . <<'END'
location = /file {
    slidewin zone=fallback;
    slidewin zone=late-each;
}
location = /spend {
    slidewin zone=late-each;
    alias html/file;
}
END
--- client
is(get('/spend?k=1')->{status}, 200, 'spent');
is(statuses(2, '/file?k=1'), '429 429', 'rejected');
is(get('/file?k=2')->{status}, 200, 'the fallback has room still');
is(get('/file?k=3')->{status}, 429, 'for one');



=== a rejection by another store charges what is on trial neither
--- http_config eval: $::Zones
--- user_files eval: $::UserFiles
--- config eval
$::Peek . <<'END'
location = /file {
    slidewin zone=local dry_run;
    slidewin zone=late dry_run;
    slidewin zone=late-each;
}
END
--- client
is(statuses(3, '/file?k=1'), '200 429 429', 'statuses');
is(left(), '3 3 4', 'only the first is charged');



=== many at once over two stores, limit 4 in each: exactly four pass
--- http_config eval: $::Zones
--- user_files eval: $::UserFiles
--- config eval
$::Peek . <<'END'
location = /file {
    slidewin zone=local;
    slidewin zone=late;
}
END
--- client
my @c = map { tcp() } 1 .. 30;
$_->write("GET /file HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n") for @c;

my @s = map { $_->response->{status} } @c;
is((grep { $_ == 200 } @s), 4, 'passed');
is((grep { $_ == 429 } @s), 26, 'rejected');
is(left(), '0 0 4', 'charged');
