/* Batches that are long enough for the clock of the device's events. */
#include "runner/batch_rule.h"

#include "runner/stopping.h"

#include <criterion/criterion.h>
#include <math.h>

Test(batch, a_step_is_at_most_a_thousandth_of_a_batch)
{
    static const double ticks[] = { 1, 10, 32, 500, 1024 };
    for (size_t i = 0; i < sizeof(ticks) / sizeof(ticks[0]); i++) {
        int64_t least_ns = batch_least_ns(50000, ticks[i]);
        uint32_t n = stopping_launches(5000, least_ns);
        cr_expect_geq(least_ns, 50000);
        cr_expect_leq(batch_tick_share(ticks[i], 5000, n), 0.001, "%g ns", ticks[i]);
    }
    cr_expect_eq(batch_least_ns(50000, 32), 50000, "what is asked for is enough");
    cr_expect_eq(batch_least_ns(50000, 500), 500000);
}

Test(batch, a_coarse_or_silent_clock_does_not_make_endless_batches)
{
    cr_expect_eq(batch_least_ns(50000, 1e6), BATCH_TICK_MAX_NS);
    cr_expect_eq(batch_least_ns(50000, INFINITY), 50000);
    cr_expect_eq(batch_least_ns(50000, NAN), 50000);
    cr_expect_eq(batch_least_ns(50000, 0), 50000);
    cr_expect_eq(batch_least_ns(20000000, 1e6), 20000000);
    cr_expect(isnan(batch_tick_share(0, 5, 1)) && isnan(batch_tick_share(1, NAN, 1)));
}
