# Lines up to a minute out of order are sorted, and decide as if they had come in
# order. Later ones are left out, counted and told. Several files are merged by
# time, in whatever order they are given.

use strict;
use warnings;

use List::Util qw(shuffle);
use SlidewinReplay;
use Test::More;

my $seed = SlidewinReplay::seed();
my $dir = SlidewinReplay::directory();
my $begin = 1763300000000;
my @options = ('--key', '$remote_addr', '--rate', '4r/10s,3r/500ms',
               '--algorithm', 'all', '--format', SlidewinReplay::format('own'));

my $now = $begin;
my @requests = map {
    $now += 1 + int rand 600;
    { time => $now, client => '192.0.2.' . int rand 5, n => $_ }
} 1 .. 2000;

sub text {
    return join '', map { SlidewinReplay::line('own', $_) } @_;
}

# replay NAME, TEXT...: the figures, and every decision as TIME KEY CANDIDATE
# DECISION, of a file for each text
sub replay {
    my ($name, @texts) = @_;
    my @paths = map { SlidewinReplay::write("$dir/$name$_", $texts[$_]) }
                0 .. $#texts;
    my $json = SlidewinReplay::json(@options, '--decisions', "$dir/decisions",
                                    @paths);
    my @decisions = map { join ' ', @$_[2 .. 5] }
                    SlidewinReplay::decisions("$dir/decisions");

    unlink "$dir/decisions";

    return $json, \@decisions;
}

my ($in_order, $expected) = replay('order', text(@requests));

is(scalar @$expected, 8 * @requests, 'a decision for each request');

sub same {
    my ($name, @texts) = @_;
    my ($json, $decisions) = replay($name =~ s/\W+/-/gr, @texts);

    is($json->{out_of_order}, 0, "$name: none is left out");
    is_deeply([sort @$decisions], [sort @$expected], '... the same decisions');
    is_deeply([map { [@$_{qw(rejected clients_rejected peaks first)}] }
               @{$json->{candidates}}],
              [map { [@$_{qw(rejected clients_rejected peaks first)}] }
               @{$in_order->{candidates}}], '... the same figures');

    my @times = map { (split)[0] } @$decisions;
    is_deeply(\@times, [sort { $a <=> $b } @times], '... in order of time');

    return;
}

sub moved {
    my ($most) = @_;
    my %at = map { $_ => $_->{time} + int rand $most } @requests;

    return sort { $at{$a} <=> $at{$b} } @requests;
}

same('moved by up to a second', text(moved(1000)));
same('moved by up to 59 seconds', text(moved(59000)));

my @early = map { { %$_ } } @requests;
# the first one comes 60 seconds late
my @late = grep { $_->{time} <= $early[0]{time} + 60000 } @early[1 .. $#early];
same('a minute late', text(@late, $early[0], @early[@late + 1 .. $#early]));

my @parts = map { [] } 1 .. 4;
push @{$parts[rand @parts]}, $_ for @requests;
same('four files at once', map { text(@$_) } @parts);

my @chunks = map { [@requests[500 * $_ .. 500 * $_ + 499]] } 0 .. 3;
same('four files in order', map { text(@$_) } @chunks);
same('four files of which the last is first', map { text(@$_) } reverse @chunks);
same('four files in any order', map { text(@$_) } shuffle(@chunks));


# too late

my @ours = @requests[0 .. 999];
my @stray = map { { %$_, time => $requests[999]{time} - 60001 - 1000 * $_->{n},
                    client => '203.0.113.9' } }
            @requests[0 .. 2];
my $text = text(@ours, @stray, @requests[1000 .. 1999]);
my ($json, $decisions) = replay('stray', $text);

is($json->{out_of_order}, 3, 'lines that are too late are counted');
is($json->{bad_lines}, 0, '... not as bad ones');
is($json->{lines}, 2003, '... as lines');
is($json->{requests}, 2000, '... not as requests');
is_deeply([sort @$decisions], [sort @$expected], '... and decide nothing');
like(join(' ', @{$json->{notes}}), qr/order/, '... which a note tells');

my $said = SlidewinReplay::run(@options, "$dir/stray0");
like("$said->{stdout}$said->{stderr}",
     qr/\b3\b[^.]*order|order[^.]*\b3\b/, '... people, too');

done_testing();
