# A client that leaves before Redis has answered the request that begins its ban
# is banned all the same: a line tells of it at the level of its location, it is
# counted and listed. fail2ban finds that line as it finds others.

use strict;
use warnings;

use File::Temp ();
use SlidewinBan;
use SlidewinFake;
use SlidewinHTTP2;
use SlidewinNginx;
use SlidewinRedis;
use SlidewinStats;
use Test::More;

my $root = $ENV{SLIDEWIN_ROOT} // '.';
my $patience = SlidewinNginx::patience();

# ZONE => [parameters, other directives] of the location of that name
my %zones = (
    plain => ['', ''],
    trap => ['cost=3', ''],
    warn => ['', 'slidewin_log_level warn;'],
    silent => ['', 'slidewin_log_level off;'],
    key => ['', 'slidewin_log_level error key=on;'],
    h2 => ['', ''],
    room => ['', ''],
    asked => ['', ''],
    # the ban begins with a second call
    late => ['', ''],
    late_delay => ['delay=1s', ''],
    late_silent => ['', 'slidewin_log_level off;'],
    late_h2 => ['', ''],
    queue => ['', ''],
    one => ['', ''],
    all => ['', ''],
    reload => ['', ''],
    quit => ['', ''],
    dry => ['dry_run', ''],
    dry_late => ['dry_run delay=1s', ''],
    dry_silent => ['dry_run', 'slidewin_log_level off;'],
);
my @zones = sort keys %zones;

my $redis = SlidewinRedis->start;
# while the file is there, replies come late: in time to stop the relay, so that
# they do not come at all
my $late = File::Temp::tempdir('slidewin.XXXXXX', TMPDIR => 1, CLEANUP => 1)
           . '/late';
my $way = SlidewinFake->start(relay => $redis->path,
                              delay => sub { -e $late ? 0.3 * $patience : 0 });
my $port = SlidewinRedis::free_port();

my $zones = join '', map { <<"ZONE" } @zones;
    slidewin_zone \$arg_k zone=$_:1m rate=@{[/queue/ ? '1r/1m' : '2r/40d']}
                  ban=1h on_error=closed;
ZONE
my $locations = join '', map { <<"LOCATION" } @zones;
    location = /$_ { slidewin zone=$_ $zones{$_}[0]; $zones{$_}[1] empty_gif; }
    location = /look_$_ {
        slidewin zone=$_ cost=0; slidewin_log_level off; empty_gif;
    }
LOCATION

my $nginx = SlidewinBan::edge(
    store => { redis => $redis }, url => $way->url,
    http => "set_real_ip_from unix:;
             set_real_ip_from 127.0.0.1;
             real_ip_header X-Real-IP;
             error_log logs/error.log info;
             $zones",
    server => "listen 127.0.0.1:$port http2;
               location = /wait { slidewin zone=late delay=1s;
                                  slidewin zone=late_silent delay=1s;
                                  slidewin zone=late_h2 delay=1s; empty_gif; }
               location = /wait_queue { slidewin zone=queue delay=10m;
                                        empty_gif; }
               $locations" . SlidewinStats::location());
my $client = $nginx->client(timeout => 60);
# CLIENT => how many lines fail2ban should find
my %found;

sub told { return SlidewinBan::told(@_) }

sub ask { return SlidewinBan::ask($client, @_) }

# lines ZONE: of bans that begin
sub lines {
    my ($zone) = @_;

    return map { s/^.*?\[(\w+)\] \d+#\d+: (?:\*\d+ )?/$1: /r =~ s/\n//r }
           $nginx->errors(qr/zone "$zone".* banned for/);
}

sub begun {
    my ($zone, $k) = @_;

    return SlidewinBan::ban_of($redis, $zone, $k,
                               $zone =~ /^dry/ ? 'dry-ban' : 'ban');
}

# The relay: slow, stopped, and as ever.
sub slow_down {
    open my $file, '>', $late or die "$late: $!";
    return;
}

sub stop_way {
    SlidewinNginx::halt($way->{pid}) or die "the relay goes on\n";
    unlink $late;
    return;
}

sub go_on { return kill 'CONT', $way->{pid} }

# use_up ZONE, K
sub use_up {
    my ($zone, $k) = @_;
    my $n = $zone eq 'trap' ? 0 : $zone eq 'queue' ? 1 : 2;

    is(told(map { ask("/$zone?k=$k") } 1 .. $n),
       join(', ', ('200 PASSED') x $n), "$zone, $k: the limit is used up");

    return;
}

# leave ZONE, K, ADDRESS, HOW: a request that comes from there and leaves once
# Redis has begun its ban (HOW "begun"), or before Redis is asked ("asked")
sub leave {
    my ($zone, $k, $address, $how) = @_;
    my $guest = $nginx->client;

    $how eq 'asked' ? stop_way() : slow_down();
    $guest->request("/$zone?k=$k", 'X-Real-IP' => $address);

    if ($how eq 'begun') {
        ok(SlidewinNginx::until_true(sub { begun($zone, $k) },
                                     20 * $patience),
           "$zone, $k: Redis begins a ban");
        stop_way();

    } else {
        ok($nginx->busy(1), "$zone, $k: one is under way");
    }

    ok(!$guest->answered, '... which is not answered yet');
    $guest->close;

    return;
}

# is_told ZONE, K, ADDRESS, LEVEL: asserts that the log has the line
sub is_told {
    my ($zone, $k, $address, $level) = @_;
    my @lines = lines($zone);
    my $rate = $zone eq 'queue' ? '1r/1m' : '2r/40d';
    my $key = $zone eq 'key' ? ", key: \"$k\"" : '';
    my $dry = $zone =~ /^dry/;
    my $words = $dry ? 'dry run: would limit request' : 'limiting requests';
    my $would = $dry ? 'would be banned' : 'banned';

    is(join("\n", @lines),
       "$level: $words, excess: 1.000 by zone \"$zone\", client: $address,"
       . " which has left, rate: $rate, $would for 3600s$key",
       '... one line tells of it');
    $found{$address} = 1 if !$dry;

    return;
}

# is_banned ZONE, K, BEGIN: asserts that it is, counted, and listed
sub is_banned {
    my ($zone, $k, $begin) = @_;
    my $hit = ask("/look_$zone?k=$k");

    is(told($hit), '429 BANNED', "$zone, $k: the client is banned");
    SlidewinBan::is_left($begin, $hit, 3600, '... for an hour');
    is(SlidewinStats::zone($nginx, $zone)->{bans_total}, 1,
       '... which is counted');

    my $list = SlidewinStats::json($nginx, "zones/$zone/bans")->{bans};

    is(join(' ', map { "$_->{key} $_->{length}" } @$list), "$k 3600",
       '... and listed with its length');

    return;
}

sub since { return { from => $_[0], to => SlidewinNginx::now() } }


# The first call begins the ban, or the second.

my $n = 0;

for my $case ([plain => 'begun', 'error'], [trap => 'begun', 'error'],
              [warn => 'begun', 'warn'], [key => 'begun', 'error'],
              [asked => 'asked', 'error'], [silent => 'begun'],
              [late => 'begun', 'error'], [late_delay => 'begun', 'error'],
              [late_silent => 'begun'])
{
    my ($zone, $how, $level) = @$case;
    my $k = "k_$zone";
    my $address = '192.0.2.' . ++$n;

    use_up($zone, $k);

    my $from = SlidewinNginx::now();

    leave($zone, $k, $address, $how);
    ok($nginx->busy(0), '... and its client leaves');
    is(scalar lines($zone), 0, '... of which nothing is told so far');
    go_on();
    is_banned($zone, $k, since($from));

    if ($level) {
        is_told($zone, $k, $address, $level);
    } else {
        is(scalar $nginx->errors(qr/zone "$zone"/), 0,
           '... and slidewin_log_level off tells nothing');
    }
}


# HTTP/2: the stream ends, the connection goes on.

for my $zone (qw(h2 late_h2)) {
    my $k = "k_$zone";
    my $address = '192.0.2.' . ++$n;
    my $http2 = SlidewinHTTP2->new($port);

    use_up($zone, $k);

    slow_down();

    my $from = SlidewinNginx::now();
    my $id = $http2->request("/$zone?k=$k",
                             headers => { 'x-real-ip' => $address });

    ok(SlidewinNginx::until_true(sub { begun($zone, $k) }, 20 * $patience),
       "$zone: Redis begins a ban");
    stop_way();
    $http2->cancel($id);
    ok($http2->sync, '... and the client resets the stream');
    go_on();
    is_banned($zone, $k, since($from));
    is_told($zone, $k, $address, 'error');

    my $next = $http2->request("/look_$zone?k=$k");

    is(($http2->answers($next))[0]{status}, 429,
       '... the next stream is rejected');
}


# Requests that wait hear of the ban.

{
    my $from = SlidewinNginx::now();

    use_up(queue => 'k');

    my @waiting = map { $nginx->asks('/wait_queue?k=k') } 1, 2;

    ok($nginx->busy(2), 'queue: two wait');
    leave(queue => 'k', '192.0.2.' . ++$n, 'begun');
    ok($nginx->busy(2), '... and a third one leaves');
    go_on();
    is(told(map { $_->answer } @waiting), '429 BANNED, 429 BANNED',
       '... the two are banned');
    is_banned('queue', 'k', since($from));
    is_told('queue', 'k', "192.0.2.$n", 'error');
}


# Several requests of the client that Redis decides together: the first one
# leaves, or all do. Lines of those that stay are not those looked for.

for my $zone (qw(one all)) {
    my $k = "k_$zone";
    my $address = '192.0.2.' . ++$n;
    my @guests = map { $nginx->client } 1 .. 5;
    my $from = SlidewinNginx::now();

    use_up($zone, $k);
    stop_way();

    for my $i (0 .. $#guests) {
        $guests[$i]->request("/$zone?k=$k",
                             $i == 0 ? ('X-Real-IP' => $address) : ());
        # in their order
        ok($nginx->busy($i + 1), "$zone: another is under way");
    }

    my @left = splice @guests, 0, $zone eq 'one' ? 1 : 5;

    $_->close for @left;
    ok($nginx->busy(scalar @guests), '... and clients leave');
    go_on();
    is(SlidewinBan::tally(map { $_->answer } @guests), '429 BANNED x4',
       '... others hear of the ban') if @guests;
    is_banned($zone, $k, since($from));
    is_told($zone, $k, $address, 'error');
}


# A dry run bans nobody.

for my $zone (qw(dry dry_late dry_silent)) {
    my $k = "k_$zone";
    my $address = '192.0.2.' . ++$n;

    use_up($zone, $k);
    leave($zone, $k, $address, 'begun');
    ok($nginx->busy(0), '... and its client leaves');
    go_on();
    is(told(ask("/look_$zone?k=$k")), '200 PASSED', '... nobody is banned');
    is(told(ask("/$zone?k=$k")), '200 REJECTED_DRY_RUN',
       '... but would be');
    is(SlidewinStats::zone($nginx, $zone)->{bans_total}, 0,
       '... no ban is counted');
    is_deeply(SlidewinStats::json($nginx, "zones/$zone/bans")->{bans}, [],
              '... nor listed');

    if ($zone ne 'dry_silent') {
        is_told($zone, $k, $address, 'warn');
    } else {
        is(scalar $nginx->errors(qr/zone "$zone"/), 0,
           '... and slidewin_log_level off tells nothing');
    }
}


# A request that there is room for bans nobody.

is(told(ask('/room?k=k')), '200 PASSED', 'room: there is some');
leave(room => 'k', '192.0.2.' . ++$n, 'asked');
ok($nginx->busy(0), '... its client leaves');
go_on();
is(told(ask('/look_room?k=k')), '200 PASSED', '... and is not banned');
is(SlidewinStats::zone($nginx, 'room')->{bans_total}, 0,
   '... as the statistics say');
is(scalar $nginx->errors(qr/zone "room"/), 0, '... and the log');


# The worker that has asked tells of it, though nginx reloads meanwhile, ...

{
    my $from = SlidewinNginx::now();
    my ($zone, $k) = ('reload', 'k_reload');

    use_up($zone, $k);
    leave($zone, $k, '192.0.2.' . ++$n, 'begun');
    ok($nginx->busy(0), '... its client leaves');
    $client->close;
    $nginx->reload;
    go_on();
    ok($nginx->logged(qr/zone "$zone"/, 10), '... and nginx reloads');
    is_told($zone, $k, "192.0.2.$n", 'error');
    $client = $nginx->client(timeout => 60);
    is_banned($zone, $k, since($from));
}

# ... or ends.

{
    my ($zone, $k) = ('quit', 'k_quit');
    my $master = $nginx->master;

    use_up($zone, $k);
    leave($zone, $k, '192.0.2.' . ++$n, 'begun');
    ok($nginx->busy(0), '... its client leaves');
    $client->close;
    $nginx->signal('QUIT');
    ok($nginx->logged(qr/gracefully shutting down/, 10),
       '... and nginx is to end');
    go_on();
    ok($nginx->logged(qr/zone "$zone"/, 10), '... which waits for Redis');
    is_told($zone, $k, "192.0.2.$n", 'error');
    ok(SlidewinNginx::all_gone($master), '... and ends then');
}


# fail2ban, as it comes

{
    my $tool = "$root/build/fail2ban";
    my $log = $nginx->root . '/logs/as-it-is';
    my %lines;

    open my $copy, '>', $log or die "$log: $!";
    print $copy $nginx->error_log;
    close $copy;

    my $said = `PYTHONPATH=$tool/usr/lib/python3/dist-packages \\
                /usr/bin/python3 $tool/usr/bin/fail2ban-regex \\
                -c $tool/etc/fail2ban -o ip $log nginx-limit-req 2>&1`;

    is($?, 0, 'fail2ban-regex ends well') or diag($said);
    $lines{$_}++ for $said =~ /^([0-9a-f.:]+)$/mg;
    is_deeply(\%lines, \%found,
              '... and finds the lines of clients that have left')
        or diag($said);
}

$nginx->stop;

done_testing();
