/* Which rows the reference computes. All of them while their cost stays inside the
 * budget; else a sample that the seed chooses: the last and the first (sequence, kv
 * head) and then pairs in random order until the budget is used, in each of them the
 * first and the last query and one from each of 62 equal stretches between. The choice
 * depends on the case, the budget and the seed, never on the machine. */
#include "kernels/attention/attention_ref.h"

#include "core/buf.h"
#include "core/rng.h"

#include <stdlib.h>

#define PLAN_STREAM    UINT64_C(0x706c616e) /* apart from the input streams */
#define SAMPLE_ROWS    64                   /* at least */
#define DEFAULT_BUDGET 4e10
#define LOAD_MACS      16.0 /* making one input element, in multiply-adds */
#define UNIT_LINES     2048 /* (row, head) lines that are accumulated together */
#define UNIT_ELEMENTS  (INT64_C(1) << 19)

static int64_t rows_per_unit(const struct attention *a)
{
    int64_t lines = UNIT_ELEMENTS / a->head_dim_v;

    lines = lines < UNIT_LINES ? lines : UNIT_LINES;
    return lines / a->group > 1 ? lines / a->group : 1;
}

/* Multiply-adds of `rows` query rows, evenly spread, of one sequence and kv head. */
static double pair_macs(const struct attention *a, int64_t b, int64_t rows)
{
    double per_pair = (double)(a->head_dim + 2 * a->head_dim_v) * (double)a->group;
    double load = LOAD_MACS * (double)(a->head_dim + a->head_dim_v);
    struct attention_span mid =
        attention_visible(a, a->q_len[b], a->kv_len[b], a->q_len[b] / 2);
    int64_t blocks = (rows + rows_per_unit(a) - 1) / rows_per_unit(a);

    return per_pair * (double)(mid.hi - mid.lo) * (double)rows +
           load * (double)a->kv_len[b] * (double)blocks;
}

static enum wf_status no_memory(struct wf_error *err)
{
    return wf_errorf(err, WF_ENOMEM,
                     "out of memory for the plan of an attention reference");
}

static enum wf_status reserve_units(struct attention_plan *plan,
                                    size_t n,
                                    struct wf_error *err)
{
    plan->unit = wf_calloc(n > 0 ? n : 1, sizeof(*plan->unit));
    return plan->unit ? WF_OK : no_memory(err);
}

static void mark_slots(struct attention_plan *plan,
                       const struct attention *a,
                       const struct attention_unit *u)
{
    for (int64_t k = 0; k < u->row_count; k++) {
        int64_t i = u->rows ? u->rows[k] : u->first_row + k;

        plan->slot_of[(a->q_start[u->sequence] + i) * a->kv_heads + u->kv_head] =
            u->slot + k;
    }
}

static void add_unit(struct attention_plan *plan,
                     const struct attention *a,
                     struct attention_unit u)
{
    u.slot = plan->slot_count;
    plan->slot_count += u.row_count;
    plan->unit[plan->unit_count++] = u;
    mark_slots(plan, a, &u);
}

static enum wf_status plan_all(struct attention_plan *plan,
                               const struct attention *a,
                               struct wf_error *err)
{
    int64_t step = rows_per_unit(a);
    size_t units = 0;
    enum wf_status st;

    for (int64_t b = 0; b < a->batch; b++) {
        units += (size_t)((a->q_len[b] + step - 1) / step) * (size_t)a->kv_heads;
    }
    st = reserve_units(plan, units, err);
    if (st != WF_OK) {
        return st;
    }
    for (int64_t b = 0; b < a->batch; b++) {
        for (int64_t h = 0; h < a->kv_heads; h++) {
            for (int64_t i = 0; i < a->q_len[b]; i += step) {
                int64_t left = a->q_len[b] - i;

                add_unit(
                    plan, a,
                    (struct attention_unit){ .sequence = b,
                                             .kv_head = h,
                                             .first_row = i,
                                             .row_count = left < step ? left : step });
            }
        }
    }
    return WF_OK;
}

/* --- sampling --- */

struct sample {
    struct wf_rng rng;
    int64_t rows; /* most rows of a pair */
    double budget;
};

static int64_t sample_size(const struct sample *s, int64_t q_len)
{
    return q_len < s->rows ? q_len : s->rows;
}

/* Rows of a pair: as many as let every pair take part, between 64 and a full unit. */
static void set_rows(struct sample *s, const struct attention *a)
{
    int64_t most = rows_per_unit(a);
    double macs = 0;

    s->rows = SAMPLE_ROWS;
    for (int64_t b = 0; b < a->batch; b++) {
        macs += pair_macs(a, b, sample_size(s, a->q_len[b])) * (double)a->kv_heads;
    }
    while (s->rows * 2 <= most && macs * 2 <= s->budget) {
        s->rows *= 2;
        macs *= 2;
    }
}

/* First, last, and one of each of n - 2 equal stretches between them. */
static void choose_rows(struct sample *s, int64_t q_len, int64_t *ret)
{
    int64_t n = sample_size(s, q_len), inner = q_len - 2;

    if (n == q_len) {
        for (int64_t k = 0; k < n; k++) {
            ret[k] = k;
        }
        return;
    }
    ret[0] = 0;
    for (int64_t k = 0; k < n - 2; k++) {
        int64_t lo = 1 + inner * k / (n - 2), hi = 1 + inner * (k + 1) / (n - 2);

        ret[k + 1] = lo + (int64_t)wf_rng_next_below(&s->rng, (uint64_t)(hi - lo));
    }
    ret[n - 1] = q_len - 1;
}

struct pairs {
    int64_t *pair; /* sequence * kv_heads + head, of sequences that have queries */
    size_t n;
};

static void swap(int64_t *x, int64_t *y)
{
    int64_t kept = *x;

    *x = *y;
    *y = kept;
}

/* The last, the first, then the others in random order. */
static enum wf_status order_pairs(const struct attention *a,
                                  struct wf_rng *rng,
                                  struct pairs *ret,
                                  struct wf_error *err)
{
    int64_t *pair = wf_calloc((size_t)a->batch * (size_t)a->kv_heads, sizeof(*pair));
    size_t n = 0;

    if (!pair) {
        return no_memory(err);
    }
    for (int64_t b = 0; b < a->batch; b++) {
        for (int64_t h = 0; a->q_len[b] > 0 && h < a->kv_heads; h++) {
            pair[n++] = b * a->kv_heads + h;
        }
    }
    if (n > 1) {
        swap(&pair[1], &pair[n - 1]); /* [0] first, [1] last */
        swap(&pair[0], &pair[1]);
    }
    for (size_t i = 2; i + 1 < n; i++) {
        swap(&pair[i], &pair[i + (size_t)wf_rng_next_below(rng, n - i)]);
    }
    ret->pair = pair;
    ret->n = n;
    return WF_OK;
}

/* How many pairs of the order fit the budget; one at least. */
static size_t count_pairs(struct attention_plan *plan,
                          const struct attention *a,
                          const struct sample *s,
                          const struct pairs *pairs,
                          size_t *ret_rows)
{
    size_t take = 0;

    *ret_rows = 0;
    for (; take < pairs->n; take++) {
        int64_t b = pairs->pair[take] / a->kv_heads;
        int64_t count = sample_size(s, a->q_len[b]);
        double macs = pair_macs(a, b, count);

        if (take > 0 && plan->macs + macs > s->budget) {
            break;
        }
        plan->macs += macs;
        *ret_rows += (size_t)count;
    }
    return take;
}

static enum wf_status plan_sample(struct attention_plan *plan,
                                  const struct attention *a,
                                  double budget,
                                  struct wf_error *err)
{
    struct sample s = { { plan->seed, PLAN_STREAM, 0 }, 0, budget };
    struct pairs pairs = { NULL, 0 };
    size_t take, rows;
    enum wf_status st;

    set_rows(&s, a);
    st = order_pairs(a, &s.rng, &pairs, err);
    if (st != WF_OK || !pairs.pair) {
        return st;
    }
    take = count_pairs(plan, a, &s, &pairs, &rows);
    plan->row_pool = wf_calloc(rows > 0 ? rows : 1, sizeof(*plan->row_pool));
    st = plan->row_pool ? reserve_units(plan, take, err) : no_memory(err);
    for (size_t i = 0, row = 0; st == WF_OK && plan->row_pool && i < take; i++) {
        struct attention_unit u = { .sequence = pairs.pair[i] / a->kv_heads,
                                    .kv_head = pairs.pair[i] % a->kv_heads,
                                    .rows = plan->row_pool + row };

        u.row_count = sample_size(&s, a->q_len[u.sequence]);
        choose_rows(&s, a->q_len[u.sequence], plan->row_pool + row);
        row += (size_t)u.row_count;
        add_unit(plan, a, u);
    }
    free(pairs.pair);
    return st;
}

static enum wf_status make_slots(struct attention_plan *plan,
                                 const struct attention *a,
                                 struct wf_error *err)
{
    size_t slots = (size_t)a->total_q * (size_t)a->kv_heads;

    plan->slot_of = wf_calloc(slots, sizeof(*plan->slot_of));
    for (size_t i = 0; plan->slot_of && i < slots; i++) {
        plan->slot_of[i] = -1;
    }
    return plan->slot_of ? WF_OK : no_memory(err);
}

enum wf_status attention_plan_rows(struct attention_plan *plan,
                                   const struct attention *a,
                                   const struct attention_row_head *rows,
                                   size_t n,
                                   struct wf_error *err)
{
    enum wf_status st = make_slots(plan, a, err);

    plan->sampled = true;
    if (st == WF_OK) {
        st = reserve_units(plan, n, err);
    }
    for (size_t i = 0; st == WF_OK && i < n; i++) {
        struct attention_unit u = { .kv_head = rows[i].head / a->group,
                                    .row_count = 1 };

        if (plan->slot_of[rows[i].row * a->kv_heads + u.kv_head] >= 0) {
            continue;
        }
        while (a->q_start[u.sequence + 1] <= rows[i].row) {
            u.sequence++;
        }
        u.first_row = rows[i].row - a->q_start[u.sequence];
        add_unit(plan, a, u);
    }
    return st;
}

enum wf_status attention_plan_init(struct attention_plan *plan,
                                   const struct attention *a,
                                   double budget_macs,
                                   uint64_t seed,
                                   struct wf_error *err)
{
    double budget = budget_macs > 0 ? budget_macs : DEFAULT_BUDGET;
    enum wf_status st;

    *plan = (struct attention_plan){ .seed = seed };
    st = make_slots(plan, a, err);
    if (st != WF_OK) {
        return st;
    }
    for (int64_t b = 0; b < a->batch; b++) {
        plan->all_macs += pair_macs(a, b, a->q_len[b]) * (double)a->kv_heads;
    }
    plan->budget = budget;
    plan->sampled = plan->all_macs > budget;
    if (plan->sampled) {
        st = plan_sample(plan, a, budget, err);
    } else {
        plan->macs = plan->all_macs;
        st = plan_all(plan, a, err);
    }
    if (st != WF_OK) {
        attention_plan_fini(plan);
    }
    return st;
}

void attention_plan_fini(struct attention_plan *plan)
{
    free(plan->unit);
    free(plan->row_pool);
    free(plan->slot_of);
    *plan = (struct attention_plan){ 0 };
}
