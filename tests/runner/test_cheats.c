/* Every cheat of tests/mutants/cheats.json is named, as its manifest says, and an
 * honest kernel beside them is not. */
#include "task.h"

#include "core/buf.h"
#include "core/file.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MANIFEST SOURCE_FOLDER "/tests/mutants/cheats.json"

static struct wf_json *manifest;

static void read_manifest(void)
{
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

Test(cheats, every_cheat_is_named, .init = read_manifest, .fini = free_manifest)
{
    const char *only = getenv("CHEATS_ONLY");
    const struct wf_json *list = wf_json_find(manifest, "mutants");
    cr_assert_geq(wf_json_count(list), 20u);
    for (size_t i = 0; i < wf_json_count(list); i++) {
        const struct wf_json *cheat = wf_json_at(list, i);
        const char *name = wf_json_string(wf_json_find(cheat, "name"));
        if (!only || strstr(name, only)) {
            run_cheat(cheat);
        }
    }
}
