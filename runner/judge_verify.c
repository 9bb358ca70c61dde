/* What a launch left behind, in the order of how bad it is: guard zones, inputs,
 * padding between rows, then the outputs against the reference.
 *
 * All of it is read back from the device; nothing that the subject says counts. */
#include "runner/judge.h"

#include "core/clock.h"
#include "core/parse.h"
#include "core/sha256.h"
#include "kernels/strided.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define READ_NS (60 * SECOND_NS)

/* --- inputs --- */

static enum wf_status take_digest(void *ctx,
                                  uint64_t offset,
                                  unsigned char *bytes,
                                  uint64_t n,
                                  struct wf_error *err)
{
    (void)offset;
    (void)err;
    digest_add(ctx, bytes, (size_t)n);
    return WF_OK;
}

static enum wf_status check_inputs(struct judge *j, size_t set, struct wf_error *err)
{
    enum wf_status st = WF_OK;
    for (size_t i = 0; st == WF_OK && i < j->tensor_count; i++) {
        struct digest digest;
        enum wf_role role = wf_case_tensor(j->c, i)->role;
        if (j->tensor[i].bytes == 0 ||
            (role != WF_ROLE_INPUT && role != WF_ROLE_INDEX)) {
            continue;
        }
        digest_start(&digest);
        st = judge_read_tensor(j, set, i, take_digest, &digest, err);
        if (st == WF_OK && digest_value(&digest) != j->input_digest[i]) {
            result_answer(j->result, WF_ANSWER_INPUT_MODIFIED, "input %s was changed",
                          j->tensor[i].name);
        }
    }
    return st;
}

/* --- padding between rows --- */

struct padding {
    const struct wf_tensor *t;
    struct wf_strided place;
    unsigned fill; /* of judge.output_fill */
    uint64_t written;
    uint64_t first;
};

static void padding_start(struct padding *p, const struct wf_tensor *t)
{
    memset(p, 0, sizeof(*p));
    p->t = t;
    wf_strided_init(&p->place, t);
}

static bool is_untouched(const struct padding *p, const unsigned char *element)
{
    if (p->fill == JUDGE_POISON_TYPE) {
        return wf_is_poison(p->t->dtype, element);
    }
    for (size_t i = 0; i < wf_dtype_bytes(p->t->dtype); i++) {
        if (element[i] != p->fill) {
            return false;
        }
    }
    return true;
}

static enum wf_status take_padding(void *ctx,
                                   uint64_t offset,
                                   unsigned char *bytes,
                                   uint64_t n,
                                   struct wf_error *err)
{
    struct padding *p = ctx;
    size_t size = wf_dtype_bytes(p->t->dtype);
    uint64_t first = offset / size;
    uint64_t end = first + n / size;
    (void)err;
    for (uint64_t e = first; e < end;) {
        bool used = false;
        uint64_t run = wf_strided_run(&p->place, e, &used);
        uint64_t stop = run < end - e ? e + run : end;
        for (; !used && e < stop; e++) {
            if (!is_untouched(p, bytes + (e - first) * size)) {
                p->first = p->written ? p->first : e;
                p->written++;
            }
        }
        e = stop;
    }
    return WF_OK;
}

static bool has_padding(const struct wf_tensor *t)
{
    uint64_t used = 1;
    for (int d = 0; d < t->ndim; d++) {
        used *= (uint64_t)t->dim[d];
    }
    return used != t->elements;
}

static enum wf_status check_padding(struct judge *j, size_t set, struct wf_error *err)
{
    enum wf_status st = WF_OK;
    for (size_t i = 0; st == WF_OK && i < j->tensor_count; i++) {
        const struct wf_tensor *t = wf_case_tensor(j->c, i);
        if (t->bytes == 0 || t->role != WF_ROLE_OUTPUT || !has_padding(t)) {
            continue;
        }
        struct padding p;
        padding_start(&p, t);
        p.fill = j->output_fill;
        st = judge_read_tensor(j, set, i, take_padding, &p, err);
        if (st == WF_OK && p.written) {
            result_answer(j->result, WF_ANSWER_OUT_OF_BOUNDS,
                          "%" PRIu64 " elements of padding between rows of %s were "
                          "written, the first at element %" PRIu64 " of its storage",
                          p.written, t->name, p.first);
        }
    }
    return st;
}

/* --- outputs --- */

enum wf_status judge_read_output(void *ctx,
                                 size_t tensor,
                                 uint64_t offset,
                                 uint64_t n,
                                 void *dst,
                                 struct wf_error *err)
{
    struct judge_output_reader *r = ctx;
    struct judge *j = r->j;
    unsigned char *to = dst;
    uint32_t object = judge_tensor_object(j, r->set, tensor);
    if (object == JUDGE_NO_OBJECT) {
        return wf_errorf(err, WF_EINTERNAL, "the check reads the absent tensor %zu",
                         tensor);
    }
    enum wf_status st = WF_OK;
    for (uint64_t at = 0; st == WF_OK && at < n; at += WF_SP_WINDOW_BYTES) {
        uint64_t part = n - at < WF_SP_WINDOW_BYTES ? n - at : WF_SP_WINDOW_BYTES;
        struct wf_sp_transfer t = { object, 0, (int64_t)(offset + at), part };
        st = judge_call(j, WF_SP_READ, &t, sizeof(t), READ_NS, NULL, err);
        if (st == WF_OK) {
            memcpy(to + at, subject_client_window(j->subject), (size_t)part);
        }
    }
    return st;
}

struct used_digest {
    struct padding shape;
    struct digest *digest;
};

/* Padding between rows is left out: it holds what each launch found there. */
static enum wf_status take_used(void *ctx,
                                uint64_t offset,
                                unsigned char *bytes,
                                uint64_t n,
                                struct wf_error *err)
{
    struct used_digest *u = ctx;
    size_t size = wf_dtype_bytes(u->shape.t->dtype);
    uint64_t first = offset / size;
    uint64_t end = first + n / size;
    (void)err;
    for (uint64_t e = first; e < end;) {
        bool used = false;
        uint64_t run = wf_strided_run(&u->shape.place, e, &used);
        uint64_t part = run < end - e ? run : end - e;
        if (used) {
            digest_add(u->digest, bytes + (e - first) * size, (size_t)(part * size));
        }
        e += part;
    }
    return WF_OK;
}

enum wf_status judge_output_digest(struct judge *j,
                                   size_t set,
                                   uint64_t *ret,
                                   struct wf_error *err)
{
    struct digest digest;
    struct used_digest used = { .digest = &digest };
    enum wf_status st = WF_OK;
    digest_start(&digest);
    for (size_t i = 0; st == WF_OK && i < j->tensor_count; i++) {
        const struct wf_tensor *t = wf_case_tensor(j->c, i);
        if (j->tensor[i].bytes == 0 ||
            (t->role != WF_ROLE_OUTPUT && t->role != WF_ROLE_INOUT)) {
            continue;
        }
        if (has_padding(t)) {
            padding_start(&used.shape, t);
            st = judge_read_tensor(j, set, i, take_used, &used, err);
        } else {
            st = judge_read_tensor(j, set, i, take_digest, &digest, err);
        }
    }
    *ret = digest_value(&digest);
    return st;
}

/* Which rows a sampled check takes must not follow from the case, which kernels may
 * know. 53 bits, so that every reader of the result's JSON gets it whole.
 * WAVEFARM_CHECK_SEED repeats the choice of a result's checks, to look into one; 0: by
 * the case's seed. */
static enum wf_status draw_choice(uint64_t *ret, struct wf_error *err)
{
    const char *text = getenv("WAVEFARM_CHECK_SEED");
    if (text != NULL && text[0] != '\0') {
        int64_t seed = 0;
        enum wf_status st =
            wf_parse_i64(text, "WAVEFARM_CHECK_SEED", 0, INT64_C(1) << 53, &seed, err);
        *ret = (uint64_t)seed;
        return st;
    }
    enum wf_status st = wf_random_bytes(ret, sizeof *ret, err);
    *ret = *ret >> 11 | 1;
    return st;
}

/* One that the twin uses too becomes the twin's. */
void judge_drop_reference(struct judge *j)
{
    if (j->reference && !j->has_twins_reference) {
        if (j->twin && j->twin->has_twins_reference) {
            j->twin->has_twins_reference = false;
        } else {
            wf_reference_destroy(j->c, j->reference);
        }
    }
    j->reference = NULL;
    j->has_twins_reference = false;
}

static bool has_reference(const struct judge *j, const struct judge_reference_key *key)
{
    return j->reference && j->reference_key.seed_offset == key->seed_offset &&
           j->reference_key.split == key->split &&
           j->reference_key.accumulate_type == key->accumulate_type;
}

enum wf_status judge_make_reference(struct judge *j,
                                    uint64_t seed_offset,
                                    struct wf_error *err)
{
    struct wf_reference_options options = {
        .seed_offset = seed_offset,
        .threads = j->request->threads,
        .budget_macs = j->request->reference_budget_macs,
        .split = j->plan && j->plan->split > 0 ? j->plan->split : 1,
        .accumulate_type = WF_F32
    };
    int64_t start_ns = wf_monotonic_ns();
    j->say("stage reference");
    if (j->kernel->accumulate &&
        !wf_dtype_parse(j->kernel->accumulate, &options.accumulate_type)) {
        return wf_errorf(err, WF_EINVAL,
                         "kernel %s accumulates in '%s', which is no type",
                         j->kernel->name, j->kernel->accumulate);
    }
    const struct judge_reference_key key = { seed_offset, options.split,
                                             options.accumulate_type };
    if (j->twin && has_reference(j, &key)) {
        return WF_OK;
    }
    judge_drop_reference(j);
    j->reference_key = key;
    if (j->twin && has_reference(j->twin, &key)) {
        j->reference = j->twin->reference;
        j->has_twins_reference = true;
        return WF_OK;
    }
    enum wf_status st = draw_choice(&options.choice_seed, err);
    st = st == WF_OK ? wf_reference_create(j->c, &options, &j->reference, err) : st;
    if (st != WF_OK) {
        return st;
    }
    const uint64_t bytes = wf_reference_bytes(j->c, j->reference);
    if (bytes > j->result->reference_bytes) {
        j->result->reference_bytes = bytes;
    }
    j->result->phases.reference += wf_monotonic_ns() - start_ns;
    return st;
}

/* One line about a report that is not a PASS. */
static void describe(const struct wf_check_report *report,
                     const char *what,
                     char *ret,
                     size_t n)
{
    char index[96] = "";
    size_t used = 0;
    for (int i = 0; report->has_worst && i < report->worst_ndim; i++) {
        int len = snprintf(index + used, sizeof(index) - used, "%s%" PRId64,
                           i ? ", " : "", report->worst_index[i]);
        used += len > 0 && used + (size_t)len < sizeof(index) ? (size_t)len : 0;
    }
    int len = snprintf(
        ret, n, "%s: %" PRIu64 " wrong, %" PRIu64 " not finite, %" PRIu64 " unwritten",
        what, report->mismatches, report->nonfinite, report->unwritten);
    if (report->has_worst && len > 0 && (size_t)len < n) {
        len += snprintf(ret + len, n - (size_t)len,
                        "; worst %s[%s]: got %g, want %g +- %g", report->worst_tensor,
                        index, report->worst_got, report->worst_want,
                        report->worst_tolerance);
    }
    if (report->diagnosis[0] && len > 0 && (size_t)len < n) {
        (void)snprintf(ret + len, n - (size_t)len, "; %s", report->diagnosis);
    }
}

static double worst_ratio(const struct wf_check_report *report)
{
    double worst = 0;
    for (size_t i = 0; i < report->check_count; i++) {
        double ratio = report->check[i].worst_ratio;
        worst = ratio > worst ? ratio : worst;
    }
    return worst;
}

void judge_take_report(struct judge *j,
                       const struct wf_check_report *report,
                       const char *what)
{
    char line[600];
    /* The largest error over all launches stays, not that of the first. */
    if (!j->result->has_report || report->answer != WF_ANSWER_PASS ||
        worst_ratio(report) > worst_ratio(&j->result->report)) {
        j->result->report = *report;
        j->result->has_report = true;
    }
    if (report->answer != WF_ANSWER_PASS) {
        describe(report, what, line, sizeof(line));
        result_answer(j->result, report->answer, "%s", line);
    }
}

enum wf_status judge_verify_around(struct judge *j, size_t set, struct wf_error *err)
{
    int64_t start_ns = wf_monotonic_ns();
    enum wf_status st = judge_check_guards(j, err);
    if (st == WF_OK) {
        st = check_inputs(j, set, err);
    }
    if (st == WF_OK) {
        st = check_padding(j, set, err);
    }
    j->done = j->done || j->result->answer != WF_ANSWER_PASS;
    j->result->phases.judge += wf_monotonic_ns() - start_ns;
    return st;
}

enum wf_status judge_outputs_fit(struct judge *j,
                                 size_t set,
                                 bool *ret,
                                 struct wf_error *err)
{
    struct judge_output_reader reader = { j, set };
    struct wf_output_source source = { judge_read_output, &reader };
    struct wf_check_report report;
    memset(&report, 0, sizeof(report));
    enum wf_status st = wf_reference_check(j->c, j->reference, &source, &report, err);
    *ret = st == WF_OK && report.answer == WF_ANSWER_PASS;
    return st;
}

enum wf_status judge_verify(struct judge *j,
                            size_t set,
                            const char *what,
                            struct wf_error *err)
{
    struct judge_output_reader reader = { j, set };
    struct wf_output_source source = { judge_read_output, &reader };
    struct wf_check_report report;
    j->say("stage judge");
    memset(&report, 0, sizeof(report));
    enum wf_status st = judge_verify_around(j, set, err);
    int64_t start_ns = wf_monotonic_ns();
    if (st == WF_OK) {
        st = wf_reference_check(j->c, j->reference, &source, &report, err);
    }
    if (st == WF_OK) {
        judge_take_report(j, &report, what);
    }
    j->done = j->done || j->result->answer != WF_ANSWER_PASS;
    j->result->phases.judge += wf_monotonic_ns() - start_ns;
    return st;
}
