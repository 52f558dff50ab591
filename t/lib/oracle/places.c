
/*
 * Where slidewin-replay takes requests to be answered: reads lines of a host, a
 * tab and a URI, and writes the line of the location or server in the
 * configuration, a tab, and the zones of its limits.
 */


#include <stdio.h>
#include <string.h>

#include "replay_conf.h"


int
main(int argc, char **argv)
{
    char                        line[4096], *tab;
    size_t                      i;
    const char                 *error;
    replay_pool_t               pool;
    replay_text_t               host, uri;
    const replay_conf_t        *conf;
    const replay_conf_place_t  *place;

    memset(&pool, 0, sizeof(replay_pool_t));

    if (argc != 2) {
        return 2;
    }

    conf = replay_conf_read(&pool, argv[1], &error);

    if (conf == NULL) {
        fprintf(stderr, "%s\n", error);
        return 1;
    }

    while (fgets(line, sizeof(line), stdin)) {
        tab = strchr(line, '\t');

        if (tab == NULL) {
            return 2;
        }

        host.data = line;
        host.len = (size_t) (tab - line);
        uri.data = tab + 1;
        uri.len = strcspn(tab + 1, "\n");

        place = replay_conf_place(conf, host, uri);

        printf("%u\t", place->ref.line);

        for (i = 0; i < place->nlimits; i++) {
            printf("%s%s", i ? "," : "",
                   conf->zones[place->limits[i].zone].name.data);
        }

        printf("\n");
    }

    replay_pool_destroy(&pool);

    return 0;
}
