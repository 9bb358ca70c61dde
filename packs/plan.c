/* A plan: knobs, condition, buffers and launches of one kernel made concrete.
 *
 * Pure: the same kernel, case and device give the same plan. Strings are those of the
 * kernel, which outlives its plans. Arguments are plan_args.c. */
#include "packs/plan_internal.h"

#include "core/buf.h"
#include "packs/transform.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MAX_BUFFER_BYTES ((int64_t)1 << 48)
#define MAX_SHARED_BYTES (1 << 20)
#define MAX_GRID         2147483647
#define MAX_BLOCK        1024
#define MAX_GRID_SM_YZ   65535 /* CUDA C Programming Guide, compute capabilities */

struct plan_owner {
    struct wf_plan plan; /* first, so that wf_plan_free finds the rest */
    struct arena arena;
};

enum wf_status plan_fail(const struct planner *p, const char *fmt, ...)
{
    char message[480];
    va_list ap;
    va_start(ap, fmt);
    (void)vsnprintf(message, sizeof message, fmt, ap);
    va_end(ap);
    return wf_errorf(p->err, WF_EINVAL, "kernel %s: launches[%zu]%s", p->kernel->name,
                     p->launch, message);
}

static enum wf_status no_memory(const struct planner *p)
{
    return wf_errorf(p->err, WF_ENOMEM, "kernel %s: no memory for a plan",
                     p->kernel->name);
}

size_t plan_find_tensor(const struct planner *p, const char *name)
{
    for (size_t i = 0; i < p->tensor_count; i++) {
        if (strcmp(p->tensors[i].name, name) == 0) {
            return i;
        }
    }
    return WF_PLAN_NULL;
}

static bool same_arch(const char *kernel, const char *device)
{
    size_t n = strcspn(device, ":");
    return strlen(kernel) == n && strncmp(kernel, device, n) == 0;
}

static enum wf_status check_arch(const struct wf_pack_kernel *k,
                                 const char *device,
                                 struct wf_error *err)
{
    char list[200] = "";
    size_t at = 0;
    for (size_t i = 0; i < k->arch_count; i++) {
        if (same_arch(k->arch[i], device)) {
            return WF_OK;
        }
        int n = snprintf(list + at, sizeof list - at, "%s%s", i == 0 ? "" : ", ",
                         k->arch[i]);
        at += n > 0 && (size_t)n < sizeof list - at ? (size_t)n : 0;
    }
    return wf_errorf(err, WF_EUNSUPPORTED,
                     "kernel %s is built for %s; the device is %s", k->name, list,
                     device);
}

static enum wf_status check_supports(const struct planner *p)
{
    bool good = true;
    if (p->kernel->supports == NULL) {
        return WF_OK;
    }
    enum wf_status st = wf_expr_eval_bool(p->kernel->supports, p->scope, &good, p->err);
    if (st == WF_OK && !good) {
        st = wf_errorf(p->err, WF_EUNSUPPORTED,
                       "kernel %s does not do this case: %.500s", p->kernel->name,
                       wf_expr_text(p->kernel->supports));
    }
    return st;
}

static enum wf_status plan_split(struct planner *p)
{
    p->plan->split = 1;
    if (p->kernel->split == NULL) {
        return WF_OK;
    }
    return wf_expr_eval_i64(p->kernel->split, p->scope, 1, (int64_t)1 << 31,
                            &p->plan->split, p->err);
}

static enum wf_status plan_workspace(struct planner *p, struct wf_plan_buffer *b)
{
    int64_t bytes = 0;
    b->from = WF_PLAN_NULL;
    enum wf_status st = wf_expr_eval_i64(b->source->bytes, p->scope, 0,
                                         MAX_BUFFER_BYTES, &bytes, p->err);
    b->bytes = (uint64_t)bytes;
    return st;
}

static enum wf_status plan_derived(struct planner *p, struct wf_plan_buffer *b)
{
    b->from = plan_find_tensor(p, b->source->from);
    if (b->from == WF_PLAN_NULL) {
        return wf_errorf(p->err, WF_EINVAL,
                         "kernel %s: buffer %s is derived from '%.80s', which the case "
                         "does not have",
                         p->kernel->name, b->name, b->source->from);
    }
    enum wf_status st = transform_values(b->source, p->scope, b->param, p->err);
    if (st == WF_OK) {
        st = transform_bytes(b->source, &p->tensors[b->from], b->param, &b->bytes,
                             p->err);
        if (st != WF_OK) {
            (void)wf_error_prefix(p->err, "kernel %s", p->kernel->name);
        }
    }
    return st;
}

static enum wf_status plan_buffer(struct planner *p, size_t i)
{
    const struct wf_pack_buffer *source = &p->kernel->buffer[i];
    struct wf_plan_buffer *b = &p->plan->buffer[i];
    *b = (struct wf_plan_buffer){ .name = source->name,
                                  .kind = source->kind,
                                  .init = source->init,
                                  .init_byte = source->init_byte,
                                  .source = source };
    if (plan_find_tensor(p, b->name) != WF_PLAN_NULL) {
        return wf_errorf(p->err, WF_EINVAL,
                         "kernel %s: buffer %s has the name of a tensor of the case",
                         p->kernel->name, b->name);
    }
    return b->kind == WF_BUFFER_DERIVED ? plan_derived(p, b) : plan_workspace(p, b);
}

static enum wf_status plan_buffers(struct planner *p)
{
    p->plan->buffer_count = p->kernel->buffer_count;
    p->plan->buffer =
        arena_calloc(p->arena, p->plan->buffer_count, sizeof *p->plan->buffer);
    if (p->plan->buffer == NULL) {
        return no_memory(p);
    }
    enum wf_status st = WF_OK;
    for (size_t i = 0; st == WF_OK && i < p->plan->buffer_count; i++) {
        st = plan_buffer(p, i);
    }
    return st;
}

/* Dimensions that are not given are `missing`. */
static enum wf_status plan_extent(struct planner *p,
                                  struct wf_expr *const e[3],
                                  uint32_t missing,
                                  int64_t max,
                                  uint32_t ret[3])
{
    for (int d = 0; d < 3; d++) {
        int64_t n = missing;
        enum wf_status st = WF_OK;
        if (e[d] != NULL) {
            st = wf_expr_eval_i64(e[d], p->scope, 0, max, &n, p->err);
        }
        if (st != WF_OK) {
            return st;
        }
        ret[d] = (uint32_t)n;
    }
    return WF_OK;
}

static enum wf_status check_block(struct planner *p, const struct wf_plan_launch *l)
{
    uint64_t threads = (uint64_t)l->block[0] * l->block[1] * l->block[2];
    if (threads > MAX_BLOCK) {
        return plan_fail(p, ".block: %ux%ux%u are %llu work-items, at most %d",
                         l->block[0], l->block[1], l->block[2],
                         (unsigned long long)threads, MAX_BLOCK);
    }
    for (int d = 0; d < 3; d++) {
        if ((uint64_t)l->grid[d] * l->block[d] > UINT32_MAX) {
            return plan_fail(p,
                             ".grid[%d]: %u workgroups of %u are more than 2^32 - 1 "
                             "work-items",
                             d, l->grid[d], l->block[d]);
        }
    }
    return WF_OK;
}

/* AMD's dispatch packet has 32 bits a dimension, CUDA 16 in y and z. */
static enum wf_status check_grid(struct planner *p, const struct wf_plan_launch *l)
{
    for (int d = 1; d < 3 && strncmp(p->arch, "sm_", 3) == 0; d++) {
        if (l->grid[d] > MAX_GRID_SM_YZ) {
            return plan_fail(p,
                             ".grid[%d]: %u workgroups; %s has at most %d in y and z",
                             d, l->grid[d], p->arch, MAX_GRID_SM_YZ);
        }
    }
    return WF_OK;
}

static enum wf_status plan_cluster(struct planner *p,
                                   const struct wf_pack_launch *source,
                                   struct wf_plan_launch *l)
{
    if (source->cluster[0] == NULL) {
        return WF_OK;
    }
    enum wf_status st = plan_extent(p, source->cluster, 1, 16, l->cluster);
    for (int d = 0; st == WF_OK && d < 3; d++) {
        if (l->cluster[d] == 0 || l->grid[d] % l->cluster[d] != 0) {
            st = plan_fail(p, ".cluster[%d]: grid %u is not a multiple of %u", d,
                           l->grid[d], l->cluster[d]);
        }
    }
    return st;
}

static enum wf_status plan_sizes(struct planner *p,
                                 const struct wf_pack_launch *source,
                                 struct wf_plan_launch *l)
{
    int64_t shared = 0;
    enum wf_status st = check_block(p, l);
    st = st != WF_OK ? st : check_grid(p, l);
    st = st != WF_OK ? st : plan_cluster(p, source, l);
    if (st == WF_OK && source->shared_bytes != NULL) {
        st = wf_expr_eval_i64(source->shared_bytes, p->scope, 0, MAX_SHARED_BYTES,
                              &shared, p->err);
    }
    l->shared_bytes = (uint32_t)shared;
    return st;
}

static bool is_empty(const uint32_t e[3])
{
    return e[0] == 0 || e[1] == 0 || e[2] == 0;
}

/* *ret_kept is false for a launch that does not happen. */
static enum wf_status plan_launch(struct planner *p,
                                  const struct wf_pack_launch *source,
                                  struct wf_plan_launch *l,
                                  bool *ret_kept)
{
    bool wanted = true;
    enum wf_status st = WF_OK;
    *ret_kept = false;
    *l = (struct wf_plan_launch){ .symbol = source->symbol,
                                  .code = source->code,
                                  .cooperative = source->cooperative };
    if (source->when != NULL) {
        st = wf_expr_eval_bool(source->when, p->scope, &wanted, p->err);
    }
    if (st != WF_OK || !wanted) {
        return st;
    }
    st = plan_extent(p, source->grid, 1, MAX_GRID, l->grid);
    st = st != WF_OK ? st : plan_extent(p, source->block, 1, MAX_BLOCK, l->block);
    if (st != WF_OK || is_empty(l->grid) || is_empty(l->block)) {
        return st;
    }
    *ret_kept = true;
    st = plan_sizes(p, source, l);
    return st != WF_OK ? st : plan_args(p, source, l);
}

static enum wf_status plan_launches(struct planner *p)
{
    p->plan->launch =
        arena_calloc(p->arena, p->kernel->launch_count, sizeof *p->plan->launch);
    if (p->plan->launch == NULL) {
        return no_memory(p);
    }
    enum wf_status st = WF_OK;
    for (size_t i = 0; st == WF_OK && i < p->kernel->launch_count; i++) {
        bool kept = false;
        p->launch = i;
        st = plan_launch(p, &p->kernel->launch[i],
                         &p->plan->launch[p->plan->launch_count], &kept);
        p->plan->launch_count += kept;
    }
    return st;
}

/* The condition comes first: it guards knobs against cases they are not made for. */
static enum wf_status fill_plan(struct planner *p, struct wf_knobs *knobs)
{
    enum wf_status st = check_supports(p);
    st = st != WF_OK ? st : wf_knobs_evaluate(knobs, p->err);
    st = st != WF_OK ? st : plan_split(p);
    st = st != WF_OK ? st : plan_buffers(p);
    return st != WF_OK ? st : plan_launches(p);
}

enum wf_status wf_plan_create(const struct wf_pack_kernel *kernel,
                              const struct wf_plan_tensor *tensors,
                              size_t tensor_count,
                              const char *device_arch,
                              const struct wf_scope *scope,
                              struct wf_plan **ret,
                              struct wf_error *err)
{
    struct wf_knobs *knobs = NULL;
    struct plan_owner *owner = NULL;
    enum wf_status st = check_arch(kernel, device_arch, err);
    st = st != WF_OK ? st : wf_knobs_create(kernel, scope, &knobs, err);
    if (st != WF_OK) {
        goto out;
    }
    owner = wf_calloc(1, sizeof *owner);
    if (owner == NULL) {
        st = wf_errorf(err, WF_ENOMEM, "kernel %s: no memory for a plan", kernel->name);
        goto out;
    }
    struct planner p = { .kernel = kernel,
                         .tensors = tensors,
                         .tensor_count = tensor_count,
                         .scope = wf_knobs_scope(knobs),
                         .arch = device_arch,
                         .plan = &owner->plan,
                         .arena = &owner->arena,
                         .err = err };
    st = fill_plan(&p, knobs);
    if (st == WF_OK) {
        *ret = &owner->plan;
        owner = NULL;
    }
out:
    wf_plan_free(owner == NULL ? NULL : &owner->plan);
    wf_knobs_destroy(knobs);
    return st;
}

void wf_plan_free(struct wf_plan *plan)
{
    if (plan == NULL) {
        return;
    }
    struct plan_owner *owner = (struct plan_owner *)plan;
    arena_fini(&owner->arena);
    free(owner);
}
