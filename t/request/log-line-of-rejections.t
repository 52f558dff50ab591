# The line about a rejection is that of limit_req up to the client. After the
# client it tells the rate, the wait, and what else slidewin knows.

use strict;
use warnings;

use SlidewinNginx;
use Test::More;

my $patience = SlidewinNginx::patience();

my $nginx = SlidewinNginx->start(
    http => 'set_real_ip_from unix:;
             real_ip_header X-Real-IP;
             upstream gone { server unix:nothing-listens-here; }
             slidewin_zone $arg_k zone=log:1m rate=5r/1m algorithm=log;
             slidewin_zone $arg_k zone=counter:1m rate=10r/s;
             slidewin_zone $arg_k zone=plan:1m rate=$arg_rate algorithm=log;
             slidewin_zone $arg_k zone=part:1m rate=${arg_n}r/1h algorithm=log;
             slidewin_zone $arg_k zone=one:1m rate=1r/d algorithm=log;
             slidewin_zone $arg_k zone=more:1m rate=5r/d algorithm=log;',
    server => 'location = /log { slidewin zone=log cost=$arg_c; empty_gif; }
               location = /counter {
                   slidewin zone=counter cost=$arg_c;
                   empty_gif;
               }
               location = /plan { slidewin zone=plan; empty_gif; }
               location = /part { slidewin zone=part; empty_gif; }
               location = /one { slidewin zone=one; empty_gif; }
               location = /more { slidewin zone=more cost=$arg_c; empty_gif; }
               location = /again {
                   slidewin zone=more;
                   error_page 404 = /more?$args;
               }
               location = /named {
                   proxy_pass http://gone;
                   error_page 502 = @fallback;
               }
               location @fallback { slidewin zone=one; empty_gif; }');

my $client = $nginx->client;
my $seen = 0;

sub ask {
    my ($uri, $address) = @_;

    $address //= '192.0.2.1';
    $client->write("GET $uri HTTP/1.1\r\nHost: localhost\r\n"
                   . "X-Real-IP: $address\r\n\r\n");

    return $client->answer;
}

# what is new in the log, without the time and the process
sub said {
    my @lines = $nginx->errors(qr/ by zone "/);
    my @new = @lines[$seen .. $#lines];

    $seen = @lines;

    return join '', map { s/^.*?\[(\w+)\] \d+#\d+: \*\d+ /$1: /r } @new;
}

# the one line, with these details between client and server
sub is_line {
    my ($excess, $zone, $details, $name) = @_;

    like(said(), qr/^error:\ limiting\ requests,\ excess:\ \Q$excess\E\ by
                    \ zone\ "$zone",\ client:\ 192\.0\.2\.1,\ $details,
                    \ server:\ ,\ request:\ "GET\ \S+\ HTTP\/1\.1"
                    (?:,\ upstream:\ "[^"]+")?,\ host:\ "localhost"\n$/x,
         $name);
}


# The excess is by how much the request is above the limit.

for my $cost (1, 3, 5) {
    ask("/log?k=a$cost&c=5");
    is(ask("/log?k=a$cost&c=$cost")->{status}, 429, "cost $cost");
    is_line("$cost.000", 'log', qr{rate: 5r/1m, retry after: (?:60|59)s},
            '... is the excess if nothing is left');
}

ask('/log?k=b&c=2');
ask('/log?k=b&c=4');
is_line('1.000', 'log', qr{rate: 5r/1m, retry after: \d+s},
        'a part of the cost fits');

for ([6, 6, 1],
     ['9007199254740991', '9007199254740991', '9007199254740986'],
     ['9' x 30, '9007199254740992', '9007199254740987'])
{
    my ($cost, $told, $excess) = @$_;

    ask("/log?k=c$cost&c=$cost");
    is_line("$excess.000", 'log',
            qr{rate: 5r/1m, its cost $told is above the limit 5: it can never pass},
            "cost $cost");
}

# of the estimate a second after all was used, a part is left
my ($answer, $line);
my $n = 0;

ok(SlidewinNginx::until_true(sub {
    my $k = 'd' . ++$n;

    ask("/counter?k=$k&c=10");
    SlidewinNginx::nap(0.9);
    $answer = ask("/counter?k=$k&c=10");
    $line = said();
    return $answer->{status} == 429 && $answer->{header}{'x-estimate'} =~ /\./;
}, 60 * $patience), 'an estimate with a fraction');

my $excess = sprintf '%.3f', $answer->{header}{'x-estimate'};

like($line, qr/: limiting requests, excess: \Q$excess\E by zone "counter"/,
     '... is an excess with the same');

# the rest of the cost, after an internal redirect
ask('/more?k=e&c=3');
is(ask('/again?k=e&c=4')->{status}, 429, 'a limit that is met twice');
is_line('2.000', 'more', qr{rate: 5r/d, retry after: \d+s},
        '... is above it by what it has taken as well');


# A rate of a variable is that of the request, and not longer than rates are.

for (['/plan?rate=2r/h', '2r/h'], ['/plan?rate=00002r/90m', '00002r/90m'],
     ['/plan?rate=' . '0' x 99 . '2r/h', '0{32}'], ['/part?n=2', '2r/1h'])
{
    my ($uri, $told) = @$_;
    my ($zone) = $uri =~ /(\w+)/;

    ask("$uri&k=$uri") for 1 .. 3;
    is_line('1.000', $zone, qr{rate: $told, retry after: \d+s}, $uri);
}


# An upstream that failed before does not come between zone and client.

ask('/one?k=f');
is(ask('/named?k=f')->{status}, 429, 'rejected in a named location');
is_line('1.000', 'one', qr{rate: 1r/d, retry after: \d+s},
        '... by a line as others');
ask('/named?k=g');
ok(scalar $nginx->errors(qr/ while connecting to upstream, client: /),
   '... and nginx has its own for the upstream');


# If the key is no address, the last line names the client that was last.

ask('/one?k=h', "192.0.2.$_") for 1 .. 4;
like(said(), qr/^error: limiting requests, [^\n]*client: 192\.0\.2\.2, [^\n]*\n$/,
     'several clients of one key: one line');

my $last = '';

ok(SlidewinNginx::until_true(sub { $last = said() }, 10 * $patience),
   '... and one when they have stopped');
like($last, qr/^error:\ limiting\ requests,\ excess:\ 1\.000\ by\ zone\ "one",
               \ client:\ 192\.0\.2\.4,\ the\ last\ of\ 2\ left\ out\ in
               \ \d+ms\n$/x, '... of the last of them');

$nginx->stop(allow => qr/connect\(\) to unix:nothing-listens-here failed/);

done_testing();
