package SlidewinBrowser;

# A real Chromium, which opens the dashboard of an nginx as people do.

use strict;
use warnings;

use JSON::PP ();
use SlidewinNginx ();
use SlidewinPeer ();

our @ISA = ('SlidewinPeer');

my $json = JSON::PP->new->ascii->canonical->allow_nonref;

# start: a browser that runs when this returns
sub start {
    my ($class) = @_;
    my $home = bless {}, $class;

    $home->make_directories('browser');

    my $self = $class->serve('browser', "$home->{root}/profile");
    @$self{qw(root sockets)} = @$home{qw(root sockets)};

    return $self;
}

sub stop {
    my ($self) = @_;

    return if !defined $self->{pid};
    my @lines = $self->SUPER::stop;
    $self->remove_directories;

    return @lines;
}

# order NAME, ARGUMENTS: what browser.py returns for it
sub order {
    my ($self, @order) = @_;
    my $answer = $self->tell($json->encode(\@order));

    die "the browser: $answer->{error}\n" if defined $answer->{error};

    return $answer->{value};
}

# dashboard ADDRESS, PREFIX: opens it; whether it comes to show figures. Zones
# outside of the window are laid out, too: a browser leaves that for later, and
# tells no text of them.
sub dashboard {
    my ($self, $address, $prefix) = @_;

    $self->order(open => "http://$address" . ($prefix // '/slidewin/'));
    $self->style('.zone { content-visibility: visible !important; }');

    return $self->is_live;
}

# style CSS: adds it to the page
sub style {
    my ($self, $css) = @_;

    return $self->order(script => <<'END', $css);
        const sheet = new CSSStyleSheet();
        sheet.replaceSync(arguments[0]);
        document.adoptedStyleSheets.push(sheet);
END
}

sub is_live {
    my ($self) = @_;

    return $self->shows(q{document.getElementById('mode')?.innerText === 'live'});
}

# refreshed: whether figures come that were asked for after this was called
sub refreshed {
    my ($self, $times) = @_;

    for (1 .. $times // 2) {
        my $asked = $self->value('page.asked ?? 0');
        $self->shows('page.asked > arguments[0] + 1', $asked) or return 0;
    }

    return 1;
}

# value EXPRESSION, ARGUMENTS: of JavaScript in the page
sub value {
    my ($self, $expression, @arguments) = @_;

    return $self->order(script => "return $expression", @arguments);
}

# shows EXPRESSION, ARGUMENTS: whether it comes to be true
sub shows {
    my ($self, $expression, @arguments) = @_;

    return SlidewinNginx::until_true(sub {
        return 1 if $self->value("Boolean($expression)", @arguments);
        SlidewinNginx::nap(0.05);
        return 0;
    }, 40 * SlidewinNginx::patience());
}

# reads PATTERN, SELECTOR: whether the text of the first such element, or of the
# page, comes to match
sub reads {
    my ($self, $pattern, $selector) = @_;
    my $text = '';

    SlidewinNginx::until_true(sub {
        $text = $self->text($selector);
        return 1 if $text =~ $pattern;
        SlidewinNginx::nap(0.05);
        return 0;
    }, 40 * SlidewinNginx::patience()) and return 1;

    Test::More::diag("the page shows: $text");
    return 0;
}

# text SELECTOR: what people see of it
sub text {
    my ($self, $selector) = @_;

    return $self->value('document.querySelector(arguments[0])?.innerText ?? ""',
                        $selector // 'body');
}

# texts SELECTOR: of all that are seen
sub texts {
    my ($self, $selector) = @_;

    return @{$self->value(<<'END', $selector)};
        Array.from(document.querySelectorAll(arguments[0]))
            .filter((e) => e.checkVisibility()).map((e) => e.innerText)
END
}

# press NAME: clicks on the button that has this name for a screen reader, once
# it is there
sub press {
    my ($self, $name) = @_;
    my $find = q{Array.from(document.querySelectorAll('button')).find((b) =>
                 (b.getAttribute('aria-label') || b.innerText).trim() === arguments[0]
                 && b.checkVisibility())};

    $self->shows($find, $name) or die "there is no button '$name'\n";

    return $self->order(click => "return $find", $name);
}

sub press_keys { my ($self, @keys) = @_; return $self->order(keys => @keys) }

# console: lines that a browser writes only if the page is wrong. That a request
# was not answered or refused is no fault of the page, and the browser always
# writes it.
sub console {
    my ($self) = @_;

    return grep { !/Failed to load resource/ } @{$self->order('console')};
}

# barriers: what keeps people from using the page, as lines
sub barriers {
    my ($self) = @_;
    my $root = $ENV{SLIDEWIN_ROOT} // '.';

    return @{$self->order(
        script => SlidewinNginx::slurp("$root/t/lib/peers/accessible.js"))};
}

# names ROLE: of all such parts, as a screen reader gets them
sub names {
    my ($self, $role) = @_;

    return map { $_->[1] } grep { $_->[0] eq $role } @{$self->order('tree')};
}

# requests: since the last call
sub requests { return @{$_[0]->order('requests')} }

1;
