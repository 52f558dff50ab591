# examples/llm-tokens.conf: a prompt takes its estimate when it comes, and costs
# what the server says, also when the answer is streamed. In shared memory and in
# Redis.

use strict;
use warnings;

use File::Temp ();
use SlidewinApp;
use SlidewinExample;
use SlidewinRedis;
use Test::More;

my $dir = File::Temp->newdir;

# The prompt says what the server does: "tokens=N status=N head=NAME stream=NAME
# trailer=N". A head, and the second part of a stream, are sent when there is a
# file of that name, or the server has waited for long.
my $app = SlidewinApp->start(sub {
    my %does = $_[0]{body} =~ /(\w+)=(\S+)/g;
    my @tokens = defined $does{tokens} ? ('X-Tokens' => $does{tokens}) : ();
    my $body = 'an answer';

    wait_for($does{head}) if defined $does{head};

    $body = sub {
        my ($part) = @_;

        $part->("data: an\n\n");
        wait_for($does{stream});
        $part->("data: answer\n\n");

        return defined $does{trailer} ? ('X-Tokens' => $does{trailer}) : ();
    } if defined $does{stream};

    return $does{status} // 200, $body, @tokens,
           defined $does{trailer} ? (Trailer => 'X-Tokens') : ();
});

sub wait_for {
    my ($name) = @_;

    SlidewinNginx::until_true(sub { -e "$dir/$name" },
                              10 * SlidewinNginx::patience());

    return;
}

sub go_on { open my $file, '>', "$dir/$_[0]" or die "$dir/$_[0]: $!"; return }

my $redis = SlidewinRedis->start;
my $trailers = `${\SlidewinNginx::binary()} -v 2>&1`
               =~ m{nginx/1\.(\d+)\.(\d+)} && $1 * 1000 + $2 >= 27002;
my $long = 'x' x 1500;
my $names = 0;
# no window ends while the suite runs
my $window = 40 * 86400;

# leaves NGINX, N, PROMPT: before the head of the answer is there
sub leaves {
    my ($nginx, $n, $prompt) = @_;
    my $name = 'head' . $names++;
    my $reached = () = $app->seen;
    my $client = $nginx->client($n);

    $client->write(SlidewinExample::request('/v1/chat', {}, 'POST',
                                            "$prompt head=$name"));
    ok(SlidewinNginx::until_true(sub { $reached < (() = $app->seen) },
                                 10 * SlidewinNginx::patience()),
       'a model runs');
    $client->close;
    # nginx notices that before it answers another
    is($nginx->ask($n, '/elsewhere')->{status}, 404, '... its client leaves');
    go_on($name);

    return;
}

for my $store ('shared memory', 'Redis') {
    my $nginx = SlidewinExample->start('llm-tokens', app => $app->address,
        change => [
            'rate=20000r/m' => 'rate=20000r/40d',
            $store eq 'Redis' ? (
                "upstream app {\n" => 'slidewin_redis ' . $redis->url
                                      . " timeout=10s;\nupstream app {\n",
            ) : (),
            $trailers ? (
                '# proxy_pass_trailers' => 'proxy_pass_trailers',
                '# proxy_set_header TE' => 'proxy_set_header TE',
                '# proxy_set_header Connection' =>
                    'proxy_set_header Connection',
            ) : (),
        ]);
    my $ask = sub {
        my ($n, $prompt) = @_;

        return $nginx->ask($n, '/v1/chat', {}, 'POST', $prompt);
    };
    # what was left while the answer was made
    my $left = sub {
        my $answer = $ask->(@_);
        my ($left) = ($answer->{header}{ratelimit} // '') =~ /r=(\d+)/;

        return "$answer->{status} " . ($left // 'missing');
    };

    is($left->(1, 'tokens=120'), '200 19500',
       "$store: a prompt takes its estimate");
    is($left->(1, 'tokens=1620'), '200 19380',
       '... and gets back what was too much');
    is($left->(1, "tokens=260 $long"), '200 15510',
       '... or takes what was missing; a long one takes more');
    is($left->(1, 'status=500 tokens=9999'), '500 17500',
       '... an error is for nothing');
    is($left->(1, 'nothing is said'), '200 17500', '... without a word');
    is($left->(1, 'tokens=few'), '200 17000', '... the estimate stands');
    is($left->(1, 'status=504'), '504 16500', '... and with a wrong one');
    is($left->(1, 'tokens=0'), '200 16000', '... and when it is too late');
    is($ask->(1, 'tokens=1')->{header}{'x-tokens'}, undef,
       'clients do not see what the server says');

    is($nginx->tallied(1, 100, '/v1/models'), '200 x100',
       'what is no prompt');
    is($left->(1, 'tokens=0'), '200 15999', '... costs nothing');

    # debt

    is($left->(2, 'tokens=1500000'), '200 19500', 'a very long answer');

    my $reached = () = $app->seen;
    my $late = $ask->(2, 'tokens=1');

    is($late->{status}, 429, '... is counted, and then the client waits');
    like($late->{header}{ratelimit}, qr/r=0/, '... without tokens');
    cmp_ok($late->{header}{'retry-after'} // 0, '>', 19,
           '... until the debt has left');
    cmp_ok($late->{header}{'retry-after'} // 0, '<', 2 * $window,
           '... in less than two windows');
    is(scalar(() = $app->seen), $reached, '... the model does not run');
    is($ask->(3, 'tokens=1')->{status}, 200, '... others are answered');

    # a stream: from the head, or from the trailer where nginx reads it

    my $streamed = sub {
        my ($n, $prompt, $leaves) = @_;
        my $name = 'stream' . $names++;
        my $client = $nginx->client($n);
        my ($text, $part) = ('');

        $client->write(SlidewinExample::request('/v1/chat', {}, 'POST',
                                                "stream=$name $prompt"));
        while ($text !~ /data: an\n/) {
            sysread $client->{socket}, $part, 65536 or last;
            $text .= $part;
        }
        my $early = $text =~ /data: an\n/ && $text !~ /answer/;

        if ($leaves) {
            $client->close;
            go_on($name);
        } else {
            go_on($name);
            $client->{buffer} = $text;
            $text = $client->answer->{body};
        }

        return ($early, $text);
    };

    my ($early, $text) = $streamed->(4, 'tokens=2000');

    ok($early, 'a stream begins before the answer has ended');
    is($text, "data: an\n\ndata: answer\n\n", '... and is whole');
    is($left->(4, 'tokens=0'), '200 17500', '... and is charged by its head');

    $streamed->(5, 'tokens=2000 trailer=700');
    is($left->(5, 'tokens=0'), $trailers ? '200 18800' : '200 17500',
       $trailers ? 'a trailer knows better'
                 : 'this nginx does not read a trailer, and takes the head');

    $streamed->(6, 'tokens=2000', 1);
    ok(SlidewinNginx::until_true(sub {
        return $left->(6, 'tokens=0') eq '200 17500';
    }, 10 * SlidewinNginx::patience()),
       'a client that leaves a stream is charged as well');

    leaves($nginx, 8, 'tokens=2000');
    ok(SlidewinNginx::until_true(sub {
        return $left->(8, 'tokens=0') eq '200 19000';
    }, 10 * SlidewinNginx::patience()), '... and is charged the estimate');

    # running at once: the estimates are taken

    my @clients = map { $nginx->client(7) } 1 .. 10;

    $_->write(SlidewinExample::request('/v1/chat', {}, 'POST', $long))
        for @clients;
    is(SlidewinNginx::tally(map { $_->answer->{status} } @clients),
       '200 x7, 429 x3', 'seven long prompts at once');

    # ... and their number

    my $name = 'head' . $names++;

    @clients = map { $nginx->client(9) } 1 .. 21;
    $_->write(SlidewinExample::request('/v1/chat', {}, 'POST', "head=$name"))
        for @clients;
    ok(SlidewinNginx::until_true(sub {
        return scalar grep { $_->answered } @clients;
    }, 10 * SlidewinNginx::patience()), 'twenty short ones, and no more');
    go_on($name);

    my @answers = map { $_->answer } @clients;
    my ($refused) = grep { $_->{status} == 429 } @answers;

    is(SlidewinNginx::tally(map { $_->{status} } @answers),
       '200 x20, 429 x1', '... are answered');
    is($refused->{header}{'retry-after'}, undef, '... no time is known');

    $nginx->stop(allow => qr/\[error\]/);
}

# as the header says, for those who would rather pay for the model

my $nginx = SlidewinExample->start('llm-tokens', app => $app->address,
    change => [
        'rate=20000r/m' => 'rate=20000r/40d',
        "proxy_buffering off;\n" =>
            "proxy_buffering off; proxy_ignore_client_abort on;\n",
    ]);

leaves($nginx, 1, 'tokens=2000');
ok(SlidewinNginx::until_true(sub {
    my $answer = $nginx->ask(1, '/v1/chat', {}, 'POST', 'tokens=0');

    return ($answer->{header}{ratelimit} // '') =~ /r=17500/;
}, 10 * SlidewinNginx::patience()), '... and is charged by the head');

$nginx->stop;
$redis->stop;
$app->stop;

done_testing();
