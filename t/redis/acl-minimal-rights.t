# The permissions that a Redis user needs, as the README lists them: they are
# enough, and none of them can be left out.

use strict;
use warnings;

use SlidewinNginx;
use SlidewinRedis;
use SlidewinStats;
use Test::More;

my ($least) = SlidewinNginx::slurp(SlidewinRedis::root() . '/docs/redis.md')
              =~ /^ACL SETUSER edge on >password (.+)$/m
    or die "docs/redis.md does not say what a user needs
";

my %zones = map { $_ => "slidewin_zone \$arg_k zone=$_:1m rate=3r/40d"
                        . " algorithm=$_;\n" } qw(counter fixed strict log);

my $redis = SlidewinRedis->start;
my $url = 'redis://edge:s3cret@127.0.0.1:' . $redis->port;

my $nginx = SlidewinNginx->start(
    http => join('', values %zones)
            . "slidewin_redis $url timeout=2s connect_timeout=5s;
               slidewin_zone \$arg_k zone=long:1m rate=200r/h algorithm=log;
               slidewin_zone \$arg_k zone=brief:1m rate=200r/2s algorithm=log;"
            . 'slidewin_zone $arg_k zone=bans:1m rate=3r/40d ban=1h..1d;
               slidewin_zone $arg_k zone=dry:1m rate=3r/40d ban=1h;',
    server => 'add_header X-Source $slidewin_source always;'
              . join('', map { "location = /$_ { slidewin zone=$_;"
                               . " empty_gif; }\n" } keys %zones)
              . 'location = /long { slidewin zone=long; empty_gif; }
                 location = /brief { slidewin zone=brief; empty_gif; }
                 location = /long_back { slidewin zone=long count=404;
                                         empty_gif; }
                 location = /back { slidewin zone=fixed count=404; empty_gif; }
                 location = /forgiven { slidewin zone=fixed reset=200;
                                        empty_gif; }
                 location = /bans { slidewin zone=bans; empty_gif; }
                 location = /bans_look { slidewin zone=bans cost=0; empty_gif; }
                 location = /dry { slidewin zone=dry dry_run; empty_gif; }'
              . join('', map { "location = /charge_$_ { slidewin zone=$_"
                               . ' charge=$arg_c; empty_gif; }' } keys %zones)
              . SlidewinStats::location(),
);

my $fresh = 0;

sub edge {
    my (@may) = @_;

    $redis->command('ACL', 'SETUSER', 'edge', 'reset', 'on', '>s3cret', @may);

    return;
}

# of one client: a new one, unless the URI names it
sub sources {
    my ($uri, $n) = @_;

    $uri .= '?k=' . ++$fresh if $uri !~ /\?/;

    return join ' ', map { source($nginx->get($uri)) } 1 .. $n;
}

sub source {
    my ($answer) = @_;

    return "$answer->{status}-" . ($answer->{header}{'x-source'} // '');
}

# told URI, N: statuses of one client, and what decided
sub told {
    my ($uri, $n) = @_;

    return join ' ', map {
        my $answer = $nginx->get("$uri?k=$fresh");
        join '-', $answer->{header}{'x-status'}, $answer->{header}{'x-source'};
    } 1 .. $n;
}

sub works {
    my ($seconds) = @_;

    return SlidewinNginx::until_true(sub {
        sources('/fixed', 1) eq '200-redis';
    }, $seconds);
}

# What does not work with these permissions: the four algorithms, a long log, a
# script that Redis has forgotten, a request refunded because of its status, a
# status that clears the client, a ban and its end by an operator, a ban of a
# dry run, a charge to each algorithm. The caller says whether all must work,
# because it takes a while to see that something does not.
sub broken {
    my ($all, @may) = @_;
    my @broken;

    edge(@may);
    $redis->command('SCRIPT', 'FLUSH');
    $redis->command('CLIENT', 'KILL', 'USER', 'edge');

    # longer than any pause between two attempts
    return 'all' if !works($all ? 2.5 : 20);

    for my $algorithm (sort keys %zones) {
        push @broken, $algorithm
            if sources("/$algorithm", 4)
               ne '200-redis 200-redis 200-redis 429-redis';
    }

    # a failure here must not affect what follows
    works(5);

    # a log that is longer than what is read of it at first
    push @broken, 'long log'
        if sources('/long', 120) =~ /fallback/;
    works(5);

    # and one that goes on for longer than half a window
    $fresh++;
    sources("/brief?k=$fresh", 100);
    SlidewinNginx::nap(1.1);
    push @broken, 'brief log' if sources("/brief?k=$fresh", 1) =~ /fallback/;
    works(5);

    $redis->command('SCRIPT', 'FLUSH');
    push @broken, 'forgotten' if sources('/fixed', 1) ne '200-redis';

    $redis->command('CLIENT', 'KILL', 'USER', 'edge');
    works(5);

    # three of three
    $fresh++;
    $nginx->get("/back?k=$fresh") for 1 .. 3;
    push @broken, 'taken back'
        if sources("/fixed?k=$fresh", 1) ne '200-redis';

    # of a log, two of three
    $fresh++;
    $nginx->get("/$_?k=$fresh") for qw(long long_back long_back);
    push @broken, 'taken back of a log'
        if (($nginx->get("/long?k=$fresh")->{header}{'x-remaining'} // '')
            ne '198');

    # of a log that is too long to be written as a whole
    $fresh++;
    $nginx->get("/$_?k=$fresh") for ('long') x 90, qw(long_back long_back);
    push @broken, 'taken back of a long log'
        if (($nginx->get("/long?k=$fresh")->{header}{'x-remaining'} // '')
            ne '109');
    works(5);

    push @broken, 'forgiven'
        if sources('/forgiven?k=' . ++$fresh, 5)
           ne join ' ', ('200-redis') x 5;
    works(5);

    $fresh++;
    push @broken, 'ban'
        if told('/bans', 5) ne 'PASSED-redis PASSED-redis PASSED-redis'
                               . ' REJECTED-redis BANNED-deny_cache'
           || (SlidewinStats::look($nginx, 'bans', $fresh)->{banned} // 0) < 1;
    works(5);
    push @broken, 'lifted'
        if SlidewinStats::forget($nginx, 'bans', $fresh) != 204
           || told('/bans_look', 1) ne 'PASSED-redis';
    works(5);

    $fresh++;
    push @broken, 'dry run'
        if told('/dry', 5) ne join ' ', ('PASSED-redis') x 3,
                                        ('REJECTED_DRY_RUN-redis') x 2;
    works(5);

    # three of three, in one go
    for my $algorithm (sort keys %zones) {
        $fresh++;
        $nginx->get("/charge_$algorithm?k=$fresh&c=3");
        push @broken, "charge $algorithm"
            if sources("/$algorithm?k=$fresh", 1) ne '429-redis';
        works(5);
    }

    return join ' ', @broken;
}

is(broken(0, split ' ', $least), '', "enough: $least");
is(broken(0, split ' ', "$least +script|load"), '',
   'enough: the same and +script|load, which spares the first check a way');

for (['+time', 'all'], ['+evalsha', 'all'], ['+get', 'all'], ['+set', 'all'],
     ['+getrange', 'log long log brief log charge log'],
     ['+strlen', 'long log brief log taken back of a long log'],
     ['+append', 'log long log taken back of a log taken back of a long log'
                 . ' charge log'],
     ['+setrange', 'brief log taken back of a long log'],
     ['+pexpire', 'brief log'], ['+del', 'forgiven lifted'],
     ['+eval', 'all'], ['~sw:*', 'all'])
{
    my ($without, $broken) = @$_;

    is(broken($broken eq 'all', grep { $_ ne $without } split ' ', $least),
       $broken,
       "not enough: without $without");
}

# the script is loaded already: a missing permission shows only when it is not

is(broken(0, grep { $_ ne '+eval' } split(' ', $least), '+script|load'),
   'forgotten', 'not enough: +script|load instead of +eval');

# a database other than 0

my $database = 'location = /fixed { slidewin zone=fixed; empty_gif; }';

for (['+select', 'redis'], ['', 'fallback']) {
    my ($more, $source) = @$_;

    edge(split ' ', "$least $more");
    $nginx->reload(
        http => "slidewin_redis $url/1 timeout=2s connect_timeout=5s;"
                . $zones{fixed},
        server => 'add_header X-Source $slidewin_source always;' . $database);
    is(sources('/fixed', 4), join(' ', map { "$_-$source" } 200, 200, 200, 429),
       $more ? 'enough for a database: the same and +select'
             : 'not enough for a database: without +select');
}

$nginx->stop;

done_testing();
