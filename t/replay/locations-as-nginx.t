# slidewin-replay takes a request to be answered where nginx answers it, and
# limited by what limits it there: many servers with many locations, made at
# random, and what nginx itself says about each of a few thousand requests.

use strict;
use warnings;

use FindBin ();
use lib "$FindBin::Bin/../lib";

use File::Temp ();
use IPC::Open2 ();
use SlidewinNginx ();
use SlidewinRedis ();
use Test::More;

my $seed = $ENV{SLIDEWIN_SEED} // int rand 2**31;
srand $seed;
note "SLIDEWIN_SEED=$seed";

my @zones = map { "z$_" } 1 .. 20;
my $dir = File::Temp::tempdir('slidewin.XXXXXX', TMPDIR => 1, CLEANUP => 1);

# Each location tells its line, and the zone of the limit that was checked.
my @lines;

sub line { push @lines, $_[0]; return }

# here TEXT: a block's first line, which says its number
sub here {
    my ($text) = @_;
    my $n = @lines + 1;

    line("$text { add_header X-Place $n always;"
         . ' add_header X-Zone $slidewin_zone always;');

    return;
}

sub pick { return $_[rand @_] }

sub path {
    my ($from) = @_;

    $from = '/' if $from eq '';
    $from .= pick('a', 'b', 'ab', 'A', '/', '/a', '/b', '/ab/', '/a/', '.php')
        for 1 .. 1 + rand 3;
    $from =~ s{//+}{/}g;

    return $from;
}

sub regex {
    return pick('\.php$', '^/a/', '^/a', 'b$', '/a.*b', '^/(a|ab)/', '/b/',
                '/a', '^/$', 'ab', '^/[ab]+$', '"^/a{1,2}b"', '(?<n>b)/');
}

# What decides whether a limit is looked at, and which.
sub body {
    my ($level) = @_;
    my $what = rand;

    line('slidewin zone=' . pick(@zones) . ';') if $what < 0.4;
    line('slidewin off;') if $what > 0.9;
    line('if ($arg_x) { return 403; }') if rand() < 0.1;
    line('rewrite ^/nowhere /a' . pick('', ' permanent') . ';')
        if rand() < 0.1;

    return if $level eq 'server';

    line('break;') if rand() < 0.03;
    line('if ($arg_x) { set $x 1; } return 200;') if rand() < 0.07;
    line('internal;') if rand() < 0.05;
    line(rand() < 0.4 ? "proxy_pass http://unix:$dir/app;" : 'empty_gif;');

    return;
}

# locations PARENT, DEPTH: of a prefix, of a regular expression, or of a server
sub locations {
    my ($parent, $depth) = @_;
    my (%taken, @paths);

    for (1 .. ($depth == 0 ? 12 : rand 5)) {
        my $type = pick(('') x 4, '^~', '=', '=', '~', '~', '~*');

        if ($type =~ /~$|\*/ && $type ne '^~') {
            my $regex = regex();

            here("location $type $regex");
            body('location');
            # what is in it must begin with its text
            push @paths, locations($regex, $depth + 1)
                if $depth < 3 && $regex =~ m{^/\w*$} && rand() < 0.5;
            line('}');
            next;
        }

        my $path = rand() < 0.1 && $parent =~ m{^(?:/|$)} ? $parent || '/'
                                                          : path($parent);
        next if $taken{$type eq '=' ? 1 : 0, $path}++;
        push @paths, $path;

        here("location $type $path");
        body('location');
        push @paths, locations($path, $depth + 1)
            if $depth < 3 && $type ne '=' && rand() < 0.5;
        line('}');
    }

    return @paths;
}

# Several addresses would let slidewin-replay choose.
my $listen = "listen unix:$dir/http";

my @servers = (
    ['server_name a.example www.a.example', qw(a.example www.a.example A.Example
                                               a.example. a.example:8080)],
    ['server_name *.a.example', qw(x.a.example www.x.a.example)],
    ['server_name .b.example', qw(b.example x.b.example)],
    ['server_name *.x.b.example', qw(y.x.b.example)],
    ['server_name www.*', qw(www.c www.c.d)],
    ['server_name www.c.*', qw(www.c.e)],
    ['server_name ~^r\d+\.', qw(r1.example R2.example)],
    ['server_name ~^(r|s)\d+ t.example', qw(s1.example t.example)],
    ['server_name ~^[U]', qw(u.example U)],
    ['server_name _', qw(nobody.example localhost [::1] 127.0.0.1:80)],
    ['server_name v.example a.example', qw(v.example)],
    ['server_name w.example', qw(w.example)],
);

line("slidewin_zone \$uri zone=$_:32k rate=1000000r/s top=off;") for @zones;
line('slidewin zone=z1;');

my @asked;

for my $i (0 .. $#servers) {
    my ($names, @hosts) = @{$servers[$i]};

    here('server');
    line("$listen" . ($i == 9 ? ' default_server;' : ';'));
    line("$names;");
    body('server');
    line('return 404;') if $i == 11;

    my @paths = locations('', 0);
    line('location @named { empty_gif; }');
    line('}');

    my %uris = map { $_ => 1 } '/', map { path('') } 1 .. 100;
    for my $path (@paths) {
        $uris{$path}++;
        $uris{substr $path, 0, -1}++;
        $uris{"$path/"}++;
        $uris{$path . pick('a', 'b', '/a', 'x', '.php', '/x/b/', 'B')}++;
        $uris{path($path)}++;
        $uris{uc $path}++;
    }

    push @asked, map { [pick(@hosts), $_] }
                 grep { m{^/} && !m{//|/\.} } sort keys %uris;
    push @asked, map { [$_, '/' ] } @hosts;
}

line("server { listen unix:$dir/app; return 204; }");

open my $file, '>', "$dir/places.conf" or die "places.conf: $!";
print $file map { "$_\n" } @lines;
close $file;

# What slidewin-replay says.

my $root = SlidewinRedis::root();
my $source = "$root/ngx_http_slidewin_module/sw";
my @replay = map { glob "$root/replay/$_.c" }
             qw(replay replay_print replay_pool replay_regex replay_location replay_server
                replay_conf*);

system('gcc', '-std=gnu11', '-O1', '-g', '-Wall', '-Wextra', '-Werror',
       '-fsanitize=address,undefined', '-fno-sanitize-recover=all',
       "-I$source", "-I$root/replay", '-o', "$dir/places",
       "$root/t/lib/oracle/places.c", @replay, (glob "$source/sw_*.c"),
       '-lpcre2-8') == 0
    or die "places.c cannot be compiled\n";

my $nginx = SlidewinNginx->start(http_block => <<"END");
http {
    access_log off;
    keepalive_requests 100000;
    server_names_hash_bucket_size 128;
    proxy_temp_path proxy;
    client_body_temp_path body;
    fastcgi_temp_path fastcgi;
    uwsgi_temp_path uwsgi;
    scgi_temp_path scgi;
    include $dir/places.conf;
}
END

open my $questions, '>', "$dir/questions" or die "questions: $!";
print $questions map { "$_->[0]\t$_->[1]\n" } @asked;
close $questions;

chomp(my @said = `$dir/places @{[$nginx->root]}/nginx.conf < $dir/questions`);
is($?, 0, 'slidewin-replay reads what nginx reads');

# What nginx says.

my $client = SlidewinNginx::Client->new("$dir/http");
my (@wrong, %places, %limited);

for my $i (0 .. $#asked) {
    my ($host, $uri) = @{$asked[$i]};

    $client->write("GET $uri HTTP/1.1\r\nHost: $host\r\n\r\n");

    my $answer = $client->answer;
    my ($line, $zone) = map { $answer->{header}{$_} // '' }
                        qw(x-place x-zone);

    $places{$line}++;
    $limited{$zone ne ''}++;

    $client = SlidewinNginx::Client->new("$dir/http") if !$client->{socket};

    push @wrong, "$host$uri: nginx says line $line, zone '$zone', "
                 . 'slidewin-replay ' . ($said[$i] // 'nothing')
        if ($said[$i] // '') ne "$line\t$zone";
}

ok(!@wrong, 'each request is where nginx answers it, and limited as there')
    or diag("SLIDEWIN_SEED=$seed, of " . @asked . ' requests ' . @wrong
            . " are wrong:\n" . join "\n", @wrong[0 .. min(19, $#wrong)]);

cmp_ok(scalar @asked, '>', 600, 'many requests were compared');
cmp_ok(scalar keys %places, '>', 40, 'in many places');
cmp_ok($limited{1} // 0, '>', 100, 'many of them with a limit');
cmp_ok($limited{''} // 0, '>', 40, 'many of them without');

sub min { return $_[0] < $_[1] ? $_[0] : $_[1] }

done_testing();
