/* Host GEMM kernels with one mistake each: the rows of gemm_faults.def. All share one
 * plain GEMM that is right; a mistake is a wrong belief about the problem
 * (host_gemm_belief.c), a wrong step of the arithmetic (host_gemm_sums.c,
 * host_gemm_epilogue.c), or a wrong write (host_gemm.c). */
#ifndef WF_TESTS_MUTANTS_HOST_GEMM_H
#define WF_TESTS_MUTANTS_HOST_GEMM_H

#include "core/dtype.h"
#include "packs/library_abi.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum gemm_fault {
#define X(name) GEMM_##name,
#include "tests/mutants/gemm_faults.def"
#undef X
    GEMM_FAULT_COUNT
};

struct gemm_mat {
    enum wf_dtype type;
    int64_t ld, stride;
    uint64_t bytes;
    char *data;
};

struct gemm_epilogue {
    bool has_bias, row_scales, block_scales, silu, gated;
    enum wf_dtype bias_type;
    const char *bias;
    const float *sa, *sb;
};

struct gemm_job {
    enum gemm_fault fault;
    int64_t m, n, k, batch;
    bool trans_a, trans_b;
    double alpha, beta;
    struct gemm_mat a, b, c, d;
    struct gemm_epilogue epilogue;
    float *workspace;
    unsigned launches;
    double carry;  /* a sum that is not reset */
    double *old_b; /* B of the first launch */
};

double gemm_load(const struct gemm_mat *x, int64_t batch, int64_t row, int64_t col);
void gemm_store(const struct gemm_mat *x,
                int64_t batch,
                int64_t row,
                int64_t col,
                double v);
double gemm_a(const struct gemm_job *j, int64_t batch, int64_t i, int64_t k);
double gemm_b(const struct gemm_job *j, int64_t batch, int64_t k, int64_t col);
/* Rounds to a type and back. */
double gemm_round(enum wf_dtype t, double v);

/* host_gemm_belief.c: what the kernel takes the problem for. */
void gemm_believe(struct gemm_job *j);
/* host_gemm_later.c: faults of some launches, or of few elements. */
double gemm_hidden(const struct gemm_job *j,
                   int64_t batch,
                   int64_t i,
                   int64_t col,
                   double v);
void gemm_later(struct gemm_job *j); /* beside D, when the output is there */
int gemm_keep_b(struct gemm_job *j);
double gemm_limit(const struct gemm_job *j,
                  int64_t batch,
                  int64_t i,
                  int64_t col,
                  double v);
/* host_gemm_sums.c: sum over k of one element, and the value that is written. */
double gemm_sum(struct gemm_job *j, int64_t batch, int64_t i, int64_t col);
double gemm_value(struct gemm_job *j,
                  int64_t batch,
                  int64_t i,
                  int64_t col,
                  double sum);

/* host_gemm_epilogue.c: problems with bias, scales or activation. */
void gemm_read_epilogue(const struct wf_lib_problem *p, struct gemm_epilogue *e);
bool gemm_has_epilogue(const struct gemm_job *j);
double gemm_epilogue_value(const struct gemm_job *j,
                           int64_t batch,
                           int64_t i,
                           int64_t col);

#endif
