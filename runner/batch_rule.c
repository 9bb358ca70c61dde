#include "runner/batch_rule.h"

#include <math.h>

int64_t batch_least_ns(int64_t asked_ns, double tick_ns)
{
    if (!isfinite(tick_ns) || !(tick_ns > 0)) {
        return asked_ns;
    }
    double need_ns = tick_ns * BATCH_TICKS;
    int64_t least_ns = need_ns < (double)BATCH_TICK_MAX_NS ? (int64_t)ceil(need_ns)
                                                           : BATCH_TICK_MAX_NS;
    return least_ns > asked_ns ? least_ns : asked_ns;
}

double batch_tick_share(double tick_ns, double launch_ns, uint32_t launches)
{
    double batch_ns = launch_ns * launches;
    return tick_ns > 0 && batch_ns > 0 ? tick_ns / batch_ns : (double)NAN;
}
