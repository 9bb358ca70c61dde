/* Faults that the diagnosis of attention knows, beside those of
 * test_attention_mutants.c: planted and named; others get no name. Most are made by
 * running the honest model on a case whose options are the mistake, and judging its
 * output by the right case. */
#include "attention_fixture.h"
#include "attention_model.h"

#include "kernels/attention/attention_diagnose.h"

#include <criterion/criterion.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

static void check_words(struct fx *f, const char *words)
{
    struct wf_check_report r;

    fx_check(f, &r);
    cr_expect_neq(r.answer, WF_ANSWER_PASS, "%s", words);
    cr_expect(strstr(r.diagnosis, words) != NULL, "\"%s\" is not in \"%s\"", words,
              r.diagnosis);
    fx_close(f);
}

static void copy_o(struct fx *to, const struct fx *from)
{
    memcpy(to->data[ATTENTION_O], from->data[ATTENTION_O],
           to->a->tensor[ATTENTION_O].bytes);
}

static void expect_of(const char *wrong, const char *right, const char *words)
{
    struct fx w, f;

    fx_open(&w, wrong, NULL);
    fx_open(&f, right, NULL);
    model_run(&w, MODEL_HONEST, 1);
    copy_o(&f, &w);
    fx_close(&w);
    check_words(&f, words);
}

#define HEAD "{\"q_heads\":2,\"head_dim\":64,"

Test(attention_diagnose, masks_that_are_off_by_one)
{
    expect_of(HEAD "\"q_len\":8,\"kv_len\":40,\"window_right\":1}",
              HEAD "\"q_len\":8,\"kv_len\":40,\"causal\":true}",
              "off by one: it shows the key behind");
    expect_of(HEAD "\"q_len\":8,\"kv_len\":40,\"window_right\":3}",
              HEAD "\"q_len\":8,\"kv_len\":40,\"window_right\":2}",
              "one key too many on the right");
    expect_of(HEAD "\"q_len\":8,\"kv_len\":40,\"window_right\":1}",
              HEAD "\"q_len\":8,\"kv_len\":40,\"window_right\":2}",
              "one key too few on the right");
}

Test(attention_diagnose, tiles_of_keys_that_are_missing)
{
    const char *right = HEAD "\"q_len\":2,\"kv_len\":248}";

    expect_of(HEAD "\"q_len\":2,\"kv_len\":240}", right, "beyond a multiple of 16 is");
    expect_of(HEAD "\"q_len\":2,\"kv_len\":224}", right, "beyond a multiple of 32 is");
    expect_of(HEAD "\"q_len\":2,\"kv_len\":192}", right, "beyond a multiple of 64 is");
    expect_of(HEAD "\"q_len\":2,\"kv_len\":128}", right, "beyond a multiple of 128 is");
    expect_of(HEAD "\"q_len\":2,\"kv_len\":64}", right, "only the first 64 keys");
}

Test(attention_diagnose, scales_that_are_missing_or_twice)
{
    expect_of(HEAD "\"kv_len\":50,\"scale\":0.01}", HEAD "\"kv_len\":50,\"scale\":0.1}",
              "scale is applied twice");
    expect_of(HEAD "\"kv_len\":50,\"scale\":0.06931471805599453}",
              HEAD "\"kv_len\":50,\"scale\":0.1}", "without the factor log2(e)");
    expect_of(HEAD "\"kv_len\":50,\"scale\":0.14426950408889634}",
              HEAD "\"kv_len\":50,\"scale\":0.1}", "although exp is used");
    expect_of(HEAD "\"kv_len\":300,\"q_type\":\"e4m3fnuz\",\"scale\":0.3}",
              HEAD
              "\"kv_len\":300,\"q_type\":\"e4m3fnuz\",\"q_scale\":0.2,\"scale\":0.3}",
              "q_scale is not applied");
}

#define KV8 HEAD "\"kv_len\":50,\"scale\":0.1,\"kv_type\":\"e4m3fnuz\""
#define Q8 \
    HEAD "\"kv_len\":300,\"scale\":0.1,\"q_type\":\"e4m3fnuz\",\"o_type\":\"f16\""

Test(attention_diagnose, fp8_formats_of_cache_and_query)
{
    expect_of(KV8 ",\"k_scale\":2,\"v_scale\":2}", KV8 "}",
              "K and V are doubled: fnuz");
    expect_of(KV8 ",\"k_scale\":0.5,\"v_scale\":0.5}", KV8 "}",
              "K and V are halved: OCP");
    expect_of(KV8 ",\"v_scale\":2}", KV8 "}", "V is doubled: fnuz");
    expect_of(KV8 ",\"v_scale\":0.5}", KV8 "}", "V is halved: OCP");
    expect_of(KV8 ",\"k_scale\":2}", KV8 "}", "K is doubled: fnuz");
    expect_of(KV8 ",\"k_scale\":0.5}", KV8 "}", "K is halved: OCP");
    expect_of(Q8 ",\"q_scale\":2}", Q8 "}", "Q.K is 2 times");
    expect_of(Q8 ",\"q_scale\":0.25}", Q8 "}", "Q.K is 1/4");
}

/* The same factors without fp8 anywhere are no formats. */
Test(attention_diagnose, a_factor_without_fp8_is_no_format)
{
    static const char *const RIGHT = HEAD "\"kv_len\":50,\"scale\":0.5}";
    struct wf_check_report r;
    struct fx w, f;

    fx_open(&w, HEAD "\"kv_len\":50,\"scale\":0.5,\"v_scale\":2}", NULL);
    fx_open(&f, RIGHT, NULL);
    model_run(&w, MODEL_HONEST, 1);
    copy_o(&f, &w);
    fx_check(&f, &r);
    cr_expect(strstr(r.diagnosis, "is 2 times the reference") != NULL, "%s",
              r.diagnosis);
    cr_expect(strstr(r.diagnosis, "OCP") == NULL, "%s", r.diagnosis);
    fx_close(&w);
    fx_close(&f);
}

/* Every slot of the pool holds a key: the other layout reads finite values. */
Test(attention_diagnose, pages_read_in_the_other_layout)
{
    const struct fx_table table = { .kv_indptr = FX_LIST(0, 2, 4),
                                    .kv_indices = FX_LIST(3, 1, 0, 2),
                                    .kv_last_page_len = FX_LIST(16, 16),
                                    .num_pages = "4",
                                    .page_size = "16" };
    struct fx w, f;

    fx_open(&w,
            "{\"layout\":\"paged\",\"q_heads\":4,\"kv_heads\":2,\"head_dim\":64,"
            "\"kv_layout\":\"HND\"}",
            &table);
    fx_open(&f, "{\"layout\":\"paged\",\"q_heads\":4,\"kv_heads\":2,\"head_dim\":64}",
            &table);
    model_run(&w, MODEL_HONEST, 1);
    copy_o(&f, &w);
    fx_close(&w);
    check_words(&f, "read in the other layout");
}

static void copy_rows(struct fx *f,
                      enum attention_tensor to,
                      enum attention_tensor from)
{
    for (uint64_t i = 0; i < f->a->tensor[to].elements; i++) {
        fx_set(f, to, (int64_t)i, fx_get(f, from, (int64_t)i));
    }
}

Test(attention_diagnose, operands_that_are_mixed_up)
{
    const char *json = HEAD "\"kv_len\":50,\"batch\":3}";
    struct fx w, f;

    fx_open(&w, json, NULL);
    fx_open(&f, json, NULL);
    copy_rows(&w, ATTENTION_V, ATTENTION_K);
    model_run(&w, MODEL_HONEST, 1);
    copy_o(&f, &w);
    check_words(&f, "K is used in the place of V");
    fx_close(&w);
    fx_open(&w, json, NULL);
    fx_open(&f, json, NULL);
    for (int t = ATTENTION_K; t <= ATTENTION_V; t++) {
        size_t part = w.a->tensor[t].bytes / 3;

        memcpy(w.data[t] + part, w.data[t], part);
        memcpy(w.data[t] + 2 * part, w.data[t], part);
    }
    model_run(&w, MODEL_HONEST, 1);
    copy_o(&f, &w);
    fx_close(&w);
    check_words(&f, "batch stride is ignored");
}

/* The first wrong head is the first of its group: all wrong mappings put it there. */
Test(attention_diagnose, heads_that_are_right_refute_a_mapping)
{
    const char *json = "{\"q_heads\":8,\"kv_heads\":2,\"head_dim\":64,\"kv_len\":50}";
    struct fx w, f;

    fx_open(&w, json, NULL);
    fx_open(&f, json, NULL);
    for (int64_t i = 0; i < 50 * 64; i++) {
        const int64_t at = i / 64 * 128 + i % 64;
        fx_set(&w, ATTENTION_K, at + 64, fx_get(&w, ATTENTION_K, at));
        fx_set(&w, ATTENTION_V, at + 64, fx_get(&w, ATTENTION_V, at));
    }
    model_run(&w, MODEL_HONEST, 1);
    copy_o(&f, &w);
    fx_close(&w);
    check_words(&f, "kv head 0 is used");
}

/* Code 0x80 is -0 in OCP fp8 and NaN in fnuz. A row without it says nothing of that. */
Test(attention_diagnose, minus_zero_read_as_nan)
{
    const char *json = HEAD "\"kv_len\":20,\"kv_type\":\"e4m3fn\"}";
    struct wf_check_report r;
    struct fx f;

    for (int with = 0; with < 2; with++) {
        for (int nan = 0; nan < 2; nan++) {
            fx_open(&f, json, NULL);
            for (uint64_t i = 0; i < f.a->tensor[ATTENTION_K].elements; i++) {
                fx_set(&f, ATTENTION_K, (int64_t)i, 0.5);
                fx_set(&f, ATTENTION_V, (int64_t)i, 0.25);
            }
            fx_set(&f, ATTENTION_K, 64 * 2 * 7, with ? -0.0 : 0.0);
            model_run(&f, MODEL_HONEST, 1);
            for (int64_t d = 0; d < 64; d++) {
                fx_set(&f, ATTENTION_O, d, nan ? (double)INFINITY : 0);
            }
            fx_check(&f, &r);
            cr_expect_neq(r.answer, WF_ANSWER_PASS);
            cr_expect_eq(strstr(r.diagnosis, "read as fnuz") != NULL, with != 0,
                         "%d: %s", nan, r.diagnosis);
            fx_close(&f);
        }
    }
}

static double to_type(enum wf_dtype t, double v)
{
    unsigned char raw[8];
    double r;

    wf_from_f64(t, &v, raw, 1);
    wf_to_f64(t, raw, &r, 1);
    return r;
}

/* One head, all keys: the sum over P V kept in `t` after every key, or the weights' sum
 * left out. */
static void run_narrow(struct fx *f, enum wf_dtype t, bool divide)
{
    const struct attention *a = f->a;
    int64_t n = a->kv_len[0], d = a->head_dim;

    for (int64_t i = 0; i < a->total_q; i++) {
        double w[512], l = 0;

        for (int64_t j = 0; j < n; j++) {
            double s = 0;

            for (int64_t e = 0; e < d; e++) {
                s += fx_get(f, ATTENTION_Q, i * d + e) *
                     fx_get(f, ATTENTION_K, j * d + e);
            }
            w[j] = exp(s * a->scale - 3);
            l += w[j];
        }
        for (int64_t e = 0; e < d; e++) {
            double o = 0;

            for (int64_t j = 0; j < n; j++) {
                o = to_type(t, o + w[j] * fx_get(f, ATTENTION_V, j * d + e));
            }
            fx_set(f, ATTENTION_O, i * d + e, divide ? o / l : o * exp(3));
        }
    }
}

Test(attention_diagnose, accumulation_in_a_narrow_type)
{
    static const struct {
        enum wf_dtype type;
        const char *json, *words;
    } ROWS[] = {
        { WF_F16, "{\"q_heads\":1,\"head_dim\":128,\"kv_len\":400,\"q_type\":\"f32\"}",
          "accumulating P V in f16" },
        { WF_BF16, "{\"q_heads\":1,\"head_dim\":128,\"kv_len\":400,\"q_type\":\"f32\"}",
          "accumulating P V in bf16" },
    };

    for (int i = 0; i < 2; i++) {
        struct fx f;

        fx_open(&f, ROWS[i].json, NULL);
        run_narrow(&f, ROWS[i].type, true);
        check_words(&f, ROWS[i].words);
    }
}

Test(attention_diagnose, weights_that_are_not_divided_by_their_sum)
{
    struct fx f;

    fx_open(&f, "{\"q_heads\":1,\"head_dim\":64,\"kv_len\":40,\"q_type\":\"f32\"}",
            NULL);
    run_narrow(&f, WF_F64, false);
    /* Relative to the largest weight, as an online softmax leaves it. */
    for (int64_t i = 0; i < f.a->total_q; i++) {
        double max = -INFINITY;

        for (int64_t j = 0; j < 40; j++) {
            double s = 0;

            for (int64_t e = 0; e < 64; e++) {
                s += fx_get(&f, ATTENTION_Q, i * 64 + e) *
                     fx_get(&f, ATTENTION_K, j * 64 + e);
            }
            max = fmax(max, s * f.a->scale);
        }
        for (int64_t e = 0; e < 64; e++) {
            fx_set(&f, ATTENTION_O, i * 64 + e,
                   fx_get(&f, ATTENTION_O, i * 64 + e) * exp(-max));
        }
    }
    check_words(&f, "not divided by the sum");
}

/* --- what must get no name --- */

static double noise(int64_t i)
{
    uint64_t h = (uint64_t)(i + 1) * UINT64_C(0x9e3779b97f4a7c15);

    h ^= h >> 29;
    h *= UINT64_C(0xbf58476d1ce4e5b9);
    return (double)(h >> 11) * 0x1p-52 - 1;
}

Test(attention_diagnose, other_faults_get_no_name)
{
    static const char *const CASES[] = {
        "{\"q_heads\":2,\"head_dim\":64,\"q_len\":4,\"kv_len\":64,\"causal\":true}",
        "{\"q_heads\":4,\"kv_heads\":2,\"head_dim\":64,\"kv_len\":100,\"kv_type\":"
        "\"e4m3fnuz\",\"batch\":3}",
    };

    for (int c = 0; c < 2; c++) {
        for (int fault = 0; fault < 4; fault++) {
            struct wf_check_report r;
            struct fx f;
            int64_t n;

            fx_open(&f, CASES[c], NULL);
            n = (int64_t)f.a->tensor[ATTENTION_O].elements;
            model_run(&f, MODEL_HONEST, 1);
            for (int64_t i = 0; i < n; i++) {
                double v = fx_get(&f, ATTENTION_O, i);

                v = fault == 0   ? noise(i)
                    : fault == 1 ? v * (1 + 0.05 * noise(i))
                    : fault == 2 ? v + (i * 7 % 5 < 2 ? 0.3 : 0)
                                 : v + 0.2 * (1 + noise(i));
                fx_set(&f, ATTENTION_O, i, v);
            }
            fx_check(&f, &r);
            cr_expect_eq(r.answer, WF_ANSWER_MISMATCH);
            cr_expect_str_eq(r.diagnosis, "", "case %d, fault %d: \"%s\"", c, fault,
                             r.diagnosis);
            fx_close(&f);
        }
    }
}

/* An element that is off a little past its tolerance explains no mistake that would
 * have changed nothing. */
Test(attention_diagnose, one_element_gets_its_place_alone)
{
    struct wf_check_report r;
    struct fx f;

    fx_open(&f, HEAD "\"q_len\":4,\"kv_len\":64,\"causal\":true,\"o_type\":\"f32\"}",
            NULL);
    model_run(&f, MODEL_HONEST, 1);
    fx_check(&f, &r);
    fx_set(&f, ATTENTION_O, 133,
           fx_get(&f, ATTENTION_O, 133) + 1.5 * r.check[0].smallest_caught);
    fx_check(&f, &r);
    cr_expect_eq(r.answer, WF_ANSWER_MISMATCH);
    cr_expect_str_eq(r.diagnosis,
                     "wrong elements of O lie in rows 1..1, heads 0..0, columns 5..5",
                     "%s", r.diagnosis);
    cr_expect(r.has_first && r.first_ndim == 3 && r.first_index[0] == 1 &&
              r.first_index[1] == 0 && r.first_index[2] == 5);
    cr_assert(r.map.known);
    cr_expect(r.map.rows == 4 && r.map.cols == 128 && r.map.cell_cols == 8);
    cr_expect_eq(r.map.wrong[1][0], 1);
    cr_expect_eq(r.map.checked[1][0], 8);
    cr_expect(r.peers.known && r.peers.elements == 4 * 128);
    fx_close(&f);
}

/* --- offsets that wrap, on a problem too large to compute --- */

Test(attention_diagnose, rows_beyond_an_offset_limit_are_named)
{
    int64_t q_len[4] = { 1, 1, 1, 1 }, kv_len[4] = { 32, 32, 32, 32 };
    int64_t q_start[5] = { 0, 1, 2, 3, 4 };
    int32_t indptr[5] = { 0, 2, 4, 6, 8 };
    int32_t indices[8] = { 1, 2, 70000, 3, 4, 5, 6, 65536 };
    unsigned char row[4] = { ATTENTION_ROW_SEEN,
                             ATTENTION_ROW_SEEN | ATTENTION_ROW_WRONG,
                             ATTENTION_ROW_SEEN,
                             ATTENTION_ROW_SEEN | ATTENTION_ROW_WRONG };
    struct attention a = { .layout = ATTENTION_PAGED,
                           .batch = 4,
                           .q_heads = 8,
                           .kv_heads = 8,
                           .group = 1,
                           .head_dim = 128,
                           .head_dim_v = 128,
                           .window_left = -1,
                           .window_right = -1,
                           .page_size = 16,
                           .num_pages = 70001,
                           .q_len = q_len,
                           .kv_len = kv_len,
                           .q_start = q_start,
                           .total_q = 4,
                           .kv_indptr = indptr,
                           .kv_indices = indices };
    struct attention_seen seen = { .row = row, .any = true };
    char text[200] = "";

    /* K and V in one buffer: 32768 elements a page, 2^31 at page 65536. */
    for (int i = ATTENTION_PLACE_K; i <= ATTENTION_PLACE_V; i++) {
        a.place[i] = (struct attention_place){ 32768, 1024, 128, 0 };
    }
    a.tensor[ATTENTION_K_CACHE] = (struct wf_tensor){
        .name = "k_cache", .dtype = WF_F16, .elements = UINT64_C(70001) << 15
    };
    a.tensor[ATTENTION_Q].name = a.tensor[ATTENTION_O].name = "Q";
    a.tensor[ATTENTION_V_CACHE].name = "v_cache";
    cr_expect(attention_explain_wrap(&a, &seen, text, sizeof(text)));
    cr_expect_str_eq(text,
                     "wrong exactly in the rows whose element offset into k_cache "
                     "reaches 2^31 (int32): it wraps");
    row[2] |= ATTENTION_ROW_WRONG; /* wrong although it stays below */
    cr_expect_not(attention_explain_wrap(&a, &seen, text, sizeof(text)));
    row[2] = ATTENTION_ROW_SEEN;
    row[3] = ATTENTION_ROW_SEEN; /* right although it reaches the limit */
    cr_expect_not(attention_explain_wrap(&a, &seen, text, sizeof(text)));
    row[3] = 0; /* nobody looked */
    cr_expect(attention_explain_wrap(&a, &seen, text, sizeof(text)));
}
