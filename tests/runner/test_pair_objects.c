/* Pairs of code objects: on the fake runtime, where they are measured, and on the
 * emulator, where they are counted. */
#include "pair_task.h"

#include "amd_sysfs.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define CASE  "{\"op\":\"gemm\",\"M\":37,\"N\":29,\"K\":300,\"a_type\":\"f32\"}"
#define SMALL "{\"op\":\"gemm\",\"M\":32,\"N\":48,\"K\":32,\"a_type\":\"f32\"}"

static struct wf_device fake_device(void)
{
    struct wf_device device = { .runtime = "emulator",
                                .id = "emulator:test:0",
                                .name = "Fake MI300X",
                                .arch = "gfx942",
                                .model = "MI300X",
                                .cu_count = 4,
                                .xcc_count = 1,
                                .warp_size = 64,
                                .memory_bytes = (uint64_t)1 << 30,
                                .llc_bytes = 1 << 20 };
    (void)snprintf(device.library, sizeof(device.library), "%s", FAKE_RUNTIME);
    return device;
}

static struct wf_pair objects(const char *folder,
                              const char *case_json,
                              const char *base,
                              const char *candidate,
                              int blocks)
{
    struct wf_pair p = pair_measured(candidate, base, candidate, blocks);
    p.case_json = case_json;
    p.arm[WF_PAIR_BASE].pack_folder = folder;
    p.arm[WF_PAIR_CAND].pack_folder = folder;
    return p;
}

static void expect_both(const struct wf_json *record, const char *answer)
{
    cr_expect_str_eq(task_text(record, "base.answer"), answer, "%s",
                     task_text(record, "base.answer_text"));
    cr_expect_str_eq(task_text(record, "candidate.answer"), answer, "%s",
                     task_text(record, "candidate.answer_text"));
}

static struct pair_records run_on(const struct wf_device *device,
                                  int pairs,
                                  int sets,
                                  size_t blocks)
{
    struct wf_pair pair[2] = {
        objects(EVERY_FEATURE_PACK, CASE, "every_feature", "every_feature", 2),
        objects(EVERY_FEATURE_PACK, CASE, "every_feature", "every_feature", 1)
    };
    struct wf_pair_round round = pair_round_of(pair, (size_t)pairs);
    round.device = device;
    round.measure.sets = sets;
    round.measure.cold = sets > 0;
    return pair_run_blocks(&round, blocks);
}

static struct pair_records run_fake(int pairs, size_t blocks)
{
    const struct wf_device device = fake_device();
    return run_on(&device, pairs, 0, blocks);
}

static const struct wf_json *first_block(const struct pair_records *r)
{
    const struct wf_json *block = wf_json_at(task_member(r->record[0], "blocks"), 0);
    cr_assert_not_null(block, "%s", task_text(r->record[0], "note"));
    return block;
}

static void expect_figure(const struct wf_json *block, const char *key, double want)
{
    for (size_t i = 0; i < 4; i++) {
        double v = 0;
        cr_expect(wf_json_as_f64(wf_json_at(task_member(block, key), i), &v));
        cr_expect_eq(v, want, "%s of slot %zu: %g", key, i, v);
    }
}

/* Workspaces, derived buffers, pointer arrays and tensor maps of both arms. */
Test(pair_objects, two_pairs_of_every_feature_are_measured)
{
    struct pair_records r = run_fake(2, 3);
    for (size_t i = 0; i < 2; i++) {
        expect_both(r.record[i], "PASS");
        const struct wf_json *blocks = task_member(r.record[i], "blocks");
        cr_assert_eq(wf_json_count(blocks), 2 - i, "%s",
                     task_text(r.record[i], "note"));
        cr_expect_str_eq(task_text(wf_json_at(blocks, 0), "rejected"), "");
    }
    cr_expect_eq(task_number(r.facts, "details.subjects"), 1);
    pair_records_free(&r);
}

/* Three copies in turn; what the device says stands beside each slot, and its heat
 * takes the block. */
Test(pair_objects, both_arms_rotate_through_the_same_copies)
{
    struct wf_device device = fake_device();
    (void)snprintf(device.runtime, sizeof(device.runtime), "amd");
    (void)snprintf(device.pci_bus_id, sizeof(device.pci_bus_id), "0000:c1:00.0");
    amd_sysfs_put(UINT64_C(1) << 36, 1900); /* hotspot */
    struct pair_records r = run_on(&device, 1, 3, 2);
    amd_sysfs_remove();
    expect_both(r.record[0], "PASS");
    cr_expect_eq(wf_json_count(task_member(r.record[0], "blocks")), 2u, "%s",
                 task_text(r.record[0], "note"));
    expect_figure(first_block(&r), "clock_mhz", 1900);
    expect_figure(first_block(&r), "power_w", 480);
    expect_figure(first_block(&r), "temperature_c", 61);
    cr_expect(strstr(task_text(first_block(&r), "rejected"), "throttled"), "%s",
              task_text(first_block(&r), "rejected"));
    cr_expect_str_eq(task_text(r.facts, "details.temperature"), "cold");
    cr_expect_str_eq(task_text(r.facts, "details.warmup.clock"), "steady");
    cr_expect_str_eq(task_text(r.facts, "details.telemetry.state"), "running");
    pair_records_free(&r);
}

/* Events that say nothing, or something else than the judge's clock. */
Test(pair_objects, times_that_cannot_be_believed_give_no_blocks)
{
    cr_assert_eq(setenv("FAKE_EVENTS", "negative", 1), 0);
    struct pair_records r = run_fake(1, 0);
    expect_both(r.record[0], "PASS");
    cr_expect_eq(wf_json_count(task_member(r.record[0], "blocks")), 0u);
    cr_expect(strstr(task_text(r.record[0], "note"), "cannot be believed"), "%s",
              task_text(r.record[0], "note"));
    pair_records_free(&r);
}

Test(pair_objects, a_fault_of_the_device_costs_its_pair_alone)
{
    cr_assert_eq(setenv("FAKE_FAULT", "1", 1), 0); /* the first launch of a process */
    struct pair_records r = run_fake(2, 0);
    const char *base = task_text(r.record[0], "base.answer");
    const char *candidate = task_text(r.record[0], "candidate.answer");
    cr_expect(strcmp(base, "DEVICE_FAULT") == 0 ||
                  strcmp(candidate, "DEVICE_FAULT") == 0,
              "%s, %s", base, candidate);
    cr_expect_geq(task_number(r.facts, "details.subjects"), 2);
    pair_records_free(&r);
}

Test(pair_objects, the_emulator_answers_and_counts_both_arms)
{
    struct wf_device device;
    struct wf_error err = { 0 };
    cr_assert_eq(wf_device_open("emulator:0", &device, &err), WF_OK, "%s", err.text);
    const struct wf_pair pairs[] = {
        objects(EMULATOR_PACK, SMALL, "c_cleans_its_counter", "c_cleans_its_counter",
                1),
        objects(EMULATOR_PACK, SMALL, "c_cleans_its_counter", "b_leaves_its_counter",
                1),
    };
    struct wf_pair_round round = pair_round_of(pairs, 2);
    round.device = &device;
    struct pair_records r = pair_run_all(&round);
    expect_both(r.record[0], "PASS");
    cr_expect_eq(wf_json_count(task_member(r.record[0], "blocks")), 0u);
    cr_expect(strstr(task_text(r.record[0], "note"), "model"));
    for (int a = 0; a < 2; a++) {
        const char *path = a ? "candidate.result.details.emulation.launches"
                             : "base.result.details.emulation.launches";
        const struct wf_json *launch = wf_json_at(task_member(r.record[0], path), 0);
        cr_assert_not_null(launch);
        cr_expect_not_null(wf_json_find(launch, "counters"));
    }
    cr_expect_str_eq(task_text(r.record[1], "base.answer"), "PASS");
    cr_expect_str_eq(task_text(r.record[1], "candidate.answer"), "NONDETERMINISTIC");
    pair_records_free(&r);
}
