/* Expected words of the sentinels, without walking their steps: the alu chains are an
 * affine map, whose power is an affine map; the lds sums depend on the lane's number in
 * its group alone. */
#include "kernels/probe/probe.h"

#define MAPS_A_STEP 4 /* of a chain */

void probe_expect_alu(const struct probe *p, uint32_t *y)
{
    uint32_t m = 1, k = 0; /* v -> m v + k, after all steps */
    for (int64_t i = 0; i < p->steps * MAPS_A_STEP; i++) {
        m *= PROBE_M;
        k = k * PROBE_M + PROBE_K;
    }
    for (int64_t i = 0; i < p->lanes; i++) {
        const uint32_t x = y[i];
        uint32_t all = 0;
        for (uint32_t j = 0; j < PROBE_CHAINS; j++) {
            all ^= (x + j * PROBE_STRIDE) * m + k;
        }
        y[i] = all;
    }
}

void probe_expect_lds(const struct probe *p, const uint32_t *table, uint32_t *y)
{
    uint32_t piece[PROBE_TABLE], sum[PROBE_TABLE] = { 0 };
    for (uint32_t i = 0; i < PROBE_TABLE; i++) {
        const uint32_t *w = table + (size_t)4 * i;
        piece[i] = w[0] + w[1] + w[2] + w[3];
    }
    for (uint32_t s = 0; s < (uint32_t)p->steps; s++) {
        for (uint32_t i = 0; i < PROBE_TABLE; i++) {
            for (uint32_t j = 0; j < 4; j++) {
                sum[i] += piece[(i + 17 * s + 64 * j) % PROBE_TABLE];
            }
        }
    }
    for (int64_t i = 0; i < p->lanes; i++) {
        y[i] = (uint32_t)i * PROBE_STRIDE + sum[i % PROBE_TABLE];
    }
}
