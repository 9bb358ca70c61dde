/* A grouped_gemm case with its inputs, and a loop over groups that knows nothing of
 * gemm's batches, for the tests. */
#ifndef WF_TESTS_GROUPED_FIXTURE_H
#define WF_TESTS_GROUPED_FIXTURE_H

#include "kernels/case.h"
#include "kernels/gemm/gemm.h"
#include "kernels/report.h"

struct grouped {
    struct wf_case *c;
    const struct gemm *g;
    char *in[GEMM_GROUPED_TENSOR_COUNT];
    char *d; /* in[GEMM_D] */
};

/* Inputs, and D as the offsets say; its padding is poison. */
void grouped_make(struct grouped *l, const char *text);
void grouped_free(struct grouped *l);

double grouped_value(const struct grouped *l, int tensor, int64_t at);
/* Row `row` of A, wherever it is, times the B of `group`. */
double grouped_dot(const struct grouped *l, int64_t group, int64_t row, int64_t col);
/* The same with the activation. */
double grouped_element(const struct grouped *l,
                       int64_t group,
                       int64_t row,
                       int64_t col);
void grouped_store(struct grouped *l, int64_t row, int64_t col, double v);
/* A row of D, from row `row` of A and the B of `group`. */
void grouped_set_row(struct grouped *l, int64_t group, int64_t row);
/* The group that a row of D belongs to. */
int64_t grouped_of_row(const struct grouped *l, int64_t row);

/* budget: multiply-adds of a full reference; 0: the default. */
void grouped_check(struct grouped *l, double budget, struct wf_check_report *ret);

#endif
