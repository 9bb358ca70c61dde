/* Launches that do not count, until the kernel is warm (warmup.c has the rule). */
#include "runner/judge_meter.h"

#include "runner/warmup.h"

#define WARMUP_MAX_SAMPLES 200u
#define GROUP_NS           100e6

static const char *warmup_name(enum warmup_state state)
{
    return state == WARMUP_STEADY ? "steady" : "capped";
}

static const char *clock_name(enum warmup_clock clock)
{
    static const char *const names[] = { "unknown", "unsteady", "steady" };
    return names[clock];
}

/* The clock over the group's time, in slices of the telemetry's period. */
static void add_clocks(const struct meter *m, struct warmup *w, const struct group *g)
{
    int64_t slices = g->wall_ns / TELEMETRY_PERIOD_NS;
    slices = slices < 1 ? 1 : slices > WARMUP_CLOCKS ? WARMUP_CLOCKS : slices;
    int64_t slice_ns = g->wall_ns / slices;
    for (int64_t i = 0; i < slices; i++) {
        struct telemetry_figures f;
        int64_t from_ns = g->start_ns + i * slice_ns;
        telemetry_between(m->j->telemetry, from_ns, from_ns + slice_ns, &f);
        if (f.readings > 0) {
            warmup_add_clock(w, from_ns, f.clock_mhz);
        }
    }
}

/* Long groups keep the device busy until the least time is over; by the host's clock,
 * in case that the events' says too little. */
static uint32_t batches_now(const struct meter *m,
                            const struct warmup *w,
                            const struct wf_sp_measure *planned)
{
    double batch_ns = m->host_ns * ((double)planned->launches + planned->lead);
    double fit = batch_ns > 0 ? GROUP_NS / batch_ns : WARMUP_BLOCK;
    bool soon = w->spent_ns >= w->least_ns;
    double most = soon || !(fit > WARMUP_BLOCK) ? WARMUP_BLOCK : fit;
    return planned->batches > most ? (uint32_t)most : planned->batches;
}

static enum warmup_state take_group(struct meter *m,
                                    struct warmup *w,
                                    const struct wf_sp_measure *want,
                                    const struct group *g)
{
    enum warmup_state state = WARMUP_MORE;
    double host_ns =
        (double)g->wall_ns / want->batches / ((double)want->launches + want->lead);
    add_clocks(m, w, g);
    for (uint32_t i = 0; state == WARMUP_MORE && i < want->batches; i++) {
        double ns = meter_per_launch_ns(&g->sample[i], want->launches);
        state = warmup_add(w, ns, g->wall_ns / want->batches);
        m->estimate_ns = meter_plan_ns(ns, host_ns);
        m->host_ns = host_ns;
    }
    return state;
}

static enum wf_status note_warmup(struct meter *m,
                                  const struct warmup *w,
                                  enum warmup_state state,
                                  struct wf_error *err)
{
    struct wf_json *details = m->j->result->details;
    enum wf_status st = wf_json_set_string(details, "warmup", warmup_name(state), err);
    st = st == WF_OK ? wf_json_set_string(details, "warmup_clock",
                                          clock_name(warmup_clock_state(w)), err)
                     : st;
    return st == WF_OK ? wf_json_set_i64(details, "warmup_ns", w->spent_ns, err) : st;
}

enum wf_status meter_warm_up(struct meter *m, struct wf_error *err)
{
    struct warmup w;
    enum warmup_state state = WARMUP_MORE;
    enum wf_status st = WF_OK;
    const struct wf_device *device = m->j->request->device;
    warmup_start(&w, WARMUP_MAX_SAMPLES, warmup_max_ns(device));
    w.least_ns = warmup_least_ns(device);
    while (st == WF_OK && state == WARMUP_MORE) {
        struct group g;
        struct wf_sp_measure want = meter_group_request(m);
        want.batches = batches_now(m, &w, &want);
        st = meter_run_group(m, &want, &g, err);
        m->j->result->timing.warmup_launches +=
            (uint64_t)want.batches * (want.launches + want.lead);
        if (st == WF_OK) {
            state = take_group(m, &w, &want, &g);
        }
        meter_set_batch(m);
    }
    return st == WF_OK ? note_warmup(m, &w, state, err) : st;
}
