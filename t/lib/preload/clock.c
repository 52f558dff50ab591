
/*
 * Preloaded into a Redis or an nginx: its wall clock is off by the seconds that
 * the file SLIDEWIN_CLOCK says, the clock that wall time does not move by those
 * of SLIDEWIN_MONOTONIC.  libfaketime does not get along with the one's
 * allocator, nor with a sanitizer in the other.
 */


#define _GNU_SOURCE

#include <fcntl.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>


static time_t
offset(const char *clock)
{
    int          fd;
    char         text[32];
    ssize_t      n;
    const char  *name;

    name = getenv(clock);
    fd = name ? open(name, O_RDONLY) : -1;

    if (fd == -1) {
        return 0;
    }

    n = read(fd, text, sizeof(text) - 1);
    close(fd);

    text[n > 0 ? n : 0] = '\0';

    return atol(text);
}


int
gettimeofday(struct timeval *restrict tv, void *restrict tz)
{
    struct timespec  ts;

    (void) tz;

    syscall(SYS_clock_gettime, CLOCK_REALTIME, &ts);

    tv->tv_sec = ts.tv_sec + offset("SLIDEWIN_CLOCK");
    tv->tv_usec = ts.tv_nsec / 1000;

    return 0;
}


int
clock_gettime(clockid_t id, struct timespec *ts)
{
    int  rc;

    rc = (int) syscall(SYS_clock_gettime, id, ts);

    if (rc == 0 && (id == CLOCK_MONOTONIC || id == CLOCK_MONOTONIC_COARSE)) {
        ts->tv_sec += offset("SLIDEWIN_MONOTONIC");
    }

    return rc;
}
