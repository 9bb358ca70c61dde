/* A case and a device for plans, without the ops: names with values, and tensors. */
#ifndef WF_TESTS_PACKS_PLAN_CASE_H
#define WF_TESTS_PACKS_PLAN_CASE_H

#include "packs/plan.h"

#include <string.h>

struct named_value {
    const char *name;
    struct wf_value value;
};

#define INT_VALUE(n)                   \
    {                                  \
        .kind = WF_VALUE_INT, .i = (n) \
    }
#define DOUBLE_VALUE(x)                   \
    {                                     \
        .kind = WF_VALUE_DOUBLE, .d = (x) \
    }
#define TEXT_VALUE(t)                     \
    {                                     \
        .kind = WF_VALUE_STRING, .s = (t) \
    }

/* ctx is an array of struct named_value that ends with a NULL name. */
static inline enum wf_status find_named(const void *ctx,
                                        const char *name,
                                        struct wf_value *ret,
                                        struct wf_error *err)
{
    (void)err;
    for (const struct named_value *v = ctx; v->name != NULL; v++) {
        if (strcmp(v->name, name) == 0) {
            *ret = v->value;
            return WF_OK;
        }
    }
    return WF_ENOTFOUND;
}

#endif
