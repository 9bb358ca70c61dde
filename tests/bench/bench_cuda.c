/* A kernel author's quick look at the sm_90 kernels, without a farm:
 *
 *     bench_cuda libwavefarm_cuda.so PACK_FOLDER [gemm|decode|all] [check]
 *
 * Loads the `cuda` runtime through the table that the runner uses, checks samples of
 * each answer against double precision and prints the median time of batches of
 * launches. The numbers that count come from the farm; this is for the loop of edit and
 * look. */
#include "core/dtype.h"
#include "runner/hip_abi.h"

#include <dlfcn.h>
#include <errno.h>
#include <math.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static struct {
#define FN(required, result, name, arguments) result(*name) arguments;
#include "runner/hip_functions.def"
#undef FN
} hip;

static int failures;
static bool check_only; /* no times: for a memory checker */

static void load_table(const char *library)
{
    void *handle = dlopen(library, RTLD_NOW);
    if (handle == NULL) {
        fprintf(stderr, "bench_cuda: %s\n", dlerror());
        exit(2);
    }
#define FN(required, result, name, arguments)      \
    {                                              \
        void *symbol = dlsym(handle, #name);       \
        memcpy(&hip.name, &symbol, sizeof symbol); \
    }
#include "runner/hip_functions.def"
#undef FN
}

static void must(hipError_t error, const char *what)
{
    if (error != hipSuccess) {
        fprintf(stderr, "bench_cuda: %s: %s: %s\n", what, hip.hipGetErrorName(error),
                hip.hipGetErrorString(error));
        exit(1);
    }
}

static void *device_memory(size_t bytes)
{
    void *p = NULL;
    must(hip.hipMalloc(&p, bytes > 0 ? bytes : 16), "hipMalloc");
    return p;
}

static void *host_memory(size_t bytes)
{
    void *p = malloc(bytes > 0 ? bytes : 1);
    if (p == NULL) {
        fprintf(stderr, "bench_cuda: out of memory\n");
        exit(1);
    }
    return p;
}

static hipModule_t load_module(const char *folder, const char *name)
{
    char path[512];
    snprintf(path, sizeof path, "%s/%s.cubin", folder, name);
    FILE *f = fopen(path, "rb");
    if (f == NULL) {
        snprintf(path, sizeof path, "%s/%s.ptx", folder, name);
        f = fopen(path, "rb");
    }
    if (f == NULL) {
        fprintf(stderr, "bench_cuda: %s: %s\n", path, strerror(errno));
        exit(2);
    }
    static char image[1 << 22];
    const size_t bytes = fread(image, 1, sizeof image - 1, f);
    image[bytes] = '\0';
    fclose(f);
    hipModule_t module = NULL;
    must(hip.hipModuleLoadData(&module, image), path);
    return module;
}

static uint32_t random_state = 1;

/* About normal: the sum of four uniform numbers. */
static uint16_t random_half(void)
{
    float sum = 0;
    for (int i = 0; i < 4; i++) {
        random_state = random_state * 1664525U + 1013904223U;
        sum += (float)(random_state >> 8) / 16777216.0F - 0.5F;
    }
    return wf_f32_to_f16(sum);
}

static void fill(uint16_t *dst, size_t n)
{
    const size_t period = n < (1U << 20) + 7 ? n : (1U << 20) + 7;
    for (size_t i = 0; i < period; i++) {
        dst[i] = random_half();
    }
    for (size_t i = period; i < n; i++) {
        dst[i] = dst[i - period];
    }
}

/* --- launches and time --- */

struct launch {
    hipFunction_t function;
    unsigned grid[3], block, shared;
};

struct sequence {
    struct launch launch[2];
    int count;
    void *args;
    size_t args_bytes;
};

static void run_once(const struct sequence *s, hipStream_t stream)
{
    for (int i = 0; i < s->count; i++) {
        const struct launch *l = &s->launch[i];
        size_t bytes = s->args_bytes;
        void *extra[] = { HIP_LAUNCH_PARAM_BUFFER_POINTER, s->args,
                          HIP_LAUNCH_PARAM_BUFFER_SIZE, &bytes, HIP_LAUNCH_PARAM_END };
        must(hip.hipModuleLaunchKernel(l->function, l->grid[0], l->grid[1], l->grid[2],
                                       l->block, 1, 1, l->shared, stream, NULL, extra),
             "launch");
    }
}

static int by_value(const void *a, const void *b)
{
    const double x = *(const double *)a;
    const double y = *(const double *)b;
    return (x > y) - (x < y);
}

/* Median over batches, in us a launch sequence; the stream is busy before each batch.
 */
static double median_us(const struct sequence *s, hipStream_t stream)
{
    enum {
        BATCHES = 15
    };
    double sample[BATCHES];
    hipEvent_t start, stop;
    must(hip.hipEventCreateWithFlags(&start, 0), "event");
    must(hip.hipEventCreateWithFlags(&stop, 0), "event");
    int count = 20;
    for (int b = -3; b < BATCHES; b++) {
        run_once(s, stream);
        run_once(s, stream);
        must(hip.hipEventRecord(start, stream), "record");
        for (int i = 0; i < count; i++) {
            run_once(s, stream);
        }
        must(hip.hipEventRecord(stop, stream), "record");
        must(hip.hipEventSynchronize(stop), "synchronize");
        float ms = 0;
        must(hip.hipEventElapsedTime(&ms, start, stop), "elapsed");
        if (b >= 0) {
            sample[b] = (double)ms * 1000 / count;
        } else {
            count = (int)fmin(200, fmax(10, 3.0 / ((double)ms / count)));
        }
    }
    must(hip.hipEventDestroy(start), "event");
    must(hip.hipEventDestroy(stop), "event");
    qsort(sample, BATCHES, sizeof sample[0], by_value);
    return sample[BATCHES / 2];
}

/* --- gemm --- */

struct gemm_args {
    void *a, *b, *c, *d, *bias, *sa, *sb, *partial;
    int m, n, k, split, k_per_split, xcc_count;
    long long lda, ldb, ldc, ldd, stride_a, stride_b, stride_c, stride_d;
    float alpha, beta;
    int types; /* as kernels/gemm/problem_device.h has them: f16, no bias */
};

static const struct gemm_variant {
    const char *file;
    int block_m, block_n, threads, stages, split, any;
} GEMMS[] = {
#define GEMM(file, bm, bn, threads, stages, split, any) \
    { file, bm, bn, threads, stages, split, any },
#include "tests/bench/variants.def"
#undef GEMM
};

enum {
    GEMM_COUNT = sizeof GEMMS / sizeof GEMMS[0]
};

static int worst_samples(const struct gemm_args *g,
                         const uint16_t *a,
                         const uint16_t *b,
                         const uint16_t *d)
{
    int bad = 0;
    for (int i = 0; i < 300; i++) {
        random_state = random_state * 1664525U + 1013904223U;
        const int row = i == 0 ? g->m - 1 : (int)((random_state >> 4) % (unsigned)g->m);
        random_state = random_state * 1664525U + 1013904223U;
        const int col = i < 2 ? g->n - 1 : (int)((random_state >> 4) % (unsigned)g->n);
        double sum = 0;
        double magnitude = 0;
        for (int k = 0; k < g->k; k++) {
            const double p = (double)wf_f16_to_f32(a[row * g->lda + k]) *
                             (double)wf_f16_to_f32(b[col * g->ldb + k]);
            sum += p;
            magnitude += fabs(p);
        }
        const double got = (double)wf_f16_to_f32(d[row * g->ldd + col]);
        const double tol = fabs(sum) * 0x1p-11 + sqrt(g->k) * 0x1p-22 * magnitude;
        bad += !(fabs(got - sum) <= tol);
    }
    return bad;
}

static void run_gemm(hipModule_t module,
                     const struct gemm_variant *v,
                     struct gemm_args *g,
                     const uint16_t *host[2],
                     hipStream_t stream)
{
    const bool aligned = g->lda % 8 == 0 && g->ldb % 8 == 0;
    if (!aligned && !v->any) {
        return;
    }
    const int tiles =
        ((g->m + v->block_m - 1) / v->block_m) * ((g->n + v->block_n - 1) / v->block_n);
    const int k_tiles = (g->k + 63) / 64;
    const int want = 264 / tiles < 1 ? 1 : 264 / tiles;
    g->split = v->split
                   ? (want < k_tiles / 4 ? want : (k_tiles / 4 > 1 ? k_tiles / 4 : 1))
                   : 1;
    g->k_per_split = (k_tiles + g->split - 1) / g->split * 64;
    struct sequence s = { .count = v->split ? 2 : 1,
                          .args = g,
                          .args_bytes = sizeof *g };
    must(hip.hipModuleGetFunction(&s.launch[0].function, module,
                                  aligned ? "wf_gemm_mma" : "wf_gemm_mma_any"),
         v->file);
    s.launch[0].grid[0] = (unsigned)tiles;
    s.launch[0].grid[1] = (unsigned)g->split;
    s.launch[0].grid[2] = 1;
    s.launch[0].block = (unsigned)v->threads;
    s.launch[0].shared = (unsigned)(v->stages * (v->block_m + v->block_n) * 128);
    if (v->split) {
        must(hip.hipModuleGetFunction(&s.launch[1].function, module, "wf_gemm_mma_sum"),
             v->file);
        s.launch[1] =
            (struct launch){ s.launch[1].function,
                             { (unsigned)((g->m * ((g->n + 7) / 8) + 255) / 256), 1,
                               1 },
                             256,
                             0 };
    }
    const size_t bytes = (size_t)g->m * (size_t)g->ldd * 2;
    must(hip.hipMemset(g->d, 0xff, bytes), "memset");
    run_once(&s, stream);
    must(hip.hipDeviceSynchronize(), v->file);
    uint16_t *d = host_memory(bytes);
    must(hip.hipMemcpy(d, g->d, bytes, hipMemcpyDeviceToHost), "copy");
    const int bad = worst_samples(g, host[0], host[1], d);
    failures += bad > 0;
    free(d);
    const double us = median_us(&s, stream);
    printf("gemm %5d %5d %5d %-24s split %2d %9.2f us %7.1f TFLOP/s  %s\n", g->m, g->n,
           g->k, v->file, g->split, us, 2.0 * g->m * g->n * g->k / us * 1e-6,
           bad ? "WRONG" : "right");
    fflush(stdout);
}

static void bench_gemm(const char *folder, hipStream_t stream)
{
    static const int SIZE[][3] = { { 2048, 10240, 1280 }, { 2048, 1280, 1280 },
                                   { 2048, 1280, 5120 },  { 128, 1280, 2048 },
                                   { 8192, 5120, 640 },   { 1000, 1016, 520 },
                                   { 333, 777, 129 } };
    hipModule_t module[GEMM_COUNT];
    for (int i = 0; i < GEMM_COUNT; i++) {
        module[i] = load_module(folder, GEMMS[i].file);
    }
    for (size_t s = 0; s < sizeof SIZE / sizeof SIZE[0]; s++) {
        struct gemm_args g = { .m = SIZE[s][0], .n = SIZE[s][1], .k = SIZE[s][2] };
        g.lda = g.ldb = g.k;
        g.ldc = g.ldd = g.n;
        g.xcc_count = 1;
        g.alpha = 1;
        g.types = 15 << 8;
        const size_t a_count = (size_t)g.m * (size_t)g.k;
        const size_t b_count = (size_t)g.n * (size_t)g.k;
        uint16_t *a = host_memory(a_count * 2);
        uint16_t *b = host_memory(b_count * 2);
        fill(a, a_count);
        fill(b, b_count);
        g.a = device_memory(a_count * 2);
        g.b = device_memory(b_count * 2);
        g.d = device_memory((size_t)g.m * (size_t)g.n * 2);
        g.partial = device_memory((size_t)g.m * (size_t)g.n * 4 * 32);
        must(hip.hipMemcpy(g.a, a, a_count * 2, hipMemcpyHostToDevice), "copy");
        must(hip.hipMemcpy(g.b, b, b_count * 2, hipMemcpyHostToDevice), "copy");
        for (int i = 0; i < GEMM_COUNT; i++) {
            run_gemm(module[i], &GEMMS[i], &g, (const uint16_t *[2]){ a, b }, stream);
        }
        must(hip.hipFree(g.a), "free");
        must(hip.hipFree(g.b), "free");
        must(hip.hipFree(g.d), "free");
        must(hip.hipFree(g.partial), "free");
        free(a);
        free(b);
    }
}

/* --- paged decode --- */

struct decode_args {
    void *q, *k, *v, *kv_indptr, *kv_indices, *kv_last_page_len, *o, *lse, *partial,
        *max_sum;
    int q_heads, kv_heads, page_size, parts, part_keys, window_left;
    long long page_stride, slot_stride, head_stride;
    float scale_log2, cap_log2, inv_cap_log2, v_scale;
};

struct decode_case {
    int batch, length, q_heads, kv_heads, head_dim, page_size;
};

struct decode_host {
    uint16_t *q, *k, *v;
    int *indptr, *indices, *last;
    size_t pages;
};

/* Lengths from 3/4 to 5/4 of the case's, pages in a permuted order. */
static struct decode_host make_decode(const struct decode_case *c)
{
    struct decode_host h = { 0 };
    h.indptr = host_memory((size_t)(c->batch + 1) * 4);
    h.last = host_memory((size_t)c->batch * 4);
    h.indptr[0] = 0;
    for (int b = 0; b < c->batch; b++) {
        random_state = random_state * 1664525U + 1013904223U;
        const int length =
            c->batch == 1 ? c->length
                          : c->length * 3 / 4 +
                                (int)((random_state >> 8) % (unsigned)(c->length / 2));
        const int pages = (length + c->page_size - 1) / c->page_size;
        h.indptr[b + 1] = h.indptr[b] + pages;
        h.last[b] = length - (pages - 1) * c->page_size;
    }
    h.pages = (size_t)h.indptr[c->batch];
    h.indices = host_memory(h.pages * 4);
    for (size_t i = 0; i < h.pages; i++) {
        h.indices[i] = (int)i;
    }
    for (size_t i = h.pages - 1; i > 0; i--) {
        random_state = random_state * 1664525U + 1013904223U;
        const size_t j = random_state % (i + 1);
        const int swap = h.indices[i];
        h.indices[i] = h.indices[j];
        h.indices[j] = swap;
    }
    const size_t pool =
        h.pages * (size_t)c->page_size * (size_t)c->kv_heads * (size_t)c->head_dim;
    const size_t q = (size_t)c->batch * (size_t)c->q_heads * (size_t)c->head_dim;
    h.k = host_memory(pool * 2);
    h.v = host_memory(pool * 2);
    h.q = host_memory(q * 2);
    fill(h.k, pool);
    fill(h.v, pool);
    fill(h.q, q);
    return h;
}

static int decode_bad(const struct decode_case *c,
                      const struct decode_host *h,
                      const uint16_t *o)
{
    int bad = 0;
    const long long slot = (long long)c->kv_heads * c->head_dim;
    for (int sample = 0; sample < 24; sample++) {
        random_state = random_state * 1664525U + 1013904223U;
        const int b = (int)((random_state >> 8) % (unsigned)c->batch);
        random_state = random_state * 1664525U + 1013904223U;
        const int head = (int)((random_state >> 8) % (unsigned)c->q_heads);
        const int kv = head / (c->q_heads / c->kv_heads);
        const int length =
            (h->indptr[b + 1] - h->indptr[b] - 1) * c->page_size + h->last[b];
        const long long row = ((long long)b * c->q_heads + head) * c->head_dim;
        double out[256] = { 0 };
        double sum = 0;
        for (int j = 0; j < length; j++) {
            const long long page = h->indices[h->indptr[b] + j / c->page_size];
            const long long at =
                (page * c->page_size + j % c->page_size) * slot + kv * c->head_dim;
            double s = 0;
            for (int d = 0; d < c->head_dim; d++) {
                s += (double)wf_f16_to_f32(h->q[row + d]) *
                     (double)wf_f16_to_f32(h->k[at + d]);
            }
            const double e = exp(s / sqrt(c->head_dim));
            sum += e;
            for (int d = 0; d < c->head_dim; d++) {
                out[d] += e * (double)wf_f16_to_f32(h->v[at + d]);
            }
        }
        for (int d = 0; d < c->head_dim; d++) {
            const double got = (double)wf_f16_to_f32(o[row + d]);
            bad += !(fabs(got - out[d] / sum) < 5e-4);
        }
    }
    return bad;
}

static void *upload(const void *src, size_t bytes)
{
    void *p = device_memory(bytes);
    must(hip.hipMemcpy(p, src, bytes, hipMemcpyHostToDevice), "copy");
    return p;
}

/* Parts as the pack's entry chooses them; returns the number of keys of all sequences.
 */
static double plan_decode(const struct decode_case *c,
                          const struct decode_host *h,
                          struct decode_args *a)
{
    int longest = 0;
    double keys = 0;
    for (int b = 0; b < c->batch; b++) {
        const int length =
            (h->indptr[b + 1] - h->indptr[b] - 1) * c->page_size + h->last[b];
        longest = length > longest ? length : longest;
        keys += length;
    }
    const int groups = c->batch * c->kv_heads * ((c->q_heads / c->kv_heads + 15) / 16);
    int parts = (132 * 4 + groups - 1) / groups;
    parts = parts < (longest + 255) / 256 ? parts : (longest + 255) / 256;
    a->part_keys = ((longest + parts - 1) / parts + 63) / 64 * 64;
    a->part_keys = a->part_keys < 2048 ? a->part_keys : 2048;
    a->parts = (longest + a->part_keys - 1) / a->part_keys;
    return keys;
}

static struct decode_args make_decode_args(const struct decode_case *c,
                                           const struct decode_host *h,
                                           double *ret_keys)
{
    const size_t rows = (size_t)c->batch * (size_t)c->q_heads;
    const size_t row = (size_t)c->head_dim * 2;
    const size_t pool =
        h->pages * (size_t)c->page_size * (size_t)c->kv_heads * (size_t)c->head_dim * 2;
    struct decode_args a = { .q_heads = c->q_heads,
                             .kv_heads = c->kv_heads,
                             .page_size = c->page_size,
                             .window_left = -1,
                             .slot_stride = (long long)c->kv_heads * c->head_dim,
                             .head_stride = c->head_dim,
                             .scale_log2 = 1.44269504F / sqrtf((float)c->head_dim),
                             .v_scale = 1 };
    *ret_keys = plan_decode(c, h, &a);
    a.page_stride = c->page_size * a.slot_stride;
    a.q = upload(h->q, rows * row);
    a.k = upload(h->k, pool);
    a.v = upload(h->v, pool);
    a.kv_indptr = upload(h->indptr, (size_t)(c->batch + 1) * 4);
    a.kv_indices = upload(h->indices, h->pages * 4);
    a.kv_last_page_len = upload(h->last, (size_t)c->batch * 4);
    a.o = device_memory(rows * row);
    a.partial = device_memory(rows * (size_t)a.parts * row * 2);
    a.max_sum = device_memory(rows * (size_t)a.parts * 8);
    return a;
}

static void free_decode_args(const struct decode_args *a)
{
    void *all[] = { a->q,         a->k,          a->v,
                    a->kv_indptr, a->kv_indices, a->kv_last_page_len,
                    a->o,         a->partial,    a->max_sum };
    for (size_t i = 0; i < sizeof all / sizeof all[0]; i++) {
        must(hip.hipFree(all[i]), "free");
    }
}

static void run_decode(hipModule_t module,
                       const char *file,
                       const struct decode_case *c,
                       const struct decode_host *h,
                       int warps,
                       hipStream_t stream)
{
    const size_t rows = (size_t)c->batch * (size_t)c->q_heads;
    const int group = c->q_heads / c->kv_heads;
    double keys = 0;
    struct decode_args a = make_decode_args(c, h, &keys);
    struct sequence s = { .count = a.parts > 1 ? 2 : 1,
                          .args = &a,
                          .args_bytes = sizeof a };
    s.launch[0] = (struct launch){
        .grid = { (unsigned)(c->kv_heads * ((group + 15) / 16)), (unsigned)c->batch,
                  (unsigned)a.parts },
        .block = (unsigned)(32 * warps),
        .shared = (unsigned)(warps * (group < 16 ? group : 16) * (c->head_dim + 2) * 4)
    };
    s.launch[1] = (struct launch){ .grid = { (unsigned)rows, 1, 1 },
                                   .block = (unsigned)c->head_dim };
    must(hip.hipModuleGetFunction(&s.launch[0].function, module, "wf_paged_decode_f16"),
         file);
    must(hip.hipModuleGetFunction(&s.launch[1].function, module,
                                  "wf_paged_decode_combine"),
         file);
    run_once(&s, stream);
    must(hip.hipDeviceSynchronize(), file);
    const size_t o_bytes = rows * (size_t)c->head_dim * 2;
    uint16_t *o = host_memory(o_bytes);
    must(hip.hipMemcpy(o, a.o, o_bytes, hipMemcpyDeviceToHost), "copy");
    const int bad = decode_bad(c, h, o);
    failures += bad > 0;
    free(o);
    const double us = median_us(&s, stream);
    const double bytes = keys * c->kv_heads * c->head_dim * 4 + 2.0 * (double)o_bytes;
    printf(
        "decode b%4d kv %6d h%2d/%d d%3d page %3d %-26s parts %3d %9.2f us %7.1f GB/s  "
        "%s\n",
        c->batch, c->length, c->q_heads, c->kv_heads, c->head_dim, c->page_size, file,
        a.parts, us, bytes / us * 1e-3, bad ? "WRONG" : "right");
    fflush(stdout);
    free_decode_args(&a);
}

static void bench_decode(const char *folder, hipStream_t stream)
{
    static const struct decode_case CASE[] = {
        { 256, 2048, 32, 8, 128, 16 },  { 64, 4096, 64, 8, 128, 16 },
        { 128, 1024, 32, 32, 128, 16 }, { 16, 8192, 32, 8, 128, 64 },
        { 1, 32768, 32, 8, 128, 16 },   { 200, 1000, 32, 8, 128, 1 },
        { 256, 2048, 32, 8, 64, 16 },   { 64, 1500, 71, 1, 64, 5 },
    };
    static const struct {
        const char *file;
        int head_dim, warps;
    } CUBIN[] = {
#define DECODE(file, head_dim, warps) { file, head_dim, warps },
#include "tests/bench/variants.def"
#undef DECODE
    };
    for (size_t i = 0; i < sizeof CASE / sizeof CASE[0]; i++) {
        struct decode_host h = make_decode(&CASE[i]);
        for (size_t v = 0; v < sizeof CUBIN / sizeof CUBIN[0]; v++) {
            if (CUBIN[v].head_dim == CASE[i].head_dim) {
                hipModule_t module = load_module(folder, CUBIN[v].file);
                run_decode(module, CUBIN[v].file, &CASE[i], &h, CUBIN[v].warps, stream);
                must(hip.hipModuleUnload(module), "unload");
            }
        }
        free(h.q);
        free(h.k);
        free(h.v);
        free(h.indptr);
        free(h.indices);
        free(h.last);
    }
}

int main(int argc, char **argv)
{
    if (argc < 3) {
        fprintf(stderr,
                "usage: bench_cuda LIBRARY PACK_FOLDER [gemm|decode|all] [check]\n");
        return 2;
    }
    const char *only = argc > 3 ? argv[3] : "all";
    check_only = argc > 4 && strcmp(argv[4], "check") == 0;
    load_table(argv[1]);
    must(hip.hipInit(0), "hipInit");
    must(hip.hipSetDevice(0), "hipSetDevice");
    struct wf_rt_info info = { .size = sizeof info };
    struct wf_rt_device_info device = { .size = sizeof device };
    must(hip.wf_rt_info(&info), "wf_rt_info");
    must(hip.wf_rt_device_info(0, &device), "wf_rt_device_info");
    printf("%s %s: %s %s %s, %d units, %.1f GB, L2 %.1f MB, LDS %llu, pci %s\n",
           info.name, info.version, device.name, device.arch, device.uuid,
           device.cu_count, (double)device.memory_bytes * 1e-9,
           (double)device.l2_bytes * 1e-6, (unsigned long long)device.lds_bytes,
           device.pci_bus_id);
    printf("clock at most %d kHz, memory %d kHz\n", device.clock_khz,
           device.memory_clock_khz);
    hipStream_t stream;
    must(hip.hipStreamCreateWithFlags(&stream, hipStreamNonBlocking), "stream");
    if (strcmp(only, "decode") != 0) {
        bench_gemm(argv[2], stream);
    }
    if (strcmp(only, "gemm") != 0) {
        bench_decode(argv[2], stream);
    }
    printf("%d wrong\n", failures);
    return failures > 0;
}
