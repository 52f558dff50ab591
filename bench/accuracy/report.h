
/*
 * What the program says: tables in Markdown on standard output, all figures
 * with more digits in a file, and guarantees that did not hold.
 */


#ifndef _REPORT_H_INCLUDED_
#define _REPORT_H_INCLUDED_


#include <stdint.h>
#include <stdio.h>


/* 0 if the file cannot be written */
int report_open(const char *path);

/* whether all guarantees held, and all has been written */
int report_close(void);

/* the names of the columns with "|" between them; so many are words */
void report_head(const char *columns, int words);

/* a cell of a row, as printf() would have it */
#define report_cell(...)                                                     \
    (report_cell_begin(), (void) printf(__VA_ARGS__), report_cell_end())

void report_cell_begin(void);
void report_cell_end(void);
void report_row_end(void);

/* a line of the file: MEASURE TRAFFIC LIMIT RULE FIGURE VALUE */
void report_figure(const char *measure, const char *traffic, int64_t limit,
    const char *rule, const char *figure, double value);

/* a guarantee: no more than that in any rolling window */
void report_bound(const char *what, const char *rule, int64_t limit,
    int64_t most, int64_t bound);


#endif /* _REPORT_H_INCLUDED_ */
