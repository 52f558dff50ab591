# A zone in which nearly all requests have one key, the address of a private
# peer that forwards them, is reported once in the log, and told as long as it
# lasts. Other zones are not.

use strict;
use warnings;

use IO::Socket::INET ();
use SlidewinNginx;
use SlidewinRedis;
use SlidewinStats;
use Test::More;

my $port = SlidewinRedis::free_port();
my @zones = (
    [addr => '$remote_addr'], [binary => '$binary_remote_addr'],
    [client => '$slidewin_client'], [uri => '"$remote_addr$uri"'],
    [constant => 'everybody'], [none => '$remote_addr'],
    [most => '$remote_addr'], [nearly => '$remote_addr'],
    [quiet => '$remote_addr'],
    [public => '$remote_addr'], [user => '$http_user'],
);
my $nginx = SlidewinNginx->start(
    workers => 2,
    http => join('', map { "slidewin_zone $_->[1] zone=$_->[0]:1m
                            rate=10r/40d top=off store=local;\n" } @zones)
            . 'slidewin_log_level info;',
    server => "listen 127.0.0.1:$port;\n"
              . join('', map { "location = /$_->[0] { slidewin zone=$_->[0];
                                                      empty_gif; }\n"
                         } grep { $_->[0] ne 'public' } @zones)
              . 'location = /public { set_real_ip_from unix:;
                                      set_real_ip_from 127.0.0.1;
                                      real_ip_header X-Forwarded-For;
                                      slidewin zone=public; empty_gif; }'
              . SlidewinStats::location());

# more than a finding needs, of each worker
my $many = 4400;

# send URI, N, FIELDS: from 127.0.0.1, to all workers evenly; FIELDS of the i-th
sub send_to {
    my ($uri, $n, $fields) = @_;
    my @workers = $nginx->workers;

    for my $worker (@workers) {
        my @others = grep { $_ != $worker } @workers;

        SlidewinNginx::halt(@others);
        my $client = SlidewinNginx::Client->new('', timeout => 60);
        $client->{socket} = IO::Socket::INET->new(
            PeerAddr => '127.0.0.1', PeerPort => $port) or die "connect: $!";
        $client->get('/free');
        kill 'CONT', @others;

        for (my $i = 0; $i < $n; $i += 100) {
            $client->write(join '', map {
                SlidewinNginx::Client::_text($uri, $fields->($_))
            } $i .. $i + 99);
            $client->answer for 1 .. 100;
        }
    }

    return;
}

sub forwarded { return ('X-Forwarded-For' => '203.0.113.' . $_[0] % 250) }

sub suspect { return SlidewinStats::zone($nginx, $_[0])->{suspect} }

sub lines { return scalar $nginx->errors(qr/\[warn\].*zone "$_[0]".*one key/) }

sub metric {
    return SlidewinStats::metrics($nginx)->{
        "slidewin_shared_key_suspected{zone=\"$_[0]\"}"};
}

for my $zone (qw(addr binary client uri)) {
    send_to("/$zone", $many, \&forwarded);

    my $suspect = suspect($zone);
    is($suspect->{key}, '127.0.0.1', "$zone: the key of a proxy");
    cmp_ok($suspect->{share}, '>', 0.9, '... has nearly all');
    is(metric($zone), 1, '... as the metrics tell');
    is(lines($zone), 1, '... one line, of one worker');
}

# again: no other line; and it lasts since then
my $since = suspect('addr')->{since};
send_to('/addr', $many, \&forwarded);
is(lines('addr'), 1, 'no other line within the hour');
is(suspect('addr')->{since}, $since, '... and it lasts since the first');

# normal traffic
send_to('/addr', 2 * $many, sub { () });
is(suspect('addr'), undef, 'requests that nobody forwarded clear it');
is(metric('addr'), 0, '... in the metrics as well');

# none of these
send_to('/constant', $many, \&forwarded);
send_to('/none', $many, sub { () });
send_to('/quiet', 1000, \&forwarded);
send_to('/public', $many, \&forwarded);
send_to('/user', $many, sub { (forwarded(@_), User => "u$_[0]") });

# four of five, as they come: by a generator that the suite repeats
my $state = 1;
send_to('/most', 3 * $many, sub {
    $state = ($state * 1103515245 + 12345) % 2147483648;
    return $state / 2147483648 < 0.8 ? forwarded(@_) : ();
});

# 19 of 20, which is more than nine of ten
send_to('/nearly', 3 * $many, sub {
    $state = ($state * 1103515245 + 12345) % 2147483648;
    return $state / 2147483648 < 0.95 ? forwarded(@_) : ();
});
cmp_ok(suspect('nearly')->{share} // 0, '>', 0.9,
       'a key that has not all, but nearly all');
cmp_ok(suspect('nearly')->{share} // 0, '<', 1, '... and how much of it');

for my $zone (qw(constant none quiet public user most)) {
    is(suspect($zone), undef, "$zone: nothing is suspected");
    is(lines($zone), 0, '... nor logged');
    is(metric($zone), 0, '... nor measured');
}

$nginx->stop;

done_testing;
