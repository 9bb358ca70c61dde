/* The host library kernels against the checker, through the library ABI. */
#include "gemm_cases.h"
#include "gemm_fixture.h"
#include "library_fixture.h"

#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>

const struct wf_library_v1 *wf_library_kernels_v1(void);

static const char *const CASES[] = {
#define X(text) text,
    GEMM_CASE_LIST(X)
#undef X
        "{'op':'gemm','M':0,'N':5,'K':3}",
    "{'op':'gemm','M':5,'N':0,'K':3,'a_type':'f32'}",
    "{'op':'gemm','M':5,'N':6,'K':0}",
    "{'op':'gemm','M':5,'N':6,'K':0,'a_type':'f32','trans_a':'T','trans_b':'T'}",
    "{'op':'gemm','M':5,'N':6,'K':0,'a_type':'f64','beta':2}",
    "{'op':'gemm','M':5,'N':6,'K':0,'a_type':'i8'}",
    "{'op':'gemm','M':5,'N':6,'K':7,'a_type':'i8','alpha':0,'beta':-1}",
    "{'op':'gemm','M':5,'N':6,'K':7,'a_type':'f32','alpha':0,'ldd':9}",
    "{'op':'gemm','M':50,'N':60,'K':70,'a_type':'f32','lda':71,'ldb':62,'ldd':64,"
    "'ldc':61,'beta':-1,'batch':2}",
    "{'op':'gemm','M':50,'N':60,'K':70,'a_type':'i8','trans_a':'T','trans_b':'T',"
    "'ldd':64,'batch':2}",
    "{'op':'gemm','M':2100,'N':17,'K':40,'a_type':'f32','d_type':'f16'}",
    "{'op':'gemm','M':3,'N':130,'K':70,'a_type':'i8','trans_b':'T'}",
};

/* Elements of D outside the matrices must still be poison. */
static void check_padding(const struct gemm_fixture *f)
{
    const struct wf_tensor *d = wf_case_tensor(f->c, GEMM_D);
    const size_t bytes = wf_dtype_bytes(d->dtype);
    bool *used = calloc(d->elements + 1, sizeof *used);
    for (int64_t b = 0; b < f->g->batch; b++) {
        for (int64_t i = 0; i < f->g->m; i++) {
            for (int64_t j = 0; j < f->g->n; j++) {
                used[gemm_d_position(f->g, b, i, j)] = true;
            }
        }
    }
    for (size_t e = 0; e < d->elements; e++) {
        cr_assert(used[e] || wf_is_poison(d->dtype, f->d + e * bytes), "element %zu",
                  e);
    }
    free(used);
}

static void run_and_check(const char *text, int threads)
{
    struct gemm_fixture f;
    struct wf_check_report r;
    char message[256] = "";
    gemm_fixture_make(&f, text, 0);
    const struct wf_tensor *d = wf_case_tensor(f.c, GEMM_D);
    wf_poison(d->dtype, f.d, d->elements);
    void *data[GEMM_TENSOR_COUNT];
    memcpy(data, f.input, sizeof data);
    data[GEMM_D] = f.d;
    const bool integers = f.g->acc_type == WF_I32;
    const struct wf_lib_kernel *kernel =
        library_find(wf_library_kernels_v1(), integers ? "gemm_i8_c" : "gemm_openblas");
    cr_assert_eq(library_supports(kernel, f.c, message, sizeof message), WF_LIB_OK);
    cr_assert_eq(library_run(kernel, f.c, data, threads, message, sizeof message),
                 WF_LIB_OK, "%s: %s", text, message);
    gemm_fixture_check(&f, NULL, &r);
    cr_assert_eq(r.answer, WF_ANSWER_PASS, "%s: %s at %lld %lld: %g not %g", text,
                 wf_answer_name(r.answer), (long long)r.worst_index[1],
                 (long long)r.worst_index[2], r.worst_got, r.worst_want);
    check_padding(&f);
    gemm_fixture_free(&f);
}

Test(gemm_host, every_case_is_right_and_padding_is_kept)
{
    for (size_t i = 0; i < sizeof CASES / sizeof *CASES; i++) {
        run_and_check(CASES[i], 1 + (int)(i % 2));
    }
}

Test(gemm_host, each_kernel_says_what_it_does_not_do)
{
    char message[256] = "";
    struct wf_case *i8 = gemm_case("{'op':'gemm','M':4,'N':4,'K':4,'a_type':'i8'}");
    struct wf_case *f16 = gemm_case("{'op':'gemm','M':4,'N':4,'K':4}");
    struct wf_case *wide =
        gemm_case("{'op':'gemm','M':4,'N':4,'K':4,'lda':4294967296}");
    const struct wf_library_v1 *lib = wf_library_kernels_v1();
    const struct wf_lib_kernel *blas = library_find(lib, "gemm_openblas");
    const struct wf_lib_kernel *plain = library_find(lib, "gemm_i8_c");
    cr_assert_eq(library_supports(blas, i8, message, sizeof message),
                 WF_LIB_UNSUPPORTED);
    cr_assert_not_null(strstr(message, "i8"));
    cr_assert_eq(library_supports(plain, f16, message, sizeof message),
                 WF_LIB_UNSUPPORTED);
    cr_assert_not_null(strstr(message, "f16"));
    cr_assert_eq(library_supports(blas, wide, message, sizeof message),
                 WF_LIB_UNSUPPORTED);
    cr_assert_not_null(strstr(message, "2147483647"));
    wf_case_free(i8);
    wf_case_free(f16);
    wf_case_free(wide);
}

Test(gemm_host, the_library_describes_itself)
{
    const struct wf_library_v1 *lib = wf_library_kernels_v1();
    cr_assert_eq(lib->abi_version, WF_LIBRARY_ABI_VERSION);
    cr_assert_eq(lib->kernel_size, sizeof(struct wf_lib_kernel));
    cr_assert_eq(lib->kernel_count, 4);
    cr_assert_not_null(strstr(lib->version, "OpenBLAS"));
}
