/* The identity of an AMDGPU code object.
 *
 * With debug information clang names every LDS array and every inlined function as an
 * undefined dynamic symbol, so that the tables of symbols grow and what lies behind
 * them moves. So addresses go into the hash as section and offset, symbols by their
 * names, and of a kernel's descriptor the distance to its code as the code's place.
 * Code and data are hashed as they are: what they say of distances is in their bytes.
 */
#include "packs/identity_internal.h"

#include "core/buf.h"

#include <stdlib.h>
#include <string.h>

#define TYPE_HASH     5u
#define TYPE_DYNAMIC  6u
#define TYPE_GNU_HASH 0x6ffffff6u
#define SYMBOL_BYTES  24
/* Compilers make about 25 sections. More of these are hashed with their addresses. */
#define MAX_SECTIONS  64
#define MAX_SYMBOLS   16384

#define DESCRIPTOR_BYTES 64u
#define DESCRIPTOR_ENTRY 16u /* 8 bytes: from the descriptor to the kernel's code */

struct object {
    struct wf_sha256 *h;
    const struct elf *e;
    struct elf_section section[MAX_SECTIONS];
    struct wf_error *err;
};

static bool is_loaded(const struct elf_section *s)
{
    return (s->flags & ELF_SECTION_ALLOC) != 0;
}

/* NULL: in no section. */
static const struct elf_section *section_of(const struct object *o, uint64_t address)
{
    for (uint32_t i = 0; i < o->e->section_count; i++) {
        const struct elf_section *s = &o->section[i];
        if (is_loaded(s) && address >= s->address && address - s->address < s->bytes) {
            return s;
        }
    }
    return NULL;
}

static void put_address(const struct object *o, uint64_t address)
{
    const struct elf_section *s = section_of(o, address);
    identity_text(o->h, s == NULL ? "" : s->name);
    identity_number(o->h, s == NULL ? address : address - s->address);
}

static bool is_descriptor(const struct object *o, const struct elf_symbol *s)
{
    const size_t n = strlen(s->name);
    const struct elf_section *in = section_of(o, s->value);
    return n > 3 && strcmp(s->name + n - 3, ".kd") == 0 &&
           s->bytes == DESCRIPTOR_BYTES && in != NULL && in->data != NULL &&
           in->bytes - (s->value - in->address) >= DESCRIPTOR_BYTES;
}

/* Where the descriptor is in the file. */
static const uint8_t *descriptor_at(const struct object *o, const struct elf_symbol *s)
{
    const struct elf_section *in = section_of(o, s->value);
    return in->data + (s->value - in->address);
}

static void put_symbol(const struct object *o, const struct elf_symbol *s)
{
    identity_text(o->h, s->name);
    identity_number(o->h,
                    (uint64_t)s->type << 16 | (uint64_t)s->binding << 8 | s->other);
    identity_number(o->h, s->bytes);
    put_address(o, s->value);
    if (is_descriptor(o, s)) {
        uint64_t distance; /* both sides are little-endian */
        memcpy(&distance, descriptor_at(o, s) + DESCRIPTOR_ENTRY, sizeof distance);
        put_address(o, s->value + distance);
    }
}

/* Calls visit for every defined dynamic symbol. */
static enum wf_status each_symbol(const struct object *o,
                                  void (*visit)(const struct object *o,
                                                const struct elf_symbol *s,
                                                void *ctx),
                                  void *ctx)
{
    for (uint32_t t = 0; t < o->e->section_count; t++) {
        const struct elf_section *table = &o->section[t];
        const uint64_t count =
            table->type == ELF_SECTION_DYNSYM ? table->bytes / SYMBOL_BYTES : 0;
        for (uint64_t i = 1; i < count; i++) {
            struct elf_symbol s;
            enum wf_status st = elf_symbol_at(o->e, t, i, &s, o->err);
            if (st != WF_OK) {
                return st;
            }
            if (s.section != 0) {
                visit(o, &s, ctx);
            }
        }
    }
    return WF_OK;
}

static void visit_symbol(const struct object *o, const struct elf_symbol *s, void *ctx)
{
    (void)ctx;
    put_symbol(o, s);
}

static enum wf_status visit_relocation(void *ctx,
                                       const struct elf_relocation *r,
                                       struct wf_error *err)
{
    const struct object *o = ctx;
    (void)err;
    identity_number(o->h, r->type);
    put_address(o, r->address);
    identity_text(o->h, r->symbol.name);
    if (r->symbol.name[0] == '\0') {
        put_address(o, (uint64_t)r->addend);
    } else {
        identity_number(o->h, (uint64_t)r->addend);
    }
    return WF_OK;
}

struct patched {
    const struct elf_section *section;
    uint8_t *copy;
};

static void clear_distance(const struct object *o,
                           const struct elf_symbol *s,
                           void *ctx)
{
    const struct patched *p = ctx;
    if (is_descriptor(o, s) && section_of(o, s->value) == p->section) {
        memset(p->copy + (s->value - p->section->address) + DESCRIPTOR_ENTRY, 0, 8);
    }
}

/* The section without the distances in its descriptors. */
static enum wf_status put_bytes(const struct object *o, const struct elf_section *s)
{
    struct patched p = { s, wf_calloc(1, (size_t)s->bytes + 1) };
    if (p.copy == NULL) {
        return wf_errorf(o->err, WF_ENOMEM, "%s: no memory for its sections",
                         o->e->source);
    }
    memcpy(p.copy, s->data, (size_t)s->bytes);
    enum wf_status st = each_symbol(o, clear_distance, &p);
    identity_bytes(o->h, p.copy, (size_t)s->bytes);
    free(p.copy);
    return st;
}

/* Tables of the linker, which are read through symbols and relocations instead, and
 * padding up to a page. */
static bool is_table(const struct elf_section *s)
{
    return s->type == ELF_SECTION_DYNSYM || s->type == ELF_SECTION_STRTAB ||
           s->type == ELF_SECTION_RELA || s->type == TYPE_HASH ||
           s->type == TYPE_DYNAMIC || s->type == TYPE_GNU_HASH ||
           strcmp(s->name, ".relro_padding") == 0;
}

static enum wf_status put_section(const struct object *o, const struct elf_section *s)
{
    identity_text(o->h, s->name);
    identity_number(o->h, s->type);
    identity_number(o->h, s->flags);
    identity_number(o->h, s->align);
    identity_number(o->h, s->bytes);
    return s->data == NULL ? WF_OK : put_bytes(o, s);
}

/* ret_symbols: of all tables together. */
static enum wf_status count_symbols(const struct elf *e,
                                    uint64_t *ret_symbols,
                                    struct wf_error *err)
{
    *ret_symbols = 0;
    for (uint32_t i = 0; i < e->section_count; i++) {
        struct elf_section s;
        enum wf_status st = elf_section_at(e, i, &s, err);
        if (st != WF_OK) {
            return st;
        }
        *ret_symbols += s.type == ELF_SECTION_DYNSYM ? s.bytes / SYMBOL_BYTES : 0;
    }
    return WF_OK;
}

static enum wf_status put_object(struct object *o)
{
    enum wf_status st = WF_OK;
    for (uint32_t i = 0; st == WF_OK && i < o->e->section_count; i++) {
        st = elf_section_at(o->e, i, &o->section[i], o->err);
    }
    for (uint32_t i = 0; st == WF_OK && i < o->e->section_count; i++) {
        const struct elf_section *s = &o->section[i];
        if (is_loaded(s) && !identity_is_note(s) && !is_table(s)) {
            st = put_section(o, s);
        }
    }
    st = st == WF_OK ? each_symbol(o, visit_symbol, NULL) : st;
    return st == WF_OK ? elf_relocations(o->e, visit_relocation, o, o->err) : st;
}

static enum wf_status put_by_name(struct wf_sha256 *h,
                                  const struct elf *e,
                                  struct wf_error *err)
{
    struct object *o = wf_calloc(1, sizeof *o);
    if (o == NULL) {
        return wf_errorf(err, WF_ENOMEM, "%s: no memory for its sections", e->source);
    }
    *o = (struct object){ .h = h, .e = e, .err = err };
    enum wf_status st = put_object(o);
    st = st == WF_OK ? identity_segments(h, e, false, err) : st;
    free(o);
    return st;
}

enum wf_status identity_amdgpu(struct wf_sha256 *h,
                               const struct elf *e,
                               struct wf_error *err)
{
    uint64_t symbols = 0;
    enum wf_status st = count_symbols(e, &symbols, err);
    identity_text(h, "amdgpu");
    identity_header(h, e);
    /* Without sections there is nothing to set addresses against. */
    if (st == WF_OK && (e->section_count == 0 || e->section_count > MAX_SECTIONS ||
                        symbols > MAX_SYMBOLS)) {
        st = identity_loaded(h, e, err);
    } else if (st == WF_OK) {
        st = put_by_name(h, e, err);
    }
    return st == WF_OK ? identity_metadata(h, e, err) : st;
}
