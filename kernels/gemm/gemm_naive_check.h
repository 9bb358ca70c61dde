/* The naive device kernel as a check of a gemm. Private to kernels/gemm/. */
#ifndef WF_KERNELS_GEMM_GEMM_NAIVE_CHECK_H
#define WF_KERNELS_GEMM_GEMM_NAIVE_CHECK_H

#include "kernels/gemm/gemm_check.h"

/* As the members of struct wf_reference_ops. */
bool gemm_complete(const struct wf_reference *ref);
double gemm_naive_work(const struct wf_reference *ref);
uint64_t gemm_naive_bytes(const struct wf_reference *ref);
enum wf_status gemm_check_naive(struct wf_reference *ref,
                                const struct wf_output_source *outputs,
                                const struct wf_output_source *naive,
                                struct wf_naive_report *ret,
                                struct wf_error *err);

#endif
