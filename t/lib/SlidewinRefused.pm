# For suites of configurations that nginx refuses. A block has
#
#   --- zone        the arguments of a slidewin_zone, or http_config
#   --- config      as ever
#   --- emerg       the text of the line in the error log, to its end
#   --- place       the file and line that follow it, if not just nginx.conf
#   --- nowhere     no file and line follow it

package SlidewinRefused;

use strict;
use warnings;

use Test::Nginx::Socket ();

sub import {
    # an nginx that refuses to start leaves its memory to the system
    $ENV{ASAN_OPTIONS} =~ s/detect_leaks=1/detect_leaks=0/
        if defined $ENV{ASAN_OPTIONS};

    Test::Nginx::Socket::add_block_preprocessor(\&refuse);
}

sub refuse {
    my $block = shift;

    my $text = $block->emerg;
    chomp $text;

    if (defined $block->zone) {
        $block->set_value(http_config => 'slidewin_zone ' . $block->zone);
    }

    if (!defined $block->config) {
        $block->set_value(config => '');
    }

    my $where = ' in \S+/nginx\.conf:\d+';

    if (defined $block->place) {
        $where = ' in \S+/' . quotemeta $block->place;

    } elsif (defined $block->nowhere) {
        $where = '';
    }

    $block->set_value(must_die => 1);
    $block->set_value(suppress_stderr => '');
    $block->set_value(error_log =>
                      [qr{\[emerg\] \d+#\d+: \Q$text\E$where$}]);
}

1;
