#include "tests/campaign/gemm_reduce.h"

int64_t gemm_reduce_dim(int64_t value, int64_t modulus, int64_t count)
{
    const int64_t rest = value % modulus;
    const int64_t least = rest == 0 ? count * modulus : (count - 1) * modulus + rest;
    return least < value ? least : value;
}

double gemm_shape_flops(struct gemm_shape s)
{
    return 2.0 * (double)s.m * (double)s.n * (double)s.k;
}

struct gemm_shape gemm_reduce(struct gemm_shape full,
                              const struct gemm_tiles *tiles,
                              int64_t more_steps,
                              double max_flops)
{
    int64_t round = tiles->k * tiles->split;
    struct gemm_shape s = { gemm_reduce_dim(full.m, tiles->m, 2),
                            gemm_reduce_dim(full.n, tiles->n, 2),
                            gemm_reduce_dim(full.k, round, 2) };
    if (gemm_shape_flops(s) > max_flops) {
        round = tiles->k;
        s.k = gemm_reduce_dim(full.k, round, 2);
    }
    for (int64_t i = 0; i < more_steps; i++) {
        struct gemm_shape larger = { s.m, s.n, s.k + round };
        if (larger.k > full.k || gemm_shape_flops(larger) > max_flops) {
            break;
        }
        s = larger;
    }
    return s;
}
