# Allocations of a worker fail: a request fails at worst, and the limits hold.

use strict;
use warnings;

use SlidewinNginx;
use SlidewinPreload;
use Test::More;

my $memory = SlidewinPreload->memory;

my $limit = 400;

my $nginx = SlidewinNginx->start(
    env => {
        %{$memory->env},
        # freed memory is overwritten
        MALLOC_PERTURB_ => 165,
    },
    # small, so that hardly any two allocations of a request share a block
    http => "request_pool_size 128; connection_pool_size 128;
             log_format all '\$slidewin_status \$slidewin_source
                             \$slidewin_zone \$slidewin_limit
                             \$slidewin_remaining \$slidewin_reset
                             \$slidewin_retry_after \$slidewin_estimate
                             \$slidewin_latency \$slidewin_client';
             slidewin_headers ietf legacy; slidewin_log_level info;
             slidewin_zone key-\$arg_k zone=a:1m rate=${limit}r/40d
                           algorithm=log;
             slidewin_zone \$arg_k zone=b:1m rate=\$arg_r;",
    server => 'location = /one { slidewin zone=a; empty_gif; }
               location = /two { slidewin zone=a; slidewin zone=b cost=$arg_c;
                                 access_log logs/access.log all;
                                 empty_gif; }
               location = /page { slidewin zone=a; error_page 429 /one;
                                  empty_gif; }',
);

my ($worker) = $nginx->workers;
my $client = $nginx->client;

$client->get('/free');
cmp_ok($memory->found, '>=', 5, 'the allocations of the module are found');

my %name = (1 => 'module', 2 => 'malloc');
my @kinds = SlidewinNginx::asan() ? (1) : (1, 2);
my %uris = (
    one => '/one?k=one',
    two => '/two?k=two&r=1000r/40d&c=1',
    full => '/one?k=full',
    page => '/page?k=full',
);

$client->statuses(('/one?k=full') x $limit);
is($client->get('/one?k=full')->{status}, 429, 'a client is at its limit');

my %admitted;

for my $kind (@kinds) {
    for my $case (sort keys %uris) {
        my ($n, $failed, %statuses) = (0, 1);

        # fails the first allocation for a request, then the second, until there
        # are no more

        while ($failed && $n < 200) {
            $memory->fail(-$kind, ++$n);

            my $status = $client->get($uris{$case})->{status};

            # a response is sent before the log phase

            SlidewinNginx::until_true(sub { !$memory->at_work }, 10)
                or die 'the worker is at work for ever';

            $failed = $memory->failed;
            $memory->fail(0);

            $statuses{$status}++ if $failed;
            $admitted{$case}++ if $status == 200;
            $client = $nginx->client if !$client->{socket};
        }

        cmp_ok($n, '>', 3, "$name{$kind}, $case: every allocation fails once");
        is($failed, 0, "... all $n of them");
        is(join(' ', grep { !/^(?:200|429|500|0)$/ } keys %statuses), '',
           '... and at worst the request does');
        cmp_ok($statuses{500} // 0, '>', 0, '... as one does with 500');
        ok(!$statuses{200}, '... none is admitted at the limit')
            if $case eq 'full' || $case eq 'page';
    }

    # now every Nth allocation, also on new connections

    my %statuses;

    for my $every (2 .. 12) {
        $memory->fail($kind, $every, $every);

        for (1 .. 10) {
            my $patience = 5 * SlidewinNginx::patience();
            my $other = $nginx->client(timeout => $patience);
            $statuses{$other->get('/one?k=every')->{status}}++ for 1 .. 3;
        }

        $memory->fail(0);
    }

    $admitted{every} += $statuses{200} // 0;
    is(join(' ', grep { !/^(?:200|429|500|0)$/ } keys %statuses), '',
       "$name{$kind}, every second to twelfth: a request fails at worst");
}

is(($nginx->workers)[0], $worker, 'the worker is the same');
is(scalar($nginx->errors(qr/exited on/)), 0, '... none has died');

$client = $nginx->client;

for my $case (qw(one two every)) {
    my $more = $client->get($uris{$case} // '/one?k=every');
    my @statuses = $client->statuses(($uris{$case} // '/one?k=every')
                                     x ($limit + 1));
    my $all = $admitted{$case} + 1 + grep { $_ == 200 } @statuses;

    is($more->{status}, 200, "$case: admitted again");
    cmp_ok($all, '<=', $limit, '... never above the limit');
    is($statuses[-1], 429, '... which is reached');
}

is(SlidewinNginx::tally($client->statuses(('/one?k=new') x ($limit + 1))),
   "200 x$limit, 429 x1", 'another client has all of its limit');

$client->close;
$nginx->stop(allow => qr/\[emerg\].* (?:malloc|posix_memalign)\(/);

done_testing();
