
/*
 * The vectors of t/vectors against sw_window; t/vectors says what they mean.
 */


#include <errno.h>
#include <inttypes.h>
#include <string.h>

#include "client.h"
#include "tap.h"


#define LINE  8192


typedef struct {
    char          text[LINE];
    const char   *verb;
    const char   *given[8];
    const char   *wanted[8];
    const char   *note;
    int           ngiven;
    int           nwanted;
} vector_t;


static int vector_parse(vector_t *vector, const char *line);
static const char *vector_word(const char *const *words, int n,
    const char *name);
static int64_t vector_number(const vector_t *vector, const char *name);
static void state_read(client_t *client, const char *text, int64_t now);
static void state_write(const client_t *client, char *text, size_t size);
static int run(vector_t *vector, sw_algorithm_e algorithm, const char *where);
static void compare(int *good, const char *where, const char *what,
    const char *wanted, const char *got);
static void compare_number(int *good, const char *where, const char *what,
    const char *wanted, int64_t got);


int
main(int argc, char **argv)
{
    int              i, n, number;
    char             name[LINE], line[LINE], where[64];
    FILE            *file;
    static vector_t  vector;

    for (i = 0; i < 4; i++) {
        snprintf(name, sizeof(name), "%s/t/vectors/%s.txt",
                 argc > 1 ? argv[1] : ".", client_algorithms[i]);

        file = fopen(name, "r");

        if (file == NULL) {
            tap_ok(0, "%s: %s", name, strerror(errno));
            continue;
        }

        n = 0;
        number = 0;

        while (fgets(line, sizeof(line), file)) {
            number++;

            if (line[0] == '#' || line[0] == '\n') {
                continue;
            }

            snprintf(where, sizeof(where), "%s.txt:%d", client_algorithms[i],
                     number);

            if (!vector_parse(&vector, line)) {
                tap_ok(0, "%s: cannot be read", where);
                continue;
            }

            tap_ok(run(&vector, (sw_algorithm_e) i, where), "%s: %s", where,
                   vector.note);
            n++;
        }

        fclose(file);

        tap_ok(n >= 50, "%s.txt: %d vectors", client_algorithms[i], n);
    }

    return tap_done();
}


static int
vector_parse(vector_t *vector, const char *line)
{
    int    right;
    char  *word, *save, *note;

    memset(vector, 0, sizeof(*vector));
    snprintf(vector->text, sizeof(vector->text), "%s", line);

    if (strchr(line, '\n') == NULL) {
        return 0;
    }

    note = strchr(vector->text, '#');

    if (note == NULL || note[1] != ' ') {
        return 0;
    }

    *note = '\0';
    vector->note = note + 2;
    note[strcspn(note + 2, "\n") + 2] = '\0';

    right = 0;
    word = strtok_r(vector->text, " ", &save);
    vector->verb = word;

    while (word && (word = strtok_r(NULL, " ", &save))) {

        if (strcmp(word, "->") == 0) {
            right = 1;
            continue;
        }

        if (strchr(word, '=') == NULL) {
            return 0;
        }

        if (right) {

            if (vector->nwanted == 8) {
                return 0;
            }

            vector->wanted[vector->nwanted++] = word;

        } else {

            if (vector->ngiven == 8) {
                return 0;
            }

            vector->given[vector->ngiven++] = word;
        }
    }

    if (vector->verb == NULL) {
        return 0;
    }

    if (strcmp(vector->verb, "take") == 0) {
        return vector->nwanted == 8;
    }

    if (strcmp(vector->verb, "charge") == 0) {
        return vector->nwanted == 2;
    }

    return strcmp(vector->verb, "give") == 0 && vector->nwanted == 1;
}


static const char *
vector_word(const char *const *words, int n, const char *name)
{
    int     i;
    size_t  len;

    len = strlen(name);

    for (i = 0; i < n; i++) {

        if (strncmp(words[i], name, len) == 0 && words[i][len] == '=') {
            return words[i] + len + 1;
        }
    }

    return "";
}


static int64_t
vector_number(const vector_t *vector, const char *name)
{
    return strtoll(vector_word(vector->given, vector->ngiven, name), NULL,
                   10);
}


static void
state_read(client_t *client, const char *text, int64_t now)
{
    char            *end;
    int64_t          j, time;
    uint32_t         i, n;
    sw_log_t        *log;
    sw_state_t      *state;
    sw_log_entry_t  *ring;

    client_init(client, &client->rule, now, 0);

    if (strcmp(text, "-") == 0) {
        return;
    }

    state = client->state;

    switch (client->rule.algorithm) {

    case SW_STRICT:
        state->u.slices.index = strtoll(text, &end, 10);

        for (j = state->u.slices.index - client->rule.slices;
             j <= state->u.slices.index;
             j++)
        {
            assert(*end == (j == state->u.slices.index
                                 - client->rule.slices ? ':' : ','));

            /* slices before time 0 are there only to be written down */

            time = strtoll(end + 1, &end, 10);

            if (j >= 0) {
                state->u.slices.units[j % (client->rule.slices + 1)] = time;

            } else {
                assert(time == 0);
            }
        }

        break;

    case SW_LOG:
        n = 1;

        for (i = 0; text[i]; i++) {
            n += (text[i] == ',');
        }

        /* one to spare, and begun at the end: the entries go round */

        log = &state->u.log;
        ring = client_alloc((n + 1) * sizeof(sw_log_entry_t));
        free(sw_log_move(log, ring, n + 1));

        log->first = n;

        for (i = 0; i < n; i++) {
            time = strtoll(text, &end, 10);
            assert(*end == '*');

            ring[(n + i) % (n + 1)].time = (uint32_t) time;
            ring[(n + i) % (n + 1)].units = strtoul(end + 1, &end, 10);

            log->newest = time;
            log->total += ring[(n + i) % (n + 1)].units;
            log->count++;

            text = end + 1;
        }

        break;

    default:
        state->u.pair.index = strtoll(text, &end, 10);

        /* fixed has no use for the previous window: see that it has none */

        state->u.pair.prev = 777;

        if (client->rule.algorithm == SW_COUNTER) {
            state->u.pair.prev = strtoll(end + 1, &end, 10);
        }

        state->u.pair.curr = strtoll(end + 1, &end, 10);
        assert(*end == '\0');
        break;
    }
}


static void
state_write(const client_t *client, char *text, size_t size)
{
    size_t                 len;
    int64_t                j, total, units;
    uint32_t               i;
    const sw_log_t        *log;
    const sw_state_t      *state;
    const sw_log_entry_t  *entry;

    state = client->state;

    switch (client->rule.algorithm) {

    case SW_STRICT:
        len = snprintf(text, size, "%" PRId64, state->u.slices.index);

        for (j = state->u.slices.index - client->rule.slices;
             j <= state->u.slices.index;
             j++)
        {
            units = 0;

            if (j >= 0) {
                units = state->u.slices.units[j
                                              % (client->rule.slices + 1)];
            }

            len += snprintf(text + len, size - len, "%c%" PRId64,
                            j == state->u.slices.index
                                 - client->rule.slices ? ':' : ',',
                            units);
        }

        break;

    case SW_LOG:
        log = &state->u.log;
        len = snprintf(text, size, "%s", log->count ? "" : "-");
        total = 0;

        for (i = 0; i < log->count; i++) {
            entry = &log->entries[(log->first + i) % log->room];
            total += entry->units;

            len += snprintf(text + len, size - len, "%s%" PRId64 "*%" PRIu32,
                            i ? "," : "",
                            log->newest
                            - (uint32_t) ((uint32_t) log->newest
                                          - entry->time),
                            entry->units);
        }

        if (total != log->total) {
            snprintf(text + len, size - len, " (total %" PRId64 ")",
                     log->total);
        }

        break;

    case SW_FIXED:
        snprintf(text, size, "%" PRId64 ":%" PRId64, state->u.pair.index,
                 state->u.pair.curr);
        break;

    default: /* SW_COUNTER */
        snprintf(text, size, "%" PRId64 ":%" PRId64 ":%" PRId64,
                 state->u.pair.index, state->u.pair.prev, state->u.pair.curr);
        break;
    }
}


static int
run(vector_t *vector, sw_algorithm_e algorithm, const char *where)
{
    int           good, fresh;
    char          text[LINE];
    int64_t       now, cost, scale, stamp;
    client_t      client;
    const char   *wanted;
    sw_verdict_t  v, new;

    client.rule.algorithm = algorithm;
    client.rule.limit = vector_number(vector, "limit");
    client.rule.window = vector_number(vector, "window");
    client.rule.slices = vector_number(vector, "slices");

    if (sw_rule_error(&client.rule)) {
        tap_diag("%s: %s", where, sw_rule_error(&client.rule));
        return 0;
    }

    now = vector_number(vector, "now");
    cost = vector_number(vector, "cost");
    good = 1;

    wanted = vector_word(vector->given, vector->ngiven, "state");
    fresh = (strcmp(wanted, "-") == 0);

    state_read(&client, wanted, now);

#define WANTED(name)  vector_word(vector->wanted, vector->nwanted, name)

    if (strcmp(vector->verb, "give") == 0) {
        client_give_back(&client, cost, vector_number(vector, "stamp"));

        /* it goes by the stamp alone: here is the state as it is at the time */

        client_check(&client, now, 0, &v);

    } else if (strcmp(vector->verb, "charge") == 0) {
        compare_number(&good, where, "counted", WANTED("counted"),
                       client_charge(&client, now, cost));

    } else {
        client_check(&client, now, cost, &v);

        compare_number(&good, where, "admitted", WANTED("admitted"),
                       v.admitted);
        compare_number(&good, where, "remaining", WANTED("remaining"),
                       v.remaining);
        compare_number(&good, where, "retry", WANTED("retry"), v.retry);
        compare_number(&good, where, "more", WANTED("more"), v.more);
        compare_number(&good, where, "reset", WANTED("reset"), v.reset);
        compare_number(&good, where, "stamp", WANTED("stamp"), v.stamp);

        snprintf(text, sizeof(text), "%" PRId64 "/%" PRId64, v.level,
                 v.scale);
        compare(&good, where, "level", WANTED("level"), text);

        scale = v.scale;
        snprintf(text, sizeof(text), "%" PRId64,
                 (v.level + scale - 1) / scale);
        compare_number(&good, where, "used", text,
                       sw_state_used(client.state, now));

        compare_number(&good, where, "admits", WANTED("admitted"),
                       client_admits(&client, now, cost));

        if (fresh) {
            memset(&new, 0, sizeof(new));
            sw_window_check_new(&client.rule, now, cost, &new);

            if (new.admitted != v.admitted || new.remaining != v.remaining
                || new.retry != v.retry || new.more != v.more
                || new.reset != v.reset || new.level != v.level
                || new.scale != v.scale || new.stamp != v.stamp)
            {
                tap_diag("%s: a new client is told something else", where);
                good = 0;
            }
        }

        if (v.admitted && cost) {
            stamp = client_add(&client, now, cost);
            compare_number(&good, where, "stamp of add", WANTED("stamp"),
                           stamp);
        }
    }

    state_write(&client, text, sizeof(text));
    compare(&good, where, "after", WANTED("after"), text);

    client_free(&client);

    return good;
}


static void
compare(int *good, const char *where, const char *what, const char *wanted,
    const char *got)
{
    if (strcmp(wanted, got) != 0) {
        tap_diag("%s: %s is %s, must be %s", where, what, got, wanted);
        *good = 0;
    }
}


static void
compare_number(int *good, const char *where, const char *what,
    const char *wanted, int64_t got)
{
    char  text[32];

    snprintf(text, sizeof(text), "%" PRId64, got);
    compare(good, where, what, wanted, text);
}
