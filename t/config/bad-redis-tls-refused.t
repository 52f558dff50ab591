# nginx -t refuses ssl_... parameters of slidewin_redis that cannot be used. One
# line says which and why.

use strict;
use warnings;

use Cwd ();
use File::Temp ();
use SlidewinCerts;
use SlidewinNginx;
use Test::More;

# an nginx that refuses its configuration does not free its memory
$ENV{ASAN_OPTIONS} =~ s/detect_leaks=1/detect_leaks=0/
    if defined $ENV{ASAN_OPTIONS};

mkdir 't' unless -d 't';
my $dir = File::Temp::tempdir('servroot_XXXXXX', DIR => 't', CLEANUP => 1);
mkdir "$dir/logs";

my $load = join '', map { "load_module $_;\n" }
           split ' ', $ENV{TEST_NGINX_LOAD_MODULES} || '';

my $certs = SlidewinCerts->new;

$certs->authority('ca');
$certs->certificate('edge', by => 'ca');
$certs->certificate('other', by => 'ca');

sub openssl {
    my (@arguments) = @_;

    system("openssl @arguments 2>/dev/null") == 0 or die "openssl @arguments";

    return;
}

sub slurp { return SlidewinNginx::slurp($_[0]) }

sub put {
    my ($name, $text) = @_;

    open my $file, '>', "$dir/$name" or die "$name: $!";
    print $file $text;
    close $file;

    return;
}

put($_, slurp($certs->dir . "/$_")) for qw(ca.pem edge.pem edge.key other.key);
put('chain.pem', slurp($certs->pem('edge')) . slurp($certs->pem('ca')));
put('garbage', "-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n");
put('text', "s3cret\n");
put('empty', '');
openssl('genrsa', '-out', "$dir/rsa.key", 2048);
openssl('pkey', '-in', $certs->key('edge'), '-aes256', '-passout', 'pass:x',
        '-out', "$dir/locked.key");
openssl('ec', '-in', $certs->key('edge'), '-aes256', '-passout', 'pass:x',
        '-out', "$dir/locked-old.key");

# what nginx -t prints, and whether it succeeds; it must not ask for a
# passphrase at the terminal
sub test {
    my ($directive) = @_;

    put('nginx.conf', "${load}pid logs/nginx.pid;\nevents { }\nhttp {\n"
                      . "access_log off;\nslidewin_redis $directive;\n"
                      . "server { listen unix:$dir/http; }\n}\n");

    my $nginx = SlidewinNginx::binary();
    my $said = `timeout 60 $nginx -t -p $dir/ -c nginx.conf -e stderr 2>&1 </dev/null`;

    return ($said, $? == 0);
}

sub refused {
    my ($directive, $text) = @_;
    my ($said, $good) = test($directive);

    $text = quotemeta $text if ref $text ne 'Regexp';

    ok(!$good, "refused: $directive");
    like($said, qr{\[emerg\] \d+#\d+: $text in \S+nginx\.conf:\d+$}m,
         "... $text");
    is(scalar(() = $said =~ /\[(?:warn|error|crit|alert|emerg)\]/g), 1,
       '... and nothing else');
    unlike($said, qr/s3cret/, '... nor what is in the file');

    return;
}

sub accepted {
    my ($directive) = @_;
    my ($said, $good) = test($directive);

    ok($good, "accepted: $directive") or diag($said);
    unlike($said, qr/\[(?:warn|error|crit|alert|emerg)\]/, '... without a word');

    return;
}

my $url = 'rediss://127.0.0.1';
my $of = 'in "slidewin_redis" directive';
my $mine = 'ssl_cert=edge.pem ssl_key=edge.key';

accepted($url . $_)
    for '', ':1/2', ' ssl_ca=ca.pem', ' ssl_ca=' . Cwd::abs_path("$dir/ca.pem"),
        " $mine", ' ssl_key=edge.key ssl_ca=ca.pem ssl_cert=chain.pem',
        ' ssl_name=redis.example', ' ssl_name=192.0.2.1', ' ssl_name=::1',
        ' ssl_verify=on', ' ssl_verify=off', ' ssl_verify=off ssl_ca=ca.pem';
accepted('rediss://user:s3cret@localhost ssl_ca=ca.pem');


# Files.

for my $name (qw(ssl_ca ssl_cert ssl_key)) {
    my $rest = { ssl_ca => '', ssl_cert => 'ssl_key=edge.key',
                 ssl_key => 'ssl_cert=edge.pem' }->{$name};

    refused("$url $rest $name=missing",
            "cannot use \"$name=missing\" $of: No such file or directory");

    for my $file ('text', 'empty', '', 'logs') {
        refused("$url $rest $name=$file",
                qr/cannot use "$name=$file" $of: [\w ]+/);
    }
}

refused("$url ssl_ca=edge.key", 'cannot use "ssl_ca=edge.key" '
        . "$of: no certificate or crl found");
refused("$url ssl_ca=garbage", qr/cannot use "ssl_ca=garbage" $of: [\w ]+/);
refused("$url ssl_cert=garbage ssl_key=edge.key",
        qr/cannot use "ssl_cert=garbage" $of: [\w ]+/);
refused("$url ssl_cert=edge.pem ssl_key=other.key",
        "cannot use \"ssl_key=other.key\" $of: key values mismatch");
refused("$url ssl_cert=edge.pem ssl_key=rsa.key",
        qr/cannot use "ssl_key=rsa\.key" $of: (?:different key types|key type mismatch)/);
refused("$url ssl_cert=edge.pem ssl_key=$_",
        "cannot use \"ssl_key=$_\" $of: it is encrypted")
    for 'locked.key', 'locked-old.key';


# Parameters that need each other.

refused("$url ssl_cert=edge.pem ssl_verify=off",
        '"slidewin_redis" has "ssl_cert" parameter but no "ssl_key"');
refused("$url ssl_ca=ca.pem ssl_key=edge.key",
        '"slidewin_redis" has "ssl_key" parameter but no "ssl_cert"');

for my $plain ('redis://127.0.0.1', 'unix:/nowhere/redis') {
    refused("$plain $_", "\"$_\" $of is for TLS, the URL must begin with "
            . '"rediss"')
        for 'ssl_ca=ca.pem', 'ssl_ca=missing', 'ssl_cert=edge.pem',
            'ssl_key=edge.key', 'ssl_name=redis.example', 'ssl_verify=off',
            'ssl_verify=on';
}


# Values.

refused("$url ssl_verify=$_", "invalid ssl_verify \"ssl_verify=$_\" $of, it "
        . 'must be "on" or "off"')
    for '', 'maybe', 'OFF', '0';
refused("$url ssl_name=$_", "invalid ssl_name \"ssl_name=$_\" $of, it must be "
        . 'a name or an address')
    for '', 'x' x 256;
refused("$url ssl_ca=ca.pem ssl_ca=ca.pem", 'duplicate parameter '
        . '"ssl_ca=ca.pem" in "slidewin_redis" directive');

done_testing();
