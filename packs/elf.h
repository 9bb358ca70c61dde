/* Reads ELF64 little-endian files from memory that anybody may have written: every
 * offset is checked before it is used, and the work is bounded. */
#ifndef WF_PACKS_ELF_H
#define WF_PACKS_ELF_H

#include "core/error.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
    ELF_X86_64 = 62,
    ELF_AARCH64 = 183,
    ELF_CUDA = 190,
    ELF_AMDGPU = 224
};
enum {
    ELF_TYPE_EXEC = 2,
    ELF_TYPE_DYN = 3
};

struct elf {
    const uint8_t *data;
    size_t bytes;
    const char *source; /* for errors; borrowed */
    uint8_t osabi, abi_version;
    uint16_t type, machine;
    uint32_t flags;
    uint64_t section_offset, segment_offset;
    uint16_t section_count, segment_count, names_section;
};

struct elf_symbol {
    const char *name; /* in the file, NUL-terminated */
    uint8_t binding;  /* 1 global, 2 weak */
    uint8_t type;     /* 1 object, 2 function */
    uint8_t other;
    uint16_t section; /* 0: undefined */
    uint64_t value, bytes;
};

enum {
    ELF_SEGMENT_LOAD = 1
};
enum { /* of a segment's flags */
    ELF_SEGMENT_EXECUTE = 1,
    ELF_SEGMENT_WRITE = 2
};

struct elf_segment {
    uint32_t type, flags;
    uint64_t offset, file_bytes; /* in the file, checked */
    uint64_t address, memory_bytes;
};

struct elf_relocation {
    uint64_t address; /* of what is changed */
    uint32_t type;
    int64_t addend;
    struct elf_symbol symbol; /* name "" where it has none */
};

enum {
    ELF_SECTION_SYMTAB = 2,
    ELF_SECTION_STRTAB = 3,
    ELF_SECTION_RELA = 4,
    ELF_SECTION_NOTE = 7,
    ELF_SECTION_NOBITS = 8,
    ELF_SECTION_REL = 9,
    ELF_SECTION_DYNSYM = 11
};
enum { /* of a section's flags */
    ELF_SECTION_ALLOC = 2,
    ELF_SECTION_EXECUTE = 4,
    ELF_SECTION_INFO_LINK = 0x40
};

struct elf_section {
    const char *name; /* in the file, NUL-terminated; "" where the file has no names */
    uint32_t type, link, info;
    uint64_t flags, address, offset, bytes, align, entry_bytes;
    const uint8_t *data; /* in the file, checked; NULL for NOBITS */
};

bool elf_is_elf(const void *data, size_t bytes);
/* `data` and `source` outlive *ret. EPARSE with the reason. */
enum wf_status elf_open(const void *data,
                        size_t bytes,
                        const char *source,
                        struct elf *ret,
                        struct wf_error *err);

/* Calls visit for every symbol of every symbol table (the same one may come twice, from
 * .symtab and .dynsym) until it fails. */
enum wf_status elf_symbols(const struct elf *elf,
                           enum wf_status (*visit)(void *ctx,
                                                   const struct elf_symbol *s,
                                                   struct wf_error *err),
                           void *ctx,
                           struct wf_error *err);

/* Segment i < segment_count; EPARSE where its content is not in the file. */
enum wf_status elf_segment_at(const struct elf *elf,
                              uint16_t i,
                              struct elf_segment *ret,
                              struct wf_error *err);

/* Calls visit for every relocation (with addend) of the sections that are loaded, until
 * it fails. */
enum wf_status elf_relocations(const struct elf *elf,
                               enum wf_status (*visit)(void *ctx,
                                                       const struct elf_relocation *r,
                                                       struct wf_error *err),
                               void *ctx,
                               struct wf_error *err);

/* Section i < section_count; EPARSE where its name or content is not in the file. */
enum wf_status elf_section_at(const struct elf *elf,
                              uint32_t i,
                              struct elf_section *ret,
                              struct wf_error *err);

/* Symbol i of the symbol table that is section `table`; EPARSE where either is not
 * there. */
enum wf_status elf_symbol_at(const struct elf *elf,
                             uint32_t table,
                             uint64_t i,
                             struct elf_symbol *ret,
                             struct wf_error *err);

/* Content of the first section of that name; ENOTFOUND. */
enum wf_status elf_section(const struct elf *elf,
                           const char *name,
                           const uint8_t **ret,
                           size_t *ret_bytes,
                           struct wf_error *err);

/* First note of that owner and type in a PT_NOTE segment; ENOTFOUND. */
enum wf_status elf_note(const struct elf *elf,
                        const char *owner,
                        uint32_t type,
                        const uint8_t **ret,
                        size_t *ret_bytes,
                        struct wf_error *err);

#endif
