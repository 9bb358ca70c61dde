/* Makes tasks in the order case, kernel, repetition and packs them into shards. */
#include "coordinator/run_plan.h"

#include <stdlib.h>
#include <string.h>

/* Kernels with the same arch list may share a shard: the first such kernel's index. */
static uint32_t group_of(const struct wf_run_request *r, size_t kernel)
{
    const struct wf_pack_kernel *k = r->kernels[kernel].kernel;
    if (r->arch) {
        return 0;
    }
    for (size_t i = 0; i < kernel; i++) {
        const struct wf_pack_kernel *o = r->kernels[i].kernel;
        bool same = o->arch_count == k->arch_count;
        for (size_t a = 0; same && a < k->arch_count; a++) {
            same = strcmp(o->arch[a], k->arch[a]) == 0;
        }
        if (same) {
            return (uint32_t)i;
        }
    }
    return (uint32_t)kernel;
}

static int64_t estimate(const struct wf_run_request *r,
                        size_t c,
                        size_t k,
                        const double *history_ms)
{
    struct wf_cost_input in = {
        .history_ms = history_ms ? history_ms[c * r->kernel_count + k] : 0,
        .flops = r->cases[c].flops,
        .bytes = r->cases[c].bytes,
        .measure = r->measured,
        .budget_ms = r->cases[c].budget_ms,
        .device_is_host = r->runtime && (strcmp(r->runtime, "host") == 0 ||
                                         strcmp(r->runtime, "emulator") == 0),
    };
    return wf_task_estimate_ms(&in);
}

static void make_tasks(const struct wf_run_request *r,
                       const double *history_ms,
                       struct wf_run_plan *p)
{
    for (size_t c = 0; c < r->case_count; c++) {
        for (size_t k = 0; k < r->kernel_count; k++) {
            if (strcmp(r->kernels[k].kernel->op, r->cases[c].op) != 0) {
                continue;
            }
            int64_t ms = estimate(r, c, k, history_ms);
            uint32_t group = group_of(r, k);
            for (int64_t i = 0; i < r->repetitions; i++) {
                size_t n = p->task_count++;
                p->task[n] =
                    (struct wf_plan_task){ (uint32_t)c, (uint32_t)k, (int32_t)i };
                p->packed[n] = (struct wf_shard_task){ ms, group, 0 };
            }
        }
    }
}

static void sum_shards(const struct wf_run_request *r, struct wf_run_plan *p)
{
    for (size_t i = 0; i < p->task_count; i++) {
        struct wf_plan_shard *s = &p->shard[p->packed[i].shard];
        uint64_t memory = r->cases[p->task[i].case_index].memory_bytes;
        s->kernel_index = p->packed[i].group;
        s->open_tasks++;
        s->estimate_ms += p->packed[i].estimate_ms;
        s->memory_bytes = memory > s->memory_bytes ? memory : s->memory_bytes;
    }
}

enum wf_status wf_run_plan_make(const struct wf_run_request *r,
                                const double *history_ms,
                                const struct wf_shard_plan_input *limits,
                                struct wf_run_plan *ret,
                                struct wf_error *err)
{
    struct wf_run_plan p = { 0 };
    enum wf_status status = WF_OK;
    p.task = wf_calloc(r->task_count, sizeof *p.task);
    p.packed = wf_calloc(r->task_count, sizeof *p.packed);
    if (!p.task || !p.packed) {
        status = wf_errorf(err, WF_ENOMEM, "no memory for %zu tasks", r->task_count);
        goto out;
    }
    make_tasks(r, history_ms, &p);
    status = wf_shard_plan(p.packed, p.task_count, limits, &p.shard_count, err);
    if (status != WF_OK) {
        goto out;
    }
    p.shard = wf_calloc(p.shard_count, sizeof *p.shard);
    if (!p.shard) {
        status = wf_errorf(err, WF_ENOMEM, "no memory for %zu shards", p.shard_count);
        goto out;
    }
    sum_shards(r, &p);
    *ret = p;
    return WF_OK;
out:
    wf_run_plan_free(&p);
    return status;
}

void wf_run_plan_free(struct wf_run_plan *p)
{
    free(p->task);
    free(p->packed);
    free(p->shard);
    *p = (struct wf_run_plan){ 0 };
}

enum wf_status wf_run_plan_archs(const struct wf_run_request *r,
                                 size_t kernel,
                                 struct wf_buf *ret,
                                 struct wf_error *err)
{
    const struct wf_pack_kernel *k = r->kernels[kernel].kernel;
    enum wf_status status = WF_OK;
    if (r->arch) {
        status = wf_pg_array_add(ret, r->arch, err);
    }
    for (size_t i = 0; !r->arch && status == WF_OK && i < k->arch_count; i++) {
        status = wf_pg_array_add(ret, k->arch[i], err);
    }
    return status == WF_OK ? wf_pg_array_end(ret, err) : status;
}
