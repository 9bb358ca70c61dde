/* Groups of batches: how many launches, how they are asked for, what comes back. */
#include "runner/judge_meter.h"

#include "core/clock.h"
#include "runner/batch_rule.h"
#include "runner/stopping.h"

#include <math.h>
#include <string.h>

#define GROUP_NS         ((double)SECOND_NS / 10)
#define GROUP_MAX        32u
#define LEAD_TARGET_NS   30e3
#define LEAD_MAX         8u
#define LEAD_BELOW_NS    10e6
#define HOST_SHARE_LEAST 100.0
#define TICK_LIMIT_NS    (10 * SECOND_NS)

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

enum wf_status meter_run_group(struct meter *m,
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
    struct wf_sp_measure asked = *want;
    asked.base = m->j->base.program;
    ret->start_ns = wf_monotonic_ns();
    enum wf_status st =
        judge_call(m->j, WF_SP_MEASURE, &asked, sizeof(asked), limit_ns, &reply, err);
    ret->wall_ns = wf_monotonic_ns() - ret->start_ns;
    if (st == WF_OK) {
        st = unpack_group(&reply, want->batches, ret, err);
    }
    if (st == WF_OK) {
        uint64_t done = (uint64_t)want->batches * (want->launches + want->lead);
        size_t programs = judge_program_count(m->j);
        uint32_t last = ret->head.last_program;
        m->next = (uint32_t)((m->next + done) % programs);
        m->last = (uint32_t)judge_program_set(m->j, last < programs ? last : 0);
    }
    wf_buf_free(&reply);
    return st;
}

enum wf_status meter_find_tick(struct meter *m, struct wf_error *err)
{
    struct wf_sp_tick tick = { 0 };
    enum wf_status st =
        judge_get(m->j, WF_SP_TICK, NULL, 0, TICK_LIMIT_NS, &tick, sizeof(tick), err);
    bool good = isfinite(tick.tick_ms) && tick.tick_ms > 0 && tick.tick_ms < 1e3;
    m->tick_ns = good ? tick.tick_ms * 1e6 : 0;
    return st == WF_OK ? wf_json_set_f64(m->j->result->details, "event_tick_ns",
                                         m->tick_ns, err)
                       : st;
}

void meter_set_batch(struct meter *m)
{
    m->launches =
        judge_has_inout(m->j)
            ? 1
            : stopping_launches(
                  m->estimate_ns,
                  batch_least_ns(m->j->request->measure.batch_min_ns, m->tick_ns));
    m->lead = 0;
    if (!m->j->request->device->library_kernels && !judge_has_inout(m->j) &&
        m->estimate_ns < LEAD_BELOW_NS) {
        double lead = ceil(LEAD_TARGET_NS / m->estimate_ns);
        m->lead = lead < 1 ? 1 : lead < LEAD_MAX ? (uint32_t)lead : LEAD_MAX;
    }
}

struct wf_sp_measure meter_group_request(const struct meter *m)
{
    double batch_ns = m->estimate_ns * ((double)m->launches + m->lead);
    double batches = batch_ns > 0 ? GROUP_NS / batch_ns : GROUP_MAX;
    struct wf_sp_measure want = { .batches = batches < 1           ? 1
                                             : batches < GROUP_MAX ? (uint32_t)batches
                                                                   : GROUP_MAX,
                                  .launches = m->launches,
                                  .lead = m->lead,
                                  .reset = 1,
                                  .program_count = (uint32_t)judge_program_count(m->j),
                                  .first = m->next,
                                  .set_count = (uint32_t)m->j->sets };
    return want;
}

double meter_plan_ns(double event_ns, double host_ns)
{
    double least = host_ns / HOST_SHARE_LEAST;
    return isfinite(event_ns) && event_ns > least ? event_ns : least;
}

double meter_per_launch_ns(const struct wf_sp_sample *s, uint32_t launches)
{
    return s->event_ms * 1e6 / launches;
}
