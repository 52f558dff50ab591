# Every file of examples/ can be copied: it loads as it is, in shared memory and
# with Redis, has a suite of its own, and is in the list.

use strict;
use warnings;

use File::Temp ();
use SlidewinExample;
use Test::More;

my $root = $ENV{SLIDEWIN_ROOT} // '.';
my @names = SlidewinExample::names();
my $list = SlidewinNginx::slurp("$root/examples/README.md");
my @listed = $list =~ /^\| \[(\S+)\.conf\]\(\g1\.conf\) \|/mg;
my %suite;

for my $path (glob "$root/t/examples/*.t") {
    push @{$suite{$_}}, $path
        for SlidewinNginx::slurp($path) =~ /SlidewinExample->start\('(\S+?)'/g;
}

cmp_ok(scalar @names, '>', 0, 'there are examples');
is(join(' ', sort @listed), join(' ', sort @names), 'the list has each of them');

# what nginx -t prints, and its exit code
sub tried {
    my ($text) = @_;
    my $dir = File::Temp->newdir;
    my $load = join '', map { "load_module $_;\n" }
               split ' ', $ENV{TEST_NGINX_LOAD_MODULES} // '';
    my $nginx = SlidewinNginx::binary();

    # nginx -t opens the socket
    $text =~ s/listen \d+/listen unix:$dir\/socket/ or return 'no listen', 1;
    $text =~ s{/var/log/nginx/}{$dir/}g;

    open my $file, '>', "$dir/nginx.conf" or die "nginx.conf: $!";
    print $file "${load}pid $dir/pid;\n$text";
    close $file;

    # nginx -t does not free its memory
    local $ENV{ASAN_OPTIONS} = ($ENV{ASAN_OPTIONS} // '') . ',detect_leaks=0';

    return scalar `$nginx -t -e stderr -p $dir -c $dir/nginx.conf 2>&1`, $?;
}

for my $name (@names) {
    my $text = SlidewinExample::text($name);
    my @wide = grep { length > 80 || /\t| $/ } split /\n/, $text;

    ok($suite{$name}, "$name.conf is run by a suite");
    is("@wide", '', '... fits a terminal');
    # a parser of the one may read neither
    unlike($text, qr/slidewin_headers[^;]*(?:ietf.*legacy|legacy.*ietf)/,
           '... has one kind of header fields');

    for my $store ('', "slidewin_redis redis://127.0.0.1:6379/0;\n") {
        my %common = SlidewinExample::common($name);

        $_ .= $store for grep { /^\nhttp/ } values %common;

        my ($said, $rc) = tried(SlidewinExample::text($name, %common));

        # "http2 on" would not load into an nginx before 1.25.1
        $said =~ s/^.*the "listen \.\.\. http2" directive is deprecated.*\n//m;

        is($rc, 0, '... loads' . ($store ? ' with Redis' : '')) or diag($said);
        unlike($said, qr/\[(?:warn|error|crit|alert|emerg)\]/,
               '... without a word');
    }
}

done_testing();
