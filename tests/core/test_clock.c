/* Clocks and the spelling of a moment. */
#include "core/clock.h"

#include <criterion/criterion.h>

Test(clock, moments_are_written_in_utc_with_milliseconds)
{
    char text[32];

    wf_format_utc(0, text, sizeof text);
    cr_assert_str_eq(text, "1970-01-01T00:00:00.000Z");
    wf_format_utc(INT64_C(1796094245678999999), text, sizeof text);
    cr_assert_str_eq(text, "2026-12-01T03:04:05.678Z");
    wf_format_utc(-1, text, sizeof text);
    cr_assert_str_eq(text, "1969-12-31T23:59:59.999Z");
    wf_format_utc(INT64_MAX, text, sizeof text);
    cr_assert_str_eq(text, "2262-04-11T23:47:16.854Z");
    wf_format_utc(INT64_MIN, text, sizeof text);
    cr_assert_str_eq(text, "1677-09-21T00:12:43.145Z");
}

Test(clock, short_buffer_is_not_overrun)
{
    char text[8] = "#######";

    wf_format_utc(0, text, 5);
    cr_assert_str_eq(text, "1970");
    cr_assert_eq(text[5], '#');
}

Test(clock, system_clocks_do_not_go_back)
{
    const struct wf_clock *clock = wf_clock_system();
    int64_t boot = clock->boot_ns(clock->ctx);
    int64_t mono = wf_monotonic_ns();
    int64_t cpu = wf_thread_cpu_ns();

    cr_assert(boot > 0);
    cr_assert(mono > 0);
    clock->sleep_ns(clock->ctx, 1000);
    clock->sleep_ns(clock->ctx, 0);
    clock->sleep_ns(clock->ctx, -5);
    cr_assert(clock->boot_ns(clock->ctx) > boot);
    cr_assert(wf_monotonic_ns() > mono);
    cr_assert(wf_thread_cpu_ns() >= cpu);
    cr_assert(wf_realtime_ns() > INT64_C(1600000000000000000));
}
