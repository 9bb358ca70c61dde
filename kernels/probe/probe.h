/* The probe op: work of which everything is known beforehand, to measure the measuring.
 * `wavefarm selftest timing` and the cold probe (runner/cold_probe.h) use it; any suite
 * may. Four kinds, by member "work":
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

/* X(NAME, text) */
#define PROBE_WORK_LIST(X) \
    X(READ, "read") X(CODE, "code") X(SPIN, "spin") X(CLOCKS, "clocks")

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
    int64_t bytes, parts; /* read */
    int64_t lanes, steps; /* code */
    int64_t ns;           /* spin */
    int64_t clocks;       /* clocks */
    struct wf_tensor tensor[PROBE_TENSOR_COUNT];
};

extern const struct wf_reference_ops probe_reference_ops;

/* Words [first, first + n) of X under a seed. */
void probe_words(uint64_t seed, uint64_t first, uint64_t n, uint32_t *dst);

#endif
