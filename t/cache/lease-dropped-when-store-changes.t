# A reload moves a zone to another Redis, database or prefix: what is left of a
# lease from the old one is neither used nor refunded in the new one.

use strict;
use warnings;

use SlidewinNginx;
use SlidewinRedis;
use Test::More;

my @algorithms = qw(counter fixed strict log);
my $limit = 1000;
my $patience = SlidewinNginx::patience();
my %redis = map { $_ => SlidewinRedis->start } qw(one two);
my $fresh = 0;

sub conf {
    my ($url, $params) = @_;

    return (
        http => "slidewin_redis $url timeout=20s connect_timeout=20s $params;\n"
                . join('', map {
                    "slidewin_zone \$arg_k zone=$_:1m rate=${limit}r/40d
                                   algorithm=$_ lease=50%;\n"
                } @algorithms),
        server => 'add_header X-Source $slidewin_source always;'
                  . join '', map {
                      "location = /$_ { slidewin zone=$_; empty_gif; }
                       location = /peek_$_ { slidewin zone=$_ cost=0;
                                             empty_gif; }\n"
                  } @algorithms);
}

sub source { return $_[0]{header}{'x-source'} // '-' }

sub used {
    my ($edge, $algorithm, $k) = @_;
    my $answer = $edge->get("/peek_$algorithm?k=$k");

    return source($answer) eq 'redis'
        ? $limit - $answer->{header}{'x-remaining'} : -1;
}

sub becomes {
    my ($what, $want, $name) = @_;
    my $is;

    SlidewinNginx::until_true(sub { ($is = $what->()) == $want },
                              20 * $patience);

    return is($is, $want, $name);
}

# as many requests as it takes to hold a lease with units left
sub heat {
    my ($client, $algorithm, $k) = @_;

    for my $n (1 .. 500) {
        return $n if source($client->get("/$algorithm?k=$k")) eq 'lease'
                     && $n > 40;
    }

    return 0;
}

sub url { return $redis{$_[0]}->url . "/$_[1]" }

# what each algorithm has left
sub each_of {
    my ($what) = @_;

    return join ' ', map { $what->($_) } @algorithms;
}

my @first = (url('one', 0), 'prefix=a:');
my $nginx = SlidewinNginx->start(conf(@first));

# shows what is counted in the new store, and takes no leases
my $here = SlidewinNginx->start(conf(@first));

for my $case (['another Redis', url('two', 0), 'prefix=a:'],
              ['another database', url('one', 1), 'prefix=a:'],
              ['another prefix', url('one', 0), 'prefix=b:'])
{
    my ($name, @second) = @$case;
    my $there = SlidewinNginx->start(conf(@second));
    my $k = 'k' . ++$fresh;

    for my $edge ($nginx, $here, $there) {
        ok(SlidewinNginx::until_true(sub { used($edge, 'log', $k) == 0 },
                                     20 * $patience), "$name: Redis is asked");
    }

    # many units of the client are counted there
    my $client = $there->client;
    my %used = map { $_ => heat($client, $_, $k) } @algorithms;

    $client->close;
    becomes(sub { used($there, $_, $k) }, $used{$_},
            "... $_: $used{$_} in the other place") for @algorithms;

    $client = $nginx->client;
    my %before = map { $_ => heat($client, $_, $k) } @algorithms;

    is(each_of(sub { $before{$_[0]} > 0 ? 1 : 0 }), '1 1 1 1', '... leases');
    $client->close;
    $nginx->reload(conf(@second));
    is(each_of(sub { source($nginx->get("/$_[0]?k=$k")) }),
       'redis redis redis redis', '... which are not used in that place');
    SlidewinNginx::nap(1.5);
    is(each_of(sub { used($there, $_[0], $k) }),
       each_of(sub { $used{$_[0]} + 1 }), '... nor handed back');

    # takes leases there from now on
    $client = $nginx->client;
    my %more = map { $_ => heat($client, $_, $k) } @algorithms;

    is(each_of(sub { $more{$_[0]} > 0 ? 1 : 0 }), '1 1 1 1',
       '... leases of that place');
    becomes(sub { used($there, $_, $k) }, $used{$_} + 1 + $more{$_},
            "... $_: of which the rest comes back") for @algorithms;
    $client->close;
    $nginx->reload(conf(@first));
    $there->stop(name => $name);
}


# The same store: the leases stay in use.
{
    my $k = 'k' . ++$fresh;
    my $client = $nginx->client;

    ok(SlidewinNginx::until_true(sub { used($nginx, 'log', $k) == 0 },
                                 20 * $patience), 'the same: Redis is asked');

    my %used = map { $_ => heat($client, $_, $k) } @algorithms;

    $client->close;
    $nginx->reload(conf(@first));
    becomes(sub { used($here, $_, $k) }, $used{$_},
            "... $_: what is left comes back") for @algorithms;
}

$_->stop for $nginx, $here;

done_testing();
