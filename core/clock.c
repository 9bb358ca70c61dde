/* The system's clocks. Programs take a struct wf_clock and never call these directly
 * where a test wants to move time itself. */
#include "core/clock.h"

#include <stdio.h>
#include <time.h>

#define NS_PER_S INT64_C(1000000000)

static int64_t read_clock(clockid_t id)
{
    struct timespec ts = { 0, 0 };

    (void)clock_gettime(id, &ts); /* fails only for an unknown id */
    return (int64_t)ts.tv_sec * NS_PER_S + ts.tv_nsec;
}

static int64_t system_boot_ns(void *ctx)
{
    (void)ctx;
    return read_clock(CLOCK_BOOTTIME);
}

static void system_sleep_ns(void *ctx, int64_t ns)
{
    struct timespec ts;

    (void)ctx;
    if (ns <= 0) {
        return;
    }
    ts.tv_sec = (time_t)(ns / NS_PER_S);
    ts.tv_nsec = (long)(ns % NS_PER_S);
    (void)nanosleep(&ts, NULL);
}

const struct wf_clock *wf_clock_system(void)
{
    static const struct wf_clock clock = { system_boot_ns, system_sleep_ns, NULL };

    return &clock;
}

int64_t wf_monotonic_ns(void)
{
    return read_clock(CLOCK_MONOTONIC_RAW);
}

int64_t wf_thread_cpu_ns(void)
{
    return read_clock(CLOCK_THREAD_CPUTIME_ID);
}

int64_t wf_realtime_ns(void)
{
    return read_clock(CLOCK_REALTIME);
}

void wf_format_utc(int64_t realtime_ns, char *ret, size_t n)
{
    int64_t seconds = realtime_ns / NS_PER_S;
    int64_t rest_ns = realtime_ns % NS_PER_S;
    struct tm tm;
    time_t t;

    if (rest_ns < 0) { /* before 1970 */
        rest_ns += NS_PER_S;
        seconds--;
    }
    t = (time_t)seconds;
    (void)gmtime_r(&t, &tm); /* 64-bit ns stay within the years 1677 to 2262 */
    (void)snprintf(ret, n, "%04d-%02d-%02dT%02d:%02d:%02d.%03dZ", tm.tm_year + 1900,
                   tm.tm_mon + 1, tm.tm_mday, tm.tm_hour, tm.tm_min, tm.tm_sec,
                   (int)(rest_ns / 1000000));
}
