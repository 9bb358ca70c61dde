/* The numbers of kernels/blaslt/cublaslt.c against NVIDIA's own header, where there is
 * one. */
#include "kernels/blaslt/cublaslt.c" // NOLINT(bugprone-suspicious-include)

#include <cublasLt.h>

_Static_assert(sizeof(cublasLtMatmulAlgo_t) == 64, "");
_Static_assert(sizeof(cublasLtMatmulHeuristicResult_t) == 64 + 8 + 4 + 4 + 16, "");
_Static_assert(offsetof(cublasLtMatmulHeuristicResult_t, workspaceSize) == 64, "");
_Static_assert(offsetof(cublasLtMatmulHeuristicResult_t, state) == 72, "");
_Static_assert((int)CUBLASLT_MATMUL_DESC_A_SCALE_POINTER == DESC_A_SCALE_POINTER, "");
_Static_assert((int)CUBLASLT_MATMUL_DESC_B_SCALE_POINTER == DESC_B_SCALE_POINTER, "");
_Static_assert((int)CUBLASLT_MATMUL_DESC_A_SCALE_MODE == DESC_A_SCALE_MODE, "");
_Static_assert((int)CUBLASLT_MATMUL_DESC_B_SCALE_MODE == DESC_B_SCALE_MODE, "");
_Static_assert((int)CUBLASLT_MATMUL_MATRIX_SCALE_OUTER_VEC_32F == SCALE_OUTER_VEC_32F,
               "");
_Static_assert((int)CUBLASLT_ALGO_CONFIG_ID == 0, "");
_Static_assert((int)CUBLASLT_ALGO_CONFIG_TILE_ID == 1, "");
_Static_assert((int)CUBLASLT_ALGO_CONFIG_SPLITK_NUM == 2, "");
_Static_assert((int)CUBLASLT_ALGO_CONFIG_REDUCTION_SCHEME == 3, "");
_Static_assert((int)CUBLASLT_ALGO_CONFIG_CTA_SWIZZLING == 4, "");
_Static_assert((int)CUBLASLT_ALGO_CONFIG_CUSTOM_OPTION == 5, "");
_Static_assert((int)CUBLASLT_ALGO_CONFIG_STAGES_ID == 6, "");
#define X(value, name) _Static_assert(CUBLAS_STATUS_##name == (value), #name);
STATUS_LIST(X)
#undef X

/* Only the table is looked at. */
int blaslt_say(const struct blaslt_says *says, int code, const char *fmt, ...)
{
    (void)says;
    (void)fmt;
    return code;
}

bool blaslt_find_symbol(void *shared_object, const char *name, void *member)
{
    (void)shared_object;
    (void)name;
    (void)member;
    return false;
}

int main(void)
{
    const struct {
        int ours, theirs;
    } pairs[] = {
        { blaslt_vendor.values.op_n, CUBLAS_OP_N },
        { blaslt_vendor.values.op_t, CUBLAS_OP_T },
        { blaslt_vendor.values.compute_f32, CUBLAS_COMPUTE_32F },
        { blaslt_vendor.values.compute_i32, CUBLAS_COMPUTE_32I },
        { blaslt_vendor.values.type_f32, CUDA_R_32F },
        { blaslt_vendor.values.type_i32, CUDA_R_32I },
        { blaslt_vendor.values.batch_count, CUBLASLT_MATRIX_LAYOUT_BATCH_COUNT },
        { blaslt_vendor.values.batch_stride,
          CUBLASLT_MATRIX_LAYOUT_STRIDED_BATCH_OFFSET },
        { blaslt_vendor.values.trans_a, CUBLASLT_MATMUL_DESC_TRANSA },
        { blaslt_vendor.values.trans_b, CUBLASLT_MATMUL_DESC_TRANSB },
        { blaslt_vendor.values.epilogue, CUBLASLT_MATMUL_DESC_EPILOGUE },
        { blaslt_vendor.values.bias, CUBLASLT_MATMUL_DESC_BIAS_POINTER },
        { blaslt_vendor.values.bias_type, CUBLASLT_MATMUL_DESC_BIAS_DATA_TYPE },
        { blaslt_vendor.values.epilogue_default, CUBLASLT_EPILOGUE_DEFAULT },
        { blaslt_vendor.values.epilogue_bias, CUBLASLT_EPILOGUE_BIAS },
        { blaslt_vendor.values.workspace, CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES },
        { blaslt_vendor.values.alignment[0],
          CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_A_BYTES },
        { blaslt_vendor.values.alignment[1],
          CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_B_BYTES },
        { blaslt_vendor.values.alignment[2],
          CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_C_BYTES },
        { blaslt_vendor.values.alignment[3],
          CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_D_BYTES },
        { type_of(WF_F16), CUDA_R_16F },
        { type_of(WF_BF16), CUDA_R_16BF },
        { type_of(WF_I8), CUDA_R_8I },
        { type_of(WF_E4M3FN), CUDA_R_8F_E4M3 },
        { type_of(WF_E5M2), CUDA_R_8F_E5M2 },
    };
    int wrong = 0;
    for (size_t i = 0; i < sizeof pairs / sizeof *pairs; i++) {
        if (pairs[i].ours != pairs[i].theirs) {
            (void)printf("value %zu is %d, the header's is %d\n", i, pairs[i].ours,
                         pairs[i].theirs);
            wrong = 1;
        }
    }
    return wrong;
}
