/* A library with the functions of cuBLASLt (STUB_CUDA) or hipBLASLt that the packs
 * call, and of the device's library behind it. Records descriptors and calls, computes
 * the product on the host from what was passed: column-major, by its own reading of the
 * attributes' numbers in the vendors' headers. */
#include "blaslt_stub.h"

#include "core/dtype.h"

#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#ifdef STUB_CUDA
#define LT(name)   cublasLt##name
#define ALGO_BYTES 64
enum {
    BATCH_COUNT = 5,
    BATCH_STRIDE = 6,
    TRANSA = 3,
    TRANSB = 4,
    EPILOGUE = 7,
    BIAS_POINTER = 8,
    BIAS_TYPE = 26,
    A_SCALE = 17,
    B_SCALE = 18,
    OP_T = 1,
    COMPUTE_I32 = 72
};
#else
#define LT(name)   hipblasLt##name
#define ALGO_BYTES 24
enum {
    BATCH_COUNT = 0,
    BATCH_STRIDE = 1,
    TRANSA = 0,
    TRANSB = 1,
    EPILOGUE = 2,
    BIAS_POINTER = 3,
    BIAS_TYPE = 4,
    A_SCALE = 5,
    B_SCALE = 6,
    OP_T = 112,
    COMPUTE_I32 = 9
};
#endif
enum {
    A_MODE = 31,
    B_MODE = 32,
    A_VECTOR = 102,
    B_VECTOR = 103,
    WITH_BIAS = 4,
    SWISH = 65536
};

__attribute__((visibility("default"))) struct blaslt_stub blaslt_stub = {
    .result_count = -1,
    .algorithms = 3,
    .workspace_bytes = 4096,
    .us = { 10, 10, 10 },
    .refuse_launch_of = -1,
    .failed_result = -1,
    .compute = 1,
#ifdef STUB_CUDA
    .version = 130100,
#else
    .version = 100000,
#endif
};
#define S blaslt_stub

struct result {
    unsigned char algo[ALGO_BYTES];
    size_t workspace;
    int state;
    float waves;
    int reserved[4];
};

/* Records the call; the status that it answers. */
static int called(const char *name)
{
    const size_t used = strlen(S.calls), n = strlen(name);
    if (used + n + 2 < sizeof S.calls) {
        memcpy(S.calls + used, name, n);
        memcpy(S.calls + used + n, " ", 2);
    }
    return S.fail && strcmp(S.fail, name) == 0 && S.fail_after-- <= 0 ? S.status : 0;
}

static void *make(size_t bytes)
{
    void *p = calloc(1, bytes);
    if (!p) {
        abort();
    }
    S.alive++;
    return p;
}

/* Whether the function is one that says it succeeded and did nothing. */
static bool is_empty(const char *name)
{
    return S.null && strcmp(S.null, name) == 0;
}

static int drop(void *p)
{
    free(p);
    S.alive--;
    return 0;
}

#define EXPORT __attribute__((visibility("default")))

EXPORT int LT(Create)(void **handle)
{
    const int status = called("Create");
    if (status == 0 && !is_empty("Create")) {
        *handle = make(1);
    }
    return status;
}

EXPORT int LT(Destroy)(void *handle)
{
    return drop(handle);
}

EXPORT int LT(MatrixLayoutCreate)(void **layout,
                                  int type,
                                  uint64_t rows,
                                  uint64_t cols,
                                  int64_t ld)
{
    const int status = called("MatrixLayoutCreate");
    if (status == 0 && !is_empty("MatrixLayoutCreate")) {
        struct stub_layout *x = make(sizeof *x);
        *x = (struct stub_layout){ type, rows, cols, ld, 1, 0 };
        *layout = x;
    }
    return status;
}

EXPORT int LT(MatrixLayoutDestroy)(void *layout)
{
    return drop(layout);
}

EXPORT int LT(MatrixLayoutSetAttribute)(void *layout,
                                        int attribute,
                                        const void *value,
                                        size_t bytes)
{
    struct stub_layout *x = layout;
    const int status = called("MatrixLayoutSetAttribute");
    if (attribute == BATCH_COUNT && bytes == sizeof x->batch) {
        memcpy(&x->batch, value, bytes);
    } else if (attribute == BATCH_STRIDE && bytes == sizeof x->stride) {
        memcpy(&x->stride, value, bytes);
    } else {
        return 3;
    }
    return status;
}

EXPORT int LT(MatmulDescCreate)(void **desc, int compute_type, int scale_type)
{
    const int status = called("MatmulDescCreate");
    if (status == 0 && !is_empty("MatmulDescCreate")) {
        struct stub_desc *x = make(sizeof *x);
        x->compute_type = compute_type;
        x->scale_type = scale_type;
        *desc = x;
    }
    return status;
}

EXPORT int LT(MatmulDescDestroy)(void *desc)
{
    return drop(desc);
}

EXPORT int LT(MatmulDescSetAttribute)(void *desc,
                                      int attribute,
                                      const void *value,
                                      size_t bytes)
{
    struct stub_desc *x = desc;
    const struct {
        int attribute;
        void *to;
        size_t bytes;
    } known[] = {
        { TRANSA, &x->trans_a, 4 },      { TRANSB, &x->trans_b, 4 },
        { EPILOGUE, &x->epilogue, 4 },   { BIAS_POINTER, &x->bias, 8 },
        { BIAS_TYPE, &x->bias_type, 4 }, { A_SCALE, &x->scale_a, 8 },
        { B_SCALE, &x->scale_b, 8 },     { A_MODE, &x->mode_a, 4 },
        { B_MODE, &x->mode_b, 4 },
#ifndef STUB_CUDA
        { A_VECTOR, &x->scale_a, 8 },    { B_VECTOR, &x->scale_b, 8 },
#endif
    };
    const int status = called("MatmulDescSetAttribute");
    x->scales_by_vector_pointer |= attribute == A_VECTOR;
    for (size_t i = 0; i < sizeof known / sizeof *known; i++) {
        if (known[i].attribute == attribute && known[i].bytes == bytes) {
            memcpy(known[i].to, value, bytes);
            return status;
        }
    }
    return 3;
}

EXPORT int LT(MatmulPreferenceCreate)(void **preference)
{
    const int status = called("MatmulPreferenceCreate");
    if (status == 0 && !is_empty("MatmulPreferenceCreate")) {
        *preference = make(1);
    }
    return status;
}

EXPORT int LT(MatmulPreferenceDestroy)(void *preference)
{
    return drop(preference);
}

EXPORT int LT(MatmulPreferenceSetAttribute)(void *preference,
                                            int attribute,
                                            const void *value,
                                            size_t bytes)
{
    (void)preference;
    const int status = called("MatmulPreferenceSetAttribute");
    if (attribute == 1 && bytes == 8) {
        memcpy(&S.asked_workspace, value, bytes);
    } else if (attribute >= 5 && attribute <= 8 && bytes == 4) {
        memcpy(&S.asked_alignment[attribute - 5], value, bytes);
    } else {
        return 3;
    }
    return status;
}

EXPORT int LT(MatmulAlgoGetHeuristic)(void *handle,
                                      void *desc,
                                      void *a,
                                      void *b,
                                      void *c,
                                      void *d,
                                      void *preference,
                                      int requested,
                                      void *results,
                                      int *ret_count)
{
    struct result *r = results;
    const int status = called("MatmulAlgoGetHeuristic");
    if (!handle || !desc || !a || !b || !c || !d || !preference) {
        return 3;
    }
    S.asked_results = requested;
    *ret_count = requested < S.algorithms ? requested : S.algorithms;
    for (int i = 0; i < *ret_count; i++) {
        const int number = 700 + i;
        memset(&r[i], 0, sizeof r[i]);
        memcpy(r[i].algo, &number, sizeof number);
        r[i].workspace = (size_t)(i + 1) * S.workspace_bytes;
        r[i].state = i == S.failed_result ? 15 : 0;
    }
    *ret_count = S.result_count >= 0 ? S.result_count : *ret_count;
    return status;
}

/* --- the product --- */

static enum wf_dtype dtype_of(int type)
{
    switch (type) {
    case 0:
        return WF_F32;
    case 2:
        return WF_F16;
    case 3:
        return WF_I8;
    case 10:
        return WF_I32;
    case 14:
        return WF_BF16;
    case 28:
        return WF_E4M3FN;
    case 29:
        return WF_E5M2;
    case 1000:
        return WF_E4M3FNUZ;
    case 1001:
        return WF_E5M2FNUZ;
    default:
        abort();
    }
}

static double get(const struct stub_layout *x,
                  const void *at,
                  int64_t batch,
                  uint64_t row,
                  uint64_t col)
{
    const enum wf_dtype t = dtype_of(x->type);
    const int64_t i = batch * x->stride + (int64_t)col * x->ld + (int64_t)row;
    double v;
    if (row >= x->rows || col >= x->cols || x->ld < (int64_t)x->rows) {
        abort(); /* outside of what the layout describes */
    }
    wf_to_f64(t, (const char *)at + i * (int64_t)wf_dtype_bytes(t), &v, 1);
    return v;
}

static void put(const struct stub_layout *x,
                void *at,
                int64_t batch,
                uint64_t row,
                uint64_t col,
                double v)
{
    const enum wf_dtype t = dtype_of(x->type);
    const int64_t i = batch * x->stride + (int64_t)col * x->ld + (int64_t)row;
    wf_from_f64(t, &v, (char *)at + i * (int64_t)wf_dtype_bytes(t), 1);
}

static double sum(const struct stub_matmul *m, int64_t batch, uint64_t i, uint64_t j)
{
    const bool ta = m->desc.trans_a == OP_T, tb = m->desc.trans_b == OP_T;
    const uint64_t k = ta ? m->a.rows : m->a.cols;
    double s = 0.0;
    for (uint64_t l = 0; l < k; l++) {
        s += get(&m->a, m->at_a, batch, ta ? l : i, ta ? i : l) *
             get(&m->b, m->at_b, batch, tb ? j : l, tb ? l : j);
    }
    return s;
}

static double finish(const struct stub_matmul *m, uint64_t i, double v)
{
    if (m->desc.epilogue & WITH_BIAS) {
        const struct stub_layout bias = { m->desc.bias_type,  m->d.rows, 1,
                                          (int64_t)m->d.rows, 1,         0 };
        v += get(&bias, m->desc.bias, 0, i, 0);
    }
    return m->desc.epilogue & SWISH ? v / (1.0 + exp(-v)) : v;
}

static double scale(const struct stub_matmul *m, uint64_t i, uint64_t j)
{
    const bool vectors = m->desc.mode_a == 3 || m->desc.scales_by_vector_pointer;
    const float *a = m->desc.scale_a, *b = m->desc.scale_b;
    return (a ? a[vectors ? i : 0] : 1.0f) * (b ? b[vectors ? j : 0] : 1.0f);
}

static void compute(const struct stub_matmul *m)
{
    for (int64_t batch = 0; batch < m->d.batch; batch++) {
        for (uint64_t j = 0; j < m->d.cols; j++) {
            for (uint64_t i = 0; i < m->d.rows; i++) {
                double v = m->alpha * scale(m, i, j) * sum(m, batch, i, j);
                v += m->beta != 0.0 ? m->beta * get(&m->c, m->at_c, batch, i, j) : 0.0;
                put(&m->d, m->at_d, batch, i, j, finish(m, i, v));
            }
        }
    }
}

static double factor(const struct stub_desc *desc, const void *value)
{
    float f;
    int32_t i;
    memcpy(&f, value, sizeof f);
    memcpy(&i, value, sizeof i);
    return desc->compute_type == COMPUTE_I32 ? (double)i : (double)f;
}

EXPORT int LT(Matmul)(void *handle,
                      void *desc,
                      const void *alpha,
                      const void *a,
                      void *layout_a,
                      const void *b,
                      void *layout_b,
                      const void *beta,
                      const void *c,
                      void *layout_c,
                      void *d,
                      void *layout_d,
                      const void *algo,
                      void *workspace,
                      size_t workspace_bytes,
                      void *stream)
{
    int number;
    const int status = called("Matmul");
    memcpy(&number, algo, sizeof number);
    number -= 700;
    S.matmul_count++;
    S.matmul = (struct stub_matmul){
        .at_a = a,
        .at_b = b,
        .at_c = c,
        .at_d = d,
        .workspace = workspace,
        .workspace_bytes = workspace_bytes,
        .stream = stream,
        .algorithm = number,
    };
    memcpy(&S.matmul.desc, desc, sizeof S.matmul.desc);
    memcpy(&S.matmul.a, layout_a, sizeof S.matmul.a);
    memcpy(&S.matmul.b, layout_b, sizeof S.matmul.b);
    memcpy(&S.matmul.c, layout_c, sizeof S.matmul.c);
    memcpy(&S.matmul.d, layout_d, sizeof S.matmul.d);
    S.matmul.alpha = factor(&S.matmul.desc, alpha);
    S.matmul.beta = factor(&S.matmul.desc, beta);
    S.clock_us += number >= 0 && number < 32 ? S.us[number] : 1e9;
    if (number == S.refuse_launch_of || !handle) {
        return 13;
    }
    if (status == 0 && S.compute) {
        compute(&S.matmul);
    }
    return status;
}

/* --- versions --- */

#ifdef STUB_CUDA
EXPORT size_t cublasLtGetVersion(void)
{
    return (size_t)S.version;
}

EXPORT int cublasLtMatmulAlgoConfigGetAttribute(const void *algo,
                                                int attribute,
                                                void *value,
                                                size_t bytes,
                                                size_t *ret_written)
{
    int number;
    memcpy(&number, algo, sizeof number);
    const uint32_t answer = attribute == 0 ? (uint32_t)number : (uint32_t)attribute;
    memcpy(value, &answer, bytes);
    *ret_written = bytes;
    return 0;
}
#else
EXPORT int hipblasLtGetVersion(void *handle, int *ret)
{
    *ret = S.version;
    return handle ? 0 : 1;
}
#endif

/* --- the device's library: its clock is the sum of the launches --- */

#ifdef STUB_CUDA
#define DEVICE(cuda, hip) cuda
#else
#define DEVICE(cuda, hip) hip
#endif

EXPORT int DEVICE(cuEventCreate, hipEventCreateWithFlags)(void **event, unsigned flags)
{
    *event = make(sizeof(double));
    return flags == 0 ? called("EventCreate") : 1;
}

EXPORT int DEVICE(cuEventDestroy_v2, hipEventDestroy)(void *event)
{
    return drop(event);
}

EXPORT int DEVICE(cuEventRecord, hipEventRecord)(void *event, void *stream)
{
    (void)stream;
    memcpy(event, &S.clock_us, sizeof S.clock_us);
    return called("EventRecord");
}

EXPORT int DEVICE(cuEventSynchronize, hipEventSynchronize)(void *event)
{
    return event ? called("EventSynchronize") : 1;
}

EXPORT int DEVICE(cuEventElapsedTime,
                  hipEventElapsedTime)(float *ms, void *start, void *stop)
{
    double from, to;
    memcpy(&from, start, sizeof from);
    memcpy(&to, stop, sizeof to);
    *ms = (float)((to - from) / 1e3);
    return called("EventElapsedTime");
}

EXPORT int DEVICE(cuMemAlloc_v2, hipMalloc)(void **memory, size_t bytes)
{
    const int status = called("MemAlloc");
    if (status == 0) {
        *memory = aligned_alloc(256, (bytes + 255) / 256 * 256);
        S.alive++;
    }
    return status;
}

EXPORT int DEVICE(cuMemFree_v2, hipFree)(void *memory)
{
    return drop(memory);
}

EXPORT int DEVICE(cuMemcpyHtoD_v2,
                  hipMemcpyHtoD)(void *memory, const void *from, size_t bytes)
{
    memcpy(memory, from, bytes);
    return called("MemcpyHtoD");
}

#ifdef STUB_CUDA
EXPORT int cuCtxGetCurrent(void **ret)
{
    *ret = S.no_context ? NULL : &S;
    return 0;
}
#endif
