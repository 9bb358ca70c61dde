/* Cases of right runs: each is one that its op takes, with the types of the kernel's
 * name, and together they have what the op can do. */
#include "kernels/case.h"
#include "selftest/right.h"

#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>

#define SEEDS 150

typedef enum wf_status (*draw_fn)(struct wf_selftest_env *,
                                  const char *,
                                  uint64_t,
                                  const char **,
                                  struct wf_error *);

static const struct {
    draw_fn draw;
    const char *kernel, *types; /* NULL: any */
} ROWS[] = {
    { wf_right_gemm, "gemm_openblas", NULL },
    { wf_right_gemm, "gemm_i8_c", "\"i8\"" },
    { wf_right_gemm, "gemm_f16_mfma_128x128_nt", "\"f16\"" },
    { wf_right_gemm, "gemm_bf16_mfma_256x128_nt_gate", "\"bf16\"" },
    { wf_right_gemm, "gemm_skinny_e4m3_16x32_nt", "\"e4m3fnuz\"" },
    { wf_right_gemm, "gemm_e5m2_mfma_128x128_tn", "\"e5m2fnuz\"" },
    { wf_right_gemm, "gemm_i8_mfma_128x128_nn", "\"i8\"" },
    { wf_right_gemm, "gemm_e4m3_mfma_block_128x128_nn", "\"block128\"" },
    { wf_right_grouped, "grouped_openblas", NULL },
    { wf_right_grouped, "grouped_i8_c", "\"i8\"" },
    { wf_right_grouped, "grouped_bf16_mfma_64x64_nt", "\"bf16\"" },
    { wf_right_grouped, "grouped_e4m3_mfma_128x128_nt_gate", "\"e4m3fnuz\"" },
    { wf_right_grouped, "grouped_i8_mfma_128x128_nt", "\"i8\"" },
};

static void check_case(const char *kernel, const char *text, const char *types)
{
    struct wf_json *json = NULL;
    struct wf_case *c = NULL;
    struct wf_error err = { .status = WF_OK };
    cr_assert_eq(wf_json_parse(text, strlen(text), kernel, &json, &err), WF_OK, "%s",
                 err.text);
    cr_assert_eq(wf_case_parse(json, kernel, NULL, &c, &err), WF_OK, "%s: %s: %s",
                 kernel, text, err.text);
    cr_assert(types == NULL || strstr(text, types) != NULL, "%s: %s", kernel, text);
    cr_assert_eq(strstr(kernel, "_gate") != NULL && strstr(text, "silu_gate") == NULL,
                 false, "%s: %s", kernel, text);
    wf_case_free(c);
    wf_json_free(json);
}

static void forget(struct wf_selftest_env *env)
{
    for (size_t i = 0; i < env->text_count; i++) {
        free(env->text[i]);
    }
    free(env->text);
    *env = (struct wf_selftest_env){ .text = NULL };
}

Test(selftest_right_cases, are_cases_of_the_op_with_the_types_of_the_name)
{
    struct wf_selftest_env env = { .text = NULL };
    for (size_t i = 0; i < sizeof ROWS / sizeof *ROWS; i++) {
        for (uint64_t seed = 0; seed < SEEDS; seed++) {
            const char *text = NULL;
            struct wf_error err = { .status = WF_OK };
            cr_assert_eq(ROWS[i].draw(&env, ROWS[i].kernel, seed, &text, &err), WF_OK,
                         "%s", err.text);
            check_case(ROWS[i].kernel, text, ROWS[i].types);
        }
        forget(&env);
    }
}

Test(selftest_right_cases, groups_of_all_kinds_are_drawn)
{
    static const char *const words[] = { "\"row\"",           "block128", "silu_gate",
                                         "\"silu\"",          "[0,",      ",0,0,0,0,0,",
                                         "\"trans_b\":\"N\"", "e4m3fn\"", "f64" };
    bool seen[sizeof words / sizeof *words] = { false };
    struct wf_selftest_env env = { .text = NULL };
    for (uint64_t seed = 0; seed < 400; seed++) {
        const char *text = NULL;
        cr_assert_eq(wf_right_grouped(&env, "grouped_openblas", seed, &text, NULL),
                     WF_OK);
        for (size_t w = 0; w < sizeof words / sizeof *words; w++) {
            seen[w] = seen[w] || strstr(text, words[w]) != NULL;
        }
    }
    for (size_t w = 0; w < sizeof words / sizeof *words; w++) {
        cr_expect(seen[w], "%s is never drawn", words[w]);
    }
    forget(&env);
}
