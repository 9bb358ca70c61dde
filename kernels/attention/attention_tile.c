/* The reference's inner loop: a small matrix product in double precision. Plain C in a
 * form that compilers vectorise, built twice: for any x86-64 and for AVX2 with FMA; the
 * choice is made at run time. Sums run in the order of k in both. */
#include "kernels/attention/attention_ref.h"

#define ROWS 4
#define COLS 8

/* Four doubles at any address: one AVX register, or two of SSE2. */
typedef double four __attribute__((vector_size(32), aligned(8), may_alias));

#define INNER static inline __attribute__((always_inline))

/* c[ROWS][COLS] += a * b with the sums in registers. */
INNER void block(const struct attention_tile *t, int64_t row, int64_t col)
{
    const double *a = t->a + row * t->a_stride, *b = t->b + col;
    four sum[ROWS][2] = { { { 0 } } };

    for (int64_t k = 0; k < t->k; k++, b += t->b_stride) {
        const four left = *(const four *)b, right = *(const four *)(b + 4);

        for (int r = 0; r < ROWS; r++) {
            sum[r][0] += a[r * t->a_stride + k] * left;
            sum[r][1] += a[r * t->a_stride + k] * right;
        }
    }
    for (int r = 0; r < ROWS; r++) {
        double *c = t->c + (row + r) * t->c_stride + col;

        *(four *)c += sum[r][0];
        *(four *)(c + 4) += sum[r][1];
    }
}

INNER void edge(const struct attention_tile *t, int64_t row, int64_t col)
{
    double sum = 0;

    for (int64_t k = 0; k < t->k; k++) {
        sum += t->a[row * t->a_stride + k] * t->b[k * t->b_stride + col];
    }
    t->c[row * t->c_stride + col] += sum;
}

INNER void multiply(const struct attention_tile *t)
{
    int64_t m = t->m - t->m % ROWS, n = t->n - t->n % COLS;

    for (int64_t row = 0; row < m; row += ROWS) {
        for (int64_t col = 0; col < n; col += COLS) {
            block(t, row, col);
        }
    }
    for (int64_t row = 0; row < t->m; row++) {
        for (int64_t col = row < m ? n : 0; col < t->n; col++) {
            edge(t, row, col);
        }
    }
}

#if defined(__x86_64__)
__attribute__((target("avx2,fma"))) static void multiply_avx2(
    const struct attention_tile *t)
{
    multiply(t);
}
#endif

void attention_tile_multiply(const struct attention_tile *t)
{
#if defined(__x86_64__)
    if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma")) {
        multiply_avx2(t);
        return;
    }
#endif
    multiply(t);
}
