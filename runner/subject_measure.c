/* Running a program once, and batches of launches between device events.
 *
 * Batches of one MEASURE command are enqueued one after the other without waiting, each
 * as [reset list][lead launches][event][launches][event]: the device finds the next
 * work in the queue when an event is recorded, so the launch gap of an idle stream is
 * not in the time. The end is a device-wide synchronise: work on other streams counts
 * too. */
#include "runner/subject.h"

#include "core/clock.h"

#include <math.h>
#include <string.h>

#define TICK_LEAST_MS 1e-6

/* Device-wide end, and the error that a launch may have left behind. */
static enum wf_status finish_all(struct subject *s, struct wf_error *err)
{
    enum wf_status st = wf_hip_check(&s->hip, s->hip.hipDeviceSynchronize(),
                                     "hipDeviceSynchronize", err);
    hipError_t sticky = s->hip.hipGetLastError();
    return st == WF_OK ? wf_hip_check(&s->hip, sticky, "after the launch", err) : st;
}

static enum wf_status record(struct subject *s, size_t event, struct wf_error *err)
{
    return wf_hip_check(&s->hip, s->hip.hipEventRecord(s->event[event], s->stream),
                        "hipEventRecord", err);
}

static double elapsed_ms(struct subject *s, size_t first)
{
    float ms = 0;
    hipError_t code =
        s->hip.hipEventElapsedTime(&ms, s->event[first], s->event[first + 1]);
    return code == hipSuccess ? (double)ms : (double)NAN;
}

static enum wf_status check_open(const struct subject *s, struct wf_error *err)
{
    return s->open ? WF_OK : wf_errorf(err, WF_EINVAL, "no device is open");
}

enum wf_status subject_run(struct subject *s,
                           struct wire_in *in,
                           struct wf_buf *out,
                           struct wf_error *err)
{
    struct wf_sp_run run;
    struct wf_sp_ran ran = { 0, 0 };
    wire_take(in, &run, sizeof(run));
    enum wf_status st = wire_end(in, err);
    if (st == WF_OK) {
        st = check_open(s, err);
    }
    if (st == WF_OK && run.program >= WF_SP_MAX_PROGRAMS) {
        st = wf_errorf(err, WF_EINVAL, "no program %u", run.program);
    }
    if (st == WF_OK && run.reset) {
        st = subject_reset(s, err);
        if (st == WF_OK) {
            st = finish_all(s, err);
        }
    }
    if (st != WF_OK) {
        return st;
    }
    int64_t start_ns = wf_monotonic_ns();
    st = record(s, 0, err);
    wf_buf_clear(&s->reports);
    s->noting = s->hip.wf_rt_launch_report != NULL;
    if (st == WF_OK) {
        st = subject_enqueue(s, run.program, err);
    }
    s->noting = false;
    if (st == WF_OK) {
        st = record(s, 1, err);
    }
    struct wf_error ignored = { 0 };
    enum wf_status end = finish_all(s, st == WF_OK ? err : &ignored);
    st = st == WF_OK ? end : st;
    if (st != WF_OK) {
        return st;
    }
    ran.host_ns = wf_monotonic_ns() - start_ns;
    ran.event_ms = elapsed_ms(s, 0);
    return wf_buf_add(out, &ran, sizeof(ran), err);
}

static enum wf_status run_step(struct subject *s,
                               const struct wf_sp_step *step,
                               struct wf_error *err)
{
    if (step->bytes) {
        return subject_copy(s, step, err);
    }
    return step->object < WF_SP_MAX_PROGRAMS
               ? subject_enqueue(s, step->object, err)
               : wf_errorf(err, WF_EINVAL, "no program %u", step->object);
}

enum wf_status subject_script(struct subject *s,
                              struct wire_in *in,
                              struct wf_buf *out,
                              struct wf_error *err)
{
    struct wf_sp_step step;
    struct wf_sp_ran ran = { 0, 0 };
    struct wf_error ignored = { 0 };
    const uint32_t count = wire_u32(in);
    enum wf_status st = check_open(s, err);
    if (st == WF_OK && (in->failed || in->left != count * sizeof(step))) {
        st = wf_errorf(err, WF_EPARSE, "%u steps in %zu bytes", count, in->left);
    }
    st = st == WF_OK ? finish_all(s, err) : st;
    if (st != WF_OK) {
        return st;
    }
    const int64_t start_ns = wf_monotonic_ns();
    st = record(s, 0, err);
    for (uint32_t i = 0; st == WF_OK && i < count; i++) {
        wire_take(in, &step, sizeof(step));
        st = run_step(s, &step, err);
    }
    st = st == WF_OK ? record(s, 1, err) : st;
    enum wf_status end = finish_all(s, st == WF_OK ? err : &ignored);
    st = st == WF_OK ? end : st;
    if (st != WF_OK) {
        return st;
    }
    ran.host_ns = wf_monotonic_ns() - start_ns;
    ran.event_ms = elapsed_ms(s, 0);
    return wf_buf_add(out, &ran, sizeof(ran), err);
}

struct measuring {
    const struct wf_sp_measure *want;
    uint32_t next; /* program of the next launch */
    uint32_t last; /* of the launch before */
};

static enum wf_status launch_many(struct subject *s,
                                  struct measuring *m,
                                  uint32_t launches,
                                  struct wf_error *err)
{
    enum wf_status st = WF_OK;
    for (uint32_t i = 0; st == WF_OK && i < launches; i++) {
        st = subject_enqueue(s, m->want->base + m->next, err);
        m->last = m->next;
        m->next = m->next + 1 == m->want->program_count ? 0 : m->next + 1;
    }
    return st;
}

static enum wf_status batch(struct subject *s,
                            struct measuring *m,
                            uint32_t index,
                            struct wf_sp_sample *ret,
                            struct wf_error *err)
{
    const struct wf_sp_measure *w = m->want;
    enum wf_status st =
        !w->reset ? WF_OK
        : w->set_count == 0
            ? subject_reset(s, err)
            : subject_reset_sets(s, m->next % w->set_count, w->lead + w->launches,
                                 w->set_count, err);
    if (st == WF_OK) {
        st = launch_many(s, m, m->want->lead, err);
    }
    if (st == WF_OK) {
        st = record(s, 2 * (size_t)index, err);
    }
    int64_t start_ns = wf_monotonic_ns();
    if (st == WF_OK) {
        st = launch_many(s, m, m->want->launches, err);
    }
    ret->enqueue_ns = wf_monotonic_ns() - start_ns;
    return st == WF_OK ? record(s, 2 * (size_t)index + 1, err) : st;
}

static enum wf_status check_measure(const struct subject *s,
                                    const struct wf_sp_measure *want,
                                    struct wf_error *err)
{
    if (want->batches == 0 || want->batches > WF_SP_MAX_BATCHES ||
        want->launches == 0 || want->program_count == 0 ||
        want->base >= WF_SP_MAX_PROGRAMS ||
        want->program_count > WF_SP_MAX_PROGRAMS - want->base ||
        want->first >= want->program_count) {
        return wf_errorf(err, WF_EINVAL, "cannot measure %u batches of %u launches",
                         want->batches, want->launches);
    }
    return check_open(s, err);
}

enum wf_status subject_measure(struct subject *s,
                               struct wire_in *in,
                               struct wf_buf *out,
                               struct wf_error *err)
{
    struct wf_sp_measure want;
    struct wf_sp_measured measured;
    struct wf_sp_sample sample[WF_SP_MAX_BATCHES];
    struct wf_error ignored = { 0 };
    wire_take(in, &want, sizeof(want));
    enum wf_status st = wire_end(in, err);
    if (st == WF_OK) {
        st = check_measure(s, &want, err);
    }
    if (st == WF_OK) {
        st = finish_all(s, err);
    }
    if (st != WF_OK) {
        return st;
    }
    struct measuring m = { &want, want.first, want.first };
    memset(&measured, 0, sizeof(measured));
    int64_t start_ns = wf_monotonic_ns();
    for (uint32_t i = 0; st == WF_OK && i < want.batches; i++) {
        st = batch(s, &m, i, &sample[i], err);
    }
    enum wf_status end = finish_all(s, st == WF_OK ? err : &ignored);
    st = st == WF_OK ? end : st;
    if (st != WF_OK) {
        return st;
    }
    measured.host_ns = wf_monotonic_ns() - start_ns;
    measured.batches = want.batches;
    measured.last_program = m.last;
    for (uint32_t i = 0; i < want.batches; i++) {
        sample[i].event_ms = elapsed_ms(s, 2 * (size_t)i);
    }
    st = wf_buf_add(out, &measured, sizeof(measured), err);
    return st == WF_OK ? wf_buf_add(out, sample, want.batches * sizeof(sample[0]), err)
                       : st;
}

/* --- the step of the events --- */

/* Smallest difference between neighbours of sorted times that is more than rounding
 * (TICK_LEAST_MS); 0: there is none. */
static double smallest_step(double *ms, size_t n)
{
    double least = 0;
    for (size_t i = 1; i < n; i++) {
        for (size_t k = i; k > 0 && ms[k] < ms[k - 1]; k--) {
            double swap = ms[k];
            ms[k] = ms[k - 1];
            ms[k - 1] = swap;
        }
    }
    for (size_t i = 1; i < n; i++) {
        double step = ms[i] - ms[i - 1];
        least = step > TICK_LEAST_MS && (least == 0 || step < least) ? step : least;
    }
    return least;
}

/* Of events recorded one after the other. Their distance is that of two records, far
 * more than a step of the clock (H200: 1.25 us and 32 ns), so distances are compared
 * with each other too. */
static double tick_of(double *ms, size_t n)
{
    double apart[WF_SP_MAX_BATCHES];
    for (size_t i = 1; i < n; i++) {
        apart[i - 1] = ms[i] - ms[i - 1];
    }
    const double between = smallest_step(apart, n > 0 ? n - 1 : 0);
    const double step = smallest_step(ms, n);
    return between > 0 && (step == 0 || between < step) ? between : step;
}

enum wf_status subject_tick(struct subject *s,
                            struct wire_in *in,
                            struct wf_buf *out,
                            struct wf_error *err)
{
    double ms[WF_SP_MAX_BATCHES];
    struct wf_sp_tick tick = { 0 };
    size_t n = 0;
    enum wf_status st = wire_end(in, err);
    st = st == WF_OK ? check_open(s, err) : st;
    st = st == WF_OK ? finish_all(s, err) : st;
    for (size_t i = 0; st == WF_OK && i < WF_SP_MAX_BATCHES; i++) {
        st = record(s, i, err);
    }
    struct wf_error ignored = { 0 };
    enum wf_status end = finish_all(s, st == WF_OK ? err : &ignored);
    st = st == WF_OK ? end : st;
    for (size_t i = 1; st == WF_OK && i < WF_SP_MAX_BATCHES; i++) {
        float one = 0;
        if (s->hip.hipEventElapsedTime(&one, s->event[0], s->event[i]) == hipSuccess &&
            isfinite(one)) {
            ms[n++] = (double)one;
        }
    }
    tick.tick_ms = tick_of(ms, n);
    return st == WF_OK ? wf_buf_add(out, &tick, sizeof(tick), err) : st;
}
