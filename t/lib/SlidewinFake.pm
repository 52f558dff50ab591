package SlidewinFake;

# A Redis that misbehaves on demand. It answers the commands of a handshake
# (AUTH, SELECT, SCRIPT LOAD, TIME) and checks (EVALSHA) as a real one does, the
# latter by a model of lua/take.lua, unless the code of a mode does it. mode()
# sets the mode for all clients; a client whose key is the name of a mode always
# has that mode. Clients "name.1", "name.2" have the mode "name", and checks()
# counts them as one.

use strict;
use warnings;

use Digest::SHA ();
use IO::Socket::INET ();
use IO::Socket::UNIX ();
use POSIX ();
use SlidewinNginx ();
use SlidewinProcess ();
use SlidewinRedis ();
use Socket ();
use Time::HiRes ();

our @ISA = ('SlidewinProcess');

# start(modes => { NAME => MODE }, mode => NAME, address => IP, port => N, ...):
# a MODE is the code for checks, or { check, command, accept => CODE }. The code
# gets a SlidewinFake::Connection and the command as an array. That of
# "command", for all other commands, returns whether it has dealt with this one.
# An accept of 0 leaves connections in the backlog. The modes "well", "silent"
# and "hold" are there already.
#
# relay => PATH, delay => CODE: no fake, but the way to a real Redis; each reply
# is held up for as many seconds as the code returns.
sub start {
    my ($class, %options) = @_;

    my $listener = IO::Socket::INET->new(
        LocalAddr => $options{address} // '127.0.0.1',
        LocalPort => $options{port} // SlidewinRedis::free_port(),
        Listen => $options{backlog} // 128, ReuseAddr => 1)
        or die "listen: $!";

    my $self = bless { port => $listener->sockport }, $class;

    # read here: the server itself waits for nothing
    SlidewinRedis::script('give_back');

    return $self->launch(sub {
        SlidewinFake::Server->new($listener, $_[0], %options)->run;
    });
}

sub port { return $_[0]{port} }

sub url { return "redis://127.0.0.1:$_[0]{port}" }

# mode NAME: in force when this returns, for all that arrives later
sub mode {
    my ($self, $name) = @_;

    $self->order(mode => $name);

    return;
}

# release(first => N, bytes => BYTES): replies to the commands that the
# connections hold, the first N or all, with the bytes if given
sub release {
    my ($self, %options) = @_;

    $self->order(release => \%options);

    return;
}

# closes all connections
sub cut { $_[0]->order('cut'); return }

# { accepts, open, commands => { NAME => N }, checks => { CLIENT => N }, length,
# after }: length is that of the last true reply, after has the seconds from
# each cut to the next connection
sub stats { return $_[0]->order('stats') }

sub accepts { return $_[0]->stats->{accepts} }

# how many checks came so far, of one client or of all
sub checks {
    my ($self, $client) = @_;
    my $checks = $self->stats->{checks};
    my $sum = 0;

    return $checks->{$client} // 0 if defined $client;

    $sum += $_ for values %$checks;

    return $sum;
}

sub bulk { return '$' . length($_[0]) . "\r\n$_[0]\r\n" }

# reply NUMBER...: the bytes of a reply of the scripts
sub reply { return bulk(SlidewinRedis::packed(@_)) }


package SlidewinFake::Server;

use strict;
use warnings;

sub new {
    my ($class, $listener, $control, %options) = @_;

    return bless {
        listener => $listener, control => $control, mode => 'well',
        %options,
        modes => { well => sub { $_[0]->honest($_[1]) },
                   silent => sub { $_[0]->mute },
                   hold => sub { $_[0]->hold($_[1]) },
                   %{$options{modes} // {}} },
        connections => [],
        model => {},
        stats => { accepts => 0, open => 0, commands => {}, checks => {} },
    }, $class;
}

sub run {
    my ($self) = @_;

    $self->{listener}->blocking(0);

    while (1) {
        my ($read, $write, $wait) = ('', '', undef);
        my $now = SlidewinNginx::now();

        vec($read, fileno $self->{control}, 1) = 1;
        vec($read, fileno $self->{listener}, 1) = 1 if $self->_accepts;

        for my $c (@{$self->{connections}}) {
            vec($read, fileno $c->{socket}, 1) = 1;
            vec($read, fileno $c->{origin}, 1) = 1 if $c->{origin};

            my $next = $c->{queue}[0] // next;
            my $left = $next->{due} - $now;

            if ($left <= 0) {
                vec($write, fileno $c->{socket}, 1) = 1;
            } elsif (!defined $wait || $left < $wait) {
                $wait = $left;
            }
        }

        select $read, $write, undef, $wait;

        $self->_command or return
            if vec $read, fileno $self->{control}, 1;
        $self->_accept
            if vec $read, fileno $self->{listener}, 1;

        for my $c (@{$self->{connections}}) {
            $c->receive if $c->{socket} && vec $read, fileno $c->{socket}, 1;
            $c->relay if $c->{socket} && $c->{origin}
                         && vec $read, fileno $c->{origin}, 1;
            $c->flush if $c->{socket};
        }

        @{$self->{connections}} = grep { $_->{socket} } @{$self->{connections}};
        $self->{stats}{open} = @{$self->{connections}};
    }
}

sub _hook {
    my ($self, $name, $mode) = @_;

    $mode //= $self->{mode};
    $mode = $self->{modes}{$mode} // die "no such mode: $mode\n";
    $mode = { check => $mode } if ref $mode eq 'CODE';

    return $mode->{$name};
}

sub _accepts { return $_[0]->_hook('accept') // 1 }

sub _command {
    my ($self) = @_;
    my $order = SlidewinProcess::next_order($self->{control}) // return;
    my ($verb, $value) = @$order;
    my $answer = 1;

    if ($verb eq 'mode') {
        $self->{mode} = $value;

    } elsif ($verb eq 'stats') {
        $answer = $self->{stats};

    } elsif ($verb eq 'cut') {
        # before the answer: what is asked from then on finds them ended
        for my $c (@{$self->{connections}}) {
            $c->fin;
            $c->flush;
        }

        $self->{cut} = SlidewinNginx::now();

    } else {
        for my $c (@{$self->{connections}}) {
            my $held = $c->{held};

            for my $command (splice @$held, 0, $value->{first} // @$held) {
                defined $value->{bytes} ? $c->send($value->{bytes})
                                        : $c->honest($command);
            }
        }
    }

    SlidewinProcess::answer($self->{control}, $answer);

    return 1;
}

sub _accept {
    my ($self) = @_;
    my $socket = $self->{listener}->accept or return;
    my $c = bless { server => $self, socket => $socket, buffer => '',
                    queue => [], held => [], checks => 0 },
                  'SlidewinFake::Connection';

    $socket->setsockopt(Socket::IPPROTO_TCP(), Socket::TCP_NODELAY(), 1);
    $socket->blocking(0);
    $self->{stats}{accepts}++;
    push @{$self->{stats}{after}}, SlidewinNginx::now() - delete $self->{cut}
        if $self->{cut};
    push @{$self->{connections}}, $c;

    if ($self->{relay}) {
        $c->{origin} = IO::Socket::UNIX->new(Peer => $self->{relay})
            or return $c->fin;
        return;
    }

    my $hook = $self->_hook('accept');
    $hook->($c) if ref $hook;

    return;
}


package SlidewinFake::Connection;

use strict;
use warnings;

# the number of the latest check on this connection, from 1
sub nth { return $_[0]{checks} }

# Sending: all of it goes out in order, each after what was queued before it.
sub send { return $_[0]->_queue(bytes => $_[1]) }

sub trickle {
    my ($self, $bytes, $gap) = @_;

    for my $byte (split //, $bytes) {
        $self->send($byte);
        $self->pause($gap);
    }

    return;
}

# repeat TEXT, N: N times, without N times the memory
sub repeat { return $_[0]->_queue(bytes => $_[1], times => $_[2]) }

sub pause {
    my ($self, $seconds) = @_;
    my $now = SlidewinNginx::now();
    my $last = $self->{last} // 0;

    $self->{last} = ($last > $now ? $last : $now) + $seconds;

    return;
}

sub fin { return $_[0]->_queue(fin => 1) }

sub rst { return $_[0]->_queue(rst => 1) }

# ignores all that comes, and stays open
sub mute { $_[0]{mute} = 1; return }

# hold COMMAND: replies neither to this command nor to later ones before
# release(): a Redis replies in order
sub hold { push @{$_[0]{held}}, $_[1]; return }

sub _queue {
    my ($self, %item) = @_;

    push @{$self->{queue}}, { due => $self->{last} // 0, times => 1, %item };

    return;
}

sub flush {
    my ($self) = @_;
    my $now = SlidewinNginx::now();

    while (my $item = $self->{queue}[0]) {
        return if $item->{due} > $now;

        if (defined $item->{bytes}) {
            my $bytes = $item->{rest} // _some($item);
            my $n = syswrite $self->{socket}, $bytes;

            if (!defined $n) {
                $item->{rest} = $bytes;
                return if $!{EAGAIN};
                return $self->_close;
            }

            delete $item->{rest};

            if ($n < length $bytes) {
                $item->{rest} = substr $bytes, $n;
                return;
            }

            next if $item->{times} > 0;

        } else {
            $self->{socket}->setsockopt(Socket::SOL_SOCKET(),
                                        Socket::SO_LINGER(), pack 'ii', 1, 0)
                if $item->{rst};
            return $self->_close;
        }

        shift @{$self->{queue}};
    }

    return;
}

sub _some {
    my ($item) = @_;
    my $n = 1 + int 65536 / (1 + length $item->{bytes});

    $n = $item->{times} if $item->{times} < $n;
    $item->{times} -= $n;

    return $item->{bytes} x $n;
}

sub _close {
    my ($self) = @_;

    close delete $self->{socket};
    close delete $self->{origin} if $self->{origin};

    return;
}

sub relay {
    my ($self) = @_;

    sysread $self->{origin}, my $bytes, 65536 or return $self->_close;
    my $due = SlidewinNginx::now() + $self->{server}{delay}->();

    $self->{last} = $due if $due > ($self->{last} // 0);
    $self->send($bytes);

    return;
}

sub receive {
    my ($self) = @_;

    my $n = sysread $self->{socket}, $self->{buffer}, 65536,
                    length $self->{buffer};

    return if !defined $n && $!{EAGAIN};
    return $self->_close if !$n;

    if ($self->{origin}) {
        # a unix socket takes all of it
        syswrite $self->{origin}, $self->{buffer};
        $self->{buffer} = '';
        return;
    }

    while (my $command = $self->_next) {
        $self->_obey($command);
    }

    return;
}

sub _next {
    my ($self) = @_;
    my @command;

    $self->{buffer} =~ /\A\*(\d+)\r\n/ or return;
    my ($count, $at) = ($1, $+[0]);

    for (1 .. $count) {
        pos($self->{buffer}) = $at;
        $self->{buffer} =~ /\G\$(\d+)\r\n/g or return;
        my ($length, $start) = ($1, pos $self->{buffer});
        $at = $start + $length + 2;
        return if length $self->{buffer} < $at;
        push @command, substr $self->{buffer}, $start, $length;
    }

    substr $self->{buffer}, 0, $at, '';

    return \@command;
}

sub _obey {
    my ($self, $command) = @_;
    my $server = $self->{server};
    my $verb = uc $command->[0];

    $server->{stats}{commands}{$verb}++;

    return if $self->{mute};
    return $self->hold($command) if @{$self->{held}} && $verb !~ /^EVAL/;

    if ($verb =~ /^EVAL/) {
        my ($client) = $command->[3] =~ /\{([^.]*).*\}/s;
        my $mode = exists $server->{modes}{$client} ? $client : undef;

        return $self->give_back($command)
            if $server->{refunds}{$command->[1]}
               || $command->[1] eq SlidewinRedis::script('give_back');

        $self->{checks}++;
        $server->{stats}{checks}{$client}++;

        my $code = $server->_hook('check', $mode)
                   // $server->{modes}{well};
        return $code->($self, $command);
    }

    my $hook = $server->_hook('command');
    return if $hook && $hook->($self, $command);

    $self->_reply($command);

    return;
}

# honest COMMAND: sends the true reply
sub honest {
    my ($self, $command) = @_;

    return $self->_reply($command) if $command->[0] !~ /^EVAL/i;

    return $self->send($self->answer($command));
}

sub _reply {
    my ($self, $command) = @_;
    my $verb = uc $command->[0];

    if ($verb eq 'TIME') {
        my ($s, $us) = Time::HiRes::gettimeofday();
        $self->send("*2\r\n" . SlidewinFake::bulk($s)
                    . SlidewinFake::bulk($us));

    } elsif ($verb eq 'SCRIPT') {
        my $sha = Digest::SHA::sha1_hex($command->[2]);

        $self->{server}{refunds}{$sha} = 1
            if $command->[2] eq SlidewinRedis::script('give_back');
        $self->send(SlidewinFake::bulk($sha));

    } else {
        $self->send($verb eq 'PING' ? "+PONG\r\n" : "+OK\r\n");
    }

    return;
}

# answer COMMAND: the bytes of the true reply to a check
sub answer {
    my ($self, $command) = @_;
    my $bytes = SlidewinFake::reply($self->take($command));

    $self->{server}{stats}{length} = length $bytes;

    return $bytes;
}

# forget COMMAND: all that is counted for the clients of the command
sub forget {
    my ($self, $command) = @_;
    my (undef, undef, $n, @rest) = @$command;

    delete @{$self->{server}{model}}{@rest[0 .. $n - 1]};

    return;
}

# _numbers ARGUMENT, OFFSET, N
sub _numbers {
    my ($argument, $offset, $n) = @_;

    return SlidewinRedis::numbers(substr $argument, $offset, 7 * $n);
}

# give_back COMMAND: takes back units that take() has counted at that time
sub give_back {
    my ($self, $command) = @_;
    my (undef, undef, $n, @keys) = @$command;
    my $argument = pop @keys;
    my ($number, $now) = _numbers($argument, 0, 2);

    for my $i (0 .. $#keys) {
        my $key = $keys[$i];
        my (undef, undef, undef, $cost, $stamp)
            = _numbers($argument, 14 + 36 * $i + 1, 5);
        my $state = $self->{server}{model}{$key} // next;
        my ($i) = grep { $state->[$_][0] == $stamp } 0 .. $#$state;

        $self->{server}{stats}{refunds}++;
        next if !defined $i;
        $state->[$i][1] -= $cost;
        splice @$state, $i, 1 if $state->[$i][1] <= 0;
    }

    return $self->send(SlidewinFake::reply($number, $now));
}

# take COMMAND: the numbers of a true reply. It knows the algorithms log and
# fixed, counter within one window, and bans that do not double.
sub take {
    my ($self, $command) = @_;
    my (undef, undef, $n, @keys) = @$command;
    my ($argument, $rules) = splice @keys, $n;
    my @bans = defined $rules ? splice @keys, $n / 2 : ();
    my ($number, $now, $times) = _numbers($argument, 0, 3);
    $now ||= int 1000 * Time::HiRes::time();
    my $model = $self->{server}{model};
    my ($all, @policies) = ($times);

    for my $i (0 .. $#keys) {
        my $kind = substr $argument, 21 + 43 * $i, 1;
        my ($limit, $window, undef, $cost, undef, $prefetch)
            = _numbers($argument, 21 + 43 * $i + 1, 6);
        my $state = $model->{$keys[$i]} //= [];

        # an edge that has learnt the time better may be behind itself
        my $then = @$state && $state->[-1][0] > $now ? $state->[-1][0] : $now;

        @$state = grep { $_->[0] > $then - $window } @$state if $kind eq 'l';

        my $total = 0;
        $total += $_->[1] for @$state;
        my $room = $limit > $total ? $limit - $total : 0;
        my $admitted = $cost ? POSIX::floor($room / $cost) : $times;

        $admitted = $times if $admitted > $times;
        $all = $admitted if $admitted < $all;
        push @policies, { kind => $kind, limit => $limit, cost => $cost,
                          window => $window, state => $state, then => $then,
                          total => $total, admitted => $admitted,
                          room => $room, prefetch => $prefetch };
    }

    @bans = map {
        my ($length, undef, $begins) = _numbers($rules, 21 * $_, 3);
        my $ends = \($model->{$bans[$_]} //= 0);
        { length => $length, begins => $begins, ends => $ends,
          left => $$ends > $now ? $$ends - $now : 0, began => 0 };
    } 0 .. $#bans;

    $all = 0 if grep { $_->{left} } @bans;

    for my $i (0 .. $#bans) {
        my $ban = $bans[$i];
        my $admitted = $policies[$i]{admitted};

        next if $ban->{left} || !$ban->{length} || !$ban->{begins}
                || $admitted >= $times || $admitted > $all;

        ${$ban->{ends}} = $now + $ban->{length};
        @$ban{qw(left began)} = ($ban->{length}, 1);
    }

    my @numbers = ($number, $now);

    for my $p (@policies) {
        my $state = $p->{state};
        my $units = $all * $p->{cost};

        if ($units && $all == $times) {
            my $left = $p->{room} - $units;
            $units += $p->{prefetch} < $left ? $p->{prefetch} : $left;
        }

        push @$state, [$p->{then}, $units] if $units;
        $p->{total} += $units;
        push @numbers, $p->{admitted}, $units;

        if ($p->{kind} ne 'l') {
            push @numbers, POSIX::floor($now / $p->{window}), 0, $p->{total};
            next;
        }

        my ($fits, $left) = (0, $p->{total} + $p->{cost} - $p->{limit});

        if ($p->{admitted} < $times && $p->{cost} <= $p->{limit}) {
            for my $entry (@$state) {
                $fits = $entry->[0];
                last if ($left -= $entry->[1]) <= 0;
            }
        }

        push @numbers, $p->{total}, @$state ? $state->[0][0] : 0,
             @$state ? $state->[-1][0] : 0, $fits;
    }

    return (@numbers, map { @$_{qw(left began)} } @bans);
}

1;
