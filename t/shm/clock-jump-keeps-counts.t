# A jump of the wall clock does not change the counts.

use strict;
use warnings;

use HTTP::Date qw(str2time);
use SlidewinNginx;
use SlidewinPreload;
use Test::More;

# 40 days where windows are aligned: they do not end during the suite
my %rate = (counter => '5r/40d', fixed => '5r/40d', strict => '5r/20m',
            log => '5r/20m');
my @algorithms = sort keys %rate;

my $clock = SlidewinPreload->clock;
my $env = $clock->env;

my $nginx = SlidewinNginx->start(
    workers => 2,
    env => $env,
    # nginx passes only these environment variables to its workers
    main => join('', map { "env $_;" } sort keys %$env),
    http => "slidewin_log_level info;\n" . join('', map {
                "slidewin_zone \$arg_k zone=$_:1m rate=$rate{$_} algorithm=$_;"
            } @algorithms),
    server => join '', map {
        "location = /$_ { slidewin zone=$_; empty_gif; }\n"
    } @algorithms,
);

# how far the clock of nginx is from true time
sub lead {
    return str2time($nginx->get('/free')->{header}{date}) - time;
}

my $client = $nginx->client;
my %until;

for my $algorithm (@algorithms) {
    is(SlidewinNginx::tally($client->statuses(("/$algorithm?k=full") x 5)),
       '200 x5', "$algorithm: a client takes its limit");
    is(SlidewinNginx::tally($client->statuses(("/$algorithm?k=half") x 2)),
       '200 x2', "$algorithm: another takes two of five");

    my $answer = $client->get("/$algorithm?k=full");
    is($answer->{status}, 429, "$algorithm: the first is refused");

    $until{$algorithm} = SlidewinNginx::now()
                         + $answer->{header}{'retry-after'};
}

for my $jump (3600, -3600, -1, 50 * 86400, 0) {
    $clock->set($jump);

    ok(SlidewinNginx::until_true(sub {
        abs(lead() - $jump) <= 2;
    }, 10 * SlidewinNginx::patience()), "the clock jumps to $jump");

    for my $algorithm (@algorithms) {
        my $answer = $client->get("/$algorithm?k=full");

        is($answer->{status}, 429, "$algorithm, $jump: still refused");
        cmp_ok(abs(SlidewinNginx::now() + $answer->{header}{'retry-after'}
                   - $until{$algorithm}), '<=', 3 * SlidewinNginx::patience(),
               '... until the same moment');

        is($client->get("/$algorithm?k=half")->{header}{'x-remaining'},
           { 3600 => 2, -3600 => 1, -1 => 0 }->{$jump} // 0,
           '... and the other has what it had');
    }
}

$client->close;
$nginx->stop;

done_testing();
