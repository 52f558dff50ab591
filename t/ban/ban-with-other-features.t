# Bans together with what else a policy and a location can have: count=, reset=,
# several policies, delay=, dry runs, error pages, rates of a variable.

use strict;
use warnings;

use SlidewinBan;
use SlidewinCount;
use SlidewinNginx;
use Test::More;

my $http = '
    map $arg_r $rate { default 3r/40d; more 100r/40d; bad none; }
    map $arg_b $cost { default $arg_b; "" 1; }
    slidewin_zone $arg_k zone=login:1m rate=5r/40d algorithm=log ban=10m;
    slidewin_zone $arg_k zone=lift:1m rate=5r/40d ban=10m;
    slidewin_zone $arg_k zone=first:1m rate=2r/40d algorithm=log ban=10s;
    slidewin_zone $arg_k zone=second:1m rate=100r/40d algorithm=log ban=1h;
    slidewin_zone $arg_k zone=third:1m rate=1r/200ms algorithm=log ban=1h;
    slidewin_zone $arg_k zone=plain:1m rate=1000r/40d algorithm=log;
    slidewin_zone $arg_k zone=wait:1m rate=1r/300ms algorithm=log ban=1500ms;
    slidewin_zone $arg_k zone=line:1m rate=1r/2s algorithm=log ban=1h;
    slidewin_zone $arg_k zone=dry:1m rate=1r/200ms algorithm=log ban=1h;
    slidewin_zone $arg_k zone=page:1m rate=1r/200ms algorithm=log ban=1h;
    slidewin_zone $arg_k zone=rate:1m rate=$rate ban=1h on_error=closed;
    slidewin_zone $arg_k zone=open:1m rate=1r/40d ban=1h on_error=open;
    slidewin_zone $arg_k zone=closed:1m rate=1r/40d ban=1h on_error=closed;
    slidewin_zone $arg_k zone=here:1m rate=1r/10s algorithm=log store=local;
    slidewin_zone $arg_k zone=short:1m rate=1r/10s algorithm=log;
    slidewin_zone $arg_k zone=trap:1m rate=1r/ms ban=1h;
    slidewin_zone $arg_k zone=quiet:1m rate=1r/40d ban=1h;
    error_log logs/error.log info;
';

my $server = '
    slidewin_log_level notice;
    add_header X-Zone $slidewin_zone always;
    add_header X-Ret $slidewin_retry_after always;
    location = /login {
        slidewin zone=login count=401;
        proxy_pass http://origin/$arg_s;
    }
    location = /held {
        slidewin zone=lift count=401 reset=302;
        proxy_pass http://held;
    }
    location = /lift {
        slidewin zone=lift count=401 reset=302;
        proxy_pass http://origin/$arg_s;
    }
    location = /lift_look { slidewin zone=lift cost=0; empty_gif; }
    location = /first { slidewin zone=first; empty_gif; }
    location = /all {
        slidewin zone=first; slidewin zone=second; slidewin zone=plain;
        empty_gif;
    }
    location = /both { slidewin zone=first; slidewin zone=third; empty_gif; }
    location = /third { slidewin zone=third; empty_gif; }
    location = /trap { slidewin zone=trap cost=2; empty_gif; }
    location = /trapped {
        slidewin zone=here; slidewin zone=trap cost=0; empty_gif;
    }
    location = /trapped_too {
        slidewin zone=short; slidewin zone=trap cost=0; empty_gif;
    }
    location = /here { slidewin zone=here; empty_gif; }
    location = /short { slidewin zone=short; empty_gif; }
    location = /look_plain { slidewin zone=plain cost=0; empty_gif; }
    location = /look_second { slidewin zone=second cost=0; empty_gif; }
    location = /wait { slidewin zone=wait delay=10s; empty_gif; }
    location = /wait_not { slidewin zone=wait; empty_gif; }
    location = /line { slidewin zone=line delay=3s; empty_gif; }
    location = /line_not { slidewin zone=line; empty_gif; }
    location = /dry { slidewin zone=dry dry_run; empty_gif; }
    location = /dry_not { slidewin zone=dry; empty_gif; }
    location = /page {
        slidewin zone=page;
        error_page 429 = /sorry;
        empty_gif;
    }
    location = /sorry { slidewin zone=page; return 403; }
    location = /named {
        slidewin zone=page;
        error_page 429 = @named;
        empty_gif;
    }
    location @named { rewrite ^ /200 break; proxy_pass http://origin; }
    location = /rate { slidewin zone=rate cost=$cost; empty_gif; }
    location = /open { slidewin zone=open cost=$cost; empty_gif; }
    location = /closed { slidewin zone=closed cost=$cost; empty_gif; }
    location = /quiet {
        slidewin zone=quiet; slidewin_log_level off; empty_gif;
    }
    location = /if { slidewin zone=quiet if=$arg_if; empty_gif; }
';

sub told { return SlidewinBan::told(@_) }

sub ask { return SlidewinBan::ask(@_) }

sub retry { return SlidewinBan::retry($_[0]) }

for my $place (SlidewinCount::stores()) {
    my $store = $place->name;
    my $nginx = $place->edge(http => $http, server => $server);
    my $client = $nginx->client;

    $client->get('/first?k=warm');

    # count=: five failed logins, and out

    is(SlidewinBan::tally(map { ask($client, '/login?k=a&s=200') } 1 .. 20),
       '200 PASSED x20', "$store, count=: what does not count bans nobody");
    is(SlidewinBan::tally(map { ask($client, '/login?k=a&s=401') } 1 .. 5),
       '401 PASSED x5', '... five failures pass');

    my $begin = ask($client, '/login?k=a&s=401');
    is(told($begin, ask($client, '/login?k=a&s=200')),
       '429 REJECTED, 429 BANNED', '... then the client is out');
    is(told(ask($client, '/login?k=b&s=401')), '401 PASSED',
       '... and nobody else');

    # reset=: of a request that was in progress when the ban began

    my $holds = $nginx->client;

    $holds->request('/held?k=a');
    is($place->held->has(1), 1, "$store, reset=: one is under way");
    is(SlidewinBan::tally(map { ask($client, '/lift?k=a&s=401') } 1 .. 4),
       '401 PASSED x4', '... four failures beside it');
    is(told(ask($client, '/lift?k=a&s=401'), ask($client, '/lift?k=a&s=200')),
       '429 REJECTED, 429 BANNED', '... and the client is banned');
    is(told(ask($client, '/lift_look?k=a')), '429 BANNED', '... for a look');
    $place->held->answer(302);
    is($holds->answer->{status}, 302, '... the first one succeeds');
    is(told(ask($client, '/lift?k=a&s=401')), '401 PASSED',
       '... which lifts the ban');
    is(ask($client, '/lift_look?k=a')->{header}{'x-remaining'}, 4,
       '... and clears what was counted');

    # of a request that ends otherwise, nothing is lifted

    $holds->request('/held?k=b');
    is($place->held->has(1), 1, '... another is under way');
    ask($client, '/lift?k=b&s=401') for 1 .. 5;
    is(told(ask($client, '/lift_look?k=b')), '429 BANNED', '... and is banned');
    $place->held->answer(200);
    is($holds->answer->{status}, 200, '... it ends');
    is(told(ask($client, '/lift_look?k=b')), '429 BANNED',
       '... and stays banned, though its unit is given back');

    # several policies: all or nothing

    is(SlidewinBan::tally(map { ask($client, '/all?k=a') } 1, 2),
       '200 PASSED x2', "$store, several: two pass");
    $begin = ask($client, '/all?k=a');
    is(told($begin), '429 REJECTED', '... the narrow one begins a ban');
    is($begin->{header}{'x-zone'}, 'first', '... which is told');
    is(SlidewinBan::tally(map { ask($client, '/all?k=a') } 1 .. 5),
       '429 BANNED x5', '... and holds');
    is(ask($client, '/look_plain?k=a')->{header}{'x-remaining'}, 998,
       '... no policy counts banned requests');
    is(told(ask($client, '/look_second?k=a'))
       . ask($client, '/look_second?k=a')->{header}{'x-remaining'},
       '200 PASSED98', '... and no other policy bans');

    # the longest wait is told, of bans and of windows

    my $second = SlidewinBan::until_rejected($client, '/third?k=c');
    is(retry($second), 3600, "$store, several: a ban of an hour");
    is(told(map { ask($client, '/first?k=c') } 1 .. 3),
       '200 PASSED, 200 PASSED, 429 REJECTED', '... and one of ten seconds');

    my $both = ask($client, '/both?k=c');
    is(told($both), '429 BANNED', '... together');
    cmp_ok(retry($both), '>', 86400, '... with the window of 40 days');
    is($both->{header}{'x-zone'}, 'first', '... of the policy that has it');

    $second = SlidewinBan::until_rejected($client, '/third?k=d');
    $both = ask($client, '/both?k=d');
    is(told($both), '429 BANNED', '... one ban');
    SlidewinBan::is_left($second, $both, 3600, '... is told alone');
    is($both->{header}{'x-zone'}, 'third', '... by its policy');
    is(told(map { ask($client, '/first?k=d') } 1 .. 2),
       '200 PASSED, 200 PASSED', '... and the other counts nothing of it');

    # a ban is looked at after another policy's refusal, also with a cost of 0,
    # wherever they live, and whatever an edge remembers of them

    for my $uri ('/here', '/short') {
        my $way = { '/here' => '/trapped', '/short' => '/trapped_too' }->{$uri};
        my $k = $uri =~ s{/}{}r;

        ask($client, "$uri?k=$k") for 1 .. 3;
        is(told(ask($client, "$way?k=$k")), '429 REJECTED',
           "$store, $way: rejected, and not in the trap");
        ask($client, "/trap?k=$k");

        # until the edge asks again what it remembers
        my $trapped;
        SlidewinNginx::until_true(sub {
            $trapped = ask($client, "$way?k=$k");
            return $store eq 'local'
                   || $trapped->{header}{'x-source'} eq 'redis';
        }, 20 * SlidewinNginx::patience());
        is(told($trapped), '429 BANNED', '... then in it');
        cmp_ok(retry($trapped), '>', 3500, '... for as long');
        is($trapped->{header}{'x-zone'}, 'trap', '... as its policy says');
    }

    # dry runs tell, and ban nobody

    my $seen = () = SlidewinBan::lines($nginx);
    my @dry = map { ask($client, '/dry?k=a') } 1 .. 4;
    like(told(@dry), qr/^(?:200 PASSED, ){1,3}200 REJECTED_DRY_RUN/,
         "$store, dry run: nobody is rejected");
    my @lines = grep { /zone "dry"/ } $nginx->errors(qr/would/);
    like($lines[0] // '', qr/would limit request, .*, would be banned for 3600s, /,
         '... the log tells of the ban');
    SlidewinNginx::nap(0.25);
    is(told(ask($client, '/dry?k=a')), '200 REJECTED_DRY_RUN',
       '... which would last');
    is(told(ask($client, '/dry_not?k=a')), '200 PASSED',
       '... and is none where limits are enforced');

    my $real = SlidewinBan::until_rejected($client, '/dry_not?k=b');
    is(told($real, ask($client, '/dry_not?k=b')), '429 REJECTED, 429 BANNED',
       '... there it begins by itself');
    SlidewinNginx::nap(0.25);
    is(told(ask($client, '/dry?k=b')), '200 PASSED',
       '... and a dry run does not know it');
    is(told(ask($client, '/dry_not?k=b')), '429 BANNED', '... but others do');

    # error pages: one ban, one decision

    $begin = SlidewinBan::until_rejected($client, '/page?k=a');
    my @begun = grep { /zone "page"/ } SlidewinBan::begun($nginx);
    is(scalar @begun, 1, "$store, error_page: one ban begins");
    SlidewinNginx::nap(0.25);
    is(ask($client, '/page?k=a')->{header}{'x-status'}, 'BANNED',
       '... the next is banned');
    is(told(ask($client, '/named?k=a')), '200 BANNED',
       '... whatever page a client gets instead');
    is(scalar(grep { /zone "page"/ } SlidewinBan::begun($nginx)), 1,
       '... and none begins by the page');

    # rates of a variable: a ban holds for any; a bad rate bans nobody

    is(SlidewinBan::tally(map { ask($client, '/rate?k=a&r=bad') } 1 .. 5),
       '503 ERROR_REJECTED x5', "$store: a bad rate bans nobody");
    is(SlidewinBan::tally(map { ask($client, '/rate?k=a&b=x') } 1 .. 5),
       '503 ERROR_REJECTED x5', '... nor a bad cost');
    is(told(map { ask($client, '/rate?k=a') } 1 .. 5),
       '200 PASSED, 200 PASSED, 200 PASSED, 429 REJECTED, 429 BANNED',
       '... a good one does');
    is(told(ask($client, '/rate?k=a&r=more')), '429 BANNED',
       '... whatever rate the next request has');
    is(told(ask($client, '/rate?k=a&r=bad')), '503 ERROR_REJECTED',
       '... but a bad one is an error');

    # a cost that is none, of a client that is banned: on_error decides, and
    # the ban stays

    for my $case ([open => '200 ERROR_PASSED'],
                  [closed => '503 ERROR_REJECTED'])
    {
        my ($mode, $told) = @$case;

        ask($client, "/$mode?k=a");
        $begin = ask($client, "/$mode?k=a");
        is(told($begin, ask($client, "/$mode?k=a")),
           '429 REJECTED, 429 BANNED', "$store, on_error=$mode: a ban begins");
        is(told(map { ask($client, "/$mode?k=a&b=$_") } 'x', -1, '1.5'),
           join(', ', ($told) x 3), '... on_error decides what a bad cost does');

        my $hit = ask($client, "/$mode?k=a");

        is(told($hit), '429 BANNED', '... the client is banned still');
        cmp_ok(retry($hit), '<=', retry($begin), '... and no longer for that');
    }

    # exempted requests

    ask($client, '/quiet?k=a') for 1 .. 2;
    is(told(ask($client, '/if?k=a&if=1'), ask($client, '/if?k=a&if=0')),
       '429 BANNED, 200 BYPASSED', "$store: if= exempts from bans, too");
    is(told(ask($client, '/if?k=&if=1')), '200 BYPASSED',
       '... and so does an empty key');
    is(scalar(grep { /zone "quiet"/ } SlidewinBan::begun($nginx)), 0,
       '... slidewin_log_level off tells nothing');

    # delay=: a request that may wait begins no ban

    ask($client, '/wait?k=a');
    is(told(ask($client, '/wait?k=a')), '200 DELAYED',
       "$store, delay=: one that may wait begins no ban");
    is(scalar(grep { /zone "wait"/ } SlidewinBan::begun($nginx)), 0,
       '... as the log says');

    # some wait, and another location bans the client

    my @waiting = map { $nginx->client } 1 .. 3;
    $_->request('/wait?k=a') for @waiting;
    ok($nginx->busy(3), '... three wait');
    $begin = ask($client, '/wait_not?k=a');
    is(told($begin), '429 REJECTED', '... one that may not begins a ban');
    # each was told at some time since
    my @told = map { {
        %{$_->answer}, from => $begin->{from}, to => SlidewinNginx::now(),
    } } @waiting;
    is(told(@told), join(', ', ('429 BANNED') x 3), '... of which they hear');
    SlidewinBan::is_left($begin, $_, 1.5, '... and what is left of it')
        for @told;
    is(told(ask($client, '/wait?k=a')), '429 BANNED',
       '... and a banned client does not queue');
    is(scalar(grep { /zone "wait"/ } SlidewinBan::begun($nginx)), 1,
       '... one line tells of it');
    SlidewinBan::until_over({ client => $client, uri => '/wait?k=a',
                              begin => $begin, seconds => 1.5,
                              name => "$store, delay=" });

    # a queue that is too long begins one

    @waiting = map { $nginx->client } 1 .. 6;
    ask($client, '/line?k=a');
    $_->request('/line?k=a') for @waiting;
    my @answers = map { $_->answer } @waiting;
    # one waits two seconds, the next would wait four
    is(scalar(grep { told($_) eq '429 REJECTED' } @answers), 1,
       "$store, delay=: a queue too long begins a ban")
        or diag(told(@answers));
    is(scalar(grep { told($_) eq '200 PASSED' } @answers), 0,
       '... nobody passes at once');
    is(scalar(grep { /zone "line".*banned for 3600s/ }
              SlidewinBan::begun($nginx)), 1, '... one line tells of it');
    is(told(ask($client, '/line_not?k=a'), ask($client, '/line?k=a')),
       '429 BANNED, 429 BANNED', '... and it holds everywhere');

    $_->close for $client, $holds, @waiting;
    $nginx->stop(name => $store);
}

done_testing();
