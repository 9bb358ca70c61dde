/* A gemm case with its inputs and an output computed by a plain loop, for the tests. */
#ifndef WF_TESTS_GEMM_FIXTURE_H
#define WF_TESTS_GEMM_FIXTURE_H

#include "kernels/case.h"
#include "kernels/gemm/gemm.h"
#include "kernels/op.h"

struct gemm_fixture {
    struct wf_case *c;
    const struct gemm *g;
    void *input[GEMM_TENSOR_COUNT];   /* NULL where nothing is read, and for D */
    double *value[GEMM_TENSOR_COUNT]; /* the same in double */
    unsigned char *d;
    uint64_t reads; /* calls of the output source */
};

/* From JSON text with ' for ". Ends the test on a parse error. */
struct wf_case *gemm_case(const char *text);
/* Status and error text of a case that must not parse; `err` gets the text. */
enum wf_status gemm_case_error(const char *text, struct wf_error *err);

/* Inputs under `seed_offset` and a right output (f32 or i32 accumulation, one k at a
 * time); padding of D keeps poison. */
void gemm_fixture_make(struct gemm_fixture *f, const char *text, uint64_t seed_offset);
void gemm_fixture_free(struct gemm_fixture *f);

size_t gemm_d_position(const struct gemm *g, int64_t batch, int64_t row, int64_t col);
double gemm_get_d(const struct gemm_fixture *f,
                  int64_t batch,
                  int64_t row,
                  int64_t col);
/* Stores v rounded to D's type. */
void gemm_set_d(struct gemm_fixture *f,
                int64_t batch,
                int64_t row,
                int64_t col,
                double v);
/* SA times SB of a term, by the definition in kernels/gemm/gemm.h; 1 without scales. */
double gemm_term_scale(const struct gemm_fixture *f,
                       int64_t batch,
                       int64_t row,
                       int64_t col,
                       int64_t k);
double gemm_bias_at(const struct gemm_fixture *f, int64_t col); /* 0 without */
/* sum of SA SB a b in double over k in [begin, end), of a column of op(B). */
double gemm_sum(const struct gemm_fixture *f,
                int64_t batch,
                int64_t row,
                int64_t col,
                int64_t begin,
                int64_t end);
double gemm_input(const struct gemm_fixture *f, enum gemm_tensor t, int64_t at);

struct gemm_check_setup {
    double budget_macs; /* 0: the default, full for every small case */
    int64_t split;
    enum wf_dtype accumulate;
    uint64_t seed_offset;
};
void gemm_fixture_check(struct gemm_fixture *f,
                        const struct gemm_check_setup *setup,
                        struct wf_check_report *ret);

#endif
