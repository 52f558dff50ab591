# Any key can be looked at and reset, whatever its bytes are, and every answer
# that has it is JSON in UTF-8.

use strict;
use warnings;

use Encode ();
use SlidewinApi;
use SlidewinNginx;
use Test::More;

my $nginx = SlidewinNginx->start(
    http => <<'END',
        large_client_header_buffers 8 128k;
        slidewin_log_level info;
        slidewin_zone $key zone=one:4m rate=1r/40d algorithm=log top=1000;
        slidewin_zone $key zone=few:1m rate=1r/40d top=1;
        slidewin_zone $key zone=off:1m rate=1r/40d top=off;
        slidewin_zone $key zone=var:1m rate=$rate;
        map $http_rate $rate { default 2r/40d; "~." $http_rate; }
        map $http_x $key { default $arg_k; "~." $http_x; }
END
    server => <<'END',
        location /slidewin/ { slidewin_api write=on; }
        location /one/ { slidewin zone=one; try_files /x /empty; }
        location /few { slidewin zone=few; empty_gif; }
        location /off { slidewin zone=off; empty_gif; }
        location /var { slidewin zone=var; empty_gif; }
        location = /empty { empty_gif; }
END
);

my $api = SlidewinApi->connect($nginx);

sub get { return $api->ask_here('GET', "/slidewin/$_[0]") }
sub json { return SlidewinApi::decode(get(@_)->{body}) // {} }

# the ways to write a key

my @ways = (
    ['abc', 'abc'], ['%61%62%63', 'abc'], ['a+b', 'a+b'], ['a%2Bb', 'a+b'],
    ['a%2fb', 'a/b'], ['a%2Fb', 'a/b'], ['a/b', 'a/b'], ['a//b', 'a//b'],
    ['/a', '/a'], ['a/', 'a/'], ['a%252Fb', 'a%2Fb'], ['%c3%a4', 'ä'],
    ['%C3%A4', 'ä'], ['a%20b', 'a b'], ['a:b@c=d&e;f,g$h!i*j(k)', undef],
    ['2001:db8::1', '2001:db8::1'], ['..a', '..a'], ['a..', 'a..'],
    ['...', '...'], ['.a', '.a'],
);

for (@ways) {
    my ($text, $key) = @$_;
    $key //= $text;
    my $got = get("zones/one/keys/$text");
    is($got->{status}, 200, "keys/$text");
    is(SlidewinApi::jq('.key', $got->{body}) =~ s/^"|"$//gr, $key,
       "... is $key");

    next if $text =~ /&/;
    is(json("zones/one/keys?key=$text")->{key}, Encode::decode('utf-8', $key),
       '... in the arguments as well');
}

for my $text (qw(% %4 a% a%4 %zz %4g %g4 %%41)) {
    is(get("zones/one/keys?key=$text")->{status}, 400,
       "keys?key=$text is no key");
    is($api->ask_here('DELETE', "/slidewin/zones/one/keys?key=$text")
           ->{status}, 400, '... to reset');

    my $got = SlidewinApi::ask($nginx, 'GET', "/slidewin/zones/one/keys/$text");
    is($got->{status}, 400, '... and nginx refuses it in the path');
}

for my $page (qw(keys/ keys?key= keys?key=&key=a keys/?key=a)) {
    is(get("zones/one/$page")->{status}, 400, "$page: no key is empty");
}

is(json('zones/one/keys?x=1&key=a&key=b')->{key}, 'a', 'the first one counts');
is(json('zones/one/keys?key=%00')->{key}, "\0", 'NUL in the arguments');
is(SlidewinApi::ask($nginx, 'GET', '/slidewin/zones/one/keys/%00')->{status},
   400, '... nginx refuses it in the path');

for my $n (255, 256, 257, 4096, 8192, 70_000) {
    my $key = 'x' x $n;
    is(length(json("zones/one/keys/$key")->{key}), $n, "a key of $n bytes");

    $key = '%ff' x ($n < 70_000 ? $n : 20_000);
    my $got = get("zones/one/keys/$key");
    is($got->{status}, 200, '... that is not text');
    ok(SlidewinApi::decode($got->{body}), '... is JSON');
}

# every byte, in a real client's key

my %named = (
    # a field of a header has neither NUL nor the end of a line
    'every byte' => 'a' . join('', map { chr } grep { !/^(?:10|13)$/ } 1 .. 255),
    'control characters' => "a\x01\x02\x1b[2J\x7f", 'a tab' => "a\tb",
    'quotes' => '"\'\\', 'a tag' => '</script><!--', 'spaces' => 'a b  c',
    'right to left' => "\xe2\x80\xaeabc", 'surrogate' => "\xed\xa0\x80",
    'overlong' => "\xc0\xaf", 'cut' => "a\xe2\x82", 'dots' => '..',
    'one dot' => '.', 'a way up' => '../../../x', 'slashes' => '//a///b/',
    'percent' => '%41%zz', 'plus' => 'a+b', 'query' => 'a?b=c&d#e',
    'Unicode' => "\xc3\xa4\xe2\x82\xac\xf0\x9f\x98\x80",
    'php' => 'x.php', 'backslashes' => 'a\\x41\\u0041',
    '256 bytes' => "\xff" x 256, '256 letters' => 'y' x 256,
    'a way up inside' => 'a/../b', 'dots at the end' => 'a/..',
);

my %top;

for my $name (sort keys %named) {
    my $key = $named{$name};
    my $client = $nginx->client;

    is(join(' ', map { $client->get('/one/', X => $key)->{status} } 1, 2),
       '200 429', "$name: is a client");
}

my $list = get('zones/one/top');
ok(defined eval { Encode::decode('UTF-8', "$list->{body}", Encode::FB_CROAK) },
   'the list is UTF-8');
is(SlidewinApi::jq('.top | length', $list->{body}),
   scalar(keys %named), 'jq reads it');
unlike($list->{body}, qr/[\x00-\x09\x0b-\x1f\x7f<>]/,
       '... it has no control characters and no tags');
$top{$_->{path}} = $_ for @{ SlidewinApi::decode($list->{body})->{top} };

for my $name (sort keys %named) {
    my $key = $named{$name};
    my $encoded = SlidewinApi::encode($key);
    my ($path) = grep {
        my $text = s{^keys(?:/|\?key=)}{}r;
        $text =~ s/%(..)/chr hex $1/ger eq $key;
    } keys %top;

    ok($path, "$name: is in the list") or next;
    is($top{$path}{rejected}, 1, '... with its count');

    is(json("zones/one/$path")->{remaining}, 0, '... its path leads to it');
    is(SlidewinApi::jq('.key', get("zones/one/$path")->{body}),
       SlidewinApi::jq(".top[] | select(.path == \"$path\") | .key",
                       $list->{body}), '... by the same name');
    is(json("zones/one/keys?key=$encoded")->{remaining}, 0,
       '... and so do the arguments');
    is($api->ask_here('DELETE', "/slidewin/zones/one/$path")->{status}, 204,
       '... and DELETE');
    is(join(' ', map { $nginx->get('/one/', X => $key)->{status} } 1, 2),
       '200 429', '... which resets it');
}

# keys that are longer than what the list keeps

for my $n (256, 257) {
    $nginx->get('/one/?k=' . 'z' x $n) for 1 .. 3;
}

my %long = map { $_->{length} // length $_->{key} => $_ }
           grep { $_->{key} =~ /^z+$/ } @{ json('zones/one/top')->{top} };
is($long{256}{path}, 'keys/' . 'z' x 256, '256 bytes have a path');
ok(!exists $long{256}{length}, '... and no length');
ok(exists $long{257}{path} && !defined $long{257}{path}, '257 have none');
is(length $long{257}{key}, 256, '... and the first 256 as their key');
is($long{257}{rejected}, 2, '... and are counted');

# fewer counters

$nginx->get('/few?k=a') for 1 .. 4;
$nginx->get('/off?k=a') for 1 .. 4;
my $few = json('zones/few/top')->{top};
is(scalar @$few, 1, 'top=1 has one client');
is("$few->[0]{key} $few->[0]{rejected} $few->[0]{error}", 'a 3 0',
   '... with its count');
$nginx->get('/few?k=b') for 1 .. 2;
$few = json('zones/few/top')->{top};
is("$few->[0]{key} $few->[0]{rejected} $few->[0]{error}", 'b 4 3',
   '... or another with what it may have at most');
is_deeply(json('zones/off/top')->{top}, [], 'top=off has none');

# a rate that the request brings

my $none = json('zones/var/keys/a');
ok(exists $none->{$_} && !defined $none->{$_}, "$_ is null without a rate")
    for qw(limit remaining estimate reset retry_after);

for my $rate (qw(5r/m 2r/40d 10r/500ms 5r%2Fm)) {
    my $got = get("zones/var/keys/a?rate=$rate");
    is($got->{status}, 200, "rate=$rate");
    my ($limit) = $rate =~ /^(\d+)/;
    is(SlidewinApi::decode($got->{body})->{limit}, $limit, '... is the limit');
    is(get("zones/var/keys?key=a&rate=$rate")->{status}, 200,
       '... with the key in the arguments');
}

for my $rate (qw(5 5r 5r/ r/m -1r/m 0r/m 5r/x 5r/0s % 5r%2 99999999999999999999r/m),
              'x' x 3000)
{
    is(get("zones/var/keys/a?rate=$rate")->{status}, 400,
       'rate=' . substr($rate, 0, 30) . ' is none');
}

is(get('zones/one/keys/a?rate=5r/m')->{status}, 400,
   'a fixed rate has no other');
is(get('zones/one/keys/a?rate=')->{status}, 200, '... an empty one is none');

# what jq reads

for my $page (qw(info zones zones/one zones/var stores zones/one/top
                 zones/off/top zones/one/keys/a zones/var/keys/a))
{
    unlike(SlidewinApi::jq('.', get($page)->{body}), qr/says no/,
           "jq reads $page");
}

is(SlidewinApi::jq('[.rate, .limit, .window]', get('zones/var')->{body}),
   '["$rate",null,null]', 'a zone whose rate is a variable');
is(SlidewinApi::jq('[.rate, .limit, .window, .algorithm, .store, .store_name]',
                   get('zones/one')->{body}),
   '["1r/40d",1,3456000,"log","local","local"]', 'a zone');

$nginx->stop;
done_testing();
