/* How long a batch must last for the step of the device's clock. Pure.
 *
 * The difference of two events is wrong by up to one step of that clock, so a batch of
 * a thousand steps is wrong by 0.1 % at most. A clock that coarse that this would be
 * more than 10 ms (a step above 10 us) is not waited for: the result tells its share.
 */
#ifndef WF_RUNNER_BATCH_RULE_H
#define WF_RUNNER_BATCH_RULE_H

#include <stdint.h>

#define BATCH_TICKS       1000
#define BATCH_TICK_MAX_NS ((int64_t)10000000)

/* The longer of what is asked for and what the step needs; tick_ns not finite or not
 * positive: not known. */
int64_t batch_least_ns(int64_t asked_ns, double tick_ns);
/* The share of a batch that a step is; NaN when it or the batch is not known. */
double batch_tick_share(double tick_ns, double launch_ns, uint32_t launches);

#endif
