
/*
 * roundtrip PORT COUNT < COMMAND: sends the command to a Redis of this machine
 * and waits for its reply, again and again; prints the median in microseconds.
 * Nothing can ask it faster, one command at a time.
 */

#include <arpa/inet.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>


#define MOST  1000000


static double  times[MOST];
static char    command[65536];
static char    reply[65536];


static double
now(void)
{
    struct timespec  ts;

    clock_gettime(CLOCK_MONOTONIC, &ts);

    return ts.tv_sec * 1e6 + ts.tv_nsec / 1e3;
}


static int
ascending(const void *one, const void *two)
{
    double  a, b;

    a = *(const double *) one;
    b = *(const double *) two;

    return (a > b) - (a < b);
}


int
main(int argc, char **argv)
{
    int                 fd, on;
    long                i, count;
    double              start;
    size_t              size;
    ssize_t             n;
    struct sockaddr_in  sin = { 0 };

    count = (argc == 3) ? strtol(argv[2], NULL, 10) : 0;

    if (count < 1 || count > MOST) {
        fprintf(stderr, "usage: roundtrip PORT COUNT < COMMAND\n");
        return 2;
    }

    size = fread(command, 1, sizeof(command), stdin);

    sin.sin_family = AF_INET;
    sin.sin_port = htons((in_port_t) strtol(argv[1], NULL, 10));
    sin.sin_addr.s_addr = htonl(INADDR_LOOPBACK);

    fd = socket(AF_INET, SOCK_STREAM, 0);
    on = 1;

    if (fd == -1
        || setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on)) == -1
        || connect(fd, (struct sockaddr *) &sin, sizeof(sin)) == -1)
    {
        perror("roundtrip");
        return 1;
    }

    for (i = 0; i < count; i++) {
        start = now();

        if (write(fd, command, size) != (ssize_t) size) {
            perror("roundtrip: write");
            return 1;
        }

        n = read(fd, reply, sizeof(reply));

        if (n < 3 || reply[0] == '-' || reply[n - 1] != '\n') {
            fprintf(stderr, "roundtrip: the reply is \"%.*s\"\n",
                    n > 0 ? (int) n : 0, reply);
            return 1;
        }

        times[i] = now() - start;
    }

    qsort(times, count, sizeof(double), ascending);

    printf("%.3f\n", times[count / 2]);

    return 0;
}
