
/*
 * A format of a log, and a line of it: fields lie within the line, and values
 * have the size that they may.
 */


#include "fuzz.h"
#include "replay_value.h"


#define FIELDS  8


static volatile char  fuzz_touched;


static void fuzz_line(const char *format, const uint8_t *data, size_t size);
static void fuzz_values(replay_format_t *format, replay_record_t *record);


int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char        format[256];
    size_t      len;
    const void *end;

    end = memchr(data, '\n', size);
    len = end ? (size_t) ((const uint8_t *) end - data) : size;

    if (len < sizeof(format) && memchr(data, '\0', len) == NULL) {
        memcpy(format, data, len);
        format[len] = '\0';

        len += (end != NULL);
        fuzz_line(format, data + len, size - len);
    }

    fuzz_line("json", data, size);
    fuzz_line(REPLAY_COMBINED, data, size);

    return 0;
}


static void
fuzz_line(const char *text, const uint8_t *data, size_t size)
{
    int                i, fields[FIELDS];
    char              *line;
    replay_pool_t      pool;
    replay_text_t      copy;
    replay_format_t    format;
    replay_record_t   *record;

    static const char *const  names[FIELDS] = {
        "remote_addr", "time_local", "request", "status", "http_user_agent",
        ".a", ".a.b", "uri"
    };

    memset(&pool, 0, sizeof(replay_pool_t));

    /* of its own size, so that a byte too far is found */

    line = malloc(size);
    memcpy(line, data, size);
    copy.data = line;
    copy.len = size;

    if (replay_format_compile(&format, &pool, text) == NULL) {
        format.sample = copy;
        record = calloc(1, sizeof(replay_record_t));

        for (i = 0; i < FIELDS; i++) {
            fields[i] = replay_format_want(&format,
                                           replay_text_of(names[i]));
        }

        if (replay_format_read(&format, copy, &record->line) == NULL) {
            for (i = 0; i < FIELDS && format.json == NULL; i++) {

                if (fields[i] == -1 || record->line.fields[fields[i]].len == 0)
                {
                    continue;
                }

                fuzz_check(record->line.fields[fields[i]].data >= line);
                fuzz_check(record->line.fields[fields[i]].data
                           + record->line.fields[fields[i]].len
                           <= line + size);
            }

            fuzz_values(&format, record);
        }

        free(record);
        replay_format_free(&format);
    }

    free(line);
    replay_pool_destroy(&pool);
}


/* none is larger than it may be */

static void
fuzz_values(replay_format_t *format, replay_record_t *record)
{
    size_t           i, j;
    replay_text_t    text;
    replay_value_t   value;

    static const char *const  texts[] = {
        "$slidewin_client", "$uri", "$args", "$arg_a", "$request_method",
        "x${uri}y$args", "$host"
    };

    record->prefix.prefix_v4 = 24;
    record->prefix.prefix_v6 = 64;

    for (i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {

        if (replay_value_compile(&value, format, replay_text_of(texts[i]))) {
            continue;
        }

        replay_record_reset(record);
        text = replay_value_get(&value, record);

        fuzz_check(value.n == 1 || text.len <= REPLAY_VALUE_MAX);

        /* each byte is there */

        for (j = 0; j < text.len; j++) {
            fuzz_touched = text.data[j];
        }
    }
}
