# Every command that a page shows is run here, or by what the table below says.
# A command inside of a sentence or a table is one that build.sh knows.
# The module is installed as README.md says, its first configuration is started
# as printed, and answers as printed.

use strict;
use warnings;

use Cwd ();
use File::Find ();
use File::Temp ();
use SlidewinDocs;
use SlidewinNginx;
use SlidewinProcess;
use SlidewinRedis;
use Test::More;

my $root = SlidewinDocs::root();
my $help = `$root/build.sh help`;

# Of a verb of build.sh: the suite that runs it, "here", or "" for what the run
# of all suites itself does, or undoes.
my %verbs = (
    run => 't/tools/demo-works-as-printed.t',
    build => 't/tools/demo-works-as-printed.t',
    bench => 't/tools/bench-report.t',
    accuracy => 't/tools/accuracy-as-documented.t',
    pictures => 't/docs/pictures.t',
    screenshots => 't/docs/screenshots.t',
    env => 'here', help => 'here', version => 'here',
    test => '', asan => '', unit => '', fuzz => '', check => '', clean => '',
);

# Of the others: a suite, "here", or a file that has all options of the command.
my @others = (
    [qr{^curl .*http://localhost:8080/}, 't/tools/demo-works-as-printed.t'],
    [qr{^curl .*http://localhost/\S*$}, 'here'],
    [qr{^eval "\$\(\./build\.sh env\)"$}, 'here'],
    [qr{^install .*/usr/lib/nginx/modules "\$MODULE"$}, 'here'],
    [qr{^install .*/usr/local/\S+ (?:build/slidewin-replay|replay/\S+\.1)$}, 'here'],
    [qr{^slidewin-replay \S}, 'here'],
    [qr{^nginx -(?:t|V|s reload)$}, 'here'],
    [qr{^redis-cli \S}, 'here'],
    # a release: what it tests is what the run of all suites tests
    [qr{^\.\./slidewin-release/build\.sh test$}, ''],
    [qr{^git (?:clone|tag|push) }, ''],
    [qr{^\./configure .* && make(?: modules)?$}, 'tools/flavour.sh'],
);

my @suites;

File::Find::find({ no_chdir => 1, wanted => sub {
    push @suites, s{^\Q$root\E/}{}r if /\.t$/;
} }, "$root/t");

# who COMMAND: what runs it, and what is wrong with it
sub who {
    my ($command) = @_;

    if (my ($set, $verb, @words) = build($command)) {
        my @unknown = grep { $help !~ /^  .*\b$_\b/m } @$set;

        return undef, "help has no @unknown" if @unknown;
        return undef, "help has no verb $verb" if $help !~ /^  $verb\b/m;

        # a folder or a suite
        my @none = $verb =~ /^(?:test|asan)$/ ? grep {
            my $word = $_;
            $word !~ m{^(?:t/)?[A-Z/]+(?:\.t)?$}
                && !grep { index($_, $word) >= 0 } @suites;
        } @words : ();

        return undef, "there is no suite @none" if @none;
        return $verbs{$verb};
    }

    my ($found) = grep { $command =~ $_->[0] } @others;

    return $found && $found->[1];
}

# build COMMAND: of ./build.sh, variables it sets, the verb and the rest
sub build {
    my ($command) = @_;
    my ($set, $rest) = $command =~ m{^((?:[A-Z_]+=\S+ )*)\./build\.sh (.+)$}
        or return;

    return [$set =~ /([A-Z_]+)=/g], split ' ', $rest;
}

my $bad = 'FOO=1 ./build.sh test|./build.sh fly|./build.sh test no/such|rm -rf /';

for my $command (split /\|/, $bad) {
    my ($who) = who($command);

    is($who, undef, "'$command' would be noticed");
}

my @here;

for my $page (SlidewinDocs::pages()) {
    for my $fence (SlidewinDocs::fences($page, 'sh')) {
        my $where = "$page->{path}, line $fence->{line}";
        my @mine;

        for my $command (SlidewinDocs::commands($fence)) {
            my ($who, $why) = who($command);

            ok(defined $who, "$where: $command") or diag($why // 'unknown');
            $who //= '';
            push @mine, $command if $who eq 'here';

            if ($who =~ m{^t/}) {
                ok(-f "$root/$who", "... $who runs it");

            } elsif ($who =~ m{/}) {
                my $text = SlidewinNginx::slurp("$root/$who");
                my @options = $command =~ /(--[\w-]+)/g;

                is(join(' ', grep { index($text, $_) < 0 } @options), '',
                   "... $who does so");
            }
        }

        push @here, { where => $where, commands => \@mine } if @mine;
    }
}

# `./build.sh ...` inside of a sentence or a table

for my $page (SlidewinDocs::markdown()) {
    my @bad;

    for my $code (map { $_->[1] =~ /`([^`]+)`/g } @{$page->{prose}}) {
        my $command = $code =~ s/ & .*//r;

        build($command) or next;
        my ($who, $why) = who($command);
        push @bad, "$command: " . ($why // 'unknown') if !defined $who;
    }

    is(join(', ', @bad), '', "$page->{path}: build.sh knows its commands");
}

# CONTRIBUTING.md has all verbs

my ($tasks) = SlidewinDocs::page('CONTRIBUTING.md')->{text}
              =~ /^(\| task \|.*?)^$/ms;
my @missing = grep { $tasks !~ m{\./build\.sh $_\b} }
              $help =~ /^  ([a-z]+)\b.*?  /mg;

is("@missing", '', 'CONTRIBUTING.md: a task for each verb of build.sh');

# The machine of a user: nothing but its paths and ports differ.

# where build.sh looks for what a cut suite left behind
mkdir 't' unless -d 't';
my $dir = File::Temp->newdir('docs_XXXXXX', DIR => Cwd::getcwd() . '/t');
my $redis = SlidewinRedis->start;
my ($address, $app) = map { SlidewinProcess::own_address() } 1 .. 2;
my $owner = $$;

chmod 0755, $dir;
mkdir "$dir/logs";

END {
    my $rc = $?;
    my $pid = ($owner // 0) == $$ ? nginx_pid() : undef;
    kill 'TERM', $pid if $pid;
    $? = $rc;
}

sub nginx_pid {
    return SlidewinNginx::slurp("$dir/nginx.pid") =~ /^(\d+)\n/ ? $1 : undef;
}

my $functions = <<"END";
set -e
cd '$root'
nginx() {
    env -C '$dir' '@{[SlidewinNginx::binary()]}' -e '$dir/logs/error.log' \\
        -p '$dir' -c '$dir/nginx.conf' -g 'pid $dir/nginx.pid;' "\$@"
}
install() {
    local words=("\${@//\\/usr\\/lib\\/nginx\\/modules/$dir/modules}")
    command install "\${words[@]//\\/usr\\/local\\//$dir/local/}"
}
slidewin-replay() {
    local words=("\${@//\\/var\\/log\\/nginx\\//$dir/logs/}")
    env -C '$dir' local/bin/slidewin-replay "\${words[@]//\\/etc\\/nginx\\//$dir/}"
}
curl() {
    command curl -sS --max-time 30 "\${@//\\/\\/localhost\\///$address/}"
}
redis-cli() {
    command redis-cli -e -p @{[$redis->port]} "\$@"
}
END

# what the commands say, and whether they end well
sub shell {
    my ($name, @commands) = @_;
    my $script = join "\n", $functions, @commands, '';

    open my $file, '>', "$dir/script" or die "script: $!";
    print $file $script;
    close $file;

    my $said = `bash $dir/script 2>&1`;

    is($?, 0, "$name: @{[join '; ', @commands]}") or diag($said);

    return $said;
}

# README.md: install

my @readme = grep { $_->{where} =~ /^README.md/ } @here;
my ($install) = grep { "@{$_->{commands}}" =~ /\binstall / } @readme;
my ($try) = grep { "@{$_->{commands}}" =~ /\bcurl / } @readme;

ok($install && $try, 'README.md says how to install, and what to try') or do {
    done_testing();
    exit;
};

shell($install->{where}, @{$install->{commands}});
ok(-s "$dir/modules/ngx_http_slidewin_module.so", '... the module is there');
ok(-x "$dir/local/bin/slidewin-replay", '... and slidewin-replay');
ok(-s "$dir/local/share/man/man1/slidewin-replay.1", '... with its manual');

# ... the first configuration

my ($first) = grep { $_->{text} =~ /^http \{/m }
              SlidewinDocs::fences(SlidewinDocs::page('README.md'), 'nginx');
my $conf = $first->{text};
my $kept = join '', map { "${_}_temp_path $_; " }
           qw(client_body proxy fastcgi uwsgi scgi);

is(scalar($conf =~ s/127\.0\.0\.1:8081/$app/g), 2,
   'the first configuration has an application');
is(scalar($conf =~ s/listen 80;/listen $address;/g), 1, '... and a server');
is(scalar($conf =~ s/slidewin_api;/slidewin_api write=on;/g), 1,
   '... and an endpoint, which may write in what other pages show');
$conf =~ s/^http \{/http { access_log off; $kept/m;

open my $file, '>', "$dir/nginx.conf" or die "nginx.conf: $!";
print $file $conf;
close $file;

shell('it starts', 'nginx');
ok(SlidewinNginx::until_true(\&nginx_pid, 10), '... and serves');

# ... what to try: the fence has one request, which makes five with these

like(shell($try->{where}, @{$try->{commands}}), qr{^HTTP/1\.1 200 }m,
     '... a request passes');

my ($curl) = grep { /^curl / } @{$try->{commands}};

like(shell('again', $curl), qr{^HTTP/1\.1 200 .*^hello$}ms, '... it passes')
    for 2 .. 5;

my $rejected = shell('the sixth', $curl);

like($rejected, qr{^HTTP/1\.1 429 }m, '... is rejected');
like($rejected, qr/^Retry-After: (?:[1-9]|[1-5]\d|60)\r$/m,
     '... and told when to come back');

# a log for slidewin-replay: some clients, one of which guesses passwords

open $file, '>', "$dir/logs/access.log" or die "access.log: $!";

for my $second (10 .. 19) {
    printf $file qq(192.0.2.%d - - [18/Nov/2026:10:00:%d +0000] )
                 . qq("%s HTTP/1.1" %d 1 "-" "-"\n), $_->[0], $second, @$_[1, 2]
        for [$second, 'GET /search?q=a', 200], [99, 'POST /login', 401];
}

close $file;

# all others

for my $fence (@here) {
    next if $fence == $install || $fence == $try;
    my $said = shell($fence->{where}, @{$fence->{commands}});

    unlike($said, qr/^\{"error":|<html>/m, '... the endpoint answers')
        if "@{$fence->{commands}}" =~ m{/slidewin/};
    like($said, qr/\b(?:requests|rejected)\b/, '... slidewin-replay tells')
        if "@{$fence->{commands}}" =~ m{^slidewin-replay };
}

ok(-s "$dir/report.html", '... and writes a page');

my $pid = nginx_pid() // die 'nginx has ended';

kill 'QUIT', $pid;
ok(SlidewinNginx::gone($pid, 20), 'nginx ends');
unlike(SlidewinNginx::slurp("$dir/logs/error.log"),
       qr/\[(?:alert|crit|emerg)\]/, '... its log is clean');

done_testing();
