
#include <errno.h>

#include "replay_limits.h"
#include "replay_spool.h"


#define REPLAY_SPOOL_BUFFER  (1 << 20)


static void replay_spool_failed(void) __attribute__((noreturn));


void
replay_spool_open(replay_spool_t *spool, int paths)
{
    int          fd;
    char        *name;
    size_t       size;
    const char  *directory;

    static const char  file[] = "/slidewin-replay-XXXXXX";

    directory = getenv("TMPDIR");

    if (directory == NULL || *directory == '\0') {
        directory = "/var/tmp";
    }

    size = strlen(directory) + sizeof(file);
    name = replay_alloc(size);
    (void) snprintf(name, size, "%s%s", directory, file);

    fd = mkstemp(name);

    if (fd == -1) {
        replay_fatal("%s: %s (TMPDIR names another directory)", directory,
                     strerror(errno));
    }

    (void) remove(name);
    free(name);

    memset(spool, 0, sizeof(replay_spool_t));

    spool->paths = paths;
    spool->file = fdopen(fd, "w+");

    if (spool->file == NULL
        || setvbuf(spool->file, NULL, _IOFBF, REPLAY_SPOOL_BUFFER) != 0)
    {
        replay_spool_failed();
    }
}


void
replay_spool_close(replay_spool_t *spool)
{
    (void) fclose(spool->file);
}


void
replay_spool_write(replay_spool_t *spool, const replay_event_t *event,
    const replay_claim_t *claims, replay_text_t path)
{
    replay_event_t  kept;

    kept = *event;
    kept.path_len = spool->paths ? event->path_len : 0;

    if (fwrite(&kept, sizeof(replay_event_t), 1, spool->file) != 1
        || fwrite(claims, sizeof(replay_claim_t), kept.nclaims, spool->file)
           != kept.nclaims
        || fwrite(path.data, 1, kept.path_len, spool->file) != kept.path_len)
    {
        replay_spool_failed();
    }

    spool->n++;
}


void
replay_spool_read(replay_spool_t *spool, replay_event_pt handler, void *data)
{
    char             path[REPLAY_PATH_MAX];
    uint64_t         i;
    replay_text_t    text;
    replay_event_t   event;
    replay_claim_t   claims[REPLAY_CLAIMS_MAX];

    rewind(spool->file);

    for (i = 0; i < spool->n; i++) {

        if (fread(&event, sizeof(replay_event_t), 1, spool->file) != 1
            || event.nclaims > REPLAY_CLAIMS_MAX
            || event.path_len > REPLAY_PATH_MAX
            || fread(claims, sizeof(replay_claim_t), event.nclaims,
                     spool->file) != event.nclaims
            || fread(path, 1, event.path_len, spool->file) != event.path_len)
        {
            replay_spool_failed();
        }

        text.data = path;
        text.len = event.path_len;

        handler(data, &event, claims, text);
    }
}


static void
replay_spool_failed(void)
{
    replay_fatal("a temporary file: %s (TMPDIR names another directory)",
                 strerror(errno));
}
