
/*
 * weblog LINES CLIENTS [SEED]: an access log in nginx's combined format, the
 * same one each time, of about ten million lines a day. Every client comes
 * once, then the i-th about as often as 1/i. A line has about 200 bytes.
 */

#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>


#define BEGIN   1763300000               /* 2025-11-16 13:33:20 UTC */
#define RATE    115                      /* lines a second */
#define LONGEST 1024                     /* bytes of a line */


static uint64_t     state;
static char         buffer[1 << 20];

static const char  *paths[] = {
    "/", "/index.html", "/login", "/search", "/products/", "/products/list",
    "/static/css/main.css", "/static/js/app.min.js", "/images/logo-small.png",
    "/api/v1/items", "/api/v1/users/me", "/robots.txt", "/favicon.ico",
    "/blog/2025/11/how-to-choose-a-limit", "/account/password-reset", "/feed",
};

static const char  *agents[] = {
    "Mozilla/5.0 (Windows NT 10.0; Win64; x64) AppleWebKit/537.36 (KHTML, like"
    " Gecko) Chrome/119.0.0.0 Safari/537.36",
    "Mozilla/5.0 (Macintosh; Intel Mac OS X 10_15_7) AppleWebKit/605.1.15"
    " (KHTML, like Gecko) Version/17.1 Safari/605.1.15",
    "Mozilla/5.0 (X11; Linux x86_64; rv:109.0) Gecko/20100101 Firefox/119.0",
    "Mozilla/5.0 (compatible; examplebot/2.1; +http://www.example.com/bot)",
    "curl/7.88.1",
};

static const int    statuses[] = {
    200, 200, 200, 200, 200, 200, 200, 200, 200, 200, 304, 304, 301, 302, 404,
    401
};


/* splitmix64 */

static uint64_t
number(void)
{
    uint64_t  z;

    state += 0x9e3779b97f4a7c15;
    z = state;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9;
    z = (z ^ (z >> 27)) * 0x94d049bb133111eb;

    return z ^ (z >> 31);
}


static double
fraction(void)
{
    return (double) (number() >> 11) / (double) (1ULL << 53);
}


/* the i-th of n about as often as 1/i: the logarithm of its rank is even */

static uint32_t
client(uint32_t n)
{
    uint32_t  i;

    i = (uint32_t) exp(fraction() * log((double) n + 1)) - 1;

    return i < n ? i : n - 1;
}


static size_t
line(char *p, const char *when, uint32_t who)
{
    int          status;
    uint64_t     r;
    const char  *path, *agent, *method;

    r = number();

    path = paths[r & 15];
    status = statuses[r >> 4 & 15];
    agent = agents[who % 5];
    method = (r >> 8) % 5 == 0 ? "POST" : "GET";

    /* mixed, so that neighbours in rank are none in their addresses */
    who *= 2654435761U;

    return (size_t) sprintf(p, "%u.%u.%u.%u - - [%s] \"%s %s?id=%u HTTP/1.1\""
                            " %d %u \"https://www.example.com%s\" \"%s\"\n",
                            who >> 24 & 255, who >> 16 & 255, who >> 8 & 255,
                            who & 255, when, method, path,
                            (unsigned) (r >> 16 & 0xffff), status,
                            (unsigned) (r >> 32 & 0xffff), paths[r >> 48 & 15],
                            agent);
}


int
main(int argc, char **argv)
{
    char        when[64];
    size_t      used;
    time_t      second, last;
    uint32_t    clients, all;
    long long   i, lines;
    struct tm   tm;

    lines = (argc > 2) ? strtoll(argv[1], NULL, 10) : 0;
    all = (argc > 2) ? (uint32_t) strtoul(argv[2], NULL, 10) : 0;
    state = (argc > 3) ? strtoull(argv[3], NULL, 10) : 1;

    if (lines < 1 || all < 1 || argc > 4) {
        fprintf(stderr, "usage: weblog LINES CLIENTS [SEED]\n");
        return 2;
    }

    used = 0;
    last = 0;

    for (i = 0; i < lines; i++) {
        second = BEGIN + (time_t) (i / RATE);

        if (second != last) {
            last = second;
            (void) gmtime_r(&second, &tm);
            (void) strftime(when, sizeof(when), "%d/%b/%Y:%H:%M:%S +0000", &tm);
        }

        /* every client comes at least once */
        clients = (i < (long long) all) ? (uint32_t) i : client(all);

        used += line(buffer + used, when, clients);

        if (used > sizeof(buffer) - LONGEST || i == lines - 1) {

            if (fwrite(buffer, 1, used, stdout) != used) {
                perror("weblog");
                return 1;
            }

            used = 0;
        }
    }

    return fflush(stdout) == 0 ? 0 : 1;
}
