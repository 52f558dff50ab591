
#define PCRE2_CODE_UNIT_WIDTH  8

#include <pcre2.h>
#include <stdalign.h>

#include "replay_regex.h"


/* a match of a path takes some hundreds, a pattern gone wrong any number */
#define REPLAY_REGEX_STEPS  100000
#define REPLAY_REGEX_HEAP   4096           /* kilobytes */


/*
 * PCRE2 frees what it had for a match, which a pool does not.  The blocks are
 * kept for the next match instead.
 */

typedef struct replay_regex_block_s  replay_regex_block_t;

struct replay_regex_block_s {
    size_t                  size;
    replay_regex_block_t   *next;
    alignas(max_align_t) char  data[];
};


typedef struct {
    replay_pool_t          *pool;
    replay_regex_block_t   *free;
} replay_regex_memory_t;


struct replay_regex_s {
    replay_regex_memory_t   memory;
    pcre2_code             *code;
    pcre2_match_data       *match;
    pcre2_match_context    *limits;
};


static void *replay_regex_alloc(size_t size, void *data);
static void replay_regex_free(void *p, void *data);


replay_regex_t *
replay_regex_compile(replay_pool_t *pool, replay_text_t pattern, int caseless,
    const char **error)
{
    int                     code;
    char                    text[128];
    size_t                  offset;
    replay_regex_t         *regex;
    pcre2_general_context  *memory;
    pcre2_compile_context  *context;

    regex = replay_pool_alloc(pool, sizeof(replay_regex_t));

    regex->memory.pool = pool;
    regex->memory.free = NULL;

    memory = pcre2_general_context_create(replay_regex_alloc,
                                          replay_regex_free, &regex->memory);
    context = pcre2_compile_context_create(memory);

    regex->code = pcre2_compile((PCRE2_SPTR) pattern.data, pattern.len,
                                caseless ? PCRE2_CASELESS : 0, &code, &offset,
                                context);
    if (regex->code == NULL) {
        (void) pcre2_get_error_message(code, (PCRE2_UCHAR *) text,
                                       sizeof(text));

        *error = replay_pool_print(pool, "%s in \"%.*s\" at \"%.*s\"", text,
                                   (int) pattern.len, pattern.data,
                                   (int) (pattern.len - offset),
                                   pattern.data + offset);
        return NULL;
    }

    regex->match = pcre2_match_data_create(1, memory);

    regex->limits = pcre2_match_context_create(memory);
    pcre2_set_match_limit(regex->limits, REPLAY_REGEX_STEPS);
    pcre2_set_heap_limit(regex->limits, REPLAY_REGEX_HEAP);

    return regex;
}


int
replay_regex_match(const replay_regex_t *regex, replay_text_t text)
{
    /* more captures than the match data has room for is 0 */

    return pcre2_match(regex->code, (PCRE2_SPTR) text.data, text.len, 0, 0,
                       regex->match, regex->limits)
           >= 0;
}


static void *
replay_regex_alloc(size_t size, void *data)
{
    replay_regex_memory_t  *memory = data;

    replay_regex_block_t  *block, **prev;

    for (prev = &memory->free; *prev; prev = &block->next) {
        block = *prev;

        if (block->size >= size) {
            *prev = block->next;
            return block->data;
        }
    }

    block = replay_pool_alloc(memory->pool,
                              sizeof(replay_regex_block_t) + size);
    block->size = size;

    return block->data;
}


static void
replay_regex_free(void *p, void *data)
{
    replay_regex_memory_t  *memory = data;

    replay_regex_block_t  *block;

    if (p == NULL) {
        return;
    }

    block = (replay_regex_block_t *)
                ((char *) p - offsetof(replay_regex_block_t, data));

    block->next = memory->free;
    memory->free = block;
}
