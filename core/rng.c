/* Philox4x32-10 and the draws over it. Position i of a stream is half (i & 1) of block
 * i >> 1; counter words are block low, block high, stream low, stream high, the key is
 * the seed. No state: every value is a function of (seed, stream, position). */
#include "core/rng.h"

#include "core/rng_block.h"

#include <string.h>

#define PHILOX_M0 0xD2511F53U
#define PHILOX_M1 0xCD9E8D57U
#define PHILOX_W0 0x9E3779B9U
#define PHILOX_W1 0xBB67AE85U

void wf_philox4x32_10(const uint32_t counter[4], const uint32_t key[2], uint32_t ret[4])
{
    uint32_t c0 = counter[0], c1 = counter[1], c2 = counter[2], c3 = counter[3];
    uint32_t k0 = key[0], k1 = key[1];
    for (int round = 0; round < 10; round++) {
        const uint64_t p0 = (uint64_t)PHILOX_M0 * c0;
        const uint64_t p1 = (uint64_t)PHILOX_M1 * c2;
        c0 = (uint32_t)(p1 >> 32) ^ c1 ^ k0;
        c1 = (uint32_t)p1;
        c2 = (uint32_t)(p0 >> 32) ^ c3 ^ k1;
        c3 = (uint32_t)p0;
        k0 += PHILOX_W0;
        k1 += PHILOX_W1;
    }
    ret[0] = c0;
    ret[1] = c1;
    ret[2] = c2;
    ret[3] = c3;
}

static void block_words(uint64_t seed, uint64_t stream, uint64_t block, uint64_t ret[2])
{
    const uint32_t counter[4] = { (uint32_t)block, (uint32_t)(block >> 32),
                                  (uint32_t)stream, (uint32_t)(stream >> 32) };
    const uint32_t key[2] = { (uint32_t)seed, (uint32_t)(seed >> 32) };
    uint32_t w[4];
    wf_philox4x32_10(counter, key, w);
    ret[0] = (uint64_t)w[1] << 32 | w[0];
    ret[1] = (uint64_t)w[3] << 32 | w[2];
}

uint64_t wf_rng_u64(uint64_t seed, uint64_t stream, uint64_t i)
{
    uint64_t words[2];
    block_words(seed, stream, i >> 1, words);
    return words[i & 1];
}

static double to_uniform(uint64_t word)
{
    return (double)(int64_t)(word >> 11) * 0x1p-53;
}

double wf_rng_uniform(uint64_t seed, uint64_t stream, uint64_t i)
{
    return to_uniform(wf_rng_u64(seed, stream, i));
}

double wf_rng_normal(uint64_t seed, uint64_t stream, uint64_t i)
{
    double v;
    wf_rng_fill_normal(seed, stream, i, &v, 1);
    return v;
}

static uint64_t multiply_high(uint64_t a, uint64_t b, uint64_t *ret_low)
{
    const uint64_t a0 = (uint32_t)a, a1 = a >> 32;
    const uint64_t b0 = (uint32_t)b, b1 = b >> 32;
    const uint64_t low = a0 * b0;
    const uint64_t mid = a1 * b0 + (low >> 32);
    const uint64_t mid2 = a0 * b1 + (uint32_t)mid;
    *ret_low = mid2 << 32 | (uint32_t)low;
    return a1 * b1 + (mid >> 32) + (mid2 >> 32);
}

/* One step of Lemire's method; false: draw again. */
static int accept_below(uint64_t word, uint64_t n, uint64_t *ret)
{
    uint64_t low;
    *ret = multiply_high(word, n, &low);
    return low >= n || low >= (0 - n) % n;
}

/* The n-th attempt at a position draws under a seed of its own, so that one position's
 * rejections never use another position's words. */
uint64_t wf_rng_below(uint64_t seed, uint64_t stream, uint64_t i, uint64_t n)
{
    uint64_t value = 0;
    if (n < 2) {
        return 0;
    }
    for (uint64_t key = seed; !accept_below(wf_rng_u64(key, stream, i), n, &value);) {
        key += UINT64_C(0x9E3779B97F4A7C15);
    }
    return value;
}

uint64_t wf_rng_next(struct wf_rng *r)
{
    return wf_rng_u64(r->seed, r->stream, r->next++);
}

uint64_t wf_rng_next_below(struct wf_rng *r, uint64_t n)
{
    uint64_t value = 0;
    if (n < 2) {
        return 0;
    }
    while (!accept_below(wf_rng_next(r), n, &value)) {
    }
    return value;
}

/* Positions first .. first + n as whole batches; `emit` gets those inside the range. */
struct span {
    uint64_t block; /* first block of the batch */
    size_t skip;    /* positions of the batch before the range */
    size_t count;   /* positions of the batch inside it */
};

static struct span span_at(uint64_t first, size_t done, size_t n)
{
    const uint64_t position = first + done;
    const size_t skip = (size_t)(position & 1);
    const size_t room = 2 * (size_t)WF_RNG_BATCH - skip;
    return (struct span){ position >> 1, skip, n - done < room ? n - done : room };
}

void wf_rng_fill_u64(uint64_t seed,
                     uint64_t stream,
                     uint64_t first,
                     uint64_t *dst,
                     size_t n)
{
    uint64_t even[WF_RNG_BATCH], odd[WF_RNG_BATCH];
    for (size_t done = 0; done < n;) {
        const struct span s = span_at(first, done, n);
        wf_philox_batch(seed, stream, s.block, even, odd);
        for (size_t j = 0; j < s.count; j++) {
            const size_t p = j + s.skip;
            dst[done + j] = (p & 1) != 0 ? odd[p >> 1] : even[p >> 1];
        }
        done += s.count;
    }
}

void wf_rng_fill_uniform(uint64_t seed,
                         uint64_t stream,
                         uint64_t first,
                         double *dst,
                         size_t n)
{
    uint64_t words[2 * WF_RNG_BATCH];
    for (size_t done = 0; done < n;) {
        const size_t left = n - done;
        const size_t m =
            left < 2 * (size_t)WF_RNG_BATCH ? left : 2 * (size_t)WF_RNG_BATCH;
        wf_rng_fill_u64(seed, stream, first + done, words, m);
        for (size_t j = 0; j < m; j++) {
            dst[done + j] = to_uniform(words[j]);
        }
        done += m;
    }
}

void wf_rng_fill_normal(uint64_t seed,
                        uint64_t stream,
                        uint64_t first,
                        double *dst,
                        size_t n)
{
    uint64_t even[WF_RNG_BATCH], odd[WF_RNG_BATCH];
    double cosines[WF_RNG_BATCH], sines[WF_RNG_BATCH];
    for (size_t done = 0; done < n;) {
        const struct span s = span_at(first, done, n);
        wf_philox_batch(seed, stream, s.block, even, odd);
        wf_normal_batch(even, odd, cosines, sines);
        for (size_t j = 0; j < s.count; j++) {
            const size_t p = j + s.skip;
            dst[done + j] = (p & 1) != 0 ? sines[p >> 1] : cosines[p >> 1];
        }
        done += s.count;
    }
}
