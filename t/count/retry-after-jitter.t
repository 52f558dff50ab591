# slidewin_retry_jitter: many rejected clients get different Retry-After values,
# none earlier than exact, none later than the jitter allows.

use strict;
use warnings;

use POSIX ();
use Test::More;

use SlidewinNginx;
use SlidewinRedis;

my $hour = 3600;
my $redis = SlidewinRedis->start;

my $nginx = SlidewinNginx->start(
    workers => 2, http => <<"END", server => <<'END');
    slidewin_redis @{[$redis->url]} timeout=20s connect_timeout=20s;
    slidewin_zone \$arg_k zone=local:1m rate=1r/h algorithm=log store=local;
    slidewin_zone \$arg_k zone=redis:1m rate=1r/h algorithm=log
                  on_error=closed;
    slidewin_zone \$arg_k zone=day:1m rate=1r/d algorithm=log store=local;
    slidewin_zone \$arg_k zone=bad:1m rate=\$arg_rate on_error=closed;
    slidewin_headers ietf legacy;
    log_format told '\$request_id \$slidewin_retry_after \$slidewin_reset';
END
    add_header X-Variable "$slidewin_retry_after" always;
    add_header X-Id $request_id always;
    access_log logs/told.log told;

    location = /exact { slidewin zone=local; empty_gif; }
    location = /zero { slidewin zone=local; slidewin_retry_jitter 0;
                       empty_gif; }

    location /jitter/ {
        slidewin_retry_jitter 10s;
        location = /jitter/local { slidewin zone=local; empty_gif; }
        location = /jitter/redis { slidewin zone=redis; empty_gif; }
        location = /jitter/several {
            slidewin zone=local; slidewin zone=day; empty_gif;
        }
        location = /jitter/503 {
            slidewin zone=local; slidewin_status 503; empty_gif;
        }
        location = /jitter/never { slidewin zone=local cost=2; empty_gif; }
        location = /jitter/bad { slidewin zone=bad; empty_gif; }
        location = /jitter/dry { slidewin zone=local dry_run; empty_gif; }
    }

    location = /half { slidewin zone=local; slidewin_retry_jitter 500ms;
                       empty_gif; }
    location = /week { slidewin zone=local; slidewin_retry_jitter 7d;
                       empty_gif; }
    location = /day { slidewin zone=day; slidewin_retry_jitter 10s;
                      empty_gif; }
END

my $client = $nginx->client;

sub asked {
    my ($own, $uri) = @_;
    my $from = SlidewinNginx::now();
    my $answer = $own->get($uri);

    return { %$answer, from => $from, to => SlidewinNginx::now() };
}

sub whole { return POSIX::ceil($_[0]) }

# Whether t= of the RateLimit field of a rejection is exact. The moments at
# which the blocking unit was taken and the request was rejected are known to
# within an answer; the module counts whole milliseconds.
sub exact {
    my ($taken, $answer, $window, $zone) = @_;
    my ($t) = ($answer->{header}{ratelimit} // '') =~ /"$zone";r=0;t=(\d+)/;

    return 0 if !defined $t;

    # an edge knows the time of Redis to some ms more
    my $off = $zone eq 'redis' ? 0.1 : 0.002;

    return $t >= whole($window - ($answer->{to} - $taken->{from}) - $off)
           && $t <= whole($window - ($answer->{from} - $taken->{to}) + $off);
}

# By how much the Retry-After of so many rejections is later than t=, and what
# was wrong.
sub extras {
    my ($own, $uri, $n, $window, $zone) = @_;
    my ($taken, @extras, @wrong);

    $window //= $hour;
    $zone //= 'local';
    $taken = asked($own, $uri);

    push @wrong, "the first is $taken->{status}" if $taken->{status} != 200;
    push @wrong, 'Retry-After on a pass' if $taken->{header}{'retry-after'};

    for (1 .. $n) {
        my $answer = asked($own, $uri);
        my $retry = $answer->{header}{'retry-after'} // '';
        my ($t) = ($answer->{header}{ratelimit} // '')
                  =~ /"$zone";r=0;t=(\d+)/;

        push @wrong, "t=" . ($t // 'none') . ' is not the truth'
            if !exact($taken, $answer, $window, $zone);
        push @wrong, "Retry-After: '$retry'" if $retry !~ /^[1-9]\d*$/;
        push @wrong, 'the variable says something else'
            if ($answer->{header}{'x-variable'} // '') ne $retry;
        push @wrong, 'the reset says something else'
            if ($answer->{header}{'x-ratelimit-reset'} // '') ne $retry;

        push @extras, ($retry || 0) - ($t // 0);
    }

    my ($worst) = @wrong;

    is(@wrong, 0, "$uri: " . ($worst // 'what else it says is the truth'));

    return sort { $a <=> $b } @extras;
}

my $many = 200;

# spread NAME, MOST, EXTRAS: none too early, none too late, and not all equal
sub spread {
    my ($name, $most, @extras) = @_;
    my %seen = map { $_ => 1 } @extras;

    cmp_ok($extras[0], '>=', 0, "$name: none is told to come too early");
    cmp_ok($extras[-1], '<=', $most, "$name: nor later than the jitter allows");
    cmp_ok($extras[0], '<', $most / 3, "$name: some soon");
    cmp_ok($extras[-1], '>', $most * 2 / 3, "$name: some late");
    cmp_ok(scalar keys %seen, '>=', 6, "$name: at different times");

    return;
}


# With and without it.

is(join(' ', extras($client, '/exact?k=exact', $many)), "0 " x ($many - 1) . 0,
   'without it all are told the truth');
is(join(' ', extras($client, '/zero?k=zero', $many)), "0 " x ($many - 1) . 0,
   '0 is without it');

spread('shared memory', 10, extras($client, '/jitter/local?k=local', $many));
spread('Redis', 10, extras($client, '/jitter/redis?k=redis', $many, $hour,
                           'redis'));
spread('another window', 10, extras($client, '/day?k=day', $many, 86400,
                                    'day'));
spread('another status', 10, extras($client, '/jitter/503?k=503', $many));
spread('a week', 7 * 86400, extras($client, '/week?k=week', $many));

my @half = extras($client, '/half?k=half', $many);

cmp_ok($half[0], '>=', 0, '500ms: none is told to come too early');
cmp_ok($half[-1], '<=', 1, '500ms: nor more than a second later');


# Where the jitter applies.

my $inherit = SlidewinNginx->start(http => <<'END', server => <<'END');
    slidewin_zone $arg_k zone=local:1m rate=1r/h algorithm=log;
    slidewin_headers ietf legacy;
    slidewin_retry_jitter 10s;
END
    add_header X-Variable "$slidewin_retry_after" always;
    slidewin zone=local;
    location = /http { empty_gif; }
    location = /none { slidewin_retry_jitter 0; empty_gif; }
    location /outer/ {
        slidewin_retry_jitter 40s;
        location = /outer/inner { empty_gif; }
        location = /outer/none { slidewin_retry_jitter 0; empty_gif; }
        empty_gif;
    }
END

my $inherits = $inherit->client;

spread('of http', 10, extras($inherits, '/http?k=a', $many));
spread('of the location', 40, extras($inherits, '/outer/x?k=b', $many));
spread('of the location around', 40, extras($inherits, '/outer/inner?k=c',
                                            $many));
is((extras($inherits, '/none?k=d', $many))[-1], 0, '0 undoes that of http');
is((extras($inherits, '/outer/none?k=e', $many))[-1], 0,
   '0 undoes that of the location around');

$inherit->reload(server => <<'END');
    add_header X-Variable "$slidewin_retry_after" always;
    slidewin zone=local;
    slidewin_retry_jitter 40s;
    location = /server { empty_gif; }
END

$inherits->close;
$inherits = $inherit->client;
spread('of the server', 40, extras($inherits, '/server?k=f', $many));

$inherits->close;
$inherit->stop;


# All of one response agree: the field, the variable and both logs.

sub told {
    my (%told, $lines);

    open my $file, '<', $nginx->root . '/logs/told.log' or return;
    while (<$file>) {
        my ($id, @values) = split;
        $told{$id} = [@values];
    }

    return \%told;
}

# a new client each: the log throttle would leave out a second line
my @answers = map {
    $client->get("/jitter/local?k=log$_");
    $client->get("/jitter/local?k=log$_");
} 1 .. 50;
my @fields = map { $_->{header}{'retry-after'} } @answers;
my %distinct = map { $_ => 1 } @fields;
my $line = qr/limiting requests, .* zone "local", .* after: (\d+)s, .*k=log/;

cmp_ok(scalar keys %distinct, '>', 3, 'rejections of many kinds');
ok(SlidewinNginx::until_true(sub {
    my @lines = $nginx->errors($line);
    return @lines == @answers;
}, 10 * SlidewinNginx::patience()), 'each has a line in the error log');
is(join(' ', map { /$line/ } $nginx->errors($line)), "@fields",
   '... which says what the client was told');

my $told;

ok(SlidewinNginx::until_true(sub {
    $told = told();
    return !grep { !$told->{$_->{header}{'x-id'}} } @answers;
}, 10 * SlidewinNginx::patience()), 'each has a line in the access log');
is(join(' ', map { $told->{$_->{header}{'x-id'}}[0] } @answers), "@fields",
   '... which says the same');
is(join(' ', map { $told->{$_->{header}{'x-id'}}[1] } @answers),
   join(' ', map { $_->{header}{ratelimit} =~ /t=(\d+)/ } @answers),
   '... and the reset as it is');


# Many clients at once, on both workers.

my @crowd = $nginx->clients(60);

$_->get("/jitter/local?k=crowd$_") for @crowd;

my @together = $nginx->burst(\@crowd, [map { ["/jitter/local?k=crowd$_"] }
                                       @crowd]);
my %back;

for my $answer (@together) {
    my ($t) = ($answer->{header}{ratelimit} // '') =~ /t=(\d+)/;
    $back{$answer->{header}{'x-pid'}}{$answer->{header}{'retry-after'} - $t}++;
}

is(SlidewinNginx::tally(map { $_->{status} } @together), '429 x60',
   'a crowd is refused');
is(scalar keys %back, 2, '... by both workers');
cmp_ok(scalar keys %$_, '>=', 4, '... and does not come back at once')
    for values %back;


# Of several limits the longest Retry-After is sent, with its jitter.

my $day = asked($client, '/jitter/several?k=several');
my @several = map {
    my $answer = asked($client, '/jitter/several?k=several');
    my ($t) = ($answer->{header}{ratelimit} // '') =~ /"day";r=0;t=(\d+)/;

    exact($day, $answer, 86400, 'day')
        && exact($day, $answer, $hour, 'local')
        ? $answer->{header}{'retry-after'} - $t : -1;
} 1 .. $many;

spread('several policies', 10, sort { $a <=> $b } @several);


# A response without Retry-After gets none by the jitter.

for my $uri ('/jitter/never?k=never', '/jitter/bad?k=bad&rate=x',
             '/jitter/dry?k=local')
{
    my @with = grep { defined $_->{header}{'retry-after'} }
               map { $client->get($uri) } 1 .. 20;

    is(scalar @with, 0, "$uri: no Retry-After");
}

my $never = $client->get('/jitter/never?k=never');

is($never->{status}, 429, 'what can never pass is rejected');
is($never->{header}{'x-variable'} // '', '', '... the variable says no time');

$_->close for $client, @crowd;
$nginx->stop;

done_testing();
