/* How long a runner may trust its leases. Pure.
 *
 * Only durations cross the wire. The runner counts from the moment before it sent the
 * request that the coordinator answered, on CLOCK_BOOTTIME, and keeps a margin for the
 * way of a kill: so its window always ends before the coordinator's. */
#ifndef WF_RUNNER_TRUST_H
#define WF_RUNNER_TRUST_H

#include <stdbool.h>
#include <stdint.h>

/* A tenth of the ttl, at least 250 ms, at most 3 s. */
int64_t wf_trust_margin_ns(int64_t ttl_ns);
/* 0 when the ttl is not longer than the margin (never trusted). */
int64_t wf_trusted_until_ns(int64_t request_start_ns, int64_t ttl_ns);
bool wf_is_trusted(int64_t trusted_until_ns, int64_t now_ns);

#endif
