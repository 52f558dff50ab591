# examples/problem-json.conf: the body of a rejection is JSON, whatever is known
# about it.

use strict;
use warnings;

use JSON::PP ();
use SlidewinApp;
use SlidewinExample;
use Test::More;

my $app = SlidewinApp->start(sub {
    return $_[0]{uri} =~ /busy/ ? 429 : 200;
});
my $nginx = SlidewinExample->start('problem-json', app => $app->address);

my $TYPES = 'https://iana.org/assignments/http-problem-types';

sub problem {
    my ($answer, $name, $banned) = @_;
    my $type = $banned ? 'abnormal-usage-detected' : 'quota-exceeded';
    my $problem = eval { JSON::PP::decode_json($answer->{body}) };

    is($answer->{status}, 429, "$name: 429");
    is($answer->{header}{'content-type'}, 'application/problem+json',
       '... by its type');
    is(ref $problem, 'HASH', '... is a JSON object')
        or diag("$@\n$answer->{body}");
    is($problem->{type}, "$TYPES#$type", '... with a type');
    like($problem->{title}, $banned ? qr/^Banned/ : qr/^Too many requests$/,
         '... a title');
    is($answer->{body} =~ /"status": (\d+)/ ? $1 : '', 429,
       '... the status, as a number');
    like($problem->{detail}, qr/^[A-Z].*\.$/, '... a sentence');
    like($problem->{request_id}, qr/^[0-9a-f]{32}$/,
         '... the name of the request');
    is(join(' ', sort keys %$problem), 'detail limit remaining request_id'
       . ' retry_after status title type violated-policies',
       '... and no other members than those');

    return $problem;
}

# the limit on requests

is($nginx->tallied(1, 100, '/api/'), '200 x100', 'a hundred pass');

my $late = $nginx->ask(1, '/api/');
my $problem = problem($late, 'the next one');

is_deeply($problem->{'violated-policies'}, ['api'], 'it names the policy');
is($problem->{limit}, 100, '... its limit');
is($problem->{remaining}, 0, '... what is left');
cmp_ok($problem->{retry_after}, '>', 0, '... and when to come back');
is($late->{header}{'retry-after'}, $problem->{retry_after},
   '... as Retry-After does');
is($problem->{detail}, "Try again in $problem->{retry_after} seconds.",
   '... and the sentence');
is($late->{header}{'cache-control'}, 'no-store', 'it is not for caches');
like($late->{header}{ratelimit}, qr/^"api";r=0;t=\d+$/,
     'and has the RateLimit fields');
is(scalar(() = $app->seen), 100, 'it has not reached the application');

# it has banned the client

$late = $nginx->ask(1, '/api/');
$problem = problem($late, 'one more', 1);
is_deeply($problem->{'violated-policies'}, ['api'], 'it names the policy');
is($problem->{limit}, 100, '... its limit');
is($problem->{remaining}, 0, '... what is left');
cmp_ok($problem->{retry_after}, '>', 3500, '... and when the ban is over');
is($late->{header}{'retry-after'}, $problem->{retry_after},
   '... as Retry-After does');
like($late->{header}{ratelimit}, qr/^"api";r=0;t=$problem->{retry_after}$/,
     '... and the RateLimit fields');
is(problem($nginx->ask(1, '/api/report?pages=1'), 'a report', 1)
       ->{'violated-policies'}[0], 'api', '... is refused by the ban');
is(scalar(() = $app->seen), 100, 'nothing of it reaches the application');
is($nginx->ask(2, '/api/')->{status}, 200, 'another client passes');

my $head = $nginx->client(1);

$head->write(SlidewinExample::request('/api/', { Connection => 'close' },
                                      'HEAD'));
my $text = '';
1 while sysread $head->{socket}, $text, 65536, length $text;
like($text, qr{^HTTP/1\.1 429 .*\r\n\r\n\z}s, 'HEAD gets the head');
like($text, qr{^Content-Type: application/problem\+json\r$}m, '... the same');

# the limit on pages

is($nginx->ask(3, '/api/report?pages=17')->{status}, 200, 'seventeen pages');
$problem = problem($nginx->ask(3, '/api/report?pages=4'), 'four more');
is_deeply($problem->{'violated-policies'}, ['report'], 'it names the policy');
is($problem->{limit}, 20, '... its limit');
is($problem->{remaining}, 3, '... what is left');
is($nginx->ask(3, '/api/report?pages=3')->{status}, 200, '... as it is');

for my $args ('', '?pages=0', '?pages=-1', '?pages=', '?pages=1&pages=20',
              '?pages=1e0', '?pages=%31')
{
    is($nginx->ask(3, "/api/report$args")->{status}, 429,
       "report$args is not free");
}

# no time to retry is known

$late = $nginx->ask(4, '/api/report?pages=21');
$problem = problem($late, 'more than there can ever be');
is_deeply($problem->{'violated-policies'}, ['report'], 'it names the policy');
ok(exists $problem->{retry_after} && !defined $problem->{retry_after},
   '... and no time');
is($late->{header}{'retry-after'}, undef, '... nor has it Retry-After');
is($problem->{detail}, 'Trying again later may not help.', '... and says so');

# input that tries to break out of the JSON

for my $uri ('/api/%22%7D', '/api/"}', '/api/?a="}{', '/api/%0a%00') {
    my $answer = $nginx->ask(1, $uri, { 'X-Forwarded-For' => '"}{',
                                        'User-Agent' => '"}{' });

    ok(defined eval { JSON::PP::decode_json($answer->{body}) },
       "$uri: JSON all the same") if $answer->{status} != 400;
}

$nginx->stop;

# A 429 of the application passes unchanged; if nginx intercepts it, the JSON
# names no violated limit.

my $error_page = "error_page 429 \@too_many_requests;\n";
my $caught = "proxy_intercept_errors on; proxy_pass http://app;\n";

$nginx = SlidewinExample->start('problem-json', app => $app->address,
    change => [
        $error_page => "$error_page location /free/ { $caught }\n"
                       . "location /caught/ { slidewin zone=api; $caught }\n",
    ]);

is($nginx->ask(1, '/api/busy')->{body}, "GET /api/busy\n",
   'the application may answer 429 itself');

$problem = problem($nginx->ask(1, '/caught/busy'), 'caught after a pass');
is_deeply($problem->{'violated-policies'}, [], 'no policy is to blame');
is($problem->{retry_after}, undef, '... there is no time');
is($problem->{limit}, 100, '... but a limit');

$problem = problem($nginx->ask(1, '/free/busy'), 'caught without a limit');
is_deeply($problem->{'violated-policies'}, [], 'no policy is to blame');
is_deeply([@$problem{qw(limit remaining retry_after)}], [undef, undef, undef],
          '... and nothing is known');

$nginx->stop;
$app->stop;

done_testing();
