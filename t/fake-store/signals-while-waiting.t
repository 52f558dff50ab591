# Signals to nginx while requests wait for a store.

use strict;
use warnings;

use SlidewinNginx;
use Test::More;

my $delay = 3;

my %conf = (
    workers => 2,
    http => "slidewin_log_level info;
             slidewin_test_store slow delay=${delay}s;
             slidewin_zone \$arg_k zone=a:1m rate=30r/40d algorithm=log
                           store=slow;",
    server => 'location = /a { slidewin zone=a; empty_gif; }
               location = /status { stub_status; }',
);

sub waiting {
    my ($nginx) = @_;
    my @clients = $nginx->clients(50);

    $_->request('/a?k=hot') for @clients;
    $nginx->busy(50) or die 'they do not wait';

    return @clients;
}

sub tally { return SlidewinNginx::tally(map { $_->answer->{status} } @_) }


my $nginx = SlidewinNginx->start(%conf);
my @clients = waiting($nginx);
my @all = ($nginx->master, $nginx->workers);

$nginx->signal('QUIT');
is(tally(@clients), '200 x30, 429 x20', 'QUIT: all are answered');
ok(SlidewinNginx::all_gone(@all), '... and the processes gone soon');
is(scalar($nginx->errors(qr/exited on signal/)), 0, '... cleanly');
$nginx->stop(name => 'QUIT');


# TERM does not wait for the store

$conf{http} =~ s/delay=\S+/delay=60s;/;

for my $signal (qw(TERM INT)) {
    $nginx = SlidewinNginx->start(%conf);
    @clients = waiting($nginx);
    @all = ($nginx->master, $nginx->workers);

    $nginx->signal($signal);
    is(tally(@clients), '0 x50', "$signal: none is answered");
    ok(SlidewinNginx::all_gone(@all), '... and the processes gone soon');
    is(scalar($nginx->errors(qr/exited on signal/)), 0, '... cleanly');
    $nginx->stop(name => $signal);
}


# QUIT, then the clients leave

$nginx = SlidewinNginx->start(%conf);
@clients = waiting($nginx);
@all = ($nginx->master, $nginx->workers);

$nginx->signal('QUIT');
SlidewinNginx::nap(0.3);
is(scalar(grep { SlidewinNginx::alive($_) } @all), 3,
   'QUIT waits for requests that wait');

$_->close for @clients;
ok(SlidewinNginx::all_gone(@all), '... and no longer than for their clients');
is(scalar($nginx->errors('call cancelled')), 50,
   '... whose calls are cancelled');
$nginx->stop(name => 'clients leave');


# after requests have waited and were answered nothing keeps a worker from
# exiting

$conf{http} =~ s/delay=\S+/delay=1s;/;
$nginx = SlidewinNginx->start(%conf);
@clients = waiting($nginx);

is(tally(@clients), '200 x30, 429 x20', 'all are answered');

@all = ($nginx->master, $nginx->workers);
$nginx->signal('QUIT');
ok(SlidewinNginx::all_gone(@all), 'idle after waiting: gone soon');
$nginx->stop(name => 'idle');


# an upgrade to a new binary while requests wait in the old one

$conf{http} =~ s/delay=\S+/delay=3s;/;
$nginx = SlidewinNginx->start(%conf);

my $old = $nginx->master;
my %old = map { $_ => 1 } $nginx->workers;

@clients = waiting($nginx);

$nginx->signal('USR2');
ok(SlidewinNginx::until_true(sub {
    my $master = $nginx->master;
    return defined $master && $master != $old && $nginx->workers == 2;
}, 10 * SlidewinNginx::patience()), 'USR2: a second master with workers');

$nginx->signal('WINCH', $old);
$nginx->signal('QUIT', $old);

my @answers = map { $_->answer } @clients;

is(SlidewinNginx::tally(map { $_->{status} } @answers),
   '200 x30, 429 x20', 'WINCH, QUIT: all are answered');
is(scalar(grep { !$old{$_->{header}{'x-pid'} // ''} } @answers), 0,
   '... by the workers that took them');
ok(SlidewinNginx::all_gone($old, keys %old),
   '... and the old processes gone soon');
is($nginx->get('/a?k=hot')->{status}, 200, 'the new ones count anew');

$nginx->stop(name => 'new binary');

done_testing();
