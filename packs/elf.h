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
