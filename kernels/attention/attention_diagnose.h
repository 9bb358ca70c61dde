/* The parts of the diagnosis of a wrong attention. Private to kernels/attention. */
#ifndef WF_KERNELS_ATTENTION_ATTENTION_DIAGNOSE_H
#define WF_KERNELS_ATTENTION_ATTENTION_DIAGNOSE_H

#include "kernels/attention/attention_ref.h"

/* --- attention_mistakes.c --- */
/* The suspect's line is computed again under each of a table of mistakes; *ret_words is
 * the first one whose result was found, or NULL. */
enum wf_status attention_find_mistake(struct attention_reference *ref,
                                      const struct attention_suspect *s,
                                      const char **ret_words,
                                      struct wf_error *err);
/* Index of a (row, head) in the reference's results; -1: not computed. */
int64_t attention_line_of(const struct attention_reference *ref,
                          int64_t row,
                          int64_t head);
/* Whether every element of a line is as near to `want` as an honest kernel would be. */
bool attention_same_line(const double *got,
                         const double *want,
                         const float *tolerance,
                         int64_t n);

/* --- attention_places.c --- */
/* Whether the wrong rows are exactly those that need an offset into Q, K, V or O beyond
 * 2^31 or 2^32, in elements or bytes; says which. */
bool attention_explain_wrap(const struct attention *a,
                            const struct attention_seen *seen,
                            char *text,
                            size_t text_bytes);
/* The box round the wrong elements; "" when it is the whole output. */
void attention_describe_place(const struct attention *a,
                              const struct attention_seen *seen,
                              char *text,
                              size_t text_bytes);

#endif
