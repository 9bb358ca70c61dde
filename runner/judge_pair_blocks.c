/* The blocks: warm-up in which the arms take turns, one number of launches for both,
 * four slots a block in the order of the mask.
 *
 * A slot is SET_RESET and MEASURE; the two arms' requests differ in numbers of objects
 * and programs alone, which follow from the drawn seats. */
#include "runner/judge_pair.h"

#include "core/clock.h"
#include "runner/warmup.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define BATCHES       (WF_PAIR_UNTIMED + WF_PAIR_TIMED)
#define FIRST_SAMPLES 200u
#define LATER_SAMPLES 40u
#define LATER_LEAST   8 /* so-manieth part of the first pair's least time */
#define GROUP_NS      50e6
#define HOST_LATER_NS ((int64_t)200000000)

/* --- the batch --- */

/* One number for both arms, from the slower one. */
static void choose_batch(struct pair *p)
{
    const double both[WF_PAIR_ARMS] = { p->seat[0]->m.estimate_ns,
                                        p->seat[1]->m.estimate_ns };
    struct meter slower = p->seat[both[1] > both[0]]->m;
    const bool inout = judge_has_inout(slower.j);
    meter_set_batch(&slower);
    p->lead = slower.lead;
    p->launches = inout ? 1
                        : pair_launches(both, slower.j->request->measure.batch_min_ns,
                                        slower.tick_ns);
}

static struct wf_sp_measure request_of(const struct pair *p, size_t seat)
{
    struct wf_sp_measure want = meter_group_request(&p->seat[seat]->m);
    want.launches = p->launches;
    want.lead = p->lead;
    want.batches = BATCHES;
    return want;
}

/* The next slot begins on the set behind this one's last, whoever's slot it is. */
static enum wf_status run_group(struct pair *p,
                                size_t seat,
                                const struct wf_sp_measure *want,
                                struct group *ret,
                                struct wf_error *err)
{
    struct meter *m = &p->seat[seat]->m;
    p->acting = seat;
    enum wf_status st = judge_set_reset(m->j, err);
    if (st == WF_OK) {
        st = meter_run_group(m, want, ret, err);
    }
    p->seat[1 - seat]->m.next = m->next;
    return st;
}

/* --- warm-up --- */

static void start_warmup(const struct pair *p, struct warmup *w)
{
    const struct wf_device *device = p->round->asked->common.device;
    const int64_t least_ns = warmup_least_ns(device);
    if (!p->round->warm) {
        warmup_start(w, FIRST_SAMPLES, warmup_max_ns(device));
        w->least_ns = least_ns;
        return;
    }
    /* The clock comes back from the time in which the judge had the word. */
    warmup_start(w, LATER_SAMPLES, least_ns > 0 ? least_ns : HOST_LATER_NS);
    w->least_ns = least_ns / LATER_LEAST;
}

static void add_clocks(const struct pair *p, struct warmup *w, const struct group *g)
{
    int64_t slices = g->wall_ns / TELEMETRY_PERIOD_NS;
    slices = slices < 1 ? 1 : slices > WARMUP_CLOCKS ? WARMUP_CLOCKS : slices;
    const int64_t slice_ns = g->wall_ns / slices;
    for (int64_t i = 0; i < slices; i++) {
        struct telemetry_figures f;
        const int64_t from_ns = g->start_ns + i * slice_ns;
        telemetry_between(p->round->root.telemetry, from_ns, from_ns + slice_ns, &f);
        if (f.readings > 0) {
            warmup_add_clock(w, from_ns, f.clock_mhz);
        }
    }
}

/* The samples of one arm go to its own rule; the load is both's. */
static enum warmup_state take_group(struct pair *p,
                                    size_t seat,
                                    struct warmup w[WF_PAIR_ARMS],
                                    const struct wf_sp_measure *want,
                                    const struct group *g)
{
    enum warmup_state state = WARMUP_MORE;
    struct meter *m = &p->seat[seat]->m;
    const double host_ns =
        (double)g->wall_ns / want->batches / ((double)want->launches + want->lead);
    add_clocks(p, &w[0], g);
    add_clocks(p, &w[1], g);
    w[1 - seat].spent_ns += g->wall_ns;
    for (uint32_t i = 0; i < want->batches; i++) {
        const double ns = meter_per_launch_ns(&g->sample[i], want->launches);
        const enum warmup_state now =
            warmup_add(&w[seat], ns, g->wall_ns / want->batches);
        state = state == WARMUP_MORE ? now : state;
        m->estimate_ns = meter_plan_ns(ns, host_ns);
        m->host_ns = host_ns;
    }
    return state;
}

/* Blocks of the rule are of five; long batches come in smaller groups. */
static uint32_t batches_now(const struct pair *p)
{
    const struct meter *a = &p->seat[0]->m;
    const struct meter *b = &p->seat[1]->m;
    const double launch_ns = a->host_ns > b->host_ns ? a->host_ns : b->host_ns;
    const double batch_ns = launch_ns * ((double)p->launches + p->lead);
    const double fit = batch_ns > 0 ? GROUP_NS / batch_ns : WARMUP_BLOCK;
    return fit < 1 ? 1 : fit < WARMUP_BLOCK ? (uint32_t)fit : WARMUP_BLOCK;
}

static enum wf_status note_warmup(struct pair *p,
                                  const struct warmup w[WF_PAIR_ARMS],
                                  const enum warmup_state state[WF_PAIR_ARMS],
                                  struct wf_error *err)
{
    static const char *const clocks[] = { "unknown", "unsteady", "steady" };
    const bool steady = state[0] == WARMUP_STEADY && state[1] == WARMUP_STEADY;
    if (p->round->warm) {
        return WF_OK;
    }
    p->round->warm = true;
    struct wf_json *obj = wf_json_object();
    enum wf_status st =
        wf_json_set_string(obj, "state", steady ? "steady" : "capped", err);
    st = st == WF_OK
             ? wf_json_set_string(obj, "clock", clocks[warmup_clock_state(&w[0])], err)
             : st;
    st = st == WF_OK ? wf_json_set_i64(obj, "ns", w[0].spent_ns, err) : st;
    wf_json_free(p->round->warmup);
    p->round->warmup = obj;
    return st;
}

enum wf_status pair_warm_up(struct pair *p, struct wf_error *err)
{
    struct warmup w[WF_PAIR_ARMS];
    enum warmup_state state[WF_PAIR_ARMS] = { WARMUP_MORE, WARMUP_MORE };
    enum wf_status st = WF_OK;
    start_warmup(p, &w[0]);
    start_warmup(p, &w[1]);
    choose_batch(p);
    while (st == WF_OK && (state[0] == WARMUP_MORE || state[1] == WARMUP_MORE)) {
        const uint32_t batches = batches_now(p);
        for (size_t s = 0; st == WF_OK && s < WF_PAIR_ARMS; s++) {
            struct group g;
            struct wf_sp_measure want = request_of(p, s);
            want.batches = batches;
            st = run_group(p, s, &want, &g, err);
            state[s] = st == WF_OK ? take_group(p, s, w, &want, &g) : state[s];
        }
        choose_batch(p);
    }
    return st == WF_OK ? note_warmup(p, w, state, err) : st;
}

/* --- slots --- */

static void read_slot(const struct pair *p,
                      const struct wf_sp_measure *want,
                      const struct group *g,
                      struct pair_slot *ret)
{
    struct telemetry_figures f;
    for (size_t i = 0; i < WF_PAIR_TIMED; i++) {
        ret->t_ns[i] =
            meter_per_launch_ns(&g->sample[WF_PAIR_UNTIMED + i], want->launches);
    }
    ret->y = pair_slot_value(ret->t_ns);
    telemetry_between(p->round->root.telemetry, g->start_ns, g->start_ns + g->wall_ns,
                      &f);
    ret->clock_mhz = f.clock_mhz;
    ret->power_w = f.power_w;
    ret->temperature_c = f.temperature_c;
    ret->reasons = f.reasons;
}

enum wf_status pair_slot(struct pair *p,
                         size_t seat,
                         struct pair_slot *ret,
                         struct wf_error *err)
{
    struct group g;
    const struct wf_sp_measure want = request_of(p, seat);
    enum wf_status st = run_group(p, seat, &want, &g, err);
    if (st == WF_OK && ret) {
        read_slot(p, &want, &g, ret);
    }
    return st;
}

enum wf_status pair_keep_samples(struct pair_arm *arm,
                                 const struct pair_slot *s,
                                 struct wf_error *err)
{
    double *more = wf_realloc_array(arm->sample, arm->samples + WF_PAIR_TIMED,
                                    sizeof(*arm->sample));
    if (!more) {
        return wf_errorf(err, WF_ENOMEM, "no memory for samples");
    }
    arm->sample = more;
    for (size_t i = 0; isfinite(s->y) && i < WF_PAIR_TIMED; i++) {
        arm->sample[arm->samples++] = s->t_ns[i];
    }
    return WF_OK;
}

static enum wf_status run_block(struct pair *p,
                                struct pair_block *b,
                                struct wf_error *err)
{
    enum wf_status st = WF_OK;
    for (unsigned i = 0; st == WF_OK && i < PAIR_SLOTS; i++) {
        const size_t label = b->mask >> i & 1 ? WF_PAIR_CAND : WF_PAIR_BASE;
        const size_t seat = p->seat[1] == &p->arm[label];
        st = pair_slot(p, seat, &b->slot[i], err);
        st = st == WF_OK ? pair_keep_samples(p->seat[seat], &b->slot[i], err) : st;
    }
    pair_block_judge(b);
    return st;
}

enum wf_status pair_blocks(struct pair *p, struct wf_error *err)
{
    enum wf_status st = WF_OK;
    p->round->say("stage blocks");
    for (size_t s = 0; s < WF_PAIR_ARMS; s++) {
        p->seat[s]->result.timing.launches_per_sample = p->launches;
    }
    for (int i = 0; st == WF_OK && i < p->asked->block_count; i++) {
        p->block[i].mask = p->asked->mask[i];
        st = run_block(p, &p->block[i], err);
        p->block_count += st == WF_OK;
    }
    return st;
}
