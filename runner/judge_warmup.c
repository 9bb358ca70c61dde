/* Launches that do not count, until the kernel is warm (warmup.c has the rule). */
#include "runner/judge_meter.h"

#include "runner/warmup.h"

#define WARMUP_MAX_SAMPLES 200u

static const char *warmup_name(enum warmup_state state)
{
    return state == WARMUP_STEADY ? "steady" : "capped";
}

enum wf_status meter_warm_up(struct meter *m, struct wf_error *err)
{
    struct warmup w;
    enum warmup_state state = WARMUP_MORE;
    enum wf_status st = WF_OK;
    warmup_start(&w, WARMUP_MAX_SAMPLES, m->j->request->measure.budget_ns / 2);
    while (st == WF_OK && state == WARMUP_MORE) {
        struct group g;
        struct wf_sp_measure want = meter_group_request(m);
        want.batches = want.batches < WARMUP_BLOCK ? want.batches : WARMUP_BLOCK;
        st = meter_run_group(m, &want, &g, err);
        m->j->result->timing.warmup_launches +=
            (uint64_t)want.batches * (want.launches + want.lead);
        for (uint32_t i = 0; st == WF_OK && i < want.batches; i++) {
            double ns = meter_per_launch_ns(&g.sample[i], want.launches);
            double host_ns =
                (double)g.wall_ns / want.batches / ((double)want.launches + want.lead);
            state = warmup_add(&w, ns, g.wall_ns / want.batches);
            m->estimate_ns = meter_plan_ns(ns, host_ns);
            m->host_ns = host_ns;
            if (state != WARMUP_MORE) {
                break;
            }
        }
        meter_set_batch(m);
    }
    return st == WF_OK ? wf_json_set_string(m->j->result->details, "warmup",
                                            warmup_name(state), err)
                       : st;
}
