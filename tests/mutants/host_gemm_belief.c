/* Mistakes that are a right kernel for another problem. */
#include "tests/mutants/host_gemm.h"

#include <math.h>

static enum wf_dtype sibling(enum wf_dtype t)
{
    switch ((int)t) {
    case WF_E4M3FNUZ:
        return WF_E4M3FN;
    case WF_E5M2FNUZ:
        return WF_E5M2;
    case WF_E4M3FN:
        return WF_E4M3FNUZ;
    case WF_E5M2:
        return WF_E5M2FNUZ;
    default:
        return t;
    }
}

static void believe_layout(struct gemm_job *j)
{
    switch ((int)j->fault) {
    case GEMM_a_transpose_ignored:
        j->trans_a = false;
        break;
    case GEMM_b_transpose_ignored:
        j->trans_b = false;
        break;
    case GEMM_operands_swapped: {
        const struct gemm_mat a = j->a;
        j->a = j->b;
        j->b = a;
        break;
    }
    case GEMM_lda_tight:
        j->a.ld = j->trans_a ? j->m : j->k;
        break;
    case GEMM_ldb_tight:
        j->b.ld = j->trans_b ? j->k : j->n;
        break;
    case GEMM_ldd_tight:
        j->d.ld = j->n;
        break;
    case GEMM_ldc_is_ldd:
        j->c.ld = j->d.ld;
        break;
    case GEMM_a_batch_ignored:
        j->a.stride = 0;
        break;
    case GEMM_b_stride_tight:
        j->b.stride = j->k * j->n;
        break;
    case GEMM_b_type_as_a:
        j->b.type = j->a.type;
        break;
    case GEMM_fnuz_as_ocp:
    case GEMM_ocp_as_fnuz:
    case GEMM_e5m2_as_fnuz:
        j->a.type = sibling(j->a.type);
        j->b.type = sibling(j->b.type);
        break;
    default:
        break;
    }
}

void gemm_believe(struct gemm_job *j)
{
    believe_layout(j);
    switch ((int)j->fault) {
    case GEMM_k_tail_16:
        j->k = j->k / 16 * 16;
        break;
    case GEMM_k_tail_32:
        j->k = j->k / 32 * 32;
        break;
    case GEMM_k_tail_64:
        j->k = j->k / 64 * 64;
        break;
    case GEMM_k_last_missing:
        j->k -= j->k > 0;
        break;
    case GEMM_m_tail_unwritten:
        j->m = j->m / 16 * 16;
        break;
    case GEMM_n_tail_unwritten:
        j->n = j->n / 16 * 16;
        break;
    case GEMM_first_batch_only:
        j->batch = 1;
        break;
    case GEMM_alpha_ignored:
        j->alpha = 1.0;
        break;
    case GEMM_beta_ignored:
        j->beta = 0.0;
        break;
    case GEMM_beta_as_one:
        j->beta = j->beta != 0.0;
        break;
    case GEMM_alpha_without_sign:
        j->alpha = fabs(j->alpha);
        break;
    case GEMM_alpha_over_all:
        j->beta *= j->alpha;
        break;
    case GEMM_alpha_in_f16:
        j->alpha = gemm_round(WF_F16, j->alpha);
        break;
    default:
        break;
    }
}
