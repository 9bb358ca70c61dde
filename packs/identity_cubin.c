/* The identity of a cubin.
 *
 * The driver loads its sections by name: .nv.info has no ALLOC flag and says how many
 * registers a kernel gets. So every section counts but those of debuggers, notes,
 * strings and symbols. Debug information moves the numbers of sections and symbols;
 * wherever one is known to stand (relocations, .nv.info, the call graph) its name goes
 * into the hash in its place. NVIDIA documents none of this: what reads oddly is hashed
 * as it is. */
#include "packs/identity_internal.h"

#include <string.h>

#define TYPE_CALLGRAPH 0x70000001u
#define TYPE_INFO      0x70000000u
#define FORMAT_SIZED   4
#define CBANK          0x0a /* attribute of .nv.info.<kernel>: symbol, then 4 bytes */
#define REGISTERS(i)   ((i) >> 24) /* in a text section's sh_info, before CUDA 13 */
#define ABI_13                                                            \
    8 /* of CUDA 13: the highest byte of e_flags numbers a note's section \
       */
#define FIRST_RESERVED 0xff00u /* numbers of sections that are none */

struct cubin {
    struct wf_sha256 *h;
    const struct elf *e;
    struct wf_error *err;
};

static uint32_t word_at(const uint8_t *p)
{
    uint32_t v;
    memcpy(&v, p, sizeof v); /* both sides are little-endian */
    return v;
}

static enum wf_status put_section_name(struct cubin *c, uint32_t i)
{
    struct elf_section s;
    if (i >= c->e->section_count || i >= FIRST_RESERVED) {
        identity_number(c->h, i);
        return WF_OK;
    }
    enum wf_status st = elf_section_at(c->e, i, &s, c->err);
    if (st == WF_OK) {
        identity_text(c->h, s.name);
    }
    return st;
}

/* A number that is no symbol's (the call graph has some) goes in as it is. */
static enum wf_status put_symbol(struct cubin *c, uint32_t table, uint64_t i)
{
    struct elf_symbol s;
    struct wf_error ignored = { .text = "" };
    if (i == 0 || elf_symbol_at(c->e, table, i, &s, &ignored) != WF_OK) {
        identity_number(c->h, i);
        return WF_OK;
    }
    identity_text(c->h, s.name);
    identity_number(c->h, (uint64_t)s.type << 16 | (uint64_t)s.binding << 8 | s.other);
    identity_number(c->h, s.value);
    identity_number(c->h, s.bytes);
    return put_section_name(c, s.section);
}

static enum wf_status put_relocations(struct cubin *c, const struct elf_section *s)
{
    const uint64_t entry = s->type == ELF_SECTION_RELA ? 24 : 16;
    enum wf_status st = WF_OK;
    if (s->bytes % entry != 0) {
        identity_bytes(c->h, s->data, (size_t)s->bytes);
        return WF_OK;
    }
    for (uint64_t at = 0; st == WF_OK && at < s->bytes; at += entry) {
        const uint8_t *p = s->data + at;
        identity_bytes(c->h, p, 8);
        identity_number(c->h, word_at(p + 8));
        identity_bytes(c->h, p + 16, (size_t)entry - 16);
        st = put_symbol(c, s->link, word_at(p + 12));
    }
    return st;
}

static enum wf_status put_callgraph(struct cubin *c, const struct elf_section *s)
{
    enum wf_status st = WF_OK;
    const uint64_t whole = s->bytes / 4 * 4;
    for (uint64_t at = 0; st == WF_OK && at < whole; at += 4) {
        st = put_symbol(c, s->link, word_at(s->data + at));
    }
    identity_bytes(c->h, s->data + whole, (size_t)(s->bytes - whole));
    return st;
}

/* Attributes as packs/cubin.c reads them. In .nv.info those of 8 bytes begin with a
 * symbol. */
static enum wf_status put_info(struct cubin *c, const struct elf_section *s)
{
    const bool whole_file = strcmp(s->name, ".nv.info") == 0;
    const uint8_t *p = s->data, *end = s->data + s->bytes;
    enum wf_status st = WF_OK;
    while (st == WF_OK && end - p >= 4) {
        const size_t bytes = p[0] == FORMAT_SIZED ? word_at(p) >> 16 : 0;
        if ((size_t)(end - p) - 4 < bytes) {
            break;
        }
        identity_bytes(c->h, p, 4);
        if (bytes == 8 && (whole_file || p[1] == CBANK)) {
            st = put_symbol(c, s->link, word_at(p + 4));
            identity_bytes(c->h, p + 8, 4);
        } else {
            identity_bytes(c->h, p + 4, bytes);
        }
        p += 4 + bytes;
    }
    identity_bytes(c->h, p, (size_t)(end - p));
    return st;
}

static enum wf_status put_content(struct cubin *c, const struct elf_section *s)
{
    if (s->data == NULL) {
        return WF_OK;
    }
    if (s->type == ELF_SECTION_RELA || s->type == ELF_SECTION_REL) {
        return put_relocations(c, s);
    }
    if (s->type == TYPE_CALLGRAPH) {
        return put_callgraph(c, s);
    }
    if (s->type == TYPE_INFO) {
        return put_info(c, s);
    }
    identity_bytes(c->h, s->data, (size_t)s->bytes);
    return WF_OK;
}

static bool is_kept(const struct elf_section *s)
{
    return s->type != 0 && s->type != ELF_SECTION_SYMTAB &&
           s->type != ELF_SECTION_STRTAB && s->type != ELF_SECTION_NOTE &&
           !identity_is_debug(s->name);
}

static enum wf_status put_section(struct cubin *c, const struct elf_section *s)
{
    identity_text(c->h, s->name);
    identity_number(c->h, s->type);
    identity_number(c->h, s->flags);
    identity_number(c->h, s->align);
    identity_number(c->h, s->bytes);
    identity_number(c->h, REGISTERS(s->info));
    const bool of_section = (s->flags & ELF_SECTION_INFO_LINK) != 0;
    enum wf_status st = of_section ? put_section_name(c, s->info & 0xffffffu) : WF_OK;
    return st == WF_OK ? put_content(c, s) : st;
}

enum wf_status identity_cubin(struct wf_sha256 *h,
                              const struct elf *e,
                              struct wf_error *err)
{
    struct cubin c = { .h = h, .e = e, .err = err };
    enum wf_status st = WF_OK;
    const uint32_t flags = e->abi_version >= ABI_13 ? e->flags & 0xffffffu : e->flags;
    identity_text(h, "cubin");
    identity_number(h, (uint64_t)e->osabi << 8 | e->abi_version);
    identity_number(h, (uint64_t)e->type << 32 | flags);
    for (uint32_t i = 0; st == WF_OK && i < e->section_count; i++) {
        struct elf_section s;
        st = elf_section_at(e, i, &s, err);
        if (st == WF_OK && is_kept(&s)) {
            st = put_section(&c, &s);
        }
    }
    return st;
}
