
#include "sw_status.h"
#include "sw_parse.h"

#include <string.h>


static int sw_parse_status(const char *text, sw_statuses_t *set);
static void sw_statuses_add(sw_statuses_t *set, int64_t status);


int
sw_parse_statuses(const char *text, size_t len, sw_statuses_t *set)
{
    size_t         i;
    sw_statuses_t  all;

    /* a status has three characters, and a comma separates two */

    if (len % 4 != 3) {
        return SW_ERROR;
    }

    memset(&all, 0, sizeof(sw_statuses_t));

    for (i = 0; i < len; i += 4) {

        if (i && text[i - 1] != ',') {
            return SW_ERROR;
        }

        if (sw_parse_status(text + i, &all) != SW_OK) {
            return SW_ERROR;
        }
    }

    *set = all;

    return SW_OK;
}


static int
sw_parse_status(const char *text, sw_statuses_t *set)
{
    int64_t  status, last;

    if (text[1] == 'x' && text[2] == 'x') {

        if (sw_parse_count(text, 1, 9, &status) != SW_OK) {
            return SW_ERROR;
        }

        status *= 100;
        last = status + 99;

    } else {

        if (sw_parse_count(text, 3, 999, &status) != SW_OK) {
            return SW_ERROR;
        }

        last = status;
    }

    if (status < SW_STATUS_MIN || last > SW_STATUS_MAX) {
        return SW_ERROR;
    }

    for ( /* void */ ; status <= last; status++) {
        sw_statuses_add(set, status);
    }

    return SW_OK;
}


static void
sw_statuses_add(sw_statuses_t *set, int64_t status)
{
    status -= SW_STATUS_MIN;

    set->bits[status / 32] |= (uint32_t) 1 << status % 32;
}


int
sw_statuses_have(const sw_statuses_t *set, int64_t status)
{
    if (status < SW_STATUS_MIN || status > SW_STATUS_MAX) {
        return 0;
    }

    status -= SW_STATUS_MIN;

    return set->bits[status / 32] >> status % 32 & 1;
}


int64_t
sw_statuses_common(const sw_statuses_t *one, const sw_statuses_t *two)
{
    int64_t  status;

    for (status = SW_STATUS_MIN; status <= SW_STATUS_MAX; status++) {
        if (sw_statuses_have(one, status) && sw_statuses_have(two, status)) {
            return status;
        }
    }

    return 0;
}
