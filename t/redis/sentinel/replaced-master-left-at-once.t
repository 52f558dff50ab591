# A healthy master is replaced: what is written to it from then on is lost.
# nginx leaves it when the new master is ready, not when the sentinels have
# finished.

use strict;
use warnings;

use SlidewinNginx;
use SlidewinSentinel;
use Test::More;

my $limit = 1000000;
my $group = SlidewinSentinel->start;
my $nginx = SlidewinNginx->start(
    workers => 2,
    http => "slidewin_redis @{[$group->url]} timeout=3s connect_timeout=3s;"
            . "slidewin_zone \$arg_k zone=one:1m rate=${limit}r/d
                             algorithm=fixed on_error=closed;",
    server => 'add_header X-Source $slidewin_source always;
               add_header X-Left $slidewin_remaining always;
               location = /t { slidewin zone=one; empty_gif; }');
my $first = $group->master;

ok(SlidewinNginx::until_true(sub { $nginx->get('/t?k=w')->{status} == 200 },
                             20 * SlidewinNginx::patience()),
   'the master is found');
ok($group->replicated, '... and has replicas');

sub connections {
    my ($server) = @_;

    return scalar grep { / cmd=(?:evalsha|eval|time)/ }
           split /^/, $group->ask($server, 'CLIENT', 'LIST') // '';
}

# steady traffic from before to after
my @told = $nginx->together(sub {
    my ($n) = @_;

    if ($n == 0) {
        SlidewinNginx::nap(0.3);
        my $done = $group->fail_over($first);
        SlidewinNginx::until_true(sub { connections($first) == 0 },
                                  20 * SlidewinNginx::patience());
        SlidewinNginx::nap(0.3);
        open my $file, '>', "$nginx->{root}/end" or die $!;
        return { done => $done };
    }

    my ($client, %told) = ($nginx->client);

    until (-e "$nginx->{root}/end") {
        my $answer = $client->get('/t?k=one');

        $told{"$answer->{status} $answer->{header}{'x-source'}"}++;
        SlidewinNginx::nap(0.01);
    }

    return \%told;
}, 0 .. 2);

ok($told[0]{done}, 'there is another master');

my $passed = $told[1]{'200 redis'} + $told[2]{'200 redis'};
my $others = 0;

for my $told (@told[1, 2]) {
    $others += $told->{$_} for grep { $_ ne '200 redis' } keys %$told;
}

my $last;

ok(SlidewinNginx::until_true(sub {
    $last = $nginx->get('/t?k=one');
    return $last->{status} == 200 && $passed++;
}, 20 * SlidewinNginx::patience()), '... which decides');

my $counted = $limit - $last->{header}{'x-left'};

note("$counted of $passed counted, $others not by Redis");
cmp_ok($passed, '>', 20, 'some passed');
cmp_ok($passed - $counted, '<=', 5 + $passed / 20,
       '... and few of them are forgotten');
cmp_ok($others, '<=', 5 + $passed / 20, '... and few were not decided');
ok($nginx->logged(qr/slidewin redis "mymaster at 127\.0\.0\.1:@{[$first->port]}" is at 127\.0\.0\.1:\d+ now$/, 1),
   '... and a line says it');

$nginx->stop;

done_testing();
