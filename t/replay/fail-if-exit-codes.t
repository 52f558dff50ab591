# The exit code is 0, 1 if what --fail-if names is true of any candidate, and 2 if
# the program was asked wrongly or found nothing to replay.

use strict;
use warnings;

use SlidewinReplay;
use Test::More;

my $dir = SlidewinReplay::directory();

# a client with 30 requests in a second, 19 with one: 25 of 49 rejected by 5r/m
my $path = SlidewinReplay::write("$dir/log", join '', map {
    SlidewinReplay::line('combined', {
        client => '192.0.2.' . ($_ > 30 ? $_ : 0),
        time => 1763300000000 + ($_ > 30 ? 1000 : 0),
    })
} 1 .. 49);
my $partly = SlidewinReplay::write(
    "$dir/partly", slurp($path) . "bad\n");
my @key = ('--key', '$remote_addr');

sub slurp {
    open my $file, '<', $_[0] or die "$_[0]: $!";
    local $/;
    return readline $file;
}

sub ends {
    my ($code, @arguments) = @_;
    my $said = SlidewinReplay::run('--algorithm', 'log', (grep { $_ eq '--key' } @arguments)
                                   ? () : @key, @arguments);

    is($said->{exit}, $code, "@arguments: $code") or diag($said->{stderr});
    like($said->{stderr}, qr/\Aslidewin-replay: /, '... says why')
        if $code == 2;
    isnt($said->{stdout}, '', '... and what would be') if $code < 2;

    return $said;
}

my @rate = ('--rate', '5r/m');

ends(0, @rate, $path);
ends(0, '--rate', 'auto', $path);
ends(0, @rate, '--json', $path);

ends(1, @rate, '--fail-if', 'rejected > 0', $path);
ends(1, @rate, '--fail-if', 'rejected > 24', $path);
ends(0, @rate, '--fail-if', 'rejected > 25', $path);
ends(1, @rate, '--fail-if', 'rejected >= 25', $path);
ends(1, @rate, '--fail-if', 'rejected > 51%', $path);
ends(0, @rate, '--fail-if', 'rejected > 51.1%', $path);
ends(1, @rate, '--fail-if', 'rejected>0.5%', $path);
ends(0, @rate, '--fail-if', 'clients_rejected > 1', $path);
ends(1, @rate, '--fail-if', 'clients_rejected > 0', $path);
ends(1, @rate, '--fail-if', 'clients_rejected > 4.9%', $path);
ends(0, @rate, '--fail-if', 'clients_rejected > 5%', $path);
ends(0, @rate, '--fail-if', 'bad_lines > 0', $path);
ends(1, @rate, '--fail-if', 'bad_lines > 0', $partly);
ends(1, @rate, '--fail-if', 'bad_lines > 1%', $partly);
ends(0, @rate, '--fail-if', 'bad_lines > 2%', $partly);
ends(1, @rate, '--json', '--fail-if', 'rejected > 0', $path);

# of several candidates one is enough
ends(0, '--rate', '30r/m', '--fail-if', 'rejected > 0', $path);
ends(1, '--rate', '30r/m,29r/m', '--fail-if', 'rejected > 0', $path);
ends(1, '--rate', '29r/m,30r/m', '--fail-if', 'rejected > 0', $path);

for my $bad (['rejected', qr/rejected/], ['rejected >', qr/>/],
             ['rejected > many', qr/many/], ['speed > 5', qr/speed/],
             ['> 5', qr/>/], ['rejected > 5%%', qr/%%/], ['', qr/fail-if/],
             ['rejected > -1', qr/-1/], ['rejected > 5 or', qr/or/]) {
    my $said = ends(2, @rate, '--fail-if', $bad->[0], $path);
    like($said->{stderr}, qr/fail-if/, '... the option is named');
    like($said->{stderr}, $bad->[1], '... and the place');
}

# asked wrongly: the option and the value are named
for my $bad (
    ['--rate', '5', qr/5/], ['--rate', '0r/m', qr{0r/m}],
    ['--rate', '5r/m,x', qr/x/], ['--rate', '', qr/rate/],
    ['--rate', 'auto/0s', qr/auto/],
    ['--rate', '100001r/m', qr/100000.*strict/s],
    ['--algorithm', 'lottery', qr/lottery/], ['--slices', '0', qr/slices/],
    ['--slices', '101', qr/101|100/], ['--count', '99', qr/99/],
    ['--count', '4xx,', qr/4xx,/], ['--cost', 'much', qr/much/],
    ['--cost', '-1', qr/-1/], ['--ban', 'soon', qr/soon/],
    ['--ban', '10m..1m', qr/10m/], ['--format', '$nothing', qr/nothing|time/],
    ['--key', '', qr/key/], ['--key', '$', qr/\$/],
    ['--client-prefix', '33,64', qr/33/], ['--client-prefix', '32', qr/32/],
    ['--top', 'all', qr/all/],
    ['--decisions', "$dir/none/x", qr{none/x}], ['--html', "$dir/none/x",
                                                 qr{none/x}],
    ['--zone', 'a', qr/zone.*conf|conf.*zone/], ['--speed', '1', qr/--speed/],
) {
    my ($option, $value, $named) = @$bad;
    my $said = ends(2, $option, $value, $path);
    like($said->{stderr}, qr/\Q@{[$option =~ s{--}{}r]}\E|\Q$value\E/,
         '... the option or the value is named');
    like($said->{stderr}, $named, '... and what is wrong');
    is($said->{stdout}, '', '... nothing is replayed');
}

my $said = SlidewinReplay::run('--conf', "$dir/none.conf", $path);
is($said->{exit}, 2, 'no such configuration: 2');
like($said->{stderr}, qr/none\.conf/, '... is named');

like(ends(2, @rate)->{stderr}, qr/LOG|log|file/, 'a log is needed');

done_testing();
