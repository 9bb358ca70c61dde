/* Fills A, B and C by storage position: the value of an element does not depend on how
 * the range is split. Padding between rows and between batches holds poison, and so
 * does an operand that the problem must not read. */
#include "kernels/gemm/gemm.h"

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
    return (struct piece){ 0, ld - col };
}

static bool is_dense(const struct gemm_matrix *x, int64_t batch)
{
    return x->ld == x->cols && (batch == 1 || x->stride == x->rows * x->ld);
}

static bool is_read(const struct gemm *g, size_t tensor)
{
    return tensor == GEMM_C ? gemm_reads_c(g) : gemm_reads_product(g);
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
    const struct gemm_matrix *x = &g->matrix[tensor];
    const struct wf_input_stream s = { wf_case_inputs(c), x->dtype, seed, tensor };
    const size_t bytes = wf_dtype_bytes(x->dtype);
    char *out = dst;
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
