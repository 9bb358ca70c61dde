/* OpenBLAS, loaded when first needed. Not linked: its constructor starts threads and
 * takes memory in every process, and its choice of kernels must be corrected before it
 * runs (openblas.c). */
#ifndef WF_KERNELS_GEMM_OPENBLAS_H
#define WF_KERNELS_GEMM_OPENBLAS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* D[m][n] = alpha * op(A) op(B) + beta * D, row-major, leading dimensions >= 1. With
 * k = 0 nothing of A and B is read; with beta = 0 nothing of D. */
struct openblas_gemm {
    int m, n, k;
    bool trans_a, trans_b;
    double alpha, beta;
    int lda, ldb, ldd;
};

/* Loads it once; false with the reason in `message` when that fails. Thread-safe. */
bool openblas_load(char *message, size_t message_bytes);
/* The functions below need a successful openblas_load. */
void openblas_threads(int threads);
const char *openblas_version(void);
void openblas_dgemm(const struct openblas_gemm *g,
                    const double *a,
                    const double *b,
                    double *d);
void openblas_sgemm(const struct openblas_gemm *g,
                    const float *a,
                    const float *b,
                    float *d);

#endif
