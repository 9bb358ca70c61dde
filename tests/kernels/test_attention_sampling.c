/* The plan of a reference that does not fit its budget: what it computes, that it
 * always looks at every element for poison and NaN, and what its report says about the
 * rest. */
#include "attention_fixture.h"
#include "attention_model.h"

#include <criterion/criterion.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define CASE                                                                   \
    "{\"batch\":6,\"q_heads\":4,\"kv_heads\":2,\"head_dim\":16,\"q_len\":100," \
    "\"kv_len\":150,\"causal\":true,\"lse\":true}"
#define BUDGET 2e6

static enum wf_status read_output(void *ctx,
                                  size_t tensor,
                                  uint64_t offset_bytes,
                                  uint64_t n_bytes,
                                  void *dst,
                                  struct wf_error *err)
{
    const struct fx *f = ctx;

    (void)err;
    memcpy(dst, f->data[tensor] + offset_bytes, n_bytes);
    return WF_OK;
}

static struct wf_check_report check(struct fx *f, struct attention_reference *ref)
{
    struct wf_output_source out = { read_output, f };
    struct wf_check_report r;
    struct wf_error err = { 0 };

    cr_assert_eq(attention_reference_check(ref, &out, &r, &err), WF_OK, "%s", err.text);
    return r;
}

Test(attention_sampling, sampled_rows_equal_the_full_reference)
{
    struct attention_reference *some, *all;
    int64_t rows = 0;
    struct fx f;

    fx_open(&f, CASE, NULL);
    all = fx_reference(&f, 0);
    some = fx_reference(&f, BUDGET);
    cr_assert(!all->plan.sampled && some->plan.sampled);
    cr_expect_leq(some->plan.macs, BUDGET);
    for (int64_t i = 0; i < f.a->total_q * f.a->kv_heads; i++) {
        int64_t a = all->plan.slot_of[i], s = some->plan.slot_of[i];

        cr_assert_geq(a, 0);
        if (s >= 0) {
            rows++;
            cr_expect(fabs(all->o[a * 2 * 16] - some->o[s * 2 * 16]) < 1e-12);
            cr_expect(fabs(all->lse[a * 2 + 1] - some->lse[s * 2 + 1]) < 1e-12);
        }
    }
    cr_expect_eq(rows, some->plan.slot_count);
    cr_expect_gt(rows, 64);
    attention_reference_free(some);
    attention_reference_free(all);
    fx_close(&f);
}

Test(attention_sampling, first_and_last_rows_are_always_computed)
{
    for (int budget = 0; budget < 4; budget++) {
        struct attention_reference *ref;
        struct fx f;

        fx_open(&f, CASE, NULL);
        ref = fx_reference(&f, budget == 0 ? 1.0 : 1e6 * budget);
        /* The last pair always, however small the budget. */
        cr_expect_geq(ref->plan.slot_of[599 * 2 + 1], 0);
        cr_expect_geq(ref->plan.slot_of[500 * 2 + 1], 0);
        if (budget >= 2) {
            cr_expect_geq(ref->plan.slot_of[0], 0);
            cr_expect_geq(ref->plan.slot_of[99 * 2], 0);
        }
        attention_reference_free(ref);
        fx_close(&f);
    }
}

/* One long sequence: few pairs, so the budget goes into more rows of each. */
Test(attention_sampling, more_rows_are_taken_where_all_pairs_fit)
{
    static const struct {
        double budget;
        int64_t rows;
    } STEPS[] = { { 3e7, 64 }, { 1e8, 256 }, { 2e8, 512 } };
    struct attention_plan p;
    struct fx f;

    fx_open(&f, "{\"q_heads\":2,\"head_dim\":16,\"q_len\":3000,\"kv_len\":3000}", NULL);
    for (size_t i = 0; i < sizeof(STEPS) / sizeof(STEPS[0]); i++) {
        cr_assert_eq(attention_plan_init(&p, f.a, STEPS[i].budget, 1, NULL), WF_OK);
        cr_expect(p.sampled && p.macs <= STEPS[i].budget);
        cr_expect_eq(p.slot_count, 2 * STEPS[i].rows, "%lld rows",
                     (long long)p.slot_count);
        for (int64_t k = 1; k < p.unit[0].row_count; k++) {
            cr_expect_gt(p.unit[0].rows[k], p.unit[0].rows[k - 1]);
        }
        attention_plan_fini(&p);
    }
    fx_close(&f);
}

Test(attention_sampling, the_choice_depends_on_the_seed_alone)
{
    struct attention_plan p[3];
    size_t bytes;
    struct fx f;

    fx_open(&f, CASE, NULL);
    bytes = (size_t)(f.a->total_q * f.a->kv_heads) * sizeof(int64_t);
    for (int i = 0; i < 3; i++) {
        cr_assert_eq(attention_plan_init(&p[i], f.a, BUDGET, i < 2 ? 5 : 6, NULL),
                     WF_OK);
    }
    cr_expect_eq(memcmp(p[0].slot_of, p[1].slot_of, bytes), 0);
    cr_expect_neq(memcmp(p[0].slot_of, p[2].slot_of, bytes), 0);
    for (int i = 0; i < 3; i++) {
        attention_plan_fini(&p[i]);
    }
    fx_close(&f);
}

Test(attention_sampling, poison_and_nan_are_found_in_rows_that_are_not_computed)
{
    struct attention_reference *ref;
    struct wf_check_report r;
    int64_t row = 1;
    struct fx f;

    fx_open(&f, CASE, NULL);
    ref = fx_reference(&f, BUDGET);
    while (ref->plan.slot_of[row * 2] >= 0) {
        row++;
    }
    cr_assert_eq(fx_host(&f, 2), 0);
    r = check(&f, ref);
    cr_expect_eq(r.answer, WF_ANSWER_PASS);
    cr_expect_str_eq(r.check[0].name, "sampled-rows");
    cr_expect(strstr(r.check[0].note, "escapes with probability") != NULL, "%s",
              r.check[0].note);
    cr_expect_eq(r.check[0].seed, 5);
    cr_expect_str_eq(r.check[2].name, "finite-all");
    cr_expect_eq(r.check[2].elements, 600 * 4 * 16 + 600 * 4);

    fx_set(&f, ATTENTION_O, (row * 4 + 1) * 16 + 3, NAN);
    r = check(&f, ref);
    cr_expect_eq(r.answer, WF_ANSWER_NONFINITE);
    cr_expect_eq(r.nonfinite, 1);
    cr_expect_eq(r.worst_index[0], row);
    cr_expect_eq(r.worst_index[1], 1);
    cr_expect_eq(r.worst_index[2], 3);
    cr_expect(r.check[0].passed && !r.check[2].passed);

    wf_poison(WF_F16, f.data[ATTENTION_O] + 2 * ((row * 4 + 1) * 16 + 3), 1);
    r = check(&f, ref);
    cr_expect_eq(r.answer, WF_ANSWER_UNWRITTEN);
    cr_expect_eq(r.unwritten, 1);
    attention_reference_free(ref);
    fx_close(&f);
}

/* Through the op's table, with inputs of its own and another seed offset. */
Test(attention_sampling, reference_of_a_case_draws_its_own_inputs)
{
    static const int64_t LENS[] = { 40, 3, 0, 17 };
    struct wf_reference_options options = { .threads = 1,
                                            .split = 1,
                                            .accumulate_type = WF_F32 };
    struct wf_output_source out = { read_output, NULL };
    struct wf_reference *ref = NULL;
    struct wf_check_report r;
    struct wf_error err = { 0 };
    struct fx f;

    fx_open_paged(&f,
                  "{\"layout\":\"paged\",\"q_heads\":4,\"kv_heads\":2,\"head_dim\":32}",
                  16, LENS, NULL, 4);
    out.ctx = &f;
    for (uint64_t offset = 0; offset < 2; offset++) {
        for (size_t i = ATTENTION_Q; i <= ATTENTION_V_CACHE; i++) {
            if (f.data[i]) {
                cr_assert_eq(wf_case_fill(f.c, i, offset, 0, f.a->tensor[i].elements,
                                          f.data[i], &err),
                             WF_OK);
            }
        }
        options.seed_offset = offset;
        cr_assert_eq(wf_reference_create(f.c, &options, &ref, &err), WF_OK, "%s",
                     err.text);
        cr_assert_eq(fx_host(&f, 2), 0);
        for (int again = 0; again < 2; again++) {
            cr_assert_eq(wf_reference_check(f.c, ref, &out, &r, &err), WF_OK);
            cr_expect_eq(r.answer, WF_ANSWER_PASS, "%s", r.diagnosis);
        }
        wf_reference_destroy(f.c, ref);
    }
    options.seed_offset = 0; /* inputs in memory are those of offset 1 */
    cr_assert_eq(wf_reference_create(f.c, &options, &ref, &err), WF_OK);
    cr_assert_eq(wf_reference_check(f.c, ref, &out, &r, &err), WF_OK);
    cr_expect_eq(r.answer, WF_ANSWER_MISMATCH);
    wf_reference_destroy(f.c, ref);
    fx_close(&f);
}
