# The shape of --json, as the pages show it: these fields with these types.

use strict;
use warnings;

use B ();
use SlidewinReplay;
use Test::More;

my $dir = SlidewinReplay::directory();
my $path = SlidewinReplay::write("$dir/log", join '', map {
    $_ % 10 ? SlidewinReplay::line('combined', {
        client => '192.0.2.' . $_ % 3, time => 1763300000000 + 100 * $_,
        uri => '/caf%C3%A9', status => $_ % 7 ? 200 : 429,
    }) : "no request\n"
} 1 .. 200);
my $exact = SlidewinReplay::write("$dir/exact", join '', map {
    SlidewinReplay::line('own', { time => 1763300000123 + 100 * $_ })
} 1 .. 20);

my @all = ('--rate', '5r/m,3r/10s', '--algorithm', 'all',
           '--key', '$remote_addr', '--format', 'combined');

# type VALUE: as it stands in the text
sub type {
    my ($value) = @_;

    return !defined $value ? 'null' : ref $value eq 'HASH' ? 'object'
           : ref $value eq 'ARRAY' ? 'array' : ref $value ? 'boolean'
           : B::svref_2object(\$value)->FLAGS & (B::SVp_IOK | B::SVp_NOK)
           ? 'number' : 'string';
}

# has NAME, OBJECT, { FIELD => TYPE|TYPE }
sub has {
    my ($name, $object, %fields) = @_;

    is(type($object), 'object', $name) or return;

    is_deeply([grep { !exists $object->{$_}
                      || type($object->{$_}) !~ /\A(?:$fields{$_})\z/ }
               sort keys %fields], [], '... has what was promised');

    return;
}

my %candidate = (
    rate => 'string', limit => 'number', window => 'number',
    algorithm => 'string', count => 'string|null', cost => 'string|null',
    ban => 'string|null', requests => 'number', rejected => 'number',
    rejected_share => 'number', rejected_at_least => 'number',
    rejected_at_most => 'number', banned => 'number', clients => 'number',
    clients_rejected => 'number', clients_rejected_share => 'number',
    first => 'object|null', worst => 'array', peaks => 'object',
    live_clients => 'number', zone_size => 'number', zone => 'string',
    plain => 'object|null',
);
my %peaks = map { $_ => 'number' } qw(window p50 p90 p99 p99.9 max);

sub shape {
    my ($json, $name) = @_;

    has($name, $json,
        version => 'string', lines => 'number', bad_lines => 'number',
        first_bad => 'object|null', requests => 'number', left_out => 'number',
        out_of_order => 'number', empty_keys => 'number',
        bad_costs => 'number', answered_429 => 'number',
        resolution => 'string', from => 'number', to => 'number',
        key => 'string', where => 'string|null', clients => 'number',
        candidates => 'array', peaks => 'object',
        recommendation => 'object|null', notes => 'array');
    has("$name: peaks", $json->{peaks}, %peaks);

    for my $c (@{$json->{candidates}}) {
        my $label = "$name: $c->{rate}, $c->{algorithm}";

        has($label, $c, %candidate,
            $c->{algorithm} eq 'strict' ? (slices => 'number') : ());
        has("$label: peaks", $c->{peaks}, %peaks);
        has("$label: first", $c->{first}, key => 'string', time => 'number',
            path => 'string') if $c->{first};
        has("$label: worst", $_, key => 'string', rejected => 'number',
            requests => 'number', first => 'number', path => 'string',
            peak => 'number') for @{$c->{worst}};
        has("$label: plain", $c->{plain}, rejected => 'number',
            clients_rejected => 'number') if $c->{plain};
        is($c->{plain}, undef, '... nothing to compare with')
            if $name !~ /count/;
        like($c->{zone}, qr/\A slidewin_zone\ \S+\ zone=\w+:\d+[km]?
                            \ rate=\Q$c->{rate}\E (?:\ \w+=[^;\s]+)* ; \z/x,
             '... a line for nginx');
        cmp_ok($c->{zone_size}, '>=', 32768, '... of a size it takes');
        cmp_ok($c->{clients}, '>=', $c->{live_clients}, '... clients at once');
        ok($c->{rejected_at_least} <= $c->{rejected}
           && $c->{rejected} <= $c->{rejected_at_most}, '... bounds')
    }

    return;
}

my $json = SlidewinReplay::json(@all, $path);
shape($json, 'plain');
is(scalar @{$json->{candidates}}, 8, 'two rates by four algorithms');
is($json->{lines}, 200, 'lines');
is($json->{bad_lines}, 20, 'bad lines');
has('the first bad one', $json->{first_bad}, file => 'string',
    line => 'number', why => 'string', text => 'string');
is($json->{answered_429}, scalar(grep { $_ % 10 && $_ % 7 == 0 } 1 .. 200),
   'what was answered by 429 already');
is($json->{resolution}, 'second', 'resolution');
is($json->{from}, 1763300000, 'from');
is($json->{to}, 1763300019, 'to');
is($json->{candidates}[0]{first}{path}, '/caf%C3%A9',
   'a path is as the client sent it');
like(join(' ', @{$json->{notes}}), qr/\$msec/,
     'whole seconds: $msec would be exact');

$json = SlidewinReplay::json('--count', '4xx', '--cost', '2', '--ban',
                             '1m..1h', @all, $path);
shape($json, 'count, cost, ban');
like($json->{candidates}[0]{zone}, qr{ ban=1m\.\.1h;$},
     '... and nginx is told of it');
is_deeply([@{$json->{candidates}[0]}{qw(count cost ban)}],
          ['4xx', '2', '1m..1h'], '... are said');
is(type($json->{candidates}[0]{plain}), 'object',
   '... and what would be without');

$json = SlidewinReplay::json('--where', 'status = 429', @all, $path);
shape($json, 'where');
is($json->{where}, 'status = 429', '... is said');

$json = SlidewinReplay::json('--format', SlidewinReplay::format('own'),
                             '--key', '$remote_addr', $exact);
shape($json, 'auto');
is($json->{resolution}, 'millisecond', '... an exact log');
unlike(join(' ', @{$json->{notes}}), qr/\$msec/, '... needs no advice');
cmp_ok(abs($json->{from} - 1763300000.223), '<', 0.0005, '... from');
has('recommendation', $json->{recommendation}, rate => 'string',
    clients_rejected => 'number', clients => 'number', share => 'number',
    reasons => 'array') if defined $json->{recommendation};
ok(defined $json->{recommendation}, '... recommends a rate');

# The text itself: one object, and a number is a number for every reader.
my $said = SlidewinReplay::run('--json', @all, $path);
is($said->{exit}, 0, 'ends well');
is($said->{stderr}, '', 'nothing on standard error');
unlike($said->{stdout}, qr/\b(?:nan|inf|-0)\b/i, 'no number that is none');
like($said->{stdout}, qr/"from": ?1763300000(?:\.0+)?[,}\s]/,
     'a time has its digits');
like($said->{stdout}, qr/\}\n\z/, 'ends with a line');
is(SlidewinReplay::run('--json', @all, $path)->{stdout}, $said->{stdout},
   'says the same again');

done_testing();
