/* The paged decode kernels' source against double precision: both vendors, page sizes
 * that are and are not powers of two, groups below and above a workgroup's heads, one
 * part and several, windows, soft cap, empty sequences. Slots that no sequence uses are
 * NaN and pages are permuted. */
#include "core/dtype.h"
#include "tests/device_kernels/guarded.h"
#include "tests/device_kernels/lockstep.h"

#include <criterion/criterion.h>
#include <math.h>
#include <stdint.h>
#include <string.h>

typedef void decode_fn(const uint16_t *q,
                       const uint16_t *k,
                       const uint16_t *v,
                       const int *kv_indptr,
                       const int *kv_indices,
                       const int *kv_last_page_len,
                       uint16_t *o,
                       float *lse,
                       float *partial,
                       float *max_sum,
                       int q_heads,
                       int kv_heads,
                       int page_size,
                       int parts,
                       int part_keys,
                       int window_left,
                       long long page_stride,
                       long long slot_stride,
                       long long head_stride,
                       float scale_log2,
                       float cap_log2,
                       float inv_cap_log2,
                       float v_scale);

decode_fn mfma_d64_wf_paged_decode_f16, mfma_d64_wf_paged_decode_combine;
decode_fn mfma_d128_wf_paged_decode_f16, mfma_d128_wf_paged_decode_combine;
decode_fn mma_d64_wf_paged_decode_f16, mma_d64_wf_paged_decode_combine;
decode_fn mma_d128_wf_paged_decode_f16, mma_d128_wf_paged_decode_combine;

struct variant {
    const char *name;
    int wave, head_dim;
    decode_fn *decode, *combine;
};

static const struct variant VARIANTS[] = {
    { "mfma d64", 64, 64, mfma_d64_wf_paged_decode_f16,
      mfma_d64_wf_paged_decode_combine },
    { "mfma d128", 64, 128, mfma_d128_wf_paged_decode_f16,
      mfma_d128_wf_paged_decode_combine },
    { "mma d64", 32, 64, mma_d64_wf_paged_decode_f16, mma_d64_wf_paged_decode_combine },
    { "mma d128", 32, 128, mma_d128_wf_paged_decode_f16,
      mma_d128_wf_paged_decode_combine },
};

enum {
    WAVES = 4,
    MAX_SEQUENCES = 8,
    MAX_PAGES = 512
};

struct problem {
    int q_heads, kv_heads, page_size, part_keys, window_left, head_major;
    float soft_cap;
    int lengths[MAX_SEQUENCES]; /* ends with -1 */
};

struct tensors {
    struct guarded q, k, v, indptr, indices, last, o, lse, partial, max_sum;
    int sequences, pages, max_length, parts;
    long long page_stride, slot_stride, head_stride;
};

struct call {
    decode_fn *fn;
    const struct variant *v;
    const struct problem *p;
    const struct tensors *t;
};

static void call_kernel(void *argument)
{
    const struct call *c = argument;
    const struct problem *p = c->p;
    const struct tensors *t = c->t;
    const float log2e = 1.44269504088896340736F;
    const float cap = p->soft_cap * log2e;
    c->fn(t->q.data, t->k.data, t->v.data, t->indptr.data, t->indices.data,
          t->last.data, t->o.data, t->lse.data, t->partial.data, t->max_sum.data,
          p->q_heads, p->kv_heads, p->page_size, t->parts, p->part_keys, p->window_left,
          t->page_stride, t->slot_stride, t->head_stride,
          log2e / sqrtf((float)c->v->head_dim), cap, cap > 0.0F ? 1.0F / cap : 0.0F,
          0.5F);
}

static uint32_t random_state;

static float random_value(void)
{
    random_state = random_state * 1664525U + 1013904223U;
    return (float)((double)(random_state >> 8) / 8388608.0 - 1.0);
}

static void count_pages(const struct problem *p, struct tensors *t)
{
    for (t->sequences = 0; p->lengths[t->sequences] >= 0; t->sequences++) {
        const int length = p->lengths[t->sequences];
        t->pages += (length + p->page_size - 1) / p->page_size;
        t->max_length = length > t->max_length ? length : t->max_length;
    }
    t->parts = (t->max_length + p->part_keys - 1) / p->part_keys;
}

/* Page tables in reverse order over a pool with one page more than is used. */
static void make_tables(const struct problem *p, struct tensors *t)
{
    t->indptr = guarded_make((size_t)(t->sequences + 1) * 4);
    t->indices = guarded_make((size_t)t->pages * 4);
    t->last = guarded_make((size_t)t->sequences * 4);
    int *indptr = t->indptr.data;
    int *indices = t->indices.data;
    int *last = t->last.data;
    indptr[0] = 0;
    for (int s = 0; s < t->sequences; s++) {
        const int pages = (p->lengths[s] + p->page_size - 1) / p->page_size;
        indptr[s + 1] = indptr[s] + pages;
        last[s] = pages > 0 ? p->lengths[s] - (pages - 1) * p->page_size : 0;
    }
    for (int i = 0; i < t->pages; i++) {
        indices[i] = t->pages - i;
    }
}

static long long slot_of(const struct problem *p,
                         const struct tensors *t,
                         int sequence,
                         int key)
{
    const int *indptr = t->indptr.data;
    const int *indices = t->indices.data;
    const int page = indices[indptr[sequence] + key / p->page_size];
    return page * t->page_stride + key % p->page_size * t->slot_stride;
}

static void fill_caches(const struct problem *p,
                        const struct variant *v,
                        struct tensors *t)
{
    uint16_t *k = t->k.data;
    uint16_t *w = t->v.data;
    for (int s = 0; s < t->sequences; s++) {
        for (int j = 0; j < p->lengths[s]; j++) {
            for (int i = 0; i < p->kv_heads * v->head_dim; i++) {
                const long long at = slot_of(p, t, s, j) +
                                     i / v->head_dim * t->head_stride + i % v->head_dim;
                k[at] = wf_f32_to_f16(random_value());
                w[at] = wf_f32_to_f16(random_value());
            }
        }
    }
}

static struct tensors make_tensors(const struct problem *p, const struct variant *v)
{
    struct tensors t = { 0 };
    count_pages(p, &t);
    t.head_stride = p->head_major ? (long long)p->page_size * v->head_dim : v->head_dim;
    t.slot_stride = p->head_major ? v->head_dim : (long long)p->kv_heads * v->head_dim;
    t.page_stride = (long long)p->page_size * p->kv_heads * v->head_dim;
    const size_t rows = (size_t)t.sequences * (size_t)p->q_heads;
    const size_t row_bytes = (size_t)v->head_dim * 2;
    t.q = guarded_make(rows * row_bytes);
    t.k = guarded_make((size_t)(t.pages + 1) * (size_t)t.page_stride * 2);
    t.v = guarded_make((size_t)(t.pages + 1) * (size_t)t.page_stride * 2);
    t.o = guarded_make(rows * row_bytes);
    t.lse = guarded_make(rows * 4);
    t.partial = guarded_make(rows * (size_t)t.parts * (size_t)v->head_dim * 4);
    t.max_sum = guarded_make(rows * (size_t)t.parts * 8);
    make_tables(p, &t);
    random_state = 7;
    for (size_t i = 0; i < rows * (size_t)v->head_dim; i++) {
        ((uint16_t *)t.q.data)[i] = wf_f32_to_f16(random_value());
    }
    fill_caches(p, v, &t);
    return t;
}

static void free_tensors(struct tensors *t)
{
    struct guarded *all[] = { &t->q,    &t->k, &t->v,   &t->indptr,  &t->indices,
                              &t->last, &t->o, &t->lse, &t->partial, &t->max_sum };
    for (size_t i = 0; i < sizeof all / sizeof all[0]; i++) {
        guarded_free(all[i]);
    }
}

/* One row of the answer in double precision; returns lse. */
static double want_row(const struct problem *p,
                       const struct variant *v,
                       const struct tensors *t,
                       int sequence,
                       int head,
                       double *out)
{
    const int length = p->lengths[sequence];
    const int lo = p->window_left >= 0 && length - 1 - p->window_left > 0
                       ? length - 1 - p->window_left
                       : 0;
    const uint16_t *q = (const uint16_t *)t->q.data +
                        ((long long)sequence * p->q_heads + head) * v->head_dim;
    const long long kv_head = head / (p->q_heads / p->kv_heads) * t->head_stride;
    double sum = 0;
    memset(out, 0, (size_t)v->head_dim * sizeof *out);
    for (int j = lo; j < length; j++) {
        const long long at = slot_of(p, t, sequence, j) + kv_head;
        double s = 0;
        for (int d = 0; d < v->head_dim; d++) {
            s += (double)wf_f16_to_f32(q[d]) *
                 (double)wf_f16_to_f32(((const uint16_t *)t->k.data)[at + d]);
        }
        s /= sqrt(v->head_dim);
        s = p->soft_cap > 0.0F ? (double)p->soft_cap * tanh(s / (double)p->soft_cap)
                               : s;
        sum += exp(s);
        for (int d = 0; d < v->head_dim; d++) {
            out[d] +=
                exp(s) * (double)wf_f16_to_f32(((const uint16_t *)t->v.data)[at + d]);
        }
    }
    for (int d = 0; d < v->head_dim; d++) {
        out[d] = sum > 0 ? 0.5 * out[d] / sum : 0;
    }
    return log(sum);
}

static void check_answers(const struct problem *p,
                          const struct variant *v,
                          const struct tensors *t)
{
    double want[128];
    for (int row = 0; row < t->sequences * p->q_heads; row++) {
        const double lse = want_row(p, v, t, row / p->q_heads, row % p->q_heads, want);
        const double got_lse = (double)((const float *)t->lse.data)[row];
        cr_assert(got_lse == lse || fabs(got_lse - lse) < 1e-4,
                  "%s: lse[%d] is %g, want %g", v->name, row, got_lse, lse);
        for (int d = 0; d < v->head_dim; d++) {
            const double got = (double)wf_f16_to_f32(
                ((const uint16_t *)t->o.data)[row * v->head_dim + d]);
            cr_assert(fabs(got - want[d]) < 1e-3, "%s: O[%d][%d] is %g, want %g",
                      v->name, row, d, got, want[d]);
        }
    }
}

static void run_variant(const struct problem *p, const struct variant *v)
{
    struct tensors t = make_tensors(p, v);
    const int group = p->q_heads / p->kv_heads;
    struct call call = { v->decode, v, p, &t };
    struct lockstep_launch launch = {
        .grid = { (unsigned)(p->kv_heads * ((group + 15) / 16)), (unsigned)t.sequences,
                  (unsigned)t.parts },
        .threads = WAVES * v->wave,
        .wave = v->wave,
        .dynamic_bytes =
            (size_t)(WAVES * (group < 16 ? group : 16) * (v->head_dim + 2)) * 4
    };
    const char *failure = lockstep_run(&launch, call_kernel, &call);
    cr_assert_null(failure, "%s: %s", v->name, failure);
    if (t.parts > 1) {
        call.fn = v->combine;
        launch = (struct lockstep_launch){
            { (unsigned)(t.sequences * p->q_heads), 1, 1 }, v->head_dim, v->wave, 0
        };
        failure = lockstep_run(&launch, call_kernel, &call);
        cr_assert_null(failure, "%s combine: %s", v->name, failure);
    }
    check_answers(p, v, &t);
    free_tensors(&t);
}

static void run_all(const struct problem *p)
{
    for (size_t i = 0; i < sizeof VARIANTS / sizeof VARIANTS[0]; i++) {
        run_variant(p, &VARIANTS[i]);
    }
}

Test(lockstep_decode, one_part_with_grouped_heads)
{
    run_all(&(struct problem){ 8, 2, 16, 256, -1, 0, 0.0F, { 1, 17, 200, 64, -1 } });
}

Test(lockstep_decode, several_parts_are_combined)
{
    run_all(&(struct problem){ 4, 4, 16, 64, -1, 0, 0.0F, { 300, 5, 64, 65, -1 } });
}

Test(lockstep_decode, an_empty_sequence_gives_zero_and_minus_infinity)
{
    run_all(&(struct problem){ 2, 1, 16, 128, -1, 0, 0.0F, { 0, 40, 0, -1 } });
    run_all(&(struct problem){ 2, 1, 16, 32, -1, 0, 0.0F, { 0, 40, 0, -1 } });
}

Test(lockstep_decode, any_page_size)
{
    run_all(&(struct problem){ 2, 2, 1, 64, -1, 0, 0.0F, { 70, 3, -1 } });
    run_all(&(struct problem){ 2, 2, 5, 64, -1, 0, 0.0F, { 70, 3, 131, -1 } });
    run_all(&(struct problem){ 2, 2, 64, 64, -1, 0, 0.0F, { 70, 3, -1 } });
}

Test(lockstep_decode, groups_larger_than_a_workgroup)
{
    run_all(&(struct problem){ 20, 1, 16, 64, -1, 0, 0.0F, { 33, 90, -1 } });
}

Test(lockstep_decode, window_soft_cap_and_head_major_caches)
{
    run_all(&(struct problem){ 4, 2, 16, 64, 10, 1, 0.75F, { 9, 11, 12, 150, 0, -1 } });
}
