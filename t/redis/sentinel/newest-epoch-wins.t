# Sentinels differ, because some are cut off together with a master that was
# replaced: the newest epoch is believed, whichever is asked first.

use strict;
use warnings;

use SlidewinFake;
use SlidewinNginx;
use SlidewinRedis;
use Test::More;

my $patience = 10 * SlidewinNginx::patience();
my $dead = SlidewinRedis::free_port();

# both servers say that they are masters
my $old = SlidewinRedis->start;
my $new = SlidewinRedis->start;
my $replica = SlidewinRedis->start(
    args => ['--replicaof', '127.0.0.1 ' . $old->port]);

sub bulk { return SlidewinFake::bulk($_[0]) }

sub texts { return '*' . @_ . "\r\n" . join '', map { bulk($_) } @_ }

# A sentinel that names this master, with this epoch; undef: it does not tell.
# The code says when it publishes a switch.
sub names {
    my ($master, $epoch, $news) = @_;

    return { command => sub {
        my ($c, $command) = @_;
        my ($verb, $what) = map { uc } @$command;

        if ($verb eq 'PING') {
            $c->send("+PONG\r\n");

        } elsif ($verb eq 'SUBSCRIBE') {
            $c->send("*3\r\n" . bulk('subscribe') . bulk($_) . ":1\r\n")
                for @$command[1 .. $#$command];
            $news->($c) if $news;

        } elsif ($verb eq 'UNSUBSCRIBE') {
            $c->send("*3\r\n" . bulk('unsubscribe') . "\$-1\r\n:0\r\n");

        } elsif ($what ne 'MASTER') {
            $c->send(texts('127.0.0.1', $master->port));

        } elsif (defined $epoch) {
            $c->send(texts(name => 'mymaster', 'config-epoch' => $epoch));

        } else {
            $c->send("-NOPERM this user has no permissions\r\n");
        }

        return 1;
    } };
}

my $promotion = texts('message', '+failover-state-wait-promotion',
                      'slave 127.0.0.1:1 127.0.0.1 ' . $replica->port
                      . ' @ mymaster 127.0.0.1 ' . $old->port);

my %modes = (
    behind => names($old, 1),
    old => names($old),
    new => names($new, 2),
    untold => names($new),
    silent => { command => sub {
        uc $_[1][0] eq 'PING' and $_[0]->send("+PONG\r\n");
        return 1;
    } },
    # it has switched, and publishes that on subscription
    switched => names($new, 2, sub {
        $_[0]{said}++
            or $_[0]->send(texts('message', '+switch-master',
                                 'mymaster 127.0.0.1 1 127.0.0.1 2'));
    }),
    # a promotion that never comes
    hopes => names($old, 1, sub { $_[0]{said}++ or $_[0]->send($promotion) }),
    # messages that make no sense
    babbles => names($old, 1, sub {
        $_[0]{said}++
            or $_[0]->send("*3\r\n:1\r\n:2\r\n:3\r\n*0\r\n+what\r\n"
                           . texts('subscribe', 'nothing', 'at all')
                           . texts('message', '+switch-master', '')
                           . texts('message',
                                   '+failover-state-wait-promotion',
                                   'slave @ mymaster')
                           . texts('pmessage', 'a', 'b'));
    }),
);
my @guards = map { SlidewinFake->start(modes => \%modes, mode => 'behind') }
             1 .. 3;
my $n = 0;

# start(TIMES, MODE...): an nginx that asks sentinels of these modes
sub start {
    my ($times, @as) = @_;
    my @ports;

    for my $i (0 .. $#as) {
        $guards[$i]->mode($as[$i]) if $as[$i] ne 'down';
        push @ports, $as[$i] eq 'down' ? $dead : $guards[$i]->port;
    }

    $_->command('CONFIG', 'RESETSTAT') for $old, $new;

    return SlidewinNginx->start(
        http => 'slidewin_redis redis-sentinel://'
                . join(',', map { "127.0.0.1:$_" } @ports) . "/mymaster $times;"
                . 'slidewin_zone $arg_k zone=one:1m rate=2r/h algorithm=log
                                 deny_cache=off on_error=closed;',
        server => 'location = /t { slidewin zone=one; empty_gif; }');
}

# how often each of the two was asked
sub asked {
    return join ' ', map { $_->calls('evalsha') + $_->calls('eval') } $old, $new;
}

for (['one of three is behind', '0 3', qw(behind new new)],
     ['one of two is behind', '0 3', qw(behind new)],
     ['one of three is behind, and none tells its epoch', '0 3',
      qw(old untold untold)],
     ['one in all', '3 0', qw(behind)],
     ['one of three is there', '3 0', qw(down down behind)],
     ['the first is silent', '0 3', qw(silent new new)])
{
    my ($name, $where, @as) = @$_;
    my $nginx = start('timeout=20s connect_timeout=20s', @as);

    is(join(' ', $nginx->status('/t?k=k' . ++$n, 3)), '200 200 429',
       "$name: the first one is decided");
    is(asked(), $where, '... where it should be');
    is(scalar($nginx->errors(qr/slidewin redis/)), 0, '... without a word');
    $nginx->stop(name => $name);
}


# One is silent from the start: it is not waited for.

my $nginx = start('timeout=20s connect_timeout=2s', qw(silent behind));

is(join(' ', $nginx->status('/t?k=k' . ++$n, 3)), '200 200 429',
   'one of two is silent: the other is believed');
$nginx->stop(name => 'one of two is silent');


# One of three learns of another master: that is followed, and not left again.

$nginx = start('timeout=20s connect_timeout=20s', qw(behind behind behind));
is(join(' ', $nginx->status('/t?k=k' . ++$n, 3)), '200 200 429',
   'all three are of one mind');
is(asked(), '3 0', '... and name the old one');
$guards[2]->mode('switched');
$guards[2]->cut;
ok($nginx->logged(qr/"mymaster at 127\.0\.0\.1:@{[$old->port]}" is at 127\.0\.0\.1:@{[$new->port]} now/, $patience),
   'one learns of another: it is followed');
is(join(' ', $nginx->status('/t?k=k' . ++$n, 3)), '200 200 429', '... there');
$_->cut for @guards[0, 1];
SlidewinNginx::nap(0.5);
is(join(' ', $nginx->status('/t?k=k' . ++$n, 3)), '200 200 429',
   'the others are heard again');
is(asked(), '3 6', '... and not believed');
is(scalar(() = $nginx->errors(qr/ is at .* now/)), 1, '... it moved once');
$nginx->stop(name => 'one learns of another');


# A replica that is announced as master, and is none: nothing changes.

for (['a promotion that never comes', 'hopes'],
     ['news without sense', 'babbles'])
{
    my ($name, $mode) = @$_;

    $nginx = start('timeout=20s connect_timeout=20s', qw(behind), $mode);
    is(join(' ', $nginx->status('/t?k=k' . ++$n, 3)), '200 200 429', $name);
    SlidewinNginx::nap(0.5);
    is(join(' ', $nginx->status('/t?k=k' . ++$n, 3)), '200 200 429',
       '... changes nothing');
    is(asked(), '6 0', '... nor where it is asked');
    is(scalar($nginx->errors(qr/\[(?:error|warn)\] .*slidewin redis/)), 0,
       '... and is no reason to worry');
    is($replica->calls('evalsha') + $replica->calls('eval'), 0,
       '... a replica counts nothing');
    $nginx->stop(name => $name);
}

done_testing();
