/* Pairs of process kernels: two commands that live side by side and take turns.
 *
 * Each arm is a task of its own (judge_process.h): its own process, folder and files,
 * the same case and, by their seed, the same inputs. Both answers are judged; then the
 * blocks: in each slot two untimed and five timed batches of one arm, while the other
 * one waits for a line on its standard input. What the seats get to see is the same but
 * for the order of the slots.
 *
 * The commands time themselves, and the record says so. Over all their batches together
 * the two clocks of each arm must agree, else there are no blocks. */
#include "runner/judge_pair.h"
#include "runner/judge_process.h"

#include "core/clock.h"
#include "core/stats.h"
#include "runner/stopping.h"
#include "runner/warmup.h"

#include <math.h>
#include <stdlib.h>

#define BATCH_LEAST_NS  ((int64_t)10 * 1000 * 1000) /* beside it a request is short */
#define WARMUP_SAMPLES  20u
#define WARMUP_MOST_NS  ((int64_t)1000000000)
#define WARMUP_LEAST_NS ((int64_t)100000000)
#define BATCHES         (WF_PAIR_UNTIMED + WF_PAIR_TIMED)

struct seat {
    struct pair_arm *arm;
    struct process_task task;
    double estimate_ns;      /* of a launch, by the judge's clock */
    double self_ns, wall_ns; /* sums over the blocks' batches */
};

struct process_pair {
    struct pair *p;
    struct seat seat[WF_PAIR_ARMS];
};

static bool is_process(const struct pair_arm *arm)
{
    return arm->exists && arm->j.kernel && arm->j.kernel->kind == WF_KERNEL_PROCESS;
}

bool pair_has_process(const struct pair *p)
{
    return is_process(&p->arm[0]) || is_process(&p->arm[1]);
}

static bool is_open(const struct pair_arm *arm)
{
    return arm->exists && !arm->judged;
}

/* A command has nothing to do with the round's subject, which stays as it is. */
static enum wf_status end_command(struct pair_arm *arm,
                                  enum wf_status st,
                                  struct wf_error *err)
{
    st = judge_end(&arm->j, st, err);
    arm->judged = true;
    arm->j.done = true;
    return st;
}

/* --- answers --- */

static enum wf_status check_seat(struct seat *s, struct wf_error *err)
{
    struct judge *j = &s->arm->j;
    const int64_t start_ns = wf_monotonic_ns();
    j->deadline_ns = start_ns + s->arm->request.deadline_ns;
    s->task = (struct process_task){ .j = j };
    enum wf_status st = process_start(&s->task, err);
    if (st == WF_OK && !j->done) {
        st = process_prepare(&s->task, s->arm->request.seed_offset, err);
    }
    s->arm->result.phases.prepare += wf_monotonic_ns() - start_ns;
    if (st == WF_OK && !j->done) {
        st = process_checked(&s->task, &s->estimate_ns, err);
    }
    s->arm->checked = st == WF_OK && !j->done;
    return st;
}

/* --- blocks --- */

static enum wf_status batch(struct process_pair *pp,
                            size_t seat,
                            double *ret_self_ns,
                            double *ret_wall_ns,
                            struct wf_error *err)
{
    struct seat *s = &pp->seat[seat];
    const uint32_t n = pp->p->launches;
    pp->p->acting = seat;
    enum wf_status st = process_launch(&s->task, n, ret_self_ns, ret_wall_ns, err);
    s->estimate_ns = *ret_wall_ns / n;
    return st;
}

/* One number for both arms, from the slower one. */
static void choose_launches(struct process_pair *pp)
{
    const double both[WF_PAIR_ARMS] = { pp->seat[0].estimate_ns,
                                        pp->seat[1].estimate_ns };
    const int64_t asked_ns = pp->p->round->asked->common.measure.batch_min_ns;
    pp->p->launches =
        pair_launches(both, asked_ns > BATCH_LEAST_NS ? asked_ns : BATCH_LEAST_NS, 0);
}

static bool is_over(const struct process_pair *pp)
{
    return pp->seat[0].arm->j.done || pp->seat[1].arm->j.done;
}

/* In turns, until both are steady. */
static enum wf_status warm_up(struct process_pair *pp, struct wf_error *err)
{
    struct warmup w[WF_PAIR_ARMS];
    enum warmup_state state[WF_PAIR_ARMS] = { WARMUP_MORE, WARMUP_MORE };
    enum wf_status st = WF_OK;
    for (size_t s = 0; s < WF_PAIR_ARMS; s++) {
        warmup_start(&w[s], WARMUP_SAMPLES, WARMUP_MOST_NS);
        w[s].least_ns = WARMUP_LEAST_NS;
    }
    while (state[0] == WARMUP_MORE || state[1] == WARMUP_MORE) {
        choose_launches(pp);
        for (size_t s = 0; s < WF_PAIR_ARMS; s++) {
            double self_ns = 0, wall_ns = 0;
            st = batch(pp, s, &self_ns, &wall_ns, err);
            if (st != WF_OK || is_over(pp)) {
                return st;
            }
            state[s] = warmup_add(&w[s], wall_ns / pp->p->launches, (int64_t)wall_ns);
        }
    }
    choose_launches(pp);
    return st;
}

static enum wf_status run_slot(struct process_pair *pp,
                               size_t seat,
                               struct pair_slot *ret,
                               struct wf_error *err)
{
    struct seat *s = &pp->seat[seat];
    struct telemetry_figures f;
    const int64_t start_ns = wf_monotonic_ns();
    for (size_t i = 0; i < BATCHES; i++) {
        double self_ns = 0, wall_ns = 0;
        enum wf_status st = batch(pp, seat, &self_ns, &wall_ns, err);
        if (st != WF_OK || s->arm->j.done) {
            return st;
        }
        s->self_ns += self_ns;
        s->wall_ns += wall_ns;
        if (i >= WF_PAIR_UNTIMED) {
            ret->t_ns[i - WF_PAIR_UNTIMED] = self_ns / pp->p->launches;
        }
    }
    ret->y = pair_slot_value(ret->t_ns);
    telemetry_between(pp->p->round->root.telemetry, start_ns, wf_monotonic_ns(), &f);
    ret->clock_mhz = f.clock_mhz;
    ret->power_w = f.power_w;
    ret->temperature_c = f.temperature_c;
    ret->reasons = f.reasons;
    return WF_OK;
}

static enum wf_status run_block(struct process_pair *pp,
                                struct pair_block *b,
                                struct wf_error *err)
{
    enum wf_status st = WF_OK;
    for (unsigned i = 0; st == WF_OK && !is_over(pp) && i < PAIR_SLOTS; i++) {
        const size_t label = b->mask >> i & 1 ? WF_PAIR_CAND : WF_PAIR_BASE;
        const size_t seat = pp->p->seat[1] == &pp->p->arm[label];
        st = run_slot(pp, seat, &b->slot[i], err);
        if (st == WF_OK && !is_over(pp)) {
            st = pair_keep_samples(pp->seat[seat].arm, &b->slot[i], err);
        }
    }
    pair_block_judge(b);
    return st;
}

static enum wf_status run_blocks(struct process_pair *pp, struct wf_error *err)
{
    struct pair *p = pp->p;
    enum wf_status st = WF_OK;
    p->round->say("stage blocks");
    for (int i = 0; st == WF_OK && !is_over(pp) && i < p->asked->block_count; i++) {
        p->block[i].mask = p->asked->mask[i];
        st = run_block(pp, &p->block[i], err);
        p->block_count += st == WF_OK && !is_over(pp);
    }
    return st;
}

/* --- doubts --- */

/* One refuted clock makes the blocks worthless: they compare both. */
static void compare_clocks(struct process_pair *pp)
{
    static const char *const names[WF_PAIR_ARMS] = { "base", "candidate" };
    char why[200];
    for (size_t i = 0; i < WF_PAIR_ARMS; i++) {
        struct seat *s = &pp->seat[i];
        if (plausible_clocks(s->self_ns, s->wall_ns, why, sizeof(why))) {
            result_time(&s->arm->result, WF_TIME_IMPLAUSIBLE, "%s", why);
            pair_note(pp->p,
                      "no blocks: times cannot be believed (the %s times itself): %s",
                      names[s->arm == &pp->p->arm[WF_PAIR_CAND]], why);
            pp->p->block_count = 0;
        } else {
            result_time(&s->arm->result, WF_TIME_SELF_TIMED,
                        "the command times itself");
        }
    }
}

static void note_clocks(struct process_pair *pp)
{
    pair_note(
        pp->p,
        "self-timed: both commands measure themselves; they took %.3f and %.3f of "
        "the time by the judge's clock",
        pp->seat[0].self_ns / pp->seat[0].wall_ns,
        pp->seat[1].self_ns / pp->seat[1].wall_ns);
}

static enum wf_status verify(struct process_pair *pp, size_t seat, struct wf_error *err)
{
    struct seat *s = &pp->seat[seat];
    struct wf_summary summary;
    pp->p->acting = seat;
    enum wf_status st = process_verify_timed(&s->task, err);
    if (st != WF_OK || s->arm->j.done || s->arm->samples == 0) {
        return st;
    }
    st = wf_summarise(s->arm->sample, s->arm->samples, &summary, err);
    return st == WF_OK ? process_audit(&s->task, summary.median, pp->p->launches, err)
                       : st;
}

static enum wf_status measure(struct process_pair *pp, struct wf_error *err)
{
    enum wf_status st = pair_take_device(pp->p, err);
    for (size_t s = 0; st == WF_OK && !is_over(pp) && s < WF_PAIR_ARMS; s++) {
        pp->p->acting = s;
        st = process_prepare(&pp->seat[s].task, judge_timed_offset(&pp->seat[s].arm->j),
                             err);
    }
    if (st == WF_OK && !is_over(pp)) {
        st = warm_up(pp, err);
    }
    if (st == WF_OK && !is_over(pp)) {
        st = run_blocks(pp, err);
    }
    if (st != WF_OK || is_over(pp)) {
        return st;
    }
    compare_clocks(pp);
    for (size_t s = 0; st == WF_OK && !is_over(pp) && s < WF_PAIR_ARMS; s++) {
        st = verify(pp, s, err);
    }
    if (st == WF_OK && !is_over(pp)) {
        note_clocks(pp);
    }
    return st;
}

/* Whether blocks are wanted and can be; a note says why not. */
static bool can_measure(struct pair *p)
{
    const struct pair_request *asked = p->round->asked;
    if (p->asked->block_count == 0) {
        return false;
    }
    if (asked->common.device->times_modelled) {
        pair_note(p, "no blocks: times of this runtime are a model's");
        return false;
    }
    if (!asked->common.measure.measure) {
        pair_note(p, "no blocks: %.300s", asked->no_times);
        return false;
    }
    return true;
}

static enum wf_status measure_pair(struct process_pair *pp, struct wf_error *err)
{
    struct pair *p = pp->p;
    const int64_t start_ns = wf_monotonic_ns();
    if (!can_measure(p)) {
        return WF_OK;
    }
    p->round->say("stage measure");
    const enum wf_status st = measure(pp, err);
    p->round->measured += st == WF_OK && p->block_count > 0 && !is_over(pp);
    p->measure_ns = wf_monotonic_ns() - start_ns;
    return st;
}

/* --- the pair --- */

/* The other arm gets its answer whatever became of this one. */
static enum wf_status check_both(struct process_pair *pp, struct wf_error *err)
{
    enum wf_status st = WF_OK;
    for (size_t s = 0; st == WF_OK && s < WF_PAIR_ARMS; s++) {
        struct seat *seat = &pp->seat[s];
        pp->p->acting = s;
        if (is_open(seat->arm)) {
            st = check_seat(seat, err);
            st = st == WF_OK ? WF_OK : end_command(seat->arm, st, err);
        }
    }
    return st;
}

static enum wf_status run_commands(struct process_pair *pp, struct wf_error *err)
{
    enum wf_status st = check_both(pp, err);
    if (st == WF_OK && pp->seat[0].arm->checked && pp->seat[1].arm->checked) {
        st = measure_pair(pp, err);
        if (st != WF_OK) {
            st = end_command(pp->p->seat[pp->p->acting], st, err);
        }
    }
    for (size_t s = 0; st == WF_OK && s < WF_PAIR_ARMS; s++) {
        if (is_open(pp->seat[s].arm)) {
            st = end_command(pp->seat[s].arm, WF_OK, err);
        }
    }
    return st;
}

/* A command's clock is its own and a library's the runner's: they are judged, and not
 * compared. */
static enum wf_status run_mixed(struct pair *p, struct wf_error *err)
{
    enum wf_status st = WF_OK;
    if (p->asked->block_count > 0) {
        pair_note(p, "no blocks: one kernel is a command, which times itself, and the "
                     "other is not");
    }
    for (size_t s = 0; st == WF_OK && s < WF_PAIR_ARMS; s++) {
        struct pair_arm *arm = p->seat[s];
        if (is_open(arm) && is_process(arm)) {
            arm->request.measure.measure = false;
            st = end_command(arm, judge_run_process(&arm->j, err), err);
        } else if (is_open(arm)) {
            st = pair_judge_alone(p, s, err);
        }
    }
    return st;
}

enum wf_status pair_run_process(struct pair *p, struct wf_error *err)
{
    const bool mixed = p->arm[0].exists && p->arm[1].exists &&
                       is_process(&p->arm[0]) != is_process(&p->arm[1]);
    if (mixed) {
        return run_mixed(p, err);
    }
    struct process_pair pp = { .p = p };
    for (size_t s = 0; s < WF_PAIR_ARMS; s++) {
        pp.seat[s].arm = p->seat[s];
        pp.seat[s].task.j = &p->seat[s]->j;
    }
    const enum wf_status st = run_commands(&pp, err);
    for (size_t s = 0; s < WF_PAIR_ARMS; s++) {
        if (p->seat[s]->exists) {
            process_finish(&pp.seat[s].task);
        }
    }
    return st;
}
