# The permissions that a user needs in a cluster, besides those for one Redis,
# also for ban= and charge=; and that nginx logs in at every node, with a
# password from a file.

use strict;
use warnings;

use File::Temp ();
use SlidewinCluster;
use SlidewinNginx;
use SlidewinStats;
use Test::More;

my $least = '~sw:* +time +evalsha +eval +get +getrange +strlen +set'
            . ' +setrange +append +pexpire +del +cluster|slots +asking';
my $patience = SlidewinNginx::patience();
my $cluster = SlidewinCluster->start(replicas => 0);

sub edge {
    my (@may) = @_;

    $_->command('ACL', 'SETUSER', 'edge', 'reset', 'on', '>s3cret', @may)
        for $cluster->nodes;

    return;
}

edge(split ' ', $least);

my ($from, $to) = $cluster->masters;
my ($first) = $cluster->clients_of($from, 1);
my $slot = $cluster->slot($first);
my @same = ($first);

for (my $i = 0; @same < 6; $i++) {
    push @same, "same-$i" if $cluster->slot("same-$i") == $slot;
}

my $file = File::Temp::tempdir(CLEANUP => 1) . '/password';

sub password {
    my ($password) = @_;

    open my $out, '>', $file or die "$file: $!";
    print $out "$password\n";
    close $out;

    return;
}

my $url = $cluster->url =~ s{//}{//edge\@}r;
my %conf = (
    http => "slidewin_redis $url password_file=$file timeout=5s
                            connect_timeout=5s;
             slidewin_zone \$arg_k zone=a:1m rate=100r/h algorithm=log
                           on_error=closed;
             slidewin_zone \$arg_k zone=bans:1m rate=2r/h ban=1h..1d
                           on_error=closed;",
    server => SlidewinStats::location()
            . 'add_header X-Source $slidewin_source always;
               location = /a { slidewin zone=a; empty_gif; }
               location = /forgiven { slidewin zone=a reset=200; empty_gif; }
               location = /peek { slidewin zone=a cost=0; empty_gif; }
               location = /charged { slidewin zone=a charge=$arg_c; empty_gif; }
               location = /bans { slidewin zone=bans; empty_gif; }',
);

password('s3cret');

my $nginx = SlidewinNginx->start(%conf);

sub told {
    my ($uri) = @_;
    my $answer = $nginx->get($uri);

    return "$answer->{status} " . ($answer->{header}{'x-source'} // '-');
}

is(join(' ', grep { $_ ne '200 redis' } map { told("/a?k=$_") } 1 .. 50), '',
   "enough on every node: $least");

# left CLIENT, UNITS: whether it comes about
sub left {
    my ($k, $units) = @_;

    return SlidewinNginx::until_true(sub {
        $nginx->get("/peek?k=$k")->{header}{'x-remaining'} eq $units
    }, 10 * $patience);
}

my @some = map { "some-$_" } 1 .. 20;

for my $k (@some) {
    told("/charged?k=$k&c=9");
    told("/bans?k=$k") for 1 .. 3;
}

is(join(' ', grep { !left($_, 91) } @some), '', '... for a charge');
is(join(' ', grep { $nginx->get("/bans?k=$_")->{header}{'x-status'} ne 'BANNED'
                    || SlidewinStats::look($nginx, 'bans', $_)->{banned} < 1 }
             @some), '', '... for a ban');
is(join(' ', grep { SlidewinStats::forget($nginx, 'bans', $_) != 204
                    || told("/bans?k=$_") ne '200 redis' } @some), '',
   '... and to lift it');

# a slot that is half moved

$cluster->move_begin($slot, $from, $to);

is(told("/a?k=$same[0]"), '200 redis', '... and to ask where a slot goes');
is(told("/forgiven?k=$same[0]"), '200 redis', '... and to forgive there');
ok(left($same[0], 100), '... which it does');
is(told("/charged?k=$same[3]&c=9"), '200 redis', '... to charge there');
ok(left($same[3], 91), '... which it does');

edge(grep { $_ ne '+asking' } split ' ', $least);
is(told("/a?k=$same[1]"), '503 fail_closed', 'not enough: without +asking');
edge(split ' ', $least);
is(told("/a?k=$same[2]"), '200 redis', '... and with it');
$cluster->move_end($slot, $from, $to);

# the slots are asked for at the start

edge(grep { $_ ne '+cluster|slots' } split ' ', $least);
$nginx->stop(name => 'enough');

$nginx = SlidewinNginx->start(%conf);
is(told('/a?k=1'), '503 fail_closed', 'not enough: without +cluster|slots');
ok($nginx->logged(qr/does not tell the slots of its cluster: "NOPERM /),
   '... and the log says so');
edge(split ' ', $least);
ok(SlidewinNginx::until_true(sub { told('/a?k=1') eq '200 redis' },
                             10 * $patience), '... until it is allowed');

# a wrong password

$_->command('ACL', 'SETUSER', 'edge', 'resetpass', '>other')
    for $cluster->nodes;
$nginx->reload;
is(told('/a?k=1'), '503 fail_closed', 'a wrong password');
ok($nginx->logged(qr/cannot be reached: WRONGPASS/), '... and the log says so');
is(scalar($nginx->errors(qr/s3cret/)), 0, '... without the password');

password('other');
$nginx->reload;
is(told('/a?k=1'), '200 redis', 'the file is read again by a reload');

$nginx->stop;

done_testing();
