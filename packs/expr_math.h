/* Arithmetic of pack expressions on values, apart from the tree that it is done for.
 * Functions return NULL, or the reason why there is no result. */
#ifndef WF_PACKS_EXPR_MATH_H
#define WF_PACKS_EXPR_MATH_H

#include "core/value.h"
#include "packs/expr_internal.h"

#include <stdbool.h>
#include <stddef.h>

const char *expr_binary(enum expr_op op,
                        const struct wf_value *a,
                        const struct wf_value *b,
                        struct wf_value *ret);
const char *expr_negate(const struct wf_value *a, struct wf_value *ret);
const char *expr_call(enum expr_function f,
                      const struct wf_value *args,
                      size_t count,
                      struct wf_value *ret);
/* Truth of a condition. */
const char *expr_truth(const struct wf_value *v, bool *ret);

#endif
