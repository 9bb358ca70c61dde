/* Layouts as cases say them: where elements lie, where gaps are, what is refused, and
 * that cases without layout members are what they were. */
#include "tests/kernels/attention_fixture.h"

#include "core/buf.h"
#include "core/rng.h"
#include "kernels/strided.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const struct fx_table TABLE = { .kv_indptr = FX_LIST(0, 2, 2, 4),
                                       .kv_indices = FX_LIST(5, 0, 2, 6),
                                       .kv_last_page_len = FX_LIST(3, 0, 1),
                                       .num_pages = "7",
                                       .page_size = "4" };

static struct wf_case *parse(const char *text, struct wf_error *err)
{
    struct wf_json *json = NULL;
    struct wf_case *c = NULL;
    cr_assert_eq(wf_json_parse(text, strlen(text), "case", &json, err), WF_OK, "%s",
                 err->text);
    (void)wf_case_parse(json, "test", NULL, &c, err);
    wf_json_free(json);
    return c;
}

/* --- ids --- */

Test(layouts, a_case_without_layout_members_keeps_its_id)
{
    /* Ids of before there were layout members. */
    static const char *const CASES[][2] = {
        { "{\"K\":41,\"M\":37,\"N\":29,\"a_type\":\"f32\",\"op\":\"gemm\"}",
          "3a791bf0146d9aab63632c5b4a8c0f9280fcef9a666bf77d1e776e8f7866f498" },
        { "{\"K\":300,\"M\":37,\"N\":29,\"a_type\":\"f32\",\"op\":\"gemm\"}",
          "1c233642ff34cff1e0add13994d39f7a0ae8f5b1c5e7faa43dbcbae866a6733a" },
    };
    for (size_t i = 0; i < sizeof(CASES) / sizeof(CASES[0]); i++) {
        struct wf_error err = { 0 };
        struct wf_case *c = parse(CASES[i][0], &err);
        cr_assert_not_null(c, "%s", err.text);
        cr_expect_str_eq(wf_case_canonical(c), CASES[i][0]);
        cr_expect_str_eq(wf_case_id(c), CASES[i][1]);
        wf_case_free(c);
    }
}

Test(layouts, dense_strides_that_are_given_are_left_out)
{
    static const char *const SAME[][2] = {
        { "{\"op\":\"attention\",\"q_heads\":4,\"kv_heads\":2,\"head_dim\":8,"
          "\"kv_len\":3}",
          "{\"op\":\"attention\",\"q_heads\":4,\"kv_heads\":2,\"head_dim\":8,"
          "\"kv_len\":3,\"q_head_stride\":8,\"q_token_stride\":32,\"k_head_stride\":8,"
          "\"k_token_stride\":16,\"v_token_stride\":16,\"o_token_stride\":32,"
          "\"q_offset\":0,\"o_offset\":0}" },
        { "{\"op\":\"gemm\",\"M\":3,\"N\":4,\"K\":5}",
          "{\"op\":\"gemm\",\"M\":3,\"N\":4,\"K\":5,\"lda\":5,\"ldd\":4,\"offset_a\":0,"
          "\"offset_b\":0,\"offset_c\":0,\"offset_d\":0}" },
    };
    for (size_t i = 0; i < sizeof(SAME) / sizeof(SAME[0]); i++) {
        struct wf_error err = { 0 };
        struct wf_case *plain = parse(SAME[i][0], &err);
        struct wf_case *given = parse(SAME[i][1], &err);
        cr_assert(plain && given, "%s", err.text);
        cr_expect_str_eq(wf_case_canonical(plain), wf_case_canonical(given));
        wf_case_free(plain);
        wf_case_free(given);
    }
}

Test(layouts, a_canonical_layout_parses_to_itself)
{
    static const char TEXT[] =
        "{\"op\":\"attention\",\"q_heads\":4,\"kv_heads\":2,\"head_dim\":8,\"kv_len\":3,"
        "\"q_head_stride\":11,\"k_head_stride\":9,\"v_token_stride\":19,\"lse\":true,"
        "\"lse_offset\":3,\"o_offset\":1,\"o_head_stride\":13}";
    struct wf_error err = { 0 };
    struct wf_case *c = parse(TEXT, &err);
    cr_assert_not_null(c, "%s", err.text);
    struct wf_case *again = parse(wf_case_canonical(c), &err);
    cr_assert_not_null(again, "%s", err.text);
    cr_expect_str_eq(wf_case_id(c), wf_case_id(again));
    wf_case_free(c);
    wf_case_free(again);
}

/* --- what is refused --- */

static void refused(const char *members, const struct fx_table *table, const char *says)
{
    struct wf_error err = { 0 };
    struct fx f;
    char text[512];
    (void)snprintf(
        text, sizeof(text), "{\"q_heads\":4,\"kv_heads\":2,\"head_dim\":8,%s%s}",
        table ? "\"layout\":\"paged\"" : "\"kv_len\":3,\"q_len\":2", members);
    cr_expect_neq(fx_parse(&f, text, table, &err), WF_OK, "%s", members);
    cr_expect_not_null(strstr(err.text, says), "%s: %s", members, err.text);
}

Test(layouts, what_overlaps_or_has_no_meaning_is_refused_with_names)
{
    refused(",\"q_head_stride\":7", NULL, "q_head_stride is 7; it must be at least 8");
    refused(",\"q_token_stride\":31", NULL, "q_token_stride is 31");
    refused(",\"o_token_stride\":0", NULL, "o_token_stride");
    refused(",\"k_page_stride\":96", NULL, "k_page_stride has no meaning");
    refused(",\"lse_offset\":1", NULL, "lse_offset has no meaning without lse");
    refused(",\"q_offset\":2048", NULL, "q_offset");
    refused(",\"q_offset\":-1", NULL, "q_offset");
    refused(",\"k_page_stride\":63", &TABLE, "k_page_stride is 63");
    refused(",\"k_page_stride\":64,\"k_token_stride\":448", &TABLE,
            "k_token_stride is 448; it must be below k_page_stride");
    refused(",\"q_token_stride\":1152921504606846976", NULL, "2^60");
}

/* Reports of page ids that are out of range: named, and never read as another page. */
Test(field_reports, a07_page_ids_beyond_the_pool_are_refused_with_place_and_limit)
{
    static const struct {
        int32_t id[6];
        const char *says;
    } BAD[] = {
        { { 0, 99, 1, 2, 1, 0 }, "sequence 0, column 1 (kv_indices[1]): page id 99" },
        { { 0, 2, 1, -1, 0, 1 }, "sequence 1, column 0 (kv_indices[3]): page id -1" },
        { { 0, 2, 1, 2, 3, 0 }, "sequence 1, column 1 (kv_indices[4]): page id 3" },
    };
    for (size_t i = 0; i < sizeof(BAD) / sizeof(BAD[0]); i++) {
        struct wf_error err = { 0 };
        struct fx f;
        const struct fx_table t = { .kv_indptr = FX_LIST(0, 3, 6),
                                    .kv_indices = { BAD[i].id, 6 },
                                    .kv_last_page_len = FX_LIST(4, 4),
                                    .num_pages = "3",
                                    .page_size = "4" };
        cr_expect_neq(fx_parse(&f,
                               "{\"layout\":\"paged\",\"q_heads\":1,\"head_dim\":8}",
                               &t, &err),
                      WF_OK);
        cr_expect_not_null(strstr(err.text, BAD[i].says), "%s", err.text);
        cr_expect_not_null(strstr(err.text, "num_pages = 3"), "%s", err.text);
    }
}

/* --- where elements lie --- */

/* Marks every element of the tensor by its indices; false: two share a place. */
static bool mark(const struct wf_tensor *t, unsigned char *used)
{
    int64_t index[WF_MAX_DIMS] = { 0 };
    for (int d = 0; d < t->ndim;) {
        int64_t at = 0;
        for (int k = 0; k < t->ndim; k++) {
            at += index[k] * t->stride[k];
        }
        if (used[at]++) {
            return false;
        }
        for (d = 0; d < t->ndim && ++index[d] == t->dim[d]; d++) {
            index[d] = 0;
        }
    }
    return true;
}

static void expect_runs(const struct wf_tensor *t)
{
    unsigned char *used = wf_calloc((size_t)t->elements, 1);
    struct wf_strided s;
    uint64_t count = 0;
    cr_assert(mark(t, used));
    wf_strided_init(&s, t);
    for (uint64_t at = 0; at < t->elements;) {
        bool is_used = false;
        const uint64_t run = wf_strided_run(&s, at, &is_used);
        cr_assert(run > 0 && run <= t->elements - at, "at %llu",
                  (unsigned long long)at);
        for (uint64_t i = 0; i < run; i++) {
            cr_assert_eq(used[at + i], is_used, "element %llu",
                         (unsigned long long)(at + i));
        }
        at += run;
        count++;
        /* From the middle of a run the same is told. */
        if (run > 2) {
            bool middle = !is_used;
            cr_expect_eq(wf_strided_run(&s, at - 1, &middle) > 0 && middle == is_used,
                         1);
        }
    }
    cr_expect_leq(count, 2 * t->elements);
    free(used);
}

Test(layouts, runs_are_what_indices_and_strides_say)
{
    struct wf_rng rng = { 11, 1, 0 };
    static const char *const NAMES[4] = { "d0", "d1", "d2", "d3" };
    for (int i = 0; i < 400; i++) {
        struct wf_tensor t = { .name = "T", .dtype = WF_F16, .ndim = 3 };
        int order[3] = { 2, 1, 0 };
        int64_t span = 1, elements = 0;
        if (wf_rng_next_below(&rng, 2)) {
            order[1] = 0;
            order[2] = 1;
        }
        for (int k = 0; k < 3; k++) {
            const int d = order[k];
            t.dim[d] = 1 + (int64_t)wf_rng_next_below(&rng, 5);
            t.stride[d] = span + (k > 0 ? (int64_t)wf_rng_next_below(&rng, 4) : 0);
            span = t.dim[d] * t.stride[d];
        }
        cr_assert_eq(wf_strided_check(&t, NAMES, NULL), WF_OK);
        cr_assert_eq(wf_strided_span(&t, &elements, NULL), WF_OK);
        t.elements = (uint64_t)elements;
        expect_runs(&t);
    }
}

Test(layouts, alignment_is_that_of_every_row)
{
    const struct {
        int64_t stride, rows;
        uint64_t base;
        int64_t align;
    } ROWS[] = { { 64, 5, 0, 128 }, { 63, 5, 0, 2 },   { 64, 5, 6, 2 },
                 { 64, 5, 16, 16 }, { 63, 1, 0, 256 }, { 8, 5, 0, 16 },
                 { 128, 5, 0, 256 } };
    for (size_t i = 0; i < sizeof(ROWS) / sizeof(ROWS[0]); i++) {
        const struct wf_tensor t = { .dtype = WF_F16,
                                     .ndim = 2,
                                     .dim = { ROWS[i].rows, 8 },
                                     .stride = { ROWS[i].stride, 1 },
                                     .base_bytes = ROWS[i].base };
        cr_expect_eq(wf_strided_align(&t), ROWS[i].align, "row %zu", i);
    }
}

/* --- fills --- */

static void expect_fill(const struct wf_case *c, size_t i, struct wf_rng *rng)
{
    const struct wf_tensor *t = wf_case_tensor(c, i);
    const size_t width = wf_dtype_bytes(t->dtype);
    unsigned char *all = wf_calloc((size_t)t->elements, width);
    unsigned char *part = wf_calloc((size_t)t->elements, width);
    cr_assert_eq(wf_case_fill(c, i, 0, 0, t->elements, all, NULL), WF_OK);
    for (uint64_t at = 0; at < t->elements;) {
        const uint64_t left = t->elements - at;
        uint64_t n = 1 + wf_rng_next_below(rng, 37);
        n = n < left ? n : left;
        cr_assert_eq(wf_case_fill(c, i, 0, at, n, part + at * width, NULL), WF_OK);
        at += n;
    }
    cr_expect_arr_eq(all, part, (size_t)t->elements * width, "%s", t->name);
    for (uint64_t at = 0; at < t->elements; at++) {
        bool used = false;
        const uint64_t run = wf_case_run(c, i, at, &used);
        cr_assert(run > 0 && run <= t->elements - at);
        cr_assert_eq(wf_is_poison(t->dtype, all + at * width), !used, "%s element %llu",
                     t->name, (unsigned long long)at);
    }
    free(all);
    free(part);
}

Test(layouts, gaps_and_unused_slots_hold_poison_however_a_fill_is_split)
{
    static const char *const LAYOUTS[] = {
        "",
        ",\"k_token_stride\":37,\"v_head_stride\":11,\"v_page_stride\":400",
        ",\"kv_layout\":\"HND\"",
        ",\"kv_layout\":\"HND\",\"k_token_stride\":9,\"v_head_stride\":50",
        ",\"k_head_stride\":100,\"k_token_stride\":12,\"k_page_stride\":301",
        ",\"q_head_stride\":10,\"q_token_stride\":99",
    };
    struct wf_rng rng = { 5, 2, 0 };
    for (size_t i = 0; i < sizeof(LAYOUTS) / sizeof(LAYOUTS[0]); i++) {
        struct wf_error err = { 0 };
        struct fx f;
        char text[256];
        (void)snprintf(text, sizeof(text),
                       "{\"layout\":\"paged\",\"q_heads\":4,\"kv_heads\":2,"
                       "\"head_dim\":8%s}",
                       LAYOUTS[i]);
        cr_assert_eq(fx_parse(&f, text, &TABLE, &err), WF_OK, "%s", err.text);
        expect_fill(f.c, ATTENTION_Q, &rng);
        expect_fill(f.c, ATTENTION_K_CACHE, &rng);
        expect_fill(f.c, ATTENTION_V_CACHE, &rng);
        wf_case_free(f.c);
        wf_dataset_free(f.ds);
    }
}

/* The values of a key do not depend on what the reference gathers it for: every used
 * slot of the pool is one that some sequence lists. */
Test(layouts, a_pool_uses_exactly_the_slots_of_the_table)
{
    struct wf_error err = { 0 };
    struct fx f;
    uint64_t used = 0;
    cr_assert_eq(fx_parse(&f,
                          "{\"layout\":\"paged\",\"q_heads\":2,\"head_dim\":8,"
                          "\"k_token_stride\":19,\"k_page_stride\":1000003}",
                          &TABLE, &err),
                 WF_OK, "%s", err.text);
    const struct wf_tensor *t = wf_case_tensor(f.c, ATTENTION_K_CACHE);
    for (uint64_t at = 0; at < t->elements;) {
        bool is_used = false;
        const uint64_t run = wf_case_run(f.c, ATTENTION_K_CACHE, at, &is_used);
        used += is_used ? run : 0;
        at += run;
    }
    cr_expect_eq(used, (4 + 3 + 4 + 1) * 2 * 8);
    wf_case_free(f.c);
    wf_dataset_free(f.ds);
}
