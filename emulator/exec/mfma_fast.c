/* Matrix products by the host's arithmetic: F32 by a chain of fused multiply-adds in
 * the order of k, which is what the hardware does for F32 and F64 and what mode `fast`
 * takes for the shorter floats; I8 exactly. */
#include "emulator/exec/mfma.h"

#include <immintrin.h>

#define INLINE static inline __attribute__((always_inline))

INLINE __m256 load_f(const float *from)
{
    return _mm256_loadu_ps(from);
}

INLINE __m256 load_acc(const uint32_t *from)
{
    return _mm256_loadu_ps((const float *)(const void *)from);
}

INLINE void store_acc(uint32_t *to, __m256 value)
{
    _mm256_storeu_ps((float *)(void *)to, value);
}

/* Four rows by 16 columns: rows i..i+3 are four registers, one behind the other. `a`
 * and `b` point at the tile's first row and column in slot 0; groups of k are `stride`
 * lanes apart. */
INLINE void tile_f32(const float *a,
                     const float *b,
                     unsigned slots,
                     unsigned k,
                     unsigned stride,
                     const uint32_t *c,
                     uint32_t *d)
{
    __m256 acc[4][2];
    for (unsigned r = 0; r < 4; r++) {
        acc[r][0] = load_acc(c + (size_t)r * EM_LANES);
        acc[r][1] = load_acc(c + (size_t)r * EM_LANES + 8);
    }
    for (unsigned group = 0; group < k / slots; group++) {
        for (unsigned s = 0; s < slots; s++) {
            const float *from = b + (size_t)s * EM_LANES + (size_t)group * stride;
            const float *row = a + (size_t)s * EM_LANES + (size_t)group * stride;
            __m256 b0 = load_f(from);
            __m256 b1 = load_f(from + 8);
            for (unsigned r = 0; r < 4; r++) {
                __m256 x = _mm256_broadcast_ss(row + r);
                acc[r][0] = _mm256_fmadd_ps(x, b0, acc[r][0]);
                acc[r][1] = _mm256_fmadd_ps(x, b1, acc[r][1]);
            }
        }
    }
    for (unsigned r = 0; r < 4; r++) {
        store_acc(d + (size_t)r * EM_LANES, acc[r][0]);
        store_acc(d + (size_t)r * EM_LANES + 8, acc[r][1]);
    }
}

INLINE void dense_f32(const struct em_mfma_job *job,
                      unsigned n,
                      unsigned k,
                      unsigned blocks,
                      unsigned slots)
{
    for (unsigned b = 0; b < blocks; b++) {
        for (unsigned i = 0; i < n; i += 4) {
            size_t at = em_mfma_d_offset(job->shape, b, i);
            for (unsigned j = 0; j < n; j += 16) {
                tile_f32(&job->a.f[0][b * n + i], &job->b.f[0][b * n + j], slots, k,
                         n * blocks, job->c + at + j, job->d + at + j);
            }
        }
    }
}

/* 16 blocks of 4 x 4: a register is row i of all blocks, so A's element is broadcast
 * among the four lanes of its block. */
static void blocks_4x4_f32(const struct em_mfma_job *job)
{
    for (unsigned l = 0; l < EM_LANES; l += 8) {
        __m256 acc[4];
        for (unsigned i = 0; i < 4; i++) {
            acc[i] = load_acc(job->c + (size_t)i * EM_LANES + l);
        }
        for (unsigned s = 0; s < job->a.slots; s++) {
            __m256 a = load_f(&job->a.f[s][l]);
            __m256 b = load_f(&job->b.f[s][l]);
            acc[0] = _mm256_fmadd_ps(_mm256_permute_ps(a, 0x00), b, acc[0]);
            acc[1] = _mm256_fmadd_ps(_mm256_permute_ps(a, 0x55), b, acc[1]);
            acc[2] = _mm256_fmadd_ps(_mm256_permute_ps(a, 0xaa), b, acc[2]);
            acc[3] = _mm256_fmadd_ps(_mm256_permute_ps(a, 0xff), b, acc[3]);
        }
        for (unsigned i = 0; i < 4; i++) {
            store_acc(job->d + (size_t)i * EM_LANES + l, acc[i]);
        }
    }
}

/* Eight columns of a row whose elements of B the indices picked. */
INLINE __m256 sparse_row(const struct em_mfma_job *job,
                         const uint16_t *at_a,
                         const uint16_t *at_b,
                         __m256 acc)
{
    for (unsigned p = 0; p < job->shape->k / 2U; p++) {
        __m256 x = _mm256_broadcast_ss(job->a.f[0] + at_a[p]);
        acc = _mm256_fmadd_ps(x, load_f(job->b.f[0] + at_b[p]), acc);
    }
    return acc;
}

static void sparse_f32(const struct em_mfma_job *job)
{
    const struct em_mfma_shape *s = job->shape;
    bool integer = s->type_a == EM_MFMA_I8F;
    uint16_t at_a[EM_MFMA_MAX_K];
    uint16_t at_b[EM_MFMA_MAX_K];
    em_mfma_offsets(s, s->k / 2U, job->a.slots, at_a);
    for (unsigned i = 0; i < s->mn; i++) {
        em_mfma_sparse_offsets(job, i, at_b);
        size_t at = em_mfma_d_offset(s, 0, i);
        for (unsigned j = 0; j < s->mn; j += 8) {
            if (integer) { /* at most 32 products below 2^15: exact in a float */
                __m256i sum = _mm256_cvtps_epi32(
                    sparse_row(job, at_a, at_b, _mm256_setzero_ps()));
                __m256i c = _mm256_loadu_si256((const void *)(job->c + at + j));
                _mm256_storeu_si256((void *)(job->d + at + j),
                                    _mm256_add_epi32(c, sum));
            } else {
                __m256 acc = load_acc(job->c + at + j);
                store_acc(job->d + at + j, sparse_row(job, at_a, at_b, acc));
            }
            for (unsigned p = 0; p < s->k / 2U; p++) {
                at_b[p] = (uint16_t)(at_b[p] + 8);
            }
        }
        for (unsigned p = 0; p < s->k / 2U; p++) {
            at_a[p]++;
        }
    }
}

void em_mfma_fast_f32(const struct em_mfma_job *job)
{
    const struct em_mfma_shape *s = job->shape;
    if (s->flags & EM_MFMA_SPARSE) {
        sparse_f32(job);
    } else if (s->mn == 4) {
        blocks_4x4_f32(job);
    } else if (s->mn == 32 && s->k == 8) { /* the common ones, unrolled */
        dense_f32(job, 32, 8, 1, 4);
    } else if (s->mn == 16 && s->k == 16) {
        dense_f32(job, 16, 16, 1, 4);
    } else if (s->mn == 32 && s->k == 16) {
        dense_f32(job, 32, 16, 1, 8);
    } else if (s->mn == 16 && s->k == 32) {
        dense_f32(job, 16, 32, 1, 8);
    } else {
        dense_f32(job, s->mn, s->k, s->blocks, job->a.slots);
    }
}

/* As tile_f32, of pairs of products. */
INLINE void tile_i32(const int32_t *a,
                     const int32_t *b,
                     unsigned slots,
                     unsigned pairs,
                     unsigned stride,
                     const uint32_t *c,
                     uint32_t *d)
{
    __m256i acc[4][2];
    for (unsigned r = 0; r < 4; r++) {
        const uint32_t *from = c + (size_t)r * EM_LANES;
        acc[r][0] = _mm256_loadu_si256((const void *)from);
        acc[r][1] = _mm256_loadu_si256((const void *)(from + 8));
    }
    for (unsigned group = 0; group < pairs / slots; group++) {
        for (unsigned s = 0; s < slots; s++) {
            size_t at = (size_t)s * EM_LANES + (size_t)group * stride;
            __m256i b0 = _mm256_loadu_si256((const void *)(b + at));
            __m256i b1 = _mm256_loadu_si256((const void *)(b + at + 8));
            for (unsigned r = 0; r < 4; r++) {
                __m256i x = _mm256_set1_epi32(a[at + r]);
                acc[r][0] = _mm256_add_epi32(acc[r][0], _mm256_madd_epi16(x, b0));
                acc[r][1] = _mm256_add_epi32(acc[r][1], _mm256_madd_epi16(x, b1));
            }
        }
    }
    for (unsigned r = 0; r < 4; r++) {
        uint32_t *to = d + (size_t)r * EM_LANES;
        _mm256_storeu_si256((void *)to, acc[r][0]);
        _mm256_storeu_si256((void *)(to + 8), acc[r][1]);
    }
}

INLINE void dense_i32(const struct em_mfma_job *job,
                      unsigned n,
                      unsigned pairs,
                      unsigned blocks,
                      unsigned slots)
{
    for (unsigned b = 0; b < blocks; b++) {
        for (unsigned i = 0; i < n; i += 4) {
            size_t at = em_mfma_d_offset(job->shape, b, i);
            for (unsigned j = 0; j < n; j += 16) {
                tile_i32(&job->a.pair[0][b * n + i], &job->b.pair[0][b * n + j], slots,
                         pairs, n * blocks, job->c + at + j, job->d + at + j);
            }
        }
    }
}

static void blocks_4x4_i32(const struct em_mfma_job *job)
{
    for (unsigned i = 0; i < 4; i++) {
        for (unsigned l = 0; l < EM_LANES; l++) {
            uint32_t acc = job->c[i * EM_LANES + l];
            for (unsigned s = 0; s < job->a.slots; s++) {
                int32_t a = job->a.pair[s][l / 4 * 4 + i];
                int32_t b = job->b.pair[s][l];
                acc += (uint32_t)((int16_t)a * (int16_t)b);
                acc += (uint32_t)((a >> 16) * (b >> 16));
            }
            job->d[i * EM_LANES + l] = acc;
        }
    }
}

void em_mfma_i32(const struct em_mfma_job *job)
{
    const struct em_mfma_shape *s = job->shape;
    if (s->mn == 4) {
        blocks_4x4_i32(job);
    } else if (s->mn == 32 && s->k == 16) {
        dense_i32(job, 32, 8, 1, 4);
    } else if (s->mn == 16 && s->k == 32) {
        dense_i32(job, 16, 16, 1, 4);
    } else {
        dense_i32(job, s->mn, s->k / 2U, s->blocks, job->a.slots);
    }
}

static double negated(double value, bool negate)
{
    return negate ? -value : value;
}

/* D[i][j] of block b is in lane b * n + i % R * P * n + j of pair i / R: with one slot
 * a lane, A's element of row i is in lane b * n + k * n * blocks + i. */
void em_mfma_f64(const struct em_mfma_job *job)
{
    const struct em_mfma_shape *s = job->shape;
    unsigned n = s->mn;
    unsigned lanes = n * s->blocks; /* of a group of k, and of a row of all blocks */
    unsigned rows = EM_LANES / lanes;
    for (unsigned i = 0; i < n; i++) {
        for (unsigned l = 0; l < lanes; l++) {
            size_t at = (size_t)(i / rows) * 2 * EM_LANES + i % rows * lanes + l;
            uint64_t bits = (uint64_t)job->c[at + EM_LANES] << 32 | job->c[at];
            double acc;
            memcpy(&acc, &bits, sizeof(acc));
            acc = negated(acc, job->negate & 4);
            for (unsigned k = 0; k < s->k; k++) {
                double a =
                    negated(job->a.d[0][k * lanes + l / n * n + i], job->negate & 1);
                double b = negated(job->b.d[0][k * lanes + l], job->negate & 2);
                acc = __builtin_fma(a, b, acc);
            }
            memcpy(&bits, &acc, sizeof(bits));
            job->d[at] = (uint32_t)bits;
            job->d[at + EM_LANES] = (uint32_t)(bits >> 32);
        }
    }
}
