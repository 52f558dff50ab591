
#include <string.h>

#include "lease.h"
#include "sw_math.h"


static int64_t lease_next_size(const lease_t *lease, int64_t ttl,
    int64_t now);
static void lease_refund(lease_t *lease, limiter_t *store);


void
lease_init(lease_t *lease, int64_t percent)
{
    memset(lease, 0, sizeof(lease_t));
    lease->percent = percent;
}


int64_t
lease_max(const lease_t *lease, const sw_rule_t *rule)
{
    return sw_max(rule->limit * lease->percent / 100, 1);
}


int64_t
lease_ttl(const sw_rule_t *rule)
{
    return sw_min(rule->window / 10, 1000);
}


void
lease_expire(lease_t *lease, limiter_t *store, int64_t now)
{
    if (lease->ends <= now) {
        lease_refund(lease, store);
    }
}


int
lease_take(lease_t *lease, limiter_t *store, int64_t now)
{
    int64_t       ttl, size;
    sw_verdict_t  verdict;

    if (now < lease->ends && lease->left) {
        lease->left--;
        lease->used++;
        return 1;
    }

    ttl = lease_ttl(&store->rule);
    size = lease_next_size(lease, ttl, now);

    lease_refund(lease, store);

    limiter_check(store, now, &verdict);

    size = verdict.admitted ? sw_min(sw_min(size,
                                            lease_max(lease, &store->rule)),
                                     verdict.remaining - 1)
                            : 0;
    lease->calls++;
    lease->asked = now;

    if (verdict.admitted) {
        lease->stamp = limiter_add(store, now, 1 + size);
    }

    if (size) {
        lease->size = size;
        lease->left = size;
        lease->used = 0;
        lease->ends = now + ttl;

    } else if (now >= lease->ends + ttl) {
        lease->size = 0;
        lease->ends = 0;
    }

    return verdict.admitted;
}


static int64_t
lease_next_size(const lease_t *lease, int64_t ttl, int64_t now)
{
    if (lease->size == 0) {
        return (now < lease->asked + ttl) ? 1 : 0;
    }

    if (now < lease->ends) {
        return 2 * lease->size;
    }

    return (now < lease->ends + ttl) ? lease->used : 0;
}


static void
lease_refund(lease_t *lease, limiter_t *store)
{
    if (lease->left) {
        limiter_give_back(store, lease->left, lease->stamp);
        lease->left = 0;
    }
}
