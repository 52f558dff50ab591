# A dry run that would reject logs one line per request, however often nginx
# passes the same limits within it.

use strict;
use warnings;

use SlidewinNginx;
use Test::More;

my $nginx = SlidewinNginx->start(
    # lines that the log throttle leaves out appear at debug, and no others do
    http => 'error_log logs/error.log debug_mail;
             slidewin_log_level error key=on;
             slidewin_zone $arg_k zone=one:1m rate=1r/h algorithm=log;
             slidewin_zone $arg_k zone=two:1m rate=1r/h algorithm=log;',
    server => 'root html;
               location /index/ { slidewin zone=one dry_run; }
               location /try/ {
                   slidewin zone=one dry_run;
                   try_files $uri /try/file?$args;
               }
               location /error/ {
                   slidewin zone=one dry_run;
                   error_page 404 /error/page.html;
               }
               location /rewrite/ {
                   slidewin zone=one dry_run;
                   error_page 404 = /index/file?$args;
               }
               location /enforced/ {
                   slidewin zone=one;
                   error_page 429 /enforced/page.html;
               }
               location /more/ {
                   slidewin zone=one dry_run;
                   error_page 404 = /both/file?$args;
               }
               location /both/ {
                   slidewin zone=one dry_run;
                   slidewin zone=two dry_run;
               }',
);

for (qw(index/index.html index/file try/file error/page.html
        enforced/page.html enforced/file both/file))
{
    my ($dir, $name) = split m{/};

    mkdir $nginx->root . '/html';
    mkdir $nginx->root . "/html/$dir";
    open my $file, '>', $nginx->root . "/html/$dir/$name" or die "$_: $!";
    print {$file} "content\n";
    close $file;
}

sub lines_of {
    my ($key) = @_;

    return scalar $nginx->errors(qr/ excess: 1\.000 by zone .*, key: "$key"/);
}

# LOCATION, STATUS, X-Status, lines of the second request
for (['index/', 200, 'REJECTED_DRY_RUN', 1],
     ['try/it', 200, 'REJECTED_DRY_RUN', 1],
     ['error/nothing', 404, 'REJECTED_DRY_RUN', 1],
     ['rewrite/nothing', 200, 'REJECTED_DRY_RUN', 1],
     ['enforced/file', 429, 'REJECTED', 1],
     # the redirect met a limit that had not been checked before
     ['more/nothing', 200, 'REJECTED_DRY_RUN', 2])
{
    my ($uri, $status, $told, $lines) = @$_;
    my $key = $uri =~ s{/.*}{}r;

    is($nginx->get("/$uri?k=$key")->{header}{'x-status'}, 'PASSED',
       "/$uri: the first passes");
    is(lines_of($key), 0,
       '... without a word');

    for my $n (1 .. 3) {
        my $answer = $nginx->get("/$uri?k=$key");

        is($answer->{status}, $status, "... request $n after it");
        is($answer->{header}{'x-status'}, $told, "... is told $told");
        is(lines_of($key), $n * $lines,
           $lines == 1 ? '... and logged once'
                       : '... and logged once for each time it was asked');
    }
}

$nginx->stop;

done_testing();
