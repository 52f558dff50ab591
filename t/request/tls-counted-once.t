# A request over TLS is counted after the handshake, and once.

use lib 't/lib';
use File::Temp ();
use Test::Nginx::Socket 'no_plan';
use SlidewinClient;

our $Dir = File::Temp->newdir;

system("openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes"
       . " -days 2 -subj /CN=localhost -keyout $Dir/key -out $Dir/cert"
       . " 2>$Dir/log") == 0
    or die "openssl cannot make a certificate\n";

our $Server = <<"END";
slidewin_zone \$remote_addr zone=one:1m rate=3r/h algorithm=log;
ssl_certificate $Dir/cert;
ssl_certificate_key $Dir/key;
ssl_client_certificate $Dir/cert;
ssl_protocols TLSv1.2 TLSv1.3;
END

our $UserFiles = <<'END';
>>> file
content
END

sub curl {
    my (@arguments) = @_;
    return `curl -s -k -o /dev/null -w '%{http_code} ' @arguments`;
}

run_tests();

__DATA__

=== HTTP/1.1 and HTTP/2 over TLS share the count
--- http_config eval
$::Server . <<'END'
server {
    listen 127.0.0.1:$TEST_NGINX_RAND_PORT_1 ssl http2;
    root html;
    slidewin zone=one;
}
END
--- user_files eval: $::UserFiles
--- config
--- client
my $url = 'https://127.0.0.1:' . port(1) . '/file';
is(curl('--http1.1', $url), '200 ', 'HTTP/1.1');
is(curl('--http2', $url), '200 ', 'HTTP/2');
is(curl('--http1.1', $url, '-o /dev/null', $url), '200 429 ', 'limited');
is(curl('--http2', $url), '429 ', 'both');



=== a handshake alone counts nothing, nor a client without its certificate
--- http_config eval
$::Server . <<'END'
server {
    listen 127.0.0.1:$TEST_NGINX_RAND_PORT_1 ssl;
    ssl_verify_client on;
    root html;
    slidewin zone=one;
}
END
--- user_files eval: $::UserFiles
--- config
--- client
my $url = 'https://127.0.0.1:' . port(1) . '/file';

for (1 .. 3) {
    my $port = port(1);
    like(`openssl s_client -connect 127.0.0.1:$port </dev/null 2>&1`,
         qr/BEGIN CERTIFICATE/, 'a handshake');
}

my $cert = "--cert $::Dir/cert --key $::Dir/key";
is(curl($url, '-o /dev/null', $url, '-o /dev/null', $url), '400 400 400 ',
   'without a certificate');
is(curl($cert, map { ($url, '-o /dev/null') } 1 .. 3), '200 200 200 ',
   'none of them was counted');
is(curl($cert, $url), '429 ', 'these were');



=== a request in early data is counted once, and once more when it is replayed
--- http_config eval
$::Server . <<'END'
server {
    listen 127.0.0.1:$TEST_NGINX_RAND_PORT_1 ssl;
    ssl_early_data on;
    root html;
    slidewin zone=one;
    add_header X-Remaining $slidewin_remaining always;
}
END
--- user_files eval: $::UserFiles
--- config
--- client
my $port = port(1);
my $early = "$::Dir/early";
my $request = "GET /file HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n";

open my $out, '>', $early or die $!;
print $out $request;
close $out;

my $s_client = "openssl s_client -connect 127.0.0.1:$port -tls1_3 -ign_eof";

my $first = `$s_client -sess_out $::Dir/session <$early 2>&1`;
like($first, qr/^X-Remaining: 2\r$/m, 'the first is not early');

for my $remaining (1, 0) {
    my $r = `$s_client -sess_in $::Dir/session -early_data $early </dev/null 2>&1`;
    like($r, qr/Early data was accepted/, 'early');
    like($r, qr/^X-Remaining: $remaining\r$/m, "$remaining left");
}

like(`$s_client -sess_in $::Dir/session -early_data $early </dev/null 2>&1`,
     qr{^HTTP/1.1 429 }m, 'the next is rejected');
