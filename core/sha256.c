/* SHA-256, random bytes and comparison of secrets over libcrypto.
 *
 * A digest names content, so a wrong one must never leave this file. libcrypto can fail
 * here only when memory for its context is gone or the library is broken; where a
 * function has no way to say so, the process stops. */
#include "core/sha256.h"

#include "core/buf.h"

#include <openssl/crypto.h>
#include <openssl/evp.h>
#include <openssl/rand.h>

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

enum {
    FILE_CHUNK_BYTES = 64 * 1024
};

struct wf_sha256 {
    EVP_MD_CTX *ctx;
};

static void must(int good)
{
    if (good == 1) {
        return;
    }
    (void)fputs("sha256: libcrypto failed; no digest can be trusted\n", stderr);
    abort();
}

struct wf_sha256 *wf_sha256_create(void)
{
    struct wf_sha256 *s = wf_calloc(1, sizeof *s);

    if (s == NULL) {
        return NULL;
    }
    s->ctx = EVP_MD_CTX_new();
    if (s->ctx == NULL || EVP_DigestInit_ex(s->ctx, EVP_sha256(), NULL) != 1) {
        wf_sha256_destroy(s);
        return NULL;
    }
    return s;
}

void wf_sha256_update(struct wf_sha256 *s, const void *data, size_t n)
{
    if (n > 0) {
        must(EVP_DigestUpdate(s->ctx, data, n));
    }
}

void wf_sha256_finish(struct wf_sha256 *s, uint8_t ret[WF_SHA256_BYTES])
{
    must(EVP_DigestFinal_ex(s->ctx, ret, NULL));
    wf_sha256_destroy(s);
}

void wf_sha256_destroy(struct wf_sha256 *s)
{
    if (s == NULL) {
        return;
    }
    EVP_MD_CTX_free(s->ctx);
    free(s);
}

void wf_sha256(const void *data, size_t n, uint8_t ret[WF_SHA256_BYTES])
{
    must(EVP_Digest(n > 0 ? data : "", n, ret, NULL, EVP_sha256(), NULL));
}

void wf_sha256_hex(const void *data, size_t n, char ret[WF_SHA256_HEX])
{
    uint8_t digest[WF_SHA256_BYTES];

    wf_sha256(data, n, digest);
    wf_hex(digest, sizeof digest, ret);
}

static enum wf_status update_from_fd(struct wf_sha256 *s,
                                     int fd,
                                     const char *path,
                                     struct wf_error *err)
{
    char *chunk = wf_calloc(1, FILE_CHUNK_BYTES);
    enum wf_status status = WF_OK;
    ssize_t n;

    if (chunk == NULL) {
        return wf_errorf(err, WF_ENOMEM, "no memory to read %s", path);
    }
    for (;;) {
        n = read(fd, chunk, FILE_CHUNK_BYTES);
        if (n < 0 && errno == EINTR) {
            continue;
        }
        if (n <= 0) {
            break;
        }
        wf_sha256_update(s, chunk, (size_t)n);
    }
    if (n < 0) {
        status = wf_error_errno(err, errno, "cannot read %s", path);
    }
    free(chunk);
    return status;
}

enum wf_status wf_sha256_file(const char *path,
                              char ret[WF_SHA256_HEX],
                              struct wf_error *err)
{
    struct wf_sha256 *s = NULL;
    uint8_t digest[WF_SHA256_BYTES];
    enum wf_status status;
    int fd;

    fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0) {
        return wf_error_errno(err, errno, "cannot open %s", path);
    }
    s = wf_sha256_create();
    if (s == NULL) {
        status = wf_errorf(err, WF_ENOMEM, "no memory to hash %s", path);
        goto out;
    }
    status = update_from_fd(s, fd, path, err);
    if (status != WF_OK) {
        goto out;
    }
    wf_sha256_finish(s, digest);
    s = NULL;
    wf_hex(digest, sizeof digest, ret);
out:
    wf_sha256_destroy(s);
    (void)close(fd);
    return status;
}

void wf_hex(const uint8_t *bytes, size_t n, char *ret)
{
    static const char digits[] = "0123456789abcdef";

    for (size_t i = 0; i < n; i++) {
        ret[2 * i] = digits[bytes[i] >> 4];
        ret[2 * i + 1] = digits[bytes[i] & 15];
    }
    ret[2 * n] = '\0';
}

bool wf_sha256_is_hex(const char *text)
{
    size_t i = 0;

    if (text == NULL) {
        return false;
    }
    while ((text[i] >= '0' && text[i] <= '9') || (text[i] >= 'a' && text[i] <= 'f')) {
        i++;
    }
    return i == WF_SHA256_HEX - 1 && text[i] == '\0';
}

enum wf_status wf_random_bytes(void *ret, size_t n, struct wf_error *err)
{
    if (n > INT32_MAX || RAND_bytes(ret, (int)n) != 1) {
        return wf_errorf(err, WF_EINTERNAL, "libcrypto has no %zu random bytes", n);
    }
    return WF_OK;
}

bool wf_equal_secret(const void *a, const void *b, size_t n)
{
    return CRYPTO_memcmp(a, b, n) == 0;
}
