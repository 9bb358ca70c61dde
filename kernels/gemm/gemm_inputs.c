/* Fills A, B, C, bias and scales by storage position: the value of an element does not
 * depend on how the range is split. Padding between rows and between batches holds
 * poison, and so does an operand that the problem must not read. */
#include "kernels/gemm/gemm.h"

#include "core/rng.h"

#include <math.h>

#define BLOCK 1024

/* What follows a storage position: `used` elements of one row, then `skip` of padding.
 */
struct piece {
    uint64_t used, skip;
};

static uint64_t at_least_one(uint64_t v)
{
    return v > 0 ? v : 1;
}

/* Batches side by side inside a row: position = row * ld + batch * stride + col. */
static struct piece interleaved_piece(const struct gemm_matrix *x,
                                      int64_t batch,
                                      uint64_t at)
{
    const uint64_t cols = (uint64_t)x->cols, ld = (uint64_t)x->ld;
    const uint64_t stride = (uint64_t)x->stride;
    const uint64_t in_row = at % ld;
    const uint64_t b = in_row / stride;
    const uint64_t col = in_row % stride;
    if (b < (uint64_t)batch && col < cols) {
        return (struct piece){ cols - col, 0 };
    }
    const uint64_t next = b + 1 < (uint64_t)batch ? (b + 1) * stride : ld;
    return (struct piece){ 0, next - in_row };
}

static struct piece piece_at(const struct gemm_matrix *x, int64_t batch, uint64_t at)
{
    const uint64_t cols = (uint64_t)x->cols, ld = (uint64_t)x->ld;
    const uint64_t span = (uint64_t)(x->rows - 1) * ld + cols;
    const uint64_t stride = (uint64_t)x->stride;
    if (batch > 1 && stride > 0 && stride < span) {
        return interleaved_piece(x, batch, at);
    }
    const uint64_t in_batch = batch > 1 && stride > 0 ? at % stride : at;
    const uint64_t row = in_batch / ld;
    const uint64_t col = in_batch % ld;
    if (row >= (uint64_t)x->rows) {
        return (struct piece){ 0, at_least_one(stride - in_batch) };
    }
    if (col < cols) {
        return (struct piece){ cols - col, 0 };
    }
    /* The next batch may begin before this row's padding would end. */
    const uint64_t left = batch > 1 && stride > 0 ? stride - in_batch : ld - col;
    return (struct piece){ 0, left < ld - col ? left : ld - col };
}

static bool is_dense(const struct gemm_matrix *x, int64_t batch)
{
    return x->ld == x->cols && (batch == 1 || x->stride == x->rows * x->ld);
}

static bool is_read(const struct gemm *g, size_t tensor)
{
    return tensor == GEMM_C ? gemm_reads_c(g) : gemm_reads_product(g);
}

/* Exact sums stay exact: a power of two is a shift of every term. */
static double scale_of(enum wf_inputs kind, double u)
{
    if (kind == WF_INPUTS_ONES) {
        return 1.0;
    }
    const double log2 = 4.0 * u - 2.0;
    return kind == WF_INPUTS_INTEGERS || kind == WF_INPUTS_POWERS ? exp2(floor(log2))
                                                                  : exp2(log2);
}

static void fill_scales(enum wf_inputs kind,
                        const struct wf_input_stream *s,
                        uint64_t first,
                        uint64_t n,
                        float *dst)
{
    double block[BLOCK];
    for (uint64_t done = 0; done < n;) {
        const size_t m = n - done < BLOCK ? (size_t)(n - done) : BLOCK;
        wf_rng_fill_uniform(s->seed, s->stream, first + done, block, m);
        for (size_t i = 0; i < m; i++) {
            dst[done + i] = (float)scale_of(kind, block[i]);
        }
        done += m;
    }
}

/* The operands' distribution times a power of two: exact in every type of a bias. */
static void fill_bias(const struct gemm *g,
                      const struct wf_input_stream *s,
                      uint64_t first,
                      uint64_t n,
                      char *dst)
{
    const size_t bytes = wf_dtype_bytes(s->dtype);
    const int log2_k = g->k > 1 ? ilogb((double)g->k) : 0;
    const int shift = log2_k / 2 < 8 ? log2_k / 2 : 8;
    double block[BLOCK];
    wf_inputs_fill(s, first, (size_t)n, dst);
    for (uint64_t done = 0; done < n;) {
        const size_t m = n - done < BLOCK ? (size_t)(n - done) : BLOCK;
        wf_to_f64(s->dtype, dst + done * bytes, block, m);
        for (size_t i = 0; i < m; i++) {
            block[i] = ldexp(block[i], shift);
        }
        wf_from_f64(s->dtype, block, dst + done * bytes, m);
        done += m;
    }
}

enum wf_status gemm_fill(const struct wf_case *c,
                         const void *state,
                         size_t tensor,
                         uint64_t seed,
                         uint64_t first,
                         uint64_t n,
                         void *dst,
                         struct wf_error *err)
{
    (void)err;
    const struct gemm *g = state;
    const enum wf_dtype type = g->tensor[tensor].dtype;
    const struct wf_input_stream s = { wf_case_inputs(c), type, seed, tensor };
    const size_t bytes = wf_dtype_bytes(type);
    char *out = dst;
    if (tensor == GEMM_BIAS) {
        fill_bias(g, &s, first, n, out);
        return WF_OK;
    }
    if (tensor == GEMM_SA || tensor == GEMM_SB) {
        fill_scales(s.kind, &s, first, n, dst);
        return WF_OK;
    }
    const struct gemm_matrix *x = &g->matrix[tensor];
    if (!is_read(g, tensor)) {
        wf_poison(x->dtype, dst, n);
        return WF_OK;
    }
    if (is_dense(x, g->batch)) {
        wf_inputs_fill(&s, first, n, dst);
        return WF_OK;
    }
    for (uint64_t done = 0; done < n;) {
        const struct piece p = piece_at(x, g->batch, first + done);
        const uint64_t want = p.used > 0 ? p.used : p.skip;
        const uint64_t m = want < n - done ? want : n - done;
        if (p.used > 0) {
            wf_inputs_fill(&s, first + done, m, out + done * bytes);
        } else {
            wf_poison(x->dtype, out + done * bytes, m);
        }
        done += m;
    }
    return WF_OK;
}
