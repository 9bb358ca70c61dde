/* What the reported faults make of attention: for each report the right output of its
 * problem passes, and the wrong one that was reported is caught. The right values
 * themselves are in tests/kernels/test_attention_semantics.c. */
#include "tests/kernels/attention_fixture.h"

#include <criterion/criterion.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

static void expect_right(struct fx *f)
{
    struct wf_check_report r;
    fx_poison_outputs(f);
    cr_assert_eq(fx_host(f, 2), 0);
    fx_check(f, &r);
    cr_assert_eq(r.answer, WF_ANSWER_PASS, "%s: %s", wf_answer_name(r.answer),
                 r.diagnosis);
}

static struct wf_check_report expect_caught(struct fx *f, enum wf_answer answer)
{
    struct wf_check_report r;
    fx_check(f, &r);
    cr_expect_eq(r.answer, answer, "%s, not %s: %s", wf_answer_name(r.answer),
                 wf_answer_name(answer), r.diagnosis);
    return r;
}

static void set_row(struct fx *f, int64_t row, int64_t head, double v)
{
    const int64_t d = f->a->head_dim_v;
    for (int64_t e = 0; e < d; e++) {
        fx_set(f, ATTENTION_O, (row * f->a->q_heads + head) * d + e, v);
    }
}

/* K = 0 and V[j] = j: O is the mean of the keys that were seen. */
static void index_values(struct fx *f)
{
    for (int64_t b = 0; b < f->a->batch; b++) {
        for (int64_t j = 0; j < f->a->kv_len[b]; j++) {
            for (int64_t h = 0; h < f->a->kv_heads; h++) {
                fx_set_key(f, false, b, j, h, 0);
                fx_set_key(f, true, b, j, h, (double)j);
            }
        }
    }
}

/* The output of a problem like this one with another member. */
static void take_output_of(struct fx *f, const char *json)
{
    struct fx other;
    fx_open(&other, json, NULL);
    cr_assert_eq(fx_host(&other, 2), 0);
    memcpy(f->data[ATTENTION_O], other.data[ATTENTION_O],
           (size_t)f->a->tensor[ATTENTION_O].bytes);
    fx_close(&other);
}

Test(attention_reports, a01_nan_of_an_unused_slot_in_one_row)
{
    static const int64_t LENS[] = { 1, 3 };
    struct fx f;
    fx_open_paged(&f, "{\"layout\":\"paged\",\"q_heads\":1,\"head_dim\":64}", 3, LENS,
                  NULL, 2);
    fx_set_all(&f, ATTENTION_Q, 0.5);
    for (int64_t b = 0; b < 2; b++) {
        for (int64_t j = 0; j < LENS[b]; j++) {
            fx_set_key(&f, false, b, j, 0, 0.25);
            fx_set_key(&f, true, b, j, 0, 2.0);
        }
    }
    expect_right(&f);
    cr_expect_eq(fx_o(&f, 0, 0), 2.0);
    cr_expect_eq(fx_o(&f, 1, 0), 2.0);
    set_row(&f, 0, 0, NAN);
    const struct wf_check_report r = expect_caught(&f, WF_ANSWER_NONFINITE);
    cr_expect_eq(r.nonfinite, 64u);
    fx_close(&f);
}

Test(attention_reports, a02_a_masked_row_is_the_mean)
{
    struct fx f;
    fx_open(&f,
            "{\"q_heads\":1,\"head_dim\":8,\"q_len\":5,\"kv_len\":4,\"causal\":true,"
            "\"lse\":true}",
            NULL);
    fx_set_all(&f, ATTENTION_K, 0);
    for (int64_t j = 0; j < 4; j++) {
        fx_set_key(&f, true, 0, j, 0, (double)(j + 1));
    }
    expect_right(&f);
    cr_expect_eq(fx_o(&f, 0, 0), 0.0);
    cr_expect_eq(fx_lse(&f, 0, 0), -INFINITY);
    set_row(&f, 0, 0, 2.5);
    const struct wf_check_report r = expect_caught(&f, WF_ANSWER_MISMATCH);
    cr_expect_not_null(strstr(r.diagnosis, "mean of V"), "%s", r.diagnosis);
    fx_close(&f);
}

Test(attention_reports, a03_anchored_top_left)
{
    struct fx f;
    fx_open(&f,
            "{\"q_heads\":1,\"head_dim\":8,\"q_len\":2,\"kv_len\":5,\"causal\":true}",
            NULL);
    index_values(&f);
    expect_right(&f);
    cr_expect_eq(fx_o(&f, 0, 0), 1.5);
    cr_expect_eq(fx_o(&f, 1, 0), 2.0);
    set_row(&f, 0, 0, 0.0);
    set_row(&f, 1, 0, 0.5);
    (void)expect_caught(&f, WF_ANSWER_MISMATCH);
    fx_close(&f);
}

Test(attention_reports, a09_heads_beyond_the_sixteenth_are_not_written)
{
    struct wf_check_report r;
    struct fx f;
    fx_open(&f, "{\"q_heads\":71,\"kv_heads\":1,\"head_dim\":64,\"kv_len\":33}", NULL);
    fx_set_all(&f, ATTENTION_V, 0.5);
    expect_right(&f);
    for (int64_t h = 0; h < 71; h++) {
        cr_expect_eq(fx_o(&f, 0, h), 0.5);
    }
    wf_poison(WF_F16, f.data[ATTENTION_O] + (size_t)16 * 64 * 2, (size_t)55 * 64);
    r = expect_caught(&f, WF_ANSWER_UNWRITTEN);
    cr_expect_eq(r.unwritten, 55u * 64);
    fx_close(&f);
}

/* O and lse are looked at each for itself. */
Test(attention_reports, a11_nan_in_one_output_alone)
{
    struct wf_check_report r;
    struct fx f;
    fx_open(&f,
            "{\"q_heads\":1,\"head_dim\":59,\"q_len\":16,\"kv_len\":20000,"
            "\"window_left\":0,\"window_right\":256,\"lse\":true}",
            NULL);
    expect_right(&f);
    const double right = fx_get(&f, ATTENTION_O, 15 * 59 + 58);
    fx_set(&f, ATTENTION_O, 15 * 59 + 58, NAN);
    r = expect_caught(&f, WF_ANSWER_NONFINITE);
    cr_expect_str_eq(r.worst_tensor, "O");
    cr_expect(r.worst_index[0] == 15 && r.nonfinite == 1);
    fx_set(&f, ATTENTION_O, 15 * 59 + 58, right);
    fx_set(&f, ATTENTION_LSE, 3, NAN);
    r = expect_caught(&f, WF_ANSWER_NONFINITE);
    cr_expect_str_eq(r.worst_tensor, "lse");
    fx_close(&f);
}

/* Keys 5 to 8 for a window of four. */
Test(attention_reports, a13_one_key_too_many)
{
    struct fx f;
    fx_open(&f, "{\"q_heads\":1,\"head_dim\":8,\"kv_len\":9,\"window_left\":3}", NULL);
    index_values(&f);
    expect_right(&f);
    cr_expect_eq(fx_o(&f, 0, 0), 6.5);
    set_row(&f, 0, 0, 6.0);
    (void)expect_caught(&f, WF_ANSWER_MISMATCH); /* keys 5 to 7 have that mean too */
    fx_close(&f);
}

/* Scores twelve times as large as usual: capped at 5, capped at 50, not capped. */
Test(attention_reports, a14_a_cap_that_is_dropped)
{
#define CASE(cap)                                                             \
    "{\"q_heads\":2,\"head_dim\":64,\"q_len\":3,\"kv_len\":40,\"scale\":1.5," \
    "\"soft_cap\":" cap "}"
    static const char *const CAPS[] = { CASE("0"), CASE("5"), CASE("50") };
    for (size_t i = 0; i < 3; i++) {
        struct fx f;
        fx_open(&f, CAPS[i], NULL);
        expect_right(&f);
        for (size_t k = 0; k < 3; k++) {
            take_output_of(&f, CAPS[k]);
            const struct wf_check_report r =
                expect_caught(&f, i == k ? WF_ANSWER_PASS : WF_ANSWER_MISMATCH);
            cr_expect(k != 0 || i == 0 || strstr(r.diagnosis, "soft cap"), "%s",
                      r.diagnosis);
        }
        fx_close(&f);
    }
#undef CASE
}

Test(attention_reports, a15_lse_of_no_keys_is_plus_infinity)
{
    static const int64_t LENS[] = { 0, 5, 0 };
    struct fx f;
    fx_open_paged(&f,
                  "{\"layout\":\"paged\",\"q_heads\":1,\"head_dim\":16,\"lse\":true}",
                  16, LENS, NULL, 3);
    expect_right(&f);
    cr_expect(fx_o(&f, 0, 0) == 0.0 && fx_o(&f, 2, 0) == 0.0);
    cr_expect(fx_lse(&f, 0, 0) == -INFINITY && fx_lse(&f, 2, 0) == -INFINITY);
    fx_set(&f, ATTENTION_LSE, 2, INFINITY);
    const struct wf_check_report r = expect_caught(&f, WF_ANSWER_NONFINITE);
    cr_expect_str_eq(r.worst_tensor, "lse");
    fx_close(&f);
}

/* Heads and sequences swapped for the kernel: line b * 8 + h of O is that of h * 3 + b.
 */
Test(attention_reports, a16_heads_and_sequences_swapped)
{
    for (int q = 1; q <= 2; q++) {
        char json[120];
        struct fx f;
        (void)snprintf(json, sizeof(json),
                       "{\"batch\":3,\"q_heads\":8,\"kv_heads\":2,\"head_dim\":128,"
                       "\"q_len\":%d,\"kv_len\":20}",
                       q);
        fx_open(&f, json, NULL);
        for (int64_t b = 0; b < 3; b++) {
            for (int64_t j = 0; j < 40; j++) {
                fx_set_key(&f, true, b, j / 2, j % 2, (double)(b + 1));
            }
        }
        expect_right(&f);
        for (int64_t i = 0; i < 3 * q * 8; i++) {
            cr_expect_eq(fx_o(&f, i / 8, i % 8), (double)(i / 8 / q + 1));
            set_row(&f, i / 8, i % 8, (double)(i % 3 + 1));
        }
        (void)expect_caught(&f, WF_ANSWER_MISMATCH);
        fx_close(&f);
    }
}

/* The same keys as a dense, a ragged and a paged problem: scales count in each. */
static void check_scales(struct fx *f)
{
    double mean = 0;
    for (int64_t j = 0; j < 6; j++) {
        fx_set_key(f, false, 0, j, 0, 0);
        fx_set_key(f, true, 0, j, 0, (double)(2 * j));
        mean += (double)(2 * j) / 6;
    }
    expect_right(f);
    cr_expect(fabs(fx_o(f, 0, 0) - 0.5 * mean) < 1e-3, "%g", fx_o(f, 0, 0));
    set_row(f, 0, 0, mean);
    (void)expect_caught(f, WF_ANSWER_MISMATCH);
}

Test(attention_reports, a19_scales_count_in_every_layout)
{
#define SCALES                                                                 \
    "\"q_heads\":1,\"head_dim\":16,\"kv_type\":\"e4m3fnuz\",\"k_scale\":0.25," \
    "\"v_scale\":0.5}"
    static const int64_t LEN = 6;
    const struct fx_table t = { .kv_indptr = FX_LIST(0, 6),
                                .qo_indptr = FX_LIST(0, 1) };
    struct fx f;
    fx_open(&f, "{\"kv_len\":6," SCALES, NULL);
    check_scales(&f);
    fx_close(&f);
    fx_open(&f, "{\"layout\":\"ragged\"," SCALES, &t);
    check_scales(&f);
    fx_close(&f);
    fx_open_paged(&f, "{\"layout\":\"paged\"," SCALES, 4, &LEN, NULL, 1);
    check_scales(&f);
    fx_close(&f);
#undef SCALES
}

/* The list of keys holds prefix and new tokens, and the new ones come once more. */
Test(attention_reports, a21_new_tokens_count_twice)
{
    static const int64_t PREFIX[] = { 4, 0, 7 }, NEW[] = { 3, 2, 1 };
    static const double RIGHT[] = { 2.0, 2.5, 3.0, 0.0, 0.5, 3.5 };
    static const int64_t KV[] = { 7, 2, 8 };
    int64_t row = 0;
    struct fx f;
    fx_open_paged(&f,
                  "{\"layout\":\"paged\",\"q_heads\":2,\"kv_heads\":1,\"head_dim\":8,"
                  "\"causal\":true}",
                  4, KV, NEW, 3);
    index_values(&f);
    expect_right(&f);
    for (int64_t b = 0; b < 3; b++) {
        double sum = 0;
        for (int64_t j = 0; j < KV[b]; j++) {
            sum += (double)j;
        }
        for (int64_t i = 0; i < NEW[b]; i++, row++) {
            double twice = sum;
            cr_expect(fabs(fx_o(&f, row, 0) - RIGHT[row]) < 2e-3);
            for (int64_t n = 0; n <= i; n++) {
                twice += (double)(PREFIX[b] + n);
            }
            set_row(&f, row, 0, twice / (double)(KV[b] + i + 1));
            set_row(&f, row, 1, twice / (double)(KV[b] + i + 1));
        }
    }
    (void)expect_caught(&f, WF_ANSWER_MISMATCH);
    fx_close(&f);
}

/* 7680 / (40 + 2 * 10) = 128, not 7680 / 40 = 192. */
Test(attention_reports, a22_scale_of_the_packed_width)
{
    static const char RIGHT[] =
        "{\"q_heads\":40,\"kv_heads\":10,\"head_dim\":128,\"kv_len\":30}";
    char wrong[160];
    struct fx f;
    fx_open(&f, RIGHT, NULL);
    expect_right(&f);
    (void)snprintf(wrong, sizeof(wrong),
                   "{\"q_heads\":40,\"kv_heads\":10,\"head_dim\":128,\"kv_len\":30,"
                   "\"scale\":%.17g}",
                   1 / sqrt(192));
    take_output_of(&f, RIGHT);
    (void)expect_caught(&f, WF_ANSWER_PASS);
    take_output_of(&f, wrong);
    (void)expect_caught(&f, WF_ANSWER_MISMATCH);
    fx_close(&f);
}

Test(attention_reports, a23_rows_of_padding_keep_stale_bytes)
{
    static const int64_t LENS[] = { 5, 0, 0, 0, 0, 0, 0, 0 };
    const size_t row_bytes = (size_t)4 * 32 * 2;
    struct wf_check_report r;
    struct fx f;
    fx_open_paged(&f, "{\"layout\":\"paged\",\"q_heads\":4,\"head_dim\":32}", 16, LENS,
                  NULL, 8);
    expect_right(&f);
    wf_poison(WF_F16, f.data[ATTENTION_O] + row_bytes, (size_t)7 * 4 * 32);
    r = expect_caught(&f, WF_ANSWER_UNWRITTEN);
    cr_expect_eq(r.unwritten, 7u * 4 * 32);
    for (size_t b = 1; b < 8; b++) { /* what an earlier batch left there */
        memcpy(f.data[ATTENTION_O] + b * row_bytes, f.data[ATTENTION_O], row_bytes);
    }
    (void)expect_caught(&f, WF_ANSWER_MISMATCH);
    fx_close(&f);
}

/* V = 1 for the first 65536 keys: with the key after them O is a part in 65537 less,
 * which is within what adding 65537 terms in f32 may lose. The other way round, V = 1
 * for that key alone, the same mistake is an answer of 0. */
Test(attention_reports, a24_a_key_too_few_past_65536)
{
    for (int alone = 0; alone < 2; alone++) {
        struct fx f;
        fx_open(&f,
                "{\"q_heads\":1,\"head_dim\":64,\"kv_len\":65537,\"causal\":true,"
                "\"o_type\":\"f32\",\"inputs\":\"ones\"}",
                NULL);
        fx_set_all(&f, ATTENTION_K, 0);
        if (alone) {
            fx_set_all(&f, ATTENTION_V, 0);
        }
        fx_set_key(&f, true, 0, 65536, 0, alone);
        expect_right(&f);
        const double right = alone ? 1.0 / 65537 : 65536.0 / 65537;
        cr_expect(fabs(fx_o(&f, 0, 0) - right) < 1e-6 * right, "%.9g", fx_o(&f, 0, 0));
        set_row(&f, 0, 0, alone ? 0.0 : 1.0);
        (void)expect_caught(&f, alone ? WF_ANSWER_MISMATCH : WF_ANSWER_PASS);
        fx_close(&f);
    }
}
