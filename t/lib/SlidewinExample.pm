package SlidewinExample;

# A file of examples/ in a real nginx. It listens on a loopback address of this
# process, so that no other can have taken its port; clients come from
# 127.0.0.N.

use strict;
use warnings;

use IO::Socket::INET ();
use SlidewinNginx ();
use SlidewinProcess ();

our @ISA = ('SlidewinNginx');

sub directory { return ($ENV{SLIDEWIN_ROOT} // '.') . '/examples' }

sub names {
    return map { m{([^/]+)\.conf$} } sort glob directory() . '/*.conf';
}

# text NAME, FROM => TO, ...: the example with each text replaced; one that is
# not there, or twice, is an error.
sub text {
    my ($name, @changes) = @_;
    my $text = SlidewinNginx::slurp(directory() . "/$name.conf");

    while (my ($from, $to) = splice @changes, 0, 2) {
        my $times = () = $text =~ /\Q$from\E/g;

        $times == 1 or die "$name.conf has $times times, not once:\n$from\n";
        $text =~ s/\Q$from\E/$to/;
    }

    return $text;
}

# What every example needs to run here: the main directives are those of
# SlidewinNginx, and what nginx writes is kept in its directory.
sub common {
    my ($name) = @_;
    my $log = text($name) =~ /^ *access_log /m ? '' : "access_log off;\n";
    my $temp = join '', map { "${_}_temp_path $_;\n" }
               qw(client_body proxy fastcgi uwsgi scgi);

    return ("load_module modules/ngx_http_slidewin_module.so;\n" => '',
            "\nhttp {\n" => "\nhttp {\n$log$temp");
}

# start(NAME, app => ADDRESS, change => [FROM => TO, ...], listen => TEXT, ...):
# listen is the example's own directive, if not the usual one.
sub start {
    my ($class, $name, %options) = @_;
    my $address = SlidewinProcess::own_address();
    my $listen = delete $options{listen} // 'listen 80;';
    my $app = delete $options{app};
    my @changes = (common($name), @{delete $options{change} // []});

    (my $here = $listen) =~ s/\d+/$address/;
    push @changes, $listen => $here;
    push @changes, 'server 127.0.0.1:8080;' => "server $app;" if defined $app;

    my $self = $class->SUPER::start(rest => text($name, @changes), %options);
    $self->{address} = $address;

    return $self;
}

# where it listens
sub where { return $_[0]{address} }

# client N: a connection from 127.0.0.N
sub client {
    my ($self, $n) = @_;
    my $socket = IO::Socket::INET->new(PeerAddr => $self->where,
                                       LocalAddr => "127.0.0.$n")
        or die "connect: $@";

    return bless { socket => $socket, buffer => '', timeout => 60 },
                 'SlidewinNginx::Client';
}

# ask N, URI, FIELDS, METHOD, BODY: as the client 127.0.0.N
sub ask {
    my ($self, $n, @request) = @_;
    my $client = $self->client($n);

    $client->write(request(@request));

    return $client->answer;
}

# answers N, TIMES, URI, FIELDS, METHOD, BODY: a hundred on a connection, all
# on their way at once
sub answers {
    my ($self, $n, $times, @request) = @_;
    my $text = request(@request);
    my @answers;

    while ((my $batch = $times - @answers) > 0) {
        my $client = $self->client($n);

        $batch = 100 if $batch > 100;
        $client->write($text x $batch);
        push @answers, map { $client->answer } 1 .. $batch;
    }

    return @answers;
}

# tallied N, TIMES, ...: "200 x5, 429 x3"
sub tallied {
    my ($self, @questions) = @_;

    return SlidewinNginx::tally(map { $_->{status} }
                                $self->answers(@questions));
}

sub request {
    my ($uri, $fields, $method, $body) = @_;
    my %fields = (Host => 'localhost', %{$fields // {}});

    $fields{'Content-Length'} = length $body if defined $body;

    return join '', $method // 'GET', " $uri HTTP/1.1\r\n",
                map({ "$_: $fields{$_}\r\n" } sort keys %fields), "\r\n",
                $body // '';
}

1;
