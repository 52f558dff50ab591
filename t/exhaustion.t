# A worker that gets no memory: a request fails at worst, and the limits hold.

use strict;
use warnings;

use File::Temp ();
use SlidewinNginx;
use Test::More;

# A library that fails the allocations it is told to, by a file that both sides
# map: which kind, how many to go, how many then, how many have failed. Kind 1
# is what the module asks nginx for; kind 2 what nginx asks the C library for,
# which is out of reach where a sanitizer has taken its place. A negative kind
# begins when the worker has read a request: what it did for the one before, and
# for a connection that it may or may not have accepted yet, does not count.
# The sixth number says whether the worker is at work.

my $dir = File::Temp->newdir;

open my $source, '>', "$dir/nomem.c" or die "nomem.c: $!";
print $source <<'END';
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <link.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

static volatile int  *control;

__attribute__((constructor)) static void
init(void)
{
    int  fd = open(getenv("NOMEM"), O_RDWR);

    control = mmap(NULL, 4096, PROT_READ|PROT_WRITE, MAP_SHARED, fd, 0);
    close(fd);
}

static int
fails(int kind)
{
    if (control == NULL || control[0] != kind || control[1] == 0
        || --control[1] > 0)
    {
        return 0;
    }

    control[1] = control[2];
    control[3]++;
    errno = ENOMEM;
    return 1;
}

#define NEXT(name)                                                            \
    static __typeof__(&name)  next;                                           \
    if (next == NULL) {                                                       \
        next = (__typeof__(&name)) dlsym(RTLD_NEXT, #name);                   \
    }

void *
malloc(size_t size)
{
    NEXT(malloc)
    return fails(2) ? NULL : next(size);
}

int
posix_memalign(void **p, size_t alignment, size_t size)
{
    NEXT(posix_memalign)
    return fails(2) ? ENOMEM : next(p, alignment, size);
}

ssize_t
recv(int fd, void *bytes, size_t size, int flags)
{
    ssize_t  n;

    NEXT(recv)

    n = next(fd, bytes, size, flags);

    if (n > 0 && control[0] < 0) {
        control[0] = -control[0];
    }

    return n;
}

#define OF_TWO(name)                                                          \
    static void *(*real_##name)(void *, size_t);                              \
    static void *my_##name(void *pool, size_t size)                           \
    {                                                                         \
        return fails(1) ? NULL : real_##name(pool, size);                     \
    }

#define OF_ONE(name)                                                          \
    static void *(*real_##name)(void *);                                      \
    static void *my_##name(void *list)                                        \
    {                                                                         \
        return fails(1) ? NULL : real_##name(list);                           \
    }

OF_TWO(ngx_palloc)
OF_TWO(ngx_pcalloc)
OF_TWO(ngx_pnalloc)
OF_TWO(ngx_pool_cleanup_add)
OF_ONE(ngx_array_push)
OF_ONE(ngx_list_push)

#define ENTRY(name)  { #name, (void *) my_##name, (void **) &real_##name }

static struct {
    const char  *name;
    void        *mine;
    void       **real;
} entries[] = {
    ENTRY(ngx_palloc), ENTRY(ngx_pcalloc), ENTRY(ngx_pnalloc),
    ENTRY(ngx_pool_cleanup_add), ENTRY(ngx_array_push), ENTRY(ngx_list_push)
};

static void
patch(ElfW(Addr) base, ElfW(Rela) *rela, size_t size, ElfW(Sym) *symbols,
    const char *strings)
{
    size_t       i, j;
    void       **slot;
    const char  *name;

    for (i = 0; i < size / sizeof(*rela); i++) {
        name = strings + symbols[ELF64_R_SYM(rela[i].r_info)].st_name;
        slot = (void **) (base + rela[i].r_offset);

        for (j = 0; j < sizeof(entries) / sizeof(entries[0]); j++) {
            if (strcmp(name, entries[j].name) == 0) {
                *entries[j].real = dlsym(RTLD_DEFAULT, name);
                mprotect((void *) ((size_t) slot & ~4095UL), 4096,
                         PROT_READ|PROT_WRITE);
                *slot = entries[j].mine;
                control[4]++;
            }
        }
    }
}

static int
visit(struct dl_phdr_info *info, size_t size, void *data)
{
    size_t       n = 0, jmprel_size = 0, rela_size = 0;
    ElfW(Dyn)   *d = NULL;
    ElfW(Rela)  *jmprel = NULL, *rela = NULL;
    ElfW(Sym)   *symbols = NULL;
    const char  *strings = NULL;

    if (strstr(info->dlpi_name, "ngx_http_slidewin_module") == NULL) {
        return 0;
    }

    for (n = 0; n < info->dlpi_phnum; n++) {
        if (info->dlpi_phdr[n].p_type == PT_DYNAMIC) {
            d = (void *) (info->dlpi_addr + info->dlpi_phdr[n].p_vaddr);
        }
    }

    for ( /* void */ ; d->d_tag != DT_NULL; d++) {
        switch (d->d_tag) {
        case DT_JMPREL: jmprel = (void *) d->d_un.d_ptr; break;
        case DT_PLTRELSZ: jmprel_size = d->d_un.d_val; break;
        case DT_RELA: rela = (void *) d->d_un.d_ptr; break;
        case DT_RELASZ: rela_size = d->d_un.d_val; break;
        case DT_SYMTAB: symbols = (void *) d->d_un.d_ptr; break;
        case DT_STRTAB: strings = (void *) d->d_un.d_ptr; break;
        }
    }

    patch(info->dlpi_addr, jmprel, jmprel_size, symbols, strings);
    patch(info->dlpi_addr, rela, rela_size, symbols, strings);

    return 0;
}

/* what a worker calls when the module is there */

int
epoll_wait(int ep, struct epoll_event *events, int n, int timeout)
{
    static int  done;

    NEXT(epoll_wait)

    if (!done) {
        done = 1;
        dl_iterate_phdr(visit, NULL);
    }

    control[5] = 0;
    n = next(ep, events, n, timeout);
    control[5] = 1;

    return n;
}
END
close $source;

is(system(qw(cc -O1 -fPIC -shared -o), "$dir/nomem.so", "$dir/nomem.c",
          '-ldl'), 0, 'the library is built');

open my $control, '+>', "$dir/control" or die "control: $!";
binmode $control;
syswrite $control, "\0" x 4096;

sub control {
    my (@numbers) = @_;

    sysseek $control, 0, 0;
    syswrite $control, pack 'i*', @numbers if @numbers;
    sysseek $control, 0, 0;
    sysread $control, my $bytes, 24;

    return unpack 'i6', $bytes;
}

my $limit = 400;

my $nginx = SlidewinNginx->start(
    env => {
        LD_PRELOAD => "$dir/nomem.so",
        NOMEM => "$dir/control",
        # memory that is free no longer has what it had
        MALLOC_PERTURB_ => 165,
    },
    # small, so that hardly two allocations of a request share a block
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
cmp_ok((control())[4], '>=', 5, 'the allocations of the module are found');

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

        # the first allocation for a request, the second, until there is none

        while ($failed && $n < 200) {
            control(-$kind, ++$n, 0, 0);

            my $status = $client->get($uris{$case})->{status};

            # an answer comes before the log phase

            SlidewinNginx::until_true(sub { !(control())[5] }, 10)
                or die 'the worker is at work for ever';

            $failed = (control())[3];
            control(0, 0, 0, 0);

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

    # and now every so many, with new connections, too

    my %statuses;

    for my $every (2 .. 12) {
        control($kind, $every, $every, 0);

        for (1 .. 10) {
            my $patience = 5 * SlidewinNginx::patience();
            my $other = $nginx->client(timeout => $patience);
            $statuses{$other->get('/one?k=every')->{status}}++ for 1 .. 3;
        }

        control(0, 0, 0, 0);
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
