/* What counters and fault detection cost in whole kernels: copies, gathers, a transpose
 * through LDS, arithmetic, and the pack's paged decode attention. Processor time, the
 * median of several launches.
 *
 *   bench_emulator_kernels KERNELS [PAGED-DECODE-D128] */
#include "tests/bench/bench.h"
#include "tests/emulator/kernel_arguments.h"
#include "tests/emulator/program.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    DWORDS = 1 << 20, /* of a buffer: a matrix of 1024 x 1024 */
    REPEATS = 7,
    HEAD_DIM = 128,
    PAGE_SIZE = 16,
    SEQUENCES = 4,
    KV_HEADS = 4,
    GROUP = 8,
    KEYS = 1024
};

static const struct {
    const char *name;
    bool checks, counters;
} modes[] = { { "plain", false, false },
              { "counters", false, true },
              { "checks", true, false },
              { "both", true, true } };

/* Seconds of the median launch; *ret: wave-instructions. */
static double median_of(struct program *p,
                        const char *name,
                        const struct program_launch *launch,
                        const void *arguments,
                        size_t bytes,
                        uint64_t *ret)
{
    double seconds[REPEATS];
    for (unsigned i = 0; i < REPEATS; i++) {
        double start = bench_cpu_s();
        struct em_report r = program_run(p, name, launch, arguments, bytes);
        seconds[i] = bench_cpu_s() - start;
        if (r.faulted) {
            (void)fprintf(stderr, "%s: %s\n", name, r.fault.text);
            exit(1);
        }
        *ret = r.instructions;
        em_report_fini(&r);
    }
    return bench_median(seconds, REPEATS);
}

static void report(struct program *p,
                   const char *name,
                   struct program_launch launch,
                   const void *arguments,
                   size_t bytes)
{
    printf("%-20s", name);
    double plain = 0;
    launch.threads = 1;
    for (size_t i = 0; i < sizeof(modes) / sizeof(modes[0]); i++) {
        uint64_t instructions = 0;
        launch.unchecked = !modes[i].checks;
        launch.count = modes[i].counters;
        double s = median_of(p, name, &launch, arguments, bytes, &instructions);
        plain = i == 0 ? s : plain;
        printf("  %-8s %6.1f M/s %5.2f", modes[i].name, 1e-6 * (double)instructions / s,
               s / plain);
    }
    printf("\n");
}

static void memory_kernels(const char *path)
{
    static const struct {
        const char *name;
        uint32_t grid;
    } kernels[] = { { "copy_x1", 256 },  { "copy_x4", 256 }, { "copy_half", 256 },
                    { "gather", 256 },   { "strided", 256 }, { "transpose", 1024 },
                    { "arithmetic", 64 } };
    struct program p = program_open(path);
    struct {
        uint64_t to, from;
        uint32_t mask, threads;
    } arguments = { 0 };
    arguments.to = program_buffer(&p, (uint64_t)4 * DWORDS);
    arguments.from = program_buffer(&p, (uint64_t)4 * DWORDS);
    arguments.mask = DWORDS - 1;
    float *from = program_host(arguments.from);
    for (size_t i = 0; i < DWORDS; i++) {
        from[i] = (float)i;
    }
    for (size_t i = 0; i < sizeof(kernels) / sizeof(kernels[0]); i++) {
        arguments.threads = 256 * kernels[i].grid;
        /* Every mode writes anew, so that its writes count. */
        memset(program_host(arguments.to), 0xff, (size_t)4 * DWORDS);
        struct program_launch launch = { .grid = kernels[i].grid, .block = 256 };
        report(&p, kernels[i].name, launch, &arguments, sizeof(arguments));
    }
    program_close(&p);
}

static uint64_t halves(struct program *p, size_t count, uint32_t seed)
{
    uint64_t address = program_buffer(p, 2 * count);
    uint16_t *x = program_host(address);
    for (size_t i = 0; i < count; i++) {
        seed = seed * 1664525u + 1013904223u;
        x[i] = (uint16_t)(0x3000u | (seed >> 16 & 0x8fffu)); /* +- 0.125 to 1 */
    }
    return address;
}

static void decode_kernel(const char *path)
{
    struct program p = program_open(path);
    size_t pages = (size_t)SEQUENCES * KEYS / PAGE_SIZE;
    size_t rows = (size_t)SEQUENCES * KV_HEADS * GROUP;
    size_t cache = pages * PAGE_SIZE * KV_HEADS * HEAD_DIM;
    struct decode_arguments a = { .q_heads = KV_HEADS * GROUP,
                                  .kv_heads = KV_HEADS,
                                  .page_size = PAGE_SIZE,
                                  .parts = 1,
                                  .part_keys = KEYS,
                                  .window_left = -1,
                                  .page_stride = PAGE_SIZE * KV_HEADS * HEAD_DIM,
                                  .slot_stride = KV_HEADS * HEAD_DIM,
                                  .head_stride = HEAD_DIM,
                                  .scale_log2 = 0.125f,
                                  .v_scale = 1.0f };
    a.q = halves(&p, rows * HEAD_DIM, 1);
    a.k = halves(&p, cache, 2);
    a.v = halves(&p, cache, 3);
    a.o = program_buffer(&p, 2 * rows * HEAD_DIM);
    a.lse = program_buffer(&p, 4 * rows);
    a.kv_indptr = program_buffer(&p, 4 * (SEQUENCES + 1));
    a.kv_indices = program_buffer(&p, 4 * pages);
    a.kv_last_page_len = program_buffer(&p, 4 * SEQUENCES);
    int32_t *indptr = program_host(a.kv_indptr);
    int32_t *indices = program_host(a.kv_indices);
    int32_t *last = program_host(a.kv_last_page_len);
    for (int32_t i = 0; i <= SEQUENCES; i++) {
        indptr[i] = i * (KEYS / PAGE_SIZE);
    }
    for (size_t i = 0; i < pages; i++) {
        indices[i] = (int32_t)(i * 37 % pages);
    }
    for (int32_t i = 0; i < SEQUENCES; i++) {
        last[i] = PAGE_SIZE;
    }
    struct program_launch launch = { .grid = KV_HEADS,
                                     .grid_yz = { SEQUENCES, 1 },
                                     .block = 256,
                                     .dynamic_lds_bytes =
                                         4 * GROUP * (HEAD_DIM + 2) * 4 };
    report(&p, "wf_paged_decode_f16", launch, &a, sizeof(a));
    program_close(&p);
}

int main(int argc, char **argv)
{
    if (argc != 2 && argc != 3) {
        (void)fprintf(stderr, "usage: %s KERNELS [PAGED-DECODE-D128]\n", argv[0]);
        return 2;
    }
    printf("wave-instructions a second of processor time; times as slow as plain\n\n");
    memory_kernels(argv[1]);
    if (argc > 2) {
        decode_kernel(argv[2]);
    }
    return 0;
}
