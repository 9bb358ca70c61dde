/* The reference of attention: double precision over the rounded inputs, with online
 * softmax over blocks of keys, so that a thread holds one block and the sums of its
 * rows, never a whole sequence. Beside O it carries what the error model needs. Threads
 * take units (sequence, kv head, rows) from a shared counter; every result has one
 * writer. */
#include "kernels/attention/attention_naive_check.h"

#include "core/buf.h"

#include <math.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define KEYS 64 /* a block: head_dim 128 makes 64 KiB of K, near the second cache */

struct worker {
    struct attention_reference *ref;
    atomic_size_t *next_unit;
    atomic_bool *failed;
    struct attention_gather gather;
    /* One block of keys. */
    double *k, *kt, *v, *v2; /* [KEYS][d], [d][KEYS], [KEYS][dv] twice */
    double norm_k[KEYS];
    /* Lines of the unit: line = row * group + head of the group. */
    int64_t line_capacity;
    double *q, *norm_q, *s, *w2, *o, *squares;
    struct attention_sums *sums;
    struct attention_span *span;
    struct wf_error err;
    enum wf_status status;
};

static void worker_free(struct worker *w)
{
    attention_gather_fini(&w->gather);
    free(w->k);
    free(w->kt);
    free(w->v);
    free(w->v2);
    free(w->q);
    free(w->norm_q);
    free(w->s);
    free(w->w2);
    free(w->o);
    free(w->squares);
    free(w->sums);
    free(w->span);
}

static double *doubles(int64_t rows, int64_t cols)
{
    return wf_calloc((size_t)rows * (size_t)cols, sizeof(double));
}

static enum wf_status worker_init(struct worker *w, int64_t lines)
{
    const struct attention *a = w->ref->a;
    enum wf_status st = attention_gather_init(&w->gather, a, &w->ref->source, &w->err);

    if (st != WF_OK) {
        return st;
    }
    w->line_capacity = lines;
    w->k = doubles(KEYS, a->head_dim);
    w->kt = doubles(KEYS, a->head_dim);
    w->v = doubles(KEYS, a->head_dim_v);
    w->v2 = doubles(KEYS, a->head_dim_v);
    w->q = doubles(lines, a->head_dim);
    w->norm_q = doubles(lines, 1);
    w->s = doubles(lines, KEYS);
    w->w2 = doubles(lines, KEYS);
    w->o = doubles(lines, a->head_dim_v);
    w->squares = doubles(lines, a->head_dim_v);
    w->sums = wf_calloc((size_t)lines, sizeof(*w->sums));
    w->span = wf_calloc((size_t)lines, sizeof(*w->span));
    if (!w->k || !w->kt || !w->v || !w->v2 || !w->q || !w->norm_q || !w->s || !w->w2 ||
        !w->o || !w->squares || !w->sums || !w->span) {
        return wf_errorf(&w->err, WF_ENOMEM,
                         "out of memory for an attention reference");
    }
    return WF_OK;
}

static double norm(const double *x, int64_t n)
{
    double sum = 0;

    for (int64_t d = 0; d < n; d++) {
        sum += x[d] * x[d];
    }
    return sqrt(sum);
}

/* Loads the queries and clears the sums; returns the keys that any row sees. */
static struct attention_span begin_unit(struct worker *w,
                                        const struct attention_unit *u)
{
    const struct attention *a = w->ref->a;
    int64_t b = u->sequence;
    struct attention_span all = { INT64_MAX, 0 };

    for (int64_t r = 0; r < u->row_count && w->status == WF_OK; r++) {
        int64_t i = u->rows ? u->rows[r] : u->first_row + r;
        struct attention_span span = attention_visible(a, a->q_len[b], a->kv_len[b], i);

        for (int64_t h = 0; h < a->group && w->status == WF_OK; h++) {
            int64_t line = r * a->group + h;
            double *q = w->q + line * a->head_dim;

            w->status = attention_gather_q(&w->gather, b, i, u->kv_head * a->group + h,
                                           q, &w->err);
            w->norm_q[line] = norm(q, a->head_dim);
            w->sums[line] = (struct attention_sums){ .max = -INFINITY };
            w->span[line] = span;
        }
        if (span.lo < span.hi) {
            all.lo = span.lo < all.lo ? span.lo : all.lo;
            all.hi = span.hi > all.hi ? span.hi : all.hi;
        }
    }
    memset(w->o, 0, (size_t)(u->row_count * a->group * a->head_dim_v) * sizeof(double));
    memset(w->squares, 0,
           (size_t)(u->row_count * a->group * a->head_dim_v) * sizeof(double));
    return all;
}

static void load_keys(struct worker *w,
                      const struct attention_unit *u,
                      int64_t first,
                      int64_t n)
{
    const struct attention *a = w->ref->a;
    struct attention_keys keys = { false,       ATTENTION_PAGES_TABLE,
                                   u->sequence, u->kv_head,
                                   first,       n };

    w->status = attention_gather_kv(&w->gather, &keys, w->k, &w->err);
    keys.values = true;
    if (w->status == WF_OK) {
        w->status = attention_gather_kv(&w->gather, &keys, w->v, &w->err);
    }
    if (w->status != WF_OK) {
        return;
    }
    for (int64_t j = 0; j < n; j++) {
        w->norm_k[j] = norm(w->k + j * a->head_dim, a->head_dim);
        for (int64_t d = 0; d < a->head_dim; d++) {
            w->kt[d * KEYS + j] = w->k[j * a->head_dim + d];
        }
    }
    for (int64_t e = 0; e < n * a->head_dim_v; e++) {
        w->v2[e] = w->v[e] * w->v[e];
    }
}

static void rescale(struct worker *w, int64_t line, double factor)
{
    int64_t dv = w->ref->a->head_dim_v;
    double *o = w->o + line * dv, *squares = w->squares + line * dv;

    w->sums[line].l *= factor;
    w->sums[line].we *= factor;
    for (int64_t d = 0; d < dv; d++) {
        o[d] *= factor;
        squares[d] *= factor * factor;
    }
}

/* Turns one line's dot products into weights (in s) and squared weight errors (in w2).
 * Keys that the line does not see get 0 in both, so poison in K never reaches O: a key
 * outside every span is not even loaded. */
static void weigh_line(struct worker *w, int64_t line, int64_t first, int64_t n)
{
    const struct attention *a = w->ref->a;
    const struct attention_tolerance *t = &w->ref->tolerance;
    struct attention_sums *sums = &w->sums[line];
    struct attention_span span = w->span[line];
    double *s = w->s + line * KEYS, *w2 = w->w2 + line * KEYS;
    double scale = a->scale * a->q_scale * a->k_scale, max = sums->max;
    int64_t lo = span.lo > first ? span.lo - first : 0;
    int64_t hi = span.hi - first < n ? span.hi - first : n;

    for (int64_t j = lo; j < hi; j++) {
        s[j] *= scale;
        if (a->soft_cap > 0) {
            s[j] = a->soft_cap * tanh(s[j] / a->soft_cap);
        }
        max = s[j] > max ? s[j] : max;
    }
    if (lo < hi && max > sums->max) {
        rescale(w, line, exp(sums->max - max));
        sums->max = max;
    }
    for (int64_t j = 0; j < n; j++) {
        if (j < lo || j >= hi) {
            s[j] = w2[j] = 0;
        } else {
            double e =
                attention_weight_error(t, a, s[j], w->norm_q[line] * w->norm_k[j]);

            s[j] = exp(s[j] - max);
            e = s[j] * e + t->eta_p;
            w2[j] = e * e;
            sums->l += s[j];
            sums->we += e;
            sums->n += 1;
        }
    }
}

static void add_keys(struct worker *w,
                     const struct attention_unit *u,
                     int64_t first,
                     int64_t n)
{
    const struct attention *a = w->ref->a;
    int64_t lines = u->row_count * a->group;
    struct attention_tile scores = { lines, n,    a->head_dim, w->q, a->head_dim,
                                     w->kt, KEYS, w->s,        KEYS };
    struct attention_tile sums = { lines, a->head_dim_v, n,    w->s,         KEYS,
                                   w->v,  a->head_dim_v, w->o, a->head_dim_v };
    struct attention_tile squares = { lines,         a->head_dim_v, n,
                                      w->w2,         KEYS,          w->v2,
                                      a->head_dim_v, w->squares,    a->head_dim_v };

    memset(w->s, 0, (size_t)(lines * KEYS) * sizeof(double));
    attention_tile_multiply(&scores);
    for (int64_t line = 0; line < lines; line++) {
        weigh_line(w, line, first, n);
    }
    attention_tile_multiply(&sums);
    attention_tile_multiply(&squares);
}

/* Next float that is not below v: a tolerance must not shrink when it is stored. */
static float round_up(double v)
{
    float f = (float)v;

    return (double)f < v ? nextafterf(f, INFINITY) : f;
}

static void finish_line(struct worker *w, const struct attention_unit *u, int64_t line)
{
    struct attention_reference *ref = w->ref;
    const struct attention *a = ref->a;
    const struct attention_sums *sums = &w->sums[line];
    int64_t to = u->slot * a->group + line, dv = a->head_dim_v;

    if (!(sums->n > 0)) {
        ref->lse[to] = -INFINITY; /* O and both tolerances stay 0 */
        return;
    }
    ref->lse[to] = sums->max + log(sums->l);
    ref->lse_tolerance[to] =
        round_up(attention_lse_tolerance(&ref->tolerance, sums, ref->lse[to]));
    for (int64_t d = 0; d < dv; d++) {
        double o = a->v_scale * w->o[line * dv + d] / sums->l;

        ref->o[to * dv + d] = o;
        ref->o_tolerance[to * dv + d] = round_up(attention_o_tolerance(
            &ref->tolerance, a, sums, w->squares[line * dv + d], o));
    }
}

static void run_unit(struct worker *w, const struct attention_unit *u)
{
    struct attention_span all = begin_unit(w, u);

    for (int64_t j = all.lo; j < all.hi && w->status == WF_OK; j += KEYS) {
        int64_t n = all.hi - j < KEYS ? all.hi - j : KEYS;

        load_keys(w, u, j, n);
        if (w->status == WF_OK) {
            add_keys(w, u, j, n);
        }
    }
    for (int64_t line = 0; w->status == WF_OK && line < u->row_count * w->ref->a->group;
         line++) {
        finish_line(w, u, line);
    }
}

static void *work(void *arg)
{
    struct worker *w = arg;
    const struct attention_plan *plan = &w->ref->plan;

    while (w->status == WF_OK && !atomic_load(w->failed)) {
        size_t i = atomic_fetch_add(w->next_unit, 1);

        if (i >= plan->unit_count) {
            break;
        }
        run_unit(w, &plan->unit[i]);
    }
    if (w->status != WF_OK) {
        atomic_store(w->failed, true);
    }
    return NULL;
}

static int64_t most_lines(const struct attention_reference *ref)
{
    int64_t most = 1;

    for (size_t i = 0; i < ref->plan.unit_count; i++) {
        int64_t lines = ref->plan.unit[i].row_count * ref->a->group;

        most = lines > most ? lines : most;
    }
    return most;
}

/* Starts the others, works itself, joins. A thread that cannot be started is missed by
 * nobody: the rest take its units. */
static enum wf_status run_workers(struct attention_reference *ref, struct wf_error *err)
{
    size_t n = (size_t)ref->threads;
    struct worker *w = wf_calloc(n, sizeof(*w));
    pthread_t *thread = wf_calloc(n, sizeof(*thread));
    bool *started = wf_calloc(n, sizeof(*started));
    atomic_size_t next = 0;
    atomic_bool failed = false;
    int64_t lines = most_lines(ref);
    enum wf_status st = WF_OK;

    if (!w || !thread || !started) {
        st = wf_errorf(err, WF_ENOMEM, "out of memory for the reference's threads");
        goto out;
    }
    for (size_t i = 0; i < n; i++) {
        w[i].ref = ref;
        w[i].next_unit = &next;
        w[i].failed = &failed;
        w[i].status = worker_init(&w[i], lines);
    }
    for (size_t i = 1; i < n; i++) {
        started[i] = pthread_create(&thread[i], NULL, work, &w[i]) == 0;
    }
    (void)work(&w[0]);
    for (size_t i = 0; i < n; i++) {
        if (started[i]) {
            (void)pthread_join(thread[i], NULL);
        }
        if (st == WF_OK && w[i].status != WF_OK) {
            st = wf_errorf(err, w[i].status, "%s", w[i].err.text);
        }
        worker_free(&w[i]);
    }
out:
    free(w);
    free(thread);
    free(started);
    return st;
}

static int thread_count(int asked, size_t units)
{
    long n = asked > 0 ? asked : sysconf(_SC_NPROCESSORS_ONLN);

    n = n > 256 ? 256 : n;
    n = (size_t)n > units ? (long)units : n;
    return n < 1 ? 1 : (int)n;
}

static enum wf_status allocate_results(struct attention_reference *ref,
                                       struct wf_error *err)
{
    size_t lines = (size_t)ref->plan.slot_count * (size_t)ref->a->group;
    size_t dv = (size_t)ref->a->head_dim_v;

    ref->o = wf_calloc(lines, dv * sizeof(*ref->o));
    ref->o_tolerance = wf_calloc(lines, dv * sizeof(*ref->o_tolerance));
    ref->lse = wf_calloc(lines, sizeof(*ref->lse));
    ref->lse_tolerance = wf_calloc(lines, sizeof(*ref->lse_tolerance));
    if (!ref->o || !ref->o_tolerance || !ref->lse || !ref->lse_tolerance) {
        return wf_errorf(err, WF_ENOMEM,
                         "out of memory for the reference of %zu rows of %zu elements",
                         lines, dv);
    }
    return WF_OK;
}

/* Computes the rows of the plan. */
static enum wf_status compute(struct attention_reference *ref, struct wf_error *err)
{
    enum wf_status st = allocate_results(ref, err);

    return st == WF_OK ? run_workers(ref, err) : st;
}

enum wf_status attention_reference_of_rows(const struct attention_reference *like,
                                           const struct attention_row_head *rows,
                                           size_t n,
                                           struct attention_reference **ret,
                                           struct wf_error *err)
{
    struct attention_reference *ref = wf_calloc(1, sizeof(*ref));
    enum wf_status st;

    if (!ref) {
        return wf_errorf(err, WF_ENOMEM, "out of memory for an attention reference");
    }
    ref->a = like->a;
    ref->source = like->source;
    ref->tolerance = like->tolerance;
    st = attention_plan_rows(&ref->plan, ref->a, rows, n, err);
    if (st == WF_OK) {
        ref->threads = 1;
        st = compute(ref, err);
    }
    if (st != WF_OK) {
        attention_reference_free(ref);
        return st;
    }
    *ret = ref;
    return WF_OK;
}

enum wf_status attention_reference_from(const struct attention *a,
                                        const struct attention_source *source,
                                        const struct wf_reference_options *options,
                                        uint64_t seed,
                                        struct attention_reference **ret,
                                        struct wf_error *err)
{
    struct attention_reference *ref = wf_calloc(1, sizeof(*ref));
    enum wf_status st;

    if (!ref) {
        return wf_errorf(err, WF_ENOMEM, "out of memory for an attention reference");
    }
    ref->a = a;
    ref->source = *source;
    attention_tolerance_init(&ref->tolerance, a, options);
    st = attention_plan_init(&ref->plan, a, options->budget_macs, seed, err);
    if (st == WF_OK) {
        ref->threads = thread_count(options->threads, ref->plan.unit_count);
        st = compute(ref, err);
    }
    if (st != WF_OK) {
        attention_reference_free(ref);
        return st;
    }
    *ret = ref;
    return WF_OK;
}

void attention_reference_free(struct attention_reference *ref)
{
    if (!ref) {
        return;
    }
    attention_plan_fini(&ref->plan);
    free(ref->o);
    free(ref->o_tolerance);
    free(ref->lse);
    free(ref->lse_tolerance);
    free(ref->own_source);
    free(ref);
}

/* --- the op's table --- */

struct case_source {
    const struct wf_case *c;
    uint64_t seed_offset;
};

static enum wf_status read_case(void *ctx,
                                size_t tensor,
                                uint64_t first,
                                uint64_t n,
                                void *dst,
                                struct wf_error *err)
{
    const struct case_source *s = ctx;

    return wf_case_fill(s->c, tensor, s->seed_offset, first, n, dst, err);
}

static enum wf_status create(const struct wf_case *c,
                             const void *state,
                             const struct wf_reference_options *options,
                             struct wf_reference **ret,
                             struct wf_error *err)
{
    struct case_source *own = wf_calloc(1, sizeof(*own));
    struct attention_source source = { read_case, own };
    struct attention_reference *ref = NULL;
    enum wf_status st;

    if (!own) {
        return wf_errorf(err, WF_ENOMEM, "out of memory for an attention reference");
    }
    own->c = c;
    own->seed_offset = options->seed_offset;
    st = attention_reference_from(state, &source, options,
                                  options->choice_seed != 0
                                      ? options->choice_seed
                                      : wf_case_seed(c) + options->seed_offset,
                                  &ref, err);
    if (st != WF_OK || !ref) {
        free(own);
        return st;
    }
    ref->own_source = own;
    *ret = (struct wf_reference *)ref;
    return WF_OK;
}

static void destroy(struct wf_reference *ref)
{
    attention_reference_free((struct attention_reference *)ref);
}

static enum wf_status check(struct wf_reference *ref,
                            const struct wf_output_source *outputs,
                            struct wf_check_report *ret,
                            struct wf_error *err)
{
    return attention_reference_check((struct attention_reference *)ref, outputs, ret,
                                     err);
}

/* Expected values and the plan; the workers' blocks of keys and lines. The last are
 * gone when a check reads its panel of the output, which is smaller. */
static uint64_t held_bytes(const struct wf_reference *arg)
{
    const struct attention_reference *ref = (const struct attention_reference *)arg;
    const struct attention *a = ref->a;
    const struct attention_plan *plan = &ref->plan;
    const uint64_t d = (uint64_t)a->head_dim;
    const uint64_t dv = (uint64_t)a->head_dim_v;
    const uint64_t results = (uint64_t)plan->slot_count * (uint64_t)a->group;
    const uint64_t result_bytes = sizeof(*ref->o) + sizeof(*ref->o_tolerance);
    const uint64_t lse_bytes = sizeof(*ref->lse) + sizeof(*ref->lse_tolerance);
    const uint64_t lines = (uint64_t)most_lines(ref);
    const uint64_t worker =
        (2 * KEYS * (d + dv) + lines * (d + 1 + 2 * KEYS + 2 * dv)) * sizeof(double) +
        lines * (sizeof(struct attention_sums) + sizeof(struct attention_span));

    return results * (dv * result_bytes + lse_bytes) +
           plan->unit_count * sizeof(*plan->unit) +
           (uint64_t)a->total_q * (uint64_t)a->kv_heads * sizeof(*plan->slot_of) +
           (uint64_t)ref->threads * worker;
}

const struct wf_reference_ops attention_reference_ops = {
    .create = create,
    .destroy = destroy,
    .check = check,
    .bytes = held_bytes,
    .complete = attention_complete,
    .naive_work = attention_naive_work,
    .naive_bytes = attention_naive_bytes,
    .check_naive = attention_check_naive,
};
