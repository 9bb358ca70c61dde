#include "runner/trust.h"

#define NS_PER_MS 1000000LL

int64_t wf_trust_margin_ns(int64_t ttl_ns)
{
    int64_t margin = ttl_ns / 10;
    if (margin < 250 * NS_PER_MS) {
        margin = 250 * NS_PER_MS;
    }
    return margin > 3000 * NS_PER_MS ? 3000 * NS_PER_MS : margin;
}

int64_t wf_trusted_until_ns(int64_t request_start_ns, int64_t ttl_ns)
{
    int64_t margin = wf_trust_margin_ns(ttl_ns);
    return ttl_ns <= margin ? 0 : request_start_ns + ttl_ns - margin;
}

bool wf_is_trusted(int64_t trusted_until_ns, int64_t now_ns)
{
    return now_ns < trusted_until_ns;
}
