
/*
 * A filter, and a line that it is asked about: the negation of what is true is
 * false.
 */


#include "fuzz.h"
#include "replay_where.h"


int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    int               yes;
    char              text[512], negation[sizeof(text) + sizeof("not ()")];
    const char       *error;
    replay_pool_t     pool;
    replay_where_t   *where, *not;
    replay_format_t   format;
    replay_record_t  *record;

    static const replay_text_t  line = replay_text(
        "2001:db8::1 - - [17/May/2015:10:05:03 +0000] "
        "\"POST /a%20b//c?x=1&y=2 HTTP/1.1\" 404 17 \"-\" \"agent\"");

    if (size >= sizeof(text) || memchr(data, '\0', size)) {
        return 0;
    }

    memcpy(text, data, size);
    text[size] = '\0';

    memset(&pool, 0, sizeof(replay_pool_t));
    record = calloc(1, sizeof(replay_record_t));

    fuzz_check(replay_format_compile(&format, &pool, REPLAY_COMBINED) == NULL);

    where = replay_where_compile(&format, text, "$remote_addr", &error);
    fuzz_check((where == NULL) == (error != NULL));

    if (where) {
        snprintf(negation, sizeof(negation), "not (%s)", text);
        not = replay_where_compile(&format, negation, "$remote_addr", &error);

        fuzz_check(replay_format_read(&format, line, &record->line) == NULL);

        yes = replay_where_matches(where, record, 1431857103000);

        if (not) {
            fuzz_check(yes != replay_where_matches(not, record,
                                                   1431857103000));
        }
    }

    free(record);
    replay_pool_destroy(&pool);

    return 0;
}
