# A module that is loaded but not configured adds no handler and changes
# nothing.

use strict;
use warnings;

use SlidewinNginx;
use Test::More;

my %used = (
    'no directive' => '',
    'a zone' => 'slidewin_zone $arg_k zone=a:1m rate=1r/40d;',
    'a zone and settings' => 'slidewin_zone $arg_k zone=a:1m rate=1r/40d;
                              slidewin_headers ietf legacy;
                              slidewin_dry_run on; slidewin_status 503;',
);

# The lines that a debug build logs for each access handler it calls.
sub access_handlers {
    my ($nginx) = @_;

    $nginx->get('/free');

    return scalar(() = $nginx->error_log =~ /access phase: \d+/g);
}

my $main = 'error_log logs/error.log debug;';
my $nginx = SlidewinNginx->start(module => 0, main => $main);
my $handlers = access_handlers($nginx);
$nginx->stop(name => 'not loaded');

cmp_ok($handlers, '>', 0, 'nginx tells of its access handlers');

for my $name (sort keys %used) {
    $nginx = SlidewinNginx->start(http => $used{$name}, main => $main);

    is(access_handlers($nginx), $handlers,
       "$name: as many access handlers as without the module");

    my @answers = map { $nginx->get('/free?k=1') } 1 .. 3;

    is(SlidewinNginx::tally(map { $_->{status} } @answers), '200 x3',
       "$name: requests are served");
    is(join(' ', grep { /^x-(?!pid)|limit|retry/ }
                 map { keys %{$_->{header}} } @answers),
       '', '... without a variable or field of the module');

    $nginx->reload;
    is($nginx->get('/free')->{status}, 200, '... after a reload, too');

    $nginx->stop(name => $name);
}


# the first limit installs the handler, a reload without limits removes it

my $http = 'slidewin_zone $arg_k zone=a:1m rate=1r/40d;';
my $server = 'location = /a { slidewin zone=a; empty_gif; }';

$nginx = SlidewinNginx->start(http => $http, server => $server,
                              main => $main);

is($nginx->get('/a?k=1')->{header}{'x-status'}, 'PASSED', 'a limit is used');
is($nginx->get('/free')->{header}{'x-status'}, undef,
   '... but not where there is none');

$nginx->reload(server => 'location = /a { empty_gif; }');

is(join(' ', map { $_->{status} . ($_->{header}{'x-status'} // '') }
             map { $nginx->get('/a?k=1') } 1 .. 3), '200 200 200',
   'a reload without it: nothing is limited');

$nginx->reload(server => $server);

is($nginx->get('/a?k=1')->{status}, 429, 'a reload with it: it is again');

$nginx->stop(name => 'used');


# a configuration without http{}

$nginx = SlidewinNginx->start(http_block => '');
is(scalar($nginx->workers), 1, 'no http: nginx runs');
$nginx->stop(name => 'no http');

done_testing();
