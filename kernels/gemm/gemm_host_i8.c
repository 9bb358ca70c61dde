/* i8 GEMM in plain C: both operands widened to i16 with k contiguous, blocks of rows
 * shared by threads, dot products with i32 sums. Sums wrap modulo 2^32, as unsigned. */
#include "kernels/gemm/gemm_host.h"

#include "core/buf.h"
#include "kernels/parallel.h"

#include <stdlib.h>
#include <string.h>

#define BLOCK_ROWS 64
#define BLOCK_COLS 64
#define LANES      4 /* columns at a time */

struct host_i8 {
    int16_t *a, *b; /* [M][K], [N][K] */
};

struct host_i8 *host_i8_create(const struct host_gemm *g)
{
    struct host_i8 *h = wf_calloc(1, sizeof *h);
    if (h == NULL) {
        return NULL;
    }
    h->a = wf_calloc((size_t)g->m + 1, (size_t)(g->k + 1) * sizeof *h->a);
    h->b = wf_calloc((size_t)g->n + 1, (size_t)(g->k + 1) * sizeof *h->b);
    if (h->a == NULL || h->b == NULL) {
        host_i8_destroy(h);
        return NULL;
    }
    return h;
}

void host_i8_destroy(struct host_i8 *h)
{
    if (h != NULL) {
        free(h->a);
        free(h->b);
        free(h);
    }
}

/* lines x K from rows x cols as stored; `turned`: the stored rows run over k. */
static void widen(const struct host_gemm *g,
                  int tensor,
                  const int64_t size[2], /* batch, lines */
                  bool turned,
                  int16_t *dst)
{
    const int64_t rows = turned ? g->k : size[1];
    const int64_t cols = turned ? size[1] : g->k;
    for (int64_t r = 0; r < rows; r++) {
        const int8_t *src = (int8_t *)host_element(g, tensor, size[0], r, 0);
        for (int64_t c = 0; c < cols; c++) {
            dst[turned ? c * g->k + r : r * g->k + c] = src[c];
        }
    }
}

#if defined(__x86_64__)
#define WIDE_CLONE __attribute__((target("avx2")))
#else
#define WIDE_CLONE
#endif

#define INLINE static inline __attribute__((always_inline))

INLINE void dots(const int16_t *a,
                 const int16_t *const b[LANES],
                 int64_t k,
                 uint32_t *ret)
{
    uint32_t s0 = 0, s1 = 0, s2 = 0, s3 = 0;
    for (int64_t i = 0; i < k; i++) {
        s0 += (uint32_t)((int32_t)a[i] * b[0][i]);
        s1 += (uint32_t)((int32_t)a[i] * b[1][i]);
        s2 += (uint32_t)((int32_t)a[i] * b[2][i]);
        s3 += (uint32_t)((int32_t)a[i] * b[3][i]);
    }
    ret[0] = s0;
    ret[1] = s1;
    ret[2] = s2;
    ret[3] = s3;
}

typedef void (*dots_fn)(const int16_t *,
                        const int16_t *const[LANES],
                        int64_t,
                        uint32_t *);

static void dots_plain(const int16_t *a,
                       const int16_t *const b[LANES],
                       int64_t k,
                       uint32_t *ret)
{
    dots(a, b, k, ret);
}

WIDE_CLONE static void dots_wide(const int16_t *a,
                                 const int16_t *const b[LANES],
                                 int64_t k,
                                 uint32_t *ret)
{
    dots(a, b, k, ret);
}

static dots_fn choose_dots(void)
{
#if defined(__x86_64__)
    if (__builtin_cpu_supports("avx2")) {
        return dots_wide;
    }
#endif
    return dots_plain;
}

struct job {
    const struct host_i8 *h;
    const struct host_gemm *g;
    int64_t batch;
    bool product;
    dots_fn dots;
};

static void store(const struct job *j, int64_t row, int64_t col, uint32_t sum)
{
    const struct host_gemm *g = j->g;
    uint32_t v = (uint32_t)(int64_t)g->alpha * sum;
    if (g->beta != 0.0) {
        uint32_t c;
        memcpy(&c, host_element(g, HOST_C, j->batch, row, col), sizeof c);
        v += (uint32_t)(int64_t)g->beta * c;
    }
    memcpy(host_element(g, HOST_D, j->batch, row, col), &v, sizeof v);
}

static void run_row(const struct job *j, int64_t row, int64_t col, int64_t end)
{
    const int64_t k = j->product ? j->g->k : 0;
    const int16_t *a = j->h->a + row * j->g->k;
    for (; col < end; col += LANES) {
        const int16_t *b[LANES];
        uint32_t sum[LANES];
        for (int64_t l = 0; l < LANES; l++) {
            const int64_t c = col + l < end ? col + l : end - 1;
            b[l] = j->h->b + c * j->g->k;
        }
        j->dots(a, b, k, sum);
        for (int64_t l = 0; l < LANES && col + l < end; l++) {
            store(j, row, col + l, sum[l]);
        }
    }
}

static enum wf_status run_block(void *ctx, uint64_t piece, struct wf_error *err)
{
    const struct job *j = ctx;
    const int64_t first = (int64_t)piece * BLOCK_ROWS;
    const int64_t last = first + BLOCK_ROWS < j->g->m ? first + BLOCK_ROWS : j->g->m;
    (void)err;
    for (int64_t col = 0; col < j->g->n; col += BLOCK_COLS) {
        const int64_t end = col + BLOCK_COLS < j->g->n ? col + BLOCK_COLS : j->g->n;
        for (int64_t row = first; row < last; row++) {
            run_row(j, row, col, end);
        }
    }
    return WF_OK;
}

int host_i8_run(struct host_i8 *h, const struct host_gemm *g)
{
    struct job j = { h, g, 0, g->alpha != 0.0 && g->k > 0, choose_dots() };
    const uint64_t blocks = (uint64_t)((g->m + BLOCK_ROWS - 1) / BLOCK_ROWS);
    for (; j.batch < g->batch; j.batch++) {
        if (j.product) {
            widen(g, HOST_A, (int64_t[]){ j.batch, g->m }, g->trans_a, h->a);
            widen(g, HOST_B, (int64_t[]){ j.batch, g->n }, !g->trans_b, h->b);
        }
        if (wf_parallel(g->threads, blocks, run_block, &j, NULL) != WF_OK) {
            return WF_LIB_FAILED;
        }
    }
    return WF_LIB_OK;
}
