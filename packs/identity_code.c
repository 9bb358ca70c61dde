/* The identity of one image: what it is decides how it is read. */
#include "packs/identity.h"

#include "packs/identity_internal.h"
#include "packs/ptx_words.h"

#include <string.h>

#define BUNDLE       "__CLANG_OFFLOAD_BUNDLE__"
#define BUNDLE_BYTES 24
#define ENTRY_BYTES  24 /* offset, size, length of the id; the id follows */
#define MAX_ENTRIES  1024
#define MAX_ID       256

void identity_number(struct wf_sha256 *h, uint64_t v)
{
    uint8_t b[8];
    for (int i = 0; i < 8; i++) {
        b[i] = (uint8_t)(v >> (8 * i));
    }
    wf_sha256_update(h, b, sizeof b);
}

void identity_bytes(struct wf_sha256 *h, const void *data, size_t n)
{
    identity_number(h, n);
    wf_sha256_update(h, data, n);
}

void identity_text(struct wf_sha256 *h, const char *text)
{
    identity_bytes(h, text, strlen(text));
}

static enum wf_status put_elf(struct wf_sha256 *h,
                              const void *data,
                              size_t bytes,
                              const char *source,
                              struct wf_error *err)
{
    struct elf e;
    enum wf_status st = elf_open(data, bytes, source, &e, err);
    st = st == WF_OK ? identity_check_sections(&e, err) : st;
    if (st == WF_OK && e.machine == ELF_CUDA) {
        return identity_cubin(h, &e, err);
    }
    if (st == WF_OK && e.machine == ELF_AMDGPU) {
        return identity_amdgpu(h, &e, err);
    }
    return st == WF_OK ? identity_loaded(h, &e, err) : st;
}

static bool is_ptx(const void *data, size_t bytes)
{
    struct ptx_words w = { .p = data, .end = (const char *)data + bytes };
    return ptx_is(ptx_next(&w), ".version");
}

static enum wf_status put_image(struct wf_sha256 *h,
                                const void *data,
                                size_t bytes,
                                const char *source,
                                struct wf_error *err)
{
    if (elf_is_elf(data, bytes)) {
        return put_elf(h, data, bytes, source, err);
    }
    if (is_ptx(data, bytes)) {
        identity_ptx(h, data, bytes);
    } else {
        identity_text(h, "bytes");
        identity_bytes(h, data, bytes);
    }
    return WF_OK;
}

static uint64_t number_at(const uint8_t *p)
{
    uint64_t v;
    memcpy(&v, p, sizeof v); /* both sides are little-endian */
    return v;
}

struct bundle {
    const uint8_t *data;
    size_t bytes, at;
    uint64_t used; /* by the images so far */
};

static enum wf_status put_entry(struct wf_sha256 *h,
                                struct bundle *b,
                                const char *source,
                                struct wf_error *err)
{
    if (b->bytes - b->at < ENTRY_BYTES) {
        return wf_errorf(err, WF_EPARSE, "%s: not a valid bundle: cut off", source);
    }
    const uint8_t *p = b->data + b->at;
    const uint64_t offset = number_at(p), bytes = number_at(p + 8);
    const uint64_t id = number_at(p + 16);
    b->at += ENTRY_BYTES;
    if (id > MAX_ID || id > b->bytes - b->at || bytes > b->bytes ||
        offset > b->bytes - bytes || bytes > b->bytes - b->used) {
        return wf_errorf(err, WF_EPARSE,
                         "%s: not a valid bundle: an entry outside of it", source);
    }
    identity_bytes(h, b->data + b->at, (size_t)id);
    b->at += (size_t)id;
    b->used += bytes;
    return put_image(h, b->data + offset, (size_t)bytes, source, err);
}

/* All its targets: which one is chosen depends on the device. */
static enum wf_status put_bundle(struct wf_sha256 *h,
                                 const uint8_t *data,
                                 size_t bytes,
                                 const char *source,
                                 struct wf_error *err)
{
    struct bundle b = { .data = data, .bytes = bytes, .at = BUNDLE_BYTES + 8 };
    if (bytes < b.at || number_at(data + BUNDLE_BYTES) > MAX_ENTRIES) {
        return wf_errorf(err, WF_EPARSE,
                         "%s: not a valid bundle: no table of at most %d entries",
                         source, MAX_ENTRIES);
    }
    const uint64_t count = number_at(data + BUNDLE_BYTES);
    enum wf_status st = WF_OK;
    identity_text(h, "bundle");
    for (uint64_t i = 0; st == WF_OK && i < count; i++) {
        st = put_entry(h, &b, source, err);
    }
    return st;
}

enum wf_status wf_code_identity(const void *data,
                                size_t bytes,
                                const char *source,
                                char ret[WF_SHA256_HEX],
                                struct wf_error *err)
{
    uint8_t hash[WF_SHA256_BYTES];
    struct wf_sha256 *h = wf_sha256_create();
    if (h == NULL) {
        return wf_errorf(err, WF_ENOMEM, "%s: no memory to hash it", source);
    }
    const bool bundle =
        bytes >= BUNDLE_BYTES && memcmp(data, BUNDLE, BUNDLE_BYTES) == 0;
    enum wf_status st = bundle ? put_bundle(h, data, bytes, source, err)
                               : put_image(h, data, bytes, source, err);
    if (st != WF_OK) {
        wf_sha256_destroy(h);
        return st;
    }
    wf_sha256_finish(h, hash);
    wf_hex(hash, sizeof hash, ret);
    return WF_OK;
}
