# A log line that a page shows is one that the sources write: words that stand
# together in the page stand together in a text of the module.

use strict;
use warnings;
use utf8;

use Encode ();
use File::Find ();
use SlidewinDocs;
use Test::More;

my $root = SlidewinDocs::root();
my $texts = '';

# all texts; "a " "b" is one, and what is put in for a %V is unknown
File::Find::find({ no_chdir => 1, wanted => sub {
    return if !/\.[ch]$/;

    my $source = Encode::decode('UTF-8', SlidewinNginx::slurp($_));

    $source =~ s{/\*.*?\*/}{}sg;
    $source =~ s/(?<!\\)"\s*\n?\s*"//g;

    while ($source =~ /"((?:[^"\\\n]|\\.)*)"/g) {
        my $text = $1;

        $text =~ s/\\(.)/$1/g;
        $text =~ s/%[-\d*]*[a-zA-Z]{1,3}(?![a-z])|%\w+/\n/g;
        $texts .= "$text\n";
    }
} }, "$root/ngx_http_slidewin_module");

# what OpenSSL and nginx say
my $foreign = qr/^(?:certificate has expired|self-signed certificate\b.*)$/;

# parts TEXT: without what differs from line to line
sub parts {
    my ($text) = @_;

    $text =~ s/^\d{4}\S+ \S+ \[\w+\] \S+ (?:\*\d+ )?//;
    $text =~ s/, client: .*//;

    return grep { / / && !/$foreign/ } map { s/^\s+|\s+$//gr }
           split /"[^"]*"|…\w*|\.\.\.|\b\d+\S*|[:,;]|\s[A-Z]\b/, $text;
}

# known PART: as it is, or the one half of it put into the other
sub known {
    my ($part) = @_;

    return 1 if index($texts, $part) >= 0;

    while ($part =~ / /g) {
        my ($left, $right) = ($`, $');

        return 1 if $texts =~ /\Q$left\E ?\n/ && $texts =~ /\n ?\Q$right\E/;
    }

    return 0;
}

is(join('|', parts('2026/11/18 06:52:21 [error] 2733#0: *6 rejecting request by'
                   . ' zone "login", limit 5 in 60000ms, retry after 60s,'
                   . ' client: 127.0.0.1, server: ')),
   'rejecting request by zone|retry after', 'the parts of a line');

ok(known('rejecting request by zone'), 'a part is known');
ok(!known('rejecting requests by zone'), '... or not');

my $begins = qr/(?:slidewin\ (?:redis|zone|")|rejecting\ |delaying\ |passing\ re
                 |is\ lost|is\ back|is\ asked|is\ not\ asked|is\ where\ it
                 |is\ no\ longer|cannot\ be\ reached|goes\ back|tells\ |has\ no
                 |does\ not\ |invalid\ rate|invalid\ cost|its\ answer)/x;

my $number = 0;

for my $page (SlidewinDocs::pages()) {
    my @lines = map { split /\n/, $_->{text} }
                SlidewinDocs::fences($page, 'text');

    # ... and those in a sentence or a table
    push @lines, map { $_->[1] =~ /`([^`]+)`/g } @{$page->{prose}};

    for my $line (grep { /^(?:\d{4}\S+ \S+ \[\w+\] .*?)?$begins/ } @lines) {
        my @unknown = grep { !known($_) } parts($line);

        next if $line =~ /^slidewin zone=/;
        is(join('|', @unknown), '', "$page->{path}: $line");
        $number++;
    }
}

note("$number log lines");

done_testing();
