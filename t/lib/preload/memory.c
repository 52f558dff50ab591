
/*
 * Preloaded into an nginx: fails the allocations it is told to, by the file
 * SLIDEWIN_MEMORY that both sides map: which kind, how many to go, how many
 * then, how many have failed.  Kind 1 is what the module asks nginx for; kind 2
 * what nginx asks the C library for, which is out of reach where a sanitizer
 * has taken its place; kind 3 what the module asks of shared memory.  A
 * negative kind begins when the worker has read a request: what it did for the
 * one before, and for a connection that it may or may not have accepted yet,
 * does not count.  Then come how many functions were found in the module, and
 * whether the worker is at work.
 */


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
    int  fd = open(getenv("SLIDEWIN_MEMORY"), O_RDWR);

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

#define OF_TWO(name, kind)                                                    \
    static void *(*real_##name)(void *, size_t);                              \
    static void *my_##name(void *pool, size_t size)                           \
    {                                                                         \
        return fails(kind) ? NULL : real_##name(pool, size);                  \
    }

#define OF_ONE(name)                                                          \
    static void *(*real_##name)(void *);                                      \
    static void *my_##name(void *list)                                        \
    {                                                                         \
        return fails(1) ? NULL : real_##name(list);                           \
    }

OF_TWO(ngx_palloc, 1)
OF_TWO(ngx_pcalloc, 1)
OF_TWO(ngx_pnalloc, 1)
OF_TWO(ngx_pool_cleanup_add, 1)
OF_ONE(ngx_array_push)
OF_ONE(ngx_list_push)
OF_TWO(ngx_slab_alloc_locked, 3)

#define ENTRY(name)  { #name, (void *) my_##name, (void **) &real_##name }

static struct {
    const char  *name;
    void        *mine;
    void       **real;
} entries[] = {
    ENTRY(ngx_palloc), ENTRY(ngx_pcalloc), ENTRY(ngx_pnalloc),
    ENTRY(ngx_pool_cleanup_add), ENTRY(ngx_array_push), ENTRY(ngx_list_push),
    ENTRY(ngx_slab_alloc_locked)
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

    (void) size;
    (void) data;

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
