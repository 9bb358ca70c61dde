/* SHA-256 over libcrypto (sha256.c is the only file that includes openssl/evp.h). */
#ifndef WF_CORE_SHA256_H
#define WF_CORE_SHA256_H

#include "core/error.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define WF_SHA256_BYTES 32
#define WF_SHA256_HEX   65 /* with the NUL */

struct wf_sha256; /* opaque */

struct wf_sha256 *wf_sha256_create(void); /* NULL: no memory */
void wf_sha256_update(struct wf_sha256 *s, const void *data, size_t n);
/* Finishes and frees. */
void wf_sha256_finish(struct wf_sha256 *s, uint8_t ret[WF_SHA256_BYTES]);
void wf_sha256_destroy(struct wf_sha256 *s);

void wf_sha256(const void *data, size_t n, uint8_t ret[WF_SHA256_BYTES]);
void wf_sha256_hex(const void *data, size_t n, char ret[WF_SHA256_HEX]);
enum wf_status wf_sha256_file(const char *path,
                              char ret[WF_SHA256_HEX],
                              struct wf_error *err);
void wf_hex(const uint8_t *bytes, size_t n, char *ret); /* 2n + 1 chars, lower case */
bool wf_sha256_is_hex(const char *text); /* exactly 64 lower-case hex digits */

/* Cryptographic random bytes (RAND_bytes). */
enum wf_status wf_random_bytes(void *ret, size_t n, struct wf_error *err);
/* Comparison in constant time. */
bool wf_equal_secret(const void *a, const void *b, size_t n);

#endif
