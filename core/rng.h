/* Philox4x32-10 (Salmon, Moraes, Dror, Shaw: "Parallel random numbers: as easy as
 * 1, 2, 3", SC11): counter-based, so element i of stream s under seed k has one value
 * on any machine, whatever the order or the number of threads. */
#ifndef WF_CORE_RNG_H
#define WF_CORE_RNG_H

#include <stddef.h>
#include <stdint.h>

/* The raw block: counter and key in, four words out. Known-answer tested against the
 * Random123 vectors. */
void wf_philox4x32_10(const uint32_t counter[4],
                      const uint32_t key[2],
                      uint32_t ret[4]);

/* Word of position i in stream (seed, stream): 64 bits. */
uint64_t wf_rng_u64(uint64_t seed, uint64_t stream, uint64_t i);
/* Uniform in [0, 1), 53 bits. */
double wf_rng_uniform(uint64_t seed, uint64_t stream, uint64_t i);
/* Standard normal, by Box-Muller on the words of block i / 2 (even i takes the cosine,
 * odd i the sine): bit-identical everywhere (uses our own log, sin and cos polynomials,
 * not libm). Magnitude below 8.5. */
double wf_rng_normal(uint64_t seed, uint64_t stream, uint64_t i);
/* Uniform integer in [0, n), unbiased (Lemire with rejection inside the block chain).
 */
uint64_t wf_rng_below(uint64_t seed, uint64_t stream, uint64_t i, uint64_t n);

/* The same values for positions first .. first + n, much faster in bulk. */
void wf_rng_fill_u64(uint64_t seed,
                     uint64_t stream,
                     uint64_t first,
                     uint64_t *dst,
                     size_t n);
void wf_rng_fill_uniform(uint64_t seed,
                         uint64_t stream,
                         uint64_t first,
                         double *dst,
                         size_t n);
void wf_rng_fill_normal(uint64_t seed,
                        uint64_t stream,
                        uint64_t first,
                        double *dst,
                        size_t n);

/* Sequential use: shuffles, generators. */
struct wf_rng {
    uint64_t seed, stream, next;
};
uint64_t wf_rng_next(struct wf_rng *r);
uint64_t wf_rng_next_below(struct wf_rng *r, uint64_t n);

#endif
