/* Plans of kernels for a case without a device at hand: what `tune` and `run --select`
 * ask before anything is launched. */
#ifndef WF_CLI_CASE_PLAN_H
#define WF_CLI_CASE_PLAN_H

#include "core/value.h"
#include "kernels/case.h"
#include "packs/plan.h"
#include "runner/device.h"

struct case_plan {
    const struct wf_case *c;
    const struct wf_device *device;
    char arch[64];                       /* without feature suffixes */
    struct wf_scope device_scope, scope; /* scope: case, then device */
    struct wf_plan_tensor *tensor;
    size_t tensor_count;
};

/* Points into itself: not to be moved. Case and device are borrowed. */
enum wf_status case_plan_init(struct case_plan *p,
                              const struct wf_case *c,
                              const struct wf_device *device,
                              struct wf_error *err);
void case_plan_fini(struct case_plan *p);
/* *ret NULL: the kernel does not do the case; `why` has the reason, at most n bytes. A
 * kernel that asks for its occupancy is one of those: only a device knows that. */
enum wf_status case_plan_make(const struct case_plan *p,
                              const struct wf_pack_kernel *kernel,
                              struct wf_plan **ret,
                              char *why,
                              size_t n,
                              struct wf_error *err);

#endif
