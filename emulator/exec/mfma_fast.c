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

/* A row, eight columns a vector, whose elements of B the indices picked. */
INLINE void sparse_row(const struct em_mfma_job *job,
                       const float *a,
                       const uint16_t *at_a,
                       const uint16_t *at_b,
                       unsigned vectors,
                       __m256 *acc)
{
    for (unsigned p = 0; p < job->shape->k / 2U; p++) {
        __m256 x = _mm256_broadcast_ss(a + at_a[p]);
        const float *b = job->b.f[0] + at_b[p];
        for (unsigned v = 0; v < vectors; v++) {
            acc[v] = _mm256_fmadd_ps(x, load_f(b + (size_t)v * 8), acc[v]);
        }
    }
}

/* At most 32 products below 2^15: exact in a float. */
INLINE void add_integers(const uint32_t *c, __m256 sum, uint32_t *d)
{
    __m256i old = _mm256_loadu_si256((const void *)c);
    _mm256_storeu_si256((void *)d, _mm256_add_epi32(old, _mm256_cvtps_epi32(sum)));
}

INLINE void sparse_f32(const struct em_mfma_job *job, unsigned vectors)
{
    const struct em_mfma_shape *s = job->shape;
    bool integer = s->type_a == EM_MFMA_I8F;
    uint16_t at_a[EM_MFMA_MAX_K];
    uint16_t at_b[EM_MFMA_MAX_K];
    em_mfma_offsets(s, s->k / 2U, job->a.slots, at_a);
    for (unsigned i = 0; i < s->mn; i++) {
        em_mfma_sparse_offsets(job, i, at_b);
        const uint32_t *c = job->c + em_mfma_d_offset(s, 0, i);
        uint32_t *d = job->d + em_mfma_d_offset(s, 0, i);
        __m256 acc[4];
        for (unsigned v = 0; v < vectors; v++) {
            acc[v] = integer ? _mm256_setzero_ps() : load_acc(c + (size_t)v * 8);
        }
        sparse_row(job, job->a.f[0] + i, at_a, at_b, vectors, acc);
        for (unsigned v = 0; v < vectors; v++) {
            if (integer) {
                add_integers(c + (size_t)v * 8, acc[v], d + (size_t)v * 8);
            } else {
                store_acc(d + (size_t)v * 8, acc[v]);
            }
        }
    }
}

void em_mfma_fast_f32(const struct em_mfma_job *job)
{
    const struct em_mfma_shape *s = job->shape;
    if (s->flags & EM_MFMA_SPARSE && s->mn == 16) {
        sparse_f32(job, 2);
    } else if (s->flags & EM_MFMA_SPARSE) {
        sparse_f32(job, 4);
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

INLINE __m256i add_pairs(__m256i acc, __m256i a, __m256i b)
{
    return _mm256_add_epi32(acc, _mm256_madd_epi16(a, b));
}

static void blocks_4x4_i32(const struct em_mfma_job *job)
{
    for (unsigned l = 0; l < EM_LANES; l += 8) {
        __m256i acc[4];
        for (unsigned i = 0; i < 4; i++) {
            acc[i] =
                _mm256_loadu_si256((const void *)(job->c + (size_t)i * EM_LANES + l));
        }
        for (unsigned s = 0; s < job->a.slots; s++) {
            __m256i a = _mm256_loadu_si256((const void *)&job->a.pair[s][l]);
            __m256i b = _mm256_loadu_si256((const void *)&job->b.pair[s][l]);
            acc[0] = add_pairs(acc[0], _mm256_shuffle_epi32(a, 0x00), b);
            acc[1] = add_pairs(acc[1], _mm256_shuffle_epi32(a, 0x55), b);
            acc[2] = add_pairs(acc[2], _mm256_shuffle_epi32(a, 0xaa), b);
            acc[3] = add_pairs(acc[3], _mm256_shuffle_epi32(a, 0xff), b);
        }
        for (unsigned i = 0; i < 4; i++) {
            _mm256_storeu_si256((void *)(job->d + (size_t)i * EM_LANES + l), acc[i]);
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

/* Four doubles, the low and high halves of which are in two registers. */
INLINE __m256d load_pair(const uint32_t *low)
{
    __m256i lo = _mm256_cvtepu32_epi64(_mm_loadu_si128((const void *)low));
    __m256i hi = _mm256_cvtepu32_epi64(_mm_loadu_si128((const void *)(low + EM_LANES)));
    return _mm256_castsi256_pd(_mm256_or_si256(lo, _mm256_slli_epi64(hi, 32)));
}

INLINE void store_pair(uint32_t *low, __m256d value)
{
    const __m256i halves = _mm256_setr_epi32(0, 2, 4, 6, 1, 3, 5, 7);
    __m256i bits = _mm256_permutevar8x32_epi32(_mm256_castpd_si256(value), halves);
    _mm_storeu_si128((void *)low, _mm256_castsi256_si128(bits));
    _mm_storeu_si128((void *)(low + EM_LANES), _mm256_extracti128_si256(bits, 1));
}

/* D[i][j] of block b is in lane b * n + i % R * P * n + j of pair i / R: with one slot
 * a lane, A's element of row i is in lane b * n + k * n * blocks + i. */
void em_mfma_f64(const struct em_mfma_job *job)
{
    const struct em_mfma_shape *s = job->shape;
    unsigned n = s->mn;
    unsigned lanes = n * s->blocks; /* of a group of k, and of a row of all blocks */
    unsigned rows = EM_LANES / lanes;
    __m256d sign[3]; /* to be changed in A, B and C */
    for (unsigned x = 0; x < 3; x++) {
        sign[x] = _mm256_set1_pd(job->negate >> x & 1 ? -0.0 : 0.0);
    }
    for (unsigned i = 0; i < n; i++) {
        for (unsigned l = 0; l < lanes; l += 4) { /* of one block */
            size_t at = (size_t)(i / rows) * 2 * EM_LANES + i % rows * lanes + l;
            const double *row = &job->a.d[0][l / n * n + i];
            const double *column = &job->b.d[0][l];
            __m256d acc = _mm256_xor_pd(load_pair(job->c + at), sign[2]);
            for (unsigned k = 0; k < s->k; k++) {
                __m256d a = _mm256_broadcast_sd(row + (size_t)k * lanes);
                __m256d b = _mm256_load_pd(column + (size_t)k * lanes);
                acc = _mm256_fmadd_pd(_mm256_xor_pd(a, sign[0]),
                                      _mm256_xor_pd(b, sign[1]), acc);
            }
            store_pair(job->d + at, acc);
        }
    }
}
