# With error_log at debug the way of a request through the module can be read:
# the lines of docs/troubleshooting.md come, in that order. Other ways have
# their own few lines, and no line ever shows a password.

use strict;
use warnings;
use utf8;

use SlidewinDocs;
use SlidewinNginx;
use SlidewinRedis;
use Test::More;

my $password = 'open-sesame-4711';
my $redis = SlidewinRedis->start;
$redis->command('ACL', 'SETUSER', 'edge', 'on', ">$password", '+@all', '~*');

my $nginx = SlidewinNginx->start(
    main => 'error_log logs/debug.log debug;',
    http => <<"END",
    slidewin_redis redis://edge:$password\@127.0.0.1:@{[$redis->port]}
                   timeout=20s connect_timeout=20s;
    slidewin_zone \$arg_k zone=login:1m rate=5r/40d algorithm=log;
    slidewin_zone \$arg_k zone=one:1m rate=1r/40d deny_cache=1m;
    slidewin_zone \$arg_k zone=here:1m rate=100r/40d store=local;
END
    server => <<'END',
    location = /login { slidewin zone=login count=401,403; empty_gif; }
    location = /one { slidewin zone=one; empty_gif; }
    location = /here { slidewin zone=here; empty_gif; }
END
);

sub debug_log { return SlidewinNginx::slurp($nginx->root . '/logs/debug.log') }

# The lines about requests; those of a connection to Redis come when they come.
my $connection = qr/connect|handshake|ready|clock|lost|pause|reconnect/;

sub lines {
    my ($text) = @_;

    return grep { !/^slidewin redis (?:$connection: |")/ }
           map { /(?:^|\s)(slidewin .*)/ ? $1 : () } split /\n/, $text;
}

# What differs from request to request.
sub plain {
    my ($line) = @_;

    $line =~ s/\bcall \d+/call N/;
    $line =~ s/\bto "[^"]*"/to "REDIS"/;
    $line =~ s/\bkey:"[^"]*"/key:"K"/;
    $line =~ s/after \d+us/after Nus/;
    $line =~ s/retry:[1-9]\d*ms/retry:Nms/;

    return $line;
}

# A request that is served, and decided.
sub serve {
    my ($uri) = @_;
    my $before = length debug_log();

    $nginx->get($uri);
    ok(SlidewinNginx::until_true(
           sub { substr(debug_log(), $before) =~ /slidewin outcome: PASSED/ },
           20 * SlidewinNginx::patience()), "$uri is served");

    return;
}

# follow(NAME, URI, LINE...): a request leaves these lines, and no others
sub follow {
    my ($name, $uri, @expected) = @_;
    my $before = length debug_log();
    my ($text, @lines);

    $nginx->get($uri);

    SlidewinNginx::until_true(sub {
        return lines(substr debug_log(), $before) >= @expected;
    }, 10 * SlidewinNginx::patience());

    # a line too many has come before those of a later request
    $nginx->get('/here?k=end');
    SlidewinNginx::until_true(sub {
        $text = substr debug_log(), $before;
        return $text =~ /\n[^\n]*claim: zone:here key:"end".*slidewin outcome: /s;
    }, 10 * SlidewinNginx::patience());
    $text =~ s/\n[^\n]*claim: zone:here key:"end".*//s;

    @lines = lines($text);
    is_deeply([map { plain($_) } @lines], [map { plain($_) } @expected], $name);

    return;
}

# connected, scripts loaded
$nginx->get('/login?k=warm');
ok(SlidewinNginx::until_true(sub { debug_log() =~ /give_back.*redis reply:/s },
                             20 * SlidewinNginx::patience()),
   'Redis has decided a first request');

my ($excerpt) = grep { $_->{text} =~ /slidewin claim:/ }
                SlidewinDocs::fences(
                    SlidewinDocs::page('docs/troubleshooting.md'), 'text');

follow('a good login leaves the lines of the page', '/login?k=a',
       lines($excerpt->{text}));

my @asked = (
    'slidewin decide: remote store, claims:1',
    'slidewin redis send: call 1, take, to "REDIS", requests:1',
    'slidewin suspend: until the store replies',
    'slidewin redis reply: call 1, rc:0 after 1us',
    'slidewin resume: rc:0',
);

serve('/one?k=b');
follow('a request that Redis rejects', '/one?k=b',
       'slidewin claim: zone:one key:"b" cost:1 limit:1',
       @asked,
       'slidewin verdict: zone:one rejected remaining:0 retry:1ms source:redis',
       'slidewin outcome: REJECTED zone:one');
follow('one that this machine remembers', '/one?k=b',
       'slidewin claim: zone:one key:"b" cost:1 limit:1',
       'slidewin verdict: zone:one rejected remaining:0 retry:1ms '
       . 'source:deny_cache',
       'slidewin outcome: REJECTED zone:one');
follow('one that shared memory admits', '/here?k=c',
       'slidewin claim: zone:here key:"c" cost:1 limit:100',
       'slidewin decide: local store, claims:1',
       'slidewin verdict: zone:here admitted remaining:99 retry:0ms '
       . 'source:local',
       'slidewin outcome: PASSED zone:here');

$redis->kill('KILL');
ok(SlidewinNginx::until_true(sub { debug_log() =~ /slidewin redis lost:/ },
                             10 * SlidewinNginx::patience()),
   'the connection is lost, and a line says so');
serve('/one?k=d');
follow('one that on_error decides', '/one?k=e',
       'slidewin claim: zone:one key:"e" cost:1 limit:1',
       'slidewin decide: remote store, claims:1',
       'slidewin on_error: zone:one fallback limit:1',
       'slidewin decide: local store, claims:1',
       'slidewin verdict: zone:one admitted remaining:0 retry:0ms '
       . 'source:fallback',
       'slidewin outcome: PASSED zone:one');

like(debug_log(), qr/slidewin redis handshake: \S+ AUTH/,
     'the log has the handshake');
unlike(debug_log(), qr/\Q$password\E/, '... without the password');

$nginx->stop;
done_testing();
