/* What plan.c and plan_args.c share. */
#ifndef WF_PACKS_PLAN_INTERNAL_H
#define WF_PACKS_PLAN_INTERNAL_H

#include "packs/arena.h"
#include "packs/plan.h"

struct planner {
    const struct wf_pack_kernel *kernel;
    const struct wf_plan_tensor *tensors;
    size_t tensor_count;
    const struct wf_scope *scope; /* knobs first */
    const char *arch;             /* of the device */
    struct wf_plan *plan;
    struct arena *arena;
    size_t launch; /* index in the kernel, for errors */
    struct wf_error *err;
};

/* "kernel X: launches[1]: ...", status EINVAL. */
enum wf_status plan_fail(const struct planner *p, const char *fmt, ...)
    __attribute__((format(printf, 2, 3)));

/* Index of a tensor, or WF_PLAN_NULL. */
size_t plan_find_tensor(const struct planner *p, const char *name);

/* Fills args, relocations, pointer arrays and maps of `ret`. */
enum wf_status plan_args(struct planner *p,
                         const struct wf_pack_launch *launch,
                         struct wf_plan_launch *ret);

#endif
