/* The reader of gpu_metrics against files laid out by the structs of amd_metrics.h. */
#include "runner/gpu_metrics.h"

#include "amd_metrics.h"
#include "core/rng.h"
#include "runner/throttle.h"

#include <criterion/criterion.h>
#include <math.h>
#include <string.h>

static struct gpu_metrics parsed(const void *bytes, size_t n)
{
    struct gpu_metrics m;
    struct wf_error err = { 0 };
    cr_assert_eq(gpu_metrics_parse(bytes, n, &m, &err), WF_OK, "%s", err.text);
    return m;
}

static void expect_figures(const struct gpu_metrics *m)
{
    cr_expect_eq(m->hotspot_c, 71, "content %u", m->content);
    cr_expect_eq(m->memory_c, 64, "content %u", m->content);
    cr_expect_eq(m->power_w, 742, "content %u", m->content);
    cr_expect_eq(m->memory_clock_mhz, 1300, "content %u", m->content);
    cr_expect_eq(m->gfx_clock_mhz, 1900, "content %u", m->content);
}

/* All bits set first: what a member is not said to be is not known. Three XCCs run, one
 * sleeps. */
#define FILL(m, content)                                                     \
    do {                                                                     \
        memset(&(m), 0xff, sizeof(m));                                       \
        (m).header = (struct amd_header){ (uint16_t)sizeof(m), 1, content }; \
        (m).temperature_hotspot = 71;                                        \
        (m).temperature_mem = 64;                                            \
        (m).curr_socket_power = 742;                                         \
        (m).current_uclk = 1300;                                             \
        (m).current_gfxclk[0] = 1890;                                        \
        (m).current_gfxclk[1] = 2000;                                        \
        (m).current_gfxclk[2] = 1900;                                        \
        (m).current_gfxclk[3] = 0;                                           \
    } while (0)
#define RESIDENCY(m)                      \
    do {                                  \
        (m).accumulation_counter = 1000;  \
        (m).prochot_residency_acc = 1;    \
        (m).ppt_residency_acc = 2;        \
        (m).socket_thm_residency_acc = 3; \
        (m).vr_thm_residency_acc = 4;     \
        (m).hbm_thm_residency_acc = 5;    \
    } while (0)

static void expect_residency(const struct gpu_metrics *m)
{
    const struct gpu_metrics_residency *r = &m->residency;
    cr_assert(m->has_residency);
    cr_expect(r->steps == 1000 && r->prochot == 1 && r->power == 2 && r->thermal == 3 &&
                  r->vr_thermal == 4 && r->hbm_thermal == 5,
              "content %u", m->content);
}

Test(gpu_metrics, every_content_gives_its_figures)
{
    struct amd_metrics_1_3 v3;
    struct amd_metrics_1_4 v4;
    struct amd_metrics_1_5 v5;
    memset(&v3, 0xff, sizeof(v3));
    v3.header = (struct amd_header){ sizeof(v3), 1, 3 };
    v3.temperature_hotspot = 71;
    v3.temperature_mem = 64;
    v3.average_socket_power = 742;
    v3.current_gfxclk = 1900;
    v3.current_uclk = 1300;
    v3.indep_throttle_status = 1u << 16 | 1;
    struct gpu_metrics m = parsed(&v3, sizeof(v3));
    expect_figures(&m);
    cr_expect(m.has_reasons && !m.has_residency);
    cr_expect_eq(m.reasons, (uint32_t)(THROTTLE_CURRENT | THROTTLE_POWER_CAP));
    FILL(v4, 4);
    m = parsed(&v4, sizeof(v4));
    expect_figures(&m);
    cr_expect(!m.has_reasons, "all bits set: not known");
    cr_expect(isnan(m.xcc_clock_mhz[4]));
    FILL(v5, 5);
    v5.throttle_status = 1u << 4;
    m = parsed(&v5, sizeof(v5));
    expect_figures(&m);
    cr_expect(m.has_reasons);
    cr_expect_eq(m.reasons, (uint32_t)THROTTLE_HBM_THERMAL);
}

Test(gpu_metrics, contents_with_residency_counters)
{
    struct amd_metrics_1_6_first first;
    struct amd_metrics_1_6 v6;
    struct amd_metrics_1_7 v7;
    struct amd_metrics_1_8 v8;
    FILL(first, 6);
    RESIDENCY(first);
    struct gpu_metrics m = parsed(&first, sizeof(first));
    expect_figures(&m);
    expect_residency(&m);
    FILL(v6, 6);
    RESIDENCY(v6);
    m = parsed(&v6, sizeof(v6));
    expect_figures(&m);
    expect_residency(&m);
    cr_expect(!m.has_reasons);
    FILL(v7, 7);
    RESIDENCY(v7);
    m = parsed(&v7, sizeof(v7));
    expect_figures(&m);
    expect_residency(&m);
    FILL(v8, 8);
    RESIDENCY(v8);
    m = parsed(&v8, sizeof(v8));
    expect_figures(&m);
    expect_residency(&m);
}

Test(gpu_metrics, what_is_not_known_is_not_a_number)
{
    struct amd_metrics_1_4 v4;
    memset(&v4, 0xff, sizeof(v4));
    v4.header = (struct amd_header){ sizeof(v4), 1, 4 };
    struct gpu_metrics m = parsed(&v4, sizeof(v4));
    cr_expect(isnan(m.power_w) && isnan(m.hotspot_c) && isnan(m.memory_c));
    cr_expect(isnan(m.gfx_clock_mhz) && isnan(m.memory_clock_mhz));
    cr_expect_eq(m.reasons, 0);
}

Test(gpu_metrics, other_versions_and_sizes_are_refused)
{
    struct amd_metrics_1_7 v7;
    struct gpu_metrics m;
    struct wf_error err = { 0 };
    static const struct amd_header others[] = { { sizeof(v7), 2, 4 },
                                                { sizeof(v7), 3, 0 },
                                                { sizeof(v7), 1, 2 },
                                                { sizeof(v7), 1, 9 } };
    for (size_t i = 0; i < 4; i++) {
        FILL(v7, 7);
        v7.header = others[i];
        cr_expect_eq(gpu_metrics_parse(&v7, sizeof(v7), &m, &err), WF_EUNSUPPORTED);
    }
    cr_expect(strstr(err.text, "1.9"), "%s", err.text);
    FILL(v7, 7);
    for (size_t n = 0; n < sizeof(v7); n += n < 8 ? 1 : 97) {
        cr_expect_eq(gpu_metrics_parse(&v7, n, &m, &err), WF_EPARSE, "%zu bytes", n);
    }
    v7.header.structure_size = sizeof(v7) - 8;
    cr_expect_eq(gpu_metrics_parse(&v7, sizeof(v7) - 8, &m, &err), WF_EPARSE);
    v7.header = (struct amd_header){ sizeof(v7), 1, 8 };
    cr_expect_eq(gpu_metrics_parse(&v7, sizeof(v7), &m, &err), WF_EPARSE,
                 "the size of another content");
}

Test(gpu_metrics, garbage_never_passes_for_a_figure_out_of_range)
{
    unsigned char bytes[4096];
    size_t good = 0;
    for (uint64_t seed = 0; seed < 3000; seed++) {
        struct gpu_metrics m;
        struct amd_header header = { sizeof(struct amd_metrics_1_4), 1, 4 };
        wf_rng_fill_u64(seed, 0, 0, (uint64_t *)(void *)bytes, sizeof(bytes) / 8);
        if (seed % 2) {
            memcpy(bytes, &header, sizeof(header));
        }
        if (gpu_metrics_parse(bytes, header.structure_size, &m, NULL) == WF_OK) {
            good++;
            cr_expect(!(m.power_w >= 65535) && !(m.gfx_clock_mhz >= 65535));
        }
    }
    cr_expect_geq(good, 1500u);
}

Test(gpu_metrics, differences_of_the_counters_say_what_throttled)
{
    const struct gpu_metrics_residency a = { 100, 1, 2, 3, 4, UINT32_MAX };
    struct gpu_metrics_residency b = a;
    cr_expect_eq(gpu_metrics_throttled(&a, &b), 0);
    b.steps = 200;
    cr_expect_eq(gpu_metrics_throttled(&a, &b), 0, "time alone is no reason");
    b.power++;
    cr_expect_eq(gpu_metrics_throttled(&a, &b), (uint32_t)THROTTLE_POWER_CAP);
    cr_expect(!throttle_counts(THROTTLE_POWER_CAP));
    b.thermal = 2; /* wrapped */
    b.hbm_thermal = 7;
    uint32_t reasons = gpu_metrics_throttled(&a, &b);
    cr_expect_eq(reasons, (uint32_t)(THROTTLE_POWER_CAP | THROTTLE_THERMAL),
                 "a counter that was not known says nothing");
    cr_expect(throttle_counts(reasons));
}

Test(throttle, makers_bits_in_our_words)
{
    cr_expect_eq(throttle_from_nvml(0x1 | 0x2 | 0x10 | 0x100), 0);
    cr_expect_eq(throttle_from_nvml(0x4), (uint32_t)THROTTLE_POWER_CAP);
    cr_expect_eq(throttle_from_nvml(0x8 | 0x40),
                 (uint32_t)(THROTTLE_HW_SLOWDOWN | THROTTLE_THERMAL));
    cr_expect_eq(throttle_from_nvml(0x80), (uint32_t)THROTTLE_POWER_BRAKE);
    cr_expect_eq(throttle_from_nvml(1u << 20), (uint32_t)THROTTLE_OTHER);
    cr_expect_eq(throttle_from_amd_common(1ull << 36), (uint32_t)THROTTLE_THERMAL);
    cr_expect_eq(throttle_from_amd_common(1ull << 38), (uint32_t)THROTTLE_VR_THERMAL);
    cr_expect_eq(throttle_from_amd_common(1ull << 47), (uint32_t)THROTTLE_PROCHOT);
    cr_expect_eq(throttle_from_amd_common(1ull << 57), (uint32_t)THROTTLE_OTHER);
    cr_expect_eq(throttle_from_mi300(1u << 31), (uint32_t)THROTTLE_OTHER);
    cr_expect_str_eq(throttle_name(THROTTLE_INDEX_POWER_CAP), "power-cap");
}
