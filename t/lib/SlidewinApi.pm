package SlidewinApi;

# A client of slidewin_api that sees every byte: any method, any request
# target, bodies, chunked answers, answers read slowly.

use strict;
use warnings;

use IO::Socket::INET ();
use IO::Socket::UNIX ();
use JSON::PP ();
use SlidewinNginx ();

# connect WHERE: a SlidewinNginx, a path, or a port of 127.0.0.1
sub connect {
    my ($class, $where) = @_;

    $where = $where->path if ref $where;

    my $socket = $where =~ /^\d+$/
        ? IO::Socket::INET->new(PeerAddr => "127.0.0.1:$where")
        : IO::Socket::UNIX->new(Peer => $where);

    die "cannot connect to $where: $!" if !$socket;

    return bless { socket => $socket, buffer => '' }, $class;
}

# ask WHERE, METHOD, TARGET, fields => {}, body => TEXT, version => '1.0': the
# answer on a connection of its own
sub ask {
    my ($where, @request) = @_;

    return SlidewinApi->connect($where)->ask_here(@request);
}

sub ask_here {
    my ($self, $method, $target, %with) = @_;

    $self->write(text($method, $target, %with));

    return $self->answer($method);
}

sub text {
    my ($method, $target, %with) = @_;
    my %fields = (Host => 'localhost', %{$with{fields} // {}});
    my $body = $with{body} // '';

    $fields{'Content-Length'} = length $body if length $body;

    return "$method $target HTTP/" . ($with{version} // '1.1') . "\r\n"
           . join('', map { "$_: $fields{$_}\r\n" } sort keys %fields)
           . "\r\n$body";
}

sub write {
    my ($self, $text) = @_;
    my $done = 0;

    local $SIG{PIPE} = 'IGNORE';

    while ($done < length $text) {
        my $n = syswrite $self->{socket}, $text, length($text) - $done, $done;
        return 0 if !$n;
        $done += $n;
    }

    return 1;
}

# answer METHOD: { status, header => {}, names => [], raw, body }; status 0 if
# the connection ended or nothing came. A field that came twice has both values,
# with a comma between them.
sub answer {
    my ($self, $method) = @_;
    my $none = { status => 0, header => {}, names => [], body => '' };

    while ($self->{buffer} !~ /\r\n\r\n/) {
        $self->_more or return $none;
    }

    $self->{buffer} =~ s{\AHTTP/1\.\d (\d+)[^\r]*\r\n(.*?)\r\n(?<=\r\n\r\n)}{}s
        or return $none;

    my ($status, $head) = ($1, $2);

    my (%header, @names);
    for (split /\r\n/, $head) {
        my ($name, $value) = /^([^:]+): *(.*)$/ or next;
        push @names, $name;
        $header{lc $name} = defined $header{lc $name}
                            ? "$header{lc $name}, $value" : $value;
    }

    my $answer = { status => $status, header => \%header, names => \@names,
                   body => '', raw => $head };

    return $answer if $method eq 'HEAD' || $status == 204 || $status < 200;

    $answer->{body} = defined $header{'content-length'}
        ? $self->_take($header{'content-length'})
        : ($header{'transfer-encoding'} // '') eq 'chunked'
            ? $self->_chunks : $self->_rest;

    return $answer;
}

sub _take {
    my ($self, $n) = @_;

    while (length $self->{buffer} < $n) {
        $self->_more or last;
    }

    return substr $self->{buffer}, 0, $n, '';
}

sub _chunks {
    my ($self) = @_;
    my $body = '';

    while (1) {
        while ($self->{buffer} !~ /\r\n/) {
            $self->_more or return $body . '(cut off)';
        }

        $self->{buffer} =~ s/\A([0-9a-f]+)\r\n//i
            or return $body . '(no chunk)';

        my $size = hex $1;
        $body .= substr $self->_take($size + 2), 0, $size;
        return $body if !$size;
    }
}

sub _rest {
    my ($self) = @_;

    1 while $self->_more;

    return delete $self->{buffer};
}

# slowly: read no more than so many bytes at a time, and pause between
sub slowly {
    my ($self, $bytes, $pause) = @_;

    @$self{qw(bytes pause)} = ($bytes, $pause);

    return $self;
}

sub _more {
    my ($self) = @_;
    my $bits = '';

    SlidewinNginx::nap($self->{pause}) if $self->{pause};

    vec($bits, fileno $self->{socket}, 1) = 1;
    select $bits, undef, undef, 30 * SlidewinNginx::patience() or return 0;

    return sysread $self->{socket}, $self->{buffer}, $self->{bytes} // 65536,
                   length $self->{buffer};
}

# at_end: whether the server closes, and has sent nothing more
sub at_end {
    my ($self) = @_;

    return 0 if length $self->{buffer};
    $self->_more;
    return !length $self->{buffer};
}

# what the JSON means; undef if it is none
sub decode {
    my ($text) = @_;

    return eval { JSON::PP->new->utf8->decode($text) };
}

# jq FILTER, TEXT: what the real jq prints
sub jq {
    my ($filter, $text) = @_;
    my $dir = $ENV{TMPDIR} // '/tmp';
    my $path = "$dir/slidewin-jq.$$";

    open my $file, '>:raw', $path or die "$path: $!";
    print $file $text;
    close $file;

    open my $jq, '-|:raw', 'jq', '-c', $filter, $path or die "jq: $!";
    local $/;
    my $out = <$jq>;
    close $jq;
    my $rc = $?;
    unlink $path;

    $out =~ s/\n\z//;

    return $rc == 0 ? $out : "jq says no: $out";
}

# encode BYTES: all of them percent-encoded
sub encode {
    my ($bytes) = @_;

    return join '', map { sprintf '%%%02X', ord } split //, $bytes;
}

1;
