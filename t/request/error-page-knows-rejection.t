# The page for a rejection, be it a file, a location or a named location, sees
# the variables of the rejection. They agree with the header fields.

use strict;
use warnings;

use File::Temp ();
use Test::More;

use SlidewinNginx;
use SlidewinRedis;

my $redis = SlidewinRedis->start;
my $dir = File::Temp::tempdir('slidewin.XXXXXX', TMPDIR => 1, CLEANUP => 1);

chmod 0755, $dir;

my $problem = '"zone":"$slidewin_zone","status":"$slidewin_status",'
              . '"source":"$slidewin_source","limit":"$slidewin_limit",'
              . '"remaining":"$slidewin_remaining",'
              . '"retry":"$slidewin_retry_after","reset":"$slidewin_reset"';

my $nginx = SlidewinNginx->start(http => <<"END", server => <<"END");
    slidewin_redis @{[$redis->url]} timeout=20s connect_timeout=20s;
    slidewin_zone \$arg_k zone=three:1m rate=3r/h algorithm=log store=local;
    slidewin_zone \$arg_k zone=five:1m rate=5r/d algorithm=log
                  on_error=closed deny_cache=off;
    slidewin_zone \$arg_k zone=page:1m rate=1r/h algorithm=log store=local;
    slidewin_headers legacy;
    log_format told '\$request_id {$problem}';

    # an application that sends back the values it was sent
    server {
        listen unix:$dir/application;
        return 200 '\$http_x_told';
    }
END
    access_log logs/told.log told;
    slidewin_retry_jitter 30s;
    recursive_error_pages on;

    location /page/ {
        error_page 429 /problem;
        location = /page/three { slidewin zone=three cost=2; empty_gif; }
        location = /page/five { slidewin zone=five cost=3; empty_gif; }
        location = /page/both {
            slidewin zone=three; slidewin zone=five cost=3; empty_gif;
        }
        location = /page/never { slidewin zone=three cost=4; empty_gif; }
        location = /page/420 {
            slidewin zone=three cost=2;
            slidewin_status 420;
            error_page 420 /problem;
            empty_gif;
        }
    }

    # the page has limits and a jitter of its own, which must not show
    location = /problem {
        internal;
        slidewin zone=page;
        slidewin_retry_jitter 0;
        default_type application/problem+json;
        add_header X-Id \$request_id always;
        add_header X-Problem '{$problem}' always;
        return 429 '{$problem}';
    }

    location = /named/three {
        slidewin zone=three cost=2;
        error_page 429 \@problem;
        empty_gif;
    }
    location \@problem {
        slidewin zone=page;
        default_type application/problem+json;
        add_header X-Id \$request_id always;
        add_header X-Problem '{$problem}' always;
        return 429 '{$problem}';
    }

    # by a handler in the content phase, after the limits were checked
    location = /handler/three {
        slidewin zone=three cost=2;
        error_page 429 /answer;
        empty_gif;
    }
    location = /answer {
        internal;
        slidewin zone=page;
        add_header X-Id \$request_id always;
        add_header X-Problem '{$problem}' always;
        empty_gif;
    }

    # by an application, which gets the values in header fields
    location = /upstream/three {
        slidewin zone=three cost=2;
        error_page 429 = \@upstream;
        empty_gif;
    }
    location \@upstream {
        proxy_set_header X-Told '{$problem}';
        proxy_pass http://unix:$dir/application:;
        add_header X-Id \$request_id always;
        add_header X-Problem '{$problem}' always;
    }

    # by the error page of an error page that is missing
    location = /through/three {
        slidewin zone=three cost=2;
        error_page 429 /through;
        empty_gif;
    }
    location = /through { internal; error_page 404 \@problem; root nowhere; }

    location = /peek { slidewin zone=page cost=0; empty_gif; }
END

my $client = $nginx->client;

sub parsed {
    my ($text) = @_;

    return { ($text // '') =~ /"(\w+)":"([^"]*)"/g };
}

# in the access log, which writes "-" for an empty value
sub logged {
    my ($id) = @_;
    my $line;

    SlidewinNginx::until_true(sub {
        open my $file, '<', $nginx->root . '/logs/told.log' or return 0;
        ($line) = grep { /^\Q$id\E / } <$file>;
        return defined $line;
    }, 10 * SlidewinNginx::patience());

    my $told = parsed($line);

    $_ = s/^-$//r for values %$told;

    return $told;
}

my @names = qw(zone status source limit remaining retry reset);

sub text {
    my ($told) = @_;

    return join ' ', map { "$_=" . ($told->{$_} // 'none') } @names;
}

# Rejects requests until so many different times were seen. All sources must
# give the same values for one rejection.
sub agrees {
    my ($uri, $status, $body, %wanted) = @_;
    my (%seen, $answer, @wrong);

    for (1 .. 12) {
        $answer = $client->get($uri);

        my $header = $answer->{header};
        my $page = parsed($header->{'x-problem'});
        my $retry = $header->{'retry-after'} // '';
        my @told = ($page, logged($header->{'x-id'} // 'none'));

        push @told, parsed($answer->{body}) if $body;

        push @wrong, "status $answer->{status}" if $answer->{status} != $status;

        for my $told (@told) {
            push @wrong, text($told) . ' is not ' . text($page)
                if text($told) ne text($page);
            push @wrong, "retry=$told->{retry} is not Retry-After: $retry"
                if ($told->{retry} // 'none') ne $retry;
        }

        for my $name (sort keys %wanted) {
            push @wrong, text($page)
                if ($page->{$name} // '') !~ /^(?:$wanted{$name})$/;
        }

        push @wrong, 'other figures in the fields'
            if join(' ', map { $header->{"x-ratelimit-$_"} // '-' }
                         qw(limit remaining))
               ne "$page->{limit} $page->{remaining}"
               || $retry
                  && ($header->{'x-ratelimit-reset'} // '') ne $retry;

        $seen{$retry}++;
    }

    my ($worst) = @wrong;

    is($worst // '', '', "$uri: the page is of the rejection");

    return ($answer, scalar keys %seen);
}

my $hour = qr/3[56]\d\d/;
my $day = qr/86[34]\d\d/;
my %three = (zone => 'three', status => 'REJECTED', source => 'local',
             limit => 3, remaining => 1, retry => $hour, reset => $hour);

for (['/page/three', 429, 1], ['/page/420', 420, 1], ['/named/three', 429, 1],
     ['/handler/three', 429, 0], ['/upstream/three', 200, 1],
     ['/through/three', 404, 1])
{
    my ($path, $status, $body) = @$_;
    my $uri = "$path?k=" . $path =~ tr{/}{-}r;

    is($client->get($uri)->{status}, 200, "$path: one passes");

    my ($answer, $seen) = agrees($uri, $status, $body, %three);

    cmp_ok($seen, '>', 1, '... with the jitter of the limit');
    is($answer->{header}{'content-type'},
       $status == 200 ? 'text/plain' : 'application/problem+json',
       '... as what it is') if $body;
    is($client->get('/peek?k=' . $path =~ tr{/}{-}r)->{header}{'x-remaining'},
       1, '... and is not counted itself');
}


# Redis, and the one limit of several that decides.

is($client->get('/page/five?k=five')->{status}, 200, 'five: one passes');
agrees('/page/five?k=five', 429, 1, zone => 'five', status => 'REJECTED',
       source => 'redis', limit => 5, remaining => 2, retry => $day,
       reset => $day);

is($client->get('/page/both?k=both')->{status}, 200, 'both: one passes');
agrees('/page/both?k=both', 429, 1, zone => 'five', source => 'redis',
       limit => 5, remaining => 2, retry => $day);

is($client->get('/page/three?k=both')->{status}, 200, 'both: another');
agrees('/page/three?k=both', 429, 1, zone => 'three', remaining => 0,
       retry => $hour);

# a cost above the limit has no time to wait, in any of the sources
my ($never) = agrees('/page/never?k=never', 429, 1, zone => 'three',
                     status => 'REJECTED', limit => 3, remaining => 3,
                     retry => '');

is($never->{header}{'retry-after'}, undef, 'never: no Retry-After');

$client->close;
$nginx->stop;

done_testing();
