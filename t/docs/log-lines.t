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
    $text =~ s/, server: .*//;
    $text =~ s/, client: [^,]+//;

    return grep { / / && !/$foreign/ } map { s/^\s+|\s+$//gr }
           split /"[^"]*"|…\w*|\.\.\.|\b\d+[^\s:,;]*|[:,;]|\s[A-Z]\b/,
                 $text;
}

# known PART: as it is, or the one half of it put into the other
sub known {
    my ($part) = @_;

    return 1 if $texts =~ /(?<!\w)\Q$part\E(?!\w)/;

    while ($part =~ / /g) {
        my ($left, $right) = ($`, $');

        return 1 if $texts =~ /\Q$left\E ?\n/ && $texts =~ /\n ?\Q$right\E/;
    }

    return 0;
}

is(join('|', parts('2026/11/18 06:52:21 [error] 2733#0: *6 limiting requests,'
                   . ' excess: 1.000 by zone "login", client: 127.0.0.1, rate:'
                   . ' 5r/m, retry after: 60s, 7 more like it in the last 9ms,'
                   . ' server: , request: "GET /a b HTTP/1.1"')),
   'limiting requests|by zone|retry after|more like it in the last',
   'the parts of a line');

ok(known('limiting requests'), 'a part is known');
ok(known('rejecting request uncounted by zone'), '... or two of them');
ok(!known('rejecting requests by zone'), '... or not');
ok(!known('limiting request'), '... or it is not, whole');

my $begins = qr/(?:slidewin\ (?:redis|zone|left|")|limiting\ re|rejecting\ re
                 |delaying\ re|passing\ re|dry\ run:\ |…,\ |retry\ after:
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
