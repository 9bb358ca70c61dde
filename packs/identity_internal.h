/* What identity*.c share. Everything that goes into a hash is framed (numbers with 8
 * bytes, texts and bytes with their length before them), so that no two different
 * inputs make one stream. */
#ifndef WF_PACKS_IDENTITY_INTERNAL_H
#define WF_PACKS_IDENTITY_INTERNAL_H

#include "core/sha256.h"
#include "packs/elf.h"

void identity_number(struct wf_sha256 *h, uint64_t v);
void identity_bytes(struct wf_sha256 *h, const void *data, size_t n);
void identity_text(struct wf_sha256 *h, const char *text);

/* Sections of debuggers, compilers and linkers that no loader gives a device. */
bool identity_is_debug(const char *section_name);

/* EPARSE: content outside the file, or sections that overlap, which could make a small
 * file cost much time to hash. */
enum wf_status identity_check_sections(const struct elf *e, struct wf_error *err);

bool identity_is_note(const struct elf_section *s);
void identity_header(struct wf_sha256 *h, const struct elf *e);
/* The loaded segments, of their bytes those that no section covers. */
enum wf_status identity_segments(struct wf_sha256 *h,
                                 const struct elf *e,
                                 bool addresses,
                                 struct wf_error *err);

/* What a loader takes of a shared object. */
enum wf_status identity_loaded(struct wf_sha256 *h,
                               const struct elf *e,
                               struct wf_error *err);
/* An AMDGPU code object: the same, without what only debug information moves. */
enum wf_status identity_amdgpu(struct wf_sha256 *h,
                               const struct elf *e,
                               struct wf_error *err);
/* A cubin: its sections are loaded by name, allocated or not. */
enum wf_status identity_cubin(struct wf_sha256 *h,
                              const struct elf *e,
                              struct wf_error *err);
/* The AMDGPU metadata note, if there is one, without names of arguments. */
enum wf_status identity_metadata(struct wf_sha256 *h,
                                 const struct elf *e,
                                 struct wf_error *err);
void identity_ptx(struct wf_sha256 *h, const void *data, size_t bytes);

#endif
