
#include <errno.h>

#include "replay_report.h"
#include "replay_report_page.h"


void
replay_report_html(const replay_report_t *report, const char *path)
{
    FILE  *file;

    file = fopen(path, "w");

    if (file == NULL) {
        replay_fatal("%s: %s", path, strerror(errno));
    }

    (void) fwrite(replay_report_head, 1, sizeof(replay_report_head), file);
    replay_report_json(report, file, 1);
    (void) fwrite(replay_report_tail, 1, sizeof(replay_report_tail), file);

    if (ferror(file) | fclose(file)) {
        replay_fatal("%s: %s", path, strerror(errno));
    }
}
