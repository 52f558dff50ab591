# The filter for fail2ban in docs/migration.md, on lines that the module writes:
# it finds the clients that were rejected, and no others, by Perl and by
# fail2ban itself.

use strict;
use warnings;

use File::Temp ();
use SlidewinNginx;
use Test::More;

my $root = $ENV{SLIDEWIN_ROOT} // '.';

open my $file, '<', "$root/docs/migration.md" or die "migration.md: $!";
my ($filter) = grep { /^\[Definition\]/ }
               join('', <$file>) =~ /^```text\n(.*?)^```$/msg;

ok($filter, 'there is a filter') or BAIL_OUT('no filter');

my ($regex) = $filter =~ /^failregex = (.*)$/m;
my ($zones) = $filter =~ /^slidewin_zones = (.*)$/m;

# what fail2ban makes of it: the date is cut off the line, <HOST> is an address
$regex =~ s/%\(slidewin_zones\)s/$zones/g;
$regex =~ s/<HOST>/([0-9a-fA-F.:]+)/;

my $nginx = SlidewinNginx->start(
    http => 'set_real_ip_from unix:;
             real_ip_header X-Real-IP;
             slidewin_zone $slidewin_client zone=login:1m rate=1r/d;
             slidewin_zone $arg_k zone=key:1m rate=1r/d;
             slidewin_zone $slidewin_client zone=bad:1m rate=$arg_rate;',
    server => 'location = /login { slidewin zone=login; empty_gif; }
               location = /cost { slidewin zone=login cost=2; empty_gif; }
               location = /dry { slidewin zone=login dry_run; empty_gif; }
               location = /bad { slidewin zone=bad; empty_gif; }
               location = /key {
                   slidewin_log_level error key=on;
                   slidewin zone=key;
                   empty_gif;
               }');

sub from {
    my ($address, @uris) = @_;
    my $client = $nginx->client;

    return join ' ', map {
        $client->write("GET $_ HTTP/1.1\r\nHost: localhost\r\n"
                       . "X-Real-IP: $address\r\n\r\n");
        $client->answer->{status};
    } @uris;
}

is(from('192.0.2.1', ('/login') x 9), '200' . ' 429' x 8, 'a flood');
is(from('2001:db8::1', ('/login') x 2), '200 429', 'a client of IPv6');
is(from('192.0.2.2', '/cost'), '429', 'a cost that can never pass');
is(from('192.0.2.3', ('/key?k=x,%20client:%20198.51.100.1,') x 2), '200 429',
   'a key that looks like a client');
is(from('192.0.2.4', '/login',
        '/login?"rejecting,%20client:%20198.51.100.2,'), '200 429',
   'a request that does');

# those that are not to be banned
is(from('198.51.100.3', '/login', '/dry'), '200 200', 'a dry run');
is(from('198.51.100.4', '/bad?rate=no'), '503', 'no limit to count with');

# the last line of the flood tells the rest when it is over
ok(SlidewinNginx::until_true(sub {
    $nginx->errors(qr/zone "login", 7 more like it in the last \d+ms, client/)
}, 10 * SlidewinNginx::patience()), 'the rest of the flood is told');

my @lines = $nginx->errors(qr/by zone "/);
my %banned;

for my $line (@lines) {
    my $text = $line =~ s{^\d+/\d\d/\d\d [\d:]{8}}{}r;
    $banned{$1}++ if $text =~ $regex;
}

my %expected = ('192.0.2.1' => 2, '2001:db8::1' => 1, '192.0.2.2' => 1,
                '192.0.2.3' => 1, '192.0.2.4' => 1);

is_deeply(\%banned, \%expected, 'each line with its client, and no other')
    or diag(@lines);

my $tool = "$root/build/fail2ban";
my $dir = File::Temp->newdir;

for (['filter.conf', $filter], ['error.log', join '', @lines]) {
    my ($name, $text) = @$_;
    open my $out, '>', "$dir/$name" or die "$name: $!";
    print $out $text;
    close $out or die "$name: $!";
}

my $said = `PYTHONPATH=$tool/usr/lib/python3/dist-packages \\
            /usr/bin/python3 $tool/usr/bin/fail2ban-regex \\
            -c $tool/etc/fail2ban -o ip $dir/error.log $dir/filter.conf 2>&1`;
is($?, 0, 'fail2ban-regex') or diag($said);

my %found;
$found{$_}++ for $said =~ /^([0-9a-f.:]+)$/mg;
is_deeply(\%found, \%expected, '... finds the same') or diag($said);

$nginx->stop;

done_testing();
