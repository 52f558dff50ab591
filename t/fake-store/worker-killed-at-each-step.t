# A worker is killed at each step of a change to a zone, until the change has no
# further step. The other worker goes on, no client gets more than its limit,
# uninvolved clients lose nothing, and no memory is lost.

use strict;
use warnings;

use SlidewinNginx;
use SlidewinRedis;
use Test::More;

my $killed = qr/exited on signal 9|was locked by/;
my $patience = 5 * SlidewinNginx::patience();
my $limit = 5;
my @changes = (qw(insert count evict refund reset),
               map { "log_$_" } qw(insert count grow refund reset
                                   sorted sorted_reset));
my @zones = (@changes, 'fresh', 'log_fresh');
my $redis = SlidewinRedis->start;

sub zone {
    my ($name) = @_;
    my $algorithm = $name =~ /^log/ ? 'log' : 'counter';
    my $units = $name =~ /grow/ ? 40 : $limit;

    return "slidewin_zone \$arg_k zone=$name:32k rate=${units}r/40d
                          algorithm=$algorithm store=local;\n";
}

my $nginx = SlidewinNginx->start(
    workers => 2,
    http => "slidewin_redis @{[$redis->url]} timeout=20s connect_timeout=20s;
             slidewin_zone \$arg_k zone=lease:64k rate=60r/40d lease=50%;
             slidewin_zone \$arg_k zone=deny:64k rate=1r/40d deny_cache=1m;"
            . join('', map { zone($_) } @zones),
    server => 'location = /steps { slidewin_test_steps; }'
              . join('', map {
                  "location = /$_ { slidewin zone=$_; empty_gif; }
                   location = /peek_$_ { slidewin zone=$_ cost=0; empty_gif; }
                   location = /refund_$_ { slidewin zone=$_ count=404;
                                           empty_gif; }
                   location = /reset_$_ { slidewin zone=$_ reset=200;
                                          empty_gif; }"
              } @zones, qw(lease deny)),
);

my $two = $nginx->client_of(($nginx->workers)[0]);
my $pid = $two->get('/free')->{header}{'x-pid'};
my $one;

sub doomed {
    return if $one && $one->{socket};

    my @others;

    SlidewinNginx::until_true(sub {
        @others = grep { $_ != $pid } $nginx->workers;
    }, $patience) or die 'no other worker';

    $one = $nginx->client_of($others[0]);

    return;
}

sub admitted { return scalar grep { $_ == 200 } @_ }

sub left {
    my ($zone, $key) = @_;

    return $two->get("/peek_$zone?k=$key")->{header}{'x-remaining'};
}

# walk ZONE, URI, LOW, HIGH, PREPARE: kills the worker at each step of a request
# to the URI with a new key; then LOW to HIGH more requests are admitted
sub walk {
    my ($zone, $uri, $low, $high, $prepare) = @_;
    my @bystanders = map { "by$_" } 1 .. 10;
    my ($n, $died) = (0, 1);
    my (@late, @few, @many, @lost);

    $two->statuses(map { ("/$zone?k=$_") x 3 } @bystanders);
    my $of = left($zone, 'by1');

    while ($died && $n < 300) {
        my $key = 'key' . ++$n;

        $prepare->($key) if $prepare;
        $two->get("/$zone?k=last$n");
        $two->get("/peek_$zone?k=by$_") for 1 .. 10;
        doomed();
        $one->get("/steps?n=$n");
        $one->get("$uri&k=$key");

        # some changes come after the response
        $died = $one->get('/free')->{status} == 0;

        my $since = SlidewinNginx::now();
        push @lost, $n if grep { left($zone, $_) != $of } @bystanders;
        push @late, $n if SlidewinNginx::now() - $since > $patience;

        my $more = admitted($two->statuses(("/$zone?k=$key") x ($high + 2)));
        push @few, $n if $more < $low;
        push @many, $n if $more > $high;
    }

    $one->get('/steps?n=0');

    cmp_ok($n, '>', 3, "$zone: @{[$n - 1]} steps");
    ok(!$died, '... are all there are');
    is("@late", '', '... the other worker goes on');
    is("@many", '', '... the client gets no more than its limit');
    is("@few", '', '... nor less than it must');
    is("@lost", '', '... those beside it have what they had');

    return;
}

sub fill {
    my ($zone) = @_;
    my @keys = map { "fill$_" } 1 .. 400;

    $two->statuses(map { "/$zone?k=$_" } @keys);

    my $of = left($zone, 'unknown');
    return scalar grep { left($zone, $_) < $of } @keys;
}

# each at a time of its own, so that it is an entry of its own
sub one_by_one {
    my ($zone, $key, $n) = @_;

    for (1 .. $n) {
        $two->get("/$zone?k=$key");
        SlidewinNginx::nap(0.0015);
    }

    return;
}

# a client that was refunded what it used last, and others beside it: all of
# them expire before one that was counted earlier
sub sorted {
    my ($zone) = @_;
    my @others = map { "other$_" } 1 .. 8;

    one_by_one($zone, $_, 1) for @others;

    return sub {
        my ($key) = @_;

        one_by_one($zone, $key, 2);
        one_by_one($zone, "latest$key", 1);
        $two->statuses(map { "/refund_$zone?k=$_" } $key, @others);
    };
}

for my $log ('', 'log_') {
    my $of = sub {
        my ($zone) = @_;
        return sub { one_by_one("$log$zone", $_[0], 2) };
    };

    walk("${log}insert", "/${log}insert?", 4, 5);
    walk("${log}count", "/${log}count?", 2, 3, $of->('count'));
    walk("${log}refund", "/refund_${log}refund?", 2, 3, $of->('refund'));
    walk("${log}reset", "/reset_${log}reset?", 2, 5, $of->('reset'));
}

walk('log_sorted', '/log_sorted?', 2, 3, sorted('log_sorted'));
walk('log_sorted_reset', '/reset_log_sorted_reset?', 2, 5,
     sorted('log_sorted_reset'));
walk('log_grow', '/log_grow?', 25, 26, sub { one_by_one('log_grow', @_, 14) });

fill('evict');
walk('evict', '/evict?', 4, 5);

cmp_ok($nginx->errors(qr/has been repaired/), '>', 50,
       'zones have been repaired');

for my $zone (@changes) {
    my $fresh = $zone =~ /^log/ ? 'log_fresh' : 'fresh';
    is(fill($zone), fill($fresh), "$zone: all of the memory is there");
}


# what is counted in other stores

my (@many, @wrong);
my ($n, $died) = (0, 1);

while ($died && $n < 300) {
    my $key = 'lease' . ++$n;

    doomed();
    $one->get("/steps?n=$n");

    # the first two are counted, then the log grows with each
    my @statuses = map { $one->get("/lease?k=$key")->{status} } 1 .. 5;
    $died = $one->get('/free')->{status} == 0;

    my $count = admitted(@statuses, $two->statuses(("/lease?k=$key") x 62));
    push @many, $n if $count > 60;
}

$one->get('/steps?n=0');
cmp_ok($n, '>', 3, "lease: @{[$n - 1]} steps");
is("@many", '', '... and no client gets more than its limit');

($n, $died) = (0, 1);

while ($died && $n < 300) {
    my $key = 'deny' . ++$n;

    $two->get("/deny?k=$key");
    doomed();
    $one->get("/steps?n=$n");
    my $status = $one->get("/deny?k=$key")->{status};
    $died = $status == 0;
    push @wrong, $n if !$died && $status != 429;
    push @wrong, $n if grep { $_ != 429 } $two->statuses(("/deny?k=$key") x 2);
}

cmp_ok($n, '>', 3, "deny: @{[$n - 1]} steps");
is("@wrong", '', '... and each is refused');

$_->close for $one, $two;
$nginx->stop(allow => $killed);

done_testing();
