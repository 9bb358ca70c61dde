/* Clocks behind a struct, so that tests use a fake one and never sleep. */
#ifndef WF_CORE_CLOCK_H
#define WF_CORE_CLOCK_H

#include <stddef.h>
#include <stdint.h>

struct wf_clock {
    /* CLOCK_BOOTTIME in ns: does not stop while the machine is suspended. */
    int64_t (*boot_ns)(void *ctx);
    void (*sleep_ns)(void *ctx, int64_t ns); /* may return early on a signal */
    void *ctx;
};

const struct wf_clock *wf_clock_system(void);

int64_t wf_monotonic_ns(void);  /* CLOCK_MONOTONIC_RAW, for measuring */
int64_t wf_thread_cpu_ns(void); /* processor time of the calling thread */
int64_t wf_realtime_ns(void);   /* wall clock, data only: never compared across hosts */
/* "2026-12-01T03:04:05.678Z" */
void wf_format_utc(int64_t realtime_ns, char *ret, size_t n);

#endif
