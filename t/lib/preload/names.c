
/*
 * Preloaded into an nginx: the name SLIDEWIN_NAME has the addresses that
 * SLIDEWIN_ADDRESSES says, in that order, or none.  What a machine's own names
 * have is not known.  Into the file SLIDEWIN_NAMES goes who asked for what.
 */


#define _GNU_SOURCE

#include <arpa/inet.h>
#include <dlfcn.h>
#include <netdb.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>


typedef int (*getaddrinfo_pt)(const char *, const char *,
    const struct addrinfo *, struct addrinfo **);


static FILE  *names_log;


/* nginx takes the environment from its workers */

__attribute__((constructor))
static void
names_open(void)
{
    if (getenv("SLIDEWIN_NAMES")) {
        names_log = fopen(getenv("SLIDEWIN_NAMES"), "a");
    }
}


int
getaddrinfo(const char *restrict name, const char *restrict service,
    const struct addrinfo *restrict hints, struct addrinfo **restrict result)
{
    int               rc;
    char             *list, *address, *state;
    const char       *wanted;
    struct addrinfo **next;
    getaddrinfo_pt    real;

    real = (getaddrinfo_pt) dlsym(RTLD_NEXT, "getaddrinfo");
    wanted = getenv("SLIDEWIN_NAME");

    if (names_log) {
        (void) fprintf(names_log, "%d %s\n", (int) getpid(),
                       name ? name : "-");
        (void) fflush(names_log);
    }

    if (name == NULL || wanted == NULL || strcmp(name, wanted) != 0) {
        return real(name, service, hints, result);
    }

    *result = NULL;
    next = result;
    list = getenv("SLIDEWIN_ADDRESSES");
    list = strdup(list ? list : "");
    rc = EAI_NONAME;

    for (address = strtok_r(list, ",", &state); address;
         address = strtok_r(NULL, ",", &state))
    {
        rc = real(address, service, hints, next);
        if (rc != 0) {
            break;
        }

        while (*next) {
            next = &(*next)->ai_next;
        }
    }

    free(list);

    return rc;
}
