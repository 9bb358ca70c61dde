#include "selftest/generate_values.h"
#include "core/buf.h"
#include <stdlib.h>
struct gen_values {
    const struct gen_flow *flow;
};
enum wf_status gen_values_create(const struct gen_flow *flow,
                                 unsigned block_x,
                                 struct gen_values **ret,
                                 struct wf_error *err)
{
    (void)block_x;
    *ret = wf_calloc(1, sizeof(**ret));
    if (!*ret)
        return wf_errorf(err, WF_ENOMEM, "no memory");
    (*ret)->flow = flow;
    return WF_OK;
}
void gen_values_destroy(struct gen_values *v)
{
    free(v);
}
bool gen_values_same(const struct gen_values *v, size_t node, const struct em_op *now)
{
    (void)v;
    (void)node;
    (void)now;
    return false;
}
