/* Vector paths of the array conversions, chosen by what the processor has. Private to
 * core/dtype_*.c. Every path gives the bits of the scalar functions. */
#ifndef WF_CORE_DTYPE_FAST_H
#define WF_CORE_DTYPE_FAST_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* AVX2 and F16C are there. When false, the functions below must not be called. */
bool wf_dtype_fast_available(void);

/* Each converts a multiple of 8 elements, at most n, and returns how many. */
size_t wf_fast_f16_to_f32(const uint16_t *src, float *dst, size_t n);
size_t wf_fast_f16_to_f64(const uint16_t *src, double *dst, size_t n);
size_t wf_fast_bf16_to_f32(const uint16_t *src, float *dst, size_t n);
size_t wf_fast_bf16_to_f64(const uint16_t *src, double *dst, size_t n);
size_t wf_fast_f64_to_f16(const double *src, uint16_t *dst, size_t n);
size_t wf_fast_f32_to_f16(const float *src, uint16_t *dst, size_t n);

#endif
