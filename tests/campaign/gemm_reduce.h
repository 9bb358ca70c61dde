/* Sizes that are as awkward for a kernel as a large product's, and cheap.
 *
 * What a kernel does at the edge of a tile, of a k-step or of a split depends on the
 * size's rest by it alone; what it does inside is the same from the second one on. So a
 * dimension becomes the least one that has the same rest and still crosses from one
 * tile into another; smaller ones stay as they are. */
#ifndef WF_TESTS_GEMM_REDUCE_H
#define WF_TESTS_GEMM_REDUCE_H

#include "tests/campaign/gemm_shapes.h"

struct gemm_tiles {
    int64_t m, n, k; /* of a workgroup; k: the step; > 0 */
    int64_t split;   /* partial sums, >= 1 */
};

/* Least x <= value with x = value modulo `modulus` and at least `count` tiles of
 * `modulus`, the last one perhaps not full; `value` where there is none. */
int64_t gemm_reduce_dim(int64_t value, int64_t modulus, int64_t count);

/* Two tiles each way, two steps of each split, and up to `more_steps` whole rounds of k
 * on top while the product stays within `max_flops` (2 M N K). Where two rounds of k do
 * not, the rest by the step alone is kept. */
struct gemm_shape gemm_reduce(struct gemm_shape full,
                              const struct gemm_tiles *tiles,
                              int64_t more_steps,
                              double max_flops);

double gemm_shape_flops(struct gemm_shape s);

#endif
