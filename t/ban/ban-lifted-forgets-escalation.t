# A DELETE by the API forgets the earlier bans of a client as well as the one
# that it lifts: with ban=TIME..MAX the next ban is as long as the first.

use strict;
use warnings;

use SlidewinBan;
use SlidewinStats;
use Test::More;

my $patience = SlidewinNginx::patience();

my $http = "slidewin_log_level notice key=on;\n" . join '', map { <<"END" }
    slidewin_zone \$arg_k zone=$_:1m rate=1r/40d algorithm=$_ ban=1s..1h;
END
    @SlidewinBan::ALGORITHMS;

my $server = SlidewinStats::location() . join '', map { <<"END" }
    location = /$_ { slidewin zone=$_; empty_gif; }
END
    @SlidewinBan::ALGORITHMS;

sub told { return SlidewinBan::told(@_) }

# becomes CASE, TOLD: requests until one is answered so; what the last one was
sub becomes {
    my ($case, $want) = @_;
    my $told;

    SlidewinNginx::until_true(sub {
        $told = told($case->{nginx}->get("/$case->{zone}?k=$case->{key}"));
        return $told eq $want;
    }, 20 * $patience);

    return $told;
}

# the lengths of the bans of the client that have begun, in seconds
sub lengths {
    my ($case) = @_;

    return join ' ', map { /, banned for (\d+)s, / }
           grep { /zone "$case->{zone}".*"$case->{key}"/ }
           SlidewinBan::begun($case->{nginx});
}

# all CASES, TOLD, NAME: asserts that each is answered so at some time; those who
# are banned wait together
sub all {
    my ($cases, $want, $name) = @_;

    is(becomes($_, $want), $want, "$_->{name}: $name") for @$cases;

    return;
}

my (@edges, @cases);

for my $store (SlidewinBan::stores()) {
    my @conf = (store => $store, http => $http, server => $server);
    my $nginx = SlidewinBan::edge(@conf);
    my $other = $store->{redis} ? SlidewinBan::edge(@conf) : undef;

    push @edges, $nginx, $other // ();

    for my $zone (@SlidewinBan::ALGORITHMS) {
        my %case = (name => "$store->{name}, $zone", nginx => $nginx,
                    zone => $zone, by => $nginx);

        $nginx->get("/$zone?k=warm");
        push @cases, { %case, key => 'here' }, { %case, key => 'kept' },
                     { %case, key => 'later' };
        push @cases, { %case, key => 'there', by => $other } if $other;
    }
}

my @during = grep { $_->{key} =~ /here/ } @cases;
my @later = grep { $_->{key} eq 'later' } @cases;
my @kept = grep { $_->{key} eq 'kept' } @cases;

$_->{name} .= ", $_->{key}" for @cases;

all(\@cases, '200 PASSED', 'it passes');
all(\@cases, '429 REJECTED', 'it is banned');

# the next ban begins when the first has ended

all([@during, @kept], '429 REJECTED', '... and again');
is(SlidewinStats::forget($_->{by}, $_->{zone}, $_->{key}), 204,
   "$_->{name}: the second ban is lifted") for @during;
all(\@during, '200 PASSED', '... it passes');

# when there is no ban to lift any more, but one to remember

SlidewinNginx::nap(1);
is(SlidewinStats::forget($_->{by}, $_->{zone}, $_->{key}), 204,
   "$_->{name}: forgotten after its ban") for @later;
all(\@later, '200 PASSED', '... it passes');

all([@during, @later, @kept], '429 REJECTED', '... and is banned');
all([@during, @later, @kept], '429 REJECTED', '... and again');

is(lengths($_), '1 2 1 2', "$_->{name}: after the DELETE as long as at first")
    for @during;
is(lengths($_), '1 1 2', "$_->{name}: after the DELETE as long as at first")
    for @later;
is(lengths($_), '1 2 4 8', "$_->{name}: without it longer and longer")
    for @kept;

$_->stop for @edges;

done_testing();
