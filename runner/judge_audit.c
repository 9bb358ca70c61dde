/* Launches on inputs that change just before them (judge_audit.h says why).
 *
 * A round is a script of the subject: for each launch a copy of a few new elements into
 * an input, poison into one output element, the launch, and a copy of that element into
 * a trail. The same script without launches is what all the rest costs. */
#include "runner/judge_audit.h"

#include "core/clock.h"
#include "core/rng.h"
#include "core/sha256.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define LAUNCHES_MAX   16u /* in a round */
#define RANGES_MAX     256u
#define RANGE_ELEMENTS 64u
#define ELEMENT_MAX    8u
#define SLOT_BYTES     (RANGE_ELEMENTS * ELEMENT_MAX)
#define ROUND_NS       1e6 /* at least, if LAUNCHES_MAX allow */
#define REPEATS        4
#define SLOW_NS        100e6
#define TRIES          4
#define PAUSE_NS       ((int64_t)20 * 1000 * 1000)
#define LOOK_AGAIN_NS  ((int64_t)1000 * 1000)
#define FRESH_RATIO    2.5
#define FRESH_ROUND_NS 100e3 /* a round may lose this to scheduling */
#define FRESH_LAUNCH_NS                                          \
    30e3 /* and each launch on a GPU this: the gap behind a copy \
          */
#define ASK_NS (60 * SECOND_NS)
#define PICKS  16

struct audit {
    uint32_t fresh, trail; /* objects */
    uint64_t offset;       /* of the spliced inputs */
    uint64_t seed;         /* of new elements; one more for each range */
    struct wf_rng rng;
    size_t *input; /* tensors that may be changed */
    size_t input_count;
    size_t *output;
    size_t output_count;
    struct wf_case_range range[RANGES_MAX];
    size_t range_count;
    uint32_t launches;          /* in a round */
    double with_ns, without_ns; /* the shortest scripts with launches and without */
};

/* One launch of a round. */
struct visit {
    size_t input, output;
    uint64_t input_at, input_bytes; /* bytes; 0: no input could be changed */
    uint64_t output_at;
    uint32_t output_bytes; /* 0: no element could be watched */
};

bool audit_contradicts(double fresh_ns, double median_ns, uint32_t launches, bool host)
{
    const double slack =
        FRESH_ROUND_NS / (launches > 0 ? launches : 1) + (host ? 0 : FRESH_LAUNCH_NS);
    return fresh_ns > FRESH_RATIO * median_ns + slack;
}

/* --- beginning --- */

static bool is_derived_from(const struct judge *j, size_t tensor)
{
    for (size_t i = 0; i < j->plan->buffer_count; i++) {
        const struct wf_plan_buffer *b = &j->plan->buffer[i];
        if (b->kind == WF_BUFFER_DERIVED && b->bytes && b->from == tensor) {
            return true;
        }
    }
    return false;
}

static void find_tensors(const struct judge *j, struct audit *a)
{
    for (size_t i = 0; i < j->tensor_count; i++) {
        const enum wf_role role = wf_case_tensor(j->c, i)->role;
        if (j->tensor[i].bytes == 0) {
            continue;
        }
        if (role == WF_ROLE_INPUT && !is_derived_from(j, i)) {
            a->input[a->input_count++] = i;
        } else if (role == WF_ROLE_OUTPUT) {
            a->output[a->output_count++] = i;
        }
    }
}

static enum wf_status draw_seeds(struct audit *a, struct wf_error *err)
{
    uint64_t word[3];
    enum wf_status st = wf_random_bytes(word, sizeof(word), err);
    if (st != WF_OK) {
        return st;
    }
    a->offset = word[0];
    a->seed = word[1];
    a->rng = (struct wf_rng){ word[2], 0, 0 };
    return WF_OK;
}

static enum wf_status make_object(struct judge *j,
                                  uint32_t object,
                                  uint64_t bytes,
                                  struct wf_error *err)
{
    struct wf_sp_alloc want = { .object = object, .bytes = bytes };
    return judge_call(j, WF_SP_ALLOC, &want, sizeof(want), ASK_NS, NULL, err);
}

static enum wf_status begin(struct judge *j, struct wf_error *err)
{
    struct audit *a = wf_calloc(1, sizeof(*a));
    if (!a) {
        return wf_errorf(err, WF_ENOMEM, "no memory for the audit");
    }
    j->audit = a;
    a->with_ns = (double)INFINITY;
    a->without_ns = (double)INFINITY;
    a->fresh = (uint32_t)(WF_SP_MAX_OBJECTS - 1 - j->tensor_count) - j->base.spare;
    a->trail = a->fresh - 1;
    a->input = wf_calloc(j->tensor_count + 1, sizeof(*a->input));
    a->output = wf_calloc(j->tensor_count + 1, sizeof(*a->output));
    if (!a->input || !a->output) {
        return wf_errorf(err, WF_ENOMEM, "no memory for the audit");
    }
    find_tensors(j, a);
    enum wf_status st = draw_seeds(a, err);
    if (st == WF_OK) {
        st = make_object(j, a->fresh, (uint64_t)(LAUNCHES_MAX + 1) * SLOT_BYTES, err);
    }
    return st == WF_OK
               ? make_object(j, a->trail, (uint64_t)LAUNCHES_MAX * ELEMENT_MAX, err)
               : st;
}

void judge_audit_destroy(struct judge *j)
{
    if (j->audit) {
        free(j->audit->input);
        free(j->audit->output);
        free(j->audit);
        j->audit = NULL;
    }
}

/* --- choosing what a launch meets --- */

static enum wf_status read_bytes(struct judge *j,
                                 uint32_t object,
                                 uint64_t at,
                                 uint64_t n,
                                 void *ret,
                                 struct wf_error *err)
{
    struct wf_sp_transfer t = { object, 0, (int64_t)at, n };
    enum wf_status st = judge_call(j, WF_SP_READ, &t, sizeof(t), ASK_NS, NULL, err);
    if (st == WF_OK) {
        memcpy(ret, subject_client_window(j->subject), (size_t)n);
    }
    return st;
}

/* New elements for a random place of an input, which differ from those there (gaps of a
 * tensor hold poison under any seed). They go to the window at slot's place. */
static enum wf_status pick_input(struct judge *j,
                                 struct visit *v,
                                 unsigned char *slot,
                                 struct wf_error *err)
{
    struct audit *a = j->audit;
    unsigned char old[SLOT_BYTES];
    enum wf_status st = WF_OK;
    v->input_bytes = 0;
    for (int i = 0; st == WF_OK && i < PICKS && a->range_count < RANGES_MAX; i++) {
        const size_t tensor = a->input[wf_rng_next_below(&a->rng, a->input_count)];
        const struct wf_tensor *t = wf_case_tensor(j->c, tensor);
        const size_t size = wf_dtype_bytes(t->dtype);
        uint64_t n = t->elements / 8;
        n = n < 1 ? 1 : n < RANGE_ELEMENTS ? n : RANGE_ELEMENTS;
        const uint64_t first = wf_rng_next_below(&a->rng, t->elements - n + 1);
        st = wf_case_fill(j->c, tensor, judge_timed_offset(j), first, n, old, err);
        if (st == WF_OK) {
            st = wf_case_fill(j->c, tensor, ++a->seed, first, n, slot, err);
        }
        if (st == WF_OK && memcmp(old, slot, (size_t)n * size) != 0) {
            a->range[a->range_count++] =
                (struct wf_case_range){ tensor, first, n, a->seed };
            v->input = tensor;
            v->input_at = first * size;
            v->input_bytes = n * size;
            return WF_OK;
        }
    }
    return st;
}

static uint64_t random_element(struct audit *a, const struct wf_tensor *t)
{
    uint64_t at = 0;
    for (int d = 0; d < t->ndim; d++) {
        at += wf_rng_next_below(&a->rng, (uint64_t)t->dim[d]) * (uint64_t)t->stride[d];
    }
    return at;
}

/* An output element that the launches before have written. */
static enum wf_status pick_output(struct judge *j,
                                  struct visit *v,
                                  struct wf_error *err)
{
    struct audit *a = j->audit;
    unsigned char now[ELEMENT_MAX];
    enum wf_status st = WF_OK;
    v->output_bytes = 0;
    for (int i = 0; st == WF_OK && i < PICKS && a->output_count > 0; i++) {
        const size_t tensor = a->output[wf_rng_next_below(&a->rng, a->output_count)];
        const struct wf_tensor *t = wf_case_tensor(j->c, tensor);
        const uint32_t size = (uint32_t)wf_dtype_bytes(t->dtype);
        const uint64_t at = random_element(a, t) * size;
        st = read_bytes(j, judge_tensor_object(j, 0, tensor), at, size, now, err);
        if (st == WF_OK && !wf_is_poison(t->dtype, now)) {
            v->output = tensor;
            v->output_at = at;
            v->output_bytes = size;
            return WF_OK;
        }
    }
    return st;
}

static enum wf_status write_fresh(struct judge *j,
                                  uint64_t at,
                                  const unsigned char *bytes,
                                  uint64_t n,
                                  struct wf_error *err)
{
    struct wf_sp_transfer t = { j->audit->fresh, 0, (int64_t)at, n };
    memcpy(subject_client_window(j->subject), bytes, (size_t)n);
    return judge_call(j, WF_SP_WRITE, &t, sizeof(t), ASK_NS, NULL, err);
}

static enum wf_status pick_all(struct judge *j,
                               struct visit *visit,
                               uint32_t launches,
                               struct wf_error *err)
{
    unsigned char image[(LAUNCHES_MAX + 1) * SLOT_BYTES] = { 0 };
    enum wf_status st = WF_OK;
    for (uint32_t i = 0; st == WF_OK && i < launches; i++) {
        unsigned char *slot = image + (size_t)i * SLOT_BYTES;
        st = pick_input(j, &visit[i], slot, err);
        st = st == WF_OK ? pick_output(j, &visit[i], err) : st;
    }
    return st == WF_OK ? write_fresh(j, 0, image, sizeof(image), err) : st;
}

/* The case's inputs are from now on the changed ones. */
static enum wf_status follow(struct judge *j, struct wf_error *err)
{
    struct audit *a = j->audit;
    const uint64_t base = j->spliced ? j->splice_base : judge_timed_offset(j);
    enum wf_status st =
        wf_case_splice(j->c, a->offset, base, a->range, a->range_count, err);
    j->splice_base = base;
    j->spliced = st == WF_OK;
    j->splice_offset = a->offset;
    return st;
}

/* --- a round --- */

static enum wf_status add_step(struct wf_buf *m,
                               const struct wf_sp_step *step,
                               uint32_t *count,
                               struct wf_error *err)
{
    ++*count;
    return wf_buf_add(m, step, sizeof(*step), err);
}

static enum wf_status add_visit(const struct judge *j,
                                const struct visit *v,
                                uint32_t index,
                                bool with_launch,
                                struct wf_buf *m,
                                uint32_t *count,
                                struct wf_error *err)
{
    const struct audit *a = j->audit;
    const struct wf_sp_step change = { .bytes = (uint32_t)v->input_bytes,
                                       .object = judge_tensor_object(j, 0, v->input),
                                       .source = a->fresh,
                                       .offset = (int64_t)v->input_at,
                                       .from = (int64_t)index * SLOT_BYTES };
    const uint32_t output = judge_tensor_object(j, 0, v->output);
    const struct wf_sp_step poison = { .bytes = v->output_bytes,
                                       .object = output,
                                       .source = a->fresh,
                                       .offset = (int64_t)v->output_at,
                                       .from = (int64_t)LAUNCHES_MAX * SLOT_BYTES };
    const struct wf_sp_step launch = { .object = j->base.program };
    const struct wf_sp_step keep = { .bytes = v->output_bytes,
                                     .object = a->trail,
                                     .source = output,
                                     .offset = (int64_t)index * ELEMENT_MAX,
                                     .from = (int64_t)v->output_at };
    enum wf_status st = v->input_bytes ? add_step(m, &change, count, err) : WF_OK;
    if (st == WF_OK && v->output_bytes) {
        st = add_step(m, &poison, count, err);
    }
    if (st == WF_OK && with_launch) {
        st = add_step(m, &launch, count, err);
    }
    return st == WF_OK && v->output_bytes ? add_step(m, &keep, count, err) : st;
}

/* *ret_ns: by the judge's clock, until the whole device is idle. */
static enum wf_status run_script(struct judge *j,
                                 const struct visit *visit,
                                 uint32_t launches,
                                 bool with_launch,
                                 double *ret_ns,
                                 struct wf_error *err)
{
    struct wf_buf m = WF_BUF_INIT;
    struct wf_sp_ran ran;
    uint32_t count = 0;
    enum wf_status st = wf_buf_add(&m, &count, sizeof(count), err);
    for (uint32_t i = 0; st == WF_OK && i < launches; i++) {
        st = add_visit(j, &visit[i], i, with_launch, &m, &count, err);
    }
    if (st == WF_OK) {
        memcpy(m.data, &count, sizeof(count));
        const int64_t start_ns = wf_monotonic_ns();
        st = judge_get(j, WF_SP_SCRIPT, m.data, m.len, j->request->kernel_deadline_ns,
                       &ran, sizeof(ran), err);
        *ret_ns = (double)(wf_monotonic_ns() - start_ns);
    }
    wf_buf_free(&m);
    return st;
}

static void say_late(struct judge *j, const struct visit *v, const char *how)
{
    const struct wf_tensor *t = wf_case_tensor(j->c, v->output);
    result_answer(
        j->result, WF_ANSWER_CHEAT_SUSPECTED,
        "a launch on changed inputs was over, and the output %s at byte %llu %s",
        t->name, (unsigned long long)v->output_at, how);
    j->done = true;
}

/* What the launches had written by the time that each was over. */
static enum wf_status check_trail(struct judge *j,
                                  const struct visit *visit,
                                  uint32_t launches,
                                  struct wf_error *err)
{
    unsigned char trail[LAUNCHES_MAX * ELEMENT_MAX];
    unsigned char later[ELEMENT_MAX];
    const struct wf_clock *clock = wf_clock_system();
    const struct visit *last = &visit[launches - 1];
    enum wf_status st = read_bytes(j, j->audit->trail, 0, sizeof(trail), trail, err);
    for (uint32_t i = 0; st == WF_OK && i < launches && !j->done; i++) {
        const enum wf_dtype type = wf_case_tensor(j->c, visit[i].output)->dtype;
        if (visit[i].output_bytes &&
            wf_is_poison(type, trail + (size_t)i * ELEMENT_MAX)) {
            say_late(j, &visit[i], "was not written");
        }
    }
    if (st != WF_OK || j->done || !last->output_bytes) {
        return st;
    }
    clock->sleep_ns(clock->ctx, LOOK_AGAIN_NS);
    st = read_bytes(j, judge_tensor_object(j, 0, last->output), last->output_at,
                    last->output_bytes, later, err);
    if (st == WF_OK && memcmp(later, trail + (size_t)(launches - 1) * ELEMENT_MAX,
                              last->output_bytes) != 0) {
        say_late(j, last, "changed afterwards");
    }
    return st;
}

/* Poison of the output's type into the slot behind the inputs'. Outputs of several
 * types: the round watches those of the first launch's type. */
static enum wf_status set_poison(struct judge *j,
                                 struct visit *visit,
                                 uint32_t launches,
                                 struct wf_error *err)
{
    unsigned char pattern[ELEMENT_MAX] = { 0 };
    const enum wf_dtype type = wf_case_tensor(j->c, visit[0].output)->dtype;
    for (uint32_t i = 0; i < launches; i++) {
        if (wf_case_tensor(j->c, visit[i].output)->dtype != type) {
            visit[i].output_bytes = 0;
        }
    }
    wf_poison(type, pattern, 1);
    return write_fresh(j, (uint64_t)LAUNCHES_MAX * SLOT_BYTES, pattern, sizeof(pattern),
                       err);
}

/* The changed inputs everywhere: all sets, derived buffers, what must be unchanged. */
static enum wf_status settle(struct judge *j, struct wf_error *err)
{
    return j->spliced ? judge_write_inputs(j, judge_timed_offset(j), err) : WF_OK;
}

static double fresh_ns(const struct audit *a)
{
    return (a->with_ns - a->without_ns) / a->launches;
}

/* Launches behind each other, each on inputs of its own. */
static enum wf_status run_round(struct judge *j, struct wf_error *err)
{
    struct audit *a = j->audit;
    struct visit visit[LAUNCHES_MAX];
    double with_ns = 0;
    double without_ns = 0;
    memset(visit, 0, sizeof(visit));
    enum wf_status st = pick_all(j, visit, a->launches, err);
    st = st == WF_OK ? set_poison(j, visit, a->launches, err) : st;
    st = st == WF_OK ? follow(j, err) : st;
    st = st == WF_OK ? run_script(j, visit, a->launches, true, &with_ns, err) : st;
    st = st == WF_OK ? check_trail(j, visit, a->launches, err) : st;
    if (st == WF_OK && !j->done) {
        /* Leaves poison in the outputs, which every timed batch is filled with anyway.
         */
        st = run_script(j, visit, a->launches, false, &without_ns, err);
        a->with_ns = with_ns < a->with_ns ? with_ns : a->with_ns;
        a->without_ns = without_ns < a->without_ns ? without_ns : a->without_ns;
    }
    return st;
}

/* So many launches that scheduling is small beside them, as far as that goes. */
static enum wf_status choose_launches(struct judge *j, struct wf_error *err)
{
    struct audit *a = j->audit;
    a->launches = 1;
    enum wf_status st = run_round(j, err);
    const double ns = fresh_ns(a);
    const double launches = ns > 0 ? ceil(ROUND_NS / ns) : LAUNCHES_MAX;
    if (launches > 1) {
        a->launches = launches < LAUNCHES_MAX ? (uint32_t)launches : LAUNCHES_MAX;
        a->with_ns = (double)INFINITY;
        a->without_ns = (double)INFINITY;
    }
    return st;
}

static enum wf_status run_rounds(struct judge *j, struct wf_error *err)
{
    struct audit *a = j->audit;
    enum wf_status st = a->launches ? WF_OK : choose_launches(j, err);
    const int repeats = fresh_ns(a) > SLOW_NS ? 1 : REPEATS;
    for (int i = 0; st == WF_OK && !j->done && i < repeats &&
                    a->range_count + a->launches <= RANGES_MAX;
         i++) {
        st = run_round(j, err);
    }
    return st == WF_OK && !j->done ? settle(j, err) : st;
}

/* --- around the samples --- */

static bool is_host(const struct judge *j)
{
    return j->request->device->library_kernels;
}

static bool contradicts(const struct judge *j, double ns)
{
    return audit_contradicts(fresh_ns(j->audit), ns, j->audit->launches, is_host(j));
}

/* Inputs of one value, or none that are read: an answer that was kept is right for
 * ever, and no clock can tell. */
static const char BLIND[] =
    "the inputs are the same under every seed: a kernel that kept "
    "its answer would not be seen";

bool judge_audit_is_blind(const struct judge *j)
{
    return j->audit && j->audit->range_count == 0;
}

const char *judge_audit_blind_text(void)
{
    return BLIND;
}

static enum wf_status note(struct judge *j, struct wf_error *err)
{
    const struct audit *a = j->audit;
    struct wf_json *obj = wf_json_object();
    enum wf_status st = wf_json_set_u64(obj, "changes", a->range_count, err);
    if (st == WF_OK && a->launches && isfinite(fresh_ns(a))) {
        st = wf_json_set_f64(obj, "launch_ns", fresh_ns(a), err);
    }
    if (st == WF_OK) {
        st = wf_json_set_u64(obj, "launches", a->launches, err);
    }
    if (st == WF_OK && judge_audit_is_blind(j)) {
        st = wf_json_set_string(obj, "blind", BLIND, err);
    }
    enum wf_status took = wf_json_set_take(j->result->details, "audit", obj, err);
    return st == WF_OK ? took : st;
}

enum wf_status judge_audit(struct judge *j, struct wf_error *err)
{
    j->say("stage audit");
    enum wf_status st = begin(j, err);
    if (st == WF_OK && j->audit->input_count == 0) {
        return note(j, err); /* nothing can be changed; the result says 0 changes */
    }
    if (st == WF_OK) {
        st = judge_output_digest(j, 0, &j->stale_digest, err);
        j->has_stale = st == WF_OK;
    }
    st = st == WF_OK ? run_rounds(j, err) : st;
    return st == WF_OK ? note(j, err) : st;
}

double judge_audit_ratio(const struct judge *j, double median_ns)
{
    const struct audit *a = j->audit;
    return a && a->launches ? fresh_ns(a) / median_ns : (double)NAN;
}

void judge_audit_accuse(struct judge *j, double median_ns)
{
    result_answer(j->result, WF_ANSWER_CHEAT_SUSPECTED,
                  "a launch on inputs that had just changed took %.0f ns by the "
                  "judge's clock, the timed launches on equal inputs say %.0f ns",
                  fresh_ns(j->audit), median_ns);
    j->done = true;
}

enum wf_status judge_audit_look_again(struct judge *j,
                                      double median_ns,
                                      bool *ret_ran,
                                      bool *ret_contradicts,
                                      struct wf_error *err)
{
    const struct wf_clock *clock = wf_clock_system();
    const struct audit *a = j->audit;
    int64_t pause_ns = PAUSE_NS;
    enum wf_status st = WF_OK;
    *ret_ran = false;
    *ret_contradicts = false;
    if (!a || !a->launches || !isfinite(fresh_ns(a)) || !isfinite(median_ns)) {
        return WF_OK;
    }
    for (int i = 0; st == WF_OK && !j->done && i < TRIES && contradicts(j, median_ns);
         i++) {
        *ret_ran = true;
        clock->sleep_ns(clock->ctx, pause_ns);
        pause_ns *= 3;
        st = run_rounds(j, err);
    }
    *ret_contradicts = st == WF_OK && !j->done && contradicts(j, median_ns);
    return st == WF_OK ? note(j, err) : st;
}

enum wf_status judge_audit_compare(struct judge *j,
                                   double median_ns,
                                   bool *ret_ran,
                                   struct wf_error *err)
{
    bool contradicted = false;
    enum wf_status st =
        judge_audit_look_again(j, median_ns, ret_ran, &contradicted, err);
    if (contradicted) {
        judge_audit_accuse(j, median_ns);
    }
    return st;
}
