/* Finds the code object for gfx942 in what programs hand over: an ELF file, a bundle of
 * several targets (__CLANG_OFFLOAD_BUNDLE__), or a compressed one (CCOB). */
#ifndef WF_EMULATOR_LOAD_BUNDLE_H
#define WF_EMULATOR_LOAD_BUNDLE_H

#include "core/error.h"

#include <stddef.h>
#include <stdint.h>

/* How many bytes the image at `data` has by its own headers; at most `limit` of them
 * are looked at. For images that come without a size. EPARSE: it is none of those
 * above. */
enum wf_status em_bundle_measure(const void *data,
                                 size_t limit,
                                 const char *source,
                                 size_t *ret,
                                 struct wf_error *err);

struct em_chosen {
    const uint8_t *data; /* in the image, or in owned */
    size_t bytes;
    uint8_t *owned; /* NULL where nothing was decompressed */
};
void em_chosen_fini(struct em_chosen *c);

/* The code object that fits gfx942:sramecc+:xnack- best. EUNSUPPORTED names the targets
 * that are there. */
enum wf_status em_bundle_choose(const void *data,
                                size_t bytes,
                                const char *source,
                                struct em_chosen *ret,
                                struct wf_error *err);

#endif
