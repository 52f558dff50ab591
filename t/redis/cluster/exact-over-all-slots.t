# Limits in a Redis Cluster are as exact as in one Redis, in whatever slot a
# client is, and with any number of workers.

use strict;
use warnings;

use SlidewinCluster;
use SlidewinNginx;
use SlidewinRedis;
use Test::More;

my $cluster = SlidewinCluster->start;
my @algorithms = qw(counter fixed strict log);

my $nginx = SlidewinNginx->start(
    workers => 2,
    http => "slidewin_redis @{[$cluster->url]} timeout=20s connect_timeout=20s;
             slidewin_zone \$arg_k zone=other:1m rate=3r/h algorithm=log
                           deny_cache=off on_error=closed;
             slidewin_zone \$arg_a zone=a:1m rate=5r/h algorithm=log
                           deny_cache=off on_error=closed;
             slidewin_zone \$arg_b zone=b:1m rate=3r/h algorithm=log
                           deny_cache=off on_error=closed;
             slidewin_zone \$arg_c zone=c:1m rate=9r/40d algorithm=fixed
                           deny_cache=off on_error=closed;"
            . join('', map { "slidewin_zone \$arg_k zone=$_:1m rate=7r/40d"
                             . " algorithm=$_ deny_cache=off"
                             . " on_error=closed;\n" } @algorithms),
    server => 'add_header X-Source $slidewin_source always;
               add_header X-Zone $slidewin_zone always;
               location = /both { slidewin zone=log; slidewin zone=other;
                                  slidewin zone=fixed; empty_gif; }
               location = /apart { slidewin zone=a; slidewin zone=b;
                                   slidewin zone=c; empty_gif; }
               location = /a { slidewin zone=a cost=0; empty_gif; }
               location = /b { slidewin zone=b cost=0; empty_gif; }
               location = /c { slidewin zone=c cost=0; empty_gif; }
               location = /forgiven { slidewin zone=b reset=200; empty_gif; }'
              . join('', map { "location = /$_ { slidewin zone=$_;"
                               . " empty_gif; }\n" } @algorithms),
);

sub tally { return SlidewinNginx::tally(map { $_->{status} } @_) }

sub sources {
    my %sources = map { ($_->{header}{'x-source'} // '-') => 1 } @_;

    return join ' ', sort keys %sources;
}

# waits until cost 0 shows this: refunds are on their way
sub becomes {
    my ($uri, $wanted, $name) = @_;
    my $left;

    SlidewinNginx::until_true(sub {
        $left = $nginx->get($uri)->{header}{'x-remaining'} // '-';
        return $left eq $wanted;
    }, 10 * SlidewinNginx::patience());

    return is($left, $wanted, $name);
}


# Clients in slots of all nodes, on both workers at once.

my @keys = map { "client-$_" } 1 .. 60;
my @clients = $nginx->clients(8);
my %node = map { $cluster->master_of($cluster->slot($_))->port => 1 } @keys;

is(scalar keys %node, 3, 'clients of all three masters');

for my $algorithm (@algorithms) {
    my @uris = map { "/$algorithm?k=$_" } @keys;
    my @answers = $nginx->burst(\@clients, [\@uris, [reverse @uris]]);

    # each of eight clients asks for all keys
    is(tally(@answers), '200 x420, 429 x60', "$algorithm: exact");
    is(sources(@answers), 'redis', '... by Redis');
}


# Several zones of one client are one call.

my $before = $cluster->calls('evalsha');
my @answers = map { $nginx->get('/both?k=one') } 1 .. 5;

is(tally(@answers), '200 x3, 429 x2', 'three policies: as many as all admit');
is($cluster->calls('evalsha') - $before, 5, '... in one call each');
is($cluster->calls('eval'), 0, '... and the script was there');


# Zones with different keys are in different slots: still all or none.

my ($one, $two, $three) = map { ($cluster->clients_of($_, 1))[0] }
                          $cluster->masters;

is(tally(map { $nginx->get("/apart?a=$one&b=$two&c=$three") } 1 .. 6),
   '200 x3, 429 x3', 'three slots: as many as all admit');
becomes("/a?a=$one", 2, '... the first was given back what the second refused');
becomes("/b?b=$two", 0, '... which is used up');
becomes("/c?c=$three", 6, '... and the third was not asked');

@answers = $nginx->burst(\@clients,
                         [[("/apart?a=x$one&b=x$two&c=x$three") x 5]]);
my $passed = grep { $_->{status} == 200 } @answers;

# a rejected request may get a time that was remembered from an earlier look
like(sources(@answers), qr/^(?:deny_cache )?redis$/, 'at once: by Redis');
cmp_ok($passed, '<=', 3, '... never too many');
becomes("/a?a=x$one", 5 - $passed, '... what passed is counted once');
becomes("/b?b=x$two", 3 - $passed, '... by each');
becomes("/c?c=x$three", 9 - $passed, '... of them');

is(tally(map { $nginx->get("/forgiven?b=f$_") } ($one, $two, $three) x 5),
   '200 x15', 'a status that forgives, on each node');


# One connection to each master, and no others.

sub connections {
    my ($node) = @_;

    # connections of other nodes have other flags, that of the suite is on the
    # unix socket
    return scalar(() = $node->command('CLIENT', 'LIST')
                       =~ / laddr=127\.0\.0\.1:.* flags=N /g);
}

ok(SlidewinNginx::until_true(sub {
    !grep { connections($_) != 2 } $cluster->masters
}, 10 * SlidewinNginx::patience()),
   'each worker has one connection to each master');
ok(SlidewinNginx::until_true(sub {
    !grep { connections($_) } $cluster->replicas
}, 10 * SlidewinNginx::patience()), '... and none to a replica');


# Reload and end.

my @old = $nginx->reload;

ok(!(grep { !SlidewinNginx::gone($_, 10 * SlidewinNginx::patience()) } @old),
   'reload: the old workers leave');
ok(SlidewinNginx::until_true(sub {
    sources(map { $nginx->get("/fixed?k=$_") } @keys) eq 'redis'
}, 10), '... and the new ones ask');
is(tally(map { $nginx->get("/log?k=$_") } @keys), '429 x60',
   '... and the counts are kept');
$_->close for @clients;
$nginx->stop(name => 'two workers');


# Other engines, and single process mode.

$cluster->stop;

for my $engine (SlidewinRedis::engines()) {
    $cluster = SlidewinCluster->start(binary => $engine, replicas => 0);
    $nginx = SlidewinNginx->start(
        master => 'off', daemon => 'off',
        http => "slidewin_redis @{[$cluster->url]} timeout=20s
                                connect_timeout=20s;
                 slidewin_zone \$arg_k zone=log:1m rate=2r/h algorithm=log
                               deny_cache=off on_error=closed;",
        server => 'add_header X-Source $slidewin_source always;
                   location = /log { slidewin zone=log; empty_gif; }',
    );

    my ($from, $to) = $cluster->masters;
    my $name = $from->version;
    my @moved = $cluster->clients_of($from, 5);

    @keys = (@moved, map { "stays-$_" } 1 .. 5);
    @answers = map { $nginx->get("/log?k=$_") } @keys;
    $cluster->move($cluster->slot($_), $from, $to) for @moved;
    push @answers, map { $nginx->get("/log?k=$_") } (@keys) x 2;
    is(tally(@answers), '200 x20, 429 x10',
       "$name, one process: exact, also in slots that move");
    is(sources(@answers), 'redis', '... by Redis');
    $nginx->stop(name => $name);
    $cluster->stop;
}

done_testing();
