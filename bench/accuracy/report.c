
#include <inttypes.h>

#include "report.h"


static FILE  *report_file;
static int    report_bad;
static int    report_in_row;


int
report_open(const char *path)
{
    report_file = fopen(path, "w");

    return report_file != NULL
           && fputs("measure\ttraffic\tlimit\trule\tfigure\tvalue\n",
                    report_file) >= 0;
}


int
report_close(void)
{
    int  bad;

    bad = ferror(report_file) | ferror(stdout);
    bad |= fclose(report_file);
    bad |= fflush(stdout);

    return !bad && !report_bad;
}


void
report_head(const char *columns, int words)
{
    const char  *p;

    printf("\n| ");

    for (p = columns; *p; p++) {

        if (*p == '|') {
            printf(" | ");

        } else {
            putchar(*p);
        }
    }

    printf(" |\n|");

    for (p = columns; /* void */ ; p++) {

        if (*p == '|' || *p == '\0') {
            printf(words > 0 ? " --- |" : " ---: |");
            words--;
        }

        if (*p == '\0') {
            break;
        }
    }

    putchar('\n');
}


void
report_cell_begin(void)
{
    printf(report_in_row ? " " : "| ");
    report_in_row = 1;
}


void
report_cell_end(void)
{
    printf(" |");
}


void
report_row_end(void)
{
    putchar('\n');
    report_in_row = 0;
}


void
report_figure(const char *measure, const char *traffic, int64_t limit,
    const char *rule, const char *figure, double value)
{
    fprintf(report_file, "%s\t%s\t%" PRId64 "\t%s\t%s\t%.6f\n", measure,
            traffic, limit, rule, figure, value);
}


void
report_bound(const char *what, const char *rule, int64_t limit, int64_t most,
    int64_t bound)
{
    if (most > bound) {
        fprintf(stderr, "accuracy: %s, %s, limit %" PRId64 ": %" PRId64
                " in a rolling window, not %" PRId64 "\n", what, rule, limit,
                most, bound);
        report_bad = 1;
    }
}
