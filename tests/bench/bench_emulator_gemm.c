/* Speed of a whole MFMA GEMM in the emulator: the pack's gfx942 kernel at one size, in
 * every mode, each the median of several launches, side by side in one run: by the
 * clock, and by the processor time of all threads.
 *
 *   bench_emulator_gemm CODE-OBJECT [M N K [REPEATS]]
 *
 * The kernel is that of tests/emulator/gemm_f16.hip, 128 x 128 (mutant-gemm-nt.co). */
#include "core/parse.h"
#include "tests/bench/bench.h"
#include "tests/emulator/kernel_arguments.h"
#include "tests/emulator/program.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct mode {
    const char *name;
    bool exact, checks, counters;
    unsigned threads;
};

static const struct mode modes[] = {
    { "fast, plain", false, false, false, 1 },
    { "fast, counters", false, false, true, 1 },
    { "fast, checks", false, true, false, 1 },
    { "fast, checks + counters", false, true, true, 1 },
    { "exact, plain", true, false, false, 1 },
    { "exact, counters", true, false, true, 1 },
    { "exact, checks", true, true, false, 1 },
    { "exact, checks + counters", true, true, true, 1 },
    { "fast, plain", false, false, false, 2 },
    { "fast, checks + counters", false, true, true, 2 },
};

struct times {
    double wall_s, cpu_s; /* medians */
};

static struct times median(struct program *p,
                           const struct mode *mode,
                           uint32_t grid,
                           const struct gemm_arguments *args,
                           unsigned repeats)
{
    double wall[32];
    double cpu[32];
    struct program_launch launch = { .grid = grid,
                                     .block = 256,
                                     .unchecked = !mode->checks,
                                     .count = mode->counters,
                                     .exact = mode->exact,
                                     .threads = mode->threads };
    for (unsigned i = 0; i < repeats; i++) {
        double start = bench_cpu_s();
        struct em_report r =
            program_run(p, "wf_gemm_f16", &launch, args, sizeof(*args));
        if (r.faulted) {
            (void)fprintf(stderr, "the kernel faulted: %s\n", r.fault.text);
            exit(1);
        }
        cpu[i] = bench_cpu_s() - start;
        wall[i] = 1e-9 * (double)r.host_ns;
        em_report_fini(&r);
    }
    return (struct times){ bench_median(wall, repeats), bench_median(cpu, repeats) };
}

static void fill(uint64_t address, size_t count, uint32_t seed)
{
    uint16_t *x = program_host(address);
    for (size_t i = 0; i < count; i++) {
        seed = seed * 1664525u + 1013904223u;
        x[i] = (uint16_t)(0x3000u | (seed >> 16 & 0x8fffu)); /* +- 0.125 to 1 */
    }
}

static int64_t number(const char *text, const char *what)
{
    int64_t value = 0;
    struct wf_error err = { 0 };
    if (wf_parse_i64(text, what, 1, 65536, &value, &err) != WF_OK) {
        (void)fprintf(stderr, "%s\n", err.text);
        exit(2);
    }
    return value;
}

int main(int argc, char **argv)
{
    if (argc != 2 && argc != 5 && argc != 6) {
        (void)fprintf(stderr, "usage: %s CODE-OBJECT [M N K [REPEATS]]\n", argv[0]);
        return 2;
    }
    int64_t m = argc > 2 ? number(argv[2], "M") : 1024;
    int64_t n = argc > 3 ? number(argv[3], "N") : 1024;
    int64_t k = argc > 4 ? number(argv[4], "K") : 1024;
    unsigned repeats = argc > 5 ? (unsigned)number(argv[5], "REPEATS") : 5;
    int64_t tile = strstr(argv[1], "256x256") ? 256 : 128;
    struct program p = program_open(argv[1]);
    struct gemm_arguments args = { .m = (int32_t)m,
                                   .n = (int32_t)n,
                                   .k = (int32_t)k,
                                   .split = 1,
                                   .k_per_split = (int32_t)k,
                                   .xcc_count = 8,
                                   .lda = k,
                                   .ldb = k,
                                   .ldc = n,
                                   .ldd = n,
                                   .alpha = 1.0f };
    args.a = program_buffer(&p, (uint64_t)(2 * m * k));
    args.b = program_buffer(&p, (uint64_t)(2 * n * k));
    args.d = program_buffer(&p, (uint64_t)(2 * m * n));
    fill(args.a, (size_t)(m * k), 1);
    fill(args.b, (size_t)(n * k), 2);
    uint32_t grid = (uint32_t)(((m + tile - 1) / tile) * ((n + tile - 1) / tile));
    double gflop = 2e-9 * (double)m * (double)n * (double)k;
    printf("MFMA GEMM f16 NT, M N K = %lld %lld %lld, %u workgroups, median of %u\n\n",
           (long long)m, (long long)n, (long long)k, grid, repeats > 32 ? 32 : repeats);
    printf("%-26s %8s %10s %16s %14s\n", "mode", "threads", "GFLOP/s",
           "a core's GFLOP/s", "times as slow");
    double plain = 0;
    for (size_t i = 0; i < sizeof(modes) / sizeof(modes[0]); i++) {
        struct times t =
            median(&p, &modes[i], grid, &args, repeats > 32 ? 32 : repeats);
        plain = i == 0 ? t.cpu_s : plain;
        printf("%-26s %8u %10.2f %16.2f %14.2f\n", modes[i].name, modes[i].threads,
               gflop / t.wall_s, gflop / t.cpu_s, t.cpu_s / plain);
    }
    program_close(&p);
    return 0;
}
