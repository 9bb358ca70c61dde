/* Loads OpenBLAS and calls it. The only file that includes cblas.h.
 *
 * OpenBLAS picks its kernels by the processor's model number. A model that it does not
 * know (a newer one, or one that a hypervisor invents) gets the kernels of 2004, a
 * tenth of the speed. What the processor says it can do is the better guide, and
 * OpenBLAS takes it from OPENBLAS_CORETYPE, read once while it is loaded. A value that
 * the user set is left alone. */
#include "kernels/gemm/openblas.h"

#include <cblas.h>
#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define LIBRARY "libopenblas.so.0"

/* X(field, symbol): each has the type that cblas.h declares. */
#define FUNCTION_LIST(X)                     \
    X(dgemm, cblas_dgemm)                    \
    X(sgemm, cblas_sgemm)                    \
    X(set_threads, openblas_set_num_threads) \
    X(config, openblas_get_config)

static struct {
#define X(field, symbol) __typeof__(&symbol) field;
    FUNCTION_LIST(X)
#undef X
} blas;

static pthread_once_t once = PTHREAD_ONCE_INIT;
static bool loaded;
static char reason[256];

static const char *core_type(void)
{
#if defined(__x86_64__)
    if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
        __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl")) {
        return "SKYLAKEX";
    }
    if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma")) {
        return "HASWELL";
    }
#endif
    return NULL;
}

static bool find_function(void *library, const char *symbol, void *field, size_t size)
{
    void *address = dlsym(library, symbol);
    if (address == NULL) {
        (void)snprintf(reason, sizeof reason, "%s has no %s", LIBRARY, symbol);
        return false;
    }
    memcpy(field, &address, size); /* ISO C has no cast from data to function pointer */
    return true;
}

static void load(void)
{
    const char *core = core_type();
    if (core != NULL) {
        (void)setenv("OPENBLAS_CORETYPE", core, 0);
    }
    void *library = dlopen(LIBRARY, RTLD_NOW | RTLD_LOCAL);
    if (library == NULL) {
        (void)snprintf(reason, sizeof reason,
                       "OpenBLAS cannot be loaded (%s); install libopenblas0-pthread",
                       dlerror());
        return;
    }
    loaded = true;
#define X(field, symbol) \
    loaded = loaded && find_function(library, #symbol, &blas.field, sizeof blas.field);
    FUNCTION_LIST(X)
#undef X
}

bool openblas_load(char *message, size_t message_bytes)
{
    (void)pthread_once(&once, load);
    if (!loaded) {
        (void)snprintf(message, message_bytes, "%s", reason);
    }
    return loaded;
}

void openblas_threads(int threads)
{
    blas.set_threads(threads);
}

const char *openblas_version(void)
{
    return blas.config();
}

static enum CBLAS_TRANSPOSE turn(bool transposed)
{
    return transposed ? CblasTrans : CblasNoTrans;
}

void openblas_dgemm(const struct openblas_gemm *g,
                    const double *a,
                    const double *b,
                    double *d)
{
    if (g->m > 0 && g->n > 0) {
        blas.dgemm(CblasRowMajor, turn(g->trans_a), turn(g->trans_b), g->m, g->n, g->k,
                   g->alpha, a, g->lda, b, g->ldb, g->beta, d, g->ldd);
    }
}

void openblas_sgemm(const struct openblas_gemm *g,
                    const float *a,
                    const float *b,
                    float *d)
{
    if (g->m > 0 && g->n > 0) {
        blas.sgemm(CblasRowMajor, turn(g->trans_a), turn(g->trans_b), g->m, g->n, g->k,
                   (float)g->alpha, a, g->lda, b, g->ldb, (float)g->beta, d, g->ldd);
    }
}
