/* The identity of ELF files that are loaded by segments: shared objects, and what it
 * shares with AMDGPU code objects (identity_amdgpu.c).
 *
 * Hashed: the allocated sections but notes, the program headers of what is loaded, and
 * the bytes of the loaded segments that no section covers (a file may have no section
 * headers at all), but for the headers, which state where debug sections lie. Gaps of
 * zeros are padding. Addresses count: where code lies may change its time, and debug
 * information comes behind everything that is loaded. */
#include "packs/identity_internal.h"

#include "core/buf.h"

#include <stdlib.h>
#include <string.h>

#define HEADER_BYTES  64
#define SEGMENT_BYTES 56

struct range {
    uint64_t from, to; /* in the file */
};

struct ranges {
    struct range *at; /* of section_count + 2 */
    size_t count;
};

struct segments {
    struct wf_sha256 *h;
    const struct elf *e;
    const struct ranges *covered;
    bool addresses;
};

static const char *const DEBUG_PREFIXES[] = { ".debug",      ".nv_debug",
                                              ".rela.debug", ".rela.nv_debug",
                                              ".rel.debug",  ".rel.nv_debug",
                                              ".note",       ".comment" };

bool identity_is_debug(const char *section_name)
{
    for (size_t i = 0; i < sizeof DEBUG_PREFIXES / sizeof *DEBUG_PREFIXES; i++) {
        const char *prefix = DEBUG_PREFIXES[i];
        if (strncmp(section_name, prefix, strlen(prefix)) == 0) {
            return true;
        }
    }
    return false;
}

static void add_range(struct ranges *r, uint64_t from, uint64_t bytes)
{
    if (bytes > 0) {
        r->at[r->count++] = (struct range){ from, from + bytes };
    }
}

static int by_start(const void *a, const void *b)
{
    const struct range *x = a, *y = b;
    return x->from < y->from ? -1 : x->from > y->from;
}

static void put_section(struct wf_sha256 *h, const struct elf_section *s)
{
    identity_text(h, s->name);
    identity_number(h, s->type);
    identity_number(h, s->flags);
    identity_number(h, s->address);
    identity_number(h, s->align);
    identity_number(h, s->entry_bytes);
    identity_number(h, s->bytes);
    if (s->data != NULL) {
        identity_bytes(h, s->data, (size_t)s->bytes);
    }
}

bool identity_is_note(const struct elf_section *s)
{
    return s->type == ELF_SECTION_NOTE && (s->flags & ELF_SECTION_EXECUTE) == 0;
}

static enum wf_status find_covered(const struct elf *e,
                                   struct ranges *covered,
                                   struct wf_error *err)
{
    for (uint32_t i = 0; i < e->section_count; i++) {
        struct elf_section s;
        enum wf_status st = elf_section_at(e, i, &s, err);
        if (st != WF_OK) {
            return st;
        }
        if ((s.flags & ELF_SECTION_ALLOC) != 0 && s.data != NULL) {
            add_range(covered, s.offset, s.bytes);
        }
    }
    add_range(covered, 0, HEADER_BYTES);
    add_range(covered, e->segment_offset, (uint64_t)e->segment_count * SEGMENT_BYTES);
    qsort(covered->at, covered->count, sizeof *covered->at, by_start);
    return WF_OK;
}

/* Bytes [from, to) of the file, which lie `from - segment` bytes into theirs. */
static void put_gap(const struct segments *g,
                    uint64_t segment,
                    uint64_t from,
                    uint64_t to)
{
    const uint8_t *data = g->e->data;
    while (from < to && data[from] == 0) {
        from++;
    }
    while (to > from && data[to - 1] == 0) {
        to--;
    }
    if (from < to) {
        identity_number(g->h, g->addresses ? from - segment : 0);
        identity_bytes(g->h, data + from, (size_t)(to - from));
    }
}

static void put_uncovered(const struct segments *g, const struct elf_segment *s)
{
    const uint64_t end = s->offset + s->file_bytes;
    uint64_t at = s->offset;
    for (size_t i = 0; i < g->covered->count && at < end; i++) {
        const struct range *r = &g->covered->at[i];
        if (r->from > at) {
            put_gap(g, s->offset, at, r->from < end ? r->from : end);
        }
        at = r->to > at ? r->to : at;
    }
    if (at < end) {
        put_gap(g, s->offset, at, end);
    }
}

static enum wf_status overlap(const struct elf *e,
                              const char *what,
                              struct wf_error *err)
{
    return wf_errorf(err, WF_EPARSE, "%s: not a valid ELF file: its %s overlap",
                     e->source, what);
}

static enum wf_status put_segments(const struct segments *g, struct wf_error *err)
{
    uint64_t loaded = 0;
    for (uint16_t i = 0; i < g->e->segment_count; i++) {
        struct elf_segment s;
        enum wf_status st = elf_segment_at(g->e, i, &s, err);
        if (st != WF_OK) {
            return st;
        }
        if (s.type != ELF_SEGMENT_LOAD) {
            continue;
        }
        loaded += s.file_bytes;
        if (loaded > g->e->bytes) {
            return overlap(g->e, "segments", err);
        }
        identity_number(g->h, s.flags);
        if (g->addresses) {
            identity_number(g->h, s.address);
            identity_number(g->h, s.memory_bytes);
        }
        put_uncovered(g, &s);
    }
    return WF_OK;
}

enum wf_status identity_segments(struct wf_sha256 *h,
                                 const struct elf *e,
                                 bool addresses,
                                 struct wf_error *err)
{
    struct ranges covered = { .count = 0 };
    covered.at = wf_calloc((size_t)e->section_count + 2, sizeof *covered.at);
    if (covered.at == NULL) {
        return wf_errorf(err, WF_ENOMEM, "%s: no memory for its sections", e->source);
    }
    const struct segments g = { h, e, &covered, addresses };
    enum wf_status st = find_covered(e, &covered, err);
    st = st == WF_OK ? put_segments(&g, err) : st;
    free(covered.at);
    return st;
}

enum wf_status identity_check_sections(const struct elf *e, struct wf_error *err)
{
    uint64_t bytes = 0;
    for (uint32_t i = 0; i < e->section_count; i++) {
        struct elf_section s;
        enum wf_status st = elf_section_at(e, i, &s, err);
        if (st != WF_OK) {
            return st;
        }
        bytes += s.data != NULL ? s.bytes : 0;
        if (bytes > e->bytes) {
            return overlap(e, "sections", err);
        }
    }
    return WF_OK;
}

void identity_header(struct wf_sha256 *h, const struct elf *e)
{
    identity_number(h, (uint64_t)e->machine << 32 | e->flags);
    identity_number(h,
                    (uint64_t)e->type << 16 | (uint64_t)e->osabi << 8 | e->abi_version);
}

enum wf_status identity_loaded(struct wf_sha256 *h,
                               const struct elf *e,
                               struct wf_error *err)
{
    identity_text(h, "elf");
    identity_header(h, e);
    for (uint32_t i = 0; i < e->section_count; i++) {
        struct elf_section s;
        enum wf_status st = elf_section_at(e, i, &s, err);
        if (st != WF_OK) {
            return st;
        }
        if ((s.flags & ELF_SECTION_ALLOC) != 0 && !identity_is_note(&s)) {
            put_section(h, &s);
        }
    }
    return identity_segments(h, e, true, err);
}
