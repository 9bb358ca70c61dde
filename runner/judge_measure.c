/* Measuring: warm-up, clock check, samples, verdict on the time.
 *
 * All samples are kept in order. The inputs are other ones than those of the checked
 * launches, and the outputs that the last batch leaves are judged afterwards; so the
 * clock check runs before the samples. Rules are in stopping.c, warmup.c and cold.c. */
#include "runner/judge.h"

#include "core/clock.h"
#include "core/stats.h"
#include "runner/amd_power.h"
#include "runner/cold.h"
#include "runner/stopping.h"
#include "runner/warmup.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define GROUP_NS           ((double)SECOND_NS / 10)
#define GROUP_MAX          32u
#define WARMUP_MAX_SAMPLES 200u
#define LEAD_TARGET_NS     30e3
#define LEAD_MAX           8u
#define LEAD_BELOW_NS      10e6
#define CLOCK_CHECK_NS     30e6
#define CLOCK_CHECK_MAX    100000.0
#define CLOCK_CHECK_TRIES  3
#define HOST_SHARE_LEAST   100.0
#define CLOCK_DROP         0.9
#define FLOOR_SLACK        0.95
#define F32_EMULATION      8.0 /* tensor units may do f32 this much faster than said */
#define CACHES_BEATEN      4
#define POWER_TIMEOUT_MS   200

struct meter {
    struct judge *j;
    double estimate_ns; /* of a launch */
    double host_ns;     /* of a launch in the last group, with everything around it */
    uint32_t launches;  /* in a batch */
    uint32_t lead;
    uint32_t next; /* program of the next launch */
    uint32_t last;
    int64_t spent_ns;
    double enqueue_ns, event_ns; /* sums over the timed batches */
    struct amd_power *amd;       /* NULL: the runtime tells clocks and power */
};

/* --- one group of batches --- */

struct group {
    struct wf_sp_measured head;
    struct wf_sp_sample sample[WF_SP_MAX_BATCHES];
    int64_t wall_ns; /* by the judge's clock */
};

static enum wf_status unpack_group(const struct wf_buf *reply,
                                   uint32_t batches,
                                   struct group *ret,
                                   struct wf_error *err)
{
    size_t want = sizeof(ret->head) + batches * sizeof(ret->sample[0]);
    if (reply->len != want) {
        return wf_errorf(err, WF_EPARSE, "MEASURE answered %zu bytes, not %zu",
                         reply->len, want);
    }
    memcpy(&ret->head, reply->data, sizeof(ret->head));
    memcpy(ret->sample, reply->data + sizeof(ret->head), want - sizeof(ret->head));
    return WF_OK;
}

static enum wf_status run_group(struct meter *m,
                                const struct wf_sp_measure *want,
                                struct group *ret,
                                struct wf_error *err)
{
    struct wf_buf reply = WF_BUF_INIT;
    double expected_ns =
        m->estimate_ns * want->batches * ((double)want->launches + want->lead);
    int64_t limit_ns = m->j->request->kernel_deadline_ns;
    if (expected_ns > 0 && expected_ns < 600e9) {
        limit_ns += (int64_t)(20 * expected_ns);
    }
    int64_t start_ns = wf_monotonic_ns();
    enum wf_status st =
        judge_call(m->j, WF_SP_MEASURE, want, sizeof(*want), limit_ns, &reply, err);
    ret->wall_ns = wf_monotonic_ns() - start_ns;
    if (st == WF_OK) {
        st = unpack_group(&reply, want->batches, ret, err);
    }
    if (st == WF_OK) {
        uint64_t done = (uint64_t)want->batches * (want->launches + want->lead);
        m->next = (uint32_t)((m->next + done) % m->j->sets);
        m->last = ret->head.last_program < m->j->sets ? ret->head.last_program : 0;
    }
    wf_buf_free(&reply);
    return st;
}

static void set_batch(struct meter *m)
{
    m->launches =
        judge_has_inout(m->j)
            ? 1
            : stopping_launches(m->estimate_ns, m->j->request->measure.batch_min_ns);
    m->lead = 0;
    if (!m->j->request->device->library_kernels && !judge_has_inout(m->j) &&
        m->estimate_ns < LEAD_BELOW_NS) {
        double lead = ceil(LEAD_TARGET_NS / m->estimate_ns);
        m->lead = lead < 1 ? 1 : lead < LEAD_MAX ? (uint32_t)lead : LEAD_MAX;
    }
}

static struct wf_sp_measure group_request(const struct meter *m)
{
    double batch_ns = m->estimate_ns * ((double)m->launches + m->lead);
    double batches = batch_ns > 0 ? GROUP_NS / batch_ns : GROUP_MAX;
    struct wf_sp_measure want = { .batches = batches < 1           ? 1
                                             : batches < GROUP_MAX ? (uint32_t)batches
                                                                   : GROUP_MAX,
                                  .launches = m->launches,
                                  .lead = m->lead,
                                  .reset = 1,
                                  .program_count = (uint32_t)m->j->sets,
                                  .first = m->next };
    return want;
}

/* A launch's time to plan with: a clock that says nothing, or next to nothing beside
 * what passed on the host, must not lead to endless batches. */
static double plan_ns(double event_ns, double host_ns)
{
    double least = host_ns / HOST_SHARE_LEAST;
    return isfinite(event_ns) && event_ns > least ? event_ns : least;
}

static double per_launch_ns(const struct wf_sp_sample *s, uint32_t launches)
{
    return s->event_ms * 1e6 / launches;
}

/* --- warm-up --- */

static const char *warmup_name(enum warmup_state state)
{
    return state == WARMUP_STEADY ? "steady" : "capped";
}

static enum wf_status warm_up(struct meter *m, struct wf_error *err)
{
    struct warmup w;
    enum warmup_state state = WARMUP_MORE;
    enum wf_status st = WF_OK;
    warmup_start(&w, WARMUP_MAX_SAMPLES, m->j->request->measure.budget_ns / 2);
    while (st == WF_OK && state == WARMUP_MORE) {
        struct group g;
        struct wf_sp_measure want = group_request(m);
        want.batches = want.batches < WARMUP_BLOCK ? want.batches : WARMUP_BLOCK;
        st = run_group(m, &want, &g, err);
        m->j->result->timing.warmup_launches +=
            (uint64_t)want.batches * (want.launches + want.lead);
        for (uint32_t i = 0; st == WF_OK && i < want.batches; i++) {
            double ns = per_launch_ns(&g.sample[i], want.launches);
            double host_ns =
                (double)g.wall_ns / want.batches / ((double)want.launches + want.lead);
            state = warmup_add(&w, ns, g.wall_ns / want.batches);
            m->estimate_ns = plan_ns(ns, host_ns);
            m->host_ns = host_ns;
            if (state != WARMUP_MORE) {
                break;
            }
        }
        set_batch(m);
    }
    return st == WF_OK ? wf_json_set_string(m->j->result->details, "warmup",
                                            warmup_name(state), err)
                       : st;
}

/* --- the host's clock --- */

static enum wf_status check_clocks(struct meter *m, struct wf_error *err)
{
    char why[200] = "";
    enum wf_status st = WF_OK;
    double best = (double)NAN;
    double launch_ns = m->host_ns > m->estimate_ns ? m->host_ns : m->estimate_ns;
    double launches =
        launch_ns > 0 ? ceil(CLOCK_CHECK_NS / launch_ns) : CLOCK_CHECK_MAX;
    bool agree = false;
    struct wf_sp_measure want = { .batches = 1, .program_count = (uint32_t)m->j->sets };
    want.launches = launches < 1                 ? 1
                    : launches < CLOCK_CHECK_MAX ? (uint32_t)launches
                                                 : (uint32_t)CLOCK_CHECK_MAX;
    if (judge_has_inout(m->j)) {
        want.launches = 1;
    }
    for (int i = 0; st == WF_OK && i < CLOCK_CHECK_TRIES && !agree; i++) {
        struct group g;
        want.first = m->next;
        st = run_group(m, &want, &g, err);
        if (st == WF_OK) {
            double event_ns = g.sample[0].event_ms * 1e6;
            double ratio = (double)g.wall_ns / event_ns;
            best = !(fabs(ratio - 1) >= fabs(best - 1)) ? ratio : best;
            agree = !plausible_clocks(event_ns, (double)g.wall_ns, why, sizeof(why));
        }
    }
    if (st == WF_OK && !agree) {
        result_time(m->j->result, WF_TIME_IMPLAUSIBLE, "%s", why);
    }
    m->j->result->timing.host_ratio = best;
    return st;
}

/* --- samples --- */

/* ROCm's runtime has no call for clocks and power: amdgpu's sysfs has. */
static void start_power(struct meter *m)
{
    const struct wf_device *d = m->j->request->device;
    const char *root = getenv("WAVEFARM_SYSFS");
    if (strcmp(d->runtime, "amd") == 0 && d->pci_bus_id[0] && !d->times_modelled) {
        /* Without it the figures are unknown, which the result shows. */
        (void)amd_power_start(root && root[0] ? root : "/sys", d->pci_bus_id,
                              POWER_TIMEOUT_MS, &m->amd, NULL);
    }
}

static enum wf_status read_power(struct meter *m,
                                 struct wf_sp_power *ret,
                                 struct wf_error *err)
{
    *ret =
        (struct wf_sp_power){ (double)NAN, (double)NAN, (double)NAN, (double)NAN, 0 };
    if (m->j->request->device->library_kernels) {
        return WF_OK;
    }
    if (m->amd) {
        amd_power_read(m->amd, ret);
        return WF_OK;
    }
    return judge_get(m->j, WF_SP_POWER, NULL, 0, 10 * SECOND_NS, ret, sizeof(*ret),
                     err);
}

/* Reasons that make a sample not count. NVIDIA's software power cap (bit 2) is left
 * out: it is how such a card runs under full load, and its clock stands beside the
 * sample. */
static bool is_throttled(const struct wf_device *device,
                         const struct wf_sp_power *power)
{
    uint64_t normal = strcmp(device->runtime, "cuda") == 0 ? 4 : 0;
    return (power->throttle_reasons & ~normal) != 0;
}

static enum wf_status add_samples(struct meter *m,
                                  const struct wf_sp_measure *want,
                                  const struct group *g,
                                  const struct wf_sp_power power[2],
                                  struct wf_error *err)
{
    struct result_timing *t = &m->j->result->timing;
    const struct wf_device *device = m->j->request->device;
    struct result_sample *grown =
        wf_realloc_array(t->sample, t->count + want->batches, sizeof(*grown));
    if (!grown) {
        return wf_errorf(err, WF_ENOMEM, "no memory for samples");
    }
    t->sample = grown;
    for (uint32_t i = 0; i < want->batches; i++) {
        double event_ns = g->sample[i].event_ms * 1e6;
        t->sample[t->count++] = (struct result_sample){
            .ns = per_launch_ns(&g->sample[i], want->launches),
            .clock_mhz = (power[0].clock_mhz + power[1].clock_mhz) / 2,
            .power_w = (power[0].power_w + power[1].power_w) / 2,
            .flagged =
                is_throttled(device, &power[0]) || is_throttled(device, &power[1])
        };
        bool valid = isfinite(event_ns) && event_ns > 0;
        m->spent_ns +=
            valid && event_ns < 3600e9 ? (int64_t)event_ns : g->wall_ns / want->batches;
        m->event_ns += valid ? event_ns : 0;
        m->enqueue_ns += (double)g->sample[i].enqueue_ns;
        t->has_power =
            t->has_power || isfinite(power[1].clock_mhz) || isfinite(power[1].power_w);
    }
    return WF_OK;
}

static enum wf_status one_group(struct meter *m, struct wf_error *err)
{
    struct group g;
    struct wf_sp_power power[2];
    struct wf_sp_measure want = group_request(m);
    size_t left =
        (size_t)m->j->request->measure.max_samples - m->j->result->timing.count;
    want.batches = left < want.batches ? (uint32_t)left : want.batches;
    enum wf_status st = read_power(m, &power[0], err);
    if (st == WF_OK) {
        st = run_group(m, &want, &g, err);
    }
    if (st == WF_OK) {
        st = read_power(m, &power[1], err);
    }
    return st == WF_OK ? add_samples(m, &want, &g, power, err) : st;
}

static int compare_doubles(const void *a, const void *b)
{
    double x = *(const double *)a;
    double y = *(const double *)b;
    return (x > y) - (x < y);
}

/* Flags samples whose clock fell well below the run's median clock. */
static enum wf_status flag_clock_drops(struct result_timing *t, struct wf_error *err)
{
    size_t n = 0;
    double *clock = wf_calloc(t->count + 1, sizeof(*clock));
    if (!clock) {
        return wf_errorf(err, WF_ENOMEM, "no memory for clocks");
    }
    for (size_t i = 0; i < t->count; i++) {
        if (isfinite(t->sample[i].clock_mhz) && t->sample[i].clock_mhz > 0) {
            clock[n++] = t->sample[i].clock_mhz;
        }
    }
    if (n > 0) {
        qsort(clock, n, sizeof(*clock), compare_doubles);
        for (size_t i = 0; i < t->count; i++) {
            t->sample[i].flagged = t->sample[i].flagged ||
                                   t->sample[i].clock_mhz < CLOCK_DROP * clock[n / 2];
        }
    }
    free(clock);
    return WF_OK;
}

static enum wf_status decide(struct meter *m,
                             enum stop_reason *ret,
                             double *ret_width,
                             struct wf_error *err)
{
    const struct wf_measure_options *o = &m->j->request->measure;
    const struct stop_rule rule = { o->ci_target, o->budget_ns, (size_t)o->min_samples,
                                    (size_t)o->max_samples };
    struct result_timing *t = &m->j->result->timing;
    double *valid = NULL;
    size_t n = 0;
    enum wf_status st = result_valid_samples(t, &valid, &n, err);
    if (st == WF_OK) {
        st = stopping_decide(&rule, valid, n, t->count - n, m->spent_ns, ret, ret_width,
                             err);
    }
    free(valid);
    return st;
}

static size_t count_flagged(const struct result_timing *t)
{
    size_t n = 0;
    for (size_t i = 0; i < t->count; i++) {
        n += t->sample[i].flagged;
    }
    return n;
}

static void noisy(struct result *r, enum stop_reason reason, double width)
{
    const char *why = reason == STOP_BUDGET ? "the budget ended" : "as many as allowed";
    if (isfinite(width)) {
        result_time(r, WF_TIME_NOISY,
                    "the median's interval is +-%.2f %% after %zu samples (%s)",
                    100 * width, r->timing.count, why);
    } else {
        result_time(r, WF_TIME_NOISY,
                    "%zu samples are too few for an interval of the median (%s)",
                    r->timing.count, why);
    }
}

/* The verdict, unless a worse one stands already. */
static void conclude(struct result *r, enum stop_reason reason, double width)
{
    size_t flagged = count_flagged(&r->timing);
    if (r->time == WF_TIME_IMPLAUSIBLE) {
        return;
    }
    if (flagged * 2 > r->timing.count) {
        result_time(r, WF_TIME_THROTTLED,
                    "%zu of %zu samples were taken while throttled", flagged,
                    r->timing.count);
        return;
    }
    switch (reason) {
    case STOP_NARROW:
        result_time(r, WF_TIME_OK, "%s", "");
        break;
    case STOP_INVALID:
        result_time(r, WF_TIME_NOT_MEASURED,
                    "below timer resolution: no valid sample "
                    "among %zu",
                    r->timing.count);
        break;
    case STOP_BUDGET:
    case STOP_SAMPLES:
    case STOP_NOT_YET:
        noisy(r, reason, width);
        break;
    }
}

static enum wf_status sample(struct meter *m, struct wf_error *err)
{
    enum stop_reason reason = STOP_NOT_YET;
    double width = (double)NAN;
    struct result *r = m->j->result;
    enum wf_status st = WF_OK;
    r->timing.source = "device-events";
    r->timing.launches_per_sample = m->launches;
    while (st == WF_OK && reason == STOP_NOT_YET) {
        st = one_group(m, err);
        if (st == WF_OK) {
            st = decide(m, &reason, &width, err);
        }
    }
    if (st == WF_OK) {
        st = flag_clock_drops(&r->timing, err);
    }
    if (st == WF_OK) {
        conclude(r, reason, width);
    }
    return st;
}

/* --- is it possible --- */

static enum wf_status check_floor(struct meter *m, struct wf_error *err)
{
    struct judge *j = m->j;
    struct result *r = j->result;
    const struct wf_device *device = j->request->device;
    struct wf_summary summary;
    double *valid = NULL;
    size_t n = 0;
    enum wf_status st = result_valid_samples(&r->timing, &valid, &n, err);
    if (st == WF_OK) {
        st = wf_summarise(valid, n, &summary, err);
    }
    free(valid);
    if (st != WF_OK || n == 0) {
        return st;
    }
    bool whole = !device->partition[0] || strncmp(device->partition, "SPX", 3) == 0;
    bool from_memory = j->request->measure.cold ||
                       judge_set_bytes(j) > CACHES_BEATEN * device->llc_bytes;
    double peak_flops = r->peak_flops;
    if (r->c.math_type && strcmp(r->c.math_type, "f32") == 0) {
        peak_flops *= F32_EMULATION;
    }
    double floor_ns =
        plausible_floor_ns(r->c.flops, peak_flops, r->c.bytes,
                           whole && from_memory ? r->peak_bytes_per_s : 0);
    if (floor_ns > 0 && !(summary.median >= FLOOR_SLACK * floor_ns)) {
        result_time(r, WF_TIME_IMPLAUSIBLE,
                    "median %.0f ns is faster than the %.0f ns that the device's peaks "
                    "allow",
                    summary.median, floor_ns);
    }
    return WF_OK;
}

/* Launches cannot be handed over faster than this kernel runs: then the time is the
 * host's, and the result says so. */
static enum wf_status note_enqueue(const struct meter *m, struct wf_error *err)
{
    bool bound =
        !m->j->request->device->library_kernels && m->enqueue_ns > 0.9 * m->event_ns;
    return wf_json_set_bool(m->j->result->details, "enqueue_bound", bound, err);
}

/* --- all together --- */

/* Buffers, inputs and programs for the timed launches. False in *ret_can: cold was
 * asked for and cannot be had. */
static enum wf_status prepare(struct judge *j, bool *ret_can, struct wf_error *err)
{
    struct wf_error why = { 0 };
    size_t sets = 1;
    enum wf_status st = WF_OK;
    *ret_can = true;
    if (j->request->measure.cold) {
        size_t objects = j->tensor_count + j->plan->buffer_count + 1;
        size_t most = (WF_SP_MAX_OBJECTS - j->tensor_count) / objects;
        most = most < WF_SP_MAX_PROGRAMS ? most : WF_SP_MAX_PROGRAMS;
        st = cold_set_count(j->request->device, judge_set_bytes(j), most, &sets, &why);
        if (st != WF_OK) {
            result_time(j->result, WF_TIME_NOT_MEASURED, "%s", why.text);
            *ret_can = false;
            sets = 1;
        }
    }
    if (sets > j->sets) {
        j->inputs_written = false; /* new copies: a library prepares anew */
    }
    st = judge_allocate(j, sets, err);
    if (st == WF_OK) {
        st = judge_write_inputs(j, judge_timed_offset(j), err);
    }
    if (st == WF_OK && j->kernel->kind == WF_KERNEL_CODE_OBJECT) {
        st = judge_set_programs(j, err);
    }
    return st == WF_OK ? judge_set_reset(j, err) : st;
}

enum wf_status judge_measure(struct judge *j,
                             const struct wf_sp_ran *checked,
                             size_t *ret_last_set,
                             struct wf_error *err)
{
    struct meter m = { .j = j };
    struct wf_sp_ran ran;
    bool can = false;
    j->say("stage measure");
    *ret_last_set = 0;
    enum wf_status st = prepare(j, &can, err);
    if (st == WF_OK && !can) {
        return judge_launch(j, &ran, err); /* outputs to judge all the same */
    }
    start_power(&m);
    m.estimate_ns = plan_ns(checked->event_ms * 1e6, (double)checked->host_ns);
    set_batch(&m);
    if (st == WF_OK) {
        st = warm_up(&m, err);
    }
    if (st == WF_OK) {
        st = check_clocks(&m, err);
    }
    if (st == WF_OK) {
        st = sample(&m, err);
    }
    if (st == WF_OK) {
        st = check_floor(&m, err);
    }
    if (st == WF_OK) {
        st = note_enqueue(&m, err);
    }
    if (st == WF_OK) {
        st = wf_json_set_u64(j->result->details, "sets", j->sets, err);
    }
    amd_power_stop(m.amd);
    *ret_last_set = m.last;
    return st;
}
