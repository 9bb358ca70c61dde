/* The probe op: work of which everything is known beforehand, to measure the measuring.
 * `wavefarm selftest timing` and the cold probe (runner/cold_probe.h) use it; any suite
 * may. Seven kinds, by member "work":
 *
 *   read    reads X once. Y[p] is the sum, modulo 2^32, of the words of those 16-byte
 *           pieces c of X for which (c / 256) % parts == p.  Members bytes (a multiple
 *           of 4096), parts.
 *   code    runs `steps` different instruction sequences, once each and without a
 *           loop, on every lane: Y[i] = step applied to X[i], steps times. The kernel's
 *           code is large, its data is not.  Members lanes (a multiple of 256), steps.
 *   spin    one lane waits until the device's own clock of constant rate has advanced
 *           by `ns`. Y[i] = ns.
 *   clocks  one lane waits until the counter of core clocks has advanced by `clocks`.
 *           Y[i] = clocks.
 *
 * The sentinels of a gate (docs/gate-sentinels.md), each bound by one thing:
 *
 *   alu     four chains a lane, each step the map v = v * PROBE_M + PROBE_K four times.
 *           Chain j begins with X[i] + j * PROBE_STRIDE; Y[i] is the exclusive or of
 *           their ends.  Members lanes, steps.
 *   hbm     `read` of the first `bytes` of X, which has PROBE_TAIL_PERCENT % more
 *           behind them (whole groups, rounded up) for the kernel that does more.
 *           Members bytes, parts.
 *   lds     a table of PROBE_TABLE 16-byte pieces in local memory, copied from X. Step
 *           s of lane i reads the pieces (i % 256 + 17 s + 64 j) % 256, j = 0 .. 3:
 *           Y[i] = i * PROBE_STRIDE plus the sum of all words read.  Members lanes,
 *           steps.
 *
 * Everything is 32-bit integers (i32 by name; sums and products wrap), so that an
 * answer is right to the bit. A step of number i, with k = 0x9e3779b9 i + 0x7f4a7c15
 * and m = 0x85ebca6b i | 1:  v = (v ^ k) m;  v = v ^ (v >> 15). */
#ifndef WF_KERNELS_PROBE_PROBE_H
#define WF_KERNELS_PROBE_PROBE_H

#include "kernels/op.h"

#define PROBE_PIECE_BYTES  16u
#define PROBE_GROUP_PIECES 256u /* pieces that a workgroup reads together */
#define PROBE_GROUP_BYTES  (PROBE_PIECE_BYTES * PROBE_GROUP_PIECES)
#define PROBE_SPIN_WORDS   4

#define PROBE_M            0x915f77f5u
#define PROBE_K            0x6a09e667u
#define PROBE_STRIDE       0x9e3779b9u
#define PROBE_CHAINS       4
#define PROBE_TABLE        256u
#define PROBE_TAIL_PERCENT 3

/* X(NAME, text) */
#define PROBE_WORK_LIST(X) \
    X(READ, "read")        \
    X(CODE, "code")        \
    X(SPIN, "spin")        \
    X(CLOCKS, "clocks")    \
    X(ALU, "alu")          \
    X(HBM, "hbm")          \
    X(LDS, "lds")

enum probe_work {
#define X(name, text) PROBE_##name,
    PROBE_WORK_LIST(X)
#undef X
    PROBE_WORK_COUNT
};

enum {
    PROBE_X,
    PROBE_Y,
    PROBE_TENSOR_COUNT
};

struct probe {
    enum probe_work work;
    int64_t bytes, parts; /* read, hbm */
    int64_t lanes, steps; /* code, alu, lds */
    int64_t ns;           /* spin */
    int64_t clocks;       /* clocks */
    struct wf_tensor tensor[PROBE_TENSOR_COUNT];
};

extern const struct wf_reference_ops probe_reference_ops;

/* Words [first, first + n) of X under a seed. */
void probe_words(uint64_t seed, uint64_t first, uint64_t n, uint32_t *dst);

/* Y of an alu probe from X in `y`, in place. */
void probe_expect_alu(const struct probe *p, uint32_t *y);
/* Y of an lds probe; `table` holds the PROBE_TABLE pieces of X. */
void probe_expect_lds(const struct probe *p, const uint32_t *table, uint32_t *y);

#endif
