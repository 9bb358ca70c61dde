/* Measuring a pair: inputs of its own as for a task, the doubts about each arm's times
 * (two clocks, the audit), warm-up, blocks; then the outputs that timed launches left.
 *
 * The arm of the last slot is judged by what that slot left; the other one by one slot
 * more, asked for like every other. */
#include "runner/judge_audit.h"
#include "runner/judge_pair.h"

#include "core/clock.h"
#include "core/stats.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

static const char *const arm_names[WF_PAIR_ARMS] = { "base", "candidate" };

static const char *name_of(const struct pair *p, size_t seat)
{
    return arm_names[p->seat[seat] == &p->arm[WF_PAIR_CAND]];
}

/* Makes the call for each seat in turn, until one fails or is done. */
#define EACH_SEAT(call)                                        \
    for (size_t s = 0; st == WF_OK && s < WF_PAIR_ARMS; s++) { \
        struct pair_arm *arm = p->seat[s];                     \
        p->acting = s;                                         \
        st = (call);                                           \
        if (arm->j.done) {                                     \
            break;                                             \
        }                                                      \
    }

static bool is_over(const struct pair *p)
{
    return p->seat[0]->j.done || p->seat[1]->j.done;
}

/* --- beginning --- */

/* Once a round the lock and what was known before; the subject's place anew when it is
 * a new one. */
enum wf_status pair_take_device(struct pair *p, struct wf_error *err)
{
    struct pair_round *r = p->round;
    enum wf_status st = WF_OK;
    const int64_t start_ns = wf_monotonic_ns();
    if (!r->conditions) {
        r->root.deadline_ns = start_ns + r->asked->common.deadline_ns;
        st = meter_begin(&r->meter, err);
        r->conditions = true; /* also to be ended when it failed halfway */
        const int64_t took_ns = wf_monotonic_ns() - start_ns;
        for (size_t s = 0; s < WF_PAIR_ARMS; s++) {
            p->seat[s]->j.deadline_ns += took_ns; /* others' time */
        }
    } else if (!r->placed) {
        st = meter_place(&r->meter, err);
    }
    r->placed = st == WF_OK;
    if (st == WF_OK && !r->has_tick) {
        r->root.deadline_ns = wf_monotonic_ns() + r->asked->common.deadline_ns;
        st = meter_find_tick(&r->meter, err);
        r->tick_ns = r->meter.tick_ns;
        r->has_tick = st == WF_OK;
    }
    return st;
}

/* As many copies as the arm with less bytes needs. *ret_can false: cold was asked for
 * and cannot be had. */
static enum wf_status find_sets(struct pair *p, size_t *ret, bool *ret_can)
{
    struct wf_error why = { 0 };
    *ret = 1;
    *ret_can = true;
    for (size_t s = 0; *ret_can && s < WF_PAIR_ARMS; s++) {
        size_t sets = 1;
        *ret_can = judge_find_sets(&p->seat[s]->j, &sets, &why) == WF_OK;
        *ret = sets > *ret ? sets : *ret;
    }
    if (!*ret_can) {
        pair_note(p, "%.300s", why.text);
    }
    return WF_OK;
}

static enum wf_status grow(struct judge *j, size_t sets, struct wf_error *err)
{
    if (sets > j->sets) {
        j->inputs_written = false; /* new copies: a library prepares anew */
    }
    return judge_allocate(j, sets, err);
}

static enum wf_status prepare(struct pair *p, bool *ret_can, struct wf_error *err)
{
    size_t sets = 1;
    enum wf_status st = find_sets(p, &sets, ret_can);
    if (st != WF_OK || !*ret_can) {
        return st;
    }
    struct wf_error why = { 0 };
    EACH_SEAT(grow(&arm->j, sets, &why))
    if (pair_lacks_memory(p, st, &why)) {
        p->seat[p->acting]->j.subject_failed = false;
        pair_note(p, "no blocks: no memory for %zu copies: %.200s", sets, why.text);
        *ret_can = false;
        return WF_OK;
    }
    if (st != WF_OK && err) {
        *err = why;
    }
    if (st == WF_OK) {
        p->acting = 0;
        st =
            judge_write_inputs(&p->seat[0]->j, judge_timed_offset(&p->seat[0]->j), err);
    }
    EACH_SEAT(judge_set_launches(&arm->j, err))
    return st;
}

/* --- doubts --- */

/* One batch, so that the clocks are compared over a stretch of the right length. */
static enum wf_status estimate(struct pair *p,
                               struct pair_arm *arm,
                               struct wf_error *err)
{
    struct meter *m = &arm->m;
    struct group g;
    m->tick_ns = p->round->tick_ns;
    m->estimate_ns = meter_plan_ns(arm->ran.event_ms * 1e6, (double)arm->ran.host_ns);
    meter_set_batch(m);
    enum wf_status st = judge_set_reset(&arm->j, err);
    struct wf_sp_measure want = meter_group_request(m);
    want.batches = want.batches < 2 ? want.batches : 2;
    st = st == WF_OK ? meter_run_group(m, &want, &g, err) : st;
    if (st == WF_OK) {
        const double launches = (double)want.launches + want.lead;
        m->host_ns = (double)g.wall_ns / want.batches / launches;
        m->estimate_ns = meter_plan_ns(
            meter_per_launch_ns(&g.sample[want.batches - 1], want.launches),
            m->host_ns);
    }
    return st;
}

static enum wf_status check_clocks(struct pair *p,
                                   struct pair_arm *arm,
                                   struct wf_error *err)
{
    if (p->note[0]) {
        return WF_OK; /* the other arm's are not believed already */
    }
    enum wf_status st = meter_check_clocks(&arm->m, err);
    if (st == WF_OK && arm->result.time == WF_TIME_IMPLAUSIBLE) {
        pair_note(p,
                  "no blocks: times cannot be believed (seen with the %s; both arms "
                  "are in one process): %.250s",
                  name_of(p, p->acting), arm->result.time_text);
        p->round->unusable = true; /* code in there may have changed the clock */
    }
    return st;
}

/* --- the outputs --- */

static enum wf_status verify(struct pair *p,
                             size_t seat,
                             bool again,
                             struct wf_error *err)
{
    struct pair_arm *arm = p->seat[seat];
    p->acting = seat;
    enum wf_status st = again ? pair_slot(p, seat, NULL, err) : WF_OK;
    return st == WF_OK ? judge_verify_timed(&arm->j, arm->m.last, err) : st;
}

static size_t last_seat(const struct pair *p)
{
    const unsigned mask = p->asked->mask[p->block_count - 1];
    const size_t label = mask >> (PAIR_SLOTS - 1) & 1 ? WF_PAIR_CAND : WF_PAIR_BASE;
    return p->seat[1] == &p->arm[label];
}

/* What the audit says of a seat's timed batches. */
struct doubt {
    double median_ns, ratio;
    bool contradicts;
};

static enum wf_status look_again(struct pair_arm *arm,
                                 struct doubt *ret,
                                 struct wf_error *err)
{
    struct wf_summary summary;
    bool ran = false;
    *ret = (struct doubt){ (double)NAN, (double)NAN, false };
    if (arm->samples == 0) {
        return WF_OK;
    }
    enum wf_status st = wf_summarise(arm->sample, arm->samples, &summary, err);
    if (st == WF_OK) {
        st = judge_audit_look_again(&arm->j, summary.median, &ran, &ret->contradicts,
                                    err);
    }
    ret->median_ns = summary.median;
    ret->ratio = judge_audit_ratio(&arm->j, summary.median);
    return st;
}

/* The other arm ran on the same machine at the same time: what slows its launches on
 * changed inputs as well is no cheat, but then nobody knows. */
static enum wf_status compare_audit(struct pair *p, struct wf_error *err)
{
    struct doubt doubt[WF_PAIR_ARMS] = { { 0, 0, false }, { 0, 0, false } };
    enum wf_status st = WF_OK;
    EACH_SEAT(look_again(arm, &doubt[s], err))
    for (size_t s = 0; st == WF_OK && !is_over(p) && s < WF_PAIR_ARMS; s++) {
        if (!doubt[s].contradicts) {
            continue;
        }
        p->acting = s;
        if (pair_stands_out(doubt[s].ratio, doubt[1 - s].ratio)) {
            judge_audit_accuse(&p->seat[s]->j, doubt[s].median_ns);
        } else {
            pair_note(p,
                      "no blocks: launches on changed inputs took %.1f and %.1f times "
                      "as long as the timed ones of the same arms: the machine is "
                      "too busy to tell a kept answer from a computed one",
                      doubt[0].ratio, doubt[1].ratio);
            p->block_count = 0;
        }
    }
    return st;
}

static void note_blindness(struct pair *p)
{
    for (size_t s = 0; s < WF_PAIR_ARMS; s++) {
        if (judge_audit_is_blind(&p->seat[s]->j)) {
            pair_note(p, "%s", judge_audit_blind_text());
        }
    }
}

static enum wf_status measure(struct pair *p, struct wf_error *err)
{
    bool can = false;
    enum wf_status st = pair_take_device(p, err);
    st = st == WF_OK ? prepare(p, &can, err) : st;
    if (st != WF_OK || !can) {
        return st;
    }
    EACH_SEAT(estimate(p, arm, err))
    EACH_SEAT(check_clocks(p, arm, err))
    if (st != WF_OK || p->note[0]) {
        return st;
    }
    EACH_SEAT(judge_audit(&arm->j, err))
    if (st == WF_OK && !is_over(p)) {
        st = pair_warm_up(p, err);
    }
    if (st == WF_OK && !is_over(p)) {
        st = pair_blocks(p, err);
    }
    if (st == WF_OK && !is_over(p)) {
        st = verify(p, last_seat(p), false, err);
    }
    if (st == WF_OK && !is_over(p)) {
        st = verify(p, 1 - p->acting, true, err);
    }
    if (st == WF_OK && !is_over(p)) {
        st = compare_audit(p, err);
    }
    note_blindness(p);
    return st;
}

enum wf_status pair_measure(struct pair *p, struct wf_error *err)
{
    const struct pair_request *asked = p->round->asked;
    const int64_t start_ns = wf_monotonic_ns();
    if (p->asked->block_count == 0) {
        return WF_OK;
    }
    if (asked->common.device->times_modelled) {
        pair_note(p, "no blocks: times of this runtime are a model's");
        return WF_OK;
    }
    if (!asked->common.measure.measure) {
        pair_note(p, "no blocks: %.300s", asked->no_times);
        return WF_OK;
    }
    p->round->say("stage measure");
    enum wf_status st = measure(p, err);
    p->round->measured += st == WF_OK && p->block_count > 0 && !is_over(p);
    p->measure_ns = wf_monotonic_ns() - start_ns;
    return st;
}
