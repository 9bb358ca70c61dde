/* hipBLASLt: values of hipblaslt.h of hipBLASLt 0.11 (ROCm/hipBLASLt 7d9fb68), of ROCm
 * 6.2 (0.8) to 7.2 (1.2) where they differ, of hipblas-common.h and of HIP's
 * library_types.h. */
#include "kernels/blaslt/blaslt.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* hipblasStatus_t */
#define STATUS_LIST(X)      \
    X(0, SUCCESS)           \
    X(1, NOT_INITIALIZED)   \
    X(2, ALLOC_FAILED)      \
    X(3, INVALID_VALUE)     \
    X(4, MAPPING_ERROR)     \
    X(5, EXECUTION_FAILED)  \
    X(6, INTERNAL_ERROR)    \
    X(7, NOT_SUPPORTED)     \
    X(8, ARCH_MISMATCH)     \
    X(9, HANDLE_IS_NULLPTR) \
    X(10, INVALID_ENUM)     \
    X(11, UNKNOWN)

/* hipDataType */
#define TYPE_LIST(X)  \
    X(F32, 0)         \
    X(F16, 2)         \
    X(I8, 3)          \
    X(I32, 10)        \
    X(BF16, 14)       \
    X(E4M3FN, 28)     \
    X(E5M2, 29)       \
    X(E4M3FNUZ, 1000) \
    X(E5M2FNUZ, 1001)

/* hipblasLtGetVersion: 100000 major + 100 minor + patch. */
enum {
    VERSION_0_10 = 1000,  /* ROCm 6.3: vectors of scales by pointers of their own */
    VERSION_1_0 = 100000, /* ROCm 7.0: scale modes; SWISH epilogues */
    DESC_A_SCALE_POINTER = 5,
    DESC_B_SCALE_POINTER = 6,
    DESC_A_SCALE_MODE = 31,
    DESC_B_SCALE_MODE = 32,
    DESC_A_SCALE_POINTER_VEC = 102, /* 0.10 to 0.12 only */
    DESC_B_SCALE_POINTER_VEC = 103,
    SCALE_OUTER_VEC_32F = 3,
    EPILOGUE_SWISH = 65536,
    EPILOGUE_SWISH_BIAS = 65540
};

static int (*get_version)(void *handle, int *ret);

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
        return "HIPBLAS_STATUS_" #name;
        STATUS_LIST(X)
#undef X
    default:
        return NULL;
    }
}

static enum wf_dtype unread_c(enum wf_dtype d)
{
    return d;
}

/* HIP's runtime is a dependency of the library, found through it whatever its version.
 */
static void find_runtime(struct blaslt_library *lib)
{
    const char *missing = NULL;
#define BLASLT_DEVICE(member, cuda, hip, parameters)                         \
    if (!blaslt_find_symbol(lib->shared_object, hip, &lib->device.member)) { \
        missing = hip;                                                       \
    }
#include "kernels/blaslt/device.def"
#undef BLASLT_DEVICE
    if (missing) {
        (void)snprintf(lib->device_reason, sizeof lib->device_reason,
                       "HIP's runtime behind hipBLASLt has no function %s", missing);
    }
}

/* The version needs a handle; this one is of the current device and not kept. */
static int read_version(struct blaslt_library *lib, const struct blaslt_says *says)
{
    void *handle = NULL;
    int rc = blaslt_status(lib, "Create", lib->f.create(&handle), false, says);
    if (rc != WF_LIB_OK) {
        return rc;
    }
    rc = blaslt_status(lib, "GetVersion", get_version(handle, &lib->version), false,
                       says);
    (void)lib->f.destroy(handle);
    return rc;
}

static int start(struct blaslt_library *lib, const struct blaslt_says *says)
{
    if (!blaslt_find_symbol(lib->shared_object, "hipblasLtGetVersion", &get_version)) {
        return blaslt_say(says, WF_LIB_UNSUPPORTED,
                          "this hipBLASLt has no function hipblasLtGetVersion");
    }
    const int rc = read_version(lib, says);
    (void)snprintf(lib->version_text, sizeof lib->version_text, "%d.%d.%d",
                   lib->version / 100000, lib->version / 100 % 1000,
                   lib->version % 100);
    find_runtime(lib);
    return rc;
}

static int refuse_types(const struct blaslt_problem *p,
                        const struct wf_lib_device *device,
                        const struct blaslt_says *says)
{
    const bool fnuz = strncmp(device->arch, "gfx94", 5) == 0;
    for (int i = 0; i < BLASLT_MATRICES; i++) {
        const enum wf_dtype t = p->matrix[i].dtype;
        const bool is_fnuz = t == WF_E4M3FNUZ || t == WF_E5M2FNUZ;
        if (wf_dtype_is_fp8(t) && is_fnuz != fnuz) {
            return blaslt_say(says, WF_LIB_UNSUPPORTED,
                              "fp8 of %s is %s; the case has %s", device->arch,
                              fnuz ? "fnuz" : "OCP", wf_dtype_name(t));
        }
    }
    return WF_LIB_OK;
}

static int supports(const struct blaslt_library *lib,
                    const struct blaslt_problem *p,
                    const struct wf_lib_device *device,
                    const struct blaslt_says *says)
{
    if (p->activation == BLASLT_SILU && lib->version < VERSION_1_0) {
        return blaslt_say(says, WF_LIB_UNSUPPORTED,
                          "SiLU (SWISH) needs hipBLASLt 1.0 of ROCm 7.0 or newer; this "
                          "is %s",
                          lib->version_text);
    }
    if (p->scale == BLASLT_SCALE_OTHER) {
        return blaslt_say(says, WF_LIB_UNSUPPORTED,
                          "hipBLASLt does not support scales of 128x128 blocks");
    }
    if (p->scale == BLASLT_SCALE_ROW && lib->version < VERSION_0_10) {
        return blaslt_say(
            says, WF_LIB_UNSUPPORTED,
            "row scales need hipBLASLt 0.10 of ROCm 6.3 or newer; this is "
            "%s",
            lib->version_text);
    }
    return refuse_types(p, device, says);
}

static int epilogue(const struct blaslt_problem *p)
{
    if (p->activation == BLASLT_SILU) {
        return p->has_bias ? EPILOGUE_SWISH_BIAS : EPILOGUE_SWISH;
    }
    return p->has_bias ? blaslt_vendor.values.epilogue_bias
                       : blaslt_vendor.values.epilogue_default;
}

static int set_scales(const struct blaslt_library *lib,
                      void *desc,
                      const void *scale_a,
                      const void *scale_b,
                      const char **ret_what)
{
    const bool modes = lib->version >= VERSION_1_0;
    const int a = modes ? DESC_A_SCALE_POINTER : DESC_A_SCALE_POINTER_VEC;
    const int b = modes ? DESC_B_SCALE_POINTER : DESC_B_SCALE_POINTER_VEC;
    const uint32_t mode = SCALE_OUTER_VEC_32F;
    *ret_what = "MatmulDescSetAttribute (scale mode)";
    int status = 0;
    if (modes) {
        status = lib->f.desc_set(desc, DESC_A_SCALE_MODE, &mode, sizeof mode);
    }
    if (modes && status == 0) {
        status = lib->f.desc_set(desc, DESC_B_SCALE_MODE, &mode, sizeof mode);
    }
    if (status == 0) {
        *ret_what = "MatmulDescSetAttribute (scale pointer)";
        status = lib->f.desc_set(desc, a, &scale_a, sizeof scale_a);
    }
    return status != 0 ? status : lib->f.desc_set(desc, b, &scale_b, sizeof scale_b);
}

/* What hipblaslt_ext::getIndexFromAlgo reads: an int at the front. */
static void describe(const void *algo, char *text, size_t bytes)
{
    int index;
    memcpy(&index, algo, sizeof index);
    (void)snprintf(text, bytes, "solution index %d", index);
}

static const char *const files[] = { "libhipblaslt.so.1",
                                     "libhipblaslt.so.0",
                                     "libhipblaslt.so",
                                     "/opt/rocm/lib/libhipblaslt.so.1",
                                     "/opt/rocm/lib/libhipblaslt.so.0",
                                     "/opt/rocm/lib/libhipblaslt.so",
                                     NULL };

const struct blaslt_vendor blaslt_vendor = {
    .name = "hipBLASLt",
    .prefix = "hipblasLt",
    .variable = "WAVEFARM_LIBHIPBLASLT",
    .files = files,
    .advice = "install hipblaslt of ROCm 6.2 or newer, or name its libhipblaslt.so in "
              "WAVEFARM_LIBHIPBLASLT",
    .workspace_bytes = 128u << 20, /* as hipblaslt-bench */
    .algo_bytes = 24,
    .values = {
        .op_n = 111,
        .op_t = 112,
        .compute_f32 = 2,
        .compute_i32 = 9,
        .type_f32 = 0,
        .type_i32 = 10,
        .batch_count = 0,
        .batch_stride = 1,
        .trans_a = 0,
        .trans_b = 1,
        .epilogue = 2,
        .bias = 3,
        .bias_type = 4,
        .epilogue_default = 1,
        .epilogue_bias = 4,
        .workspace = 1,
        .alignment = { BLASLT_NONE, BLASLT_NONE, BLASLT_NONE, BLASLT_NONE },
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
