# slidewin_log_level is the level of the line about a rejection. A line about a
# request that passes all the same is one level lower.

use strict;
use warnings;

use Test::More;

use SlidewinNginx;

my @levels = qw(error warn notice info debug);
my $retry = ', rate: 1r/h, retry after: \d+s';
my $rejected = 'limiting requests, excess: 1\.000 by zone "one"';
my $dry = 'dry run: would limit request, excess: 1\.000 by zone "one"';

my $zones = <<'END';
    error_log logs/debug.log debug;
    slidewin_zone "k$arg_k" zone=one:32k rate=1r/h algorithm=log;
    slidewin_zone "k$arg_k" zone=bad:32k rate=$arg_rate on_error=closed;
END

$zones .= "slidewin_zone \"k\$arg_k\" zone=open-$_:32k rate=\$arg_rate"
          . " on_error=open;\n" for @levels;

sub lines {
    my ($nginx) = @_;

    open my $file, '<', $nginx->root . '/logs/debug.log' or die "debug.log: $!";

    return grep { /zone "/ } <$file>;
}

sub new_lines {
    my ($nginx) = @_;
    my @lines = lines($nginx);
    my @new = @lines[($nginx->{seen} // 0) .. $#lines];

    $nginx->{seen} = @lines;

    return @new;
}

# above the limit by two units
sub twice {
    my ($text) = @_;

    return $text =~ s/excess: 1/excess: 2/r;
}

# of a client that has used up its limit and has not been logged yet
my $clients = 0;

sub one_line {
    my ($nginx, $uri, $level, $text, $details, $name) = @_;
    my $k = ++$clients;

    $nginx->get("/first?k=$k");
    $nginx->get("$uri?k=$k");
    my @lines = grep { !/ invalid rate / } new_lines($nginx);

    # a line at debug names neither the client nor the request
    my $line = $level eq 'debug'
               ? qr/$text$details$/m
               : qr/$text, client: unix:$details, server: , request: "GET /;

    is(scalar @lines, 1, "$name: one line");
    like($lines[0] // '', qr/\[$level\] \d+#\d+: \*\d+ $line/,
         "$name: at $level");
}

my $nginx = SlidewinNginx->start(http => $zones, server => <<"END");
    location /first { slidewin zone=one; empty_gif; }
    location /default { slidewin zone=one; empty_gif; }
    location /default/dry { slidewin zone=one dry_run; empty_gif; }
    location /default/cost { slidewin zone=one cost=2; empty_gif; }
    @{[map { <<"EACH" } @levels[0 .. 3]]}
        location /$_/ {
            slidewin_log_level $_;
            location /$_/enforced { slidewin zone=one; empty_gif; }
            location /$_/dry { slidewin zone=one dry_run; empty_gif; }
            location /$_/cost { slidewin zone=one cost=2; empty_gif; }
            location /$_/cost/dry {
                slidewin_dry_run on;
                slidewin zone=one cost=2;
                empty_gif;
            }
            location /$_/bad { slidewin zone=bad; empty_gif; }
            location /$_/bad/open { slidewin zone=open-$_; empty_gif; }
        }
EACH
END

is($nginx->get('/default')->{status}, 200, 'a request passes');
is(join('', new_lines($nginx)), '', 'a pass is not worth a line');

one_line($nginx, '/default', 'error', $rejected, $retry,
         'rejected, by default');
one_line($nginx, '/default/dry', 'warn', $dry, $retry, 'dry run, by default');

my $never = ', rate: 1r/h, its cost 2 is above the limit 1: it can never pass';

one_line($nginx, '/default/cost', 'error',
         twice($rejected), $never, 'cost, by default');

for my $i (0 .. 3) {
    my ($level, $lower) = @levels[$i, $i + 1];

    one_line($nginx, "/$level/enforced", $level, $rejected, $retry,
             "$level: rejected");
    one_line($nginx, "/$level/dry", $lower, $dry, $retry, "$level: dry run");
    one_line($nginx, "/$level/cost", $level, twice($rejected),
             $never, "$level: cost");
    one_line($nginx, "/$level/cost/dry", $lower, twice($dry),
             $never, "$level: cost, dry run");
    one_line($nginx, "/$level/bad", $level,
             'rejecting request uncounted by zone "bad"', '',
             "$level: no rate, closed");
    one_line($nginx, "/$level/bad/open", $lower,
             "passing request uncounted by zone \"open-$level\"", '',
             "$level: no rate, open");
}

$nginx->stop;


# Lines that the level of error_log hides.

for my $i (0 .. 3) {
    my $level = $levels[$i];
    my $nginx = SlidewinNginx->start(
        http => "$zones slidewin_log_level $level;",
        server => <<"END");
        error_log logs/debug.log $level;
        location /t { slidewin zone=one; empty_gif; }
        location /dry { slidewin zone=one dry_run; empty_gif; }
END
    $nginx->get('/t');
    $nginx->get('/t');
    $nginx->get('/dry');

    like(join('', lines($nginx)), qr/\A.*\[$level\].*$rejected.*\n\z/,
         "error_log at $level: the rejection is seen, the dry run is not");

    my $above = $i ? $levels[$i - 1] : 'crit';

    $nginx->reload(
        http => "$zones slidewin_log_level $level;",
        server => <<"END");
        error_log logs/above.log $above;
        location /t { slidewin zone=one; empty_gif; }
END
    is($nginx->get('/t')->{status}, 429, "$level: rejected after the reload");
    is(-s $nginx->root . '/logs/above.log', 0,
       "error_log at $above: a rejection at $level is not seen");

    $nginx->stop;
}


# off: no line for any outcome; inner levels may set another level.

$nginx = SlidewinNginx->start(
    http => "$zones
             slidewin_zone \$arg_k zone=line:32k rate=1r/100ms algorithm=log;
             slidewin_log_level off;",
    server => <<"END");
    location /first { slidewin zone=one; empty_gif; }
    location /off { slidewin zone=one; empty_gif; }
    location /off/dry { slidewin zone=one dry_run; empty_gif; }
    location /off/cost { slidewin zone=one cost=2; empty_gif; }
    location /off/bad { slidewin zone=bad; empty_gif; }
    location /off/open { slidewin zone=open-error; empty_gif; }
    location /off/line { slidewin zone=line delay=10s; empty_gif; }
    location /off/info {
        slidewin_log_level info key=on;
        slidewin zone=one;
        empty_gif;
    }
END

is(join(' ', map { $nginx->get($_)->{status} }
             qw(/off /off /off/dry /off/cost /off/bad /off/open),
             ('/off/line?k=a') x 3),
   '200 429 200 429 503 200 200 200 200', 'off: decided as ever');
is(join('', grep { !/ invalid rate / } new_lines($nginx)), '',
   'off: not a line about it');
one_line($nginx, '/off/info', 'info', $rejected, "$retry, key: \"k\\d+\"",
         'a level below off');
$nginx->stop;


# The level of the location that decided applies, or the one it inherits.

$nginx = SlidewinNginx->start(
    http => "$zones slidewin zone=one; slidewin_log_level info;",
    server => <<"END");
    slidewin_log_level notice;
    location /first { empty_gif; }
    location /server { empty_gif; }
    location /location {
        slidewin_log_level warn;
        empty_gif;
        location /location/below { empty_gif; }
    }
END

$nginx->get('/server');
new_lines($nginx);
one_line($nginx, '/server', 'notice', $rejected, $retry,
         'inherited from the server');
one_line($nginx, '/location', 'warn', $rejected, $retry, 'of the location');
one_line($nginx, '/location/below', 'warn', $rejected, $retry,
         'inherited from the location');
$nginx->stop;

done_testing();
