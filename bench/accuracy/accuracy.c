
/*
 * accuracy FIGURES [SEED [PART]]: how far each algorithm is from the exact log,
 * under traffic of all kinds.  Prints tables, and writes all figures with more
 * digits to the file.  PART makes an Nth of the requests, and none with large
 * limits, for a quick look.
 *
 * Fails if a guarantee of docs/algorithms.md did not hold.
 */


#include <stdio.h>
#include <stdlib.h>

#include "report.h"
#include "tables.h"


int
main(int argc, char **argv)
{
    tables_run_t  run;

    run.seed = (argc > 2) ? strtoull(argv[2], NULL, 10) : 1;
    run.part = (argc > 3) ? strtoll(argv[3], NULL, 10) : 1;

    if (argc < 2 || argc > 4 || run.part < 1) {
        fprintf(stderr, "usage: accuracy FIGURES [SEED [PART]]\n");
        return 2;
    }

    if (!report_open(argv[1])) {
        perror(argv[1]);
        return 1;
    }

    printf("seed %llu, all requests / %lld\n",
           (unsigned long long) run.seed, (long long) run.part);

    tables_decisions(&run);
    tables_sustained(&run);
    tables_leases(&run);
    tables_fallback();

    return !report_close();
}
