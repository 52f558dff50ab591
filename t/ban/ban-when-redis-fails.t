# Bans when Redis is away, forgets, or answers errors: the fallback bans for
# itself, a policy that is not decided begins no ban, and nothing bans for ever.

use strict;
use warnings;

use SlidewinBan;
use SlidewinNginx;
use SlidewinPreload;
use SlidewinRedis;
use SlidewinStats;
use Test::More;

my $patience = SlidewinNginx::patience();
my @modes = qw(local open closed);
my @algorithms = @SlidewinBan::ALGORITHMS;

my $clock = SlidewinPreload->clock;
my $redis = SlidewinRedis->start(env => $clock->env);

my $nginx = SlidewinBan::edge(
    store => { redis => $redis }, redis => 'timeout=5s connect_timeout=5s',
    http => "slidewin_log_level notice;\n"
            . join('', map { <<"ZONE" } @modes)
    slidewin_zone \$arg_k zone=$_:1m rate=2r/40d ban=1h on_error=$_;
ZONE
            . join('', map { <<"ZONE" } @algorithms)
    slidewin_zone \$arg_k zone=$_:1m rate=2r/40d algorithm=$_
                  ban=300ms..1200ms on_error=local;
    slidewin_zone \$arg_k zone=hour_$_:1m rate=2r/40d algorithm=$_ ban=1h
                  on_error=local;
ZONE
            . 'slidewin_zone $arg_k zone=kept:1m rate=2r/40d ban=1h
                             deny_cache=1m on_error=local;
               slidewin_zone $arg_k zone=long:1m rate=1r/40d ban=1h
                             on_error=closed deny_cache=off;
               slidewin_zone $arg_k zone=short:1m rate=1r/200ms algorithm=log
                             ban=2s on_error=closed deny_cache=off;
               slidewin_zone $arg_k zone=steps:1m rate=1r/40d ban=1s..10s
                             algorithm=log on_error=closed deny_cache=off;',
    server => SlidewinStats::location()
        . join '', map { "location = /$_ { slidewin zone=$_; empty_gif; }\n" }
                   @modes, @algorithms, (map { "hour_$_" } @algorithms),
                   qw(kept long short steps));

my $client = $nginx->client;

sub told { return SlidewinBan::told(@_) }

sub ask { return SlidewinBan::ask(@_) }

sub source { return $_[0]{header}{'x-source'} // '-' }

sub tally { return SlidewinBan::tally(@_) }

# until Redis decides again
sub back {
    my ($name) = @_;

    return ok(SlidewinNginx::until_true(sub {
        source(ask($client, '/local?k=back' . rand)) eq 'redis';
    }, 30 * $patience), "$name: Redis decides again");
}

my $hit;

back('at the start');

# a ban in Redis, and one that begins when Redis is away

ask($client, '/local?k=a') for 1 .. 3;
is(told(ask($client, '/local?k=a')), '429 BANNED', 'banned by Redis');
ask($client, '/closed?k=a') for 1 .. 3;
ask($client, '/kept?k=a') for 1 .. 3;

$redis->kill;
ok(SlidewinNginx::until_true(sub {
    source(ask($client, '/local?k=down')) eq 'fallback';
}, 10 * $patience), 'killed: Redis does not decide');

$hit = ask($client, '/kept?k=a');
is(told($hit) . ' ' . source($hit), '429 BANNED deny_cache',
   '... a ban that the edge remembers holds');
is(told(ask($client, '/kept?k=b')), '200 PASSED', '... others pass');

is(join(' ', map { told($_) . ' ' . source($_) }
             map { ask($client, '/local?k=b') } 1 .. 4),
   '200 PASSED fallback 200 PASSED fallback 429 REJECTED fallback'
   . ' 429 BANNED fallback', 'on_error=local: the fallback bans for itself');

$hit = ask($client, '/local?k=b');
cmp_ok(SlidewinBan::retry($hit), '>', 3500, '... for as long');
like((SlidewinBan::begun($nginx))[-1], qr/zone "local".*banned for 3600s/,
     '... and tells of it');

is(tally(map { ask($client, '/open?k=b') } 1 .. 5), '200 ERROR_PASSED x5',
   'on_error=open: nobody is banned');
is(tally(map { ask($client, '/closed?k=b') } 1 .. 5), '503 ERROR_REJECTED x5',
   'on_error=closed: all are rejected');
is(scalar(grep { /zone "(?:open|closed)"/ && !/k=a/ }
          SlidewinBan::begun($nginx)), 0, '... and no ban begins');

# of each algorithm: bans of the fallback double, too

my @waits = map {
    my @answers = map { ask($client, $_) } ("/$_?k=b") x 3;

    is(told(@answers) . ' ' . source($answers[2]),
       '200 PASSED, 200 PASSED, 429 REJECTED fallback',
       "fallback, $_: a ban begins");
    { zone => $_, begin => $answers[2] };
} @algorithms;

for my $seconds (0.3, 0.6, 1.2, 1.2) {
    @waits = map { {
        client => $client, zone => $_->{zone}, uri => "/$_->{zone}?k=b",
        begin => $_->{over} // $_->{begin}, seconds => $seconds,
        name => "fallback, $_->{zone}",
    } } @waits;
    SlidewinBan::until_over(@waits);

    is(told($_->{over}) . ' ' . source($_->{over}), '429 REJECTED fallback',
       "fallback, $_->{zone}: then the next begins") for @waits;
}

# an operator, who is told that Redis does not answer

for my $algorithm (@algorithms) {
    my $zone = "hour_$algorithm";
    my $uri = "/$zone?k=b";

    is(told(map { ask($client, $uri) } 1 .. 4),
       '200 PASSED, 200 PASSED, 429 REJECTED, 429 BANNED',
       "fallback, $zone: a ban");

    my ($ban) = @{SlidewinStats::json($nginx, "zones/$zone/bans")->{bans}};
    is($ban->{key}, 'b', '... is listed');
    is($ban->{length}, 3600, '... as long as it is');
    cmp_ok($ban->{left}, '>', 3500, '... with what is left');
    is(SlidewinStats::key($nginx, $zone, 'b')->{status}, 503,
       '... a look asks Redis, in vain');
    is(told(ask($client, $uri)), '429 BANNED', '... and changes nothing');
    is(SlidewinStats::forget($nginx, $zone, 'b'), 503,
       '... who lifts it is told the same');
    is(told(map { ask($client, $uri) } 1 .. 3),
       '200 PASSED, 200 PASSED, 429 REJECTED', '... but here it is lifted');
}

ok($redis->run, 'Redis is back, and empty');
back('empty');

for my $mode (@modes) {
    is(told(ask($client, "/$mode?k=b")), '200 PASSED',
       "... $mode: nobody is banned by it");
}
for my $zone (@algorithms, map { "hour_$_" } @algorithms) {
    my $answer = ask($client, "/$zone?k=b");
    is(told($answer) . ' ' . source($answer), '200 PASSED redis',
       "... $zone: nor by the fallback");
}
# the edge may remember it for a second
ok(SlidewinNginx::until_true(sub {
    told(ask($client, '/closed?k=a')) eq '200 PASSED';
}, 10 * $patience), '... nor who was when it ended');

# FLUSHALL: forgotten, without an error

my $errors = () = $nginx->errors(qr/\[error\].* slidewin (?!zone)/);

SlidewinBan::until_rejected($client, '/short?k=c');
is(told(ask($client, '/short?k=c')), '429 BANNED', 'FLUSHALL: a ban');
$redis->command('FLUSHALL');
is(told(ask($client, '/short?k=c')), '200 PASSED', '... is gone at once');

# scripts are forgotten: the check is sent again with the text

my $begin = SlidewinBan::until_rejected($client, '/short?k=d');

$redis->command('SCRIPT', 'FLUSH');
$hit = ask($client, '/short?k=d');
is(told($hit), '429 BANNED', 'SCRIPT FLUSH: the ban holds');
SlidewinBan::is_left($begin, $hit, 2, '... for as long');
$redis->command('SCRIPT', 'FLUSH');
is(told(ask($client, '/long?k=e')), '200 PASSED', '... others pass');
$redis->command('SCRIPT', 'FLUSH');
is(told(ask($client, '/long?k=e')), '429 REJECTED', '... and a ban begins');
is(told(ask($client, '/long?k=e')), '429 BANNED', '... which holds');

is(scalar($nginx->errors(qr/\[error\].* slidewin (?!zone)/)), $errors,
   '... all without an error');

# another value under the key of a ban

my @foreign = (
    list => sub { $redis->command('RPUSH', $_[0], 'x') },
    number => sub { $redis->command('SET', $_[0], 1) },
    empty => sub { $redis->command('SET', $_[0], '') },
    longer => sub { $redis->command('SET', $_[0], 'x' x 15) },
    hash => sub { $redis->command('HSET', $_[0], 'a', 'b') },
);

while (my ($name, $set) = splice @foreign, 0, 2) {
    my $key = "sw:{$name}:short:ban";

    $set->($key);
    is(tally(map { ask($client, "/short?k=$name") } 1 .. 3),
       '503 ERROR_REJECTED x3', "$name under the key of a ban: on_error decides");
    is($redis->command('EXISTS', "sw:{$name}:short"), 0,
       '... and nothing is counted');
    is($redis->command('EXISTS', $key), 1, '... nor overwritten');
    is(told(ask($client, '/short?k=fine' . $name)), '200 PASSED',
       '... for others Redis decides');
    $redis->command('DEL', $key);
    is(told(ask($client, "/short?k=$name")), '200 PASSED', '... then it passes');
}
ok($nginx->logged(qr/\[error\].*(?:WRONGTYPE|another value)/),
   '... the log says so');

# 14 bytes that are no ban of ours must not ban for ever: what is beyond belief
# is no answer

for my $case (['far', '429 BANNED', 1, 2 ** 52, 1000],
              ['no length', '200 PASSED', 'none', 2 ** 52, 0],
              ['past', '200 PASSED', 'none', 1, 1000],
              ['nothing', '200 PASSED', 'none', 0, 0],
              ['for ever', '503 ERROR_REJECTED', 'none', (2 ** 53 - 1) x 2],
              ['all ones', '503 ERROR_REJECTED', 'none', (-1) x 2])
{
    my ($name, $want, $retry, @ban) = @$case;
    my $k = $name =~ s/ //r;

    $redis->command('SET', "sw:{$k}:short:ban", SlidewinRedis::packed(@ban));
    my $answer = ask($client, "/short?k=$k");
    is(told($answer), $want, "$name: a ban that nobody wrote");
    is(SlidewinBan::retry($answer) // 'none', $retry, '... is not for long');
    is(told(ask($client, "/short?k=$k-other")), '200 PASSED',
       '... and affects nobody else');
    $redis->command('DEL', "sw:{$k}:short:ban");
}

# The clock of Redis is set back by an hour: a ban ends after its length at the
# latest, and its key lives no longer than that and MAX.

$begin = SlidewinBan::until_rejected($client, '/short?k=back');
ask($client, '/steps?k=back');
my $steps = ask($client, '/steps?k=back');
is(told($steps), '429 REJECTED', 'clock: two bans');

my $before = $redis->command('TIME')->[0];
$clock->set(-3600);
ok(SlidewinNginx::until_true(sub {
    $redis->command('TIME')->[0] < $before - 3000;
}, 10), '... and an hour back');

my $after = ask($client, '/short?k=back');
is(told($after), '429 BANNED', '... the client is banned');
cmp_ok(SlidewinBan::retry($after), '<=', 2, '... no longer than at first');
my ($end, $length, $ttl) = SlidewinBan::ban_of($redis, 'short', 'back');
cmp_ok($ttl, '<=', 2000, '... nor does its key live longer');
is($length, 2000, '... it is the same ban');

my $wait = { client => $client, uri => '/short?k=back', begin => $after,
             seconds => 2, name => 'clock' };

# what a window of an hour ahead holds is not for this suite: the ban must end
for (1 .. 1000) {
    my $answer = ask($client, '/short?k=back');
    $wait->{last} = $answer if SlidewinBan::status($answer) eq 'BANNED';
    $wait->{over} = $answer;
    last if SlidewinBan::status($answer) ne 'BANNED';
    SlidewinNginx::nap(0.01);
}
isnt(SlidewinBan::status($wait->{over}), 'BANNED', '... it is over');
cmp_ok($wait->{last}{from} - $after->{to}, '<=', 2 + $SlidewinBan::SLACK,
       '... after its length');

my @endless = grep { $redis->command('PTTL', $_) == -1 }
              @{$redis->command('KEYS', '*')};
is("@endless", '', '... and each key has an end');

# forward: it is over

$clock->set(0);
ok(SlidewinNginx::until_true(sub {
    told(ask($client, '/short?k=back')) eq '200 PASSED';
}, 10 * $patience), '... an hour forward: it is over');

$client->close;
$nginx->stop(allow => qr/\[crit\].*connect\(\)/);

done_testing();
