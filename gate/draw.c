/* Draws from the gate's seed. docs/gate.md has the bytes that are hashed, so that
 * anybody can draw again.
 *
 *   block c of a stream = SHA-256("wavefarm gate 1" NUL what seed a b c key)
 *
 * what: one byte; seed: 32 bytes; a, b, c: 8 bytes each, least first; SHA-256 of the
 * pair's key (of nothing: no pair).
 */
#include "gate/draw.h"

#include "core/sha256.h"
#include "gate/gate.h"

#include <string.h>

static const char label[] = "wavefarm gate 1"; /* hashed with its NUL */

enum {
    KEY_BYTES = WF_SHA256_BYTES,
    INPUT_BYTES = sizeof label + 1 + WF_GATE_SEED_BYTES + 3 * 8 + KEY_BYTES
};

enum what {
    WHAT_MASK = 'm',
    WHAT_ORDER = 'o',
    WHAT_INPUTS = 'i'
};

struct stream {
    uint8_t input[INPUT_BYTES]; /* with the counter's place in it */
    uint8_t out[WF_SHA256_BYTES];
    uint64_t counter;
    size_t used; /* of out */
};

static void put_u64(uint8_t *to, uint64_t x)
{
    for (int i = 0; i < 8; i++) {
        to[i] = (uint8_t)(x >> 8 * i);
    }
}

/* `key` "": none. */
static void start(struct stream *s,
                  enum what what,
                  const uint8_t seed[WF_GATE_SEED_BYTES],
                  uint64_t a,
                  uint64_t b,
                  const char *key)
{
    uint8_t *to = s->input;

    memcpy(to, label, sizeof label);
    to += sizeof label;
    *to++ = (uint8_t)what;
    memcpy(to, seed, WF_GATE_SEED_BYTES);
    to += WF_GATE_SEED_BYTES;
    put_u64(to, a);
    put_u64(to + 8, b);
    wf_sha256(key, strlen(key), to + 24);
    s->counter = 0;
    s->used = WF_SHA256_BYTES;
}

static uint8_t next_byte(struct stream *s)
{
    if (s->used == WF_SHA256_BYTES) {
        put_u64(s->input + sizeof label + 1 + WF_GATE_SEED_BYTES + 16, s->counter++);
        wf_sha256(s->input, INPUT_BYTES, s->out);
        s->used = 0;
    }
    return s->out[s->used++];
}

static uint64_t next_u64(struct stream *s)
{
    uint64_t x = 0;

    for (int i = 0; i < 8; i++) {
        x |= (uint64_t)next_byte(s) << 8 * i;
    }
    return x;
}

/* In [0, n), every value equally likely: what is beyond the last whole multiple of n is
 * drawn again. */
static uint64_t next_below(struct stream *s, uint64_t n)
{
    uint64_t most = UINT64_MAX - UINT64_MAX % n; /* a multiple of n */
    uint64_t x = next_u64(s);

    while (x >= most) {
        x = next_u64(s);
    }
    return x % n;
}

unsigned wf_gate_draw_mask(const uint8_t seed[WF_GATE_SEED_BYTES],
                           const char *key,
                           int32_t round,
                           int block)
{
    struct stream s = { .used = 0 };
    unsigned x;

    start(&s, WHAT_MASK, seed, (uint64_t)round, (uint64_t)block, key);
    do {
        x = next_byte(&s);
    } while (x >= 252); /* 42 x 6 */
    return wf_gate_mask(x % WF_GATE_MASK_COUNT);
}

void wf_gate_draw_order(const uint8_t seed[WF_GATE_SEED_BYTES],
                        int device,
                        int32_t round,
                        size_t *ret,
                        size_t n)
{
    struct stream s = { .used = 0 };

    for (size_t i = 0; i < n; i++) {
        ret[i] = i;
    }
    start(&s, WHAT_ORDER, seed, (uint64_t)device, (uint64_t)round, "");
    for (size_t i = n; i > 1; i--) {
        size_t k = (size_t)next_below(&s, i);
        size_t kept = ret[i - 1];
        ret[i - 1] = ret[k];
        ret[k] = kept;
    }
}

uint64_t wf_gate_draw_inputs(const uint8_t seed[WF_GATE_SEED_BYTES],
                             int device,
                             int32_t round)
{
    struct stream s = { .used = 0 };

    start(&s, WHAT_INPUTS, seed, (uint64_t)device, (uint64_t)round, "");
    return next_u64(&s) >> 11;
}
