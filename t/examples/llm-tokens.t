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

# The prompt says what the server does: "tokens=N status=N stream=NAME
# trailer=N". A stream has its second part when there is a file of its name, or
# the server has waited for long.
my $app = SlidewinApp->start(sub {
    my %does = $_[0]{body} =~ /(\w+)=(\S+)/g;
    my @tokens = defined $does{tokens} ? ('X-Tokens' => $does{tokens}) : ();
    my $body = 'an answer';

    $body = sub {
        my ($part) = @_;

        $part->("data: an\n\n");
        SlidewinNginx::until_true(sub { -e "$dir/$does{stream}" },
                                  10 * SlidewinNginx::patience());
        $part->("data: answer\n\n");

        return defined $does{trailer} ? ('X-Tokens' => $does{trailer}) : ();
    } if defined $does{stream};

    return $does{status} // 200, $body, @tokens,
           defined $does{trailer} ? (Trailer => 'X-Tokens') : ();
});

sub go_on { open my $file, '>', "$dir/$_[0]" or die "$dir/$_[0]: $!"; return }

my $redis = SlidewinRedis->start;
my $trailers = `${\SlidewinNginx::binary()} -v 2>&1`
               =~ m{nginx/1\.(\d+)\.(\d+)} && $1 * 1000 + $2 >= 27002;
my $long = 'x' x 1500;
my $names = 0;

for my $store ('shared memory', 'Redis') {
    my $nginx = SlidewinExample->start('llm-tokens', app => $app->address,
        change => [
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
    is($left->(1, 'tokens=0'), '200 16500', '... and with a wrong one');

    # debt

    is($left->(2, 'tokens=30000'), '200 19500', 'a very long answer');

    my $reached = () = $app->seen;
    my $late = $ask->(2, 'tokens=1');

    is($late->{status}, 429, '... is counted, and then the client waits');
    like($late->{header}{ratelimit}, qr/r=0/, '... without tokens');
    cmp_ok($late->{header}{'retry-after'} // 0, '>', 19,
           '... until a third of them has left');
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

    # running at once: the estimates are taken

    my @clients = map { $nginx->client(7) } 1 .. 10;

    $_->write(SlidewinExample::request('/v1/chat', {}, 'POST', $long))
        for @clients;
    is(SlidewinNginx::tally(map { $_->answer->{status} } @clients),
       '200 x7, 429 x3', 'seven long prompts at once');

    $nginx->stop(allow => qr/\[error\]/);
}

$redis->stop;
$app->stop;

done_testing();
