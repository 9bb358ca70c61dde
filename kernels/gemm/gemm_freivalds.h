/* The product check and what is done with the rows that it marks. Private to
 * kernels/gemm/. */
#ifndef WF_KERNELS_GEMM_GEMM_FREIVALDS_H
#define WF_KERNELS_GEMM_GEMM_FREIVALDS_H

#include "kernels/gemm/gemm_check.h"

#define GEMM_SIGN_COLS 32 /* columns that share a sum of random signs */

/* What is known of a row; a byte each. */
enum gemm_row_mark {
    ROW_RIGHT, /* every block within its limit */
    ROW_FLAGGED,
    ROW_FLAGGED_DONE, /* compared element by element */
    ROW_SAMPLED,
    ROW_SAMPLED_DONE
};

struct gemm_product_check {
    const struct wf_reference *ref;
    const struct wf_output_source *outputs;
    struct gemm_work w;
    bool linear;         /* no activation: products are checked */
    double *x;           /* [N] signs */
    double *bx;          /* [blocks of the panel][K] */
    double *abx;         /* [rows][blocks of the panel] */
    int64_t blocks;      /* in a full panel */
    unsigned char *flag; /* [batch * M] enum gemm_row_mark */
    uint64_t flagged;
    uint64_t unwritten, nonfinite; /* seen in all elements */
    double worst_ratio, caught;
    uint64_t elements;
};

/* gemm_freivalds.c. Init leaves `p` for fini whatever it returns; ref, outputs and
 * linear are set before. */
enum wf_status gemm_product_init(struct gemm_product_check *p, struct wf_error *err);
void gemm_product_fini(struct gemm_product_check *p);
/* Every element of D: residuals where the problem is linear, poison and non-finite
 * values always. Rows to be looked at are marked ROW_FLAGGED. */
enum wf_status gemm_check_products(struct gemm_product_check *p, struct wf_error *err);

#endif
