/* The task of a process kernel (docs/process-kernels.md): checked launch, repeat, timed
 * launches on other inputs, judge again.
 *
 * Tensors go through safetensors files in a folder of this task's own. An answer file
 * must be new, complete and carry the nonce of its request, so that an old file is
 * never taken for a result. Guard zones and poison are not possible here; the details
 * say so. The command times itself (SELF_TIMED); the judge's clock checks it over
 * batches of at least 50 ms. */
#include "runner/judge_process.h"

#include "core/clock.h"
#include "core/file.h"
#include "core/stats.h"
#include "runner/device_lock.h"
#include "runner/stopping.h"
#include "runner/warmup.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define BATCH_MIN_NS       ((int64_t)50 * 1000 * 1000)
#define WARMUP_MAX_SAMPLES 50u
#define PREPARE_NS         (120 * SECOND_NS)

/* --- asking --- */

/* The answer that a refusal names; BUILD_FAILED when it names none that fits. */
static enum wf_answer refusal(const struct wf_json *reply)
{
    enum wf_answer answer = WF_ANSWER_COUNT;
    const char *text = NULL;
    const struct wf_json *member = wf_json_find(reply, "answer");
    text = member ? wf_json_string(member) : NULL;
    if (text && wf_answer_parse(text, &answer) &&
        (answer == WF_ANSWER_NOT_SUPPORTED || answer == WF_ANSWER_OUT_OF_MEMORY ||
         answer == WF_ANSWER_BUILD_FAILED || answer == WF_ANSWER_DEVICE_FAULT)) {
        return answer;
    }
    return WF_ANSWER_BUILD_FAILED;
}

static enum wf_answer answer_of_state(enum subject_state state)
{
    return state == SUBJECT_HUNG ? WF_ANSWER_TIMEOUT : WF_ANSWER_CRASH;
}

/* Takes `request`. *ret is NULL when the task has its answer (j->done). */
static enum wf_status ask(struct process_task *p,
                          struct wf_json *request,
                          int64_t limit_ns,
                          struct wf_json **ret,
                          struct wf_error *err)
{
    struct judge *j = p->j;
    struct wf_json *reply = NULL;
    struct wf_error why = { 0 };
    bool ok = false;
    int64_t now_ns = wf_monotonic_ns();
    int64_t until_ns =
        now_ns + limit_ns < j->deadline_ns ? now_ns + limit_ns : j->deadline_ns;
    *ret = NULL;
    enum wf_status st = process_client_ask(p->client, request, until_ns, &reply, &why);
    wf_json_free(request);
    if (st == WF_OK && wf_json_get_bool(reply, "ok", &ok, &why) == WF_OK && ok) {
        *ret = reply;
        return WF_OK;
    }
    if (st == WF_ENOMEM) {
        return wf_errorf(err, st, "%s", why.text);
    }
    const struct wf_json *message = reply ? wf_json_find(reply, "message") : NULL;
    const char *text = message ? wf_json_string(message) : NULL;
    if (process_client_state(p->client) != SUBJECT_ALIVE) {
        result_answer(j->result, answer_of_state(process_client_state(p->client)), "%s",
                      why.text);
    } else {
        result_answer(j->result, refusal(reply), "the command says: %.400s",
                      text ? text : "nothing");
    }
    wf_json_free(reply);
    j->done = true;
    return WF_OK;
}

/* {"do": what}; NULL when there is no memory. */
static struct wf_json *command(const char *what)
{
    struct wf_json *obj = wf_json_object();
    if (wf_json_set_string(obj, "do", what, NULL) != WF_OK) {
        wf_json_free(obj);
        return NULL;
    }
    return obj;
}

static enum wf_status simple(struct process_task *p,
                             struct wf_json *request,
                             struct wf_json **ret,
                             struct wf_error *err)
{
    if (!request) {
        return wf_errorf(err, WF_ENOMEM, "no memory for a request");
    }
    return ask(p, request, p->j->request->kernel_deadline_ns, ret, err);
}

/* --- inputs --- */

enum wf_status process_prepare(struct process_task *p,
                               uint64_t seed,
                               struct wf_error *err)
{
    struct judge *j = p->j;
    struct wf_json *c = NULL;
    struct wf_json *device = NULL;
    struct wf_json *reply = NULL;
    struct wf_json *request = command("prepare");
    const char *canonical = wf_case_canonical(j->c);
    enum wf_status st = process_write_inputs(p, seed, err);
    st = st == WF_OK ? wf_json_set_string(request, "kernel", j->kernel->name, err) : st;
    st = st == WF_OK ? wf_json_set_string(request, "inputs", p->input_path, err) : st;
    if (st == WF_OK) {
        st = wf_json_parse(canonical, strlen(canonical), "case", &c, err);
        st = st == WF_OK ? wf_json_set_take(request, "case", c, err) : st;
    }
    if (st == WF_OK) {
        st = wf_device_to_json(j->request->device, &device, err);
        st = st == WF_OK ? wf_json_set_take(request, "device", device, err) : st;
    }
    if (st != WF_OK) {
        wf_json_free(request);
        return st;
    }
    st = ask(p, request, PREPARE_NS, &reply, err);
    wf_json_free(reply);
    return st;
}

/* --- launching --- */

enum wf_status process_launch(struct process_task *p,
                              uint32_t n,
                              double *ret_self_ns,
                              double *ret_wall_ns,
                              struct wf_error *err)
{
    struct wf_json *reply = NULL;
    struct wf_json *request = command("launch");
    int64_t start_ns = wf_monotonic_ns();
    *ret_self_ns = (double)NAN;
    if (wf_json_set_i64(request, "n", n, err) != WF_OK) {
        wf_json_free(request);
        return WF_ENOMEM;
    }
    enum wf_status st = simple(p, request, &reply, err);
    wf_json_free(reply);
    reply = NULL;
    if (st == WF_OK && !p->j->done) {
        st = simple(p, command("synchronise"), &reply, err);
    }
    *ret_wall_ns = (double)(wf_monotonic_ns() - start_ns);
    if (reply) {
        (void)wf_json_opt_f64(reply, "elapsed_ns", ret_self_ns, NULL);
    }
    wf_json_free(reply);
    return st;
}

/* Asks for the outputs and reads their file into p->outputs. */
enum wf_status process_read(struct process_task *p, struct wf_error *err)
{
    char nonce[24];
    struct wf_json *reply = NULL;
    struct wf_json *request = command("read");
    process_next_output(p, nonce, sizeof(nonce));
    enum wf_status st = wf_json_set_string(request, "outputs", p->output_path, err);
    st = st == WF_OK ? wf_json_set_string(request, "nonce", nonce, err) : st;
    if (st != WF_OK) {
        wf_json_free(request);
        return st;
    }
    st = ask(p, request, PREPARE_NS, &reply, err);
    if (reply) {
        st = process_take_outputs(p, nonce, err);
    }
    wf_json_free(reply);
    return st;
}

enum wf_status process_check(struct process_task *p,
                             uint64_t seed,
                             const char *what,
                             struct wf_error *err)
{
    struct judge *j = p->j;
    struct wf_output_source source = { process_read_output, p };
    struct wf_check_report report;
    memset(&report, 0, sizeof(report));
    enum wf_status st = judge_make_reference(j, seed, err);
    int64_t start_ns = wf_monotonic_ns();
    if (st == WF_OK) {
        st = wf_reference_check(j->c, j->reference, &source, &report, err);
    }
    if (st == WF_OK) {
        judge_take_report(j, &report, what);
        j->done = j->done || report.answer != WF_ANSWER_PASS;
    }
    j->result->phases.judge += wf_monotonic_ns() - start_ns;
    return st;
}

static enum wf_status launch_and_read(struct process_task *p,
                                      double *ret_wall_ns,
                                      struct wf_error *err)
{
    double self_ns = 0;
    enum wf_status st = process_launch(p, 1, &self_ns, ret_wall_ns, err);
    return st == WF_OK && !p->j->done ? process_read(p, err) : st;
}

/* One launch more; one that is declared non-deterministic is judged each time. */
static enum wf_status repeat_once(struct process_task *p,
                                  int launch_number,
                                  struct judge_outputs *seen,
                                  struct wf_error *err)
{
    struct judge *j = p->j;
    char what[64];
    double ignored = 0;
    enum wf_status st = launch_and_read(p, &ignored, err);
    if (st != WF_OK || j->done || !judge_outputs_note(seen, process_output_digest(p))) {
        return st;
    }
    if (!j->kernel->deterministic) {
        (void)snprintf(what, sizeof(what), "launch %d of %d on equal inputs",
                       launch_number, j->request->measure.launches);
        return process_check(p, j->request->seed_offset, what, err);
    }
    result_answer(j->result, WF_ANSWER_NONDETERMINISTIC,
                  "launch %d on equal inputs gave different bits, and the kernel is "
                  "declared deterministic",
                  launch_number);
    j->done = true;
    return WF_OK;
}

static enum wf_status repeat(struct process_task *p, struct wf_error *err)
{
    struct judge *j = p->j;
    struct judge_outputs seen;
    enum wf_status st =
        judge_outputs_init(&seen, (size_t)j->request->measure.launches, err);
    if (st != WF_OK) {
        return st;
    }
    (void)judge_outputs_note(&seen, j->output_digest);
    for (int i = 2; st == WF_OK && !j->done && i <= j->request->measure.launches; i++) {
        st = repeat_once(p, i, &seen, err);
    }
    enum wf_status set = judge_outputs_details(&seen, j, err);
    judge_outputs_fini(&seen);
    return st == WF_OK ? set : st;
}

enum wf_status process_checked(struct process_task *p,
                               double *ret_estimate_ns,
                               struct wf_error *err)
{
    struct judge *j = p->j;
    j->say("stage launch");
    enum wf_status st = launch_and_read(p, ret_estimate_ns, err);
    if (st == WF_OK && !j->done) {
        st = process_check(p, j->request->seed_offset, "checked launch", err);
    }
    if (st != WF_OK || j->done) {
        return st;
    }
    j->output_digest = process_output_digest(p);
    return repeat(p, err);
}

/* --- measuring --- */

struct self_timing {
    uint32_t launches;
    int64_t spent_ns;
    double self_ns, wall_ns; /* sums over all samples */
};

static enum wf_status warm_up(struct process_task *p,
                              struct self_timing *t,
                              double estimate_ns,
                              struct wf_error *err)
{
    struct warmup w;
    enum warmup_state state = WARMUP_MORE;
    enum wf_status st = WF_OK;
    struct judge *j = p->j;
    t->launches = stopping_launches(estimate_ns, BATCH_MIN_NS);
    warmup_start(&w, WARMUP_MAX_SAMPLES, warmup_max_ns(j->request->device));
    w.least_ns = warmup_least_ns(j->request->device);
    while (st == WF_OK && !j->done && state == WARMUP_MORE) {
        double self_ns = 0;
        double wall_ns = 0;
        st = process_launch(p, t->launches, &self_ns, &wall_ns, err);
        state = warmup_add(&w, wall_ns / t->launches, (int64_t)wall_ns);
        j->result->timing.warmup_launches += t->launches;
        t->launches = stopping_launches(wall_ns / t->launches, BATCH_MIN_NS);
    }
    st = st == WF_OK
             ? wf_json_set_string(j->result->details, "warmup",
                                  state == WARMUP_STEADY ? "steady" : "capped", err)
             : st;
    return st == WF_OK
               ? wf_json_set_i64(j->result->details, "warmup_ns", w.spent_ns, err)
               : st;
}

static enum wf_status one_sample(struct process_task *p,
                                 struct self_timing *t,
                                 struct wf_error *err)
{
    struct result_timing *timing = &p->j->result->timing;
    double self_ns = 0;
    double wall_ns = 0;
    enum wf_status st = process_launch(p, t->launches, &self_ns, &wall_ns, err);
    if (st != WF_OK || p->j->done) {
        return st;
    }
    struct result_sample *grown =
        wf_realloc_array(timing->sample, timing->count + 1, sizeof(*grown));
    if (!grown) {
        return wf_errorf(err, WF_ENOMEM, "no memory for samples");
    }
    timing->sample = grown;
    timing->sample[timing->count++] =
        (struct result_sample){ .ns = self_ns / t->launches,
                                .clock_mhz = (double)NAN,
                                .power_w = (double)NAN,
                                .temperature_c = (double)NAN };
    t->spent_ns += (int64_t)wall_ns;
    t->self_ns += self_ns;
    t->wall_ns += wall_ns;
    return WF_OK;
}

static void conclude(struct result *r,
                     const struct self_timing *t,
                     enum stop_reason reason)
{
    char why[200];
    r->timing.host_ratio = t->wall_ns / t->self_ns;
    if (reason == STOP_INVALID) {
        result_time(r, WF_TIME_NOT_MEASURED, "the command gave no valid elapsed_ns");
    } else if (plausible_clocks(t->self_ns, t->wall_ns, why, sizeof(why))) {
        result_time(r, WF_TIME_IMPLAUSIBLE, "%s", why);
    } else {
        result_time(r, WF_TIME_SELF_TIMED, "the command times itself%s",
                    reason == STOP_NARROW ? "" : "; the interval stayed wide");
    }
}

static enum wf_status measure(struct process_task *p,
                              double estimate_ns,
                              struct wf_error *err)
{
    struct judge *j = p->j;
    struct self_timing t = { 0 };
    const struct wf_measure_options *o = &j->request->measure;
    const struct stop_rule rule = { o->ci_target, o->budget_ns, (size_t)o->min_samples,
                                    (size_t)o->max_samples };
    enum stop_reason reason = STOP_NOT_YET;
    double width = 0;
    struct device_lock *lock = NULL;
    j->say("stage measure");
    enum wf_status st = judge_lock_device(j, &lock, err);
    st = st == WF_OK ? warm_up(p, &t, estimate_ns, err) : st;
    j->result->timing.source = "self";
    j->result->timing.launches_per_sample = t.launches;
    while (st == WF_OK && !j->done && reason == STOP_NOT_YET) {
        double *valid = NULL;
        size_t n = 0;
        st = one_sample(p, &t, err);
        st = st == WF_OK ? result_valid_samples(&j->result->timing, &valid, &n, err)
                         : st;
        st = st == WF_OK ? stopping_decide(&rule, valid, n, j->result->timing.count - n,
                                           t.spent_ns, &reason, &width, err)
                         : st;
        free(valid);
    }
    if (st == WF_OK && !j->done) {
        conclude(j->result, &t, reason);
    }
    device_lock_free(lock);
    return st;
}

static enum wf_status audit(struct process_task *p, struct wf_error *err)
{
    struct judge *j = p->j;
    struct wf_summary summary;
    double *valid = NULL;
    size_t n = 0;
    enum wf_status st = result_valid_samples(&j->result->timing, &valid, &n, err);
    st = st == WF_OK ? wf_summarise(valid, n, &summary, err) : st;
    free(valid);
    if (st != WF_OK || n == 0) {
        return st;
    }
    return process_audit(p, summary.median, j->result->timing.launches_per_sample, err);
}

enum wf_status process_verify_timed(struct process_task *p, struct wf_error *err)
{
    struct judge *j = p->j;
    enum wf_status st = process_read(p, err);
    if (st == WF_OK && !j->done) {
        st = process_check(p, judge_timed_offset(j), "timed launches", err);
        if (j->done && process_output_digest(p) == j->output_digest) {
            result_answer(j->result, WF_ANSWER_CHEAT_SUSPECTED,
                          "the timed launches returned the outputs of earlier inputs");
        }
    }
    return st;
}

static enum wf_status timed_launches(struct process_task *p,
                                     double estimate_ns,
                                     struct wf_error *err)
{
    struct judge *j = p->j;
    int64_t start_ns = wf_monotonic_ns();
    enum wf_status st = process_prepare(p, judge_timed_offset(j), err);
    if (st == WF_OK && !j->done) {
        st = measure(p, estimate_ns, err);
    }
    j->result->phases.measure += wf_monotonic_ns() - start_ns;
    if (st == WF_OK && !j->done) {
        st = process_verify_timed(p, err);
    }
    return st == WF_OK && !j->done ? audit(p, err) : st;
}

/* What cannot be started for a reason of its own; the rest is the machine's. */
static bool is_commands_fault(const struct wf_error *err)
{
    return err->status == WF_ENOTFOUND || err->status == WF_EINVAL ||
           err->native == EACCES || err->native == ENOEXEC || err->native == E2BIG;
}

/* --- the task --- */

enum wf_status process_start(struct process_task *p, struct wf_error *err)
{
    struct judge *j = p->j;
    char line[64];
    enum wf_status st = process_folder(p, err);
    st = st == WF_OK ? process_argv(j, &p->argv, err) : st;
    st = st == WF_OK ? wf_json_set_bool(j->result->details, "guards", false, err) : st;
    if (st != WF_OK) {
        return st;
    }
    st = process_client_start(p->argv, p->folder, &p->client, err);
    if (st != WF_OK && is_commands_fault(err)) {
        result_answer(j->result, WF_ANSWER_BUILD_FAILED, "%s", err->text);
        j->done = true;
        return WF_OK;
    }
    if (st != WF_OK) {
        return st;
    }
    (void)snprintf(line, sizeof(line), "subject %ld",
                   (long)process_client_pid(p->client));
    j->say(line);
    return WF_OK;
}

void process_finish(struct process_task *p)
{
    struct result *r = p->j->result;
    if (p->client && process_client_state(p->client) == SUBJECT_ALIVE) {
        r->subject_peak_bytes = process_peak_bytes(process_client_pid(p->client));
    }
    r->judge_peak_bytes = process_peak_bytes(getpid());
    process_client_stop(p->client);
    wf_dataset_free(p->outputs);
    if (p->folder[0]) {
        (void)wf_remove_tree(p->folder, NULL);
    }
    for (size_t i = 0; p->argv && p->argv[i]; i++) {
        free(p->argv[i]);
    }
    free(p->argv);
    *p = (struct process_task){ .j = p->j };
}

static enum wf_status run_task(struct process_task *p, struct wf_error *err)
{
    struct judge *j = p->j;
    double estimate_ns = 0;
    int64_t start_ns = wf_monotonic_ns();
    enum wf_status st = process_start(p, err);
    if (st == WF_OK && !j->done) {
        st = process_prepare(p, j->request->seed_offset, err);
    }
    j->result->phases.prepare += wf_monotonic_ns() - start_ns;
    if (st == WF_OK && !j->done) {
        st = process_checked(p, &estimate_ns, err);
    }
    if (st == WF_OK && !j->done && j->request->measure.measure &&
        j->request->measure.icache_cold) {
        result_time(j->result, WF_TIME_NOT_MEASURED,
                    "icache cold: a process kernel's code cannot be loaded more than "
                    "once");
    } else if (st == WF_OK && !j->done && j->request->measure.measure) {
        st = timed_launches(p, estimate_ns, err);
    }
    return st;
}

enum wf_status judge_run_process(struct judge *j, struct wf_error *err)
{
    struct process_task p = { .j = j };
    const enum wf_status st = run_task(&p, err);
    process_finish(&p);
    return st;
}
