/* Parsing of attention problems: defaults, canonical form, parameters, tensors, counts,
 * inputs, and what is refused. */
#include "attention_fixture.h"

#include "core/buf.h"

#include <criterion/criterion.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define DENSE "\"q_heads\":8,\"kv_heads\":2,\"head_dim\":64,\"kv_len\":100"

static void expect_refused(const char *json, const char *words)
{
    struct wf_error err = { 0 };
    struct fx f;
    enum wf_status st = fx_parse(&f, json, NULL, &err);

    cr_expect_neq(st, WF_OK, "%s was accepted", json);
    cr_expect(strstr(err.text, words) != NULL, "%s: \"%s\" is not in \"%s\"", json,
              words, err.text);
    cr_expect(strstr(err.text, "test") == err.text, "%s", err.text);
    if (st == WF_OK) {
        fx_close(&f);
    }
}

Test(attention_problem, what_is_wrong_is_named)
{
    expect_refused("{\"head_dim\":64,\"kv_len\":1}", "q_heads");
    expect_refused("{\"q_heads\":8,\"kv_len\":1}", "head_dim");
    expect_refused("{\"q_heads\":8,\"head_dim\":64}", "kv_len");
    expect_refused("{\"q_heads\":8,\"kv_heads\":3,\"head_dim\":64,\"kv_len\":1}",
                   "kv_heads is 3, which does not divide q_heads 8");
    expect_refused("{\"q_heads\":0,\"head_dim\":64,\"kv_len\":1}", "q_heads");
    expect_refused("{\"q_heads\":8,\"head_dim\":-1,\"kv_len\":1}", "head_dim");
    expect_refused("{" DENSE ",\"q_len\":0}", "q_len");
    expect_refused("{" DENSE ",\"batch\":9007199254740993}", "batch");
    expect_refused("{" DENSE ",\"layout\":\"pagged\"}", "dense, ragged or paged");
    expect_refused("{" DENSE ",\"kv_layout\":\"HND\"}", "kv_layout HND");
    expect_refused("{" DENSE ",\"kv_layout\":\"nhd\"}", "NHD or HND");
    expect_refused("{" DENSE ",\"q_type\":\"fp16\"}", "q_type is \"fp16\"");
    expect_refused("{" DENSE ",\"q_type\":\"i8\"}", "q_type");
    expect_refused("{" DENSE ",\"kv_type\":\"bf16\"}",
                   "kv_type is bf16 with q_type f16");
    expect_refused("{" DENSE ",\"o_type\":\"e4m3fn\"}", "o_type is e4m3fn");
    expect_refused("{" DENSE ",\"scale\":\"nan\"}", "scale is nan");
    expect_refused("{" DENSE ",\"scale\":1e39}", "scale");
    expect_refused("{" DENSE ",\"k_scale\":0}", "k_scale is 0");
    expect_refused("{" DENSE ",\"v_scale\":-1}", "v_scale is -1");
    expect_refused("{" DENSE ",\"soft_cap\":-2}", "soft_cap is -2");
    expect_refused("{" DENSE ",\"window_left\":-2}", "window_left");
    expect_refused("{" DENSE ",\"causal\":true,\"window_right\":0}",
                   "window_right is 0");
    expect_refused("{" DENSE ",\"causal\":1}", "causal");
    expect_refused("{" DENSE ",\"page_size\":16}", "page_size has no meaning");
    expect_refused("{" DENSE ",\"softcap\":5}", "softcap");
    expect_refused("{\"q_heads\":65536,\"head_dim\":65536,\"kv_len\":1099511627776,"
                   "\"batch\":16777216}",
                   "2^60");
}

static void expect_canonical(const char *json, const char *want)
{
    struct wf_error err = { 0 };
    struct fx f;

    cr_assert_eq(fx_parse(&f, json, NULL, &err), WF_OK, "%s", err.text);
    cr_expect_str_eq(wf_case_canonical(f.c), want);
    fx_close(&f);
}

Test(attention_problem, canonical_form_leaves_defaults_out)
{
    const char *plain =
        "{\"head_dim\":64,\"kv_heads\":2,\"kv_len\":100,\"op\":\"attention\",\"q_heads\":8}";

    expect_canonical("{" DENSE "}", plain);
    expect_canonical(
        "{" DENSE ",\"layout\":\"dense\",\"batch\":1,\"q_len\":1,\"head_dim_v\":64,"
        "\"q_type\":\"f16\",\"kv_type\":\"f16\",\"o_type\":\"f16\",\"scale\":0.125,"
        "\"causal\":false,\"window_left\":-1,\"window_right\":-1,\"soft_cap\":0,"
        "\"lse\":false,\"q_scale\":1,\"k_scale\":1.0,\"v_scale\":1,\"kv_layout\":\"NHD\"}",
        plain);
    expect_canonical(
        "{\"q_heads\":4,\"kv_heads\":4,\"head_dim\":64,\"kv_len\":5,"
        "\"q_type\":\"e4m3fnuz\",\"o_type\":\"f16\",\"soft_cap\":30,"
        "\"causal\":true,\"scale\":0.5}",
        "{\"causal\":true,\"head_dim\":64,\"kv_len\":5,\"op\":\"attention\","
        "\"q_heads\":4,\"q_type\":\"e4m3fnuz\",\"scale\":0.5,\"soft_cap\":30}");
    /* A scale that only rounds to the default is another case. */
    expect_canonical(
        "{\"q_heads\":1,\"head_dim\":128,\"kv_len\":1,\"scale\":0.0883883}",
        "{\"head_dim\":128,\"kv_len\":1,\"op\":\"attention\",\"q_heads\":1,"
        "\"scale\":0.0883883}");
}

static double number(const struct fx *f, const char *name)
{
    struct wf_scope scope = wf_case_scope(f->c);
    struct wf_value v;

    cr_assert_eq(scope.find(scope.ctx, name, &v, NULL), WF_OK, "%s", name);
    return v.kind == WF_VALUE_INT ? (double)v.i : v.d;
}

/* 40 query and 10 kv heads in a packed width of 7680: head size 128, not 192. */
Test(attention_problem, scale_is_always_explicit_A22)
{
    struct fx f;

    fx_open(&f, "{\"q_heads\":40,\"kv_heads\":10,\"head_dim\":128,\"kv_len\":4}", NULL);
    cr_expect(fabs(number(&f, "scale") - 0.08838834764831845) < 1e-16);
    cr_expect_eq(number(&f, "group"), 4);
    fx_close(&f);
}

Test(attention_problem, every_member_and_derived_number_is_a_parameter)
{
    static const char *const TEXTS[][2] = {
        { "layout", "dense" },   { "kv_layout", "NHD" }, { "q_type", "f16" },
        { "kv_type", "e5m2" },   { "o_type", "bf16" },   { "page_table", "" },
        { "inputs", "uniform" }, { "op", "attention" }
    };
    struct wf_scope scope;
    struct wf_value v;
    struct fx f;

    fx_open(&f,
            "{" DENSE
            ",\"batch\":3,\"q_len\":5,\"kv_type\":\"e5m2\",\"o_type\":\"bf16\","
            "\"inputs\":\"uniform\",\"lse\":true}",
            NULL);
    scope = wf_case_scope(f.c);
    for (size_t i = 0; i < sizeof(TEXTS) / sizeof(TEXTS[0]); i++) {
        cr_assert_eq(scope.find(scope.ctx, TEXTS[i][0], &v, NULL), WF_OK);
        cr_expect_str_eq(v.s, TEXTS[i][1]);
    }
    for (const char *const *key = wf_case_op(f.c)->params; *key; key++) {
        cr_expect_eq(scope.find(scope.ctx, *key, &v, NULL), WF_OK, "%s", *key);
    }
    cr_expect_eq(number(&f, "batch"), 3);
    cr_expect_eq(number(&f, "total_q"), 15);
    cr_expect_eq(number(&f, "total_kv"), 300);
    cr_expect_eq(number(&f, "max_kv_len"), 100);
    cr_expect_eq(number(&f, "max_q_len"), 5);
    cr_expect_eq(number(&f, "num_pages"), 0);
    cr_expect_eq(number(&f, "lse"), 1);
    cr_expect_eq(number(&f, "causal"), 0);
    cr_assert_eq(scope.find(scope.ctx, "kv_len", &v, NULL), WF_OK);
    cr_expect_eq(v.kind, WF_VALUE_INTS);
    cr_expect_eq(v.n, 3);
    cr_expect_eq(v.ints[2], 100);
    cr_expect_eq(scope.find(scope.ctx, "kvlen", &v, NULL), WF_ENOTFOUND);
    fx_close(&f);
}

Test(attention_problem, tensors_have_the_documented_shapes)
{
    static const int64_t LENS[] = { 20, 3 };
    const struct wf_tensor *t;
    struct fx f;

    fx_open(&f, "{" DENSE ",\"batch\":3,\"q_len\":5,\"head_dim_v\":32}", NULL);
    t = &f.a->tensor[ATTENTION_K];
    cr_expect_eq(t->ndim, 4);
    cr_expect_eq(t->dim[0], 3);
    cr_expect_eq(t->dim[1], 100);
    cr_expect_eq(t->dim[2], 2);
    cr_expect_eq(t->dim[3], 64);
    cr_expect_eq(t->stride[1], 128);
    t = &f.a->tensor[ATTENTION_O];
    cr_expect_eq(t->elements, 3 * 5 * 8 * 32);
    cr_expect_eq(t->role, WF_ROLE_OUTPUT);
    cr_expect_eq(f.a->tensor[ATTENTION_LSE].bytes, 0);
    cr_expect_eq(f.a->tensor[ATTENTION_K_CACHE].bytes, 0);
    cr_expect_eq(wf_case_tensor_index(f.c, "kv_last_page_len"),
                 ATTENTION_KV_LAST_PAGE_LEN);
    fx_close(&f);

    fx_open_paged(&f,
                  "{\"layout\":\"paged\",\"q_heads\":8,\"kv_heads\":2,\"head_dim\":64,"
                  "\"kv_layout\":\"HND\"}",
                  16, LENS, NULL, 2);
    t = &f.a->tensor[ATTENTION_K_CACHE];
    cr_expect_eq(t->dim[0], f.a->num_pages);
    cr_expect_eq(t->dim[1], 2);
    cr_expect_eq(t->dim[2], 16);
    cr_expect_eq(t->dim[3], 64);
    cr_expect_eq(f.a->tensor[ATTENTION_KV_INDICES].elements, 3);
    cr_expect_eq(f.a->tensor[ATTENTION_KV_INDPTR].elements, 3);
    cr_expect_eq(f.a->tensor[ATTENTION_QO_INDPTR].elements, 3);
    cr_expect_eq(f.a->tensor[ATTENTION_KV_INDICES].role, WF_ROLE_INDEX);
    fx_close(&f);
}

/* The closed form against counting, over masks and lengths. */
Test(attention_problem, flops_count_visible_pairs)
{
    static const char *const MASKS[] = { "",
                                         ",\"causal\":true",
                                         ",\"window_left\":3",
                                         ",\"causal\":true,\"window_left\":2",
                                         ",\"window_left\":0,\"window_right\":0",
                                         ",\"window_right\":2" };
    char json[200];

    for (int q = 1; q <= 9; q += 2) {
        for (int kv = 0; kv <= 12; kv += 3) {
            for (size_t m = 0; m < sizeof(MASKS) / sizeof(MASKS[0]); m++) {
                double pairs = 0;
                struct fx f;

                (void)snprintf(json, sizeof(json),
                               "{\"q_heads\":2,\"head_dim\":8,\"head_dim_v\":4,"
                               "\"q_len\":%d,\"kv_len\":%d%s}",
                               q, kv, MASKS[m]);
                fx_open(&f, json, NULL);
                for (int64_t i = 0; i < q; i++) {
                    struct attention_span s = attention_visible(f.a, q, kv, i);

                    pairs += (double)(s.hi - s.lo);
                }
                cr_expect_eq(wf_case_flops(f.c), 2.0 * 2 * (8 + 4) * pairs, "%s", json);
                fx_close(&f);
            }
        }
    }
}

Test(attention_problem, bytes_are_the_least_traffic)
{
    static const int64_t LENS[] = { 100, 28 };
    const struct fx_table shared = { .kv_indptr = FX_LIST(0, 2, 4),
                                     .kv_indices = FX_LIST(1, 2, 1, 0),
                                     .kv_last_page_len = FX_LIST(16, 4),
                                     .num_pages = "3",
                                     .page_size = "16" };
    double fixed;
    struct fx f;

    fx_open_paged(&f,
                  "{\"layout\":\"paged\",\"q_heads\":8,\"kv_heads\":2,\"head_dim\":64}",
                  16, LENS, NULL, 2);
    fixed = 2 * 2 * 8 * 64 * 2 + 4 * (3 + 3 + 9 + 2); /* Q, O; four index arrays */
    cr_expect_eq(wf_case_bytes(f.c), fixed + 2.0 * 2 * 128 * 64 * 2);
    fx_close(&f);
    fx_open(&f, "{\"layout\":\"paged\",\"q_heads\":8,\"kv_heads\":2,\"head_dim\":64}",
            &shared);
    fixed = 2 * 2 * 8 * 64 * 2 + 4 * (3 + 3 + 4 + 2);
    cr_expect_eq(wf_case_bytes(f.c), fixed + 2.0 * 2 * (16 + 16 + 4) * 64 * 2,
                 "page 1 is counted once");
    fx_close(&f);
}

Test(attention_problem, inputs_are_the_same_bytes_for_any_split)
{
    static const int64_t LENS[] = { 37, 5, 0, 70 };
    static const char *const FORMS[] = { "", ",\"kv_layout\":\"HND\"",
                                         ",\"kv_type\":\"e4m3fnuz\"" };

    for (size_t k = 0; k < 3; k++) {
        char json[160];
        struct fx f;

        (void)snprintf(json, sizeof(json),
                       "{\"layout\":\"paged\",\"q_heads\":4,\"kv_heads\":2,"
                       "\"head_dim\":24%s}",
                       FORMS[k]);
        fx_open_paged(&f, json, 16, LENS, NULL, 4);
        for (size_t t = ATTENTION_Q; t <= ATTENTION_KV_LAST_PAGE_LEN; t++) {
            const struct wf_tensor *tensor = &f.a->tensor[t];
            size_t width = wf_dtype_bytes(tensor->dtype);
            unsigned char *again = wf_calloc((size_t)tensor->bytes + 1, 1);

            for (uint64_t at = 0, step = 1; at < tensor->elements;
                 at += step, step += 7) {
                step = step < tensor->elements - at ? step : tensor->elements - at;
                cr_assert_eq(
                    wf_case_fill(f.c, t, 0, at, step, again + at * width, NULL), WF_OK);
            }
            if (tensor->bytes > 0) {
                cr_expect_eq(memcmp(again, f.data[t], (size_t)tensor->bytes), 0, "%s",
                             tensor->name);
            }
            free(again);
        }
        cr_expect_eq(wf_case_fill(f.c, ATTENTION_O, 0, 0, 1, json, NULL), WF_EINVAL);
        fx_close(&f);
    }
}

/* Slots with a key are numbers, all others poison; both in the order of the layout. */
Test(attention_problem, slots_without_a_key_are_poison_A01)
{
    static const int64_t LENS[] = { 37, 5, 0 };

    for (int hnd = 0; hnd < 2; hnd++) {
        int64_t poison = 0, total;
        struct fx f;

        fx_open_paged(&f,
                      hnd ? "{\"layout\":\"paged\",\"q_heads\":4,\"kv_heads\":2,"
                            "\"head_dim\":8,\"kv_layout\":\"HND\"}"
                          : "{\"layout\":\"paged\",\"q_heads\":4,\"kv_heads\":2,"
                            "\"head_dim\":8}",
                      16, LENS, NULL, 3);
        total = (int64_t)f.a->tensor[ATTENTION_K_CACHE].elements;
        for (int64_t i = 0; i < total; i++) {
            poison += wf_is_poison(WF_F16, f.data[ATTENTION_K_CACHE] + 2 * i);
        }
        cr_expect_eq(poison, total - (37 + 5) * 2 * 8);
        for (int64_t b = 0; b < 3; b++) {
            for (int64_t j = 0; j < LENS[b]; j++) {
                fx_set_key(&f, false, b, j, 0, NAN);
                fx_set_key(&f, false, b, j, 1, NAN);
            }
        }
        for (int64_t i = 0; i < total; i++) {
            cr_assert(isnan(fx_get(&f, ATTENTION_K_CACHE, i)),
                      "a key in the wrong slot");
        }
        fx_close(&f);
    }
}

Test(attention_problem, label_says_what_it_is)
{
    static const int64_t LENS[] = { 20, 3 };
    struct fx f;

    fx_open_paged(&f,
                  "{\"layout\":\"paged\",\"q_heads\":8,\"kv_heads\":2,\"head_dim\":64,"
                  "\"kv_type\":\"e4m3fnuz\"}",
                  16, LENS, NULL, 2);
    cr_expect_str_eq(wf_case_label(f.c),
                     "attention paged decode b2 h8/2 d64 kv<=20 f16/e4m3fnuz");
    fx_close(&f);
    fx_open(&f, "{" DENSE ",\"q_len\":100,\"causal\":true}", NULL);
    cr_expect_str_eq(wf_case_label(f.c),
                     "attention dense prefill b1 h8/2 d64 q100 kv100 f16 causal");
    fx_close(&f);
}
