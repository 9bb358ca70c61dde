/* Time and rate of the emulator's matrix instructions on one core, by both modes.
 *   bench_emulator_mfma [PART-OF-A-MNEMONIC]
 * Medians of 31 samples of 1 ms of CPU time; run it on a release build. */
#include "emulator/exec/mfma.h"
#include "tests/bench/bench.h"

#include <stdio.h>
#include <stdlib.h>

enum {
    SAMPLES = 31,
    SAMPLE_NS = 1000000
};

/* Ordinary values of any of the types: bytes whose exponents are near the middle. */
static void fill(struct em_wave *w)
{
    uint64_t state = 1;
    for (size_t i = 0; i < (size_t)EM_ROWS * EM_LANES; i++) {
        uint32_t word = 0;
        for (unsigned byte = 0; byte < 4; byte++) {
            state =
                state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
            word = word << 8 | (0x36 + (uint32_t)(state >> 60)) |
                   (uint32_t)(state >> 52 & 0x80);
        }
        w->v[i] = word;
    }
}

static double median_ns(struct em_wave *w, const struct em_op *op)
{
    double sample[SAMPLES];
    for (unsigned s = 0; s < SAMPLES; s++) {
        uint64_t runs = 0;
        double start = bench_cpu_s();
        double took_ns;
        do {
            for (unsigned i = 0; i < 64; i++) {
                (void)op->run(w, op);
            }
            runs += 64;
            took_ns = 1e9 * (bench_cpu_s() - start);
        } while (took_ns < SAMPLE_NS);
        sample[s] = took_ns / (double)runs;
    }
    return bench_median(sample, SAMPLES);
}

/* D = A * B + C with C a constant, so that values stay ordinary; a sparse one adds to
 * D. */
static void bench(struct em_wave *w, const struct em_mfma_shape *s)
{
    struct em_inst in = { 0 };
    bool sparse = s->flags & EM_MFMA_SPARSE;
    in.op = s->op;
    in.encoding = EM_VOP3P;
    in.dst.code = EM_AGPR0;
    in.src[0].code = EM_VGPR0;
    in.src[1].code = EM_VGPR0 + 8;
    in.src[2].code = sparse ? EM_VGPR0 + 16 : EM_VGPR0 + 32;
    struct em_op op;
    memset(&op, 0, sizeof(op));
    op.in = in;
    if (!em_bind_mfma(&op)) {
        return;
    }
    double flop = 2.0 * s->mn * s->mn * s->blocks * s->k; /* sparse: as if dense */
    printf("%-30s", em_op_info((enum em_opcode)s->op)->name);
    for (unsigned exact = 0; exact < 2; exact++) {
        fill(w);
        w->exact = exact;
        double ns = median_ns(w, &op);
        printf(" %9.0f ns %7.1f GFLOP/s", ns, flop / ns);
    }
    printf("\n");
}

int main(int argc, char **argv)
{
    struct em_wave *w = em_wave_create();
    if (!w) {
        return 1;
    }
    size_t count;
    const struct em_mfma_shape *shape = em_mfma_shapes(&count);
    printf("%-30s %25s %29s\n", "instruction", "fast", "exact");
    for (size_t i = 0; i < count; i++) {
        const char *name = em_op_info((enum em_opcode)shape[i].op)->name;
        if (argc < 2 || strstr(name, argv[1])) {
            bench(w, &shape[i]);
        }
    }
    em_wave_destroy(w);
    return 0;
}
