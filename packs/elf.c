/* Reads ELF64 files that anybody may have written.
 *
 * Invariant: bytes are read only through at(), which checks the range first. Counts are
 * limited, so that tables which point at each other cost bounded time. */
#include "packs/elf.h"

#include <string.h>

#define HEADER_BYTES  64
#define SECTION_BYTES 64
#define SEGMENT_BYTES 56
#define SYMBOL_BYTES  24
#define RELA_BYTES    24
#define MAX_TABLES    4096
#define MAX_SYMBOLS   (1u << 18)
#define TYPE_SYMTAB   2
#define TYPE_RELA     4
#define TYPE_DYNSYM   11
#define SEGMENT_NOTE  4
#define FLAG_ALLOC    2

struct section {
    uint32_t name, type, link;
    uint64_t flags, offset, size, entry;
};

static const uint8_t *at(const struct elf *e, uint64_t offset, uint64_t n)
{
    if (n > e->bytes || offset > e->bytes - n) {
        return NULL;
    }
    return e->data + offset;
}

static uint16_t u16(const uint8_t *p)
{
    return (uint16_t)(p[0] | p[1] << 8);
}

static uint32_t u32(const uint8_t *p)
{
    return (uint32_t)u16(p) | (uint32_t)u16(p + 2) << 16;
}

static uint64_t u64(const uint8_t *p)
{
    return (uint64_t)u32(p) | (uint64_t)u32(p + 4) << 32;
}

bool elf_is_elf(const void *data, size_t bytes)
{
    return bytes >= 4 && memcmp(data, "\177ELF", 4) == 0;
}

static enum wf_status bad(const struct elf *e, const char *why, struct wf_error *err)
{
    return wf_errorf(err, WF_EPARSE, "%s: not a valid ELF file: %s", e->source, why);
}

enum wf_status elf_open(const void *data,
                        size_t bytes,
                        const char *source,
                        struct elf *ret,
                        struct wf_error *err)
{
    struct elf e = { .data = data, .bytes = bytes, .source = source };
    const uint8_t *h = at(&e, 0, HEADER_BYTES);
    if (!elf_is_elf(data, bytes) || h == NULL) {
        return bad(&e, "no ELF header", err);
    }
    if (h[4] != 2 || h[5] != 1) {
        return bad(&e, "not 64-bit little-endian", err);
    }
    e.osabi = h[7];
    e.abi_version = h[8];
    e.type = u16(h + 16);
    e.machine = u16(h + 18);
    e.segment_offset = u64(h + 32);
    e.section_offset = u64(h + 40);
    e.flags = u32(h + 48);
    e.segment_count = u16(h + 56);
    e.section_count = u16(h + 60);
    e.names_section = u16(h + 62);
    if (e.section_count > MAX_TABLES || e.segment_count > MAX_TABLES) {
        return bad(&e, "too many sections or segments", err);
    }
    if ((e.segment_count > 0 && u16(h + 54) != SEGMENT_BYTES) ||
        (e.section_count > 0 && u16(h + 58) != SECTION_BYTES)) {
        return bad(&e, "odd size of headers", err);
    }
    if (at(&e, e.segment_offset, (uint64_t)e.segment_count * SEGMENT_BYTES) == NULL ||
        at(&e, e.section_offset, (uint64_t)e.section_count * SECTION_BYTES) == NULL) {
        return bad(&e, "headers outside the file", err);
    }
    *ret = e;
    return WF_OK;
}

static struct section section_at(const struct elf *e, uint32_t i)
{
    const uint8_t *s = e->data + e->section_offset + (uint64_t)i * SECTION_BYTES;
    return (struct section){ .name = u32(s),
                             .type = u32(s + 4),
                             .flags = u64(s + 8),
                             .offset = u64(s + 24),
                             .size = u64(s + 32),
                             .link = u32(s + 40),
                             .entry = u64(s + 56) };
}

/* A NUL-terminated string of a string table, or NULL. */
static const char *string_at(const struct elf *e,
                             const struct section *t,
                             uint32_t offset)
{
    if (offset >= t->size) {
        return NULL;
    }
    const uint8_t *s = e->data + t->offset + offset;
    return memchr(s, 0, (size_t)(t->size - offset)) == NULL ? NULL : (const char *)s;
}

struct visitor {
    enum wf_status (*visit)(void *, const struct elf_symbol *, struct wf_error *);
    void *ctx;
    uint32_t left;
};

/* Checks a symbol table and gives its string table. */
static enum wf_status open_table(const struct elf *e,
                                 const struct section *table,
                                 struct section *ret_names,
                                 struct wf_error *err)
{
    if (table->link >= e->section_count || table->entry != SYMBOL_BYTES ||
        at(e, table->offset, table->size) == NULL) {
        return bad(e, "symbol table outside the file", err);
    }
    *ret_names = section_at(e, table->link);
    if (at(e, ret_names->offset, ret_names->size) == NULL) {
        return bad(e, "string table outside the file", err);
    }
    return WF_OK;
}

/* Of a table that open_table has checked; name NULL where it has none. */
static struct elf_symbol symbol_at(const struct elf *e,
                                   const struct section *table,
                                   const struct section *names,
                                   uint64_t i)
{
    const uint8_t *p = e->data + table->offset + i * SYMBOL_BYTES;
    return (struct elf_symbol){ .name = string_at(e, names, u32(p)),
                                .binding = p[4] >> 4,
                                .type = p[4] & 15,
                                .other = p[5],
                                .section = u16(p + 6),
                                .value = u64(p + 8),
                                .bytes = u64(p + 16) };
}

static enum wf_status visit_table(const struct elf *e,
                                  const struct section *table,
                                  struct visitor *v,
                                  struct wf_error *err)
{
    struct section names;
    enum wf_status st = open_table(e, table, &names, err);
    if (st != WF_OK) {
        return st;
    }
    for (uint64_t i = 0; i < table->size / SYMBOL_BYTES; i++) {
        struct elf_symbol s = symbol_at(e, table, &names, i);
        if (s.name == NULL || v->left == 0) {
            return bad(e, v->left == 0 ? "too many symbols" : "symbol without a name",
                       err);
        }
        v->left--;
        st = v->visit(v->ctx, &s, err);
        if (st != WF_OK) {
            return st;
        }
    }
    return WF_OK;
}

enum wf_status elf_symbols(const struct elf *elf,
                           enum wf_status (*visit)(void *ctx,
                                                   const struct elf_symbol *s,
                                                   struct wf_error *err),
                           void *ctx,
                           struct wf_error *err)
{
    struct visitor v = { .visit = visit, .ctx = ctx, .left = MAX_SYMBOLS };
    enum wf_status st = WF_OK;
    for (uint32_t i = 0; st == WF_OK && i < elf->section_count; i++) {
        struct section s = section_at(elf, i);
        if (s.type == TYPE_SYMTAB || s.type == TYPE_DYNSYM) {
            st = visit_table(elf, &s, &v, err);
        }
    }
    return st;
}

enum wf_status elf_segment_at(const struct elf *elf,
                              uint16_t i,
                              struct elf_segment *ret,
                              struct wf_error *err)
{
    const uint8_t *s = elf->data + elf->segment_offset + (uint64_t)i * SEGMENT_BYTES;
    struct elf_segment segment = { .type = u32(s),
                                   .flags = u32(s + 4),
                                   .offset = u64(s + 8),
                                   .address = u64(s + 16),
                                   .file_bytes = u64(s + 32),
                                   .memory_bytes = u64(s + 40) };
    if (at(elf, segment.offset, segment.file_bytes) == NULL) {
        return bad(elf, "segment outside the file", err);
    }
    *ret = segment;
    return WF_OK;
}

struct relocation_visitor {
    enum wf_status (*visit)(void *, const struct elf_relocation *, struct wf_error *);
    void *ctx;
    uint32_t left;
};

static enum wf_status visit_relocations(const struct elf *e,
                                        const struct section *rela,
                                        struct relocation_visitor *v,
                                        struct wf_error *err)
{
    struct section table = { 0 }, names = { 0 };
    if (rela->entry != RELA_BYTES || at(e, rela->offset, rela->size) == NULL) {
        return bad(e, "relocations outside the file", err);
    }
    enum wf_status st = WF_OK;
    if (rela->link != 0 && rela->link < e->section_count) {
        table = section_at(e, rela->link);
        st = open_table(e, &table, &names, err);
    }
    for (uint64_t i = 0; st == WF_OK && i < rela->size / RELA_BYTES; i++) {
        const uint8_t *p = e->data + rela->offset + i * RELA_BYTES;
        uint32_t symbol = u32(p + 12);
        struct elf_relocation r = { .address = u64(p),
                                    .type = u32(p + 8),
                                    .addend = (int64_t)u64(p + 16),
                                    .symbol = { .name = "" } };
        if (symbol != 0 && symbol < table.size / SYMBOL_BYTES) {
            r.symbol = symbol_at(e, &table, &names, symbol);
        } else if (symbol != 0) {
            return bad(e, "relocation against a symbol that is not there", err);
        }
        if (r.symbol.name == NULL || v->left == 0) {
            return bad(e,
                       v->left == 0 ? "too many relocations" : "symbol without a name",
                       err);
        }
        v->left--;
        st = v->visit(v->ctx, &r, err);
    }
    return st;
}

enum wf_status elf_relocations(const struct elf *elf,
                               enum wf_status (*visit)(void *ctx,
                                                       const struct elf_relocation *r,
                                                       struct wf_error *err),
                               void *ctx,
                               struct wf_error *err)
{
    struct relocation_visitor v = { .visit = visit, .ctx = ctx, .left = MAX_SYMBOLS };
    enum wf_status st = WF_OK;
    for (uint32_t i = 0; st == WF_OK && i < elf->section_count; i++) {
        struct section s = section_at(elf, i);
        if (s.type == TYPE_RELA && (s.flags & FLAG_ALLOC) != 0) {
            st = visit_relocations(elf, &s, &v, err);
        }
    }
    return st;
}

/* The section of names; size 0 where the file has none. */
static enum wf_status open_names(const struct elf *elf,
                                 struct section *ret,
                                 struct wf_error *err)
{
    *ret = (struct section){ 0 };
    if (elf->names_section < elf->section_count) {
        *ret = section_at(elf, elf->names_section);
    }
    return at(elf, ret->offset, ret->size) == NULL
               ? bad(elf, "section names outside the file", err)
               : WF_OK;
}

enum wf_status elf_section_at(const struct elf *elf,
                              uint32_t i,
                              struct elf_section *ret,
                              struct wf_error *err)
{
    struct section names;
    enum wf_status st = open_names(elf, &names, err);
    if (st != WF_OK) {
        return st;
    }
    const uint8_t *p = elf->data + elf->section_offset + (uint64_t)i * SECTION_BYTES;
    const struct section s = section_at(elf, i);
    const bool empty = s.type == ELF_SECTION_NOBITS || s.type == 0;
    *ret =
        (struct elf_section){ .name =
                                  names.size == 0 ? "" : string_at(elf, &names, s.name),
                              .type = s.type,
                              .link = s.link,
                              .info = u32(p + 44),
                              .flags = s.flags,
                              .address = u64(p + 16),
                              .offset = s.offset,
                              .bytes = s.size,
                              .align = u64(p + 48),
                              .entry_bytes = s.entry,
                              .data = empty ? NULL : at(elf, s.offset, s.size) };
    if (ret->name == NULL) {
        return bad(elf, "section without a name", err);
    }
    return ret->data == NULL && !empty ? bad(elf, "section outside the file", err)
                                       : WF_OK;
}

enum wf_status elf_symbol_at(const struct elf *elf,
                             uint32_t table,
                             uint64_t i,
                             struct elf_symbol *ret,
                             struct wf_error *err)
{
    struct section t, names = { 0 };
    if (table >= elf->section_count) {
        return bad(elf, "symbol table that is not there", err);
    }
    t = section_at(elf, table);
    enum wf_status st = open_table(elf, &t, &names, err);
    if (st != WF_OK) {
        return st;
    }
    if (i >= t.size / SYMBOL_BYTES) {
        return bad(elf, "symbol that is not there", err);
    }
    *ret = symbol_at(elf, &t, &names, i);
    return ret->name == NULL ? bad(elf, "symbol without a name", err) : WF_OK;
}

enum wf_status elf_section(const struct elf *elf,
                           const char *name,
                           const uint8_t **ret,
                           size_t *ret_bytes,
                           struct wf_error *err)
{
    struct section names;
    enum wf_status st = open_names(elf, &names, err);
    if (st != WF_OK) {
        return st;
    }
    for (uint32_t i = 0; i < elf->section_count; i++) {
        struct section s = section_at(elf, i);
        const char *found = string_at(elf, &names, s.name);
        if (found == NULL || strcmp(found, name) != 0) {
            continue;
        }
        *ret = at(elf, s.offset, s.size);
        *ret_bytes = (size_t)s.size;
        return *ret != NULL ? WF_OK : bad(elf, "section outside the file", err);
    }
    return wf_errorf(err, WF_ENOTFOUND, "%s: no section %s", elf->source, name);
}

static uint64_t align4(uint64_t n)
{
    return (n + 3) & ~(uint64_t)3;
}

/* Walks the notes in `n` bytes at `p`. */
static bool find_note(const uint8_t *p,
                      uint64_t n,
                      const char *owner,
                      uint32_t type,
                      const uint8_t **ret,
                      size_t *ret_bytes)
{
    size_t owner_bytes = strlen(owner) + 1;
    while (n >= 12) {
        uint64_t name = u32(p), content = u32(p + 4);
        uint64_t whole = 12 + align4(name) + align4(content);
        if (12 + align4(name) + content > n) {
            return false;
        }
        if (u32(p + 8) == type && name == owner_bytes &&
            memcmp(p + 12, owner, owner_bytes) == 0) {
            *ret = p + 12 + align4(name);
            *ret_bytes = (size_t)content;
            return true;
        }
        if (whole >= n) {
            return false;
        }
        p += whole;
        n -= whole;
    }
    return false;
}

enum wf_status elf_note(const struct elf *elf,
                        const char *owner,
                        uint32_t type,
                        const uint8_t **ret,
                        size_t *ret_bytes,
                        struct wf_error *err)
{
    for (uint32_t i = 0; i < elf->segment_count; i++) {
        const uint8_t *s =
            elf->data + elf->segment_offset + (uint64_t)i * SEGMENT_BYTES;
        uint64_t offset = u64(s + 8), size = u64(s + 32);
        if (u32(s) != SEGMENT_NOTE) {
            continue;
        }
        const uint8_t *p = at(elf, offset, size);
        if (p == NULL) {
            return bad(elf, "note segment outside the file", err);
        }
        if (find_note(p, size, owner, type, ret, ret_bytes)) {
            return WF_OK;
        }
    }
    return wf_errorf(err, WF_ENOTFOUND, "%s: no note %u of %s", elf->source, type,
                     owner);
}
