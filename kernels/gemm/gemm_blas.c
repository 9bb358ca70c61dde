/* OpenBLAS behind two functions: the only file of the reference that includes cblas.h.
 * Panels are small, so that its int dimensions are enough. */
#include "kernels/gemm/gemm_check.h"

#include "kernels/parallel.h"

#include <cblas.h>

void gemm_blas_threads(int threads)
{
    openblas_set_num_threads(wf_thread_count(threads));
}

void gemm_blas_product(const struct gemm_product *p)
{
    const blasint m = (blasint)p->m, n = (blasint)p->n, k = (blasint)p->k;
    if (m == 0 || n == 0) {
        return;
    }
    cblas_dgemm(CblasRowMajor, p->trans_a ? CblasTrans : CblasNoTrans,
                p->trans_b ? CblasTrans : CblasNoTrans, m, n, k, 1.0, p->a,
                p->trans_a ? m : k, p->b, (blasint)p->ldb, p->accumulate ? 1.0 : 0.0,
                p->c, n);
}
