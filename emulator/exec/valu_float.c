/* Floating-point rows under a MODE other than the usual one: the host's rounding and
 * flushing are set for f32 and f64; the denormals and overflows of f16, which the host
 * computes as f32, are put right before and after. */
#include "emulator/exec/valu_float.h"

enum {
    CSR_DAZ = 1 << 6,
    CSR_ROUND_SHIFT = 13,
    CSR_FTZ = 1 << 15
};

/* Sources with f16 denormals flushed. */
struct flushed {
    _Alignas(64) uint32_t rows[3][EM_LANES];
};

static bool is_f16(uint8_t format)
{
    return format == EM_FORMAT_F16 || format == EM_FORMAT_PF16;
}

static unsigned host_csr(uint32_t mode, struct em_float_mode m)
{
    /* MODE: even, up, down, zero; the host: even, down, up, zero. */
    static const uint8_t rounding[4] = { 0, 2, 1, 3 };
    unsigned csr = _mm_getcsr() & ~(unsigned)(3 << CSR_ROUND_SHIFT | CSR_DAZ | CSR_FTZ);
    if (m.round != EM_FORMAT_NONE) {
        unsigned field = m.round == EM_FORMAT_F32 ? mode & 3 : mode >> 2 & 3;
        csr |= (unsigned)rounding[field] << CSR_ROUND_SHIFT;
    }
    unsigned f32 = mode >> 4 & 3, f64 = mode >> 6 & 3;
    if ((m.src == EM_FORMAT_F32 && !(f32 & 1)) ||
        (m.src == EM_FORMAT_F64 && !(f64 & 1))) {
        csr |= CSR_DAZ;
    }
    if ((m.dst == EM_FORMAT_F32 && !(f32 & 2)) ||
        (m.dst == EM_FORMAT_F64 && !(f64 & 2))) {
        csr |= CSR_FTZ;
    }
    return csr;
}

/* Rows beyond the instruction's sources are not set. */
static bool is_float(const struct em_rows *r, struct em_float_mode m, unsigned s)
{
    return r->in->src[s].code != EM_NONE && r->s[s][0] && !(m.integers >> s & 1);
}

static void flush_sources(struct em_rows *r, struct em_float_mode m, struct flushed *f)
{
    for (unsigned s = 0; s < 3; s++) {
        if (!is_float(r, m, s)) {
            continue;
        }
        for (unsigned i = 0; i < EM_LANES; i += 8) {
            em_put8(f->rows[s], i, em_flush_f16(em_get8(r->s[s][0], i)));
        }
        r->s[s][0] = f->rows[s];
    }
}

/* All ones in the halves that are infinite. */
static __m256i infinite(__m256i v)
{
    __m256i magnitude = _mm256_and_si256(v, _mm256_set1_epi16(0x7fff));
    return _mm256_cmpeq_epi16(magnitude, _mm256_set1_epi16(0x7c00));
}

/* Infinite results of finite sources become the largest value. `was` tells the sources'
 * infinities. */
static void clamp_overflow(struct em_rows *r, uint32_t was[EM_LANES])
{
    for (unsigned i = 0; i < EM_LANES; i += 8) {
        __m256i v = em_get8(r->d[0], i);
        __m256i overflow = _mm256_andnot_si256(em_get8(was, i), infinite(v));
        em_put8(r->d[0], i, _mm256_add_epi16(v, overflow));
    }
}

/* The sources' infinities, before the results overwrite them. */
static void find_infinities(const struct em_rows *r,
                            struct em_float_mode m,
                            uint32_t was[EM_LANES])
{
    for (unsigned i = 0; i < EM_LANES; i += 8) {
        __m256i any = _mm256_setzero_si256();
        for (unsigned s = 0; s < 3; s++) {
            if (!is_float(r, m, s)) {
                continue;
            }
            __m256i v = em_get8(r->s[s][0], i);
            if (m.src == EM_FORMAT_F32) {
                v = _mm256_and_si256(v, _mm256_set1_epi32(0x7fffffff));
                v = _mm256_cmpeq_epi32(v, _mm256_set1_epi32(0x7f800000));
            } else {
                v = infinite(v);
            }
            any = _mm256_or_si256(any, v);
        }
        em_put8(was, i, any);
    }
}

void em_float_slow(struct em_rows *r, em_rows_fn core, struct em_float_mode m)
{
    struct flushed sources;
    _Alignas(64) uint32_t was[EM_LANES];
    struct em_rows run = *r;
    bool clamp = is_f16(m.dst) && (r->mode & EM_MODE_FP16_OVFL) && !m.true_infinity;
    if (clamp && m.src != EM_FORMAT_NONE) {
        find_infinities(r, m, was);
    } else {
        memset(was, 0, sizeof(was));
    }
    if (is_f16(m.src) && !(r->mode >> 6 & 1)) {
        flush_sources(&run, m, &sources);
    }
    unsigned csr = _mm_getcsr();
    _mm_setcsr(host_csr(r->mode, m));
    core(&run);
    _mm_setcsr(csr);
    r->mask_out = run.mask_out;
    if (clamp) {
        clamp_overflow(r, was);
    }
    if (is_f16(m.dst) && !(r->mode >> 6 & 2)) {
        for (unsigned i = 0; i < EM_LANES; i += 8) {
            em_put8(r->d[0], i, em_flush_f16(em_get8(r->d[0], i)));
        }
    }
}
