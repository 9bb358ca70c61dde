/* What the benches share: processor time and medians. */
#ifndef WF_TESTS_BENCH_H
#define WF_TESTS_BENCH_H

#include "core/stats.h"

#include <stdlib.h>
#include <time.h>

/* Processor time of all threads of the process. */
static inline double bench_cpu_s(void)
{
    struct timespec t;
    (void)clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static inline double bench_median(const double *x, size_t n)
{
    struct wf_summary s;
    if (wf_summarise(x, n, &s, NULL) != WF_OK) {
        abort();
    }
    return s.median;
}

#endif
