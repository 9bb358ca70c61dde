/* Every cheat of tests/mutants/cheats.json is named, as its manifest says, and an
 * honest kernel beside them is not. */
#include "task.h"

#include "core/buf.h"
#include "core/clock.h"
#include "core/file.h"
#include "core/parse.h"
#include "core/rng.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MANIFEST SOURCE_FOLDER "/tests/mutants/cheats.json"

#ifdef __SANITIZE_ADDRESS__
#define SANITIZED true
#else
#define SANITIZED false
#endif

static struct wf_json *manifest;

static char cache[64];

static void remove_cache(void)
{
    (void)wf_remove_tree(cache, NULL);
}

/* What somebody found out about this machine's clock must not decide here. */
static void own_cache(void)
{
    (void)snprintf(cache, sizeof(cache), "/tmp/wavefarm-cheats-XXXXXX");
    cr_assert_not_null(mkdtemp(cache));
    (void)atexit(remove_cache);
    cr_assert_eq(setenv("WAVEFARM_CACHE", cache, 1), 0);
}

static void read_manifest(void)
{
    own_cache();
    struct wf_error err = { 0 };
    struct wf_buf text = WF_BUF_INIT;
    cr_assert_eq(wf_file_read(MANIFEST, 1u << 20, &text, &err), WF_OK, "%s", err.text);
    cr_assert_eq(wf_json_parse(text.data, text.len, MANIFEST, &manifest, &err), WF_OK,
                 "%s", err.text);
    wf_buf_free(&text);
}

static void free_manifest(void)
{
    wf_json_free(manifest);
}

/* The answer, or IMPLAUSIBLE when only the time was doubted. */
static const char *outcome(const struct wf_json *result)
{
    const char *answer = task_text(result, "answer");
    const bool doubted = strcmp(answer, "PASS") == 0 &&
                         strcmp(task_text(result, "time"), "IMPLAUSIBLE") == 0;
    return doubted ? "IMPLAUSIBLE" : answer;
}

static bool holds(const struct wf_json *list, const char *word)
{
    for (size_t i = 0; i < wf_json_count(list); i++) {
        if (strcmp(wf_json_string(wf_json_at(list, i)), word) == 0) {
            return true;
        }
    }
    return false;
}

static void run_cheat(const struct wf_json *cheat)
{
    struct wf_error err = { 0 };
    struct wf_buf text = WF_BUF_INIT;
    char pack[512];
    const char *name = wf_json_string(wf_json_find(cheat, "name"));
    const struct wf_json *first = wf_json_at(wf_json_find(cheat, "cases"), 0);
    const struct wf_json *c =
        wf_json_find(wf_json_find(manifest, "cases"), wf_json_string(first));
    struct wf_execute_request request = task_request(name);
    cr_assert_eq(wf_json_write(c, &text, &err), WF_OK, "%s", err.text);
    (void)snprintf(pack, sizeof(pack), MUTANTS_FOLDER "/%s",
                   wf_json_string(wf_json_find(cheat, "pack")));
    request.case_json = text.data;
    request.pack_folder = pack;
    request.measure.measure = true;
    request.measure.budget_ns = 20000000;
    request.measure.max_samples = 20;
    struct wf_json *result = task_run(&request);
    cr_expect(holds(wf_json_find(cheat, "caught"), outcome(result)),
              "%s: %s, %s; %s %s", name, task_text(result, "answer"),
              task_text(result, "answer_text"), task_text(result, "time"),
              task_text(result, "time_text"));
    if (getenv("CHEATS_SAY")) {
        (void)fprintf(stderr, "%s: %s, %s; %s %s\n", name, task_text(result, "answer"),
                      task_text(result, "answer_text"), task_text(result, "time"),
                      task_text(result, "time_text"));
    }
    wf_json_free(result);
    wf_buf_free(&text);
}

static bool survives(const char *name)
{
    return strcmp(name, "command_in_prepare") == 0;
}

/* Every other one of the manifest, from `first` on: two tests that run side by side. */
static void run_half(size_t first)
{
    if (SANITIZED) {
        cr_skip_test("a sanitizer ends kernels that search and patch their process");
    }
    const char *only = getenv("CHEATS_ONLY");
    const struct wf_json *list = wf_json_find(manifest, "mutants");
    cr_assert_geq(wf_json_count(list), 20u);
    for (size_t i = first; i < wf_json_count(list); i += 2) {
        const struct wf_json *cheat = wf_json_at(list, i);
        const char *name = wf_json_string(wf_json_find(cheat, "name"));
        if (!survives(name) && (!only || strstr(name, only))) {
            run_cheat(cheat);
        }
    }
}

Test(cheats, every_cheat_is_named, .init = read_manifest, .fini = free_manifest)
{
    run_half(0);
}

Test(cheats, every_other_cheat_is_named, .init = read_manifest, .fini = free_manifest)
{
    run_half(1);
}

static int64_t number_of_runs(void)
{
    const char *text = getenv("CHEATS_RIGHT_RUNS");
    int64_t n = 6;
    (void)wf_parse_i64(text ? text : "6", "CHEATS_RIGHT_RUNS", 1, 1000000, &n, NULL);
    return n;
}

/* Sizes from one element to a millisecond's work, hot and cold, one thread and a
 * library's pool. CHEATS_RIGHT_RUNS=500 for more. */
Test(cheats, right_kernels_are_not_accused, .init = own_cache)
{
    const int64_t runs = number_of_runs();
    const uint64_t seed = (uint64_t)wf_monotonic_ns();
    for (int64_t i = 0; i < runs; i++) {
        char text[200];
        const uint64_t at = 3 * (uint64_t)i;
        const uint64_t most = i % 4 == 0 ? 12 : 160;
        (void)snprintf(
            text, sizeof(text),
            "{\"op\":\"gemm\",\"M\":%d,\"N\":%d,\"K\":%d,\"a_type\":\"f32\"}",
            (int)wf_rng_below(seed, 1, at, most) + 1,
            (int)wf_rng_below(seed, 1, at + 1, most) + 1,
            (int)wf_rng_below(seed, 1, at + 2, most) + 1);
        struct wf_execute_request request = task_request("right");
        if (i % 3 == 1) {
            request.kernel = "gemm_openblas";
            request.pack_folder = HOST_PACK;
        }
        request.case_json = text;
        request.seed_offset = seed + (uint64_t)i;
        request.measure.measure = true;
        request.measure.cold = i % 6 == 5 && most > 12;
        request.measure.budget_ns = 10000000;
        request.measure.max_samples = 20;
        struct wf_json *result = task_run(&request);
        cr_expect_str_eq(task_text(result, "answer"), "PASS", "%s, %s: %s", text,
                         request.kernel, task_text(result, "answer_text"));
        wf_json_free(result);
    }
}

/* docs/isolation.md says why; when this fails, the page has good news to tell. */
Test(cheats, work_in_prepare_of_a_command_is_only_marked, .init = own_cache)
{
    struct wf_execute_request request = task_request("command_in_prepare");
    request.pack_folder = MUTANTS_FOLDER "/cheats-process";
    request.measure.measure = true;
    request.measure.budget_ns = 20000000;
    request.measure.max_samples = 20;
    struct wf_json *result = task_run(&request);
    cr_expect_str_eq(task_text(result, "answer"), "PASS");
    cr_expect_str_neq(task_text(result, "time"), "OK");
    wf_json_free(result);
}

Test(cheats, an_honest_command_is_not_accused, .init = own_cache)
{
    struct wf_execute_request request = task_request("command_honest");
    request.pack_folder = MUTANTS_FOLDER "/cheats-process";
    request.measure.measure = true;
    request.measure.budget_ns = 20000000;
    request.measure.max_samples = 20;
    struct wf_json *result = task_run(&request);
    cr_expect_str_eq(task_text(result, "answer"), "PASS", "%s",
                     task_text(result, "answer_text"));
    wf_json_free(result);
}

/* What nobody can see is said: inputs that no seed changes. */
Test(cheats, kept_answers_to_constant_inputs_are_marked)
{
    own_cache();
    struct wf_execute_request request = task_request("replays_first_answer");
    request.pack_folder = MUTANTS_FOLDER "/cheats-host";
    request.case_json =
        "{\"op\":\"gemm\",\"M\":64,\"N\":96,\"K\":80,\"a_type\":\"f32\",\"inputs\":\"ones\"}";
    request.measure.measure = true;
    request.measure.budget_ns = 50000000;
    struct wf_json *result = task_run(&request);
    cr_assert_str_eq(task_text(result, "answer"), "PASS");
    cr_assert(
        strstr(task_text(result, "details.audit.blind"), "same under every seed"));
    wf_json_free(result);
}
