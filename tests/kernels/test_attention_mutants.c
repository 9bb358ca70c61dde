/* Wrong kernels must be caught, honest ones must not. Each mutant runs on a case where
 * its mistake changes the mathematics; the checker says MISMATCH (or what fits better)
 * and, where it can, why. */
#include "attention_fixture.h"
#include "attention_model.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <string.h>

static const int64_t LENS[] = { 100, 33, 250, 1 };
static const int64_t QS[] = { 3, 5, 2, 1 };

/* Common to the paged cases: prefill-like rows over a permuted page table. */
#define PAGED "\"layout\":\"paged\",\"q_heads\":8,\"kv_heads\":2,\"head_dim\":64,"

struct mutation {
    enum model_mutant mutant;
    const char *json;
    enum wf_answer answer;
    const char *words; /* in the diagnosis; "" when none is promised */
};

static const struct mutation MUTATIONS[] = {
    { MODEL_TOP_LEFT, "{" PAGED "\"causal\":true}", WF_ANSWER_MISMATCH, "top-left" },
    { MODEL_NO_CAUSAL, "{" PAGED "\"causal\":true}", WF_ANSWER_MISMATCH,
      "causal mask is not applied" },
    { MODEL_STRICT_CAUSAL, "{" PAGED "\"causal\":true}", WF_ANSWER_MISMATCH, "" },
    { MODEL_WINDOW_LONG, "{" PAGED "\"causal\":true,\"window_left\":15}",
      WF_ANSWER_MISMATCH, "one key too many" },
    { MODEL_WINDOW_SHORT, "{" PAGED "\"causal\":true,\"window_left\":15}",
      WF_ANSWER_MISMATCH, "one key too few" },
    { MODEL_NO_WINDOW, "{" PAGED "\"causal\":true,\"window_left\":15}",
      WF_ANSWER_MISMATCH, "window is not applied" },
    { MODEL_LAST_KEY, "{" PAGED "\"lse\":false}", WF_ANSWER_MISMATCH, "last key" },
    { MODEL_NO_SCALE, "{" PAGED "\"lse\":true}", WF_ANSWER_MISMATCH, "scale is not" },
    { MODEL_DEFAULT_SCALE, "{" PAGED "\"scale\":0.25}", WF_ANSWER_MISMATCH,
      "1/sqrt(head_dim)" },
    { MODEL_NO_CAP, "{" PAGED "\"soft_cap\":2}", WF_ANSWER_MISMATCH, "soft cap" },
    { MODEL_NO_K_SCALE, "{" PAGED "\"kv_type\":\"e4m3fnuz\",\"k_scale\":0.25}",
      WF_ANSWER_MISMATCH, "k_scale" },
    { MODEL_NO_V_SCALE, "{" PAGED "\"kv_type\":\"e4m3fnuz\",\"v_scale\":0.5}",
      WF_ANSWER_MISMATCH, "v_scale" },
    { MODEL_KV_TWICE, "{" PAGED "\"kv_type\":\"e4m3fnuz\"}", WF_ANSWER_MISMATCH,
      "doubled" },
    { MODEL_HEAD_MODULO, "{" PAGED "\"lse\":false}", WF_ANSWER_MISMATCH,
      "h % kv_heads" },
    { MODEL_SWAPPED_HEADS, "{" PAGED "\"lse\":false}", WF_ANSWER_MISMATCH, "swapped" },
    { MODEL_SHIFTED_ROWS, "{" PAGED "\"lse\":false}", WF_ANSWER_MISMATCH, "swapped" },
    { MODEL_OTHER_SEQUENCE, "{\"batch\":3,\"q_heads\":4,\"head_dim\":64,\"kv_len\":50}",
      WF_ANSWER_MISMATCH, "next sequence" },
    { MODEL_IDENTITY_PAGES, "{" PAGED "\"inputs\":\"uniform\"}", WF_ANSWER_NONFINITE,
      "" },
    { MODEL_LAST_PAGE_FULL, "{" PAGED "\"lse\":true}", WF_ANSWER_NONFINITE, "poison" },
    { MODEL_EMPTY_IS_MEAN,
      "{\"q_heads\":2,\"head_dim\":64,\"q_len\":5,\"kv_len\":3,"
      "\"causal\":true}",
      WF_ANSWER_MISMATCH, "mean of V" },
    { MODEL_EMPTY_IS_NAN,
      "{\"q_heads\":2,\"head_dim\":64,\"q_len\":5,\"kv_len\":3,"
      "\"causal\":true}",
      WF_ANSWER_NONFINITE, "0/0" },
    { MODEL_EMPTY_UNWRITTEN,
      "{\"q_heads\":2,\"head_dim\":64,\"q_len\":5,\"kv_len\":3,"
      "\"causal\":true}",
      WF_ANSWER_UNWRITTEN, "never written" },
    { MODEL_LSE_PLUS_INF,
      "{\"q_heads\":2,\"head_dim\":64,\"q_len\":5,\"kv_len\":3,"
      "\"causal\":true,\"lse\":true}",
      WF_ANSWER_NONFINITE, "-inf" },
    { MODEL_LSE_BASE_2, "{" PAGED "\"lse\":true}", WF_ANSWER_MISMATCH, "base 2" },
    { MODEL_LSE_NAN, "{" PAGED "\"lse\":true}", WF_ANSWER_NONFINITE, "" },
    { MODEL_ZERO_ROW, "{" PAGED "\"lse\":false}", WF_ANSWER_MISMATCH, "all zero" },
    { MODEL_LAST_ROW_UNWRITTEN, "{" PAGED "\"lse\":false}", WF_ANSWER_UNWRITTEN, "" },
    { MODEL_LAST_COLUMN_NAN, "{" PAGED "\"lse\":false}", WF_ANSWER_NONFINITE, "" },
    { MODEL_UNIFORM_WEIGHTS, "{" PAGED "\"lse\":false}", WF_ANSWER_MISMATCH,
      "mean of V" },
};

static void open_case(struct fx *f, const char *json)
{
    if (strstr(json, "paged")) {
        fx_open_paged(f, json, 16, LENS, QS, 4);
    } else {
        fx_open(f, json, NULL);
    }
}

/* The same JSON with another type put in front. */
static void with_type(char *to, size_t n, const char *json, const char *type)
{
    (void)snprintf(to, n, "{\"q_type\":\"%s\",%s", type, json + 1);
}

static void expect_caught(const struct mutation *m, const char *type)
{
    struct wf_check_report r;
    char json[300];
    struct fx f;

    with_type(json, sizeof(json), m->json, type);
    open_case(&f, json);
    model_run(&f, MODEL_HONEST, 2);
    fx_check(&f, &r);
    cr_expect_eq(r.answer, WF_ANSWER_PASS, "honest: %s", json);
    cr_expect_str_eq(r.diagnosis, "", "honest: %s", json);
    model_run(&f, m->mutant, 1);
    fx_check(&f, &r);
    cr_expect_eq(r.answer, m->answer, "%s: %s gives %s", model_mutant_name(m->mutant),
                 json, wf_answer_name(r.answer));
    cr_expect(strstr(r.diagnosis, m->words) != NULL, "%s: %s: \"%s\" is not in \"%s\"",
              model_mutant_name(m->mutant), json, m->words, r.diagnosis);
    cr_expect(r.has_worst && r.check[0].worst_ratio >= 0);
    fx_close(&f);
}

Test(attention_mutants, each_is_caught_and_named_in_f16)
{
    for (size_t i = 0; i < sizeof(MUTATIONS) / sizeof(MUTATIONS[0]); i++) {
        expect_caught(&MUTATIONS[i], "f16");
    }
}

/* bf16 has the widest tolerance of the 16-bit types. */
Test(attention_mutants, each_is_caught_and_named_in_bf16)
{
    for (size_t i = 0; i < sizeof(MUTATIONS) / sizeof(MUTATIONS[0]); i++) {
        expect_caught(&MUTATIONS[i], "bf16");
    }
}

Test(attention_mutants, the_table_has_every_mutant)
{
    for (int m = MODEL_HONEST + 1; m < MODEL_MUTANT_COUNT; m++) {
        bool found = false;

        for (size_t i = 0; i < sizeof(MUTATIONS) / sizeof(MUTATIONS[0]); i++) {
            found = found || MUTATIONS[i].mutant == (enum model_mutant)m;
        }
        cr_expect(found, "%s", model_mutant_name((enum model_mutant)m));
    }
}

/* One key more or less in a thousand: what a bound on sum p |v| would let pass. */
Test(attention_mutants, one_key_in_a_long_row_is_caught)
{
    static const char *const TYPES[] = { "f16", "bf16" };
    static const enum model_mutant KEYS[] = { MODEL_LAST_KEY, MODEL_WINDOW_LONG,
                                              MODEL_WINDOW_SHORT };

    for (size_t t = 0; t < 2; t++) {
        for (size_t k = 0; k < 3; k++) {
            struct wf_check_report r;
            char json[200];
            struct fx f;

            with_type(json, sizeof(json),
                      "{\"q_heads\":8,\"kv_heads\":2,\"head_dim\":128,\"kv_len\":3000,"
                      "\"window_left\":1999,\"batch\":2}",
                      TYPES[t]);
            fx_open(&f, json, NULL);
            model_run(&f, KEYS[k], 1);
            fx_check(&f, &r);
            cr_expect_eq(r.answer, WF_ANSWER_MISMATCH, "%s %s: worst %g of the limit",
                         TYPES[t], model_mutant_name(KEYS[k]), r.check[0].worst_ratio);
            fx_close(&f);
        }
    }
}

/* A single element that is off by twice the stated detection limit is found, wherever
 * it is. */
Test(attention_mutants, one_element_off_by_the_stated_limit_is_caught)
{
    struct wf_check_report r;
    struct fx f;

    fx_open_paged(&f, "{" PAGED "\"o_type\":\"f32\"}", 16, LENS, QS, 4);
    for (int64_t i = 0; i < (int64_t)f.a->tensor[ATTENTION_O].elements; i += 397) {
        model_run(&f, MODEL_HONEST, 1);
        fx_check(&f, &r);
        cr_assert_eq(r.answer, WF_ANSWER_PASS);
        fx_set(&f, ATTENTION_O, i,
               fx_get(&f, ATTENTION_O, i) + 2 * r.check[0].smallest_caught);
        fx_check(&f, &r);
        cr_expect_eq(r.answer, WF_ANSWER_MISMATCH, "element %lld", (long long)i);
        cr_expect_eq(r.mismatches, 1);
        cr_expect_eq(
            r.worst_index[0] * 8 * 64 + r.worst_index[1] * 64 + r.worst_index[2], i);
    }
    fx_close(&f);
}

/* Identity pages that happen to hold keys give finite wrong values: no NaN to help. */
Test(attention_mutants, ignored_page_ids_are_named_when_every_slot_is_used)
{
    const struct fx_table table = { .kv_indptr = FX_LIST(0, 2, 4),
                                    .kv_indices = FX_LIST(3, 1, 0, 2),
                                    .kv_last_page_len = FX_LIST(16, 16),
                                    .num_pages = "4",
                                    .page_size = "16" };
    struct wf_check_report r;
    struct fx f;

    fx_open(&f, "{" PAGED "\"lse\":false}", &table);
    model_run(&f, MODEL_IDENTITY_PAGES, 1);
    fx_check(&f, &r);
    cr_expect_eq(r.answer, WF_ANSWER_MISMATCH);
    cr_expect(strstr(r.diagnosis, "page ids are ignored") != NULL, "%s", r.diagnosis);
    fx_close(&f);
}
