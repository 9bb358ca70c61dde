/* Launches a kernel: what the device would refuse, what the launch needs, and its
 * report.
 */
#include "emulator/launch/launch.h"

#include "core/clock.h"
#include "emulator/launch/launch_internal.h"

#include <inttypes.h>
#include <sched.h>

enum {
    MAX_WORK_ITEMS = 1024,
    MAX_THREADS = 256,
    MAX_COOPERATIVE =
        EM_DEVICE_CUS * 8, /* workgroups that the device holds at once, at most */
    MAX_PRIVATE_BYTES = 128 << 10,
    STACK_BYTES = 16 << 10, /* for calls whose depth the compiler does not know */
    PRELOAD_DWORDS = 64     /* what stands before the entry for older firmware */
};

/* Instructions of a workgroup without a budget of its own: a loop that does not end is
 * found within a minute, and no real kernel comes near it. */
#define DEFAULT_BUDGET (UINT64_C(1) << 28)

static unsigned processors(void)
{
    cpu_set_t set;
    int n = sched_getaffinity(0, sizeof(set), &set) == 0 ? CPU_COUNT(&set) : 1;
    return n > 0 ? (unsigned)n : 1;
}

static enum wf_status check_block(const struct em_launch *l,
                                  const struct em_kernel *k,
                                  struct wf_error *err)
{
    const uint32_t *b = l->block;
    uint64_t work_items = 1;
    for (unsigned i = 0; i < 3; i++) {
        if (b[i] == 0 || b[i] > MAX_WORK_ITEMS || l->grid[i] == 0) {
            return wf_errorf(err, WF_EINVAL, "%s of dimension %c is %" PRIu32 " (%s)",
                             l->grid[i] == 0 ? "grid" : "block", "xyz"[i],
                             l -> grid[i] == 0 ? 0 : b[i],
                             l -> grid[i] == 0 ? "at least 1" : "1 to 1024");
        }
        if ((uint64_t)l->grid[i] * b[i] > UINT32_MAX) {
            return wf_errorf(err, WF_EINVAL,
                             "%" PRIu32 " workgroups of %" PRIu32
                             " work-items in dimension %c: at most 2^32 - 1 work-items",
                             l->grid[i], b[i], "xyz"[i]);
        }
        work_items *= b[i];
    }
    uint32_t most = MAX_WORK_ITEMS;
    if (k->max_workgroup > 0 && k->max_workgroup < most) {
        most = k->max_workgroup;
    }
    if (work_items > most) {
        return wf_errorf(err, WF_EINVAL,
                         "block of %" PRIu64
                         " work-items: kernel %.200s takes at most %" PRIu32,
                         work_items, k->name, most);
    }
    return WF_OK;
}

static enum wf_status check_required(const struct em_launch *l,
                                     const struct em_kernel *k,
                                     struct wf_error *err)
{
    const unsigned *r = k->required_workgroup;
    if (r[0] == 0 ||
        (r[0] == l->block[0] && r[1] == l->block[1] && r[2] == l->block[2])) {
        return WF_OK;
    }
    return wf_errorf(err, WF_EINVAL,
                     "kernel %.200s needs blocks of %ux%ux%u, not %" PRIu32 "x%" PRIu32
                     "x%" PRIu32,
                     k->name, r[0], r[1], r[2], l->block[0], l->block[1], l->block[2]);
}

static enum wf_status check_memory(const struct em_launch *l,
                                   const struct em_kernel *k,
                                   struct wf_error *err)
{
    uint64_t lds = (uint64_t)k->lds_bytes + l->dynamic_lds_bytes;
    if (lds > EM_MAX_LDS_BYTES) {
        return wf_errorf(
            err, WF_EINVAL,
            "%" PRIu64 " bytes of LDS (%" PRIu32 " of kernel %.200s, %" PRIu32
            " dynamic): a workgroup has at most %d",
            lds, k->lds_bytes, k->name, l->dynamic_lds_bytes, EM_MAX_LDS_BYTES);
    }
    if (k->private_bytes > MAX_PRIVATE_BYTES) {
        return wf_errorf(err, WF_EINVAL,
                         "kernel %.200s with %" PRIu32
                         " bytes of scratch for a work-item: at most %d",
                         k->name, k->private_bytes, MAX_PRIVATE_BYTES);
    }
    return WF_OK;
}

static enum wf_status check_cooperative(const struct em_launch *l, struct wf_error *err)
{
    uint64_t n = (uint64_t)l->grid[0] * l->grid[1];
    n = n > MAX_COOPERATIVE ? n : n * l->grid[2];
    if (l->cooperative && n > MAX_COOPERATIVE) {
        return wf_errorf(err, WF_EINVAL,
                         "cooperative launch of %" PRIu64
                         " workgroups or more: the device holds %d at once",
                         n, MAX_COOPERATIVE);
    }
    return WF_OK;
}

static enum wf_status check_grid(const struct em_launch *l, struct wf_error *err)
{
    uint64_t n = (uint64_t)l->grid[0] * l->grid[1];
    if (n > UINT64_MAX / 1024 / l->grid[2]) {
        return wf_errorf(err, WF_EINVAL,
                         "grid of %" PRIu32 "x%" PRIu32 "x%" PRIu32 " workgroups",
                         l->grid[0], l->grid[1], l->grid[2]);
    }
    return WF_OK;
}

static enum wf_status check_launch(const struct em_launch *l, struct wf_error *err)
{
    const struct em_kernel *k = l->kernel;
    enum wf_status st = check_block(l, k, err);
    if (st == WF_OK) {
        st = check_required(l, k, err);
    }
    if (st == WF_OK) {
        st = check_memory(l, k, err);
    }
    if (st == WF_OK) {
        st = check_grid(l, err);
    }
    return st == WF_OK ? check_cooperative(l, err) : st;
}

static uint64_t wave_budget(const struct em_launch *l, unsigned waves)
{
    if (l->options.budget > 0) {
        return l->options.budget;
    }
    return DEFAULT_BUDGET / waves;
}

static void fill_plan(struct em_plan *plan, const struct em_launch *l)
{
    const struct em_kernel *k = l->kernel;
    plan->launch = l;
    plan->kernel = k;
    plan->code = em_image_code(l->image);
    plan->entry = k->entry + (k->kernarg_preload & 127 ? PRELOAD_DWORDS : 0);
    plan->workgroups = (uint64_t)l->grid[0] * l->grid[1] * l->grid[2];
    plan->work_items = l->block[0] * l->block[1] * l->block[2];
    plan->waves = (plan->work_items + EM_LANES - 1) / EM_LANES;
    plan->lds_bytes = k->lds_bytes + l->dynamic_lds_bytes;
    plan->scratch_bytes =
        (k->private_bytes + (k->dynamic_stack ? STACK_BYTES : 0) + 3) / 4 * 4;
    plan->budget = wave_budget(l, plan->waves);
    atomic_init(&plan->next, 0);
    atomic_init(&plan->stop, UINT64_MAX);
}

/* VGPRs that an instruction may name: those from accum_offset on are the accumulation
 * VGPRs, and kernels that have no use for these name them as VGPRs. That one register
 * has two names is not modelled: who uses both kinds has each of them alone. */
static unsigned named_vgprs(const struct em_kernel *k, const struct em_reach *reach)
{
    unsigned all = reach->agprs > 0 ? k->vgprs : k->vgprs + k->agprs;
    return all < 256 ? all : 256;
}

/* What the code tells: which order its workgroups need, whether it names registers that
 * the kernel does not have. */
static enum wf_status look_at_code(struct em_plan *plan, struct wf_error *err)
{
    struct em_reach reach;
    const struct em_kernel *k = plan->kernel;
    if (plan->entry >= em_code_count(plan->code)) {
        return wf_errorf(err, WF_EINVAL, "kernel %.200s starts behind the code",
                         k->name);
    }
    enum wf_status st = em_code_reach(plan->code, plan->entry, &reach, err);
    if (st != WF_OK) {
        return st;
    }
    plan->ordered = reach.order_matters || plan->launch->cooperative;
    plan->vgprs = named_vgprs(k, &reach);
    plan->careful =
        reach.vgprs > plan->vgprs || reach.agprs > k->agprs || reach.sgprs > k->sgprs;
    return WF_OK;
}

static void leave_shadow(struct em_plan *plan)
{
    struct em_global_shadow *s = plan->global_shadow;
    if (s && em_global_shadow_renew(s)) {
        em_space_leave_shadow(plan->launch->space, s, em_global_shadow_destroy);
    } else {
        em_global_shadow_destroy(s);
    }
    plan->global_shadow = NULL;
}

/* Everything is there: run it. */
static enum wf_status run_plan(struct em_plan *plan,
                               struct em_report *report,
                               struct wf_error *err)
{
    const struct em_launch *l = plan->launch;
    enum wf_status st = WF_OK;
    report->ordered = plan->ordered;
    if (l->options.check) {
        plan->global_shadow = em_space_take_shadow(l->space);
        if (!plan->global_shadow) {
            plan->global_shadow = em_global_shadow_create();
        }
        if (!plan->global_shadow) {
            return wf_errorf(err, WF_ENOMEM, "no memory for fault detection");
        }
    }
    if (l->options.count) {
        st = em_counts_init(&report->counts, em_code_count(plan->code), err);
        report->counted = st == WF_OK;
    }
    if (st == WF_OK) {
        em_space_hold(l->space);
        int64_t start = wf_monotonic_ns();
        st = em_plan_run(plan, report, err);
        report->host_ns = wf_monotonic_ns() - start;
        em_space_release(l->space);
    }
    leave_shadow(plan);
    return st;
}

/* Counters of a launch that was cut short say nothing. */
static void drop_counts(struct em_report *r)
{
    if (r->counted) {
        em_counts_fini(&r->counts);
        memset(&r->counts, 0, sizeof(r->counts));
        r->counted = false;
    }
}

enum wf_status em_launch_run(const struct em_launch *launch,
                             struct em_report *ret,
                             struct wf_error *err)
{
    enum wf_status st = check_launch(launch, err);
    if (st != WF_OK) {
        return st;
    }
    struct em_launch l = *launch;
    unsigned threads = l.options.threads ? l.options.threads : processors();
    l.options.threads = threads < MAX_THREADS ? threads : MAX_THREADS;
    struct em_plan plan = { 0 };
    fill_plan(&plan, &l);
    st = look_at_code(&plan, err);
    if (st != WF_OK) {
        return st;
    }
    st = em_plan_arguments(&plan, err);
    if (st != WF_OK) {
        return st;
    }
    struct em_report report = { 0 };
    st = run_plan(&plan, &report, err);
    em_plan_release(&plan);
    if (st != WF_OK || report.faulted) {
        drop_counts(&report);
    }
    if (st == WF_OK) {
        *ret = report;
    }
    return st;
}

void em_report_fini(struct em_report *r)
{
    drop_counts(r);
}
