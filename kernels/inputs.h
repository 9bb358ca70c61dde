/* Input distributions, shared by all ops. Every element is a function of (kind, type,
 * seed, stream, position): any split of a tensor, on any machine, gives the same bits.
 */
#ifndef WF_KERNELS_INPUTS_H
#define WF_KERNELS_INPUTS_H

#include "core/dtype.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* X(NAME, text):
 *   normal    N(0, 1); integer types: rounded, standard deviation a quarter of the
 *             largest value
 *   uniform   [-1, 1); integer types: rounded from [-max, max)
 *   integers  -2 .. 2, so that sums are exact
 *   ones, zeros
 *   powers    +-2^k, k in -2 .. 2 (integer types: 0 .. 2): products are exact */
#define WF_INPUTS_LIST(X)   \
    X(NORMAL, "normal")     \
    X(UNIFORM, "uniform")   \
    X(INTEGERS, "integers") \
    X(ONES, "ones")         \
    X(ZEROS, "zeros")       \
    X(POWERS, "powers")

enum wf_inputs {
#define X(name, text) WF_INPUTS_##name,
    WF_INPUTS_LIST(X)
#undef X
    WF_INPUTS_COUNT
};

struct wf_input_stream {
    enum wf_inputs kind;
    enum wf_dtype dtype;
    uint64_t seed;
    uint64_t stream; /* one for each tensor */
};

const char *wf_inputs_name(enum wf_inputs kind);
bool wf_inputs_parse(const char *text, enum wf_inputs *ret); /* exact names only */

/* Positions first .. first + n. */
void wf_inputs_fill(const struct wf_input_stream *s,
                    uint64_t first,
                    size_t n,
                    void *dst);

#endif
