/* Cheats that give less than the whole answer. */
#include "cheats.h"

#include <string.h>

#define UNUSED(message, bytes) ((void)(message), (void)(bytes))
#define SMALL_ELEMENTS         1024

int gives_zeros(void *state, char *message, size_t bytes)
{
    struct job *job = state;
    UNUSED(message, bytes);
    for (int64_t i = 0; i < job->m; i++) {
        memset(job->d + i * job->ldd, 0, (size_t)job->n * sizeof(float));
    }
    return WF_LIB_OK;
}

int gives_an_input(void *state, char *message, size_t bytes)
{
    struct job *job = state;
    UNUSED(message, bytes);
    for (int64_t i = 0; i < job->m; i++) {
        for (int64_t j = 0; j < job->n; j++) {
            job->d[i * job->ldd + j] = job->a[i * job->lda + j % job->k];
        }
    }
    return WF_LIB_OK;
}

/* The best constant: the mean of all outputs is that of the sums' product. */
int gives_the_mean(void *state, char *message, size_t bytes)
{
    struct job *job = state;
    double mean = 0;
    UNUSED(message, bytes);
    for (int64_t k = 0; k < job->k; k++) {
        double a = 0;
        double b = 0;
        for (int64_t i = 0; i < job->m; i++) {
            a += (double)job->a[i * job->lda + k];
        }
        for (int64_t j = 0; j < job->n; j++) {
            b += (double)job->b[k * job->ldb + j];
        }
        mean += a / (double)job->m * b / (double)job->n;
    }
    for (int64_t i = 0; i < job->m; i++) {
        for (int64_t j = 0; j < job->n; j++) {
            job->d[i * job->ldd + j] = (float)mean;
        }
    }
    return WF_LIB_OK;
}

static float to_bf16(float x)
{
    uint32_t bits;
    memcpy(&bits, &x, sizeof(bits));
    bits = (bits + 0x7fffu + (bits >> 16 & 1u)) & 0xffff0000u;
    memcpy(&x, &bits, sizeof(x));
    return x;
}

/* As many f32 GEMMs that use the units of a shorter type. */
int rounds_inputs_to_bf16(void *state, char *message, size_t bytes)
{
    struct job *job = state;
    UNUSED(message, bytes);
    for (int64_t i = 0; i < job->m; i++) {
        float *row = job->d + i * job->ldd;
        memset(row, 0, (size_t)job->n * sizeof(*row));
        for (int64_t k = 0; k < job->k; k++) {
            const float a = to_bf16(job->a[i * job->lda + k]);
            for (int64_t j = 0; j < job->n; j++) {
                row[j] += a * to_bf16(job->b[k * job->ldb + j]);
            }
        }
    }
    return WF_LIB_OK;
}

/* Sums keep 11 bits. */
static float to_11_bits(float x)
{
    uint32_t bits;
    memcpy(&bits, &x, sizeof(bits));
    bits = (bits + 0x0fffu + (bits >> 13 & 1u)) & 0xffffe000u;
    memcpy(&x, &bits, sizeof(x));
    return x;
}

int adds_in_f16(void *state, char *message, size_t bytes)
{
    struct job *job = state;
    UNUSED(message, bytes);
    for (int64_t i = 0; i < job->m; i++) {
        float *row = job->d + i * job->ldd;
        memset(row, 0, (size_t)job->n * sizeof(*row));
        for (int64_t k = 0; k < job->k; k++) {
            const float a = job->a[i * job->lda + k];
            for (int64_t j = 0; j < job->n; j++) {
                row[j] = to_11_bits(row[j] + a * job->b[k * job->ldb + j]);
            }
        }
    }
    return WF_LIB_OK;
}

/* One term of 64 is left out. */
int skips_last_of_64(void *state, char *message, size_t bytes)
{
    struct job *job = state;
    UNUSED(message, bytes);
    cheat_gemm(job);
    for (int64_t k = 63; k < job->k; k += 64) {
        for (int64_t i = 0; i < job->m; i++) {
            const float a = job->a[i * job->lda + k];
            for (int64_t j = 0; j < job->n; j++) {
                job->d[i * job->ldd + j] -= a * job->b[k * job->ldb + j];
            }
        }
    }
    return WF_LIB_OK;
}

/* A checker's shapes are small. */
int right_when_small(void *state, char *message, size_t bytes)
{
    struct job *job = state;
    UNUSED(message, bytes);
    cheat_gemm(job);
    if (job->m * job->n > SMALL_ELEMENTS) {
        for (int64_t i = job->m / 2; i < job->m; i++) {
            memcpy(job->d + i * job->ldd, job->d, (size_t)job->n * sizeof(float));
        }
    }
    return WF_LIB_OK;
}

/* A checker that samples looks at few rows; the average of all stays right. */
int spoils_odd_rows(void *state, char *message, size_t bytes)
{
    struct job *job = state;
    UNUSED(message, bytes);
    cheat_gemm(job);
    for (int64_t i = 1; i + 2 < job->m; i += 16) {
        for (int64_t j = 0; j < job->n; j++) {
            float *one = &job->d[i * job->ldd + j];
            float *two = &job->d[(i + 2) * job->ldd + j];
            *one = *two = (*one + *two) / 2.0F;
        }
    }
    return WF_LIB_OK;
}

/* Makes the next launch's work easy: zeros need no power. */
int empties_inputs(void *state, char *message, size_t bytes)
{
    struct job *job = state;
    UNUSED(message, bytes);
    cheat_gemm(job);
    memset(job->a, 0, job->a_bytes);
    memset(job->b, 0, job->b_bytes);
    return WF_LIB_OK;
}
