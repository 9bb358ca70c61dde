/* The library packs of cuBLASLt and hipBLASLt over a stub that records its calls and
 * does the work on the host (blaslt_stub.c): what is passed, that the answer is the
 * op's, and what happens when something is missing or fails. Built twice, once a
 * vendor. */
#include "blaslt_stub.h"

#include "core/dtype.h"
#include "core/rng.h"
#include "packs/library_abi.h"

#include <criterion/criterion.h>
#include <dlfcn.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#ifdef STUB_CUDA
#define KERNEL   "cublaslt_gemm"
#define VARIABLE "WAVEFARM_LIBCUBLASLT"
#define ARCH     "sm_90"
#define FP8      "e4m3fn"
#define TYPE_FP8 28
#define OP_N     0
#define OP_T     1
#define F32      68
#define I32      72
#define REFUSED  "CUBLAS_STATUS_NOT_SUPPORTED (15)"
#define REFUSAL  15
#define FAILURE  14
#define FAILED   "CUBLAS_STATUS_INTERNAL_ERROR (14)"
#else
#define KERNEL   "hipblaslt_gemm"
#define VARIABLE "WAVEFARM_LIBHIPBLASLT"
#define ARCH     "gfx942"
#define FP8      "e4m3fnuz"
#define TYPE_FP8 1000
#define OP_N     111
#define OP_T     112
#define F32      2
#define I32      9
#define REFUSED  "HIPBLAS_STATUS_NOT_SUPPORTED (7)"
#define REFUSAL  7
#define FAILURE  6
#define FAILED   "HIPBLAS_STATUS_INTERNAL_ERROR (6)"
#endif

/* --- a problem in plain memory --- */

enum {
    A,
    B,
    C,
    D,
    BIAS,
    SA,
    SB,
    TENSORS
};
static const char *const names[TENSORS] = { "A", "B", "C", "D", "bias", "SA", "SB" };

struct problem {
    int64_t m, n, k, batch;
    const char *trans_a, *trans_b;
    const char *type[4]; /* of A B C D */
    double alpha, beta;
    int64_t ld[4], stride[4], offset[4];
    const char *bias, *bias_type, *scale, *activation;
    int old_caller; /* knows none of the four above */
    void *memory[TENSORS];
    void *data[TENSORS];
    uint64_t bytes[TENSORS];
};

static int64_t rows_of(const struct problem *p, int which)
{
    const int64_t a = p->trans_a[0] == 'T' ? p->k : p->m;
    const int64_t b = p->trans_b[0] == 'T' ? p->n : p->k;
    return which == A ? a : which == B ? b : p->m;
}

static int64_t cols_of(const struct problem *p, int which)
{
    const int64_t a = p->trans_a[0] == 'T' ? p->m : p->k;
    const int64_t b = p->trans_b[0] == 'T' ? p->k : p->n;
    return which == A ? a : which == B ? b : p->n;
}

static struct problem simple(void)
{
    return (struct problem){ .m = 5,
                             .n = 7,
                             .k = 6,
                             .batch = 1,
                             .trans_a = "N",
                             .trans_b = "T",
                             .type = { "f16", "f16", "f16", "f16" },
                             .alpha = 1.0,
                             .bias = "none",
                             .bias_type = "f32",
                             .scale = "none",
                             .activation = "none" };
}

static int get_int(const void *ctx, const char *name, int64_t *ret)
{
    const struct problem *p = ctx;
    const struct {
        const char *name;
        int64_t value;
    } known[] = {
        { "M", p->m },
        { "N", p->n },
        { "K", p->k },
        { "batch", p->batch },
        { "lda", p->ld[A] },
        { "ldb", p->ld[B] },
        { "ldc", p->ld[C] },
        { "ldd", p->ld[D] },
        { "stride_a", p->stride[A] },
        { "stride_b", p->stride[B] },
        { "stride_c", p->stride[C] },
        { "stride_d", p->stride[D] },
        { "offset_a", p->offset[A] },
        { "offset_b", p->offset[B] },
        { "offset_c", p->offset[C] },
        { "offset_d", p->offset[D] },
    };
    for (size_t i = 0; i < sizeof known / sizeof *known; i++) {
        if (strcmp(known[i].name, name) == 0) {
            *ret = known[i].value;
            return 0;
        }
    }
    return 1;
}

static int get_double(const void *ctx, const char *name, double *ret)
{
    const struct problem *p = ctx;
    *ret = strcmp(name, "alpha") == 0 ? p->alpha : p->beta;
    return strcmp(name, "alpha") != 0 && strcmp(name, "beta") != 0;
}

static const char *get_string(const void *ctx, const char *name)
{
    const struct problem *p = ctx;
    const struct {
        const char *name, *value;
        int is_new;
    } known[] = {
        { "trans_a", p->trans_a, 0 }, { "trans_b", p->trans_b, 0 },
        { "a_type", p->type[A], 0 },  { "b_type", p->type[B], 0 },
        { "c_type", p->type[C], 0 },  { "d_type", p->type[D], 0 },
        { "bias", p->bias, 1 },       { "bias_type", p->bias_type, 1 },
        { "scale", p->scale, 1 },     { "activation", p->activation, 1 },
    };
    for (size_t i = 0; i < sizeof known / sizeof *known; i++) {
        if (strcmp(known[i].name, name) == 0 && !(known[i].is_new && p->old_caller)) {
            return known[i].value;
        }
    }
    return NULL;
}

static enum wf_dtype type_of(const struct problem *p, int which)
{
    enum wf_dtype t = WF_F32;
    const char *text = which < 4       ? p->type[which]
                       : which == BIAS ? p->bias_type
                                       : "f32";
    cr_assert(wf_dtype_parse(text, &t), "%s", text);
    return t;
}

static double at(const struct problem *p, int which, int64_t i)
{
    const enum wf_dtype t = type_of(p, which);
    double v;
    wf_to_f64(t, (const char *)p->data[which] + (size_t)i * wf_dtype_bytes(t), &v, 1);
    return v;
}

static void allocate(struct problem *p, int which, int64_t elements, int64_t offset)
{
    const enum wf_dtype t = type_of(p, which);
    const size_t size = wf_dtype_bytes(t);
    p->bytes[which] = (uint64_t)elements * size;
    p->memory[which] =
        aligned_alloc(256, ((size_t)(elements + offset) * size + 256) / 256 * 256);
    cr_assert_not_null(p->memory[which]);
    p->data[which] = (char *)p->memory[which] + (size_t)offset * size;
    for (int64_t i = 0; i < elements; i++) {
        /* small integers: exact in every type, sums included */
        const double v =
            (double)wf_rng_below(11, (uint64_t)which, (uint64_t)i, 5) - 2.0;
        const double factor = (double)(1 + wf_rng_below(12, 0, (uint64_t)i, 2)) / 2.0;
        const double value = which >= SA ? factor : v;
        wf_from_f64(t, &value, (char *)p->data[which] + (size_t)i * size, 1);
    }
}

/* Tight where nothing is said; then the memory. */
static void fill_in(struct problem *p)
{
    for (int i = A; i <= D; i++) {
        p->ld[i] = p->ld[i] ? p->ld[i] : cols_of(p, i);
        p->stride[i] = p->stride[i] ? p->stride[i] : rows_of(p, i) * p->ld[i];
        if (i != C || p->beta != 0.0) {
            allocate(p, i, p->batch * p->stride[i] + 1, p->offset[i]);
        }
    }
    if (strcmp(p->bias, "n") == 0) {
        allocate(p, BIAS, p->n, 0);
    }
    if (strcmp(p->scale, "row") == 0) {
        allocate(p, SA, p->m, 0);
        allocate(p, SB, p->n, 0);
    }
}

static void clear(struct problem *p)
{
    for (int i = 0; i < TENSORS; i++) {
        free(p->memory[i]);
    }
}

static double expected(const struct problem *p, int64_t b, int64_t i, int64_t j)
{
    double s = 0.0;
    for (int64_t k = 0; k < p->k; k++) {
        const int64_t a_at = p->trans_a[0] == 'T' ? k * p->ld[A] + i : i * p->ld[A] + k;
        const int64_t b_at = p->trans_b[0] == 'T' ? j * p->ld[B] + k : k * p->ld[B] + j;
        s += at(p, A, b * p->stride[A] + a_at) * at(p, B, b * p->stride[B] + b_at);
    }
    if (p->data[SA]) {
        s *= at(p, SA, i) * at(p, SB, j);
    }
    s = p->alpha * s;
    if (p->beta != 0.0) {
        s += p->beta * at(p, C, b * p->stride[C] + i * p->ld[C] + j);
    }
    s += p->data[BIAS] ? at(p, BIAS, j) : 0.0;
    return strcmp(p->activation, "silu") == 0 ? s / (1.0 + exp(-s)) : s;
}

static void check_answer(const struct problem *p)
{
    const enum wf_dtype t = type_of(p, D);
    for (int64_t b = 0; b < p->batch; b++) {
        for (int64_t i = 0; i < p->m; i++) {
            for (int64_t j = 0; j < p->n; j++) {
                double want = expected(p, b, i, j);
                unsigned char rounded[8];
                wf_from_f64(t, &want, rounded, 1);
                wf_to_f64(t, rounded, &want, 1);
                const double got = at(p, D, b * p->stride[D] + i * p->ld[D] + j);
                cr_expect(got == want, "[%d][%d][%d]: %g, want %g", (int)b, (int)i,
                          (int)j, got, want);
            }
        }
    }
}

/* --- the pack and the stub --- */

struct pack {
    const struct wf_library_v1 *table;
    struct blaslt_stub *stub;
    char message[512];
};

static void *open_file(const char *path)
{
    void *handle = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    cr_assert_not_null(handle, "%s", dlerror());
    return handle;
}

static struct pack load_with(const char *library)
{
    struct pack x = { .stub = dlsym(open_file(STUB_FILE), "blaslt_stub") };
    wf_library_kernels_v1_fn entry;
    cr_assert_eq(setenv(VARIABLE, library, 1), 0);
    cr_assert_eq(setenv("WAVEFARM_LIBCUDA", STUB_FILE, 1), 0);
    void *symbol = dlsym(open_file(PACK_FILE), WF_LIBRARY_ENTRY);
    cr_assert_not_null(symbol);
    memcpy(&entry, &symbol, sizeof entry);
    x.table = entry();
    x.stub->calls[0] = '\0';
    return x;
}

static struct pack load(void)
{
    return load_with(STUB_FILE);
}

static const struct wf_lib_kernel *kernel(const struct pack *x, const char *name)
{
    for (size_t i = 0; i < x->table->kernel_count; i++) {
        if (strcmp(x->table->kernels[i].name, name) == 0) {
            return &x->table->kernels[i];
        }
    }
    cr_assert_fail("no kernel %s", name);
    return NULL;
}

static int stream_object; /* its address is the stream */

static struct wf_lib_device device(void)
{
    return (struct wf_lib_device){ .size = sizeof(struct wf_lib_device),
                                   .ordinal = 0,
                                   .cu_count = 132,
                                   .arch = ARCH,
                                   .stream = &stream_object };
}

static struct wf_lib_problem describe(const struct problem *p,
                                      struct wf_lib_tensor tensors[TENSORS],
                                      int with_data)
{
    for (int i = 0; i < TENSORS; i++) {
        tensors[i] = (struct wf_lib_tensor){ .name = names[i],
                                             .bytes = p->bytes[i],
                                             .data = with_data ? p->data[i] : NULL };
    }
    return (struct wf_lib_problem){ .size = sizeof(struct wf_lib_problem),
                                    .op = "gemm",
                                    .case_json = "{}",
                                    .tensors = tensors,
                                    .tensor_count = TENSORS,
                                    .get_int = get_int,
                                    .get_double = get_double,
                                    .get_string = get_string,
                                    .ctx = p };
}

static int supports(struct pack *x, struct problem *p)
{
    struct wf_lib_tensor tensors[TENSORS];
    const struct wf_lib_device d = device();
    const struct wf_lib_problem problem = describe(p, tensors, 0);
    x->message[0] = '\0';
    return kernel(x, KERNEL)->supports(&problem, &d, x->message, sizeof x->message);
}

/* All the way; the code of the first step that fails. */
static int run(struct pack *x, struct problem *p, const char *name)
{
    struct wf_lib_tensor tensors[TENSORS];
    const struct wf_lib_device d = device();
    const struct wf_lib_kernel *k = kernel(x, name);
    void *state = NULL;
    struct wf_lib_problem problem = describe(p, tensors, 0);
    x->message[0] = '\0';
    int rc = k->supports(&problem, &d, x->message, sizeof x->message);
    if (rc != WF_LIB_OK) {
        return rc;
    }
    const uint64_t bytes = k->workspace_bytes(&problem, &d);
    char *workspace = bytes ? calloc(1, bytes) : NULL;
    problem = describe(p, tensors, 1);
    rc = k->prepare(&problem, &d, workspace, &state, x->message, sizeof x->message);
    if (rc == WF_LIB_OK) {
        x->stub->matmul_count = 0;
        rc = k->launch(state, x->message, sizeof x->message);
        cr_expect_eq(x->stub->matmul.workspace, workspace);
        cr_expect_leq(x->stub->matmul.workspace_bytes, bytes);
        k->destroy(state);
    }
    free(workspace);
    return rc;
}

static void run_good(struct pack *x, struct problem *p)
{
    fill_in(p);
    cr_assert_eq(run(x, p, KERNEL), WF_LIB_OK, "%s", x->message);
    cr_expect_eq(x->stub->matmul_count, 1);
    check_answer(p);
    cr_expect_eq(x->stub->alive, 1, "%d objects live; the handle alone should",
                 x->stub->alive);
    clear(p);
}

static void expect_layout(const struct stub_layout *x,
                          uint64_t rows,
                          uint64_t cols,
                          int64_t ld)
{
    cr_expect_eq(x->rows, rows);
    cr_expect_eq(x->cols, cols);
    cr_expect_eq(x->ld, ld);
}

/* --- what is passed --- */

Test(blaslt, operands_change_places_and_are_column_major)
{
    struct pack x = load();
    struct problem p = simple();
    p.ld[A] = 10;
    p.ld[B] = 12;
    p.ld[D] = 9;
    fill_in(&p);
    cr_assert_eq(run(&x, &p, KERNEL), WF_LIB_OK, "%s", x.message);
    const struct stub_matmul *m = &x.stub->matmul;
    cr_expect_eq(m->at_a, p.data[B]);
    cr_expect_eq(m->at_b, p.data[A]);
    cr_expect_eq(m->at_c, p.data[D]); /* not read: beta is 0 */
    cr_expect_eq(m->at_d, p.data[D]);
    cr_expect_eq(m->desc.trans_a, OP_T); /* B is T */
    cr_expect_eq(m->desc.trans_b, OP_N);
    expect_layout(&m->a, 6, 7, 12); /* K x N, stored [N][K] */
    expect_layout(&m->b, 6, 5, 10); /* K x M, stored [M][K] */
    expect_layout(&m->d, 7, 5, 9);  /* N x M, stored [M][N] */
    cr_expect_eq(m->stream, (void *)&stream_object);
    cr_expect_eq(m->desc.compute_type, F32);
    cr_expect_eq(m->desc.scale_type, 0);
    cr_expect_eq(m->desc.epilogue, 1u);
    cr_expect_eq(m->algorithm, 0);
    check_answer(&p);
    clear(&p);
}

Test(blaslt, every_transpose_and_type_gives_the_ops_answer)
{
    static const char *const letters[] = { "N", "T" };
    static const char *const types[][2] = {
        { "f16", "f16" }, { "f16", "f32" }, { "bf16", "bf16" }, { "f32", "f32" }
    };
    struct pack x = load();
    for (int i = 0; i < 16; i++) {
        struct problem p = simple();
        p.trans_a = letters[i & 1];
        p.trans_b = letters[i >> 1 & 1];
        p.type[A] = p.type[B] = types[i >> 2][0];
        p.type[C] = p.type[D] = types[i >> 2][1];
        p.alpha = 2.0;
        p.beta = -3.0;
        p.ld[A] = 8;
        p.ld[B] = 9;
        p.ld[C] = 10;
        p.ld[D] = 11;
        run_good(&x, &p);
        cr_expect_eq(x.stub->matmul.desc.trans_a, i >> 1 & 1 ? OP_T : OP_N);
        cr_expect_eq(x.stub->matmul.desc.trans_b, i & 1 ? OP_T : OP_N);
        cr_expect_eq(x.stub->matmul.c.ld, 10);
    }
}

Test(blaslt, a_batch_keeps_its_strides)
{
    struct pack x = load();
    struct problem p = simple();
    p.batch = 3;
    p.beta = 1.0;
    p.stride[A] = 100;
    p.stride[B] = 90;
    p.stride[C] = 80;
    p.stride[D] = 70;
    run_good(&x, &p);
    cr_expect_eq(x.stub->matmul.a.batch, 3);
    cr_expect_eq(x.stub->matmul.a.stride, 90);
    cr_expect_eq(x.stub->matmul.b.stride, 100);
    cr_expect_eq(x.stub->matmul.c.stride, 80);
    cr_expect_eq(x.stub->matmul.d.stride, 70);
}

Test(blaslt, integers_are_summed_and_scaled_as_integers)
{
    struct pack x = load();
    struct problem p = simple();
    p.type[A] = p.type[B] = "i8";
    p.type[C] = p.type[D] = "i32";
    p.beta = 1.0;
    run_good(&x, &p);
    cr_expect_eq(x.stub->matmul.desc.compute_type, I32);
    cr_expect_eq(x.stub->matmul.desc.scale_type, 10);
    cr_expect_eq(x.stub->matmul.a.type, 3);
    cr_expect_eq(x.stub->matmul.d.type, 10);
    cr_expect_eq(x.stub->matmul.beta, 1.0);
    p = simple();
    p.type[A] = p.type[B] = "i8";
    p.type[C] = p.type[D] = "i32";
    p.alpha = 3.0;
#ifdef STUB_CUDA
    cr_expect_eq(supports(&x, &p), WF_LIB_UNSUPPORTED);
    cr_expect_not_null(strstr(x.message, "0 or 1"), "%s", x.message);
#else
    run_good(&x, &p);
#endif
}

Test(blaslt, a_bias_runs_along_the_columns)
{
    struct pack x = load();
    struct problem p = simple();
    p.bias = "n";
    p.bias_type = "f32";
    p.alpha = 0.5;
    fill_in(&p);
    cr_assert_eq(run(&x, &p, KERNEL), WF_LIB_OK, "%s", x.message);
    cr_expect_eq(x.stub->matmul.desc.epilogue, 4u);
    cr_expect_eq(x.stub->matmul.desc.bias, p.data[BIAS]);
    cr_expect_eq(x.stub->matmul.desc.bias_type, 0);
    check_answer(&p);
    clear(&p);
    p = simple();
    p.bias = "n";
    p.bias_type = "bf16";
    p.type[C] = p.type[D] = "bf16";
    p.type[A] = p.type[B] = "bf16";
    run_good(&x, &p);
    cr_expect_eq(x.stub->matmul.desc.bias_type, 14);
}

Test(blaslt, row_scales_go_with_their_operands)
{
    struct pack x = load();
    struct problem p = simple();
    p.type[A] = p.type[B] = FP8;
    p.type[C] = p.type[D] = "bf16";
    p.scale = "row";
    fill_in(&p);
    cr_assert_eq(run(&x, &p, KERNEL), WF_LIB_OK, "%s", x.message);
    cr_expect_eq(x.stub->matmul.desc.scale_a, p.data[SB]);
    cr_expect_eq(x.stub->matmul.desc.scale_b, p.data[SA]);
    cr_expect_eq(x.stub->matmul.desc.mode_a, 3);
    cr_expect_eq(x.stub->matmul.desc.mode_b, 3);
    cr_expect_eq(x.stub->matmul.a.type, TYPE_FP8);
    check_answer(&p);
    clear(&p);
    p = simple();
    p.type[A] = p.type[B] = FP8;
    p.type[C] = p.type[D] = "bf16";
    run_good(&x, &p);
    cr_expect_null(x.stub->matmul.desc.scale_a); /* unscaled: nothing is set */
}

Test(blaslt, what_the_library_cannot_do_is_not_supported)
{
    static const struct {
        const char *scale, *activation;
        int64_t batch, k;
        double alpha;
        const char *says;
    } cases[] = {
        { "block128", "none", 1, 6, 1.0, "block" },
        { "row", "none", 2, 6, 1.0, "batch" },
        { "none", "silu_gate", 1, 6, 1.0, "gated" },
        { "none", "none", 1, 0, 1.0, "K = 0" },
        { "none", "none", 1, 6, 0.0, "alpha = 0" },
    };
    struct pack x = load();
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct problem p = simple();
        p.type[A] = p.type[B] = FP8;
        p.type[C] = p.type[D] = "bf16";
        p.scale = cases[i].scale;
        p.activation = cases[i].activation;
        p.batch = cases[i].batch;
        p.k = cases[i].k;
        p.alpha = cases[i].alpha;
        cr_expect_eq(supports(&x, &p), WF_LIB_UNSUPPORTED);
        cr_expect_not_null(strstr(x.message, cases[i].says), "%s", x.message);
    }
    struct problem p = simple();
    p.type[A] = p.type[B] = p.type[C] = p.type[D] = "f64";
    cr_expect_eq(supports(&x, &p), WF_LIB_UNSUPPORTED);
    cr_expect_not_null(strstr(x.message, "no type for f64"), "%s", x.message);
}

Test(blaslt, an_older_caller_has_no_epilogue)
{
    struct pack x = load();
    struct problem p = simple();
    p.old_caller = 1;
    run_good(&x, &p);
    cr_expect_eq(x.stub->matmul.desc.epilogue, 1u);
}

Test(blaslt, an_empty_result_is_no_call)
{
    struct pack x = load();
    struct problem p = simple();
    struct wf_lib_tensor tensors[TENSORS];
    const struct wf_lib_device d = device();
    const struct wf_lib_kernel *k = kernel(&x, KERNEL);
    void *state = NULL;
    p.m = 0;
    const struct wf_lib_problem problem = describe(&p, tensors, 1);
    cr_assert_eq(k->supports(&problem, &d, x.message, sizeof x.message), WF_LIB_OK);
    cr_expect_eq(k->workspace_bytes(&problem, &d), 0u);
    cr_assert_eq(k->prepare(&problem, &d, NULL, &state, x.message, sizeof x.message),
                 WF_LIB_OK);
    cr_expect_eq(k->launch(state, x.message, sizeof x.message), WF_LIB_OK);
    k->destroy(state);
    cr_expect_eq(x.stub->matmul_count, 0);
}

#ifdef STUB_CUDA
Test(blaslt, fp8_is_multiplied_with_k_contiguous_only)
{
    struct pack x = load();
    struct problem p = simple();
    p.type[A] = p.type[B] = FP8;
    p.type[C] = p.type[D] = "f16";
    p.trans_b = "N";
    cr_expect_eq(supports(&x, &p), WF_LIB_UNSUPPORTED);
    cr_expect_not_null(strstr(x.message, "trans_b T"), "%s", x.message);
    p.trans_b = "T";
    p.type[A] = p.type[B] = "e5m2";
    cr_expect_eq(supports(&x, &p), WF_LIB_UNSUPPORTED);
    cr_expect_not_null(strstr(x.message, "e5m2 by e5m2"), "%s", x.message);
    p.type[A] = "e4m3fnuz";
    cr_expect_eq(supports(&x, &p), WF_LIB_UNSUPPORTED);
    cr_expect_not_null(strstr(x.message, "no type for e4m3fnuz"), "%s", x.message);
}

Test(blaslt, an_fp8_result_has_a_bf16_c_without_address)
{
    struct pack x = load();
    struct problem p = simple();
    p.type[A] = p.type[B] = p.type[C] = p.type[D] = FP8;
    run_good(&x, &p);
    cr_expect_eq(x.stub->matmul.c.type, 14);
    cr_expect_null(x.stub->matmul.at_c);
    cr_expect_eq(x.stub->matmul.d.type, 28);
}

Test(blaslt, alignment_is_what_the_offsets_leave)
{
    struct pack x = load();
    struct problem p = simple();
    p.offset[A] = 8;  /* 16 bytes */
    p.offset[B] = 1;  /* 2 bytes */
    p.offset[D] = 64; /* 128 bytes */
    run_good(&x, &p);
    cr_expect_eq(x.stub->asked_alignment[0], 2u);
    cr_expect_eq(x.stub->asked_alignment[1], 16u);
    cr_expect_eq(x.stub->asked_alignment[2], 128u);
    cr_expect_eq(x.stub->asked_alignment[3], 128u);
    cr_expect_eq(x.stub->asked_workspace, 32u << 20);
}

Test(blaslt, silu_and_old_row_scales_need_what_is_not_there)
{
    struct pack x = load();
    struct problem p = simple();
    p.activation = "silu";
    cr_expect_eq(supports(&x, &p), WF_LIB_UNSUPPORTED);
    cr_expect_not_null(strstr(x.message, "no SiLU epilogue"), "%s", x.message);
}

Test(blaslt, a_cublaslt_before_12_9_has_no_row_scales)
{
    struct blaslt_stub *stub = dlsym(open_file(STUB_FILE), "blaslt_stub");
    stub->version = 120804;
    struct pack x = load();
    struct problem p = simple();
    p.type[A] = p.type[B] = FP8;
    p.type[C] = p.type[D] = "f16";
    p.scale = "row";
    cr_expect_str_eq(x.table->version, "12.8.4");
    cr_expect_eq(supports(&x, &p), WF_LIB_UNSUPPORTED);
    cr_expect_not_null(strstr(x.message, "this is 12.8.4"), "%s", x.message);
}

Test(blaslt, without_a_current_context_nothing_is_created)
{
    struct pack x = load();
    struct problem p = simple();
    x.stub->no_context = 1;
    cr_expect_eq(supports(&x, &p), WF_LIB_FAILED);
    cr_expect_not_null(strstr(x.message, "no CUDA context"), "%s", x.message);
    cr_expect_null(strstr(x.stub->calls, "Create"));
}
#else
Test(blaslt, silu_is_an_epilogue)
{
    struct pack x = load();
    struct problem p = simple();
    p.activation = "silu";
    run_good(&x, &p);
    cr_expect_eq(x.stub->matmul.desc.epilogue, 65536u);
    p = simple();
    p.activation = "silu";
    p.bias = "n";
    run_good(&x, &p);
    cr_expect_eq(x.stub->matmul.desc.epilogue, 65540u);
}

Test(blaslt, hipblaslt_0_10_takes_row_scales_by_vector_pointers)
{
    struct blaslt_stub *stub = dlsym(open_file(STUB_FILE), "blaslt_stub");
    stub->version = 1201;
    struct pack x = load();
    struct problem p = simple();
    cr_expect_str_eq(x.table->version, "0.12.1");
    p.type[A] = p.type[B] = FP8;
    p.type[C] = p.type[D] = "f16";
    p.scale = "row";
    run_good(&x, &p);
    cr_expect_eq(x.stub->matmul.desc.scales_by_vector_pointer, 1);
    cr_expect_eq(x.stub->matmul.desc.mode_a, 0);
    p = simple();
    p.activation = "silu";
    cr_expect_eq(supports(&x, &p), WF_LIB_UNSUPPORTED);
    cr_expect_not_null(strstr(x.message, "this is 0.12.1"), "%s", x.message);
}

Test(blaslt, hipblaslt_0_8_has_no_row_scales)
{
    struct blaslt_stub *stub = dlsym(open_file(STUB_FILE), "blaslt_stub");
    stub->version = 800;
    struct pack x = load();
    struct problem p = simple();
    p.type[A] = p.type[B] = FP8;
    p.type[C] = p.type[D] = "f16";
    p.scale = "row";
    cr_expect_eq(supports(&x, &p), WF_LIB_UNSUPPORTED);
    cr_expect_not_null(strstr(x.message, "0.10"), "%s", x.message);
}

Test(blaslt, fp8_of_the_other_family_is_refused)
{
    struct pack x = load();
    struct problem p = simple();
    p.type[A] = p.type[B] = "e4m3fn";
    cr_expect_eq(supports(&x, &p), WF_LIB_UNSUPPORTED);
    cr_expect_not_null(strstr(x.message, "fp8 of gfx942 is fnuz"), "%s", x.message);
}
#endif

/* --- choosing --- */

Test(blaslt, the_first_algorithm_is_named_in_the_note)
{
    struct pack x = load();
    struct problem p = simple();
    fill_in(&p);
    cr_assert_eq(run(&x, &p, KERNEL), WF_LIB_OK, "%s", x.message);
    cr_expect_eq(x.stub->asked_results, 1);
    cr_expect_not_null(strstr(x.message, "700"), "%s", x.message);
    cr_expect_not_null(strstr(x.message, x.table->version), "%s", x.message);
    cr_expect_not_null(strstr(x.message, "workspace 4096 bytes"), "%s", x.message);
    clear(&p);
}

Test(blaslt, best_takes_the_fastest_and_touches_no_tensor_to_find_it)
{
    struct pack x = load();
    struct problem p = simple();
    x.stub->algorithms = 5;
    const double us[] = { 50, 40, 20, 30, 60 };
    memcpy(x.stub->us, us, sizeof us);
    p.beta = 1.0;
    p.offset[A] = 3;
    fill_in(&p);
    cr_assert_eq(run(&x, &p, KERNEL "_best"), WF_LIB_OK, "%s", x.message);
    cr_expect_eq(x.stub->asked_results, 16);
    cr_expect_eq(x.stub->matmul.algorithm, 2);
    cr_expect_eq(x.stub->matmul.at_b, p.data[A]);
    cr_expect_eq(x.stub->matmul.workspace_bytes, 3u * 4096u);
    cr_expect_not_null(strstr(x.message, "candidate 3 of 5"), "%s", x.message);
    cr_expect_not_null(strstr(x.message, "20.00 us (the first: 50.00 us)"), "%s",
                       x.message);
    check_answer(&p);
    cr_expect_eq(x.stub->alive, 1);
    clear(&p);
}

Test(blaslt, best_measures_a_case_once)
{
    struct pack x = load();
    struct problem p = simple();
    const double us[] = { 50, 10, 20 };
    memcpy(x.stub->us, us, sizeof us);
    fill_in(&p);
    cr_assert_eq(run(&x, &p, KERNEL "_best"), WF_LIB_OK, "%s", x.message);
    cr_expect_eq(x.stub->matmul.algorithm, 1);
    x.stub->us[0] = 1; /* another time would choose another */
    x.stub->calls[0] = '\0';
    cr_assert_eq(run(&x, &p, KERNEL "_best"), WF_LIB_OK, "%s", x.message);
    cr_expect_eq(x.stub->matmul.algorithm, 1);
    cr_expect_null(strstr(x.stub->calls, "EventRecord"));
    cr_expect_not_null(strstr(x.message, "candidate 2 of 3"), "%s", x.message);
    clear(&p);
}

Test(blaslt, best_leaves_out_what_cannot_be_launched)
{
    struct pack x = load();
    struct problem p = simple();
    const double us[] = { 50, 10, 20 };
    memcpy(x.stub->us, us, sizeof us);
    x.stub->refuse_launch_of = 1;
    fill_in(&p);
    cr_assert_eq(run(&x, &p, KERNEL "_best"), WF_LIB_OK, "%s", x.message);
    cr_expect_eq(x.stub->matmul.algorithm, 2);
    cr_expect_not_null(strstr(x.message, "1 could not be launched"), "%s", x.message);
    clear(&p);
}

Test(blaslt, a_result_that_failed_or_wants_too_much_is_left_out)
{
    struct pack x = load();
    struct problem p = simple();
    x.stub->failed_result = 0;
    fill_in(&p);
    cr_assert_eq(run(&x, &p, KERNEL "_best"), WF_LIB_OK, "%s", x.message);
    cr_expect_not_null(strstr(x.message, "of 2"), "%s", x.message);
    x.stub->failed_result = -1;
    x.stub->workspace_bytes = (uint64_t)1 << 40;
    cr_expect_eq(supports(&x, &p), WF_LIB_UNSUPPORTED);
    cr_expect_not_null(strstr(x.message, "no algorithm"), "%s", x.message);
    clear(&p);
}

/* --- failures --- */

Test(blaslt, a_library_that_is_not_there_is_not_supported)
{
    struct pack x = load_with("/nowhere/libnothing.so");
    struct problem p = simple();
    cr_expect_eq(supports(&x, &p), WF_LIB_UNSUPPORTED);
    cr_expect_not_null(strstr(x.message, "/nowhere/libnothing.so"), "%s", x.message);
    cr_expect_not_null(strstr(x.message, VARIABLE), "%s", x.message);
    cr_expect_str_eq(x.table->version, "(not loaded)");
    fill_in(&p);
    cr_expect_eq(run(&x, &p, KERNEL "_best"), WF_LIB_UNSUPPORTED);
    clear(&p);
}

Test(blaslt, a_library_without_a_function_is_named)
{
    struct pack x = load_with(PACK_FILE); /* a shared object with none of them */
    struct problem p = simple();
    cr_expect_eq(supports(&x, &p), WF_LIB_UNSUPPORTED);
    cr_expect_not_null(strstr(x.message, "has no function"), "%s", x.message);
    cr_expect_not_null(strstr(x.message, "LtCreate"), "%s", x.message);
}

Test(blaslt, a_refusal_of_the_heuristics_is_not_supported)
{
    struct pack x = load();
    struct problem p = simple();
    x.stub->fail = "MatmulAlgoGetHeuristic";
    x.stub->status = REFUSAL;
    cr_expect_eq(supports(&x, &p), WF_LIB_UNSUPPORTED);
    cr_expect_not_null(strstr(x.message, REFUSED), "%s", x.message);
    x.stub->fail = NULL;
    x.stub->algorithms = 0;
    cr_expect_eq(supports(&x, &p), WF_LIB_UNSUPPORTED);
    cr_expect_not_null(strstr(x.message, "knows no algorithm"), "%s", x.message);
}

Test(blaslt, a_library_that_succeeds_without_an_object_is_named)
{
    static const char *const steps[] = { "Create", "MatrixLayoutCreate",
                                         "MatmulDescCreate", "MatmulPreferenceCreate" };
    struct pack x = load();
    for (size_t i = 0; i < sizeof steps / sizeof *steps; i++) {
        struct problem p = simple();
        x.stub->null = steps[i];
        cr_expect_eq(supports(&x, &p), WF_LIB_FAILED, "%s", steps[i]);
        cr_expect_not_null(strstr(x.message, "gave no object"), "%s", x.message);
        cr_expect_not_null(strstr(x.message, steps[i]), "%s", x.message);
        cr_expect_leq(x.stub->alive, 1, "%s: %d", steps[i], x.stub->alive);
    }
}

Test(blaslt, more_results_than_were_asked_for_are_not_read)
{
    struct pack x = load();
    struct problem p = simple();
    x.stub->result_count = 100000000;
    cr_expect_eq(supports(&x, &p), WF_LIB_FAILED);
    cr_expect_not_null(strstr(x.message, "gave 100000000 results where 1 were"), "%s",
                       x.message);
}

Test(blaslt, a_time_that_is_none_is_an_error)
{
    struct pack x = load();
    struct problem p = simple();
    fill_in(&p);
    x.stub->us[0] = NAN;
    cr_expect_eq(run(&x, &p, KERNEL "_best"), WF_LIB_FAILED);
    cr_expect_not_null(strstr(x.message, "an event says"), "%s", x.message);
    clear(&p);
}

/* Every call that can fail, failing: a named error, and nothing left behind. */
Test(blaslt, each_failing_call_is_named_and_leaks_nothing)
{
    static const char *const steps[] = {
        "MatmulDescCreate",       "MatmulDescSetAttribute",
        "MatrixLayoutCreate",     "MatrixLayoutSetAttribute",
        "MatmulPreferenceCreate", "MatmulPreferenceSetAttribute",
        "MatmulAlgoGetHeuristic", "Matmul",
    };
    struct pack x = load();
    for (size_t i = 0; i < sizeof steps / sizeof *steps; i++) {
        for (int after = 0; after < 2; after++) {
            struct problem p = simple();
            p.batch = 2;
            fill_in(&p);
            x.stub->fail = steps[i];
            x.stub->status = FAILURE;
            x.stub->fail_after = after;
            const int rc = run(&x, &p, KERNEL);
            const int reached = x.stub->fail_after < 0;
            cr_expect_eq(rc, reached && rc != WF_LIB_OK ? WF_LIB_FAILED : WF_LIB_OK,
                         "%s: %d %s", steps[i], rc, x.message);
            cr_expect(after > 0 || rc == WF_LIB_FAILED, "%s", steps[i]);
            if (rc != WF_LIB_OK) {
                cr_expect_not_null(strstr(x.message, FAILED), "%s", x.message);
                cr_expect_not_null(strstr(x.message, steps[i]), "%s", x.message);
            }
            cr_expect_leq(x.stub->alive, 1, "%s: %d", steps[i], x.stub->alive);
            clear(&p);
        }
    }
}

Test(blaslt, failures_of_the_device_while_timing_are_errors)
{
    static const char *const steps[] = { "EventCreate", "EventRecord",
                                         "EventSynchronize", "EventElapsedTime",
                                         "MemcpyHtoD" };
    struct pack x = load();
    for (size_t i = 0; i < sizeof steps / sizeof *steps; i++) {
        struct problem p = simple();
        fill_in(&p);
        x.stub->fail = steps[i];
        x.stub->status = 700;
        x.stub->fail_after = 0;
        cr_expect_eq(run(&x, &p, KERNEL "_best"), WF_LIB_FAILED, "%s", steps[i]);
        cr_expect_not_null(strstr(x.message, "error 700"), "%s", x.message);
        cr_expect_leq(x.stub->alive, 1, "%s: %d", steps[i], x.stub->alive);
        clear(&p);
    }
    struct problem p = simple();
    fill_in(&p);
    x.stub->fail = "MemAlloc";
    cr_expect_eq(run(&x, &p, KERNEL "_best"), WF_LIB_NO_MEMORY);
    cr_expect_not_null(strstr(x.message, "second copy"), "%s", x.message);
    clear(&p);
}
