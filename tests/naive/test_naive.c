/* What the naive device kernel adds to sampled checks, and what happens when it is
 * wrong itself. The emulator stands for the device; the reference's budget is forced
 * down so that only rows that miss the planted faults are computed in double. */
#include "runner/execute.h"

#include "core/file.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define GEMM "{\"op\":\"gemm\",\"M\":200,\"N\":40,\"K\":64,\"a_type\":\"f32\"}"
/* Blocks of scales with rests both ways, in both halves of a gate. */
#define EPILOGUE                                                            \
    "{\"op\":\"gemm\",\"M\":70,\"N\":5,\"K\":140,\"a_type\":\"e4m3fnuz\","  \
    "\"scale\":\"%s\",\"bias\":\"n\",\"activation\":\"%s\",\"alpha\":0.05," \
    "\"batch\":2,\"d_type\":\"%s\"}"
/* Of two kv heads only the last is in the sample; the plant is in the first. */
#define ATTENTION                                                                   \
    "{\"op\":\"attention\",\"q_len\":6,\"kv_len\":70,\"q_heads\":4,\"kv_heads\":2," \
    "\"head_dim\":8,\"q_type\":\"f16\",\"o_type\":\"f32\",\"causal\":true}"

static struct wf_device device;
static char folder[64];

static void open_device(void)
{
    /* What is sampled follows from the case here, so that it misses what is planted. */
    cr_assert_eq(setenv("WAVEFARM_CHECK_SEED", "0", 1), 0);
    struct wf_error err = { 0 };
    cr_assert_eq(wf_device_open("emulator:0", &device, &err), WF_OK, "%s", err.text);
}

static void remove_folder(void)
{
    if (folder[0]) {
        (void)wf_remove_tree(folder, NULL);
    }
}

/* The judge finds `pack` as the naive one of this architecture. */
static void use_naive(const char *pack)
{
    char link[128];
    char target[512];
    (void)snprintf(folder, sizeof(folder), "/tmp/wavefarm-naive-XXXXXX");
    cr_assert_not_null(mkdtemp(folder));
    (void)snprintf(link, sizeof(link), "%s/wavefarm-naive-gfx942", folder);
    (void)snprintf(target, sizeof(target), "%s/%s", TEST_PACKS, pack);
    cr_assert_eq(symlink(target, link), 0);
    cr_assert_eq(setenv("WAVEFARM_REFERENCE_PACKS", folder, 1), 0);
}

TestSuite(naive, .init = open_device, .fini = remove_folder);

static struct wf_execute_request planted(const char *kernel, const char *case_json)
{
    return (struct wf_execute_request){
        .task_id = "t1",
        .case_json = case_json,
        .pack_folder = TEST_PACKS "/naive-planted-gfx942",
        .kernel = kernel,
        .device = &device,
        .threads = 1,
        .reference_budget_macs = 1,
        .measure = { .naive = WF_NAIVE_ON, .no_checks = true, .no_counters = true },
    };
}

static struct wf_execute_request right(const char *kernel, const char *case_json)
{
    struct wf_execute_request r = planted(kernel, case_json);
    r.pack_folder = REFERENCE_PACKS "/wavefarm-naive-gfx942";
    return r;
}

static const struct wf_json *find(const struct wf_json *obj, const char *key)
{
    const struct wf_json *v = wf_json_find(obj, key);
    cr_assert_not_null(v, "no member %s", key);
    return v;
}

static const char *text(const struct wf_json *obj, const char *key)
{
    const char *s = wf_json_string(find(obj, key));
    cr_assert_not_null(s, "%s is no text", key);
    return s;
}

static struct wf_json *run(const struct wf_execute_request *request)
{
    struct wf_error err = { 0 };
    struct wf_json *result = NULL;
    cr_assert_eq(wf_execute(request, &result, &err), WF_OK, "%s", err.text);
    return result;
}

static const struct wf_json *check_named(const struct wf_json *result, const char *name)
{
    const struct wf_json *list = find(result, "checks");
    for (size_t i = 0; i < wf_json_count(list); i++) {
        if (strcmp(text(wf_json_at(list, i), "name"), name) == 0) {
            return wf_json_at(list, i);
        }
    }
    return NULL;
}

static void expect(const struct wf_execute_request *request,
                   const char *answer,
                   const char *state,
                   const char *why)
{
    struct wf_json *result = run(request);
    cr_expect_str_eq(text(result, "answer"), answer, "%s: %s", request->kernel,
                     text(result, "answer_text"));
    const struct wf_json *details = find(result, "details");
    if (!state) {
        cr_expect_null(wf_json_find(details, "naive"));
    } else {
        const struct wf_json *naive = find(details, "naive");
        cr_expect_str_eq(text(naive, "state"), state, "%s", text(naive, "why"));
        cr_expect(strstr(text(naive, "why"), why), "%s", text(naive, "why"));
        cr_expect_eq(check_named(result, "naive-device") != NULL,
                     strcmp(state, "ran") == 0);
    }
    wf_json_free(result);
}

Test(naive, finds_alone_what_the_sampled_checks_of_a_gemm_miss)
{
    struct wf_execute_request request = planted("gemm_planted", GEMM);
    request.measure.naive = WF_NAIVE_OFF;
    expect(&request, "PASS", NULL, "");
    request.measure.naive = WF_NAIVE_ON;
    expect(&request, "MISMATCH", "ran", "");
}

Test(naive, finds_alone_what_the_sampled_rows_of_attention_miss)
{
    struct wf_execute_request request = planted("attention_planted", ATTENTION);
    request.measure.naive = WF_NAIVE_OFF;
    expect(&request, "PASS", NULL, "");
    request.measure.naive = WF_NAIVE_ON;
    expect(&request, "MISMATCH", "ran", "");
}

Test(naive, the_report_names_the_planted_element)
{
    int64_t row = 0;
    struct wf_execute_request request = planted("gemm_planted", GEMM);
    struct wf_json *result = run(&request);
    const struct wf_json *worst = find(find(result, "errors"), "worst");
    cr_expect(wf_json_as_i64(wf_json_at(find(worst, "index"), 1), &row));
    cr_expect_eq(row, 7);
    cr_expect(strstr(text(result, "answer_text"), "naive device kernel"), "%s",
              text(result, "answer_text"));
    cr_expect_not_null(check_named(result, "sampled-rows"));
    wf_json_free(result);
}

Test(naive, a_right_kernel_passes_and_every_element_is_covered)
{
    double elements = 0;
    struct wf_execute_request request = right("gemm_naive", GEMM);
    struct wf_json *result = run(&request);
    cr_expect_str_eq(text(result, "answer"), "PASS");
    const struct wf_json *check = check_named(result, "naive-device");
    cr_assert_not_null(check);
    cr_expect(wf_json_as_f64(find(check, "elements"), &elements));
    cr_expect_eq(elements, 200 * 40);
    wf_json_free(result);
}

/* The naive kernel gives v of both halves; the host makes D of it. */
Test(naive, scales_bias_and_activation_are_covered_too)
{
    static const char *const rows[][3] = { { "block128", "silu_gate", "f32" },
                                           { "row", "silu", "bf16" },
                                           { "block128", "none", "f32" } };
    for (size_t i = 0; i < 3; i++) {
        char text_of[320];
        double elements = 0;
        (void)snprintf(text_of, sizeof(text_of), EPILOGUE, rows[i][0], rows[i][1],
                       rows[i][2]);
        struct wf_execute_request request = right("gemm_naive", text_of);
        struct wf_json *result = run(&request);
        cr_expect_str_eq(text(result, "answer"), "PASS", "%s: %s", text_of,
                         text(result, "answer_text"));
        const struct wf_json *check = check_named(result, "naive-device");
        cr_assert_not_null(check, "%s", text_of);
        cr_expect(wf_json_as_f64(find(check, "elements"), &elements));
        cr_expect_eq(elements, 2 * 70 * 5);
        wf_json_free(result);
    }
}

Test(naive, a_naive_kernel_that_is_wrong_everywhere_is_not_trusted)
{
    use_naive("naive-scaled-gfx942");
    struct wf_execute_request request = right("gemm_naive", GEMM);
    expect(&request, "PASS", "not trusted", "the double reference has");
    /* and a wrong kernel does not pass because of it: the full reference decides */
    request = planted("gemm_planted", GEMM);
    request.reference_budget_macs = 0;
    expect(&request, "MISMATCH", NULL, "");
}

Test(naive, a_naive_kernel_that_is_wrong_in_one_row_blames_nobody)
{
    use_naive("naive-row-gfx942");
    struct wf_execute_request request = right("gemm_naive", GEMM);
    expect(&request, "PASS", "not trusted", "finds right");
    request = right("attention_naive", ATTENTION);
    expect(&request, "PASS", "not trusted", "right");
}

Test(naive, without_its_pack_it_is_left_out_and_the_result_says_so)
{
    cr_assert_eq(setenv("WAVEFARM_REFERENCE_PACKS", "/nowhere", 1), 0);
    struct wf_execute_request request = right("gemm_naive", GEMM);
    expect(&request, "PASS", "left out", "/nowhere");
}

Test(naive, a_modelled_device_runs_it_only_when_asked)
{
    struct wf_execute_request request = right("gemm_naive", GEMM);
    request.measure.naive = WF_NAIVE_AUTO;
    expect(&request, "PASS", "left out", "modelled");
    request.reference_budget_macs = 0; /* every element in double: no need */
    expect(&request, "PASS", NULL, "");
}
