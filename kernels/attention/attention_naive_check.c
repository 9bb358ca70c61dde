/* Every element of O and lse against the naive kernel's values.
 *
 * The naive kernel leaves for each line (query row and head) what the double reference
 * leaves too: O in double and the sums of the error model. So its buffers become a
 * reference of all rows, and the op's own check does the rest.
 *
 * Its error: all terms of the model (attention_tolerance.c) with 2^-53 for every u, at
 * most 2^-29 of what they are for f32 roundings, and exp and sqrt of a few units more.
 * OWN = 2^-26 of a kernel's tolerance covers that eight times over. It is the limit
 * where the rows of the double reference are compared with the naive kernel, and it is
 * added to the tolerance of the kernel under test. The tolerances that both computed
 * must agree as well, so that the two spellings of the model stay one. Where the
 * reference rescales its sums (more keys than one of its blocks holds), the part of
 * underflow, eta, shrinks with them there and not here: then the naive kernel's is the
 * larger one.
 *
 * A device that is wrong in a few rows passes that sample. So rows that differ are
 * computed in double before they count as wrong. */
#include "kernels/attention/attention_naive_check.h"

#include "core/buf.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define OWN         0x1p-26
#define MODEL_AGREE 1e-5 /* tolerances are stored as float, rounded up */
#define MODEL_MOST  4.0  /* times the reference's, where that rescales */
#define ONE_BLOCK   64   /* keys of a block of the reference */
#define CHUNK       16   /* of attention_naive.hip */
#define PANEL       65536

enum naive_buffer { /* in the order of the entry */
    NAIVE_WIDE,
    NAIVE_SQUARES,
    NAIVE_LINES
};

static const struct attention_reference *real(const struct wf_reference *ref)
{
    return (const struct attention_reference *)ref;
}

bool attention_complete(const struct wf_reference *ref)
{
    return !real(ref)->plan.sampled;
}

/* Multiplies and adds of double: two passes of scores, then one for each chunk; exp and
 * sqrt are 60 more. */
double attention_naive_work(const struct wf_reference *ref)
{
    const struct attention *a = real(ref)->a;
    double chunks = ceil((double)a->head_dim_v / CHUNK);
    double score = 4 * (double)a->head_dim + 60;

    return a->pairs * (double)a->q_heads *
           (2 * score + chunks * (score + 5 * (double)CHUNK));
}

uint64_t attention_naive_bytes(const struct wf_reference *ref)
{
    const struct attention *a = real(ref)->a;
    uint64_t lines = (uint64_t)a->total_q * (uint64_t)a->q_heads;

    return lines * ((uint64_t)a->head_dim_v * (sizeof(double) + sizeof(float)) +
                    sizeof(double) + sizeof(float)) +
           (uint64_t)a->total_q * (uint64_t)a->kv_heads * sizeof(int64_t) +
           2 * PANEL * sizeof(double);
}

/* --- a reference of all rows from the naive buffers --- */

static struct attention_reference *make_all(const struct attention_reference *like,
                                            struct wf_error *err)
{
    const struct attention *a = like->a;
    size_t lines = (size_t)a->total_q * (size_t)a->q_heads;
    size_t slots = (size_t)a->total_q * (size_t)a->kv_heads;
    struct attention_reference *all = wf_calloc(1, sizeof(*all));

    if (all) {
        all->a = a;
        all->source = like->source;
        all->tolerance = like->tolerance;
        all->threads = like->threads;
        all->plan.slot_count = (int64_t)slots;
        all->plan.slot_of = wf_calloc(slots + 1, sizeof(*all->plan.slot_of));
        all->o = wf_calloc(lines * (size_t)a->head_dim_v + 1, sizeof(*all->o));
        all->o_tolerance =
            wf_calloc(lines * (size_t)a->head_dim_v + 1, sizeof(*all->o_tolerance));
        all->lse = wf_calloc(lines + 1, sizeof(*all->lse));
        all->lse_tolerance = wf_calloc(lines + 1, sizeof(*all->lse_tolerance));
    }
    if (!all || !all->plan.slot_of || !all->o || !all->o_tolerance || !all->lse ||
        !all->lse_tolerance) {
        attention_reference_free(all);
        (void)wf_errorf(err, WF_ENOMEM, "out of memory for the naive kernel's values");
        return NULL;
    }
    for (size_t i = 0; i < slots; i++) {
        all->plan.slot_of[i] = (int64_t)i; /* line = slot * group + head of the group */
    }
    return all;
}

static float round_up(double v)
{
    float f = (float)v;

    return (double)f < v ? nextafterf(f, INFINITY) : f;
}

/* One line: sums as the kernel left them, O in place, squares beside. */
static void take_line(struct attention_reference *all,
                      int64_t line,
                      const double sum[4],
                      const double *squares)
{
    int64_t dv = all->a->head_dim_v;
    const struct attention_sums sums = { sum[0], sum[1], sum[2], sum[3] };

    if (!(sums.n > 0)) {
        all->lse[line] = -INFINITY; /* O is 0, and so are the tolerances */
        return;
    }
    all->lse[line] = sums.max + log(sums.l);
    all->lse_tolerance[line] = round_up(
        attention_lse_tolerance(&all->tolerance, &sums, all->lse[line]) * (1 + OWN));
    for (int64_t d = 0; d < dv; d++) {
        int64_t i = line * dv + d;

        all->o_tolerance[i] =
            round_up(attention_o_tolerance(&all->tolerance, all->a, &sums, squares[d],
                                           all->o[i]) *
                     (1 + OWN));
    }
}

static enum wf_status read_doubles(const struct wf_output_source *naive,
                                   enum naive_buffer buffer,
                                   int64_t first,
                                   int64_t n,
                                   double *dst,
                                   struct wf_error *err)
{
    return naive->read(naive->ctx, (size_t)buffer, (uint64_t)first * sizeof(*dst),
                       (uint64_t)n * sizeof(*dst), dst, err);
}

static enum wf_status fill_all(struct attention_reference *all,
                               const struct wf_output_source *naive,
                               struct wf_error *err)
{
    int64_t dv = all->a->head_dim_v, lines = all->a->total_q * all->a->q_heads;
    int64_t step = PANEL / dv > 1 ? PANEL / dv : 1;
    double *squares = wf_calloc((size_t)(step * dv), sizeof(*squares));
    double *sums = wf_calloc((size_t)step * 4, sizeof(*sums));
    enum wf_status st =
        squares && sums ? WF_OK
                        : wf_errorf(err, WF_ENOMEM, "out of memory for naive values");

    for (int64_t first = 0; st == WF_OK && first < lines; first += step) {
        int64_t n = lines - first < step ? lines - first : step;

        st = read_doubles(naive, NAIVE_WIDE, first * dv, n * dv, all->o + first * dv,
                          err);
        if (st == WF_OK) {
            st = read_doubles(naive, NAIVE_SQUARES, first * dv, n * dv, squares, err);
        }
        if (st == WF_OK) {
            st = read_doubles(naive, NAIVE_LINES, first * 4, n * 4, sums, err);
        }
        for (int64_t i = 0; st == WF_OK && i < n; i++) {
            take_line(all, first + i, sums + 4 * i, squares + i * dv);
        }
    }
    free(squares);
    free(sums);
    return st;
}

/* --- is the naive kernel right --- */

struct doubt {
    const struct attention *a;
    struct wf_naive_report *ret;
    int64_t row, head;
};

static bool models_agree(const struct attention *a, double naive, double exact)
{
    double most = a->max_kv_len > ONE_BLOCK ? MODEL_MOST : 1 + MODEL_AGREE;

    return naive >= exact * (1 - MODEL_AGREE) && naive <= exact * most;
}

/* A value of the naive kernel and its tolerance against those of the double reference.
 */
static void verify_value(struct doubt *d,
                         const char *what,
                         const double naive[2],
                         const double exact[2])
{
    struct wf_naive_report *r = d->ret;
    bool same = naive[0] == exact[0]; /* infinities too */
    double error = same ? 0 : fabs(naive[0] - exact[0]);
    double limit = OWN * exact[1];
    double ratio = error > 0 ? error / limit : 0;

    r->checked++;
    r->own_ratio = fmax(r->own_ratio, isnan(ratio) ? INFINITY : ratio);
    if (error <= limit && models_agree(d->a, naive[1], exact[1])) {
        return;
    }
    if (r->trusted) {
        (void)snprintf(r->doubt, sizeof(r->doubt),
                       "its %s of row %lld, head %lld is %.9g +- %.3g, the double "
                       "reference has %.9g +- %.3g",
                       what, (long long)d->row, (long long)d->head, naive[0], naive[1],
                       exact[0], exact[1]);
    }
    r->trusted = false;
}

static void verify_line(struct doubt *d,
                        const struct attention_reference *all,
                        const struct attention_reference *exact,
                        int64_t slot)
{
    const struct attention *a = all->a;
    int64_t line = d->row * a->q_heads + d->head;
    int64_t of = slot * a->group + d->head % a->group;

    if (a->lse) {
        verify_value(d, "lse",
                     (double[2]){ all->lse[line], (double)all->lse_tolerance[line] },
                     (double[2]){ exact->lse[of], (double)exact->lse_tolerance[of] });
    }
    for (int64_t k = 0; k < a->head_dim_v; k++) {
        int64_t i = line * a->head_dim_v + k, j = of * a->head_dim_v + k;

        verify_value(d, "O", (double[2]){ all->o[i], (double)all->o_tolerance[i] },
                     (double[2]){ exact->o[j], (double)exact->o_tolerance[j] });
    }
}

static void verify(const struct attention_reference *all,
                   const struct attention_reference *exact,
                   struct wf_naive_report *ret)
{
    const struct attention *a = all->a;
    struct doubt d = { a, ret, 0, 0 };

    for (d.row = 0; d.row < a->total_q; d.row++) {
        for (d.head = 0; d.head < a->q_heads; d.head++) {
            int64_t slot = exact->plan.slot_of[d.row * a->kv_heads + d.head / a->group];

            if (slot >= 0) {
                verify_line(&d, all, exact, slot);
            }
        }
    }
}

/* --- the kernel under test --- */

/* The first and the worst wrong row, in double. */
static enum wf_status confirm(const struct attention_reference *exact,
                              const struct wf_output_source *outputs,
                              struct wf_naive_report *ret,
                              struct wf_error *err)
{
    const struct wf_check_report *r = &ret->report;
    const struct attention_row_head rows[2] = {
        { r->worst_index[0], r->worst_index[1] },
        { r->first_index[0], r->first_index[1] },
    };
    struct attention_reference *few = NULL;
    struct wf_check_report found;
    enum wf_status st =
        attention_reference_of_rows(exact, rows, r->has_first ? 2 : 1, &few, err);

    if (st == WF_OK) {
        st = attention_reference_check(few, outputs, &found, err);
    }
    attention_reference_free(few);
    if (st == WF_OK && found.answer == WF_ANSWER_PASS) {
        (void)snprintf(ret->doubt, sizeof(ret->doubt),
                       "it differs from the outputs in %llu elements, and the double "
                       "reference finds the first and the worst of them right",
                       (unsigned long long)r->mismatches);
        ret->trusted = false;
        ret->report = (struct wf_check_report){ .answer = WF_ANSWER_PASS };
    }
    return st;
}

static void name_checks(struct wf_check_report *report, uint64_t seed)
{
    for (size_t i = 0; i < report->check_count; i++) {
        struct wf_check *c = &report->check[i];
        const char *tail = strstr(c->name, "lse") ? "-lse" : "";

        if (strcmp(c->name, "finite-all") == 0) {
            report->check_count = i; /* that was checked before */
            break;
        }
        (void)snprintf(c->name, sizeof(c->name), "naive-device%s", tail);
        (void)snprintf(c->note, sizeof(c->note),
                       "every element against a naive kernel in double on the device; "
                       "misses what both got wrong, outside the rows computed on the "
                       "host");
        c->seed = seed;
    }
}

enum wf_status attention_check_naive(struct wf_reference *ref,
                                     const struct wf_output_source *outputs,
                                     const struct wf_output_source *naive,
                                     struct wf_naive_report *ret,
                                     struct wf_error *err)
{
    const struct attention_reference *exact = real(ref);
    struct attention_reference *all = make_all(exact, err);
    enum wf_status st = all ? fill_all(all, naive, err) : WF_ENOMEM;

    memset(ret, 0, sizeof(*ret));
    ret->report.answer = WF_ANSWER_PASS;
    ret->trusted = true;
    if (st == WF_OK) {
        verify(all, exact, ret);
    }
    if (st == WF_OK && ret->trusted) {
        st = attention_reference_check(all, outputs, &ret->report, err);
    }
    if (st == WF_OK && ret->trusted && ret->report.answer != WF_ANSWER_PASS) {
        st = confirm(exact, outputs, ret, err);
    }
    if (st == WF_OK) {
        name_checks(&ret->report, exact->plan.seed);
    }
    attention_reference_free(all);
    return st;
}
