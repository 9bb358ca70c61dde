/* Arguments of our own gfx942 kernels as their entries
 * (the gemm of tests/emulator/gemm_f16.hip, kernels/attention/paged_decode_mfma.json)
 * lay them out. */
#ifndef WF_TESTS_EMULATOR_KERNEL_ARGUMENTS_H
#define WF_TESTS_EMULATOR_KERNEL_ARGUMENTS_H

#include <stdint.h>

struct gemm_arguments {
    uint64_t a, b, c, d, partial;
    int32_t m, n, k, split, k_per_split, xcc_count;
    int64_t lda, ldb, ldc, ldd, stride_a, stride_b, stride_c, stride_d;
    float alpha, beta;
};

struct decode_arguments {
    uint64_t q, k, v, kv_indptr, kv_indices, kv_last_page_len, o, lse, partial, max_sum;
    int32_t q_heads, kv_heads, page_size, parts, part_keys, window_left;
    int64_t page_stride, slot_stride, head_stride;
    float scale_log2, cap_log2, inv_cap_log2, v_scale;
};

#endif
