# Clients are who the module takes them for: an IPv6 address is grouped to its
# /64, an IPv4 address is one client, and --client-prefix says otherwise.

use strict;
use warnings;

use SlidewinReplay;
use Test::More;

my $dir = SlidewinReplay::directory();

my @addresses = qw(
    2001:db8:1:2::1 2001:db8:1:2:3:4:5:6 2001:DB8:1:2::ffff
    2001:db8:1:3::1
    ::1 0:0:0:0:0:0:0:1
    192.0.2.1 192.0.2.2 192.0.3.1
    ::ffff:192.0.2.1
);

my $path = SlidewinReplay::write("$dir/log", join '', map {
    SlidewinReplay::line('combined', {
        client => $addresses[$_], time => 1763300000000 + 1000 * $_,
    })
} 0 .. $#addresses);

# keys ARGUMENT...: of each line
sub keys_of {
    my $json = SlidewinReplay::json('--rate', '1r/d', '--decisions',
                                    "$dir/decisions", @_, $path);
    my @keys = map { $_->[3] } SlidewinReplay::decisions("$dir/decisions");

    unlink "$dir/decisions";
    is(scalar @keys, scalar @addresses, "@_: a key for each line");

    return $json, @keys;
}

my ($json, @keys) = keys_of();

is($json->{key}, '$slidewin_client', 'the default key');
is($keys[0], $keys[1], 'two addresses of one /64 are one client');
is($keys[0], $keys[2], '... in whichever letters');
isnt($keys[0], $keys[3], '... another /64 is another client');
like($keys[0], qr/\A2001:db8:1:2::/, '... named by its prefix');
is($keys[4], $keys[5], 'one address in two writings is one client');
is($keys[6], '192.0.2.1', 'an IPv4 address is itself');
isnt($keys[6], $keys[7], '... and another one is another client');
is($keys[9], '192.0.2.1', '... in IPv6 it is the same client');
is($json->{clients}, 6, 'so many clients');
is($json->{candidates}[0]{rejected}, 4, '... of which one each passes');

($json, @keys) = keys_of('--client-prefix', '24,48');
is($keys[0], $keys[3], '--client-prefix: one /48');
is($keys[6], $keys[7], '... and one /24');
isnt($keys[6], $keys[8], '... not two');

($json, @keys) = keys_of('--client-prefix', '32,128');
isnt($keys[0], $keys[1], '--client-prefix: addresses one by one');
is($keys[0], '2001:db8:1:2::1', '... as they are');

($json, @keys) = keys_of('--key', '$remote_addr');
is_deeply(\@keys, \@addresses, '$remote_addr is what the log has');

($json, @keys) = keys_of('--key', '${remote_addr}x');
is($keys[6], '192.0.2.1x', 'text with variables');

($json, @keys) = keys_of('--key', '$remote_addr$uri');
is($keys[6], '192.0.2.1/', '... with several');

done_testing();
