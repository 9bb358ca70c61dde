/* One item of work in single precision. Keys come in blocks of 64, converted to f32
 * once for all rows and heads of the item; softmax is online, with the maximum and the
 * sum of each line (row and head) kept over the blocks. The two inner loops are built
 * twice, for any x86-64 and for AVX2 with FMA. */
#include "kernels/attention/attention_host.h"

#include "core/buf.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define LANES         16
#define LINES_AT_ONCE 4

struct host_scratch {
    int64_t stride, v_stride; /* d and dv rounded up to LANES; the rest is zero */
    float *q, *k, *v;         /* [lines][stride], [HOST_KEYS][stride] and [v_stride] */
    float *s;                 /* [lines][HOST_KEYS] */
    float *o;                 /* [lines][v_stride] */
    float *max, *sum;         /* [lines] */
    double *out;              /* [dv] */
};

/* Keys [lo, hi) that a row sees. */
struct sight {
    int64_t lo, hi;
};

static int64_t round_lanes(int64_t n)
{
    return (n + LANES - 1) / LANES * LANES;
}

static float *floats(int64_t rows, int64_t cols)
{
    return wf_calloc((size_t)rows * (size_t)cols, sizeof(float));
}

struct host_scratch *host_scratch_create(const struct host_problem *p, int64_t rows)
{
    struct host_scratch *s = wf_calloc(1, sizeof(*s));
    int64_t lines = rows * p->group;

    if (!s) {
        return NULL;
    }
    s->stride = round_lanes(p->d);
    s->v_stride = round_lanes(p->dv);
    s->q = floats(lines, s->stride);
    s->k = floats(HOST_KEYS, s->stride);
    s->v = floats(HOST_KEYS, s->v_stride);
    s->s = floats(lines, HOST_KEYS);
    s->o = floats(lines, s->v_stride);
    s->max = floats(lines, 1);
    s->sum = floats(lines, 1);
    s->out = wf_calloc((size_t)p->dv, sizeof(*s->out));
    if (!s->q || !s->k || !s->v || !s->s || !s->o || !s->max || !s->sum || !s->out) {
        host_scratch_destroy(s);
        return NULL;
    }
    return s;
}

void host_scratch_destroy(struct host_scratch *s)
{
    if (!s) {
        return;
    }
    free(s->q);
    free(s->k);
    free(s->v);
    free(s->s);
    free(s->o);
    free(s->max);
    free(s->sum);
    free(s->out);
    free(s);
}

/* --- inner loops --- */

#define INNER static inline __attribute__((always_inline))

/* Eight floats at any address. */
typedef float eight __attribute__((vector_size(32), aligned(4), may_alias));

INNER float total(const eight *v)
{
    const eight x = *v;

    return ((x[0] + x[4]) + (x[2] + x[6])) + ((x[1] + x[5]) + (x[3] + x[7]));
}

/* Dot products of `lines` (at most LINES_AT_ONCE, a constant) lines with two keys. */
INNER void dots(const struct host_scratch *s,
                int64_t line,
                int lines,
                int64_t j,
                int keys)
{
    const float *q = s->q + line * s->stride, *k = s->k + j * s->stride;
    eight sum[LINES_AT_ONCE][2] = { { { 0 } } };

    for (int64_t i = 0; i < s->stride; i += 8) {
        const eight k0 = *(const eight *)(k + i);
        const eight k1 = *(const eight *)(k + (keys - 1) * s->stride + i);

        for (int l = 0; l < lines; l++) {
            const eight x = *(const eight *)(q + l * s->stride + i);

            sum[l][0] += x * k0;
            sum[l][1] += x * k1;
        }
    }
    for (int l = 0; l < lines; l++) {
        float *to = s->s + (line + l) * HOST_KEYS + j;

        to[0] = total(&sum[l][0]);
        to[keys - 1] = total(&sum[l][keys - 1]);
    }
}

INNER void scores(const struct host_scratch *s,
                  int64_t line,
                  int lines,
                  struct sight in)
{
    int64_t j = in.lo;

    for (; j + 1 < in.hi; j += 2) {
        dots(s, line, lines, j, 2);
    }
    if (j < in.hi) {
        dots(s, line, lines, j, 1);
    }
}

/* o[lines][16 from d] += weights * V, with the sums in registers. */
INNER void columns(const struct host_scratch *s,
                   int64_t line,
                   int lines,
                   struct sight in,
                   int64_t d)
{
    const float *w = s->s + line * HOST_KEYS, *v = s->v + in.lo * s->v_stride + d;
    eight sum[LINES_AT_ONCE][2] = { { { 0 } } };

    for (int64_t j = in.lo; j < in.hi; j++, v += s->v_stride) {
        const eight v0 = *(const eight *)v, v1 = *(const eight *)(v + 8);

        for (int l = 0; l < lines; l++) {
            const float x = w[j + (int64_t)l * HOST_KEYS];

            sum[l][0] += x * v0;
            sum[l][1] += x * v1;
        }
    }
    for (int l = 0; l < lines; l++) {
        float *o = s->o + (line + l) * s->v_stride + d;

        *(eight *)o += sum[l][0];
        *(eight *)(o + 8) += sum[l][1];
    }
}

INNER void values(const struct host_scratch *s,
                  int64_t line,
                  int lines,
                  struct sight in)
{
    for (int64_t d = 0; d < s->v_stride; d += LANES) {
        columns(s, line, lines, in, d);
    }
}

/* Lines one by one, or four at once: `lines` must be a constant for the compiler. */
typedef void (*lines_fn)(const struct host_scratch *s, int64_t line, struct sight in);

struct loops {
    lines_fn scores_1, scores_4, values_1, values_4;
};

static void scores_1_plain(const struct host_scratch *s, int64_t line, struct sight in)
{
    scores(s, line, 1, in);
}

static void scores_4_plain(const struct host_scratch *s, int64_t line, struct sight in)
{
    scores(s, line, LINES_AT_ONCE, in);
}

static void values_1_plain(const struct host_scratch *s, int64_t line, struct sight in)
{
    values(s, line, 1, in);
}

static void values_4_plain(const struct host_scratch *s, int64_t line, struct sight in)
{
    values(s, line, LINES_AT_ONCE, in);
}

static const struct loops PLAIN_LOOPS = { scores_1_plain, scores_4_plain,
                                          values_1_plain, values_4_plain };

#if defined(__x86_64__)
#define AVX2 __attribute__((target("avx2,fma")))

AVX2 static void scores_1_avx2(const struct host_scratch *s,
                               int64_t line,
                               struct sight in)
{
    scores(s, line, 1, in);
}

AVX2 static void scores_4_avx2(const struct host_scratch *s,
                               int64_t line,
                               struct sight in)
{
    scores(s, line, LINES_AT_ONCE, in);
}

AVX2 static void values_1_avx2(const struct host_scratch *s,
                               int64_t line,
                               struct sight in)
{
    values(s, line, 1, in);
}

AVX2 static void values_4_avx2(const struct host_scratch *s,
                               int64_t line,
                               struct sight in)
{
    values(s, line, LINES_AT_ONCE, in);
}

static const struct loops AVX2_LOOPS = { scores_1_avx2, scores_4_avx2, values_1_avx2,
                                         values_4_avx2 };
#endif

static const struct loops *choose_loops(void)
{
#if defined(__x86_64__)
    if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma")) {
        return &AVX2_LOOPS;
    }
#endif
    return &PLAIN_LOOPS;
}

/* --- one item --- */

/* Row i of q queries stands at key i + kv - q: the corner is at the bottom right. */
static struct sight look(const struct host_problem *p, int64_t q, int64_t kv, int64_t i)
{
    int64_t here = i + (kv - q);
    struct sight s = { 0, kv };

    if (p->causal && here < kv) {
        s.hi = here + 1;
    }
    if (p->window_right >= 0 && here + p->window_right < kv) {
        s.hi = here + p->window_right + 1;
    }
    if (p->window_left >= 0 && here > p->window_left) {
        s.lo = here - p->window_left;
    }
    if (s.hi < s.lo) {
        s.hi = s.lo;
    }
    return s;
}

static void load_queries(const struct host_problem *p,
                         const struct host_item *item,
                         struct host_scratch *s)
{
    int64_t start = host_q_start(p, item->sequence) + item->first_row;

    for (int64_t line = 0; line < item->rows * p->group; line++) {
        int64_t head = item->kv_head * p->group + line % p->group;
        float *q = s->q + line * s->stride;

        wf_to_f32(p->q.type, host_row(&p->q, start + line / p->group, head), q,
                  (size_t)p->d);
        for (int64_t d = 0; d < p->d; d++) {
            q[d] *= p->scale;
        }
        s->max[line] = -INFINITY;
        s->sum[line] = 0;
    }
    memset(s->o, 0, (size_t)(item->rows * p->group * s->v_stride) * sizeof(float));
}

static void load_block(const struct host_problem *p,
                       const struct host_item *item,
                       struct host_scratch *s,
                       struct sight block)
{
    for (int64_t j = block.lo; j < block.hi; j++) {
        wf_to_f32(p->k.type, host_key(p, item, false, j),
                  s->k + (j - block.lo) * s->stride, (size_t)p->d);
        wf_to_f32(p->v.type, host_key(p, item, true, j),
                  s->v + (j - block.lo) * s->v_stride, (size_t)p->dv);
    }
}

/* Scores of keys [lo, hi) of the block become weights; earlier sums are rescaled. */
static void soften(const struct host_problem *p,
                   struct host_scratch *s,
                   int64_t line,
                   struct sight in)
{
    float *w = s->s + line * HOST_KEYS, *o = s->o + line * s->v_stride;
    float max = s->max[line], sum = 0;

    for (int64_t j = in.lo; j < in.hi; j++) {
        if (p->soft_cap > 0) {
            w[j] = p->soft_cap * tanhf(w[j] / p->soft_cap);
        }
        max = w[j] > max ? w[j] : max;
    }
    for (int64_t j = in.lo; j < in.hi; j++) {
        w[j] = expf(w[j] - max);
        sum += w[j];
    }
    if (max > s->max[line]) {
        float shrink = expf(s->max[line] - max);

        for (int64_t d = 0; d < s->v_stride; d++) {
            o[d] *= shrink;
        }
        s->sum[line] *= shrink;
        s->max[line] = max;
    }
    s->sum[line] += sum;
}

static void store(const struct host_problem *p,
                  const struct host_item *item,
                  struct host_scratch *s,
                  int64_t line)
{
    int64_t row = host_q_start(p, item->sequence) + item->first_row + line / p->group;
    int64_t head = item->kv_head * p->group + line % p->group;
    float sum = s->sum[line];
    float factor = sum > 0 ? p->v_scale / sum : 0;

    for (int64_t d = 0; d < p->dv; d++) {
        s->out[d] = (double)(s->o[line * s->v_stride + d] * factor);
    }
    wf_from_f64(p->o.type, s->out, host_row(&p->o, row, head), (size_t)p->dv);
    if (p->lse) {
        p->lse[row * p->q_heads + head] =
            sum > 0 ? s->max[line] + logf(sum) : -INFINITY;
    }
}

/* Lines [lines.lo, lines.hi), which all see the keys `in` of the block. */
static void visit_lines(const struct host_problem *p,
                        struct host_scratch *s,
                        const struct loops *loops,
                        struct sight lines,
                        struct sight in)
{
    for (int64_t line = lines.lo; line < lines.hi;) {
        bool four = lines.hi - line >= LINES_AT_ONCE;
        int n = four ? LINES_AT_ONCE : 1;

        (four ? loops->scores_4 : loops->scores_1)(s, line, in);
        for (int l = 0; l < n; l++) {
            soften(p, s, line + l, in);
        }
        (four ? loops->values_4 : loops->values_1)(s, line, in);
        line += n;
    }
}

/* All rows of the item against one block of keys. */
static void visit_block(const struct host_problem *p,
                        const struct host_item *item,
                        struct host_scratch *s,
                        struct sight block)
{
    const struct loops *loops = choose_loops();
    int64_t kv = host_kv_len(p, item->sequence);
    int64_t q = host_q_start(p, item->sequence + 1) - host_q_start(p, item->sequence);

    load_block(p, item, s, block);
    for (int64_t r = 0; r < item->rows; r++) {
        struct sight in = look(p, q, kv, item->first_row + r);

        in.lo = in.lo > block.lo ? in.lo - block.lo : 0;
        in.hi = (in.hi < block.hi ? in.hi : block.hi) - block.lo;
        if (in.lo < in.hi) {
            visit_lines(p, s, loops, (struct sight){ r * p->group, (r + 1) * p->group },
                        in);
        }
    }
}

void host_compute(const struct host_problem *p,
                  const struct host_item *item,
                  struct host_scratch *s)
{
    int64_t kv = host_kv_len(p, item->sequence);
    int64_t q = host_q_start(p, item->sequence + 1) - host_q_start(p, item->sequence);
    struct sight all = { look(p, q, kv, item->first_row).lo,
                         look(p, q, kv, item->first_row + item->rows - 1).hi };

    load_queries(p, item, s);
    for (int64_t j = all.lo; j < all.hi; j += HOST_KEYS) {
        struct sight block = { j, j + HOST_KEYS < all.hi ? j + HOST_KEYS : all.hi };

        visit_block(p, item, s, block);
    }
    for (int64_t line = 0; line < item->rows * p->group; line++) {
        store(p, item, s, line);
    }
}
