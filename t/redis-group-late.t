# Those that go together behind one that takes long: they are late, but the
# connection is not silent, and others on it are decided.

use strict;
use warnings;

use File::Temp ();
use SlidewinFake;
use SlidewinNginx;
use SlidewinRedis;
use Test::More;

my $patience = SlidewinNginx::patience();
my $dir = File::Temp::tempdir('slidewin.XXXXXX', TMPDIR => 1, CLEANUP => 1);
my $redis = SlidewinRedis->start;

# in seconds, of each answer
sub slow {
    my ($seconds) = @_;

    open my $file, '>', "$dir/new" or die "slow: $!";
    print $file $seconds;
    close $file;
    rename "$dir/new", "$dir/slow" or die "slow: $!";

    return;
}

slow(0);

my $fake = SlidewinFake->start(relay => $redis->path, delay => sub {
    return SlidewinNginx::_slurp("$dir/slow");
});

my $nginx = SlidewinNginx->start(
    http => "slidewin_redis @{[$fake->url]} timeout=3s connect_timeout=20s;
             slidewin_zone \$arg_k zone=one:1m rate=1000r/h algorithm=log
                           on_error=closed;",
    server => 'add_header X-Source $slidewin_source always;
               location = /t { slidewin zone=one; empty_gif; }');

sub told {
    my ($client) = @_;
    my $answer = $client->answer;

    return "$answer->{status} " . ($answer->{header}{'x-source'} // '-');
}

sub decided {
    my ($key) = @_;

    return ($nginx->get("/t?k=$key")->{header}{'x-source'} // '') eq 'redis';
}

ok(SlidewinNginx::until_true(sub { decided('warm') }, 20 * $patience),
   'Redis is asked');

# Slow, but in time. The second is asked for when the first is answered, and is
# late then; a third of another client is not.

slow(2);

my ($first, $second, $third) = map { $nginx->client } 1 .. 3;

$first->request('/t?k=hot');
SlidewinNginx::nap(0.3);
$second->request('/t?k=hot');
is(told($first), '200 redis', 'one that takes long');
$third->request('/t?k=cold');
is(told($second), '503 fail_closed', '... and one behind it that is late');
is(told($third), '200 redis', '... which is no reason to refuse another');
is(scalar($nginx->errors(qr/is lost/)), 0, '... nor to leave the connection');

# Six of one client are late, though the connection is heard of, and Redis is
# given up. The one that tries it out goes by itself, not behind the first of
# those, whose answer is still to come.

my ($heard, $probe, @crowd) = map { $nginx->client } 1 .. 8;

$heard->request('/t?k=heard');
SlidewinNginx::nap(0.3);
slow(5);
$_->request('/t?k=crowd') for @crowd;
is(told($heard), '200 redis', 'one before them');
slow(0);
is(SlidewinNginx::tally(map { $_->answer->{status} } @crowd), '503 x6',
   'six of one client are late');
ok($nginx->logged(qr/is not asked for a while/), '... and Redis is given up');
SlidewinNginx::nap(0.2);
$probe->request('/t?k=crowd');
is(told($probe), '200 redis', '... until the next of them tries it out');
is(scalar($nginx->errors(qr/is lost/)), 0, '... on the same connection');

$_->close for $first, $second, $third, $heard, $probe, @crowd;
$nginx->stop;

done_testing();
