
/*
 * What is no nginx.conf is refused with a line, and what is one has a place for
 * every host and URI.
 */


#include "fuzz.h"
#include "replay_conf.h"


static const char  *const hosts[] = {
    "", "-", "a", "a.b", "x.a.b:80", "[::1]"
};
static const char  *const uris[] = { "", "/", "/a", "/a/", "/a/b.php" };


static void
check_zones(const replay_conf_t *conf)
{
    size_t                     i;
    const replay_conf_zone_t  *zone;

    for (i = 0; i < conf->nzones; i++) {
        zone = &conf->zones[i];

        fuzz_check(replay_conf_zone(conf, zone->name) == zone);
        fuzz_check(zone->ref.line > 0);
        fuzz_check(zone->rate_varies || sw_rule_error(&zone->rule) == NULL);
        fuzz_check(zone->ban.time >= 0);
        fuzz_check(zone->ban.max == 0 || zone->ban.max >= zone->ban.time);
    }
}


static void
check_place(const replay_conf_t *conf, const replay_conf_place_t *place)
{
    size_t                      i;
    const replay_conf_limit_t  *limit;

    fuzz_check(place != NULL);
    fuzz_check(place->prefix_v4 <= 32 && place->prefix_v6 <= 128);

    for (i = 0; i < place->nlimits; i++) {
        limit = &place->limits[i];

        fuzz_check(limit->zone < conf->nzones);
        fuzz_check(limit->units >= -1 && limit->delay >= 0);
        fuzz_check(limit->cost.len > 0 && limit->ref.line > 0);
    }
}


int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char                 *copy;
    size_t                i, k;
    const char           *error;
    replay_pool_t         pool;
    replay_text_t         text;
    const replay_conf_t  *conf;

    memset(&pool, 0, sizeof(replay_pool_t));

    /* a read behind the end is found */

    copy = malloc(size ? size : 1);
    fuzz_check(copy != NULL);

    if (size) {
        memcpy(copy, data, size);
    }

    text.data = copy;
    text.len = size;

    error = NULL;
    conf = replay_conf_parse(&pool, "nginx.conf", text, &error);

    free(copy);

    fuzz_check((conf == NULL) == (error != NULL));

    if (error) {
        fuzz_check(strncmp(error, "nginx.conf:", 11) == 0);
        fuzz_check(atoi(error + 11) > 0);
        replay_pool_destroy(&pool);
        return 0;
    }

    /* all that is kept is of the pool */

    check_zones(conf);

    for (i = 0; i < sizeof(hosts) / sizeof(hosts[0]); i++) {
        for (k = 0; k < sizeof(uris) / sizeof(uris[0]); k++) {
            check_place(conf, replay_conf_place(conf,
                                                replay_text_of(hosts[i]),
                                                replay_text_of(uris[k])));
        }
    }

    (void) replay_conf_log_format_of(conf, "/var/log/access.log.1.gz");
    (void) replay_conf_log_format_of(conf, "a");

    replay_pool_destroy(&pool);

    return 0;
}
