/* The kernels' division of whole numbers against C's, with a reciprocal that is right
 * to the last place and one digit wrong either way. */
#include "core/rng.h"

#include <criterion/criterion.h>
#include <math.h>
#include <stdint.h>

int quotient_by(int a, int b, float r);

static uint64_t wrong;
static uint64_t tried;

static void try_one(int64_t a, int64_t b, float r)
{
    if (a < 0 || a > INT32_MAX) {
        return;
    }
    tried++;
    if (quotient_by((int)a, (int)b, r) != a / b && wrong++ < 5) {
        cr_log_error("%lld / %lld with %a: %d", (long long)a, (long long)b, (double)r,
                     quotient_by((int)a, (int)b, r));
    }
}

/* Where a quotient changes, at the greatest numbers and between. */
static void try_divisor(int64_t b, struct wf_rng *rng)
{
    if (b < 1 || b > INT32_MAX) {
        return;
    }
    const float r = 1.0F / (float)(uint32_t)b;
    const float near[3] = { nextafterf(r, 0), r, nextafterf(r, 2) };
    int64_t most = INT32_MAX / b * b;
    int64_t some = (int64_t)wf_rng_next_below(rng, (uint64_t)(INT32_MAX / b) + 1) * b;
    for (int i = 0; i < 3; i++) {
        for (int64_t d = -1; d <= 1; d++) {
            try_one(b + d, b, near[i]);
            try_one(most + d, b, near[i]);
            try_one(some + d, b, near[i]);
        }
        try_one(0, b, near[i]);
        try_one(INT32_MAX, b, near[i]);
    }
}

Test(lockstep_quotient, every_quotient_is_C_s)
{
    struct wf_rng rng = { .seed = 11 };
    for (int64_t b = 1; b <= 70000; b++) {
        try_divisor(b, &rng);
        try_divisor(INT32_MAX - b, &rng);
        try_divisor((INT64_C(1) << 32) / b, &rng);
        try_divisor((INT64_C(1) << 32) / b + 1, &rng);
        try_divisor((int64_t)wf_rng_next_below(&rng, INT32_MAX) + 1, &rng);
    }
    for (int bit = 0; bit < 31; bit++) {
        for (int64_t d = -2; d <= 2; d++) {
            try_divisor((INT64_C(1) << bit) + d, &rng);
        }
    }
    cr_assert_eq(wrong, 0, "%llu of %llu", (unsigned long long)wrong,
                 (unsigned long long)tried);
    cr_assert_gt(tried, 5000000);
}
