#include "gate/level.h"

#include "core/stats.h"
#include "gate/exact.h"

#include <math.h>
#include <string.h>

enum {
    LEAST = 3
};

bool wf_gate_level_is_off(const double *earlier,
                          size_t n,
                          double level,
                          double *ret_limit)
{
    double x[WF_GATE_LEVELS];
    double sum = 0;
    double squares = 0;
    double median;
    double limit;
    size_t from = n > WF_GATE_LEVELS ? n - WF_GATE_LEVELS : 0;

    if (n < LEAST) {
        if (ret_limit != NULL) {
            *ret_limit = INFINITY;
        }
        return false;
    }
    n -= from;
    memcpy(x, earlier + from, n * sizeof x[0]);
    wf_sort_doubles(x, n);
    median = 0.5 * x[(n - 1) / 2] + 0.5 * x[n / 2];
    for (size_t i = 0; i < n; i++) {
        sum += x[i];
    }
    for (size_t i = 0; i < n; i++) {
        squares += (x[i] - sum / (double)n) * (x[i] - sum / (double)n);
    }
    limit = 5 * wf_exact_sqrt(squares / (double)(n - 1));
    limit = limit > 0.02 ? limit : 0.02;
    if (ret_limit != NULL) {
        *ret_limit = limit;
    }
    return fabs(level - median) > limit;
}
