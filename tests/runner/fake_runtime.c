/* A HIP runtime for tests: the host runtime's memory and clock, with "code objects"
 * whose kernels are the C functions below, found by symbol. It runs the every_feature
 * pack built for gfx942, so the way of arguments from pack.json to a kernel is tested
 * without a GPU, and it misbehaves on request:
 *
 *   FAKE_MODELLED=1  times are a model's
 *   FAKE_EVENTS=zero|negative|nan|fast  what hipEventElapsedTime says
 *   FAKE_SLOW_CLEAR=1  clearing memory takes 20 ms
 *   FAKE_FAULT=1  the first launch leaves a sticky fault
 *
 * Tensor maps and clusters are NVIDIA's, but what carries them is the same for all:
 * this runtime has them too, unless it is built with FAKE_WITHOUT_EXTENSIONS. */
#include "runner/host/host_runtime.h"

#include "core/clock.h"

#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The host runtime's own, renamed by the build. */
hipError_t host_synchronize(void);
hipError_t host_elapsed(float *ms, hipEvent_t start, hipEvent_t stop);
hipError_t host_memset_async(void *dst, int value, size_t bytes, hipStream_t stream);

static int fault;

static int is_set(const char *variable)
{
    const char *value = getenv(variable);
    return value && value[0] == '1';
}

int wf_rt_info(struct wf_rt_info *ret)
{
    memset(ret, 0, sizeof(*ret));
    ret->size = sizeof(*ret);
    ret->abi = 1;
    ret->times_modelled = is_set("FAKE_MODELLED");
    (void)snprintf(ret->name, sizeof(ret->name), "fake");
    (void)snprintf(ret->version, sizeof(ret->version), "fake 1");
    return 0;
}

int wf_rt_device_info(int device, struct wf_rt_device_info *ret)
{
    if (device != 0) {
        return 1;
    }
    memset(ret, 0, sizeof(*ret));
    ret->size = sizeof(*ret);
    ret->cu_count = 4;
    ret->xcc_count = 1;
    ret->warp_size = 64;
    ret->memory_bytes = 1u << 30;
    ret->llc_bytes = 1u << 20;
    ret->lds_bytes = 65536;
    (void)snprintf(ret->name, sizeof(ret->name), "Fake MI300X");
    (void)snprintf(ret->arch, sizeof(ret->arch), "gfx942:sramecc+:xnack-");
    (void)snprintf(ret->pci_bus_id, sizeof(ret->pci_bus_id), "0000:c1:00.0");
    return 0;
}

hipError_t hipDeviceSynchronize(void)
{
    return fault ? host_fail(hipErrorIllegalAddress) : host_synchronize();
}

hipError_t hipEventElapsedTime(float *ms, hipEvent_t start, hipEvent_t stop)
{
    const char *how = getenv("FAKE_EVENTS");
    hipError_t code = host_elapsed(ms, start, stop);
    if (how && strcmp(how, "zero") == 0) {
        *ms = 0;
    } else if (how && strcmp(how, "negative") == 0) {
        *ms = -*ms;
    } else if (how && strcmp(how, "nan") == 0) {
        *ms = (float)NAN;
    } else if (how && strcmp(how, "fast") == 0) {
        *ms *= 0.01F;
    }
    return code;
}

hipError_t hipMemsetAsync(void *dst, int value, size_t bytes, hipStream_t stream)
{
    const int64_t until_ns = wf_monotonic_ns() + 20000000;
    while (is_set("FAKE_SLOW_CLEAR") && wf_monotonic_ns() < until_ns) {
    }
    return host_memset_async(dst, value, bytes, stream);
}

/* --- kernels --- */

struct args {
    const unsigned char *bytes; /* packed, or NULL */
    void **list;                /* of pointers, of a cooperative launch */
    size_t size, used, index;
    const unsigned *cluster; /* of a launch in clusters */
};

static void take(struct args *a, void *ret, size_t n)
{
    if (a->list) {
        memcpy(ret, a->list[a->index++], n);
        return;
    }
    a->used = (a->used + n - 1) / n * n;
    memcpy(ret, a->bytes + a->used, n);
    a->used += n;
}

struct task {
    int32_t m;
    int16_t n;
    int64_t k;
    uint8_t several;
    float *partial;
    float alpha;
    uint32_t *count;
    uint16_t split;
};

static void multiply_part(const struct task *t, const float *const *operands, int part)
{
    int share = ((int)t->k + t->split - 1) / t->split;
    int begin = part * share;
    int end = begin + share < t->k ? begin + share : (int)t->k;
    for (int i = 0; i < t->m; i++) {
        for (int j = 0; j < t->n; j++) {
            float sum = 0;
            for (int x = begin; x < end; x++) {
                sum += operands[0][i * t->k + x] * operands[1][j * t->k + x];
            }
            t->partial[((int64_t)part * t->m + i) * t->n + j] = t->alpha * sum;
        }
    }
}

/* wf_every_multiply(u8, pointers, struct): tests/packs/every_feature/multiply.hip */
static hipError_t multiply(struct args *a, const unsigned grid[3])
{
    uint8_t several = 0;
    const float *const *operands = NULL;
    struct task t;
    take(a, &several, sizeof(several));
    take(a, &operands, sizeof(operands));
    if (a->used != 16 || a->size != 16 + sizeof(t)) {
        return hipErrorInvalidValue;
    }
    memcpy(&t, a->bytes + a->used, sizeof(t));
    if (several != t.several || operands[2] != NULL || grid[2] != t.split) {
        return hipErrorInvalidValue;
    }
    for (int part = 0; part < t.split; part++) {
        multiply_part(&t, operands, part);
    }
    for (unsigned tile = 0; tile < grid[0] * grid[1]; tile++) {
        t.count[tile] += t.split;
    }
    return hipSuccess;
}

/* wf_every_reduce: writes NaN where a workspace is not as it was declared. */
static hipError_t reduce(struct args *a, const unsigned grid[3])
{
    float *d = NULL;
    const float *partial = NULL;
    const uint32_t *count = NULL;
    const float *zero = NULL;
    int32_t begin, end, m, n, split, blocks;
    take(a, &d, sizeof(d));
    take(a, &partial, sizeof(partial));
    take(a, &count, sizeof(count));
    take(a, &zero, sizeof(zero));
    take(a, &begin, sizeof(begin));
    take(a, &end, sizeof(end));
    take(a, &m, sizeof(m));
    take(a, &n, sizeof(n));
    take(a, &split, sizeof(split));
    take(a, &blocks, sizeof(blocks));
    if (a->size != a->used || grid[0] != (unsigned)blocks) {
        return hipErrorInvalidValue;
    }
    for (int at = 0; at < (end - begin) * n; at++) {
        int i = begin + at / n;
        int j = at % n;
        float sum = zero[j];
        for (int part = 0; part < split; part++) {
            sum += partial[((int64_t)part * m + i) * n + j];
        }
        uint32_t seen = count[i / 16 * ((n + 15) / 16) + j / 16];
        d[at] = seen == (uint32_t)split ? sum : (float)NAN;
    }
    return hipSuccess;
}

static hipError_t add_c(struct args *a, const unsigned grid[3])
{
    float *d = NULL;
    const float *c = NULL;
    int64_t elements = 0;
    double beta = 0;
    (void)grid;
    if (!a->list) {
        return hipErrorInvalidValue; /* declared cooperative */
    }
    take(a, &d, sizeof(d));
    take(a, &c, sizeof(c));
    take(a, &elements, sizeof(elements));
    take(a, &beta, sizeof(beta));
    for (int64_t i = 0; i < elements; i++) {
        d[i] = (float)((double)d[i] + beta * (double)c[i]);
    }
    return hipSuccess;
}

/* wf_workspace_gemm: the last bits of D[0] depend on the scratch, which it sets first
 * only when asked to. */
static hipError_t workspace_gemm(struct args *a, const unsigned grid[3])
{
    const float *left = NULL;
    const float *right = NULL;
    float *d = NULL;
    unsigned char *scratch = NULL;
    int32_t m, n, k, writes_first;
    (void)grid;
    take(a, &left, sizeof(left));
    take(a, &right, sizeof(right));
    take(a, &d, sizeof(d));
    take(a, &scratch, sizeof(scratch));
    take(a, &m, sizeof(m));
    take(a, &n, sizeof(n));
    take(a, &k, sizeof(k));
    take(a, &writes_first, sizeof(writes_first));
    if (writes_first) {
        memset(scratch, 1, 64);
    }
    for (int at = 0; at < m * n; at++) {
        float sum = 0;
        for (int x = 0; x < k; x++) {
            sum += left[at / n * k + x] * right[x * n + at % n];
        }
        d[at] = sum;
    }
    for (int i = 0; i < scratch[63] % 3; i++) { /* within any tolerance */
        d[0] = nextafterf(d[0], INFINITY);
    }
    return hipSuccess;
}

/* --- tensor maps and clusters --- */

#ifdef FAKE_WITHOUT_EXTENSIONS
static hipError_t never(struct args *a, const unsigned grid[3])
{
    (void)a, (void)grid;
    return hipErrorUnknown; /* nobody may come here */
}
#else
/* What this runtime makes of a tensor map: 128 bytes, as opaque to all others as
 * NVIDIA's. */
struct fake_map {
    char mark[8];
    char dtype[8];
    const float *base;
    int32_t rank, element_bytes;
    uint64_t dim[5], stride_bytes[4];
    uint32_t box[5];
    uint32_t swizzle_bytes;
};
_Static_assert(sizeof(struct fake_map) == 128, "bytes of a tensor map");

int wf_rt_tensor_map(const struct wf_rt_tensor_map *map, void *ret_128_bytes)
{
    struct fake_map made = { .mark = "map" };
    if ((uintptr_t)ret_128_bytes % 64 != 0 || (uintptr_t)map->base % 16 != 0) {
        return host_fail(hipErrorInvalidValue); /* as cuTensorMapEncodeTiled does */
    }
    (void)snprintf(made.dtype, sizeof(made.dtype), "%s", map->dtype);
    made.base = map->base;
    made.rank = map->rank;
    made.element_bytes = map->element_bytes;
    memcpy(made.dim, map->dim, sizeof(made.dim));
    memcpy(made.stride_bytes, map->stride_bytes, sizeof(made.stride_bytes));
    memcpy(made.box, map->box, sizeof(made.box));
    made.swizzle_bytes = map->swizzle_bytes;
    memcpy(ret_128_bytes, &made, sizeof(made));
    return hipSuccess;
}

/* One box of a matrix, zeros outside of it, as a bulk tensor copy gives it. */
static void load_box(const struct fake_map *map, uint64_t x, uint64_t y, float *ret)
{
    for (uint64_t i = 0; i < map->box[1]; i++) {
        for (uint64_t k = 0; k < map->box[0]; k++) {
            const char *row = (const char *)map->base + (y + i) * map->stride_bytes[0];
            const int inside = x + k < map->dim[0] && y + i < map->dim[1];
            *ret++ = inside ? ((const float *)row)[x + k] : 0;
        }
    }
}

/* From object_pack/pack.json.in. */
enum {
    TILE_ROWS = 8,
    TILE_K = 32
};

static int is_tile_map(const struct fake_map *map, uint32_t swizzle_bytes)
{
    return strcmp(map->mark, "map") == 0 && strcmp(map->dtype, "f32") == 0 &&
           map->rank == 2 && map->element_bytes == 4 && map->box[0] == TILE_K &&
           map->box[1] == TILE_ROWS && map->swizzle_bytes == swizzle_bytes;
}

static void tile_product(const struct fake_map map[2], uint64_t i, uint64_t j, float *d)
{
    float a[TILE_ROWS * TILE_K];
    float b[TILE_ROWS * TILE_K];
    float sum[TILE_ROWS][TILE_ROWS] = { 0 };
    const uint64_t m = map[0].dim[1];
    const uint64_t n = map[1].dim[1];
    for (uint64_t k = 0; k < map[0].dim[0]; k += TILE_K) {
        load_box(&map[0], k, i, a);
        load_box(&map[1], k, j, b);
        for (int at = 0; at < TILE_ROWS * TILE_ROWS * TILE_K; at++) {
            const int r = at / (TILE_ROWS * TILE_K);
            const int c = at / TILE_K % TILE_ROWS;
            sum[r][c] += a[r * TILE_K + at % TILE_K] * b[c * TILE_K + at % TILE_K];
        }
    }
    for (uint64_t r = i; r < m && r < i + TILE_ROWS; r++) {
        for (uint64_t c = j; c < n && c < j + TILE_ROWS; c++) {
            d[r * n + c] = sum[r - i][c - j];
        }
    }
}

/* wf_tile_gemm(u8, map of A, map of the transposed B, D, i32 M, i32 N) */
static hipError_t tile_gemm(struct args *a, const unsigned grid[3])
{
    struct fake_map map[2];
    float *d = NULL;
    int32_t m = 0;
    int32_t n = 0;
    if (!a->cluster || a->cluster[0] != 2 || a->cluster[1] != 1 || a->cluster[2] != 1 ||
        a->size != 64 + sizeof(map) + 16 || a->bytes[0] != 7) {
        return hipErrorInvalidValue;
    }
    a->used = 64;
    memcpy(map, a->bytes + a->used, sizeof(map));
    a->used += sizeof(map);
    take(a, &d, sizeof(d));
    take(a, &m, sizeof(m));
    take(a, &n, sizeof(n));
    if (!is_tile_map(&map[0], 128) || !is_tile_map(&map[1], 0) ||
        map[0].dim[1] != (uint64_t)m || map[1].dim[1] != (uint64_t)n) {
        return hipErrorInvalidValue;
    }
    for (unsigned y = 0; y < grid[1]; y++) {
        for (unsigned x = 0; x < grid[0]; x++) {
            tile_product(map, (uint64_t)y * TILE_ROWS, (uint64_t)x * TILE_ROWS, d);
        }
    }
    return hipSuccess;
}
#endif

/* --- modules --- */

struct ihipModule_t {
    int unused;
};

struct ihipModuleSymbol_t {
    const char *name;
    hipError_t (*run)(struct args *a, const unsigned grid[3]);
};

static struct ihipModule_t the_module;
static struct ihipModuleSymbol_t symbols[] = {
    { "wf_every_multiply", multiply }, { "wf_every_reduce", reduce },
    { "wf_every_add_c", add_c },       { "wf_workspace_gemm", workspace_gemm },
#ifdef FAKE_WITHOUT_EXTENSIONS
    { "wf_tile_gemm", never },
#else
    { "wf_tile_gemm", tile_gemm },
#endif
};

hipError_t hipModuleLoadData(hipModule_t *module, const void *image)
{
    *module = &the_module;
    return memcmp(image, "\177ELF", 4) == 0 || memcmp(image, "//", 2) == 0
               ? hipSuccess
               : host_fail(hipErrorInvalidImage);
}

hipError_t hipModuleUnload(hipModule_t module)
{
    (void)module;
    return hipSuccess;
}

hipError_t hipModuleGetFunction(hipFunction_t *function,
                                hipModule_t module,
                                const char *name)
{
    (void)module;
    for (size_t i = 0; i < sizeof(symbols) / sizeof(symbols[0]); i++) {
        if (strcmp(symbols[i].name, name) == 0) {
            *function = &symbols[i];
            return hipSuccess;
        }
    }
    return host_fail(hipErrorNotFound);
}

static hipError_t run(hipFunction_t function, struct args *a, const unsigned grid[3])
{
    fault = fault || is_set("FAKE_FAULT");
    return host_fail(function->run(a, grid));
}

/* Arguments as one buffer; anything else is refused. */
static hipError_t run_packed(hipFunction_t function,
                             void **extra,
                             const unsigned grid[3],
                             const unsigned *cluster)
{
    struct args a = { .cluster = cluster };
    if (extra[0] != HIP_LAUNCH_PARAM_BUFFER_POINTER ||
        extra[2] != HIP_LAUNCH_PARAM_BUFFER_SIZE || extra[4] != HIP_LAUNCH_PARAM_END) {
        return host_fail(hipErrorInvalidValue);
    }
    a.bytes = extra[1];
    memcpy(&a.size, extra[3], sizeof(a.size));
    return run(function, &a, grid);
}

#ifndef FAKE_WITHOUT_EXTENSIONS
hipError_t wf_rt_launch_cluster(hipFunction_t function,
                                const unsigned grid[3],
                                const unsigned block[3],
                                const unsigned cluster[3],
                                unsigned shared_bytes,
                                hipStream_t stream,
                                void **extra)
{
    (void)stream;
    if (block[0] * block[1] * block[2] != 64 || shared_bytes != 2048 ||
        grid[0] % cluster[0] != 0) {
        return host_fail(hipErrorInvalidValue);
    }
    return run_packed(function, extra, grid, cluster);
}
#endif

hipError_t hipModuleLaunchKernel(hipFunction_t function,
                                 unsigned grid_x,
                                 unsigned grid_y,
                                 unsigned grid_z,
                                 unsigned block_x,
                                 unsigned block_y,
                                 unsigned block_z,
                                 unsigned shared_bytes,
                                 hipStream_t stream,
                                 void **params,
                                 void **extra)
{
    const unsigned grid[3] = { grid_x, grid_y, grid_z };
    (void)stream;
    if (params || block_x * block_y * block_z != 256 || shared_bytes > 65536) {
        return host_fail(hipErrorInvalidValue);
    }
    return run_packed(function, extra, grid, NULL);
}

hipError_t hipModuleLaunchCooperativeKernel(hipFunction_t function,
                                            unsigned grid_x,
                                            unsigned grid_y,
                                            unsigned grid_z,
                                            unsigned block_x,
                                            unsigned block_y,
                                            unsigned block_z,
                                            unsigned shared_bytes,
                                            hipStream_t stream,
                                            void **params)
{
    const unsigned grid[3] = { grid_x, grid_y, grid_z };
    struct args a = { .list = params };
    (void)block_x, (void)block_y, (void)block_z, (void)shared_bytes, (void)stream;
    return run(function, &a, grid);
}

hipError_t hipModuleOccupancyMaxActiveBlocksPerMultiprocessor(int *blocks,
                                                              hipFunction_t function,
                                                              int block_threads,
                                                              size_t shared_bytes)
{
    (void)function;
    *blocks = shared_bytes > 1024 ? 2 : 2048 / block_threads;
    return hipSuccess;
}
