# Sentinels name the master. It dies under traffic, or is replaced by hand:
# every request is answered, and the new master decides.

use strict;
use warnings;

use SlidewinFaults;
use SlidewinNginx;
use SlidewinRedis;
use SlidewinSentinel;
use Test::More;

my $group = SlidewinSentinel->start;
my $faults = SlidewinFaults->start(
    url => $group->url . '/3', workers => 2,
    redis => 'timeout=3s connect_timeout=3s');
my $nginx = $faults->nginx;

# connections of the workers to a server
sub connections {
    my ($server) = @_;

    return scalar grep { / addr=127\.0\.0\.1:.* cmd=(?:evalsha|eval|time|select)/ }
           split /^/, $group->ask($server, 'CLIENT', 'LIST') // '';
}


# every answer must be one of these
my %sound = map { $_ => 1 } '200 PASSED redis', '429 REJECTED redis retry',
    '200 PASSED fallback', '429 REJECTED fallback retry',
    '200 ERROR_PASSED fail_open', '503 ERROR_REJECTED fail_closed';

# Makes requests from several processes while the code runs; returns the
# answers, counted.
sub traffic {
    my ($code) = @_;
    my @results = $nginx->together(sub {
        my ($n) = @_;

        if ($n == 0) {
            $code->();
            open my $file, '>', "$nginx->{root}/end" or die $!;
            return {};
        }

        my ($client, %told) = ($nginx->client);

        until (-e "$nginx->{root}/end") {
            for my $mode (qw(local open closed well_local)) {
                $told{SlidewinFaults::summary(
                    $client->get("/$mode?k=traffic" . int rand 50))}++;
            }
        }

        return \%told;
    }, 0 .. 4);
    my %told;

    unlink "$nginx->{root}/end";

    for my $result (@results) {
        $told{$_} += $result->{$_} for keys %$result;
    }

    return %told;
}


# The master is found.

my $first = $group->master;

ok($faults->redis_answers, 'the sentinels know the master: Redis is asked');
is(SlidewinNginx::until_true(sub { connections($first) == 2 },
                             10 * SlidewinNginx::patience()), 1,
   '... by both workers');
is(join(' ', map { connections($_) } grep { $_ != $first } $group->nodes),
   '0 0', '... and no worker connects to a replica');
$faults->decides('found');
is(join(' ', $group->ask($first, 'INFO', 'keyspace') =~ /^(db\d+):/mg), 'db3',
   '... in the database of the URL');
is(scalar($nginx->errors(qr/slidewin redis/)), 0, '... without a word');
$faults->remember_workers;


# It is replaced by hand. The new one has all counts.

$faults->ask('closed', 'kept', 1);
ok($group->replicated, 'counted, and replicated');

my %told = traffic(sub {
    $group->fail_over($first) or die "there is no other master\n";
});
my $second = $group->master;

isnt($second, $first, 'replaced by hand: there is another master');
is(join(', ', grep { !$sound{$_} } sort keys %told), '',
   '... every request is accounted for')
    or diag(explain(\%told));
cmp_ok($told{'200 PASSED redis'}, '>', 0, '... most by Redis');
ok($faults->redis_answers(30), '... and Redis is asked again');
is($faults->ask('closed', 'kept', 2),
   '200 PASSED redis, 429 REJECTED redis retry',
   '... which knows what the first one had counted');
$faults->decides('replaced by hand');
ok(SlidewinNginx::until_true(sub { connections($second) == 2 },
                             30 * SlidewinNginx::patience()),
   '... there');
ok(SlidewinNginx::until_true(sub { connections($first) == 0 },
                             10 * SlidewinNginx::patience()),
   '... and the first is left');
ok($group->agreed, '... it is a replica now');


# It is killed under traffic, and the sentinel that nginx has asked is frozen.

$faults->ask('closed', 'safe', 1);
ok($group->replicated, 'counted, and replicated');

$group->freeze(0);
%told = traffic(sub {
    SlidewinNginx::nap(0.2);
    $second->kill('KILL');
    $group->replaced($second) or die "there is no other master\n";
    SlidewinNginx::nap(0.5);
});
$second->kill;

is(join(', ', grep { !$sound{$_} } sort keys %told), '',
   'killed: every request is accounted for')
    or diag(explain(\%told));
cmp_ok($told{'200 PASSED redis'}, '>', 0, '... by Redis');
cmp_ok($told{'503 ERROR_REJECTED fail_closed'}, '>', 0, '... and on_error');
ok($faults->redis_answers(30), '... until there is another master');

my $third = $group->master;

is($faults->ask('closed', 'safe', 2),
   '200 PASSED redis, 429 REJECTED redis retry',
   '... which knows what had been replicated');
$faults->decides('killed');
like(join('', $nginx->errors(qr/slidewin redis/)),
     qr/slidewin redis "mymaster at 127\.0\.0\.1:@{[$second->port]}" (?:is lost|cannot be reached)/,
     '... the log names who was lost');
like(join('', $nginx->errors(qr/slidewin redis/)),
     qr/slidewin redis "mymaster at 127\.0\.0\.1:@{[$third->port]}" is back/,
     '... and who is back');


# The killed server returns, and takes itself for a master at first.

ok($second->run, 'it returns');
SlidewinNginx::nap(2);
is(connections($second), 0, '... and no worker connects to it');
$faults->decides('it has returned');
ok(SlidewinNginx::until_true(sub { connections($third) == 2 },
                             10 * SlidewinNginx::patience()),
   '... but to the new master');
cmp_ok(scalar($nginx->errors(qr/\[error\] .*slidewin redis/)), '<=', 12,
       'few words for all of this')
    or diag($nginx->errors(qr/slidewin redis/));
is(scalar($nginx->errors(qr/\[error\] .*sentinels of/)), 0,
   '... and none for a sentinel');
$group->thaw(0);
$faults->ends_clean('three masters');

done_testing();
