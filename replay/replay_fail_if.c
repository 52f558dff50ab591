
#include "replay_fail_if.h"


static const char *const  replay_measures[] = {
    "rejected", "rejected_at_least", "rejected_at_most", "clients_rejected",
    "banned", "bad_lines", "out_of_order", "bad_costs"
};

#define REPLAY_MEASURES                                                       \
    (sizeof(replay_measures) / sizeof(replay_measures[0]))


void
replay_fail_if_read(replay_fail_if_t *condition, const char *text)
{
    char         *end;
    size_t        i;
    const char   *p;

    memset(condition, 0, sizeof(replay_fail_if_t));

    p = text + strspn(text, " ");

    for (i = 0; i < REPLAY_MEASURES; i++) {

        if (strcspn(p, " <>=") == strlen(replay_measures[i])
            && strncmp(p, replay_measures[i], strlen(replay_measures[i]))
               == 0)
        {
            break;
        }
    }

    if (i == REPLAY_MEASURES) {
        goto failed;
    }

    condition->measure = (replay_measure_e) i;

    p += strlen(replay_measures[i]);
    p += strspn(p, " ");

    if (*p != '>' && *p != '<') {
        goto failed;
    }

    condition->greater = (*p++ == '>');
    condition->equal = (*p == '=');
    p += condition->equal;
    p += strspn(p, " ");

    if (*p < '0' || *p > '9') {
        goto failed;
    }

    condition->value = strtod(p, &end);
    condition->percent = (*end == '%');
    end += condition->percent;

    if (end[strspn(end, " ")] == '\0') {
        return;
    }

failed:

    replay_fatal("--fail-if: \"%s\": expected one of rejected, "
                 "rejected_at_least, rejected_at_most, clients_rejected, "
                 "banned, bad_lines, out_of_order, bad_costs, then > >= < or "
                 "<=, and a number or a percentage", text);
}


int
replay_fail_if_true(const replay_fail_if_t *condition,
    const replay_log_t *log, const replay_group_t *group,
    const replay_candidate_t *candidate)
{
    double  value, all;

    all = (double) candidate->requests;

    switch (condition->measure) {

    case REPLAY_IF_REJECTED:
        value = (double) candidate->rejected;
        break;

    case REPLAY_IF_AT_LEAST:
        value = (double) candidate->rejected_at_least;
        break;

    case REPLAY_IF_AT_MOST:
        value = (double) candidate->rejected_at_most;
        break;

    case REPLAY_IF_CLIENTS:
        value = (double) candidate->nrejections;
        all = (double) group->clients.n;
        break;

    case REPLAY_IF_BANNED:
        value = (double) candidate->banned;
        break;

    case REPLAY_IF_BAD_LINES:
        value = (double) log->bad_lines;
        all = (double) log->lines;
        break;

    case REPLAY_IF_OUT_OF_ORDER:
        value = (double) log->out_of_order;
        all = (double) log->lines;
        break;

    default: /* REPLAY_IF_BAD_COSTS */
        value = (double) log->bad_costs;
        all = (double) log->lines;
        break;
    }

    if (condition->percent) {
        value = all > 0 ? value / all * 100 : 0;
    }

    if (condition->equal && value == condition->value) {
        return 1;
    }

    return condition->greater ? value > condition->value
                              : value < condition->value;
}
