
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <sys/stat.h>
#include <unistd.h>

#include "replay_input.h"


#define REPLAY_INPUT_GZIP  262144              /* of compressed bytes */
#define REPLAY_INPUT_SIZE  262144              /* for lines */


static int replay_input_find(replay_input_t *input, replay_text_t *line,
    size_t *next);
static void replay_input_fill(replay_input_t *input);


void
replay_input_open(replay_input_t *input, const char *name)
{
    int          fd;
    struct stat  st;

    memset(input, 0, sizeof(replay_input_t));

    input->name = name;
    input->size = -1;

    if (strcmp(name, "-") == 0) {
        fd = dup(STDIN_FILENO);
        input->name = "standard input";

    } else {
        fd = open(name, O_RDONLY|O_CLOEXEC);
    }

    if (fd == -1 || fstat(fd, &st) == -1) {
        replay_fatal("%s: %s", input->name, strerror(errno));
    }

    if (S_ISDIR(st.st_mode)) {
        replay_fatal("%s: it is a directory; name the files in it", name);
    }

    if (S_ISREG(st.st_mode)) {
        input->size = st.st_size;
    }

    input->gz = gzdopen(fd, "rb");

    if (input->gz == NULL || gzbuffer(input->gz, REPLAY_INPUT_GZIP) != 0) {
        replay_fatal("%s: no memory to read it", input->name);
    }

    input->room = REPLAY_INPUT_SIZE;
    input->buf = replay_alloc(input->room);

    if (!gzdirect(input->gz)) {
        input->inflate = replay_inflate_start(input->gz);
    }
}


void
replay_input_close(replay_input_t *input)
{
    if (input->inflate) {
        replay_inflate_stop(input->inflate);
        input->inflate = NULL;
    }

    (void) gzclose_r(input->gz);
    free(input->buf);

    input->gz = NULL;
    input->buf = NULL;
}


int
replay_input_line(replay_input_t *input, replay_text_t *line)
{
    size_t  next;

    if (!replay_input_find(input, line, &next)) {
        return 0;
    }

    input->start = next;
    input->skipping = 0;
    input->lines++;

    return 1;
}


size_t
replay_input_peek(replay_input_t *input, replay_text_t *lines, size_t n)
{
    size_t       i, next;
    const char  *p, *end, *last;

    if (!replay_input_find(input, &lines[0], &next)) {
        return 0;
    }

    /* those that are read already; a line that is too long is no sample */

    p = input->buf + next;
    last = input->buf + input->end;

    for (i = lines[0].data ? 1 : 0; i < n; i++) {
        end = memchr(p, '\n', (size_t) (last - p));

        if (end == NULL) {
            break;
        }

        lines[i].data = p;
        lines[i].len = (size_t) (end - p);
        p = end + 1;
    }

    return i;
}


static int
replay_input_find(replay_input_t *input, replay_text_t *line, size_t *next)
{
    char  *p, *start;

    for ( ;; ) {
        start = input->buf + input->start;
        p = memchr(start, '\n', input->end - input->start);

        if (p || (input->last && input->start < input->end)) {
            break;
        }

        if (input->last) {

            if (!input->skipping) {
                return 0;
            }

            p = start;
            break;
        }

        if (input->end - input->start > REPLAY_LINE_MAX) {
            input->skipping = 1;
            input->start = input->end;
        }

        replay_input_fill(input);
    }

    /* a mark of UTF-8 that some programs begin a file with */

    if (input->lines == 0 && !input->skipping && input->end - input->start >= 3
        && memcmp(start, "\xef\xbb\xbf", 3) == 0)
    {
        start += 3;
    }

    line->len = (p ? p : input->buf + input->end) - start;
    line->data = input->skipping ? NULL : start;

    *next = p ? (size_t) (p - input->buf) + 1 : input->end;

    if (*next > input->end) {
        *next = input->end;
    }

    if (line->len && start[line->len - 1] == '\r') {
        line->len--;
    }

    return 1;
}


static void
replay_input_fill(replay_input_t *input)
{
    int          n, code;
    size_t       left;
    const char  *why;

    left = input->end - input->start;

    if (left) {
        memmove(input->buf, input->buf + input->start, left);
    }

    input->start = 0;
    input->end = left;

    /* a line that long is seldom, and bounded */

    if (left > input->room / 2) {
        input->room *= 2;
        input->buf = replay_realloc(input->buf, input->room);
    }

    if (input->inflate) {
        n = (int) replay_inflate_read(input->inflate, input->buf + left,
                                      input->room - left, &code);

    } else {
        n = gzread(input->gz, input->buf + left,
                   (unsigned) (input->room - left));
        (void) gzerror(input->gz, &code);
    }

    if (n > 0) {
        input->end += (size_t) n;
        return;
    }

    /* what was read until here is used */

    input->last = 1;

    switch (code) {

    case Z_OK:
    case Z_STREAM_END:
        return;

    case Z_BUF_ERROR:
        why = "it is cut off";
        break;

    case Z_ERRNO:
        why = strerror(errno);
        break;

    default:
        why = "it is no gzip from there on";
        break;
    }

    (void) snprintf(input->error, sizeof(input->error), "%s", why);

    replay_say("%s: %s; the %" PRIu64 " lines before are read", input->name,
               why, input->lines);

    /* the line that it ends in is no bad one */

    input->start = input->end;
}


int64_t
replay_input_offset(const replay_input_t *input)
{
    return input->inflate ? replay_inflate_offset(input->inflate)
                          : gzoffset(input->gz);
}
