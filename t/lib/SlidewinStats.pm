package SlidewinStats;

# What the operator's endpoint of an nginx tells: zones, stores and metrics, at
# /slidewin/ of its unix socket.

use strict;
use warnings;

use IO::Socket::UNIX ();
use JSON::PP ();
use SlidewinNginx ();

# the location that suites need
sub location { return "location /slidewin/ { slidewin_api write=on; }\n" }

# ask NGINX, URI, METHOD: { status, header, body, seconds }
sub ask {
    my ($nginx, $uri, $method) = @_;
    my $since = SlidewinNginx::now();
    my $socket = IO::Socket::UNIX->new(Peer => $nginx->path)
        or return { status => 0, header => '', body => '' };

    print $socket "@{[$method // 'GET']} /slidewin/$uri HTTP/1.0\r\n",
                  "Host: localhost\r\n\r\n";
    $socket->flush;

    my $text = do { local $/; readline $socket } // '';
    my ($status) = $text =~ m{\AHTTP/1\.\d (\d+)};
    my ($header, $body) = split /\r\n\r\n/, $text, 2;

    return { status => $status // 0, header => $header // '',
             body => $body // '',
             seconds => SlidewinNginx::now() - $since };
}

# json NGINX, URI: what the answer has, undef if it is none
sub json {
    my ($nginx, $uri) = @_;

    return eval { JSON::PP::decode_json(ask($nginx, $uri)->{body}) };
}

sub zone { return json($_[0], "zones/$_[1]") // {} }

sub store { return (json($_[0], 'stores') // {})->{$_[1] // 'default'} // {} }

sub key { return ask($_[0], "zones/$_[1]/keys/$_[2]") }

sub look {
    return eval { JSON::PP::decode_json(key(@_)->{body}) } // {};
}

sub forget { return ask($_[0], "zones/$_[1]/keys/$_[2]", 'DELETE')->{status} }

# counts HASH: "passed 3, rejected 1": what is not 0
sub counts {
    my ($counts) = @_;

    return join ', ', map { "$_ $counts->{$_}" }
                      grep { $counts->{$_} } sort keys %$counts;
}

sub outcomes { return counts(zone(@_)->{outcomes} // {}) }

sub sources { return counts(zone(@_)->{sources} // {}) }

sub errors { return counts(store(@_)->{errors} // {}) }

# metrics NGINX: { 'name{label="value"}' => number }
sub metrics {
    my ($nginx) = @_;

    return { map { /^([^#]\S*(?:\{.*\})?) (\S+)$/ ? ($1, $2) : () }
             split /\n/, ask($nginx, 'metrics')->{body} };
}

# decisions NGINX: "passed 3, rejected 1", over all zones
sub decisions {
    my $metrics = metrics(@_);

    return counts({ map {
        /^slidewin_decisions_total\{outcome="(\w+)"\}/
            ? ($1, $metrics->{$_}) : ()
    } keys %$metrics });
}

# evaluations NGINX, ZONE: "passed local 3", by outcome and source
sub evaluations {
    my ($nginx, $zone) = @_;
    my $metrics = metrics($nginx);

    return counts({ map {
        /^slidewin_evaluations_total\{zone="\Q$zone\E",outcome="(\w+)",
          source="(\w+)"\}/x
            ? ("$1 $2", $metrics->{$_}) : ()
    } keys %$metrics });
}

# becomes CODE, WANTED: what the code returns, when it is that or time is up
sub becomes {
    my ($code, $wanted, $seconds) = @_;
    my $is;

    SlidewinNginx::until_true(sub {
        $is = $code->() // '-';
        return $is eq $wanted;
    }, ($seconds // 10) * SlidewinNginx::patience());

    return $is;
}

1;
