# Equal requests of a worker that arrive while a check is in flight go together
# in the next check, a batch. Each is admitted or rejected, with the same
# numbers, as if they were checked one by one in the order they came.

use strict;
use warnings;

use Test::More;

use SlidewinNginx;
use SlidewinRedis;

my @algorithms = qw(counter fixed strict log);
my $redis = SlidewinRedis->start;
my @limits = (1, 2, 3, 7, 20, 40, 64, 100);

my $nginx = SlidewinNginx->start(
    http => "slidewin_redis @{[$redis->url]} timeout=30s connect_timeout=20s;
             slidewin_log_level info;
             " . join('', map {
                 my $algorithm = $_;
                 map { "slidewin_zone \$arg_k zone=$algorithm$_:1m
                        rate=${_}r/40d algorithm=$algorithm on_error=closed
                        deny_cache=off;\n" } @limits;
             } @algorithms),
    server => 'location = /status { stub_status; }
               add_header X-Source $slidewin_source always;
               add_header X-Zone $slidewin_zone always;
               add_header X-Retry $slidewin_retry_after always;
               ' . join('', map {
                   my $algorithm = $_;
                   "location = /two_$algorithm {
                        slidewin zone=${algorithm}20; slidewin zone=log40;
                        empty_gif;
                    }
                    location = /dry_$algorithm {
                        slidewin zone=${algorithm}20 dry_run; empty_gif;
                    }
                    "
                   . join('', map {
                       "location = /$algorithm$_ {
                            slidewin zone=$algorithm$_ cost=\$arg_c;
                            empty_gif;
                        }\n"
                   } @limits);
               } @algorithms));

my @clients = map { $nginx->client } 1 .. 64;
my $fresh = 0;

$_->get('/free') for @clients;
$clients[0]->get('/log100?c=1&k=warm');

sub fresh { return 'k' . ++$fresh }

sub calls { return scalar $redis->calls('evalsha') }

sub tally { return SlidewinNginx::tally(map { $_->{status} } @_) }

# 64 at once; in the order they came, which is that of the clients
sub burst {
    my ($uri) = @_;

    return $nginx->burst(\@clients, [[$uri]]);
}

# what 64 requests one after the other get
sub one_by_one {
    my ($uri) = @_;

    return map { $clients[0]->get($uri) } 1 .. 64;
}

sub told {
    return join "\n", map {
        my $h = $_->{header};
        "$_->{status} $h->{'x-status'} $h->{'x-source'} $h->{'x-zone'}"
        . " $h->{'x-remaining'} $h->{'x-estimate'}";
    } @_;
}

sub retries { return map { $_->{header}{'x-retry'} // '-' } @_ }

for my $algorithm (@algorithms) {
    for my $limit (@limits) {
        for my $cost (1, 3) {
            my ($k, $other) = (fresh(), fresh());
            my $before = calls();
            my @together = burst("/$algorithm$limit?c=$cost&k=$k");
            my $calls = calls() - $before;
            my @apart = one_by_one("/$algorithm$limit?c=$cost&k=$other");
            my $name = "$algorithm, $limit, cost $cost";
            my $fit = int $limit / $cost;

            $fit = 64 if $fit > 64;

            is(told(@together), told(@apart),
               "$name: each is told what it would be told alone");
            is(scalar(grep { $_->{status} == 200 } @together), $fit,
               "$name: $fit are admitted");
            cmp_ok($calls, '<=', 8, "$name: by $calls questions");

            my @late = grep { $_ > 10 } map {
                my ($is, $must) = @$_;
                $is eq $must ? 0 : $is eq '-' || $must eq '-' ? 99
                                                              : abs $is - $must;
            } map { [(retries(@together))[$_], (retries(@apart))[$_]] } 0 .. 63;
            # a moment of 40 days lies between them
            is(scalar(@late), 0, "$name: and when to come again");
            is($redis->command('STRLEN', "sw:{$k}:$algorithm$limit") > 0,
               $fit > 0, "$name: counted if any was");
        }
    }

    # requests that wait behind a rejected check need no check
    my $full = fresh();
    $clients[0]->get("/${algorithm}1?c=1&k=$full");
    my $asked = calls();
    $redis->signal('STOP');
    $clients[0]->request("/${algorithm}1?c=1&k=$full");
    ok($nginx->busy(1), "$algorithm: one is asked for");
    $_->request("/${algorithm}1?c=1&k=$full") for @clients[1 .. 63];
    ok($nginx->busy(64), '... and others come meanwhile');
    $redis->signal('CONT');
    is(tally(map { $_->answer } @clients), '429 x64',
       '... which is refused, and they are');
    is(calls() - $asked, 1, '... by one question');

    # cost 0 counts nothing
    my $before = calls();
    is(tally(burst("/${algorithm}7?c=0&k=" . fresh())), '200 x64',
       "$algorithm: looks");
    cmp_ok(calls() - $before, '<=', 8, '... together');

    # several limits, all or none
    my $k = fresh();
    $before = calls();
    my @both = burst("/two_$algorithm?k=$k");
    my $calls = calls() - $before;
    is(tally(@both), '200 x20, 429 x44', "$algorithm: two policies");
    is(join(' ', map { $_->{status} } @both),
       join(' ', (200) x 20, (429) x 44), '... in the order they came');
    cmp_ok($calls, '<=', 8, "... by $calls questions");
    is($clients[0]->get("/log40?c=0&k=$k")->{header}{'x-remaining'}, 20,
       '... and the wider one has counted as many');

    # a dry run is not batched
    $k = fresh();
    $before = calls();
    is(tally(burst("/dry_$algorithm?k=$k")), '200 x64',
       "$algorithm: a dry run");
    is(calls() - $before, 64, '... goes alone');
}

# Requests with another key or cost are not in the batch.
{
    my @uris = map { ["/log100?c=1&k=x$_"] } 1 .. 64;
    my $before = calls();

    is(tally($nginx->burst(\@clients, \@uris)), '200 x64', '64 clients');
    is(calls() - $before, 64, '... ask for themselves');

    my $k = fresh();
    @uris = map { ["/log100?c=$_&k=$k"] } (1, 2) x 32;
    is(tally($nginx->burst(\@clients, \@uris)), '200 x64', 'two costs');
    is($clients[0]->get("/log100?c=0&k=$k")->{header}{'x-remaining'}, 4,
       '... each is counted as it is');
}

# requests that come while a check is in flight are one batch
{
    my $k = fresh();
    my $before = calls();

    $redis->signal('STOP');
    for (1 .. 5) {
        $clients[$_]->request("/log7?c=1&k=$k");
        $nginx->busy($_) or die 'it does not wait';
    }
    $redis->signal('CONT');
    is(join(' ', map { $clients[$_]->answer->{header}{'x-remaining'} }
                 1 .. 5), '6 5 4 3 2', 'one after the other, in their order');
    is(calls() - $before, 2, '... in two questions');
}

$_->close for @clients;
$nginx->stop;

done_testing();
