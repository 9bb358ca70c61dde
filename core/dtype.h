/* Element types and their conversions. fp8 formats always carry their family in the
 * name: `fnuz` (gfx942: finite, no negative zero, 0x80 is NaN, bias one higher) or `fn`
 * / `e5m2` (OCP 8-bit floating point specification, revision 1.0). */
#ifndef WF_CORE_DTYPE_H
#define WF_CORE_DTYPE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* X(NAME, text, bytes, unit_roundoff exponent p: u = 2^-p (0: exact), max finite) */
#define WF_DTYPE_LIST(X)                         \
    X(F64, "f64", 8, 53, 1.7976931348623157e308) \
    X(F32, "f32", 4, 24, 3.4028234663852886e38)  \
    X(F16, "f16", 2, 11, 65504.0)                \
    X(BF16, "bf16", 2, 8, 3.3895313892515355e38) \
    X(E4M3FNUZ, "e4m3fnuz", 1, 4, 240.0)         \
    X(E5M2FNUZ, "e5m2fnuz", 1, 3, 57344.0)       \
    X(E4M3FN, "e4m3fn", 1, 4, 448.0)             \
    X(E5M2, "e5m2", 1, 3, 57344.0)               \
    X(I8, "i8", 1, 0, 127.0)                     \
    X(I32, "i32", 4, 0, 2147483647.0)            \
    X(I64, "i64", 8, 0, 9223372036854775807.0)   \
    X(U8, "u8", 1, 0, 255.0)

enum wf_dtype {
#define X(name, text, bytes, p, max) WF_##name,
    WF_DTYPE_LIST(X)
#undef X
    WF_DTYPE_COUNT
};

const char *wf_dtype_name(enum wf_dtype t);
bool wf_dtype_parse(const char *text, enum wf_dtype *ret); /* exact names only */
size_t wf_dtype_bytes(enum wf_dtype t);
bool wf_dtype_is_float(enum wf_dtype t);
bool wf_dtype_is_fp8(enum wf_dtype t);          /* any of the four */
double wf_dtype_unit_roundoff(enum wf_dtype t); /* 0 for integers */
double wf_dtype_max(enum wf_dtype t);           /* largest finite value */
/* Half the smallest subnormal: absolute rounding error floor. 0 for integers. */
double wf_dtype_underflow(enum wf_dtype t);

/* One element, round to nearest even. Conversion to fp8 saturates when `saturate`,
 * else overflows to NaN (fnuz, e4m3fn) or infinity (e5m2). NaN stays NaN. */
float wf_f16_to_f32(uint16_t v);
uint16_t wf_f32_to_f16(float v);
uint16_t wf_f64_to_f16(double v); /* one rounding, not two */
float wf_bf16_to_f32(uint16_t v);
uint16_t wf_f32_to_bf16(float v);
uint16_t wf_f64_to_bf16(double v);
float wf_fp8_to_f32(enum wf_dtype t, uint8_t v);
uint8_t wf_f64_to_fp8(enum wf_dtype t, double v, bool saturate);

/* Arrays: n contiguous elements. Integers are exact; from_f64 rounds to nearest even
 * and saturates integers and fp8 (NaN to an integer is 0). Fast for f16 and bf16 (F16C
 * where the machine has it, same bits either way). */
void wf_to_f64(enum wf_dtype t, const void *src, double *dst, size_t n);
void wf_to_f32(enum wf_dtype t, const void *src, float *dst, size_t n);
void wf_from_f64(enum wf_dtype t, const double *src, void *dst, size_t n);
void wf_from_f32(enum wf_dtype t, const float *src, void *dst, size_t n);
/* Fills n elements with the type's poison: a NaN pattern for floats (f16 0x7e5a, bf16
 * 0x7fd5, f32 0x7fc0dead, f64 0x7ff80000dead0000, fnuz 0x80, e4m3fn 0x7f, e5m2 0x7d),
 * 0x5a bytes for integers. */
void wf_poison(enum wf_dtype t, void *dst, size_t n);
bool wf_is_poison(enum wf_dtype t, const void *src); /* exactly the poison pattern */

#endif
