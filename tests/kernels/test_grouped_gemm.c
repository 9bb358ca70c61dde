/* The grouped_gemm op: what it reads, its tensors, and its reference against a loop
 * over groups that knows nothing of gemm's batches. */
#include "gemm_fixture.h"
#include "grouped_fixture.h"

#include <criterion/criterion.h>
#include <string.h>

#define F16 "{'op':'grouped_gemm','trans_b':'T','N':40,'K':72,'groups':[3,0,17,1]}"
#define BLOCK                                                            \
    "{'op':'grouped_gemm','trans_b':'T','N':130,'K':200,'groups':[2,5]," \
    "'a_type':'e4m3fnuz','scale':'block128','activation':'silu_gate','d_type':'bf16'}"
#define ROW                                                                    \
    "{'op':'grouped_gemm','N':24,'K':33,'groups':[0,4,9],'a_type':'e4m3fnuz'," \
    "'scale':'row','lda':40,'ldd':31,'stride_b':1000,'alpha':0.5}"
#define I8 \
    "{'op':'grouped_gemm','trans_b':'T','N':16,'K':64,'groups':[5],'a_type':'i8'}"

static const char *const CASES[] = { F16, BLOCK, ROW, I8 };

Test(grouped_gemm, right_answers_pass_and_other_groups_weights_do_not)
{
    for (size_t i = 0; i < sizeof CASES / sizeof *CASES; i++) {
        struct grouped l;
        grouped_make(&l, CASES[i]);
        for (int m = 0; m < 2; m++) {
            struct wf_check_report r;
            grouped_check(&l, m, &r);
            cr_assert_eq(r.answer, WF_ANSWER_PASS, "%s: %g not %g", CASES[i],
                         r.worst_got, r.worst_want);
            cr_assert_eq(r.check[0].elements, (uint64_t)(l.g->m * l.g->n));
        }
        if (l.g->batch > 1) {
            struct wf_check_report r;
            const int64_t last = l.g->m - 1;
            grouped_set_row(&l, 0, last);
            grouped_check(&l, 0, &r);
            cr_assert_eq(r.answer, WF_ANSWER_MISMATCH, "%s", CASES[i]);
            cr_assert_eq(r.worst_index[0], l.g->batch - 1);
            cr_assert_eq(r.worst_index[1], last);
            grouped_check(&l, 1, &r);
            cr_assert_neq(r.answer, WF_ANSWER_PASS, "%s", CASES[i]);
        }
        grouped_free(&l);
    }
}

Test(grouped_gemm, counts_tensors_and_canonical_form)
{
    struct wf_case *c = gemm_case(F16);
    cr_assert_str_eq(wf_case_canonical(c),
                     "{\"K\":72,\"N\":40,\"groups\":[3,0,17,1],\"op\":\"grouped_gemm\","
                     "\"trans_b\":\"T\"}");
    cr_assert_eq(wf_case_flops(c), 2.0 * 21 * 40 * 72);
    cr_assert_eq(wf_case_bytes(c), 2.0 * (21 * 72 + 3 * 40 * 72 + 21 * 40));
    const struct wf_tensor *offsets = wf_case_tensor(c, GEMM_OFFSETS);
    cr_assert_str_eq(offsets->name, "offsets");
    cr_assert_eq(offsets->elements, 5);
    cr_assert_eq(wf_case_tensor(c, GEMM_B)->dim[0], 4);
    cr_assert_eq(wf_case_tensor(c, GEMM_D)->dim[0], 1);
    cr_assert_eq(wf_case_tensor(c, GEMM_D)->bytes, 21 * 40 * 2);
    wf_case_free(c);
}

static void refused(const char *text, const char *word)
{
    struct wf_error err;
    cr_assert_neq(gemm_case_error(text, &err), WF_OK, "%s", text);
    cr_assert_not_null(strstr(err.text, word), "%s: %s", text, err.text);
}

Test(grouped_gemm, what_makes_no_sense_is_refused)
{
    refused("{'op':'grouped_gemm','N':8,'K':8}", "groups");
    refused("{'op':'grouped_gemm','N':8,'K':8,'groups':[]}", "groups");
    refused("{'op':'grouped_gemm','N':8,'K':8,'groups':[3,-1]}", "groups[1]");
    refused("{'op':'grouped_gemm','N':8,'K':8,'groups':[3,'x']}", "groups[1]");
    refused("{'op':'grouped_gemm','N':8,'K':8,'groups':[2147483647,1]}", "group 1");
    refused("{'op':'grouped_gemm','N':8,'K':8,'groups':[3],'beta':1}", "beta");
    refused("{'op':'grouped_gemm','N':8,'K':8,'groups':[3],'M':3}", "M");
    refused("{'op':'grouped_gemm','N':8,'K':8,'groups':[3],'bias':'n'}", "bias");
}
