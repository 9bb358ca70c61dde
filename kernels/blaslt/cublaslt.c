/* cuBLASLt: values of CUDA 13.0's cublasLt.h, cublas_api.h (cuBLAS 13.1) and
 * library_types.h; they are the same in CUDA 12. What is supported follows the tables
 * of cublasLtMatmul() in NVIDIA's cuBLAS documentation; where those leave it to the
 * heuristics, the heuristics are asked. */
#include "kernels/blaslt/blaslt.h"

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* cublasStatus_t */
#define STATUS_LIST(X)      \
    X(0, SUCCESS)           \
    X(1, NOT_INITIALIZED)   \
    X(3, ALLOC_FAILED)      \
    X(7, INVALID_VALUE)     \
    X(8, ARCH_MISMATCH)     \
    X(11, MAPPING_ERROR)    \
    X(13, EXECUTION_FAILED) \
    X(14, INTERNAL_ERROR)   \
    X(15, NOT_SUPPORTED)    \
    X(16, LICENSE_ERROR)

/* cudaDataType_t */
#define TYPE_LIST(X) \
    X(F32, 0)        \
    X(F16, 2)        \
    X(I8, 3)         \
    X(I32, 10)       \
    X(BF16, 14)      \
    X(E4M3FN, 28)    \
    X(E5M2, 29)

enum {
    DESC_A_SCALE_POINTER = 17,
    DESC_B_SCALE_POINTER = 18,
    DESC_A_SCALE_MODE = 31,
    DESC_B_SCALE_MODE = 32,
    SCALE_OUTER_VEC_32F = 3,
    ROW_SCALES_SINCE = 120900 /* CUDA 12.9, for sm_90 */
};

/* cublasLtMatmulAlgoConfigAttributes_t: 32-bit members of an algorithm. X(number, text)
 */
#define CONFIG_LIST(X)       \
    X(0, "algorithm")        \
    X(1, "tile id")          \
    X(6, "stages id")        \
    X(2, "split-K")          \
    X(3, "reduction scheme") \
    X(4, "swizzle")          \
    X(5, "custom option")

static int (*get_config)(const void *algo,
                         int attribute,
                         void *value,
                         size_t bytes,
                         size_t *ret_written);
static int (*get_context)(void **ret);

static int type_of(enum wf_dtype t)
{
    static const struct {
        enum wf_dtype dtype;
        int value;
    } types[] = {
#define X(dtype, value) { WF_##dtype, value },
        TYPE_LIST(X)
#undef X
    };
    for (size_t i = 0; i < sizeof types / sizeof *types; i++) {
        if (types[i].dtype == t) {
            return types[i].value;
        }
    }
    return BLASLT_NONE;
}

static const char *status_name(int status)
{
    switch (status) {
#define X(value, name) \
    case value:        \
        return "CUBLAS_STATUS_" #name;
        STATUS_LIST(X)
#undef X
    default:
        return NULL;
    }
}

/* Beside an fp8 result C is f16 or bf16. */
static enum wf_dtype unread_c(enum wf_dtype d)
{
    return wf_dtype_is_fp8(d) ? WF_BF16 : d;
}

/* The driver is the one that the `cuda` runtime loaded. */
static void find_driver(struct blaslt_library *lib)
{
    const char *named = getenv("WAVEFARM_LIBCUDA");
    const char *file = named && *named ? named : "libcuda.so.1";
    void *driver = dlopen(file, RTLD_NOW | RTLD_LOCAL);
    if (!driver) {
        (void)snprintf(lib->device_reason, sizeof lib->device_reason,
                       "CUDA's driver cannot be loaded (%s)", dlerror());
        return;
    }
    const char *missing = NULL;
#define BLASLT_DEVICE(member, cuda, hip, parameters)              \
    if (!blaslt_find_symbol(driver, cuda, &lib->device.member)) { \
        missing = cuda;                                           \
    }
#include "kernels/blaslt/device.def"
#undef BLASLT_DEVICE
    if (!blaslt_find_symbol(driver, "cuCtxGetCurrent", &get_context)) {
        missing = "cuCtxGetCurrent";
    }
    if (missing) {
        (void)snprintf(lib->device_reason, sizeof lib->device_reason,
                       "CUDA's driver %s has no function %s", file, missing);
    }
}

static int start(struct blaslt_library *lib, const struct blaslt_says *says)
{
    size_t (*get_version)(void);
    if (!blaslt_find_symbol(lib->shared_object, "cublasLtGetVersion", &get_version) ||
        !blaslt_find_symbol(lib->shared_object, "cublasLtMatmulAlgoConfigGetAttribute",
                            &get_config)) {
        return blaslt_say(says, WF_LIB_UNSUPPORTED,
                          "this cuBLASLt has no function cublasLtGetVersion or "
                          "cublasLtMatmulAlgoConfigGetAttribute");
    }
    lib->version = (int)get_version();
    (void)snprintf(lib->version_text, sizeof lib->version_text, "%d.%d.%d",
                   lib->version / 10000, lib->version / 100 % 100, lib->version % 100);
    find_driver(lib);
    return WF_LIB_OK;
}

static int refuse_fp8(const struct blaslt_problem *p, const struct blaslt_says *says)
{
    if (p->trans_a || !p->trans_b) {
        return blaslt_say(says, WF_LIB_UNSUPPORTED,
                          "cuBLASLt multiplies fp8 on sm_90 only with trans_a N and "
                          "trans_b T (K contiguous in both)");
    }
    if (p->matrix[BLASLT_A].dtype == WF_E5M2 && p->matrix[BLASLT_B].dtype == WF_E5M2) {
        return blaslt_say(says, WF_LIB_UNSUPPORTED,
                          "cuBLASLt does not multiply e5m2 by e5m2");
    }
    return WF_LIB_OK;
}

static int refuse_scales(const struct blaslt_library *lib,
                         const struct blaslt_problem *p,
                         const struct blaslt_says *says)
{
    if (p->scale == BLASLT_SCALE_OTHER) {
        return blaslt_say(says, WF_LIB_UNSUPPORTED,
                          "cuBLASLt keeps the factors of 1x128 blocks with rows "
                          "contiguous; the op's run along K");
    }
    if (p->scale == BLASLT_SCALE_ROW && lib->version < ROW_SCALES_SINCE) {
        return blaslt_say(says, WF_LIB_UNSUPPORTED,
                          "row scales need cuBLASLt 12.9 or newer; this is %s",
                          lib->version_text);
    }
    return WF_LIB_OK;
}

static bool is_zero_or_one(double x)
{
    return x == 0.0 || x == 1.0;
}

static int supports(const struct blaslt_library *lib,
                    const struct blaslt_problem *p,
                    const struct wf_lib_device *device,
                    const struct blaslt_says *says)
{
    void *context = NULL;
    (void)device;
    if (get_context && (get_context(&context) != 0 || !context)) {
        return blaslt_say(says, WF_LIB_FAILED,
                          "no CUDA context is current in this thread: cuBLASLt would "
                          "make one of its own");
    }
    if (p->activation != BLASLT_LINEAR) {
        return blaslt_say(says, WF_LIB_UNSUPPORTED, "cuBLASLt has no SiLU epilogue");
    }
    if (blaslt_is_integer(p) &&
        (!is_zero_or_one(p->alpha) || !is_zero_or_one(p->beta))) {
        return blaslt_say(says, WF_LIB_UNSUPPORTED,
                          "cuBLASLt's integer alpha and beta are 0 or 1");
    }
    const int rc = refuse_scales(lib, p, says);
    return rc == WF_LIB_OK && wf_dtype_is_fp8(p->matrix[BLASLT_A].dtype)
               ? refuse_fp8(p, says)
               : rc;
}

static int epilogue(const struct blaslt_problem *p)
{
    return p->has_bias ? blaslt_vendor.values.epilogue_bias
                       : blaslt_vendor.values.epilogue_default;
}

static int set_scales(const struct blaslt_library *lib,
                      void *desc,
                      const void *scale_a,
                      const void *scale_b,
                      const char **ret_what)
{
    const int32_t mode = SCALE_OUTER_VEC_32F;
    *ret_what = "MatmulDescSetAttribute (scale mode)";
    int status = lib->f.desc_set(desc, DESC_A_SCALE_MODE, &mode, sizeof mode);
    if (status == 0) {
        status = lib->f.desc_set(desc, DESC_B_SCALE_MODE, &mode, sizeof mode);
    }
    if (status == 0) {
        *ret_what = "MatmulDescSetAttribute (scale pointer)";
        status = lib->f.desc_set(desc, DESC_A_SCALE_POINTER, &scale_a, sizeof scale_a);
    }
    return status != 0
               ? status
               : lib->f.desc_set(desc, DESC_B_SCALE_POINTER, &scale_b, sizeof scale_b);
}

static void describe(const void *algo, char *text, size_t bytes)
{
    size_t used = 0;
#define X(number, what)                                                            \
    {                                                                              \
        uint32_t value = 0;                                                        \
        size_t written = 0;                                                        \
        if (used < bytes &&                                                        \
            get_config(algo, number, &value, sizeof value, &written) == 0) {       \
            used += (size_t)snprintf(text + used, bytes - used, "%s%s %u",         \
                                     used > 0 ? ", " : "", what, (unsigned)value); \
        }                                                                          \
    }
    CONFIG_LIST(X)
#undef X
}

static const char *const files[] = { "libcublasLt.so.13",
                                     "libcublasLt.so.12",
                                     "/usr/local/cuda/lib64/libcublasLt.so.13",
                                     "/usr/local/cuda/lib64/libcublasLt.so.12",
                                     "libcublasLt.so",
                                     NULL };

const struct blaslt_vendor blaslt_vendor = {
    .name = "cuBLASLt",
    .prefix = "cublasLt",
    .variable = "WAVEFARM_LIBCUBLASLT",
    .files = files,
    .advice = "install libcublas of CUDA 12 or 13, or name its libcublasLt.so.13 in "
              "WAVEFARM_LIBCUBLASLT",
    .workspace_bytes = 32u << 20, /* what NVIDIA recommends for Hopper */
    .algo_bytes = 64,
    .values = {
        .op_n = 0,
        .op_t = 1,
        .compute_f32 = 68, /* not TF32: f32 products of f32 operands */
        .compute_i32 = 72,
        .type_f32 = 0,
        .type_i32 = 10,
        .batch_count = 5,
        .batch_stride = 6,
        .trans_a = 3,
        .trans_b = 4,
        .epilogue = 7,
        .bias = 8,
        .bias_type = 26,
        .epilogue_default = 1,
        .epilogue_bias = 4,
        .workspace = 1,
        .alignment = { 5, 6, 7, 8 },
    },
    .type = type_of,
    .unread_c = unread_c,
    .status_name = status_name,
    .start = start,
    .supports = supports,
    .epilogue = epilogue,
    .set_scales = set_scales,
    .describe = describe,
};
