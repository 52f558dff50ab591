# examples/search.conf: queries take units by their cost, however they are
# spelled.

use strict;
use warnings;

use SlidewinApp;
use SlidewinExample;
use Test::More;

my $app = SlidewinApp->start;
my $nginx = SlidewinExample->start('search', app => $app->address);
my $client = 1;

# what RateLimit says is left
sub left {
    my ($answer) = @_;

    return ($answer->{header}{ratelimit} // '')
           =~ /^"search";r=(\d+);t=\d+$/ ? $1 : 'none';
}

# a new client for each: 300 less what the first request leaves is its cost
sub cost {
    my ($query) = @_;
    my $answer = $nginx->ask(++$client, "/search$query");

    return "$answer->{status}: " . (300 - left($answer));
}

is(cost('?q=shoes'), '200: 1', 'a plain query');
is(cost('?q=red+shoes'), '200: 1', '... of two words');
is(cost('?q=red%20shoes'), '200: 1', '... written otherwise');
is(cost('?q=shoes&page=5'), '200: 1', '... one of the first pages');
is(cost('?q=shoes&sort=price'), '200: 3', 'a sorted one');

for my $query ('?q=sh*', '?q=sh%2A', '?q=sh%2a', '?q=shoes&page=6',
               '?q=shoes&page=50', '?q=shoes&q=*', '?q=shoes&sort=rating',
               '?sort=price&q=shoes', '?q=', '', '?q=shoes&deep=1',
               '?Q=shoes', '?q=shoes%0a', '?q=shoes&page=1&page=99')
{
    is(cost($query), '200: 10', "/search$query is dear");
}

# All endpoints take from the same budget.

my @answers = $nginx->answers(1, 40, '/search?q=*');
my $passed = grep { $_->{status} == 200 } @answers;

# one more if a window has just ended
ok($passed == 30 || $passed == 31, 'thirty dear ones are all there is')
    or diag($passed);
is(@answers - $passed, grep({ $_->{status} == 429 } @answers),
   '... the others get 429');
is($answers[29]{status}, 200, '... the last of them');
like($answers[-1]{header}{'retry-after'}, qr/^[1-9]\d*$/, '... and a time');
is($answers[-1]{header}{'ratelimit-policy'}, '"search";q=300;w=600',
   '... and the limit');
is(scalar(grep { m{^GET /search\?q=\*$} } $app->seen), $passed,
   '... and do not reach the application');

my @plain = $nginx->answers(1, 30, '/search?q=shoes');

ok(scalar(grep { $_->{status} == 429 } @plain),
   'a plain query finds nothing left, either');
is($nginx->ask(2, '/search?q=shoes')->{status}, 200, 'another client does');

# A request of cost 0 is free.

my @looks = $nginx->answers(100, 50, '/search/left');

is(SlidewinNginx::tally(map { $_->{status} } @looks), '204 x50',
   'to ask what is left');
is(SlidewinNginx::tally(map { left($_) } @looks), '300 x50',
   '... costs nothing');
$nginx->ask(100, '/search?q=*');
is(left($nginx->ask(100, '/search/left')), 290, '... and tells the truth');
is($nginx->ask(1, '/search/left')->{status}, 204,
   '... and is answered when nothing is left');
is(scalar(grep { m{/left} } $app->seen), 0, '... by nginx');

$nginx->stop;
$app->stop;

done_testing();
