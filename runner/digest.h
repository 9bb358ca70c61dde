/* A fast 64-bit digest of bytes that come in pieces: tells whether a buffer changed.
 * Not cryptographic. The same bytes give the same digest on every machine, however they
 * are cut. */
#ifndef WF_RUNNER_DIGEST_H
#define WF_RUNNER_DIGEST_H

#include <stddef.h>
#include <stdint.h>

struct digest {
    uint64_t lane[4];
    uint64_t length;
    unsigned char rest[32]; /* bytes that do not fill a block yet */
};

void digest_start(struct digest *d);
void digest_add(struct digest *d, const void *bytes, size_t n);
uint64_t digest_value(const struct digest *d);

#endif
