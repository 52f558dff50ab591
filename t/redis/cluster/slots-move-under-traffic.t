# Slots of a cluster move to another node under traffic: every request is
# answered and every unit counted once. And slots that stay half moved.

use strict;
use warnings;

use SlidewinCluster;
use SlidewinNginx;
use Test::More;

my $limit = 5000;
my $cluster = SlidewinCluster->start;
my $patience = SlidewinNginx::patience();

my $nginx = SlidewinNginx->start(
    workers => 2,
    http => "slidewin_redis @{[$cluster->url]} timeout=20s connect_timeout=20s;
             slidewin_redis @{[$cluster->url]} name=hasty timeout=3s
                            connect_timeout=20s prefix=h:;
             slidewin_zone \$arg_k zone=m:1m rate=${limit}r/h algorithm=log
                           on_error=closed;
             slidewin_zone \$arg_k zone=n:1m rate=${limit}r/h algorithm=strict
                           on_error=closed;
             slidewin_zone \$arg_b zone=b:1m rate=1r/h algorithm=log
                           on_error=closed;
             slidewin_zone \$arg_k zone=h:1m rate=${limit}r/h algorithm=log
                           store=hasty;
             slidewin_zone \$arg_k zone=i:1m rate=${limit}r/h algorithm=log
                           store=hasty;",
    server => 'add_header X-Source $slidewin_source always;
               location = /one { slidewin zone=m; empty_gif; }
               location = /two { slidewin zone=m; slidewin zone=n; empty_gif; }
               location = /m { slidewin zone=m cost=0; empty_gif; }
               location = /n { slidewin zone=n cost=0; empty_gif; }
               location = /apart { slidewin zone=m; slidewin zone=b;
                                   empty_gif; }
               location = /forgiven { slidewin zone=m reset=200; empty_gif; }
               location = /hasty { slidewin zone=h; slidewin zone=i;
                                   empty_gif; }
               location = /hasty_one { slidewin zone=h; empty_gif; }',
);

sub told {
    my ($answer) = @_;

    return "$answer->{status} " . ($answer->{header}{'x-source'} // '-');
}

sub left {
    my ($uri) = @_;

    return $nginx->get($uri)->{header}{'x-remaining'} // '-';
}

sub becomes {
    my ($uri, $wanted, $name) = @_;

    SlidewinNginx::until_true(sub { left($uri) eq $wanted }, 10 * $patience);

    return is(left($uri), $wanted, $name);
}

# how often a node has replied with an error so far
sub said {
    my ($node, $code) = @_;

    return $node->command('INFO', 'errorstats')
           =~ /^errorstat_$code:count=(\d+)/m ? $1 : 0;
}


# Traffic while the code runs: clients of both workers ask for all the keys in
# turn.

sub meanwhile {
    my ($name, $keys, $code) = @_;
    my $done = $nginx->root . "/done-$name" =~ tr/ /-/r;
    my @clients = $nginx->clients(4);

    my @results = $nginx->together(sub {
        my ($i) = @_;
        my (%answers, %counted);

        if ($i < 0) {
            my $error = eval { $code->(); 1 } ? '' : $@;
            open my $file, '>', $done;
            return $error;
        }

        for (my $n = $i; !-e $done && $n < 20000; $n++) {
            my $key = $keys->[$n % @$keys];
            my $uri = $n % 3 ? '/one' : '/two';
            my $answer = $clients[$i]->get("$uri?k=$key");

            $answers{told($answer)}++;
            next if $answer->{status} != 200;
            $counted{$key}[0]++;
            $counted{$key}[1]++ if $uri eq '/two';
        }

        return [\%answers, \%counted];
    }, -1, 0 .. $#clients);

    is(shift @results, '', "$name: done");

    my (%answers, @wrong);

    for (@results) {
        my ($told, $counted) = @$_;

        $answers{$_} += $told->{$_} for keys %$told;

        for my $key (keys %$counted) {
            $main::counted{$key}[$_] += $counted->{$key}[$_] // 0 for 0, 1;
        }
    }

    is(join(', ', keys %answers), '200 redis',
       '... every request was decided by Redis')
        or diag(join '', $nginx->errors(qr/slidewin redis/));
    cmp_ok($answers{'200 redis'} // 0, '>', 100, '... and there were many')
        and note("$answers{'200 redis'} requests");

    for my $key (@$keys) {
        my $count = $main::counted{$key} // next;

        push @wrong, "$key: " . left("/m?k=$key") . " and "
                     . left("/n?k=$key") . ", not @$count"
            if left("/m?k=$key") ne $limit - $count->[0]
               || left("/n?k=$key") ne $limit - $count->[1];
    }

    is(join('; ', @wrong), '', '... and counted once');

    return;
}

our %counted;

my ($source) = $cluster->masters;
my ($first) = sort { $a <=> $b } map { $_->[0] }
              grep { $_->[2][1] == $source->port }
              @{$source->command('CLUSTER', 'SLOTS')};

# clients whose slots will move, and others
my (@keys, $n);

while (@keys < 24) {
    my $key = 'key-' . ++$n;
    my $slot = $cluster->slot($key);
    push @keys, $key if $slot >= $first && $slot < $first + 1000;
}

push @keys, map { "other-$_" } 1 .. 24;

my $new = $cluster->add;

$cluster->cli('--cluster', 'add-node', SlidewinCluster::address($new),
              SlidewinCluster::address($source));
$cluster->wait_until_agreed;

sub reshard {
    my ($from, $to) = @_;

    return $cluster->cli('--cluster', 'reshard',
                         SlidewinCluster::address($source),
                         '--cluster-from', $cluster->id($from),
                         '--cluster-to', $cluster->id($to),
                         '--cluster-slots', 1000, '--cluster-yes');
}

my %fds = map { $_ => SlidewinNginx::fds($_) } $nginx->workers;

meanwhile('1000 slots to a new node', \@keys, sub { reshard($source, $new) });
cmp_ok(said($source, 'MOVED'), '>', 0, '... and some were told where they are');

meanwhile('1000 slots back', \@keys, sub { reshard($new, $source) });

# a worker that did not learn of it before the node was gone notices by a
# failure
for my $client ($nginx->clients(2)) {
    $client->get("/m?k=$_") for @keys;
    $client->close;
}

$cluster->cli('--cluster', 'del-node', SlidewinCluster::address($source),
              $cluster->id($new));
$new->kill;
meanwhile('the new node is removed', \@keys, sub { SlidewinNginx::nap(1) });
ok($nginx->logged(qr/slidewin redis "127\.0\.0\.1:@{[$new->port]}" has no slots any more/),
   '... and the log says so');
is(scalar(grep { !/:@{[$new->port]}"/ }
          $nginx->errors(qr/is lost|cannot be reached/)), 0,
   '... and no other node was lost');
ok(SlidewinNginx::until_true(sub {
    !grep { SlidewinNginx::fds($_) > $fds{$_} } $nginx->workers
}, 10 * $patience), '... nor is one left over');
cmp_ok($cluster->calls('cluster|slots'), '<', 300, 'few looks at the map')
    and note($cluster->calls('cluster|slots') . ' looks');


# A slot stays half moved for as long as it takes.

my ($from, $to) = $cluster->masters;
my ($client) = $cluster->clients_of($from, 1);
my $slot = $cluster->slot($client);

my @same;

for (my $i = 0; @same < 7; $i++) {
    push @same, "same-$i" if $cluster->slot("same-$i") == $slot;
}

is(told($nginx->get("/two?k=$client")), '200 redis', 'a client before it');

$cluster->move_begin($slot, $from, $to);

is(told($nginx->get("/two?k=$client")), '200 redis', 'half moved: it is there');

my $asked = $to->calls('asking');

is(told($nginx->get("/one?k=$same[0]")), '200 redis',
   'half moved: one that is not');
cmp_ok($to->calls('asking'), '>', $asked, '... is asked for at the other node');
is(left("/m?k=$same[0]"), $limit - 1, '... and is counted there');

$to->command('SCRIPT', 'FLUSH');
my $evals = $to->calls('eval');
is(told($nginx->get("/one?k=$same[1]")), '200 redis',
   'half moved: the script is not there');
is($to->calls('eval') - $evals, 1, '... and is brought along');
is(left("/m?k=$same[1]"), $limit - 1, '... and it is counted once');

$nginx->get('/apart?b=used');
is(told($nginx->get("/apart?k=$same[2]&b=used")), '429 redis',
   'half moved: another slot refuses');
becomes("/m?k=$same[2]", $limit, '... and what was taken is given back there');

is(told($nginx->get("/forgiven?k=$same[0]")), '200 redis',
   'half moved: a status forgives');
becomes("/m?k=$same[0]", $limit, '... and is heard there');

# Two keys that exist on neither node: neither of them can decide.

my $again = said($to, 'TRYAGAIN');
my $asks = $nginx->asks("/two?k=$same[3]");

ok(SlidewinNginx::until_true(sub { said($to, 'TRYAGAIN') > $again + 3 },
                             10 * $patience),
   'half moved, two keys: tried again and again');
ok(!$asks->answered, '... without an answer');
is(told($nginx->get("/hasty?k=$same[4]")), '200 fallback',
   '... until the time is over: on_error decides');
is(told($nginx->get("/hasty_one?k=$same[5]")), '200 redis',
   '... and only for that one');
is(scalar($nginx->errors(qr/is not asked for a while| failed:/)), 0,
   '... which is no fault of a node');

$cluster->move_keys($slot, $from, $to);
$cluster->move_end($slot, $from, $to);

is(told($asks->answer), '200 redis', 'moved: it is decided');
is(left("/m?k=$same[3]") . ' ' . left("/n?k=$same[3]"),
   $limit - 1 . ' ' . ($limit - 1), '... and counted once');
is(left("/m?k=$client") . ' ' . left("/n?k=$client"),
   $limit - 2 . ' ' . ($limit - 2), '... and nothing was lost');

# The new node of a slot is remembered, also before the next refresh.

my $moved = said($from, 'MOVED');

$nginx->get("/one?k=$client") for 1 .. 50;
cmp_ok(said($from, 'MOVED') - $moved, '<=', 4, 'a worker is told once');
is(left("/m?k=$client"), $limit - 52, '... and all are counted');

$asks->close;
$nginx->stop;

done_testing();
