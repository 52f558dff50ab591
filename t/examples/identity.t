# examples/identity.conf: the subject of a verified token is counted, or a
# session. A client can neither invent one nor leave it out to escape the limit.

use strict;
use warnings;

use Digest::SHA ();
use JSON::PP ();
use MIME::Base64 ();
use SlidewinApp;
use SlidewinExample;
use Test::More;

my $secret = 'of the verifier';

sub base64url { return MIME::Base64::encode_base64url($_[0]) }

sub token {
    my ($claims, $key) = @_;
    my $text = base64url('{"alg":"HS256","typ":"JWT"}') . '.'
               . base64url(JSON::PP::encode_json($claims));

    return "$text." . base64url(Digest::SHA::hmac_sha256($text,
                                                         $key // $secret));
}

sub bearer { return { Authorization => 'Bearer ' . token(@_) } }

my $verifier = SlidewinApp->start(sub {
    my ($token) = ($_[0]{header}{authorization} // '') =~ /^Bearer (\S+)$/
        or return 401, '', 'WWW-Authenticate' => 'Bearer';
    my ($text, $claims, $mac) = $token =~ /^([\w-]+\.([\w-]+))\.([\w-]+)$/;

    $mac eq base64url(Digest::SHA::hmac_sha256($text, $secret))
        or return 401, '', 'WWW-Authenticate' => 'Bearer';

    my $subject = JSON::PP::decode_json(
                      MIME::Base64::decode_base64url($claims))->{sub};

    return 200, '', defined $subject ? ('X-Subject' => $subject) : ();
});

my $app = SlidewinApp->start(sub {
    my ($request) = @_;

    return 200, join ' ', $request->{method}, $request->{uri},
                     $request->{header}{'x-subject'} // '-', $request->{body};
});

sub start {
    return SlidewinExample->start('identity', app => $app->address, change => [
        'server 127.0.0.1:8081;' => 'server ' . $verifier->address . ';',
    ]);
}

my $nginx = start();
my $ann = bearer({ sub => 'ann' });

# the request passes all checks

my $answer = $nginx->ask(1, '/api/a?b=c', { %$ann, 'X-Subject' => 'bob' },
                         'POST', 'body');

is($answer->{status}, 200, 'a good token passes');
is($answer->{body}, 'POST /api/a?b=c ann body',
   '... with its subject, and all of the request');

for my $fields ({}, { Authorization => 'Bearer x.y.z' },
                { 'X-Subject' => 'ann' }, bearer({ sub => 'ann' }, 'guessed'))
{
    my $answer = $nginx->ask(1, '/api/', $fields);

    is($answer->{status}, 401, 'any other does not');
    is($answer->{header}{'www-authenticate'}, 'Bearer', '... and is told why');
}

is(scalar(() = $app->seen), 1, 'only the first has reached the application');
is($nginx->ask(1, '/verify', $ann)->{status}, 404,
   'the verifier cannot be asked from outside');

# tokens with a subject

is($nginx->tallied(2, 60, '/api/', $ann), '200 x60',
   'a subject has its limit, and bad tokens have not used it');
is($nginx->tallied(3, 50, '/api/', bearer({ sub => 'ann', iat => 7 })),
   '200 x39, 429 x11', '... from anywhere, with any of its tokens');

my $late = $nginx->ask(3, '/api/', $ann);

is($late->{status}, 429, '... and no more');
like($late->{header}{'retry-after'}, qr/^[1-9]\d*$/, '... with a time');
ok(scalar $nginx->errors(qr/limiting requests, .* zone "subject", client/),
   '... by the limit of subjects');
is($nginx->tallied(3, 50, '/api/', bearer({ sub => 'bob' })), '200 x50',
   'another subject at the same address has one of its own');
is($nginx->ask(4, '/api/', { %$ann, 'X-Subject' => 'carl' })->{status}, 429,
   'a name in the request does not make another of it');

# tokens without a subject

my $nameless = bearer({ scope => 'all' });

is($nginx->tallied(5, 110, '/api/', $nameless), '200 x100, 429 x10',
   'a token without a subject is counted by the address');
is($nginx->ask(6, '/api/', $nameless)->{status}, 200, '... each of its own');
is($nginx->tallied(7, 1, '/api/', bearer({ sub => 'address 127.0.0.5' })),
   '200 x1', '... which no subject can be named like');
is($nginx->ask(7, '/api/', bearer({ sub => '127.0.0.5' }))->{status}, 200,
   '... nor by the address alone');

# a request over the subject's limit has been verified, and counts for the
# address

my $before = () = $verifier->seen;

is($nginx->tallied(10, 310, '/api/', $ann), '429 x310',
   'a subject over its limit');
is(scalar(() = $verifier->seen) - $before, 300,
   '... makes the verifier no more work than the limit of the address');
is($nginx->ask(11, '/api/', bearer({ sub => 'bob' }))->{status}, 200,
   '... while others go on');

# a flood of bad tokens

$before = () = $verifier->seen;

is($nginx->tallied(8, 310, '/api/', bearer({ sub => 'ann' }, 'guessed')),
   '401 x300, 429 x10', 'bad tokens are counted by the address');
is(scalar(() = $verifier->seen) - $before, 300,
   '... and spare the verifier the rest');
is($nginx->ask(9, '/api/', bearer({ sub => 'bob' }))->{status}, 200,
   '... while others go on');
$nginx->stop;

# sessions

$nginx = start();

sub session { return { Cookie => "lang=en; session=$_[0]" } }

is($nginx->tallied(1, 110, '/', session('s1')), '200 x100, 429 x10',
   'a session has its limit');
ok(scalar $nginx->errors(qr/limiting requests, .* zone "session", client/),
   '... by the limit of sessions');
is($nginx->ask(2, '/', session('s1'))->{status}, 429, '... from anywhere');
is($nginx->tallied(1, 110, '/', session('s2')), '200 x100, 429 x10',
   'another one at the same address has its own');

is($nginx->tallied(3, 110, '/'), '200 x100, 429 x10',
   'without a cookie it is the address that counts');
is($nginx->ask(3, '/', { Cookie => 'session=' })->{status}, 429,
   '... with an empty one, too');
is($nginx->ask(3, '/', { Cookie => 'lang=en' })->{status}, 429,
   '... or another');
is($nginx->ask(4, '/')->{status}, 200, '... each of its own');

my @made_up = map { $nginx->ask(5, '/', session("x$_"))->{status} } 1 .. 310;

is(SlidewinNginx::tally(@made_up), '200 x300, 429 x10',
   'a new cookie for each request ends at the limit of the address');
ok(scalar $nginx->errors(qr/limiting requests, .* zone "address", client/),
   '... which the log names');
$nginx->stop;
$_->stop for $app, $verifier;

done_testing();
