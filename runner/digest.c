/* Four independent multiply lanes over 32-byte blocks, so that the processor overlaps
 * them; the lanes and the length are mixed at the end. */
#include "runner/digest.h"

#include <string.h>

#define BLOCK 32u

static const uint64_t odd[4] = { 0x9e3779b97f4a7c15u, 0xc2b2ae3d27d4eb4fu,
                                 0x165667b19e3779f9u, 0xd6e8feb86659fd93u };

static uint64_t rotate(uint64_t v, unsigned n)
{
    return v << n | v >> (64 - n);
}

static uint64_t mix(uint64_t v)
{
    v ^= v >> 32;
    v *= 0xd6e8feb86659fd93u;
    v ^= v >> 29;
    v *= 0x9e3779b97f4a7c15u;
    return v ^ v >> 32;
}

static void add_block(uint64_t lane[4], const unsigned char *block)
{
    uint64_t word[4];
    memcpy(word, block, BLOCK);
    for (int i = 0; i < 4; i++) {
        lane[i] = rotate((lane[i] ^ word[i]) * odd[i], 31) + odd[3 - i];
    }
}

void digest_start(struct digest *d)
{
    memset(d, 0, sizeof(*d));
    memcpy(d->lane, odd, sizeof(d->lane));
}

void digest_add(struct digest *d, const void *bytes, size_t n)
{
    const unsigned char *at = bytes;
    size_t have = (size_t)(d->length % BLOCK);
    d->length += n;
    if (have) {
        size_t take = n < BLOCK - have ? n : BLOCK - have;
        memcpy(d->rest + have, at, take);
        at += take;
        n -= take;
        if (have + take < BLOCK) {
            return;
        }
        add_block(d->lane, d->rest);
    }
    for (; n >= BLOCK; n -= BLOCK, at += BLOCK) {
        add_block(d->lane, at);
    }
    memcpy(d->rest, at, n);
}

uint64_t digest_value(const struct digest *d)
{
    uint64_t lane[4];
    unsigned char last[BLOCK] = { 0 };
    uint64_t value = mix(d->length);
    memcpy(lane, d->lane, sizeof(lane));
    memcpy(last, d->rest, (size_t)(d->length % BLOCK));
    add_block(lane, last);
    for (int i = 0; i < 4; i++) {
        value = mix(value ^ lane[i]) + odd[i];
    }
    return value;
}
