/* The semantics of attention by small problems whose answer is known from a formula.
 * Each is computed by the reference and by the host kernel; names in brackets are the
 * field reports the input is shaped after. */
#include "attention_fixture.h"

#include <criterion/criterion.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

/* Runs the host kernel, checks it against the reference, and returns the reference. */
static struct attention_reference *run(struct fx *f)
{
    struct wf_check_report r;

    cr_assert_eq(fx_host(f, 2), 0);
    fx_check(f, &r);
    cr_assert_eq(r.answer, WF_ANSWER_PASS, "%s: %s", wf_answer_name(r.answer),
                 r.diagnosis);
    return fx_reference(f, 0);
}

/* O of (row, head) is the constant `want`, in the reference and from the kernel. */
static void expect_o(const struct fx *f,
                     const struct attention_reference *ref,
                     int64_t row,
                     int64_t head,
                     double want)
{
    const struct attention *a = f->a;
    int64_t slot = ref->plan.slot_of[row * a->kv_heads + head / a->group];
    int64_t line = slot * a->group + head % a->group;

    for (int64_t d = 0; d < a->head_dim_v; d++) {
        double got = ref->o[line * a->head_dim_v + d];

        cr_expect(fabs(got - want) <= 1e-9 * (1 + fabs(want)),
                  "reference: row %lld head %lld: %.12g, not %.12g", (long long)row,
                  (long long)head, got, want);
    }
    cr_expect(fabs(fx_o(f, row, head) - want) <= 0x1p-9 * (1 + fabs(want)),
              "kernel: row %lld head %lld: %g, not %g", (long long)row, (long long)head,
              fx_o(f, row, head), want);
}

static void expect_lse(const struct fx *f,
                       const struct attention_reference *ref,
                       int64_t row,
                       double want)
{
    double got = ref->lse[ref->plan.slot_of[row * f->a->kv_heads] * f->a->group];

    if (isinf(want)) {
        cr_expect(isinf(got) && got < 0, "reference lse %g", got);
        cr_expect(isinf(fx_lse(f, row, 0)) && fx_lse(f, row, 0) < 0, "kernel lse");
        return;
    }
    cr_expect(fabs(got - want) < 1e-9, "reference lse %g, not %g", got, want);
    cr_expect(fabs(fx_lse(f, row, 0) - want) < 1e-5, "kernel lse");
}

/* K = 0 and V[j] = j: O is the mean of the visible indices. */
static void open_index_values(struct fx *f, const char *json)
{
    fx_open(f, json, NULL);
    fx_set_all(f, ATTENTION_K, 0);
    for (int64_t b = 0; b < f->a->batch; b++) {
        for (int64_t j = 0; j < f->a->kv_len[b]; j++) {
            for (int64_t h = 0; h < f->a->kv_heads; h++) {
                fx_set_key(f, true, b, j, h, (double)j);
            }
        }
    }
}

Test(attention_semantics, unused_slots_never_reach_the_output_A01)
{
    static const int64_t LENS[] = { 1, 3 };
    struct attention_reference *ref;
    struct fx f;

    fx_open_paged(&f, "{\"layout\":\"paged\",\"q_heads\":1,\"head_dim\":64}", 4, LENS,
                  NULL, 2);
    fx_set_all(&f, ATTENTION_Q, 0.5);
    for (int64_t b = 0; b < 2; b++) {
        for (int64_t j = 0; j < LENS[b]; j++) {
            fx_set_key(&f, false, b, j, 0, 0.25);
            fx_set_key(&f, true, b, j, 0, 2.0);
        }
    }
    cr_assert(isnan(fx_get(&f, ATTENTION_V_CACHE, 64 * (4 * f.a->kv_indices[0] + 1))),
              "the slot after the only key is poison");
    ref = run(&f);
    expect_o(&f, ref, 0, 0, 2.0);
    expect_o(&f, ref, 1, 0, 2.0);
    attention_reference_free(ref);
    fx_close(&f);
}

/* 107 keys in a 256-slot page whose tail is poison. */
Test(attention_semantics, long_page_with_a_poisoned_tail_A01)
{
    static const int64_t LENS[] = { 107 };
    struct attention_reference *ref;
    struct fx f;

    fx_open_paged(&f,
                  "{\"layout\":\"paged\",\"q_heads\":2,\"kv_heads\":1,\"head_dim\":64,"
                  "\"q_type\":\"bf16\"}",
                  256, LENS, NULL, 1);
    for (int64_t j = 0; j < 107; j++) {
        fx_set_key(&f, true, 0, j, 0, 2.0);
    }
    ref = run(&f);
    expect_o(&f, ref, 0, 0, 2.0);
    expect_o(&f, ref, 0, 1, 2.0);
    attention_reference_free(ref);
    fx_close(&f);
}

/* A fully masked row is 0 with lse -inf, never mean(V) = 2.5. */
Test(attention_semantics, row_without_visible_keys_is_zero_A02)
{
    struct attention_reference *ref;
    struct fx f;

    fx_open(&f,
            "{\"q_heads\":1,\"head_dim\":8,\"q_len\":6,\"kv_len\":4,\"causal\":true,"
            "\"lse\":true}",
            NULL);
    fx_set_all(&f, ATTENTION_K, 0);
    for (int64_t j = 0; j < 4; j++) {
        fx_set_key(&f, true, 0, j, 0, (double)(j + 1));
    }
    ref = run(&f);
    expect_o(&f, ref, 0, 0, 0);
    expect_o(&f, ref, 1, 0, 0);
    expect_lse(&f, ref, 0, -INFINITY);
    expect_lse(&f, ref, 1, -INFINITY);
    expect_o(&f, ref, 2, 0, 1.0);
    expect_o(&f, ref, 5, 0, 2.5);
    expect_lse(&f, ref, 5, log(4));
    attention_reference_free(ref);
    fx_close(&f);
}

Test(attention_semantics, causal_is_anchored_bottom_right_A03)
{
    struct attention_reference *ref;
    struct fx f;

    open_index_values(
        &f, "{\"q_heads\":1,\"head_dim\":8,\"q_len\":2,\"kv_len\":5,\"causal\":true}");
    ref = run(&f);
    expect_o(&f, ref, 0, 0, 1.5);
    expect_o(&f, ref, 1, 0, 2.0);
    attention_reference_free(ref);
    fx_close(&f);
}

Test(attention_semantics, seventy_one_query_heads_on_one_kv_head_A09)
{
    struct attention_reference *ref;
    struct fx f;

    fx_open(&f, "{\"q_heads\":71,\"kv_heads\":1,\"head_dim\":64,\"kv_len\":33}", NULL);
    fx_set_all(&f, ATTENTION_V, 0.5);
    ref = run(&f);
    for (int64_t h = 0; h < 71; h++) {
        expect_o(&f, ref, 0, h, 0.5);
    }
    attention_reference_free(ref);
    fx_close(&f);
}

Test(attention_semantics, odd_head_size_with_a_right_window_A11)
{
    struct attention_reference *ref;
    struct fx f;

    open_index_values(&f,
                      "{\"q_heads\":1,\"head_dim\":59,\"q_len\":16,\"kv_len\":20000,"
                      "\"window_left\":0,\"window_right\":256,\"lse\":true}");
    fx_set_all(&f, ATTENTION_V, 1);
    ref = run(&f);
    for (int64_t i = 0; i < 16; i++) {
        expect_o(&f, ref, i, 0, 1.0);
        expect_lse(&f, ref, i,
                   log((double)(16 - i))); /* row 0 sees 16 keys, row 15 one */
    }
    attention_reference_free(ref);
    fx_close(&f);
}

/* The same keys in pages of 16 and of 32 slots give the same answer. */
Test(attention_semantics, page_size_does_not_change_the_answer_A12)
{
    static const int64_t LENS[] = { 16, 17, 31, 32, 33 };
    struct attention_reference *ref[2];
    struct fx f[2];

    for (int k = 0; k < 2; k++) {
        fx_open_paged(&f[k],
                      "{\"layout\":\"paged\",\"q_heads\":32,\"kv_heads\":8,"
                      "\"head_dim\":128,\"q_type\":\"bf16\"}",
                      k == 0 ? 16 : 32, LENS, NULL, 5);
        for (int64_t b = 0; b < 5; b++) {
            for (int64_t j = 0; j < LENS[b]; j++) {
                for (int64_t h = 0; h < 8; h++) {
                    fx_set_key(&f[k], false, b, j, h, sin((double)(j * 8 + h)));
                    fx_set_key(&f[k], true, b, j, h, cos((double)(j * 8 + h + b)));
                }
            }
        }
        ref[k] = run(&f[k]);
    }
    for (int64_t i = 0; i < 5 * 32 * 128; i++) {
        cr_assert(fabs(ref[0]->o[i] - ref[1]->o[i]) < 1e-12);
    }
    cr_expect_eq(memcmp(f[0].data[ATTENTION_O], f[1].data[ATTENTION_O],
                        (size_t)f[0].a->tensor[ATTENTION_O].bytes),
                 0);
    attention_reference_free(ref[0]);
    attention_reference_free(ref[1]);
    fx_close(&f[0]);
    fx_close(&f[1]);
}

/* An option that the op does not have is refused, never ignored. */
Test(attention_semantics, unknown_option_is_refused_A12)
{
    struct wf_error err = { 0 };
    struct fx f;

    cr_expect_eq(fx_parse(&f,
                          "{\"q_heads\":32,\"head_dim\":128,\"kv_len\":16,"
                          "\"alibi_slopes\":true}",
                          NULL, &err),
                 WF_EINVAL);
    cr_expect(strstr(err.text, "alibi_slopes") != NULL, "%s", err.text);
}

/* window_left = W sees W + 1 keys: a model's window of 4 tokens is window_left 3. */
Test(attention_semantics, window_left_counts_keys_before_the_query_A13)
{
    static const struct {
        int64_t window;
        double mean;
    } ROWS[] = { { 3, 6.5 }, { 4, 6.0 }, { 0, 8.0 }, { 100, 4.0 } };

    for (size_t k = 0; k < sizeof(ROWS) / sizeof(ROWS[0]); k++) {
        struct attention_reference *ref;
        char json[120];
        struct fx f;

        (void)snprintf(
            json, sizeof(json),
            "{\"q_heads\":1,\"head_dim\":8,\"kv_len\":9,\"window_left\":%lld}",
            (long long)ROWS[k].window);
        open_index_values(&f, json);
        ref = run(&f);
        expect_o(&f, ref, 0, 0, ROWS[k].mean);
        attention_reference_free(ref);
        fx_close(&f);
    }
}

Test(attention_semantics, soft_cap_is_cap_times_tanh_before_the_mask_A14)
{
    static const double CAPS[] = { 0, 5, 50 };
    double o[3];

    for (int k = 0; k < 3; k++) {
        struct attention_reference *ref;
        char json[160];
        struct fx f;
        double s[2] = { 12, -3 }, w[2];

        (void)snprintf(
            json, sizeof(json),
            "{\"q_heads\":1,\"head_dim\":1,\"kv_len\":3,\"q_len\":2,\"scale\":1,"
            "\"causal\":true,\"soft_cap\":%g}",
            CAPS[k]);
        fx_open(&f, json, NULL);
        fx_set_all(&f, ATTENTION_Q, 1);
        for (int64_t j = 0; j < 2; j++) {
            fx_set_key(&f, false, 0, j, 0, s[j]);
            fx_set_key(&f, true, 0, j, 0, (double)j);
            s[j] = CAPS[k] > 0 ? CAPS[k] * tanh(s[j] / CAPS[k]) : s[j];
            w[j] = exp(s[j]);
        }
        fx_set_key(&f, false, 0, 2, 0, 100); /* masked for row 0 */
        ref = run(&f);
        o[k] = ref->o[0];
        cr_expect(fabs(o[k] - w[1] / (w[0] + w[1])) < 1e-12, "cap %g: %g", CAPS[k],
                  o[k]);
        attention_reference_free(ref);
        fx_close(&f);
    }
    cr_expect(o[1] > 10 * o[0], "the cap has an effect: %g against %g", o[1], o[0]);
}

Test(attention_semantics, empty_sequences_give_zero_and_minus_infinity_A15)
{
    static const int64_t LENS[] = { 0, 5, 0 };
    struct attention_reference *ref;
    struct fx f;

    fx_open_paged(&f,
                  "{\"layout\":\"paged\",\"q_heads\":2,\"kv_heads\":1,\"head_dim\":16,"
                  "\"lse\":true}",
                  16, LENS, NULL, 3);
    fx_set_all(&f, ATTENTION_Q, 0);
    ref = run(&f);
    for (int64_t b = 0; b < 3; b += 2) {
        expect_o(&f, ref, b, 0, 0);
        expect_o(&f, ref, b, 1, 0);
        expect_lse(&f, ref, b, -INFINITY);
    }
    expect_lse(&f, ref, 1, log(5));
    attention_reference_free(ref);
    fx_close(&f);
}

Test(attention_semantics, a_sequence_depends_on_its_own_keys_only_A16)
{
    for (int q = 1; q <= 2; q++) {
        struct attention_reference *ref;
        char json[120];
        struct fx f;

        (void)snprintf(json, sizeof(json),
                       "{\"batch\":3,\"q_heads\":8,\"kv_heads\":2,\"head_dim\":128,"
                       "\"q_len\":%d,\"kv_len\":20}",
                       q);
        fx_open(&f, json, NULL);
        for (int64_t b = 0; b < 3; b++) {
            for (int64_t j = 0; j < 20; j++) {
                fx_set_key(&f, true, b, j, 0, (double)(b + 1));
                fx_set_key(&f, true, b, j, 1, (double)(b + 1));
            }
        }
        ref = run(&f);
        for (int64_t row = 0; row < 3 * q; row++) {
            for (int64_t h = 0; h < 8; h++) {
                expect_o(&f, ref, row, h, (double)(row / q + 1));
            }
        }
        attention_reference_free(ref);
        fx_close(&f);
    }
}

Test(attention_semantics, fp8_scales_multiply_what_is_stored_A19)
{
    struct attention_reference *ref;
    double mean = 0;
    struct fx f;

    fx_open(&f,
            "{\"q_heads\":1,\"head_dim\":4,\"kv_len\":6,\"kv_type\":\"e4m3fnuz\","
            "\"k_scale\":0.25,\"v_scale\":0.5}",
            NULL);
    fx_set_all(&f, ATTENTION_K, 0);
    for (int64_t j = 0; j < 6; j++) {
        fx_set_key(&f, true, 0, j, 0, (double)(2 * j));
        mean += (double)(2 * j) / 6;
    }
    ref = run(&f);
    expect_o(&f, ref, 0, 0, 0.5 * mean);
    attention_reference_free(ref);
    fx_close(&f);
}

/* Codes of K / 0.25 with k_scale 0.25 are the same problem as K itself. */
Test(attention_semantics, scaled_cache_equals_the_unscaled_one_A19)
{
    struct attention_reference *ref[2];
    struct fx f[2];

    for (int k = 0; k < 2; k++) {
        fx_open(&f[k],
                k == 0 ? "{\"q_heads\":2,\"head_dim\":16,\"kv_len\":9,"
                         "\"kv_type\":\"e4m3fnuz\"}"
                       : "{\"q_heads\":2,\"head_dim\":16,\"kv_len\":9,"
                         "\"kv_type\":\"e4m3fnuz\",\"k_scale\":0.25,\"v_scale\":0.5}",
                NULL);
    }
    for (int64_t i = 0; i < 9 * 2 * 16; i++) {
        fx_set(&f[1], ATTENTION_K, i, 4 * fx_get(&f[0], ATTENTION_K, i));
        fx_set(&f[1], ATTENTION_V, i, 2 * fx_get(&f[0], ATTENTION_V, i));
    }
    ref[0] = run(&f[0]);
    ref[1] = run(&f[1]);
    for (int64_t i = 0; i < 2 * 16; i++) {
        cr_expect(fabs(ref[0]->o[i] - ref[1]->o[i]) < 2e-3, "%g %g", ref[0]->o[i],
                  ref[1]->o[i]);
    }
    for (int k = 0; k < 2; k++) {
        attention_reference_free(ref[k]);
        fx_close(&f[k]);
    }
}

/* Prefix and new tokens together are the keys: new ones count once. */
Test(attention_semantics, extend_counts_each_new_token_once_A21)
{
    static const int64_t KV[] = { 7, 2, 8 }, Q[] = { 3, 2, 1 };
    static const double WANT[] = { 2.0, 2.5, 3.0, 0.0, 0.5, 3.5 };
    struct attention_reference *ref;
    struct fx f;

    fx_open_paged(&f,
                  "{\"layout\":\"paged\",\"q_heads\":2,\"kv_heads\":1,\"head_dim\":8,"
                  "\"causal\":true}",
                  4, KV, Q, 3);
    for (int64_t b = 0; b < 3; b++) {
        for (int64_t j = 0; j < KV[b]; j++) {
            fx_set_key(&f, false, b, j, 0, 0);
            fx_set_key(&f, true, b, j, 0, (double)j);
        }
    }
    ref = run(&f);
    for (int64_t row = 0; row < 6; row++) {
        expect_o(&f, ref, row, 0, WANT[row]);
        expect_o(&f, ref, row, 1, WANT[row]);
    }
    attention_reference_free(ref);
    fx_close(&f);
}

/* Seven padding sequences of length 0: all of the output is written and finite. */
Test(attention_semantics, padding_sequences_are_written_A23)
{
    static const int64_t LENS[] = { 0, 0, 5, 0, 0, 0, 0, 0 };
    struct attention_reference *ref;
    struct fx f;
    double amax = 0;

    fx_open_paged(&f, "{\"layout\":\"paged\",\"q_heads\":4,\"head_dim\":32}", 16, LENS,
                  NULL, 8);
    ref = run(&f);
    for (int64_t i = 0; i < 8 * 4 * 32; i++) {
        double v = fx_get(&f, ATTENTION_O, i);

        cr_expect(isfinite(v));
        cr_expect(i / (4 * 32) == 2 || !(fabs(v) > 0), "padding row holds %g", v);
        amax = fmax(amax, fabs(v));
    }
    cr_expect(isfinite(amax) && amax > 0);
    attention_reference_free(ref);
    fx_close(&f);
}

Test(attention_semantics, nothing_happens_at_65536_keys_A24)
{
    for (int64_t s = 65535; s <= 65537; s++) {
        struct attention_reference *ref;
        char json[120];
        struct fx f;

        (void)snprintf(json, sizeof(json),
                       "{\"q_heads\":1,\"head_dim\":64,\"kv_len\":%lld,\"causal\":true,"
                       "\"o_type\":\"f32\",\"inputs\":\"ones\"}",
                       (long long)s);
        fx_open(&f, json, NULL);
        fx_set_all(&f, ATTENTION_K, 0);
        if (s > 65536) {
            fx_set_key(&f, true, 0, 65536, 0, 0);
        }
        ref = run(&f);
        expect_o(&f, ref, 0, 0, (double)(s < 65536 ? s : 65536) / (double)s);
        attention_reference_free(ref);
        fx_close(&f);
    }
}

/* Sequences that share pages equal their dense versions, whatever lies in other pages.
 */
Test(attention_semantics, shared_prefix_pages_equal_dense_A25)
{
    const struct fx_table table = { .kv_indptr = FX_LIST(0, 3, 6),
                                    .kv_indices = FX_LIST(3, 1, 4, 3, 1, 6),
                                    .kv_last_page_len = FX_LIST(5, 16),
                                    .num_pages = "8",
                                    .page_size = "16" };
    struct attention_reference *before, *after;
    struct fx f;

    fx_open(&f, "{\"layout\":\"paged\",\"q_heads\":4,\"kv_heads\":2,\"head_dim\":64}",
            &table);
    cr_expect_eq(f.a->unique_slots, 16 + 16 + 5 + 16);
    before = run(&f);
    for (int64_t e = 0; e < 16 * 2 * 64; e++) { /* page 5 is nobody's */
        fx_set(&f, ATTENTION_V_CACHE, 5 * 16 * 2 * 64 + e, 9.0);
    }
    after = run(&f);
    cr_expect_eq(memcmp(before->o, after->o, 2 * 4 * 64 * sizeof(double)), 0);
    for (int64_t b = 0; b < 2; b++) {
        static const int64_t LENS[] = { 37, 48 };
        struct attention_reference *ref;
        char json[120];
        struct fx dense;

        (void)snprintf(json, sizeof(json),
                       "{\"q_heads\":4,\"kv_heads\":2,\"head_dim\":64,\"kv_len\":%lld}",
                       (long long)LENS[b]);
        fx_open(&dense, json, NULL);
        memcpy(dense.data[ATTENTION_Q], f.data[ATTENTION_Q] + b * 4 * 64 * 2,
               4 * 64 * 2);
        for (int64_t j = 0; j < LENS[b]; j++) {
            int64_t slot = f.a->kv_indices[3 * b + j / 16] * 16 + j % 16;
            size_t bytes = 2 * 64 * 2;

            memcpy(dense.data[ATTENTION_K] + (size_t)j * bytes,
                   f.data[ATTENTION_K_CACHE] + (size_t)slot * bytes, bytes);
            memcpy(dense.data[ATTENTION_V] + (size_t)j * bytes,
                   f.data[ATTENTION_V_CACHE] + (size_t)slot * bytes, bytes);
        }
        ref = run(&dense);
        for (int64_t i = 0; i < 4 * 64; i++) {
            cr_expect(fabs(ref->o[i] - after->o[b * 4 * 64 + i]) < 1e-12);
        }
        attention_reference_free(ref);
        fx_close(&dense);
    }
    attention_reference_free(before);
    attention_reference_free(after);
    fx_close(&f);
}
