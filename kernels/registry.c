/* The table of ops, expanded from ops.def. */
#include "kernels/op.h"

#include <string.h>

#define OP(name) extern const struct wf_op wf_op_##name;
#include "kernels/ops.def"
#undef OP

static const struct wf_op *const OPS[] = {
#define OP(name) &wf_op_##name,
#include "kernels/ops.def"
#undef OP
};

size_t wf_op_count(void)
{
    return sizeof OPS / sizeof *OPS;
}

const struct wf_op *wf_op_at(size_t i)
{
    return i < wf_op_count() ? OPS[i] : NULL;
}

const struct wf_op *wf_op_find(const char *name)
{
    for (size_t i = 0; i < wf_op_count(); i++) {
        if (strcmp(OPS[i]->name, name) == 0) {
            return OPS[i];
        }
    }
    return NULL;
}
