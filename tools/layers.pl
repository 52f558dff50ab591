#!/usr/bin/perl
#
# usage: layers.pl DIRECTORY
#
# Checks what the sources of the module in DIRECTORY include. Fails, and says
# where, if a file includes one of a room above its own or of a room that it
# must not know, or if units include each other in a circle. A unit is a .c file
# with its header.

use strict;
use warnings;

use File::Find ();

my $MODULE = 'ngx_http_slidewin_module';

# From the lowest room to the highest: a file may include files of its own room
# and of rooms before it. The first pattern that matches a path tells its room.
my @ROOMS = (
    [sw => qr{^sw/}],
    [root => qr{^[^/]+\.h$|^ngx_http_slidewin_(?:refund|charge)\.c$}],
    [stats => qr{^stats/}],
    [shm => qr{^shm/}],
    [conf => qr{^conf/}],
    [cache => qr{^cache/}],
    [request => qr{^request/}],
    [api => qr{^api/}],
    ['redis/transport' => qr{^redis/transport/}],
    ['redis/topology' => qr{^redis/topology/|_redis_types\.h$}],
    ['redis/calls' => qr{^redis/calls/}],
    [redis => qr{^redis/}],
    [module => qr{^$MODULE\.c$}],
);

# Rooms below that are none of a room's business: requests know stores by
# backend.h, and the two stores do not know each other.
my %FOREIGN = (request => qr{^shm$});
$FOREIGN{$_} = qr{^(shm|cache|request|api)$}
    for 'redis/transport', 'redis/topology', 'redis/calls', 'redis';
$FOREIGN{$_} .= '|^conf$'
    for 'redis/transport', 'redis/topology', 'redis/calls';

my %LIBC = map { ("<$_.h>" => 1) } qw(
    arpa/inet assert ctype errno inttypes limits math stdarg stdatomic stdbool
    stddef stdint stdio stdlib string time
);

my ($directory) = @ARGV;
die "usage: layers.pl DIRECTORY\n" if @ARGV != 1;
chdir $directory or die "$directory: $!\n";

my @files;
File::Find::find(
    { no_chdir => 1, wanted => sub { push @files, $_ if s{^\./}{} && /\.[ch]$/ } },
    '.');
@files = sort @files;
die "$directory has no sources\n" if !@files;

my @found;
my %room = map { ($_ => room($_)) } @files;
my %path;
my %rank = map { ($ROOMS[$_][0] => $_) } 0 .. $#ROOMS;
my %uses;

for my $header (grep { /\.h$/ } @files) {
    my ($name) = $header =~ m{([^/]+)$};

    push @found, "$header: $path{$name} has the same name" if $path{$name};
    $path{$name} = $header;
}

check($_) for @files;
push @found, circles();

print "$_\n" for @found;
printf "%d files\n", scalar @files;
exit(@found ? 1 : 0);


sub room {
    my ($file) = @_;

    for (@ROOMS) {
        return $_->[0] if $file =~ $_->[1];
    }
    push @found, "$file: in no room that tools/layers.pl knows";
    return $ROOMS[-1][0];
}


# The module's header declares it for all rooms, its .c file is above them all.
sub unit {
    my ($file) = @_;

    return $file if $file eq "$MODULE.c";
    return $file =~ s/\.[ch]$//r;
}


sub check {
    my ($file) = @_;

    open my $source, '<', $file or die "$file: $!\n";

    while (<$source>) {
        next if !/^\s*#\s*include(.*)/;

        my ($name) = $1 =~ /^\s*(<[^>]+>|"[^"]+")/;
        my $why = defined $name ? forbidden($file, $name)
                                : 'a name must be on the line itself';
        push @found, "$file:$.: includes " . ($name // '') . ": $why" if $why;
    }
}


# Why the file may not include that, if so.
sub forbidden {
    my ($file, $name) = @_;

    my $room = $room{$file};
    my ($base) = $name =~ m{([^/<"]+)[>"]$};
    my $target = $path{$base};

    return 'only redis/ knows hiredis' if $name =~ /hiredis/ && $room !~ /^redis/;

    if (!defined $target) {
        return $room eq 'sw' && !$LIBC{$name}
            ? 'sw/ knows the C library and itself' : undef;
    }

    return 'files of the module are named as "name.h"' if $name ne qq{"$base"};

    $uses{unit($file)}{unit($target)} = 1 if unit($file) ne unit($target);

    my $lower = $room{$target};

    return "$room is below $lower" if $rank{$lower} > $rank{$room};
    return "$room does not know $lower"
        if $FOREIGN{$room} && $lower =~ $FOREIGN{$room};
    return;
}


# One circle for each unit that a walk along the includes meets again.
sub circles {
    my (%done, @circles, @walk);

    my $visit;
    $visit = sub {
        my ($unit) = @_;

        my ($met) = grep { $walk[$_] eq $unit } 0 .. $#walk;
        if (defined $met) {
            push @circles, 'circle: ' . join(' > ', @walk[$met .. $#walk], $unit);
            return;
        }
        return if $done{$unit}++;

        push @walk, $unit;
        $visit->($_) for sort keys %{ $uses{$unit} };
        pop @walk;
    };
    $visit->($_) for sort keys %uses;

    return @circles;
}
