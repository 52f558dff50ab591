package SlidewinDocs;

# The pages: README.md, CONTRIBUTING.md, docs/ and examples/README.md. A page is
# { path, text, fences, prose, headings }; everything is by line, from 1.

use strict;
use warnings;
use utf8;

use Encode ();
use File::Basename ();
use File::Find ();
use SlidewinNginx ();
use Test::More ();

# the names of tests have what the pages have
binmode $_, ':encoding(UTF-8)'
    for map { Test::More->builder->$_ } qw(output failure_output todo_output);

sub root { return $ENV{SLIDEWIN_ROOT} // '.' }

# for users and operators; CONTRIBUTING.md may not be there
sub pages {
    my @docs = map { s{^.*/}{docs/}r } sort glob root() . '/docs/*.md';

    return map { page($_) } grep { -e root() . "/$_" }
           'README.md', 'CONTRIBUTING.md', @docs, 'examples/README.md';
}

# all of the repository
sub markdown {
    my $root = root();
    my @paths;

    File::Find::find({ no_chdir => 1, wanted => sub {
        my $path = s{^\Q$root\E/?}{}r;

        $File::Find::prune = 1 if $path =~ m{^(?:build|\.git)$};
        push @paths, $path if /\.md$/ && -f;
    } }, $root);

    return map { page($_) } sort @paths;
}

my %pages;

# page PATH: of the repository
sub page {
    my ($path) = @_;

    return $pages{$path} //= _parse($path);
}

sub _parse {
    my ($path) = @_;
    my $text = Encode::decode('UTF-8',
                              SlidewinNginx::slurp(root() . "/$path"));
    my $page = { path => $path, text => $text, fences => [], prose => [],
                 headings => [] };
    my ($fence, $n);

    for my $line (split /\n/, $text) {
        $n++;

        if ($fence) {
            if ($line =~ /^\s*```\s*$/) {
                undef $fence;

            } else {
                # one of a list is indented
                $line =~ s/^ {0,$fence->{indent}}// if $fence->{indent};
                $fence->{text} .= "$line\n";
            }

        } elsif ($line =~ /^( *)```\s*(\w*)/) {
            $fence = { path => $path, line => $n, indent => length $1,
                       language => $2, text => '' };
            push @{$page->{fences}}, $fence;

        } else {
            push @{$page->{prose}}, [$n, $line];
            push @{$page->{headings}}, $1 if $line =~ /^#{1,6} +(.*?)[ #]*$/;
        }
    }

    return $page;
}

# fences PAGE, LANGUAGE
sub fences {
    my ($page, $language) = @_;

    return grep { $_->{language} eq $language } @{$page->{fences}};
}

# prose PAGE: what is neither in a fence nor in `code`
sub prose {
    my ($page) = @_;
    my $text = join "\n", map { $_->[1] } @{$page->{prose}};

    $text =~ s/(`+)(?!`).+?(?<!`)\1(?!`)/x/sg;

    return $text;
}

# links PAGE: the targets of links and images
sub links {
    my ($page) = @_;
    my $text = prose($page);

    return ($text =~ /\]\(\s*<?([^\s()>]+(?:\([^\s()]*\))?)>?(?:\s+"[^"]*")?\)/g,
            $text =~ /^ *\[[^\]\n]+\]: +(\S+)/mg,
            $text =~ /\b(?:href|src|srcset)="([^"]+)"/g);
}

# anchors PAGE: as GitHub makes them of its headings
sub anchors {
    my ($page) = @_;
    my (%seen, @anchors);

    for my $heading (@{$page->{headings}}) {
        my $anchor = anchor($heading);
        my $times = $seen{$anchor}++;

        push @anchors, $times ? "$anchor-$times" : $anchor;
    }

    return @anchors, $page->{text} =~ /<a (?:id|name)="([^"]+)"/g;
}

sub anchor {
    my ($text) = @_;

    $text =~ s/!?\[([^\]]*)\]\([^)]*\)/$1/g;
    $text =~ s/\*+//g;
    $text = lc $text;
    $text =~ s/[^\w\- ]//g;
    $text =~ tr/ /-/;

    return $text;
}

# broken PAGE: links that lead nowhere in the repository
sub broken {
    my ($page) = @_;
    my $dir = File::Basename::dirname($page->{path});

    return grep { !_leads($dir, $page, $_) } links($page);
}

sub _leads {
    my ($dir, $page, $link) = @_;

    return 1 if $link =~ /^(?:https?|mailto):/;

    my ($path, $anchor) = $link =~ /^([^#]*)(?:#(.+))?$/ or return 0;

    if (length $path) {
        $path = _resolved("$dir/$path") // return 0;
        -e root() . "/$path" or return 0;
        $path !~ m{^build(?:/|$)} or return 0;
        $page = $path =~ /\.md$/ ? page($path) : undef;
    }

    return 1 if !defined $anchor;

    return $page && grep { $_ eq $anchor } anchors($page);
}

# without . and ..; undef for what is not in the repository
sub _resolved {
    my @parts;

    for my $part (split m{/}, $_[0]) {
        next if $part eq '' || $part eq '.';

        if ($part eq '..') {
            @parts or return;
            pop @parts;
            next;
        }

        push @parts, $part;
    }

    return join '/', @parts;
}

# commands FENCE: of a shell, one a line, without comments
sub commands {
    my ($fence) = @_;
    my $text = $fence->{text};

    $text =~ s/\\\n\s*//g;

    return grep { length } map { s/(?:^|\s)#\s.*$//r =~ s/^\s+|\s+$//gr }
           split /\n/, $text;
}

1;
