/* Rows of transforms.def, for the reader of pack.json and for plans. */
#ifndef WF_PACKS_TRANSFORM_H
#define WF_PACKS_TRANSFORM_H

#include "packs/plan.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define TRANSFORM_MAX_PARAMS WF_TRANSFORM_MAX_PARAMS

struct transform_param {
    const char *name; /* NULL past the last */
    bool required;
};

/* Values in the order of the row's parameters; -1 for one that is left out. */
struct transform_row {
    const char *name;
    struct transform_param param[TRANSFORM_MAX_PARAMS];
    enum wf_status (*bytes)(const int64_t *v,
                            const struct wf_plan_tensor *from,
                            uint64_t *ret,
                            struct wf_error *err);
    enum wf_status (*run)(const int64_t *v,
                          const struct wf_plan_tensor *from,
                          const void *src,
                          void *dst,
                          struct wf_error *err);
};

size_t transform_count(void);
const struct transform_row *transform_at(size_t i);
const struct transform_row *transform_find(const char *name); /* or NULL */

/* Evaluates the parameters of a derived buffer, all in [1, 2^40]. */
enum wf_status transform_values(const struct wf_pack_buffer *buffer,
                                const struct wf_scope *scope,
                                int64_t ret[TRANSFORM_MAX_PARAMS],
                                struct wf_error *err);
/* wf_transform_bytes and wf_transform_run with the parameters known. */
enum wf_status transform_bytes(const struct wf_pack_buffer *buffer,
                               const struct wf_plan_tensor *from,
                               const int64_t *values,
                               uint64_t *ret,
                               struct wf_error *err);

#endif
