/* e-BH: the false-discovery rule for e-values, valid under any dependence. */
#include "core/buf.h"
#include "core/stats.h"
#include "gate/exact.h"
#include "gate/gate.h"

#include <stdlib.h>

/* The least e-value (log) that is rejected: the k-th largest for the greatest k with
 * e_(k) >= m / (alpha k); false: none is. `sorted` ascends and holds n of the m, those
 * that may be rejected at all. */
static bool find_least(const double *sorted,
                       size_t n,
                       size_t m,
                       double alpha,
                       double *ret)
{
    for (size_t k = n; k > 0; k--) {
        if (sorted[n - k] >= wf_exact_log((double)m / (alpha * (double)k))) {
            *ret = sorted[n - k];
            return true;
        }
    }
    return false;
}

enum wf_status wf_gate_ebh(const double *log_e,
                           size_t m,
                           double alpha,
                           bool *ret_rejected,
                           struct wf_error *err)
{
    double *sorted;
    double floor_log = wf_exact_log(1 / alpha) - 1e-9; /* nothing below is rejected */
    double least = 0;
    bool any;
    size_t n = 0;

    if (!(alpha > 0 && alpha < 1)) {
        return wf_errorf(err, WF_EINVAL, "e-BH: alpha is %g: give one in (0, 1)",
                         alpha);
    }
    sorted = wf_calloc(m + 1, sizeof *sorted);
    if (sorted == NULL) {
        return wf_errorf(err, WF_ENOMEM, "e-BH: no memory for %zu values", m);
    }
    for (size_t i = 0; i < m; i++) {
        if (log_e[i] >= floor_log) { /* NaN is not */
            sorted[n++] = log_e[i];
        }
    }
    wf_sort_doubles(sorted, n);
    any = find_least(sorted, n, m, alpha, &least);
    for (size_t i = 0; i < m; i++) {
        ret_rejected[i] = any && log_e[i] >= least;
    }
    free(sorted);
    return WF_OK;
}
