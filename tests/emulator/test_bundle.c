/* Bundles: made here, whole and broken, plain and compressed. */
#include "core/file.h"
#include "emulator/load/bundle.h"

#include <criterion/criterion.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>
#include <zstd.h>

#define LIMIT ((size_t)1 << 24)

static void add(struct wf_buf *b, const void *data, size_t n)
{
    cr_assert_eq(wf_buf_add(b, data, n, NULL), WF_OK);
}

static void add_number(struct wf_buf *b, uint64_t value, size_t bytes)
{
    add(b, &value, bytes);
}

/* A bundle of entries whose content is their own id. */
static struct wf_buf bundle(const char *const *ids, size_t count)
{
    struct wf_buf b = WF_BUF_INIT;
    uint64_t offset = 32;
    for (size_t i = 0; i < count; i++) {
        offset += 24 + strlen(ids[i]);
    }
    add(&b, "__CLANG_OFFLOAD_BUNDLE__", 24);
    add_number(&b, count, 8);
    for (size_t i = 0; i < count; i++) {
        size_t n = strlen(ids[i]);
        add_number(&b, offset, 8);
        add_number(&b, n, 8);
        add_number(&b, n, 8);
        add(&b, ids[i], n);
        offset += n;
    }
    for (size_t i = 0; i < count; i++) {
        add(&b, ids[i], strlen(ids[i]));
    }
    return b;
}

static void expect_chosen(const char *const *ids, size_t count, const char *want)
{
    struct wf_buf b = bundle(ids, count);
    struct em_chosen c = { 0 };
    struct wf_error err = { .text = "" };
    size_t bytes = 0;
    cr_assert_eq(em_bundle_measure(b.data, LIMIT, "x", &bytes, &err), WF_OK);
    cr_expect_eq(bytes, b.len);
    cr_assert_eq(em_bundle_choose(b.data, bytes, "x", &c, &err), WF_OK, "%s", err.text);
    cr_expect(c.bytes == strlen(want) && memcmp(c.data, want, c.bytes) == 0, "%.*s",
              (int)c.bytes, (const char *)c.data);
    em_chosen_fini(&c);
    wf_buf_free(&b);
}

#define CHOSEN(want, ...)                                         \
    do {                                                          \
        const char *const ids[] = { __VA_ARGS__ };                \
        expect_chosen(ids, sizeof(ids) / sizeof(ids[0]), (want)); \
    } while (0)
#define HOST  "host-x86_64-unknown-linux--"
#define AMD   "hipv4-amdgcn-amd-amdhsa--"
#define OTHER "hip-amdgcn-amd-amdhsa-unknown-"

Test(bundle, the_entry_that_fits_best_is_taken)
{
    CHOSEN(AMD "gfx942", HOST, AMD "gfx90a", AMD "gfx942", AMD "gfx1100");
    CHOSEN(AMD "gfx942:sramecc+:xnack-", AMD "gfx942", AMD "gfx942:sramecc+:xnack-",
           AMD "gfx942:xnack+");
    CHOSEN(AMD "gfx942:xnack-", AMD "gfx942:xnack+", AMD "gfx942:xnack-");
    CHOSEN(OTHER "gfx942", HOST, OTHER "gfx9-4-generic", OTHER "gfx942");
    CHOSEN(AMD "gfx9-4-generic", AMD "gfx9-4-generic", AMD "gfx950");
}

static void expect_refused(const struct wf_buf *b,
                           enum wf_status status,
                           const char *part)
{
    struct em_chosen c = { 0 };
    struct wf_error err = { .text = "" };
    enum wf_status st = em_bundle_choose(b->data, b->len, "x", &c, &err);
    cr_expect_eq(st, status, "%s: %s", wf_status_name(st), err.text);
    cr_expect(strstr(err.text, part) != NULL, "'%s' lacks '%s'", err.text, part);
    cr_expect_null(c.owned);
    em_chosen_fini(&c);
}

Test(bundle, without_an_entry_that_fits_the_targets_are_named)
{
    const char *const ids[] = { HOST, AMD "gfx90a", AMD "gfx942:xnack+",
                                "openmp-amdgcn-amd-amdhsa--gfx942" };
    struct wf_buf b = bundle(ids, 4);
    expect_refused(&b, WF_EUNSUPPORTED, "it has gfx90a, gfx942:xnack+)");
    wf_buf_free(&b);
    b = bundle(ids, 1);
    expect_refused(&b, WF_EUNSUPPORTED, "it has no device code");
    wf_buf_free(&b);
}

Test(bundle, hostile_headers_are_refused)
{
    const char *const ids[] = { AMD "gfx942" };
    struct wf_buf b = bundle(ids, 1);
    const struct {
        size_t at;
        uint64_t value;
        const char *part;
    } broken[] = {
        { 24, UINT64_MAX, "impossible number" },
        { 24, 1025, "impossible number" },
        { 24, 2, "damaged entry" },
        { 32, UINT64_MAX, "damaged entry" },
        { 40, UINT64_MAX, "damaged entry" },
        { 40, 4096, "outside of it" },
        { 48, 257, "damaged entry" },
        { 48, UINT64_MAX, "damaged entry" },
    };
    for (size_t i = 0; i < sizeof(broken) / sizeof(broken[0]); i++) {
        uint64_t kept = 0;
        memcpy(&kept, b.data + broken[i].at, 8);
        memcpy(b.data + broken[i].at, &broken[i].value, 8);
        expect_refused(&b, WF_EPARSE, broken[i].part);
        memcpy(b.data + broken[i].at, &kept, 8);
    }
    size_t whole = b.len;
    for (b.len = 0; b.len < whole; b.len++) {
        expect_refused(&b, WF_EPARSE, "x: ");
    }
    wf_buf_free(&b);
}

/* --- compressed --- */

static struct wf_buf pack(const struct wf_buf *plain, unsigned version, unsigned method)
{
    uint8_t *out = malloc(2 * plain->len + 1024);
    struct wf_buf b = WF_BUF_INIT;
    size_t n = 0;
    cr_assert_not_null(out);
    if (method == 1) {
        n = ZSTD_compress(out, 2 * plain->len + 1024, plain->data, plain->len, 3);
        cr_assert_not(ZSTD_isError(n));
    } else {
        uLongf got = 2 * plain->len + 1024;
        cr_assert_eq(compress(out, &got, (const Bytef *)plain->data, plain->len), Z_OK);
        n = got;
    }
    size_t wide = version == 3 ? 8 : 4;
    add(&b, "CCOB", 4);
    add_number(&b, version, 2);
    add_number(&b, method, 2);
    add_number(&b, 8 + 2 * wide + 8 + n, wide);
    add_number(&b, plain->len, wide);
    add_number(&b, 0x1234, 8);
    add(&b, out, n);
    free(out);
    return b;
}

Test(bundle, compressed_bundles_are_opened)
{
    const char *const ids[] = { HOST, AMD "gfx942" };
    struct wf_buf plain = bundle(ids, 2);
    for (unsigned i = 0; i < 4; i++) {
        struct wf_buf b = pack(&plain, 2 + i / 2, i % 2);
        struct em_chosen c = { 0 };
        struct wf_error err = { .text = "" };
        size_t bytes = 0;
        cr_assert_eq(em_bundle_measure(b.data, LIMIT, "x", &bytes, &err), WF_OK);
        cr_expect_eq(bytes, b.len);
        cr_assert_eq(em_bundle_choose(b.data, b.len, "x", &c, &err), WF_OK, "%s",
                     err.text);
        cr_expect(c.bytes == strlen(ids[1]) && memcmp(c.data, ids[1], c.bytes) == 0);
        cr_expect_not_null(c.owned);
        em_chosen_fini(&c);
        wf_buf_free(&b);
    }
    wf_buf_free(&plain);
}

Test(bundle, damaged_compressed_bundles_are_refused)
{
    const char *const ids[] = { HOST, AMD "gfx942" };
    struct wf_buf plain = bundle(ids, 2);
    for (unsigned method = 0; method < 2; method++) {
        struct wf_buf b = pack(&plain, 2, method);
        b.data[b.len / 2] ^= 0x55;
        b.data[b.len - 1] ^= 0x55;
        expect_refused(&b, WF_EPARSE, method ? "zstd data is damaged" : "zlib data");
        b.len -= 8;
        expect_refused(&b, WF_EPARSE, "cut off");
        b.data[6] = 9;
        b.len += 8;
        expect_refused(&b, WF_EPARSE, "unknown compression");
        b.data[4] = 1;
        expect_refused(&b, WF_EUNSUPPORTED, "--no-offload-compress");
        wf_buf_free(&b);
    }
    wf_buf_free(&plain);
}

/* --- images without a size --- */

Test(bundle, a_code_object_is_as_long_as_its_headers_say)
{
    struct wf_buf file = WF_BUF_INIT;
    struct wf_error err = { .text = "" };
    size_t bytes = 0;
    cr_assert_eq(wf_file_read(LOAD_OBJECT, LIMIT, &file, &err), WF_OK, "%s", err.text);
    cr_assert_eq(em_bundle_measure(file.data, LIMIT, "x", &bytes, &err), WF_OK, "%s",
                 err.text);
    cr_expect(bytes <= file.len && file.len - bytes < 64, "%zu of %zu", bytes,
              file.len);
    uint64_t far = UINT64_MAX - 64;
    memcpy(file.data + 40, &far, 8);
    cr_expect_eq(em_bundle_measure(file.data, file.len, "x", &bytes, &err), WF_EPARSE);
    cr_expect_eq(em_bundle_measure("text", 4, "x", &bytes, &err), WF_EPARSE);
    wf_buf_free(&file);
}
