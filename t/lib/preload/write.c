
/*
 * Preloaded into an nginx: as long as the file SLIDEWIN_WRITE is there, what it
 * says in TLS to the port SLIDEWIN_PORT is spoilt on its way, and the write
 * fails when the other side has complained.
 */


#define _GNU_SOURCE

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>


#define TLS_APPLICATION_DATA  23
#define TLS_HEADER            5
#define PATIENCE              10000      /* ms */


static int          port;
static const char  *file;


/* a worker has not got the environment */

__attribute__((constructor)) static void
init(void)
{
    const char  *text;

    text = getenv("SLIDEWIN_PORT");
    port = text ? atoi(text) : 0;

    text = getenv("SLIDEWIN_WRITE");
    file = text ? strdup(text) : NULL;
}


ssize_t
write(int fd, const void *bytes, size_t size)
{
    char               *spoilt;
    socklen_t           len;
    struct pollfd       answer;
    struct sockaddr_in  peer;

    len = sizeof(peer);

    if (port == 0 || file == NULL || size <= TLS_HEADER
        || *(const char *) bytes != TLS_APPLICATION_DATA
        || getpeername(fd, (struct sockaddr *) &peer, &len) != 0
        || peer.sin_family != AF_INET || ntohs(peer.sin_port) != port
        || access(file, F_OK) != 0)
    {
        return syscall(SYS_write, fd, bytes, size);
    }

    spoilt = malloc(size);

    if (spoilt) {
        memcpy(spoilt, bytes, size);
        spoilt[TLS_HEADER] ^= 1;
        (void) syscall(SYS_write, fd, spoilt, size);
        free(spoilt);
    }

    answer.fd = fd;
    answer.events = POLLIN;
    (void) poll(&answer, 1, PATIENCE);

    errno = EPIPE;

    return -1;
}
