# Redis refuses the password, the user or a command: nginx starts all the same,
# on_error decides, Redis decides again as soon as it accepts, and no password
# is logged.

use strict;
use warnings;

use SlidewinFaults;
use SlidewinNginx;
use SlidewinRedis;
use Test::More;

my @secrets = ('s3cret', 'wr0ng', 'r0tated');
my $secrets = join '|', @secrets;

# everything is logged
my $main = 'error_log logs/loud.log debug;';
my $http = 'log_format all "$request $slidewin_status $slidewin_source '
           . '$slidewin_zone $slidewin_limit $slidewin_remaining";'
           . 'access_log logs/access.log all;';

sub start {
    my ($url, %options) = @_;

    return SlidewinFaults->start(url => $url, main => $main, http => $http,
                                 redis => 'timeout=2s connect_timeout=5s',
                                 %options);
}

# a Redis whose first connection has all permissions
sub redis {
    my @args = @_;
    my $redis = SlidewinRedis->start(args => \@args);
    my ($password) = "@args" =~ /--requirepass (\S+)/;

    $redis->command('AUTH', $password) if defined $password;

    return $redis;
}

sub to {
    my ($redis, $user) = @_;

    return "redis://${user}127.0.0.1:" . $redis->port;
}

sub log_has {
    my ($faults, $pattern, $name) = @_;

    ok($faults->nginx->logged(qr/\[error\] .*slidewin redis "127\.0\.0\.1:\d+" $pattern/),
       $name);

    return;
}

sub ends {
    my ($faults, $name) = @_;
    my $nginx = $faults->nginx;
    my @leaks = grep { /$secrets/ }
                map { split /^/, SlidewinNginx::slurp($_) }
                glob $nginx->root . '/logs/*';

    is(join('', @leaks), '', "$name: no log has a password");
    $faults->client->close;
    $nginx->stop(name => $name);

    return;
}


# Redis wants a password, and none is configured.

my $redis = redis('--requirepass', 's3cret');
my $faults = start(to($redis, ''));
my $name = 'NOAUTH';

log_has($faults, 'cannot be reached: NOAUTH Authentication required\.',
        "$name: said");
$faults->fails($name);
is($faults->log_lines('cannot be reached'), 1, "$name: once");

$redis->command('CONFIG', 'SET', 'requirepass', '');
$faults->recovers($name);
is($faults->log_lines('is back'), 1, "$name: and that it is over");
ends($faults, $name);
$redis->remove;


# The wrong password; Redis is set to it, and then to another one.

$redis = redis('--requirepass', 's3cret');
$faults = start(to($redis, ':wr0ng@'));
$name = 'WRONGPASS';

log_has($faults, 'cannot be reached: WRONGPASS invalid username-password pair or user is disabled\.',
        "$name: said");
$faults->fails($name);

$redis->command('CONFIG', 'SET', 'requirepass', 'wr0ng');
$faults->recovers($name);

# a connection that is logged in stays so until it ends
$redis->command('CONFIG', 'SET', 'requirepass', 'r0tated');
$faults->decides("$name, another password later");
$redis->command('CLIENT', 'KILL', 'TYPE', 'normal', 'SKIPME', 'yes');
ok(SlidewinNginx::until_true(sub {
    $faults->ask('open', SlidewinFaults::fresh(), 1)
        eq '200 ERROR_PASSED fail_open';
}, 10), "$name: not let in again");
ok(SlidewinNginx::until_true(sub {
    $faults->log_lines('cannot be reached: WRONGPASS') == 2;
}, 10 * SlidewinNginx::patience()), "$name: said again");
$faults->fails("$name, let out");
$redis->command('CONFIG', 'SET', 'requirepass', 'wr0ng');
$faults->recovers("$name, let in again");
ends($faults, $name);
$redis->remove;


# A user that does not exist, is created, removed, and created again.

$redis = redis();
$faults = start(to($redis, 'edge:s3cret@'));
$name = 'user';

log_has($faults, 'cannot be reached: WRONGPASS', "$name: unknown");
$faults->fails("$name, unknown");

my @edge = ('ACL', 'SETUSER', 'edge', 'reset', 'on', '>s3cret', '~sw:*',
            '+@all');

$redis->command(@edge);
$faults->recovers("$name, known");
$redis->command('ACL', 'DELUSER', 'edge');
ok(SlidewinNginx::until_true(sub {
    $faults->ask('open', SlidewinFaults::fresh(), 1)
        eq '200 ERROR_PASSED fail_open';
}, 10), "$name: removed");
ok(SlidewinNginx::until_true(sub {
    $faults->log_lines('cannot be reached: WRONGPASS') == 2;
}, 10 * SlidewinNginx::patience()), "$name: said again");
$faults->fails("$name, removed");
$redis->command(@edge);
$faults->recovers("$name, known again");
ends($faults, $name);


# A password that Redis does not ask for is a configuration mistake.

$faults = start(to($redis, ':s3cret@'));
$name = 'a password too many';
log_has($faults, 'cannot be reached: ERR AUTH <password> called without any password configured',
        "$name: said");
$faults->fails($name);
ends($faults, $name);
$redis->remove;


# Logged in, but without a permission that the module needs.

sub edge {
    my ($redis, @may) = @_;

    $redis->command('ACL', 'SETUSER', 'edge', 'reset', 'on', '>s3cret', @may);

    return;
}

for (['EVALSHA', ['~sw:*', '+@all', '-evalsha']],
     ['the keys', ['~other:*', '+@all']],
     ['to write', ['%R~sw:*', '+@all']],
     ['to read in a script', ['~sw:*', '+@all', '-@read']],
     ['to write in a script', ['~sw:*', '+@all', '-@write']])
{
    my ($what, $may) = @$_;

    $name = "NOPERM, $what";
    $redis = redis();
    edge($redis, @$may);

    $faults = start(to($redis, 'edge:s3cret@'), apart => 1);
    $faults->fails($name);
    log_has($faults, 'failed: ".*(?:NOPERM|permission|run this command)',
            "$name: said");

    # after enough failures Redis is not asked any more

    SlidewinNginx::until_true(sub {
        $faults->get('/open?k=' . SlidewinFaults::fresh());
        $faults->log_lines('is not asked for a while') > 0;
    }, 10);
    is($faults->log_lines('is (?:lost|back)'), 0, "$name: stays connected");
    is($redis->command('DBSIZE'), 0, "$name: leaves nothing");

    edge($redis, '~sw:*', '+@all');
    $faults->recovers($name);
    ends($faults, $name);
    $redis->remove;
}

$name = 'NOPERM, TIME';
$redis = redis();
edge($redis, '~sw:*', '+@all', '-time');
$faults = start(to($redis, 'edge:s3cret@'));
log_has($faults, 'cannot be reached: NOPERM .*time', "$name: said");
$faults->fails($name);
edge($redis, '~sw:*', '+@all');
$faults->recovers($name);
ends($faults, $name);

$name = 'NOPERM, SELECT';
edge($redis, '~sw:*', '+@all', '-select');
$redis->command('FLUSHALL');
$faults = start(to($redis, 'edge:s3cret@') . '/1');
log_has($faults, 'cannot be reached: NOPERM .*select', "$name: said");
$faults->fails($name);
is($redis->command('DBSIZE'), 0, "$name: does not count elsewhere");
edge($redis, '~sw:*', '+@all');
$faults->recovers($name);
ends($faults, $name);
$redis->remove;


# A Redis without a command repeats its arguments in the error: a password, a
# client.

$redis = redis('--rename-command', 'AUTH', '');
$faults = start(to($redis, ':s3cret@'));
$name = 'no AUTH';
log_has($faults, q{cannot be reached: ERR unknown command 'AUTH'$},
        "$name: said, and no more");
$faults->fails($name);
ends($faults, $name);
$redis->remove;

$redis = redis('--rename-command', 'EVALSHA', '');
$faults = start(to($redis, ''));
$name = 'no EVALSHA';
$faults->fails($name, 's3cret-client');
log_has($faults, q{failed: "ERR unknown command 'EVALSHA'"$},
        "$name: said, and no more");
is(join('', grep { /s3cret-client/ && !/\[debug\]|, request: / }
            split /^/, $faults->nginx->error_log), '',
   "$name: no line has the client");
$faults->client->close;
$faults->nginx->stop(name => $name);
$redis->remove;

done_testing();
