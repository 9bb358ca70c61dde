/* Makes page tables: requests, automatic values, the choice of the step, the image.
 *
 * For the largest batch the replay runs twice: the first pass counts the steps that
 * reach the maximum, the second stops at the middle one of them, where the pool has
 * been worn in and has not begun to drain. Both are deterministic, so no state needs to
 * be kept. */
#include "datasets/page_table.h"

#include "core/file.h"
#include "datasets/page_table_image.h"
#include "datasets/replay.h"
#include "datasets/traffic.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

struct maker {
    struct wf_page_table_spec spec; /* automatic values get resolved here */
    struct wf_request_list list;
    struct wf_trace_report report;
    bool has_report;
};

/* --- requests --- */

static enum wf_status read_trace(struct maker *m, struct wf_error *err)
{
    const bool relative = m->spec.base_dir && m->spec.trace[0] != '/';
    char *path = relative ? wf_path_join(m->spec.base_dir, m->spec.trace)
                          : wf_strdup(m->spec.trace);
    if (!path) {
        return wf_errorf(err, WF_ENOMEM, "no memory for a path");
    }
    enum wf_status st =
        wf_trace_read(path, m->spec.requests, &m->list, &m->report, err);
    if (st == WF_OK && m->spec.trace_sha256 &&
        strcmp(m->spec.trace_sha256, m->report.sha256) != 0) {
        st = wf_errorf(err, WF_EINVAL, "trace %s has SHA-256 %s, the recipe wants %s",
                       path, m->report.sha256, m->spec.trace_sha256);
    }
    m->has_report = st == WF_OK;
    free(path);
    return st;
}

static enum wf_status make_traffic(struct maker *m, struct wf_error *err)
{
    const struct wf_traffic t = {
        .requests = m->spec.requests,
        .mean_prompt = m->spec.mean_prompt,
        .mean_output = m->spec.mean_output,
        .spread = m->spec.spread,
        .rate_per_s = m->spec.rate_per_s,
        .seed = (uint64_t)m->spec.seed,
    };
    return wf_traffic_make(&t, &m->list, err);
}

static enum wf_status add_prefix(struct maker *m, struct wf_error *err)
{
    if (m->spec.prefix_share <= 0) {
        return WF_OK;
    }
    if (m->list.block_tokens != 0) {
        return wf_errorf(
            err, WF_EINVAL,
            "\"prefix_share\" must be 0: the trace has prefixes of its own");
    }
    return wf_traffic_add_prefix(&m->list, m->spec.prefix_share, m->spec.prefix_tokens,
                                 m->spec.prefix_groups, (uint64_t)m->spec.seed, err);
}

static enum wf_status get_requests(struct maker *m, struct wf_error *err)
{
    if (m->spec.requests == 0) {
        m->spec.requests = 16 * m->spec.batch;
    }
    enum wf_status st = m->spec.trace ? read_trace(m, err) : make_traffic(m, err);
    if (st == WF_OK) {
        m->spec.requests = (int64_t)m->list.count;
        st = add_prefix(m, err);
    }
    return st;
}

/* --- automatic values --- */

static int64_t step_ns(const struct wf_page_table_spec *spec)
{
    const double ns = floor(spec->step_ms * 1e6 + 0.5);
    return ns < 1 ? 1 : (int64_t)ns;
}

/* Little's law: the mean number of running sequences is the arrival rate times the time
 * that each stays, one step a token. */
static void resolve_time_scale(struct maker *m)
{
    if (m->spec.time_scale > 0 || m->list.count == 0) {
        return;
    }
    double steps = 0;
    for (size_t i = 0; i < m->list.count; i++) {
        steps += (double)m->list.at[i].output_tokens;
    }
    const double span_ns = (double)m->list.at[m->list.count - 1].arrival_ns;
    const double running =
        span_ns > 0 ? steps * (double)step_ns(&m->spec) / span_ns : INFINITY;
    const double scale = 1.25 * (double)m->spec.batch / running;
    m->spec.time_scale = scale > 1 ? scale : 1;
}

static void resolve_num_pages(struct maker *m)
{
    if (m->spec.num_pages > 0 || m->list.count == 0) {
        return;
    }
    int64_t sum = 0, most = 0;
    for (size_t i = 0; i < m->list.count; i++) {
        const struct wf_request *q = &m->list.at[i];
        const int64_t tokens = q->prompt_tokens + q->output_tokens;
        const int64_t pages = (tokens + m->spec.page_size - 1) / m->spec.page_size;
        sum += pages;
        most = pages > most ? pages : most;
    }
    const int64_t mean = sum / (int64_t)m->list.count + 1;
    const int64_t fit = m->spec.batch * mean / 8 * 9;
    m->spec.num_pages = (fit > most ? fit : most) + 1;
    if (m->spec.num_pages > INT32_MAX) {
        m->spec.num_pages = INT32_MAX;
    }
}

/* --- the step --- */

static enum wf_status start_replay(const struct maker *m,
                                   struct wf_replay **ret,
                                   struct wf_error *err)
{
    const struct wf_replay_options options = {
        .page_size = m->spec.page_size,
        .num_pages = m->spec.num_pages,
        .batch = m->spec.batch,
        .step_ns = step_ns(&m->spec),
        .time_scale = m->spec.time_scale,
        .free_order = m->spec.free_order,
        .seed = (uint64_t)m->spec.seed,
    };
    return wf_replay_create(&m->list, &options, ret, err);
}

/* The next step, unless somebody wants an end: a long trace takes many seconds. */
static enum wf_status next_step(const struct maker *m,
                                struct wf_replay *replay,
                                bool *ret_ran,
                                struct wf_error *err)
{
    if (m->spec.cancel != NULL && *m->spec.cancel != 0) {
        return wf_errorf(err, WF_ECANCELLED, "interrupted");
    }
    return wf_replay_step(replay, ret_ran, err);
}

struct peak {
    int64_t batch; /* most sequences in a step */
    int64_t steps; /* steps with that many */
    int64_t total; /* all steps */
};

static enum wf_status find_peak(const struct maker *m,
                                struct peak *ret,
                                struct wf_error *err)
{
    struct wf_replay *replay = NULL;
    struct peak p = { 0 };
    bool ran = true;
    enum wf_status st = start_replay(m, &replay, err);
    while (st == WF_OK && ran) {
        st = next_step(m, replay, &ran, err);
        if (st != WF_OK || !ran) {
            break;
        }
        const int64_t n = wf_page_table_batch(replay, m->spec.mode);
        p.steps = n > p.batch ? 0 : p.steps;
        p.batch = n > p.batch ? n : p.batch;
        p.steps += n == p.batch ? 1 : 0;
        p.total++;
    }
    wf_replay_destroy(replay);
    if (st == WF_OK && p.batch == 0) {
        st = wf_errorf(err, WF_EINVAL,
                       "no step has a sequence for this mode: the pool of %" PRId64
                       " pages refuses the requests, or none has two output tokens",
                       m->spec.num_pages);
    }
    *ret = p;
    return st;
}

/* Runs to the k-th step (from 0) with exactly `batch` sequences. */
static enum wf_status run_to_peak(struct wf_replay *replay,
                                  const struct maker *m,
                                  const struct peak *p,
                                  struct wf_error *err)
{
    int64_t left = p->steps / 2;
    for (;;) {
        bool ran;
        enum wf_status st = next_step(m, replay, &ran, err);
        if (st != WF_OK) {
            return st;
        }
        if (!ran) {
            return wf_errorf(err, WF_EINTERNAL, "the second replay ran differently");
        }
        if (wf_page_table_batch(replay, m->spec.mode) == p->batch && left-- == 0) {
            return WF_OK;
        }
    }
}

static enum wf_status run_to_step(struct wf_replay *replay,
                                  const struct maker *m,
                                  struct wf_error *err)
{
    bool ran = true;
    enum wf_status st = WF_OK;
    while (st == WF_OK && ran && wf_replay_current_step(replay) < m->spec.step) {
        st = next_step(m, replay, &ran, err);
    }
    if (st != WF_OK) {
        return st;
    }
    if (!ran) {
        return wf_errorf(err, WF_EINVAL,
                         "\"step\" is %" PRId64 ", but the replay ends after %" PRId64
                         " steps",
                         m->spec.step, wf_replay_current_step(replay) + 1);
    }
    if (wf_page_table_batch(replay, m->spec.mode) == 0) {
        return wf_errorf(err, WF_EINVAL,
                         "step %" PRId64 " has no sequence for this mode: take another "
                         "step, or -1 for the largest batch",
                         m->spec.step);
    }
    return WF_OK;
}

static enum wf_status go_to_step(struct wf_replay *replay,
                                 const struct maker *m,
                                 struct wf_error *err)
{
    if (m->spec.step != WF_PAGE_TABLE_LARGEST) {
        return run_to_step(replay, m, err);
    }
    struct peak p;
    enum wf_status st = find_peak(m, &p, err);
    return st == WF_OK ? run_to_peak(replay, m, &p, err) : st;
}

static enum wf_status make_image(struct maker *m,
                                 struct wf_buf *out,
                                 struct wf_page_table_stats *ret_stats,
                                 struct wf_error *err)
{
    struct wf_replay *replay = NULL;
    enum wf_status st = start_replay(m, &replay, err);
    if (st == WF_OK) {
        st = go_to_step(replay, m, err);
    }
    if (st == WF_OK) {
        const struct wf_page_table_source source = {
            .spec = &m->spec,
            .trace = m->has_report ? &m->report : NULL,
            .replay = replay,
        };
        st = wf_page_table_image(&source, out, ret_stats, err);
    }
    wf_replay_destroy(replay);
    return st;
}

enum wf_status wf_page_table_make(const struct wf_page_table_spec *spec,
                                  struct wf_buf *out,
                                  struct wf_page_table_stats *ret_stats,
                                  struct wf_error *err)
{
    struct maker m = { .spec = *spec, .list = WF_REQUEST_LIST_INIT };
    enum wf_status st = wf_page_table_spec_check(spec, err);
    if (st == WF_OK) {
        st = get_requests(&m, err);
    }
    if (st == WF_OK) {
        resolve_time_scale(&m);
        resolve_num_pages(&m);
        st = make_image(&m, out, ret_stats, err);
    }
    wf_request_list_free(&m.list);
    if (st != WF_OK) {
        (void)wf_error_prefix(err, "page table");
    }
    return st;
}
