# Sentinels have users and passwords of their own; which permissions those and
# the ones of the master need, and what is logged if they are missing.

use strict;
use warnings;

use File::Temp ();
use SlidewinFaults;
use SlidewinNginx;
use SlidewinSentinel;
use Test::More;

my $dir = File::Temp::tempdir('slidewin.XXXXXX', TMPDIR => 1, CLEANUP => 1);

sub password {
    my ($name, $text) = @_;

    open my $file, '>', "$dir/$name" or die "$name: $!";
    print $file "$text\n";
    close $file;

    return;
}

my @guard = qw(+ping +sentinel|get-master-addr-by-name);
my @news = qw(+sentinel|master +subscribe +unsubscribe &+switch-master
              &+promoted-slave &+failover-state-wait-promotion);
my @edge = qw(~sw:* +time +evalsha +eval +get +getrange +strlen +set
              +setrange +append +pexpire +del +role);

my $group = SlidewinSentinel->start(
    replicas => 0, sentinels => 1, password => 'm4ster',
    as => ['default', 'p33rs'],
    conf => "user default on >p33rs ~* &* +\@all\n"
            . "user guard on >gu4rd @guard @news\n");
my ($master) = $group->nodes;
my ($sentinel) = $group->sentinels;

sub allow {
    my ($server, $user, $password, @may) = @_;
    my $said = $group->ask($server, 'ACL', 'SETUSER', $user, 'reset', 'on',
                           ">$password", @may);

    $said eq 'OK' or die "ACL SETUSER: $said\n";

    # closes the connections of the user, as if nginx had just started
    $group->ask($server, 'CLIENT', 'KILL', 'USER', $user);

    return;
}

allow($master, 'edge', 'edg3', @edge);
password(@$_) for ['edge', 'edg3'], ['guard', 'gu4rd'], ['wrong', 'wr0ng'],
                  ['default', 'p33rs'];

my $url = 'redis-sentinel://edge@127.0.0.1:' . $sentinel->port . '/mymaster';

sub start {
    my ($parameters) = @_;

    return SlidewinFaults->start(
        url => $url, redis => "password_file=$dir/edge $parameters"
                              . ' timeout=5s connect_timeout=2s');
}

sub silent {
    my ($faults) = @_;

    unlike($faults->nginx->error_log . $faults->nginx->output,
           qr/edg3|gu4rd|wr0ng|p33rs|m4ster/, '... and no password is told');

    return;
}


# A user, or a password alone.

for (['a user', "sentinel_user=guard sentinel_password_file=$dir/guard"],
     ['a password', "sentinel_password_file=$dir/default"])
{
    my ($name, $parameters) = @$_;
    my $faults = start($parameters);

    ok($faults->redis_answers,
       "$name: the sentinel answers, and the master decides");
    $faults->remember_workers;
    $faults->decides($name);
    like($group->ask($master, 'CLIENT', 'LIST'), qr/ user=edge /,
         '... to the user of the URL');
    is(scalar($faults->nginx->errors(qr/slidewin redis/)), 0,
       '... without a word');
    silent($faults);
    $faults->ends_clean($name);
}


# No password, or a wrong one.

for (['no password', '', 'NOAUTH Authentication required\.'],
     ['a wrong password', "sentinel_password_file=$dir/wrong",
      'WRONGPASS invalid username-password pair or user is disabled\.'],
     ['a wrong user',
      "sentinel_user=edge sentinel_password_file=$dir/edge",
      'WRONGPASS invalid username-password pair or user is disabled\.'])
{
    my ($name, $parameters, $reason) = @$_;
    my $faults = start($parameters);

    $faults->fails($name);
    ok($faults->nginx->logged(qr/slidewin redis "sentinels of mymaster" cannot be reached: $reason$/, 10),
       '... the log says why');
    silent($faults);
    $faults->client->close;
    $faults->nginx->stop(name => $name);
}


# None of the permissions can be left out.

my $faults = start("sentinel_user=guard sentinel_password_file=$dir/guard");

ok($faults->redis_answers, 'with the least they need: Redis is asked');

for my $right (@guard) {
    allow($sentinel, 'guard', 'gu4rd', grep { $_ ne $right } @guard, @news);
    $group->ask($master, 'CLIENT', 'KILL', 'USER', 'edge');
    ok(SlidewinNginx::until_true(sub {
        $faults->get('/well_local?k=x')->{status} == 503;
    }, 20 * SlidewinNginx::patience()), "not without $right");
    ok($faults->nginx->logged(
           qr/sentinels of mymaster".*(?:lost|reached): NOPERM/, 10),
       '... the log says why');
    allow($sentinel, 'guard', 'gu4rd', @guard, @news);
    ok($faults->redis_answers(20), '... but with it');
}

# A user that may not subscribe finds the master, and the log says so.

ok(!$faults->nginx->errors(qr/tells no news/), 'with all rights: no complaint');
allow($sentinel, 'guard', 'gu4rd', @guard);
ok($faults->nginx->logged(qr/\[warn\] .*slidewin redis "127\.0\.0\.1:\d+" of "mymaster" tells no news of a failover, which is noticed later: "NOPERM/, 10),
   'without those that bring news: the log says so');
$group->ask($master, 'CLIENT', 'KILL', 'USER', 'edge');
ok($faults->redis_answers(20), '... and the master is found');
allow($sentinel, 'guard', 'gu4rd', @guard, @news);

allow($master, 'edge', 'edg3', grep { $_ ne '+role' } @edge);
ok(SlidewinNginx::until_true(sub {
    $faults->get('/well_local?k=x')->{status} == 503;
}, 20 * SlidewinNginx::patience()), 'not without +role at the master');
ok($faults->nginx->logged(qr/slidewin redis "mymaster at 127\.0\.0\.1:\d+" cannot be reached: NOPERM/, 10),
   '... the log says why');
allow($master, 'edge', 'edg3', @edge);
ok($faults->redis_answers(20), '... but with it');
silent($faults);
$faults->client->close;
$faults->nginx->stop(name => 'rights');

done_testing();
