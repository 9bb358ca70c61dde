/* Bundles of code objects, compressed or not.
 *
 * The bytes may be anybody's. An image without a size is read header by header, never
 * further than the headers read so far say; what a header says is limited first. */
#include "emulator/load/bundle.h"

#include "core/buf.h"
#include "emulator/load/decompress.h"
#include "packs/code_object.h"
#include "packs/elf.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MAGIC          "__CLANG_OFFLOAD_BUNDLE__"
#define MAGIC_BYTES    24
#define ENTRY_BYTES    24 /* offset, size, length of the id; the id follows */
#define MAX_ENTRIES    1024
#define MAX_ID         256
#define MAX_LISTED     400 /* characters of targets in an error */
#define ELF_HEADER     64
#define ELF_SECTION    64
#define ELF_SEGMENT    56
#define SECTION_NOBITS 8

enum {
    METHOD_ZLIB = 0,
    METHOD_ZSTD = 1
};

/* The readable bytes from the image's start. */
struct view {
    const uint8_t *data;
    size_t limit;
    const char *source;
};

static const uint8_t *at(const struct view *v, uint64_t offset, uint64_t n)
{
    return n > v->limit || offset > v->limit - n ? NULL : v->data + offset;
}

static uint64_t number(const uint8_t *p, unsigned bytes)
{
    uint64_t value = 0;
    memcpy(&value, p, bytes); /* both sides are little-endian */
    return value;
}

static enum wf_status bad(const struct view *v, const char *why, struct wf_error *err)
{
    return wf_errorf(err, WF_EPARSE, "%s: not a valid code object or bundle: %s",
                     v->source, why);
}

/* --- sizes --- */

static bool grow(uint64_t *end, uint64_t offset, uint64_t bytes)
{
    if (offset > WF_CODE_MAX_BYTES || bytes > WF_CODE_MAX_BYTES) {
        return false;
    }
    *end = offset + bytes > *end ? offset + bytes : *end;
    return true;
}

/* Size of a table's contents: `entry` bytes each, offset and size at those places. */
static bool grow_table(const struct view *v,
                       uint64_t table,
                       unsigned count,
                       bool section,
                       uint64_t *end)
{
    unsigned entry = section ? ELF_SECTION : ELF_SEGMENT;
    const uint8_t *first = at(v, table, (uint64_t)count * entry);
    bool good = first != NULL && grow(end, table, (uint64_t)count * entry);
    for (unsigned i = 0; good && i < count; i++) {
        const uint8_t *p = first + (size_t)i * entry;
        bool empty = section && number(p + 4, 4) == SECTION_NOBITS;
        uint64_t offset = number(p + (section ? 24 : 8), 8);
        uint64_t bytes = number(p + 32, 8);
        good = empty || grow(end, offset, bytes);
    }
    return good;
}

static enum wf_status measure_elf(const struct view *v,
                                  size_t *ret,
                                  struct wf_error *err)
{
    const uint8_t *h = at(v, 0, ELF_HEADER);
    uint64_t end = ELF_HEADER;
    if (h == NULL || h[4] != 2 || h[5] != 1) {
        return bad(v, "no 64-bit little-endian ELF header", err);
    }
    unsigned segments = (unsigned)number(h + 56, 2);
    unsigned sections = (unsigned)number(h + 60, 2);
    if ((segments > 0 && number(h + 54, 2) != ELF_SEGMENT) ||
        (sections > 0 && number(h + 58, 2) != ELF_SECTION)) {
        return bad(v, "odd size of ELF headers", err);
    }
    if (!grow_table(v, number(h + 32, 8), segments, false, &end) ||
        !grow_table(v, number(h + 40, 8), sections, true, &end)) {
        return bad(v, "its ELF headers point outside of it", err);
    }
    *ret = (size_t)end;
    return WF_OK;
}

struct entry {
    uint64_t offset, bytes;
    const char *id; /* not terminated */
    size_t id_bytes;
};

/* Calls visit for each entry of a bundle until it fails. */
static enum wf_status each_entry(const struct view *v,
                                 enum wf_status (*visit)(void *ctx,
                                                         const struct entry *e),
                                 void *ctx,
                                 struct wf_error *err)
{
    const uint8_t *p = at(v, MAGIC_BYTES, 8);
    uint64_t count = p == NULL ? 0 : number(p, 8);
    uint64_t offset = MAGIC_BYTES + 8;
    if (p == NULL || count > MAX_ENTRIES) {
        return bad(v, "impossible number of entries", err);
    }
    enum wf_status st = WF_OK;
    for (uint64_t i = 0; st == WF_OK && i < count; i++) {
        p = at(v, offset, ENTRY_BYTES);
        if (p == NULL || number(p + 16, 8) > MAX_ID) {
            return bad(v, "damaged entry", err);
        }
        struct entry e = { .offset = number(p, 8),
                           .bytes = number(p + 8, 8),
                           .id_bytes = (size_t)number(p + 16, 8) };
        p = at(v, offset + ENTRY_BYTES, e.id_bytes);
        if (p == NULL || e.offset > WF_CODE_MAX_BYTES || e.bytes > WF_CODE_MAX_BYTES) {
            return bad(v, "damaged entry", err);
        }
        e.id = (const char *)p;
        offset += ENTRY_BYTES + e.id_bytes;
        st = visit(ctx, &e);
    }
    return st;
}

static enum wf_status measure_entry(void *ctx, const struct entry *e)
{
    uint64_t *end = ctx;
    (void)grow(end, e->offset, e->bytes);
    return WF_OK;
}

struct compressed {
    unsigned method;
    uint64_t header_bytes, file_bytes, plain_bytes;
};

static enum wf_status read_compressed(const struct view *v,
                                      struct compressed *ret,
                                      struct wf_error *err)
{
    const uint8_t *p = at(v, 0, 8);
    unsigned version = p == NULL ? 0 : (unsigned)number(p + 4, 2);
    unsigned wide = version == 3 ? 8 : 4;
    if (version != 2 && version != 3) {
        return wf_errorf(err, WF_EUNSUPPORTED,
                         "%s: compressed bundle of version %u (there are 2 and 3; "
                         "compile with --no-offload-compress)",
                         v->source, version);
    }
    ret->header_bytes = 8 + 2 * wide + 8; /* a hash comes last */
    p = at(v, 0, ret->header_bytes);
    if (p == NULL) {
        return bad(v, "it ends within its header", err);
    }
    ret->method = (unsigned)number(p + 6, 2);
    ret->file_bytes = number(p + 8, wide);
    ret->plain_bytes = number(p + 8 + wide, wide);
    if (ret->file_bytes < ret->header_bytes || ret->file_bytes > WF_CODE_MAX_BYTES ||
        ret->plain_bytes > WF_CODE_MAX_BYTES) {
        return bad(v, "impossible size", err);
    }
    return WF_OK;
}

enum wf_status em_bundle_measure(const void *data,
                                 size_t limit,
                                 const char *source,
                                 size_t *ret,
                                 struct wf_error *err)
{
    struct view v = { data, limit, source };
    struct compressed c;
    uint64_t end = MAGIC_BYTES + 8;
    enum wf_status st;
    if (limit >= 4 && memcmp(data, "\177ELF", 4) == 0) {
        return measure_elf(&v, ret, err);
    }
    if (limit >= 4 && memcmp(data, "CCOB", 4) == 0) {
        st = read_compressed(&v, &c, err);
        end = st == WF_OK ? c.file_bytes : 0;
    } else if (limit >= MAGIC_BYTES && memcmp(data, MAGIC, MAGIC_BYTES) == 0) {
        st = each_entry(&v, measure_entry, &end, err);
    } else {
        st = bad(&v, "it is neither", err);
    }
    if (st == WF_OK) {
        *ret = (size_t)end;
    }
    return st;
}

/* --- choosing --- */

/* "gfx942:sramecc+" of "hipv4-amdgcn-amd-amdhsa--gfx942:sramecc+"; NULL where the entry
 * is not for a GPU of AMD. */
static const char *target_of(const char *id)
{
    const char *p = strchr(id, '-');
    size_t kind = p == NULL ? 0 : (size_t)(p - id);
    if ((kind != 3 || strncmp(id, "hip", 3) != 0) &&
        (kind != 5 || strncmp(id, "hipv4", 5) != 0)) {
        return NULL;
    }
    static const char triple[] = "-amdgcn-amd-amdhsa-";
    if (strncmp(p, triple, sizeof(triple) - 1) != 0) {
        return NULL;
    }
    p = strchr(p + sizeof(triple) - 1, '-'); /* behind the environment */
    return p == NULL ? NULL : p + 1;
}

/* How well a target fits the device; 0: it does not. */
static int fitness(const char *target)
{
    const char *features = strchr(target, ':');
    size_t n = features == NULL ? strlen(target) : (size_t)(features - target);
    int score = 0;
    if (n == 6 && strncmp(target, "gfx942", n) == 0) {
        score = 10;
    } else if (n == 14 && strncmp(target, "gfx9-4-generic", n) == 0) {
        score = 1;
    }
    if (score == 0 || features == NULL) {
        return score;
    }
    if (strstr(features, "xnack+") != NULL || strstr(features, "sramecc-") != NULL) {
        return 0;
    }
    return score + (strstr(features, "xnack-") != NULL) +
           (strstr(features, "sramecc+") != NULL);
}

struct choice {
    struct entry best;
    int score;
    char listed[MAX_LISTED]; /* the targets, for an error */
};

static enum wf_status weigh(void *ctx, const struct entry *e)
{
    struct choice *c = ctx;
    char id[MAX_ID + 1];
    memcpy(id, e->id, e->id_bytes);
    id[e->id_bytes] = '\0';
    const char *target = target_of(id);
    if (target == NULL) {
        return WF_OK;
    }
    size_t n = strlen(c->listed);
    (void)snprintf(c->listed + n, sizeof(c->listed) - n, "%s%.64s", n == 0 ? "" : ", ",
                   target);
    int score = fitness(target);
    if (score > c->score) {
        c->score = score;
        c->best = *e;
    }
    return WF_OK;
}

static enum wf_status choose_entry(const struct view *v,
                                   struct em_chosen *ret,
                                   struct wf_error *err)
{
    struct choice c = { .score = 0 };
    enum wf_status st = each_entry(v, weigh, &c, err);
    if (st != WF_OK) {
        return st;
    }
    if (c.score == 0) {
        return wf_errorf(err, WF_EUNSUPPORTED,
                         "%s: nothing in it is for gfx942:sramecc+:xnack- (it has %s)",
                         v->source, c.listed[0] == '\0' ? "no device code" : c.listed);
    }
    ret->data = at(v, c.best.offset, c.best.bytes);
    ret->bytes = (size_t)c.best.bytes;
    return ret->data != NULL ? WF_OK : bad(v, "an entry is outside of it", err);
}

static enum wf_status decompress(const struct view *v,
                                 uint8_t **ret,
                                 size_t *ret_bytes,
                                 struct wf_error *err)
{
    struct compressed c;
    enum wf_status st = read_compressed(v, &c, err);
    if (st != WF_OK) {
        return st;
    }
    const uint8_t *from = at(v, c.header_bytes, c.file_bytes - c.header_bytes);
    if (from == NULL || (c.method != METHOD_ZLIB && c.method != METHOD_ZSTD)) {
        return bad(v, from == NULL ? "it is cut off" : "unknown compression", err);
    }
    uint8_t *plain = wf_calloc((size_t)c.plain_bytes + 1, 1);
    if (plain == NULL) {
        return wf_errorf(err, WF_ENOMEM, "%s: no memory to decompress it", v->source);
    }
    size_t n = (size_t)(c.file_bytes - c.header_bytes);
    st = c.method == METHOD_ZLIB
             ? em_decompress_zlib(from, n, plain, (size_t)c.plain_bytes, err)
             : em_decompress_zstd(from, n, plain, (size_t)c.plain_bytes, err);
    if (st != WF_OK) {
        free(plain);
        (void)wf_error_prefix(err, "%s", v->source);
        return st;
    }
    *ret = plain;
    *ret_bytes = (size_t)c.plain_bytes;
    return WF_OK;
}

void em_chosen_fini(struct em_chosen *c)
{
    free(c->owned);
    *c = (struct em_chosen){ 0 };
}

enum wf_status em_bundle_choose(const void *data,
                                size_t bytes,
                                const char *source,
                                struct em_chosen *ret,
                                struct wf_error *err)
{
    struct view v = { data, bytes, source };
    struct em_chosen chosen = { 0 };
    enum wf_status st = WF_OK;
    if (bytes >= 4 && memcmp(data, "CCOB", 4) == 0) {
        st = decompress(&v, &chosen.owned, &v.limit, err);
        v.data = chosen.owned;
    }
    if (st == WF_OK && elf_is_elf(v.data, v.limit)) {
        chosen.data = v.data;
        chosen.bytes = v.limit;
    } else if (st == WF_OK && v.limit >= MAGIC_BYTES &&
               memcmp(v.data, MAGIC, MAGIC_BYTES) == 0) {
        st = choose_entry(&v, &chosen, err);
    } else if (st == WF_OK) {
        st = bad(&v, "it is neither", err);
    }
    if (st != WF_OK) {
        em_chosen_fini(&chosen);
        return st;
    }
    *ret = chosen;
    return WF_OK;
}
