/* The third check of large problems: a naive kernel of ours computes every element in
 * double on the same device, in a subject of its own that is started fresh, from inputs
 * that the judge writes anew. Nothing of the kernel under test is in that process.
 *
 * It runs when the timing is over, never beside it. What goes wrong here is no fault of
 * the kernel under test: the check is left out then, and the result says why. */
#include "runner/judge.h"

#include "core/clock.h"
#include "core/file.h"
#include "runner/paths.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* A thread an element reaches a few hundredths of the peak of double; the estimate
 * takes one, so that what is started ends in time. */
#define RATE_OF_PEAK 0.01
#define RATE_UNKNOWN 1e11 /* operations a second where the peak is not known */
#define LIMIT_NS     (30 * SECOND_NS)
#define READ_NS      (60 * SECOND_NS)
#define MEMORY_SHARE 0.9
#define HOST_SHARE   4 /* of this machine's memory, for the check's own values */

struct naive {
    struct judge *j;   /* of the kernel under test */
    struct judge own;  /* of the naive kernel */
    struct wf_case *c; /* as `own` parsed it; j's is used, which knows spliced inputs */
    struct result result; /* of `own`; nobody sees it */
    struct wf_execute_request request;
    char *folder; /* of the pack */
    double estimate_ns;
    struct wf_sp_ran ran;
};

static const struct wf_reference_ops *ops_of(const struct judge *j)
{
    return wf_case_op(j->c)->reference;
}

static void quiet(const char *line)
{
    (void)line; /* the caller follows the subject under test */
}

/* --- details.naive --- */

/* `why` is "" when there is nothing to say. */
static enum wf_status note(struct judge *j,
                           const char *state,
                           const char *why,
                           struct wf_json **ret,
                           struct wf_error *err)
{
    struct wf_json *obj = wf_json_object();
    enum wf_status st = wf_json_set_string(obj, "state", state, err);
    if (st == WF_OK) {
        st = wf_json_set_string(obj, "why", why, err);
    }
    enum wf_status took = wf_json_set_take(j->result->details, "naive", obj, err);
    if (ret) {
        *ret = took == WF_OK ? obj : NULL;
    }
    return st == WF_OK ? took : st;
}

static enum wf_status note_run(const struct naive *n,
                               const struct wf_naive_report *found,
                               int64_t total_ns,
                               struct wf_error *err)
{
    const struct judge *j = n->j;
    struct wf_json *obj = NULL;
    enum wf_status st =
        note(n->j, found->trusted ? "ran" : "not trusted", found->doubt, &obj, err);
    if (st == WF_OK) {
        st = wf_json_set_string(obj, "pack", wf_pack_id(n->own.pack), err);
    }
    if (st == WF_OK) {
        st = wf_json_set_f64(obj, "estimate_ns", n->estimate_ns, err);
    }
    if (st == WF_OK) { /* on a runtime that models: of the host, never of a device */
        st = wf_json_set_i64(obj, "launch_ns", n->ran.host_ns, err);
    }
    if (st == WF_OK) {
        st = wf_json_set_i64(obj, "total_ns", total_ns, err);
    }
    if (st == WF_OK) {
        st = wf_json_set_u64(obj, "verified", found->checked, err);
    }
    if (st == WF_OK) {
        st = wf_json_set_f64(obj, "own_ratio", found->own_ratio, err);
    }
    return st == WF_OK ? wf_json_set_bool(obj, "times_modelled",
                                          j->request->device->times_modelled, err)
                       : st;
}

/* --- whether it is worth it --- */

static double estimate_ns(const struct judge *j)
{
    double peak = wf_device_peak_flops(j->request->device, "f64");
    double rate = peak > 0 ? RATE_OF_PEAK * peak : RATE_UNKNOWN;
    return 1e9 * ops_of(j)->naive_work(j->reference) / rate;
}

/* Why not, before anything is started; "" when it may run. */
static void refuse(const struct naive *n, char *why, size_t bytes)
{
    const struct judge *j = n->j;
    const struct wf_device *device = j->request->device;
    bool forced = j->request->measure.naive == WF_NAIVE_ON;
    uint64_t host = (uint64_t)sysconf(_SC_PHYS_PAGES) * (uint64_t)sysconf(_SC_PAGESIZE);
    uint64_t held = ops_of(j)->naive_bytes(j->reference);
    why[0] = '\0';
    if (device->library_kernels) {
        (void)snprintf(why, bytes, "%s:%d takes no device kernels", device->runtime,
                       device->ordinal);
    } else if (!forced && device->times_modelled) {
        (void)snprintf(why, bytes, "a modelled device; ask for it with naive = on");
    } else if (!forced && n->estimate_ns > (double)LIMIT_NS) {
        (void)snprintf(why, bytes, "it would take about %.0f s, the limit is %.0f s",
                       n->estimate_ns / 1e9, (double)LIMIT_NS / 1e9);
    } else if (held > host / HOST_SHARE) {
        (void)snprintf(why, bytes,
                       "its values take %.1f GB here, more than a quarter of this "
                       "machine's memory",
                       (double)held / 1e9);
    }
}

static uint64_t buffer_bytes(const struct judge *j)
{
    uint64_t sum = judge_set_bytes(j) * (j->sets ? j->sets : 1);
    for (size_t i = 0; i < j->plan->buffer_count; i++) {
        const struct wf_plan_buffer *b = &j->plan->buffer[i];
        sum += b->kind == WF_BUFFER_WORKSPACE ? b->bytes : 0;
    }
    return sum;
}

static bool fits(const struct naive *n, char *why, size_t bytes)
{
    double both = (double)buffer_bytes(n->j) + (double)buffer_bytes(&n->own);
    double memory = (double)n->j->request->device->memory_bytes;
    if (memory <= 0 || both <= MEMORY_SHARE * memory) {
        return true;
    }
    (void)snprintf(why, bytes,
                   "both kernels need %.1f GB of the device's %.1f GB, of which nine "
                   "tenths may be used",
                   both / 1e9, memory / 1e9);
    return false;
}

/* --- the naive kernel --- */

static enum wf_status find_pack(struct naive *n, struct wf_error *err)
{
    char name[96];
    const char *arch = n->j->request->device->arch;
    (void)snprintf(name, sizeof(name), "wavefarm-naive-%.*s", (int)strcspn(arch, ":"),
                   arch);
    return runner_reference_pack(name, &n->folder, err);
}

static void make_request(struct naive *n, char *kernel, size_t bytes)
{
    const struct wf_execute_request *q = n->j->request;
    (void)snprintf(kernel, bytes, "%s_naive", wf_case_op_name(n->j->c));
    n->request = *q;
    n->request.pack_folder = n->folder;
    n->request.pack_id = NULL;
    n->request.provenance_file = NULL;
    n->request.kernel = kernel;
    n->request.measure.measure = false;
    n->request.measure.cold = false;
    if (q->measure.naive != WF_NAIVE_ON && n->request.kernel_deadline_ns > LIMIT_NS) {
        n->request.kernel_deadline_ns = LIMIT_NS;
    }
}

static enum wf_status set_up(struct naive *n, struct wf_error *err)
{
    struct judge *own = &n->own;
    const int64_t now_ns = wf_monotonic_ns();
    enum wf_status st = result_init(&n->result, &n->request, err);
    if (st != WF_OK) {
        return st;
    }
    own->request = &n->request;
    own->result = &n->result;
    own->subject_program = n->j->subject_program;
    /* The outputs are still to be read by the task's own deadline. */
    own->deadline_ns = now_ns + (n->j->deadline_ns - now_ns) / 2;
    own->say = quiet;
    st = judge_setup(own, err);
    if (st == WF_OK && own->done) {
        st = wf_errorf(err, WF_EUNSUPPORTED, "%s", n->result.answer_text);
    }
    if (st == WF_OK) {
        n->c = own->c;
        own->c = n->j->c;
    }
    return st;
}

static enum wf_status compute(struct naive *n,
                              uint64_t seed_offset,
                              struct wf_error *err)
{
    struct judge *own = &n->own;
    judge_set_finds(own, 0);
    enum wf_status st = judge_load_code(own, err);
    if (st == WF_OK) {
        st = judge_allocate(own, 1, err);
    }
    if (st == WF_OK) {
        st = judge_write_inputs(own, seed_offset, err);
    }
    if (st == WF_OK) {
        st = judge_set_programs(own, err);
    }
    if (st == WF_OK) {
        st = judge_set_reset(own, err);
    }
    if (st == WF_OK) {
        st = judge_emulate(own, false, err);
    }
    return st == WF_OK ? judge_launch(own, &n->ran, err) : st;
}

/* Its buffers, by their numbers in the entry. */
static enum wf_status read_buffer(void *ctx,
                                  size_t buffer,
                                  uint64_t offset,
                                  uint64_t bytes,
                                  void *dst,
                                  struct wf_error *err)
{
    struct judge *own = ctx;
    unsigned char *to = dst;
    enum wf_status st = WF_OK;
    if (buffer >= own->plan->buffer_count ||
        judge_buffer_object(own, 0, buffer) == JUDGE_NO_OBJECT) {
        return wf_errorf(err, WF_EINVAL, "the naive kernel has no buffer %zu", buffer);
    }
    for (uint64_t at = 0; st == WF_OK && at < bytes; at += WF_SP_WINDOW_BYTES) {
        uint64_t part =
            bytes - at < WF_SP_WINDOW_BYTES ? bytes - at : WF_SP_WINDOW_BYTES;
        struct wf_sp_transfer t = { judge_buffer_object(own, 0, buffer), 0,
                                    (int64_t)(offset + at), part };
        st = judge_call(own, WF_SP_READ, &t, sizeof(t), READ_NS, NULL, err);
        if (st == WF_OK) {
            memcpy(to + at, subject_client_window(own->subject), (size_t)part);
        }
    }
    return st;
}

static void tear_down(struct naive *n)
{
    if (n->c) {
        n->own.c = n->c;
    }
    judge_teardown(&n->own);
    result_fini(&n->result);
    free(n->folder);
}

/* --- the result --- */

/* Its checks stand behind those that were made before. */
static void take_report(struct judge *j, const struct wf_check_report *found)
{
    struct wf_check_report merged = *found;
    merged.check_count = 0;
    for (int from = 0; from < 2; from++) {
        const struct wf_check_report *r = from == 0 ? &j->result->report : found;
        for (size_t i = 0; i < r->check_count && merged.check_count < WF_MAX_CHECKS;
             i++) {
            merged.check[merged.check_count++] = r->check[i];
        }
    }
    if (found->answer == WF_ANSWER_PASS) {
        j->result->report.check_count = merged.check_count;
        memcpy(j->result->report.check, merged.check, sizeof(merged.check));
        return;
    }
    judge_take_report(j, &merged, "every element against the naive device kernel");
    j->done = true;
}

/* The check itself. `why` says what was missing. */
static enum wf_status run(struct naive *n,
                          size_t set,
                          uint64_t seed_offset,
                          char *why,
                          size_t bytes,
                          struct wf_error *err)
{
    struct judge *j = n->j;
    struct judge_output_reader reader = { j, set };
    struct wf_output_source outputs = { judge_read_output, &reader };
    struct wf_output_source naive = { read_buffer, &n->own };
    struct wf_naive_report *found = wf_calloc(1, sizeof(*found));
    struct wf_error what = { 0 };
    int64_t start_ns = wf_monotonic_ns();
    enum wf_status st = found ? set_up(n, &what) : WF_ENOMEM;
    if (st == WF_OK && !fits(n, why, bytes)) {
        free(found);
        return WF_OK;
    }
    st = st == WF_OK ? compute(n, seed_offset, &what) : st;
    if (st == WF_OK) {
        uint64_t held = wf_reference_bytes(j->c, j->reference) +
                        ops_of(j)->naive_bytes(j->reference);
        if (held > j->result->reference_bytes) {
            j->result->reference_bytes = held;
        }
        st = ops_of(j)->check_naive(j->reference, &outputs, &naive, found, &what);
    }
    if (st == WF_OK) {
        st = note_run(n, found, wf_monotonic_ns() - start_ns, err);
        take_report(j, &found->report);
    } else if (j->subject_failed) { /* the outputs could not be read */
        if (err) {
            *err = what;
        }
    } else {
        (void)snprintf(why, bytes, "%.399s", what.text);
        st = WF_OK;
    }
    free(found);
    return st;
}

static bool is_asked_for(const struct judge *j)
{
    const struct wf_reference_ops *ops = ops_of(j);
    enum wf_naive mode = j->request->measure.naive;
    return ops->check_naive && mode != WF_NAIVE_OFF &&
           (mode == WF_NAIVE_ON || !ops->complete(j->reference));
}

enum wf_status judge_naive(struct judge *j,
                           size_t set,
                           uint64_t seed_offset,
                           struct wf_error *err)
{
    char why[400];
    char broken[400] = "";
    char kernel[64];
    struct wf_error what = { 0 };
    struct naive n = { .j = j };
    int64_t start_ns = wf_monotonic_ns();
    if (!is_asked_for(j)) {
        return WF_OK;
    }
    j->say("stage naive");
    n.estimate_ns = estimate_ns(j);
    refuse(&n, why, sizeof(why));
    if (why[0]) {
        return note(j, "left out", why, NULL, err);
    }
    if (find_pack(&n, &what) != WF_OK) {
        return note(j, "left out", what.text, NULL, err);
    }
    make_request(&n, kernel, sizeof(kernel));
    enum wf_status st = run(&n, set, seed_offset, broken, sizeof(broken), err);
    if (st == WF_OK && broken[0]) {
        st = note(j, "left out", broken, NULL, err);
    }
    tear_down(&n);
    j->result->phases.judge += wf_monotonic_ns() - start_ns;
    return st;
}
