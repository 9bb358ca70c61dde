/* A named value as pack expressions see it: problem parameters, knobs, device facts and
 * dataset arrays. Strings and arrays are borrowed from whoever answered the look-up. */
#ifndef WF_CORE_VALUE_H
#define WF_CORE_VALUE_H

#include "core/error.h"

#include <stddef.h>
#include <stdint.h>

enum wf_value_kind {
    WF_VALUE_INT,
    WF_VALUE_DOUBLE,
    WF_VALUE_STRING,
    WF_VALUE_INTS
};

struct wf_value {
    enum wf_value_kind kind;
    int64_t i;           /* WF_VALUE_INT; booleans are 0 and 1 */
    double d;            /* WF_VALUE_DOUBLE */
    const char *s;       /* WF_VALUE_STRING */
    const int64_t *ints; /* WF_VALUE_INTS: only through max() min() sum() count() */
    size_t n;
};

/* Look-up by name; ENOTFOUND when the name is unknown here (the caller asks the next
 * scope). */
struct wf_scope {
    enum wf_status (*find)(const void *ctx,
                           const char *name,
                           struct wf_value *ret,
                           struct wf_error *err);
    const void *ctx;
    const struct wf_scope *next; /* asked when this one does not know the name */
    /* Names that find() knows, in any order, NULL past the end: for "did you mean" in
     * errors. The pointer itself may be NULL. */
    const char *(*name_at)(const void *ctx, size_t i);
};

#endif
