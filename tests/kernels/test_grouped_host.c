/* The host library's grouped kernels against the checker, through the library ABI. */
#include "gemm_fixture.h"
#include "grouped_fixture.h"
#include "library_fixture.h"

#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>

const struct wf_library_v1 *wf_library_kernels_v1(void);

#define OP "{'op':'grouped_gemm',"
static const char *const CASES[] = {
    OP "'trans_b':'T','N':40,'K':72,'groups':[3,0,17,1]}",
    OP "'N':33,'K':20,'groups':[0,0,70,0],'a_type':'f32','ldd':40,'lda':23,'alpha':-2}",
    OP "'N':12,'K':30,'groups':[9,4],'a_type':'f32','activation':'silu'}",
    OP "'N':12,'K':30,'groups':[9,4,0],'a_type':'f64','stride_b':400}",
    OP "'trans_b':'T','N':130,'K':200,'groups':[2,0,5],'a_type':'e4m3fnuz',"
       "'scale':'block128','activation':'silu_gate','d_type':'bf16'}",
    OP "'trans_b':'T','N':130,'K':200,'groups':[2,5],'a_type':'e4m3fn',"
       "'scale':'block128','d_type':'f32'}",
    OP "'N':24,'K':33,'groups':[0,4,9],'a_type':'e4m3fnuz','scale':'row','lda':40,"
       "'ldd':31,'stride_b':1600,'alpha':0.5,'activation':'silu_gate'}",
    OP "'trans_b':'T','N':16,'K':64,'groups':[5,70,0,1],'a_type':'i8','alpha':-3}",
    OP "'N':16,'K':0,'groups':[2,3]}",
    OP "'N':16,'K':0,'groups':[2,3],'a_type':'i8'}",
    OP "'N':16,'K':8,'groups':[2,3],'alpha':0}",
    OP "'N':16,'K':8,'groups':[0,0]}",
    OP "'N':0,'K':8,'groups':[4,2]}",
    OP "'N':8,'K':5,'groups':[1100,3],'offset_a':3,'offset_b':1,'offset_d':5}",
};

/* Places between the rows of D that are not poison any more. */
static uint64_t written_padding(const struct grouped *l)
{
    const struct gemm_matrix *x = &l->g->matrix[GEMM_D];
    const size_t bytes = wf_dtype_bytes(x->dtype);
    uint64_t n = 0;
    for (uint64_t at = 0; at < l->g->tensor[GEMM_D].elements; at++) {
        if ((int64_t)at % x->ld >= l->g->n) {
            n += !wf_is_poison(x->dtype, l->d + at * bytes);
        }
    }
    return n;
}

static const struct wf_lib_kernel *kernel_for(const struct grouped *l)
{
    return library_find(wf_library_kernels_v1(),
                        l->g->acc_type == WF_I32 ? "grouped_i8_c" : "grouped_openblas");
}

static int run(struct grouped *l, int threads, char *message, size_t message_bytes)
{
    const struct wf_lib_kernel *kernel = kernel_for(l);
    void *data[GEMM_GROUPED_TENSOR_COUNT];
    for (size_t i = 0; i < GEMM_GROUPED_TENSOR_COUNT; i++) {
        data[i] = wf_case_tensor(l->c, i)->elements > 0 ? l->in[i] : NULL;
    }
    wf_poison(l->g->matrix[GEMM_D].dtype, l->d, l->g->tensor[GEMM_D].elements);
    cr_assert_eq(library_supports(kernel, l->c, message, message_bytes), WF_LIB_OK,
                 "%s", message);
    return library_run(kernel, l->c, data, threads, message, message_bytes);
}

Test(grouped_host, every_case_is_right_and_padding_is_kept)
{
    for (size_t i = 0; i < sizeof CASES / sizeof *CASES; i++) {
        struct grouped l;
        struct wf_check_report r;
        char message[256] = "";
        grouped_make(&l, CASES[i]);
        cr_assert_eq(run(&l, 1 + (int)(i % 2), message, sizeof message), WF_LIB_OK,
                     "%s: %s", CASES[i], message);
        grouped_check(&l, 0, &r);
        cr_assert_eq(r.answer, WF_ANSWER_PASS, "%s: %g not %g", CASES[i], r.worst_got,
                     r.worst_want);
        cr_assert_eq(written_padding(&l), 0, "%s", CASES[i]);
        grouped_free(&l);
    }
}

/* They are read at the launch: other ones there are other groups. */
Test(grouped_host, offsets_are_those_of_the_launch_and_must_fit)
{
    static const int32_t wrong[][5] = { { 1, 3, 3, 20, 21 },
                                        { 0, 3, 2, 20, 21 },
                                        { 0, 3, 3, 20, 22 } };
    struct grouped l;
    char message[256] = "";
    grouped_make(&l, CASES[0]);
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        memcpy(l.in[GEMM_OFFSETS], wrong[i], sizeof wrong[i]);
        cr_assert_eq(run(&l, 1, message, sizeof message), WF_LIB_FAILED, "%zu", i);
        cr_assert_not_null(strstr(message, "one after the other in 21 rows"), "%s",
                           message);
    }
    const int32_t other[5] = { 0, 0, 21, 21, 21 };
    memcpy(l.in[GEMM_OFFSETS], other, sizeof other);
    cr_assert_eq(run(&l, 1, message, sizeof message), WF_LIB_OK, "%s", message);
    struct wf_check_report r;
    grouped_check(&l, 0, &r);
    cr_assert_eq(r.answer, WF_ANSWER_MISMATCH);
    grouped_free(&l);
}

Test(grouped_host, each_kernel_says_what_it_does_not_do)
{
    char message[256] = "";
    struct wf_case *i8 = gemm_case(OP "'N':4,'K':4,'groups':[4],'a_type':'i8'}");
    struct wf_case *f16 = gemm_case(OP "'N':4,'K':4,'groups':[4]}");
    const struct wf_library_v1 *lib = wf_library_kernels_v1();
    cr_assert_eq(library_supports(library_find(lib, "grouped_openblas"), i8, message,
                                  sizeof message),
                 WF_LIB_UNSUPPORTED);
    cr_assert_not_null(strstr(message, "i8"));
    cr_assert_eq(library_supports(library_find(lib, "grouped_i8_c"), f16, message,
                                  sizeof message),
                 WF_LIB_UNSUPPORTED);
    cr_assert_not_null(strstr(message, "f16"));
    wf_case_free(i8);
    wf_case_free(f16);
}
