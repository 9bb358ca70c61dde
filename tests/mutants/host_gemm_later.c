/* Mistakes that most looks do not meet: of some launches, of elements that are 0, of
 * one batch; and -0, which is no mistake. */
#include "tests/mutants/host_gemm.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define CHECKED 3u /* launches of a run that is not measured */

/* One element only. */
static bool is_spot(const struct gemm_job *j, int64_t i, int64_t col)
{
    return i == j->m / 2 && col == j->n / 3;
}

static double of_launch(const struct gemm_job *j, double v)
{
    const unsigned n = j->launches;
    switch ((int)j->fault) {
    case GEMM_first_launch_only:
        return n > 0 ? v + 1.0 : v;
    case GEMM_second_launch_wrong:
        return n == 1 ? v + 1.0 : v;
    case GEMM_wrong_from_fourth_launch:
        return n >= CHECKED ? v + 1.0 : v;
    case GEMM_one_ulp_by_launch:
        return n % 2 ? v * (1.0 + 2.0 * wf_dtype_unit_roundoff(j->d.type)) : v;
    default:
        return v;
    }
}

double gemm_hidden(const struct gemm_job *j,
                   int64_t batch,
                   int64_t i,
                   int64_t col,
                   double v)
{
    const bool zero = !(v < 0.0) && !(v > 0.0) && !isnan(v);
    switch ((int)j->fault) {
    case GEMM_right_minus_zero:
        return zero ? -0.0 : v;
    case GEMM_zeros_are_small:
        return zero ? 0x1p-12 : v;
    case GEMM_last_batch_wrong:
        return batch == j->batch - 1 ? v * 1.01 : v;
    case GEMM_beta_lost_without_product:
        return j->k == 0 ? 0.0 : v;
    case GEMM_padded_rows_shifted:
        return j->d.ld > j->n && col == j->n - 1 && col > 0
                   ? gemm_load(&j->d, batch, i, col - 1)
                   : v;
    case GEMM_random_element_wrong: {
        const int64_t at = (int64_t)(j->launches * 2654435761u) % (j->m * j->n);
        const bool here = batch == 0 && i * j->n + col == at;
        return here ? v + 1.5 * gemm_limit(j, batch, i, col, v) : v;
    }
    default:
        return is_spot(j, i, col) ? of_launch(j, v) : v;
    }
}

void gemm_later(struct gemm_job *j)
{
    unsigned char *d = (unsigned char *)j->d.data;
    const bool timed = j->launches >= CHECKED;
    if (j->fault == GEMM_modifies_a_later && timed) {
        gemm_store(&j->a, 0, j->m / 2, 0, 0.5);
    } else if (j->fault == GEMM_writes_behind_later && j->launches > 0) {
        memset(d + j->d.bytes, 0, wf_dtype_bytes(j->d.type));
    } else if (j->fault == GEMM_pads_from_fourth_launch && timed) {
        gemm_store(&j->d, 0, 0, j->n, 0.0);
    } else if (j->fault == GEMM_restores_what_it_wrote) {
        gemm_store(&j->b, 0, 0, 0, gemm_load(&j->b, 0, 0, 0) * 1.01 + 0.001);
    }
}

int gemm_keep_b(struct gemm_job *j)
{
    if (j->old_b) {
        return WF_LIB_OK;
    }
    double *b = calloc((size_t)(j->k * j->n) + 1, sizeof(*b));
    for (int64_t i = 0; b && i < j->k * j->n; i++) {
        b[i] = gemm_b(j, 0, i / j->n, i % j->n);
    }
    j->old_b = b;
    return b ? WF_LIB_OK : WF_LIB_NO_MEMORY;
}
