# examples/windows.conf: ten requests in a second and a thousand in an hour,
# together.

use strict;
use warnings;

use SlidewinApp;
use SlidewinExample;
use Test::More;

my $app = SlidewinApp->start;
my $nginx = SlidewinExample->start('windows', app => $app->address);

# what a response says is left: { zone => units }
sub left {
    my ($answer) = @_;

    return { $answer->{header}{ratelimit} =~ /"(\w+)";r=(\d+)/g };
}

my $first = $nginx->ask(1, '/');

is($first->{status}, 200, 'the first passes');
is($first->{header}{'ratelimit-policy'},
   '"second";q=10;w=1, "hour";q=1000;w=3600', 'both limits are told');
is(left($first)->{hour}, 999, 'and what is left');

# A second may end at any time: requests until one is rejected.

my @answers;

SlidewinNginx::until_true(sub {
    push @answers, $nginx->answers(2, 100, '/');
    return grep { $_->{status} == 429 } @answers;
}, 60);

my @passed = grep { $_->{status} == 200 } @answers;
my @rejected = grep { $_->{status} == 429 } @answers;

cmp_ok(scalar @rejected, '>', 0, 'a burst is turned away');
is(@passed + @rejected, scalar @answers, '... with 429, no other way');
is(SlidewinNginx::tally(map { $_->{status} } @answers[0 .. 9]), '200 x10',
   '... after the first ten');
is(scalar(grep { $_->{header}{'retry-after'} !~ /^[12]$/ } @rejected), 0,
   '... to come back in a second or two');
is(left($answers[-1])->{hour}, 1000 - @passed,
   '... and the hour has counted those who passed alone');
is(scalar(() = $app->seen), 1 + @passed,
   '... who are all that the application has seen');
ok(scalar $nginx->errors(qr/limiting requests, .* zone "second", client/),
   '... the log names the second');
is($nginx->ask(3, '/')->{status}, 200, 'another client passes');
$nginx->stop;
$app->stop;

# The thousand, without reaching the limit of a second.

$app = SlidewinApp->start;
$nginx = SlidewinExample->start('windows', app => $app->address, change => [
    'rate=10r/s' => 'rate=100000r/s',
]);
@answers = $nginx->answers(1, 1001, '/');

is(SlidewinNginx::tally(map { $_->{status} } @answers), '200 x1000, 429 x1',
   'a thousand pass in an hour');
is($answers[-1]{status}, 429, '... the first of them');
cmp_ok($answers[-1]{header}{'retry-after'}, '>', 1,
       '... and a second is not enough then');
ok(scalar $nginx->errors(qr/limiting requests, .* zone "hour", client/),
   '... the log names the hour');
is(scalar(() = $app->seen), 1000, '... the application is spared the rest');
is($nginx->ask(2, '/')->{status}, 200, 'another client passes');
$nginx->stop;
$app->stop;

done_testing();
