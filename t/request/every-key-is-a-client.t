# Every key is a client of its own, whatever its bytes and its length. A request
# with an empty key is not limited.

use strict;
use warnings;

use Digest::SHA ();
use Test::More;

use SlidewinNginx;

my $nginx = SlidewinNginx->start(http => <<'END', server => <<'END');
    large_client_header_buffers 4 256k;
    slidewin_zone $http_x_key zone=field:4m rate=1r/h algorithm=log;
    slidewin_zone $key zone=path:4m rate=1r/h algorithm=log;
    slidewin_zone $http_x_key$http_x_more zone=joined:1m rate=1r/h algorithm=log;
    slidewin_zone $http_x_key:$http_x_more zone=colon:1m rate=1r/h algorithm=log;
    slidewin_zone $http_x_key zone=a:1m rate=1r/h algorithm=log;
    slidewin_zone $http_x_key zone=a.b:1m rate=1r/h algorithm=log;
    slidewin_zone everybody zone=all:1m rate=1r/h algorithm=log;
    slidewin_zone $unset zone=unset:1m rate=1r/h algorithm=log;
    slidewin_zone $arg_a zone=empty:1m rate=1r/h algorithm=log;
END
    location = /field { slidewin zone=field; empty_gif; }
    location ~ ^/path/(?<key>(?s:.)*)$ { slidewin zone=path; empty_gif; }
    location = /joined { slidewin zone=joined; empty_gif; }
    location = /colon { slidewin zone=colon; empty_gif; }
    location = /a { slidewin zone=a; empty_gif; }
    location = /a.b { slidewin zone=a.b; empty_gif; }
    location = /both { slidewin zone=a; slidewin zone=a.b; empty_gif; }
    location = /all { slidewin zone=all; empty_gif; }
    location = /unset {
        slidewin zone=unset;
        empty_gif;
        if ($arg_set) { set $unset $arg_set; }
    }
    location = /empty { slidewin zone=empty; empty_gif; }
    location = /empty-and { slidewin zone=empty; slidewin zone=a; empty_gif; }
END

my $client = $nginx->client;

sub ask { return $client->get(@_) }

sub status { return ask(@_)->{status} }

sub statuses {
    my ($uri, @fields) = @_;

    return join ' ', map { status($uri, @$_) } @fields;
}


# Empty keys.

for my $uri ('/empty', '/empty?a=', '/field', '/joined') {
    my @answers = map { ask($uri) } 1 .. 3;

    is(SlidewinNginx::tally(map { $_->{status} } @answers), '200 x3',
       "$uri: an empty key is not limited");
    is($answers[2]{header}{'x-status'}, 'BYPASSED', "$uri: is bypassed");
    is($answers[2]{header}{'x-remaining'}, undef, "$uri: is not counted");
}

is(SlidewinNginx::tally(map { status('/unset') } 1 .. 3), '200 x3',
   'a variable without a value is an empty key');
is(statuses('/unset?set=x', [], []), '200 429', 'with one it is a key');
is(status('/unset'), 200, 'another request does not see it');

is(statuses('/empty-and', ['X-Key' => 'e'], ['X-Key' => 'e']), '200 429',
   'an empty key leaves the other limit in force');

is(statuses('/all', [], ['X-Key' => 'x']), '200 429',
   'a key without a variable is one client');


# Text.

is(statuses('/joined', ['X-Key' => 'ab', 'X-More' => 'c'],
                       ['X-Key' => 'a', 'X-More' => 'bc']), '200 429',
   'a key is its text, not its parts');
is(statuses('/colon', ['X-Key' => 'ab', 'X-More' => 'c'],
                      ['X-Key' => 'a', 'X-More' => 'bc']), '200 200',
   'a separator keeps them apart');
is(statuses('/colon', [], []), '200 429', 'which is not an empty key');

is(status('/a', 'X-Key' => 'b:c'), 200, 'zone a');
is(status('/a.b', 'X-Key' => 'c'), 200, 'zone a.b');
is(status('/a.b', 'X-Key' => 'b:c'), 200, 'zones do not share a key');
is(status('/a', 'X-Key' => 'b:c'), 429, 'zone a has counted it');
is(status('/a.b', 'X-Key' => 'c'), 429, 'zone a.b has counted it');
is(statuses('/both', ['X-Key' => 'two'], ['X-Key' => 'two']), '200 429',
   'two zones count the same key');

is(statuses('/field', map { ['X-Key' => $_] } qw(Case case CASE Case)),
   '200 200 200 429', 'large and small letters differ');

is(status('/field', 'X-Key' => '10.0.0.1'), 200, 'a key');
is(status('/field', 'X-Key' => '10.0.0.10'), 200, 'one that begins with it');
is(status('/field', 'X-Key' => '10.0.0.'), 200, 'one that it begins with');


# Every length near those at which the stored form changes. Each key begins with
# the one before it.

my @lengths = (1 .. 300, 4095 .. 4097, 65534 .. 65537, 100_000);

is(SlidewinNginx::tally(map { status('/field', 'X-Key' => 'k' x $_) } @lengths),
   '200 x' . @lengths, 'keys of every length are different keys');
is(SlidewinNginx::tally(map { status('/field', 'X-Key' => 'k' x $_) } @lengths),
   '429 x' . @lengths, 'and each is known again');

my $long = 'k' x 100_000;
substr $long, -1, 1, 'l';
is(status('/field', 'X-Key' => $long), 200, 'long keys differ in a last byte');
substr $long, 0, 1, 'l';
is(status('/field', 'X-Key' => $long), 200, 'and in a first one');


# Bytes.

sub path {
    my ($key) = @_;

    return '/path/' . join '', map { sprintf '%%%02x', ord } split //, $key;
}

my @odd = (
    ' ', '  ', "\t", "\r\n", "\n", "a\r\nb", "a\nb", "a\rb",
    "*3\r\n\$7\r\nFLUSHALL\r\n", "*3\r\n\$7\r\nFLUSHALL", '%s', '%b', '%n', '%',
    '{}', '{', '}', '{a}', '{a}b', '{b}a', '"', "'", '\\', '\\x00', '$', '$uri',
    ':', '::', ';', ',', '?', '#', '&', '=', '*', "\x7f", "\x80", "\xff",
    "\xff\xff", "\xc3\xa9", "e\xcc\x81", "\xf0\x9f\x98\x80", 'a b', 'a+b', 'a%20b',
    '<script>', "';--", "\x01", "\x01\x02",
    (map { 'x' x 64 . $_ } "\xff", "\r\n", '{}', ' '),
);

is(SlidewinNginx::tally(map { status(path($_)) } @odd), '200 x' . @odd,
   'odd keys are different keys');
is(SlidewinNginx::tally(map { status(path($_)) } @odd), '429 x' . @odd,
   'and each is known again');
is(SlidewinNginx::tally(map { status(path($_)) } 'a' .. 'z'), '200 x26',
   'and so are plain ones beside them');

my $null = $nginx->client;
is($null->get('/path/a%00b')->{status}, 400, 'nginx itself refuses a NUL');


# A long key is stored as its digest. That is not the same client as the key
# whose text is this digest.

my $digested = (grep { Digest::SHA::sha1($_) !~ /[\0-\x20\x7f.\/]/ }
                map { "long-$_-" . 'x' x 64 } 1 .. 2000)[0];

is(status(path($digested)), 200, 'a long key');
is(status(path(Digest::SHA::sha1($digested))), 200, 'its digest is another key');
is(status(path(Digest::SHA::sha1_hex($digested))), 200,
   'and so is the text of it');
is(status(path($digested)), 429, 'the long key has been counted');


# A key may be a secret, and is not logged.

is(statuses('/field', (['X-Key' => 'secret-token']) x 2), '200 429',
   'a key that is a secret');
unlike($nginx->error_log, qr/secret-token/, 'is not in the log');
like($nginx->error_log, qr/limiting requests, excess: 1\.000 by zone "field"/,
     'the rejection is');

$client->close;
$null->close;
$nginx->stop;

done_testing();
