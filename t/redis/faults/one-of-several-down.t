# Of several Redis one is down, frozen or refuses everything: the others are
# asked on the connections they had, and their requests do not wait.

use strict;
use warnings;

use SlidewinNginx;
use SlidewinRedis;
use Test::More;

my %redis = map { $_ => SlidewinRedis->start } qw(a b c);
my $nginx = SlidewinNginx->start(
    workers => 2,
    http => join('', map { "slidewin_redis @{[$redis{$_}->url]} name=$_"
                           . " timeout=5s connect_timeout=5s;\n"
                           . "slidewin_zone \$arg_k zone=$_:1m"
                           . " rate=1000000r/h store=$_ on_error=closed;\n" }
                 sort keys %redis),
    server => 'add_header X-Source $slidewin_source always;'
              . join '', map { "location = /$_ { slidewin zone=$_;"
                               . " empty_gif; }\n" } sort keys %redis);
my @clients = $nginx->clients(2);

# on both workers: whether all requests were decided by the Redis they asked
sub decided {
    my ($name, $times) = @_;

    for (1 .. $times // 1) {
        for my $client (@clients) {
            my $answer = $client->get("/$name?k=1");
            return 0 if "$answer->{status} $answer->{header}{'x-source'}"
                        ne '200 redis';
        }
    }

    return 1;
}

sub becomes {
    my ($name, $decided) = @_;

    return SlidewinNginx::until_true(sub { decided($name) == $decided },
                                     30 * SlidewinNginx::patience());
}

# the connections of a server, without that of the suite
sub peers {
    my ($name) = @_;

    return join ' ', sort $redis{$name}->command('CLIENT', 'LIST')
                          =~ /^id=(\d+) addr=127\.0\.0\.1:/mg;
}

ok(becomes($_, 1), "$_ is asked") for sort keys %redis;

my %peers = map { $_ => peers($_) } qw(b c);

for (['frozen', sub { $redis{a}->signal('STOP') },
      sub { $redis{a}->signal('CONT') }],
     ['killed', sub { $redis{a}->kill }, sub { $redis{a}->run }],
     ['full', sub { $redis{a}->command('CONFIG', 'SET', 'maxmemory', 1) },
      sub { $redis{a}->command('CONFIG', 'SET', 'maxmemory', 0) }])
{
    my ($name, $fails, $mends) = @$_;

    $fails->();

    # requests to it may have to wait for as long as its timeout
    my @waiting = map { $nginx->asks('/a?k=1') } 1 .. 10;
    my $since = SlidewinNginx::now();

    ok(decided('b', 50) && decided('c', 50), "one is $name: the others decide");
    cmp_ok(SlidewinNginx::now() - $since, '<', 60 * SlidewinNginx::patience(),
           '... and 200 that ask them do not wait');

    my %told;
    $told{$_->answer->{status}}++ for @waiting;
    is(join(' ', sort keys %told), '503', '... and on_error where it is asked');

    ok(becomes('a', 0), '... then of all');
    ok(decided('b', 50) && decided('c', 50), '... and the others go on');
    is(join(', ', map { peers($_) } qw(b c)), "$peers{b}, $peers{c}",
       '... over the connections they had');
    is(scalar($nginx->errors(qr/slidewin redis "127\.0\.0\.1:(?:@{[join '|', map { $_->port } @redis{qw(b c)}]})"/)),
       0, '... about which nothing is logged');

    $mends->();
    ok(becomes('a', 1), '... until it is well again');
}

$_->close for @clients;
$nginx->stop;

done_testing();
