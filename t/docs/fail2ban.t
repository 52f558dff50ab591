# The stock filter nginx-limit-req of fail2ban, on lines that the module writes:
# it finds the clients that were rejected, and no others, by fail2ban itself; of
# a policy with ban= by the line that a ban begins with and by those while it
# lasts. The jail of docs/migration.md chooses the zones.

use strict;
use warnings;

use SlidewinNginx;
use Test::More;

my $root = $ENV{SLIDEWIN_ROOT} // '.';

open my $file, '<', "$root/docs/migration.md" or die "migration.md: $!";
my ($jail) = grep { /^filter /m }
             join('', <$file>) =~ /^```text\n(.*?)^```$/msg;
my ($filter) = ($jail // '') =~ /^filter\s+= (.*)$/m;

is($filter, 'nginx-limit-req[ngx_limit_req_zones="login"]',
   'the jail has the stock filter') or BAIL_OUT('no jail');

my $nginx = SlidewinNginx->start(
    http => 'set_real_ip_from unix:;
             real_ip_header X-Real-IP;
             slidewin_zone $slidewin_client zone=login:1m rate=1r/d;
             slidewin_zone $slidewin_client zone=bans:1m rate=1r/d ban=1h;
             slidewin_zone $http_x_key zone=key:1m rate=1r/d;
             slidewin_zone $slidewin_client zone=wait:1m rate=1r/100ms;
             slidewin_zone $slidewin_client zone=bad:1m rate=$arg_rate;',
    server => 'location = /login { slidewin zone=login; empty_gif; }
               location = /cost { slidewin zone=login cost=2; empty_gif; }
               location = /bans { slidewin zone=bans; empty_gif; }
               location = /bans_dry { slidewin zone=bans dry_run; empty_gif; }
               location = /dry { slidewin zone=login dry_run; empty_gif; }
               location = /bad { slidewin zone=bad; empty_gif; }
               location = /delay { slidewin zone=wait delay=1m; empty_gif; }
               location = /key {
                   slidewin_log_level error key=on;
                   slidewin zone=key;
                   empty_gif;
               }');

# a line as the module writes it
sub forged {
    my ($address) = @_;

    return '[error] 1#1: *1 limiting requests, excess: 1.000 by zone "login",'
           . " client: $address, server: ";
}

my $fields = '';

sub from {
    my ($address, @uris) = @_;
    my $client = $nginx->client;

    return join ' ', map {
        $client->write("GET $_ HTTP/1.1\r\nHost: localhost\r\n"
                       . "X-Real-IP: $address\r\n$fields\r\n");
        $client->answer->{status};
    } @uris;
}

is(from('192.0.2.1', ('/login') x 9), '200' . ' 429' x 8, 'a flood');
is(from('2001:db8::1', ('/login') x 2), '200 429', 'a client of IPv6');
is(from('192.0.2.2', '/cost'), '429', 'a cost that can never pass');
$fields = "X-Key: x\", client: 198.51.100.1,\r\n";
is(from('192.0.2.3', ('/key') x 2), '200 429', 'a key that looks like a client');
$fields = '';
is(from('192.0.2.4', '/login',
        '/login?"limiting,%20client:%20198.51.100.2,'), '200 429',
   'a request that does');

# bans: of one client the line that tells of the ban alone, of another those of
# a second later, too
is(from('192.0.2.8', ('/bans') x 2), '200 429', 'a ban begins');
is(from('192.0.2.9', ('/bans') x 2), '200 429', '... another');
ok(SlidewinNginx::until_true(sub {
    from('192.0.2.9', '/bans');
    return $nginx->errors(qr/client: 192\.0\.2\.9, .*, banned, retry after/);
}, 10 * SlidewinNginx::patience()), '... and the log tells that it lasts');

# a whole line, in all places of a request that nginx logs
{
    my $line = forged('198.51.100.5') =~ s/ /%20/gr =~ s/#/%23/gr;

    $fields = 'Referer: ' . forged('198.51.100.6') . "\r\n";
    is(from('192.0.2.5', '/login', "/login?$line"), '200 429',
       'a request that is a line');
    $fields .= 'X-Key: ' . forged('198.51.100.8') . "\r\n";
    is(from('192.0.2.6', ('/key') x 2), '200 429', 'a key that is one');
    is(from('192.0.2.7', "/nothing/$line"), '404', 'a file that is one');
    $fields = '';
}

# those that are not to be banned
is(from('198.51.100.3', '/login', '/dry'), '200 200', 'a dry run');
is(from('198.51.100.9', ('/bans_dry') x 3), '200 200 200',
   'a dry run with bans');
is(from('198.51.100.4', '/bad?rate=no'), '503', 'no limit to count with');
is(from('198.51.100.7', ('/delay') x 3), '200 200 200', 'requests that wait');

# the last line of the flood tells the rest when it is over
ok(SlidewinNginx::until_true(sub {
    $nginx->errors(qr/client: 192\.0\.2\.1, the last of 7 left out in \d+ms$/)
}, 10 * SlidewinNginx::patience()), 'the rest of the flood is told');

for (qr/key: "x\\x22, client: 198\.51\.100\.1,", server: /,
     qr/key: "\[error\] 1#1: \*1 limiting requests, [^"]*\.\.\.", server: /,
     qr/open\(\) "[^"]*\/\[error\] 1#1: \*1 limiting requests, excess: /,
     qr/dry run: would limit request, excess: 1\.000 by zone "login", client: 198/,
     qr/delaying request, excess: [\d.]+ by zone "wait", client: 198/,
     qr/rejecting request uncounted by zone "bad", client: 198/)
{
    ok(scalar $nginx->errors($_), "the log has $_");
}

is(join('', grep { /198\.51\.100\.3/ }
            $nginx->errors(qr/limiting requests|rejecting/)), '',
   'a dry run is not found by the words of a rejection');

my $tool = "$root/build/fail2ban";
my $log = $nginx->root . '/logs/as-it-is';

# nginx may go on: the rest of what was left out
open my $copy, '>', $log or die "$log: $!";
print $copy $nginx->error_log;
close $copy;

# found FILTER: how many lines fail2ban finds of each client
sub found {
    my ($by) = @_;
    my %found;
    my $said = `PYTHONPATH=$tool/usr/lib/python3/dist-packages \\
                /usr/bin/python3 $tool/usr/bin/fail2ban-regex \\
                -c $tool/etc/fail2ban -o ip $log '$by' 2>&1`;

    is($?, 0, "fail2ban-regex $by") or diag($said);
    $found{$_}++ for $said =~ /^([0-9a-f.:]+)$/mg;

    return \%found;
}

my %login = ('192.0.2.1' => 2, '2001:db8::1' => 1, '192.0.2.2' => 1,
             '192.0.2.4' => 1, '192.0.2.5' => 1);

my $of_ban = () = SlidewinNginx::slurp($log) =~ /client: 192\.0\.2\.9,/g;
my %bans = ('192.0.2.8' => 1, '192.0.2.9' => $of_ban);

is_deeply(found('nginx-limit-req'),
          { %login, %bans, '192.0.2.3' => 1, '192.0.2.6' => 1 },
          '... finds the clients that were rejected, and no others')
    or diag($nginx->error_log);
is_deeply(found($filter), \%login, '... or those of the zones of a jail');
is_deeply(found($filter =~ s/login/bans/r), \%bans,
          '... of bans, that of their begin and those during them');

$nginx->stop;

done_testing();
