/* The naive device kernel as a check of attention. Private to kernels/attention. */
#ifndef WF_KERNELS_ATTENTION_ATTENTION_NAIVE_CHECK_H
#define WF_KERNELS_ATTENTION_ATTENTION_NAIVE_CHECK_H

#include "kernels/attention/attention_ref.h"

/* As the members of struct wf_reference_ops. */
bool attention_complete(const struct wf_reference *ref);
double attention_naive_work(const struct wf_reference *ref);
uint64_t attention_naive_bytes(const struct wf_reference *ref);
enum wf_status attention_check_naive(struct wf_reference *ref,
                                     const struct wf_output_source *outputs,
                                     const struct wf_output_source *naive,
                                     struct wf_naive_report *ret,
                                     struct wf_error *err);

#endif
