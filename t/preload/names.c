
/*
 * Preloaded into an nginx: the name SLIDEWIN_NAME has the addresses that
 * SLIDEWIN_ADDRESSES says, in that order.  What a machine's own names have is
 * not known.
 */


#define _GNU_SOURCE

#include <arpa/inet.h>
#include <dlfcn.h>
#include <netdb.h>
#include <stdlib.h>
#include <string.h>


typedef int (*getaddrinfo_pt)(const char *, const char *,
    const struct addrinfo *, struct addrinfo **);


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

    if (name == NULL || wanted == NULL || strcmp(name, wanted) != 0) {
        return real(name, service, hints, result);
    }

    *result = NULL;
    next = result;
    list = strdup(getenv("SLIDEWIN_ADDRESSES"));
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
